// The checks of a launch, prepared once per kernel: argument kinds, sizes and alignments, and the grid's
// expressions.
#pragma once
#include "core/metadata/KernelMetadata.h"
#include <cstdint>
#include <string>
#include <tessera/backend.hpp>
#include <vector>

namespace tessera {

/// Immutable once made; any thread may bind.
class LaunchPlan {
public:
  [[nodiscard]] static bool make(const KernelMetadata &, LaunchPlan &out, std::string &why);

  size_t argumentCount() const { return arguments_.size(); }

  /// Checks `args` and `launch` against the kernel and reads them: values[i] gets the i-th launch value
  /// (CpuKernelFn's form), `grid` the programs per axis. Allocates nothing unless it fails or the kernel has
  /// more than kSmall arguments. Returns false, with `why` filled, when an argument is wrong.
  [[nodiscard]] bool bind(const tsr_launch_t &launch, void *const *args, size_t nargs, uint64_t *values,
                          LaunchGrid &grid, std::string &why) const;

  /// Bytes of tensor `index` at these values; -1: argument `index` is no tensor. Valid after a successful
  /// bind.
  int64_t tensorBytes(size_t index, const uint64_t *values) const;
  const std::string &name(size_t index) const { return arguments_[index].name; }
  bool isTensor(size_t index) const {
    return arguments_[index].kind == MetadataParam::Kind::Tensor ||
           arguments_[index].kind == MetadataParam::Kind::Result;
  }
  /// "x [M, 64] = [3, 64]": a tensor, its dims, and what they are at these values.
  std::string describe(size_t index, const uint64_t *values) const;
  /// The values as expressions want them: scalars with their sign. `slots` has room for argumentCount().
  void slots(const uint64_t *values, int64_t *slots) const;
  /// Does the grid depend on argument `index`?
  bool gridReads(size_t index) const;

  static constexpr size_t kSmall = 64;

private:
  /// Of one dim of a tensor: an argument, an expression of them, or a constant.
  struct Extent {
    int32_t argument = -1, expression = -1; // an index, or -1
    int64_t constant = 0;
    std::string text;
  };
  struct Argument {
    MetadataParam::Kind kind;
    uint8_t bytes; // of an element or the scalar
    bool isSigned, isBool;
    int64_t expected = -1; // a dim this image was specialised on, else -1
    uint32_t extentsBegin, extentsEnd;
    std::string name;
  };

  bool bindArgument(size_t index, const void *source, uint64_t &value, std::string &why) const;
  std::string tensorsWith(size_t dim) const;
  /// -1 when an expression overflows, divides by zero or gives less than 0.
  int64_t extent(const Extent &, const uint64_t *values) const;
  bool elements(const Argument &, const uint64_t *values, int64_t &out) const;
  bool deriveGrid(const uint64_t *values, LaunchGrid &grid, std::string &why) const;

  std::vector<Argument> arguments_;
  std::vector<Extent> extents_;
  std::vector<IndexExpr> axes_, derived_; // `derived_`: extents that are expressions
  std::vector<std::string> axisTexts_;
  int64_t block_[3];
  int64_t sharedBytes_ = 0;
};

} // namespace tessera
