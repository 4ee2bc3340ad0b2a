// Words of registers that are made of the bytes of other words.
#pragma once
#include "compiler/codegen/gpu/Vendor.h"
#include "llvm/ADT/ArrayRef.h"
#include <map>
#include <tuple>

namespace tessera::gpu {

/// Emits permutations of two words each. Those that several words need are emitted once.
class BytePermutations {
public:
  struct Byte {
    mlir::Value word;
    int64_t number = 0; // 0 is the lowest
  };

  BytePermutations(const Vendor &vendor, mlir::ImplicitLocOpBuilder &b) : vendor_(vendor), b_(b) {}

  /// Returns the word of four bytes, the lowest first.
  mlir::Value word(llvm::ArrayRef<Byte> bytes);

private:
  struct Pair {
    mlir::Value word;
    int64_t low, high;
  };
  /// Two bytes in one word.
  Pair pair(const Byte &low, const Byte &high);

  const Vendor &vendor_;
  mlir::ImplicitLocOpBuilder &b_;
  std::map<std::tuple<void *, void *, int64_t>, mlir::Value> interleaved_;
};

} // namespace tessera::gpu
