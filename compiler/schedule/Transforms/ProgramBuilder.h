// Writes a tile program as the frontend's typed form: what a user's source would have become.
#pragma once
#include "compiler/frontend/program/Program.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/ArrayRef.h"
#include <string>
#include <utility>

namespace tessera::schedule {

using frontend::ExprPtr;
using frontend::Op;
using frontend::SymbolId;
using Shape = std::vector<int64_t>;

/// Expressions are moved into the ones that use them; a value used twice is assigned to a symbol first.
/// Statements go to the block that `into` chose last.
class ProgramBuilder {
public:
  explicit ProgramBuilder(frontend::Kernel &kernel) : kernel_(kernel), block_(&kernel.body) {}

  /// Where the next expressions and statements come from in the source.
  void at(mlir::Location);
  /// The block statements are appended to; returns the one before.
  frontend::Block *into(frontend::Block *block) { return std::exchange(block_, block); }
  frontend::Block *block() const { return block_; }

  static frontend::Type scalar(DType dtype) { return {frontend::Type::Scalar, dtype, {}}; }
  static frontend::Type tile(DType dtype, Shape shape) {
    return {frontend::Type::Tile, dtype, std::move(shape)};
  }

  ExprPtr make(Op, frontend::Type);
  template <class... Args> ExprPtr make(Op op, frontend::Type type, ExprPtr first, Args... rest) {
    ExprPtr e = make(op, std::move(type));
    e->args.push_back(std::move(first));
    (e->args.push_back(std::move(rest)), ...);
    return e;
  }
  /// As the first operand, whose type the result has.
  ExprPtr binary(Op op, ExprPtr a, ExprPtr b);
  /// A comparison: bool of the operands' shape.
  ExprPtr compare(Op op, ExprPtr a, ExprPtr b);
  ExprPtr integer(int64_t value, DType = DType::I64);
  ExprPtr real(double value, DType);
  /// Every element `value`, a constant of a dtype; no shape: the scalar.
  ExprPtr full(double value, DType, const Shape &);
  ExprPtr dim(const std::string &name);
  ExprPtr var(SymbolId);
  ExprPtr cast(ExprPtr, DType);
  /// A scalar or a tile of equal rank, repeated to `shape`.
  ExprPtr broadcast(ExprPtr, const Shape &);
  ExprPtr expandDims(ExprPtr, int64_t axis);
  ExprPtr reshape(ExprPtr, const Shape &);
  ExprPtr transpose(ExprPtr);
  /// start, start + 1, ... as i32; `start` is an i64 scalar.
  ExprPtr arange(ExprPtr start, int64_t extent);
  /// `ints[d]`: extent along dim d, or -1 to index it. Without any extent the element itself.
  ExprPtr load(int param, std::vector<ExprPtr> starts, std::vector<int64_t> ints);

  /// A new symbol holding the value.
  SymbolId assign(const std::string &name, ExprPtr value);
  void rebind(SymbolId, ExprPtr value);
  SymbolId symbol(const std::string &name, frontend::Type);
  void store(int param, ExprPtr value, std::vector<ExprPtr> starts, std::vector<int64_t> ints);
  /// Every thread's stores so far are seen by all of the program.
  void barrier();
  /// Runs `body` for `var` = lo, lo + step, ... below hi; `carried` are rebound inside.
  void loop(SymbolId var, ExprPtr lo, ExprPtr hi, int64_t step, std::vector<SymbolId> carried, int64_t stages,
            frontend::Block body);
  /// Runs `body` if the scalar `condition` holds; `carried` are rebound inside.
  void branch(ExprPtr condition, std::vector<SymbolId> carried, frontend::Block body);

  frontend::Kernel &kernel() { return kernel_; }

private:
  frontend::Kernel &kernel_;
  frontend::Block *block_;
  frontend::Range loc_{1, 1, 1, 1};
};

} // namespace tessera::schedule
