// Compiles an elementwise function of vectors for the host and runs it over arrays: what the tests of the
// cast and math expansions share.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace tessera::tile::test {

/// The context all tests use; every dialect and translation is registered.
mlir::MLIRContext &context();

/// The type whose elements are of the C++ type T: an integer, float or double.
template <class T> mlir::Type typeOf() {
  mlir::Builder b(&context());
  if constexpr (std::is_integral_v<T>)
    return b.getIntegerType(8 * sizeof(T));
  else
    return sizeof(T) == 4 ? mlir::Type(b.getF32Type()) : mlir::Type(b.getF64Type());
}

/// Emits the body: one vector (or scalar) per input to the output.
using Body = std::function<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;

class VectorJit {
public:
  struct Options {
    bool expandMath = false;   // run tile-expand-math
    bool expandMinMax = false; // run tile-expand-min-max
    bool expandHalf = false;   // run tile-expand-half
    std::string cpu = {};      // an LLVM CPU name the host can run; empty: the host itself
  };

  /// Elements of `inputs` and `output` are types of arrays in memory; `shape` is what one step processes: {}
  /// for a scalar, else a vector of that shape (its element count is the step). Aborts on failure.
  VectorJit(const Body &body, std::vector<mlir::Type> inputs, mlir::Type output, std::vector<int64_t> shape,
            const Options &options);
  ~VectorJit();

  /// Processes `count` elements, a multiple of the step.
  void run(std::vector<const void *> inputs, void *output, size_t count) const;

  /// Names of routines that code for `cpu` (an LLVM CPU name) calls; empty when the code is self-contained.
  std::vector<std::string> externalCalls(const std::string &cpu) const;
  std::string assembly(const std::string &cpu) const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace tessera::tile::test
