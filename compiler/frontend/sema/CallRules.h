// The rules of the language's functions: each checks the operands of a call and returns its result.
// Functions.def names the rule of every function, and the declarations below are generated from it.
#pragma once
#include "compiler/frontend/sema/Elaborator.h"

namespace tessera::frontend {

/// A call in a kernel. The rule evaluates its arguments, because what is read depends on the kind of an
/// argument.
struct KernelCall {
  const LanguageFunction &function;
  Range loc;
  std::vector<const ast::Expr *> at; // by parameter; null: omitted, and the default is None

  const ast::Expr *operator[](size_t i) const { return at[i]; }
};

/// A call in a graph function, with evaluated arguments.
struct GraphCall {
  const LanguageFunction &function;
  const ast::Expr &source;
  Range loc;
  std::vector<std::optional<Value>> values; // by parameter; nothing: omitted, and the default is None
  std::vector<Range> locs;

  Value &operator[](size_t i) { return *values[i]; }
  bool given(size_t i) const { return i < values.size() && values[i].has_value(); }
  Range locOf(size_t i) const { return locs[i]; }
};

namespace rules {

#define TSR_ROW(id, module, name, kernelRule, graphRule, ...)                                                \
  Value kernelRule(Elaborator &, const KernelCall &);                                                        \
  Value graphRule(Elaborator &, GraphCall &);
#include "compiler/ops/Functions.def"

/// x[0:16, None, 3] of a tile, with constants.
Value indexed(Elaborator &, Value, const ast::Expr &);
/// The tile with `v` in the place of the part x[0:16, 3], which constants choose.
Value withPart(Elaborator &, Value tile, const ast::Expr &, Value v, Range);
/// The tile with a scalar, the value of `fill`, in the place of masked elements. `function` is named in
/// errors.
Value withFill(Elaborator &, Value tile, const ast::Expr &fill, const char *function);
/// The tile, masked where the flags of `keep` are not set.
Value withMask(Elaborator &, Value tile, const ast::Expr &keep, const char *function);
/// x.T of a tile or a shared buffer.
Value transposed(Elaborator &, Value, Range);
/// The tile with another shape of as many elements.
Value reshaped(Elaborator &, Value, std::vector<int64_t> shape, Range);
/// `extent` elements of a tile along an axis, from `offset` on.
Value partOf(Elaborator &, Value, size_t axis, int64_t offset, int64_t extent, Range);
/// Tiles that are equal in the other axes, joined along one.
Value joined(Elaborator &, std::vector<Value> parts, size_t axis, Range);
/// Reduces one axis of a tile, which goes away; a tile of one axis becomes a scalar.
Value reduceAxis(Elaborator &, Op, Value, int64_t axis, Range);
/// The one element of a tile of one axis; 0 if it is out of bounds, as an element of a tensor is.
Value onlyElement(Elaborator &, Value, Range);
/// The tile that the argument is; an error, which names the function, if it is none.
Value tileArgument(Elaborator &, const ast::Expr &, const char *function);
/// Returns false, with a diagnostic, if @accum asks for a float sum of integers.
bool checkAccumulator(Elaborator &, const Value &, Range);

} // namespace rules
} // namespace tessera::frontend
