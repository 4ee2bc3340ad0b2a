// The value of an expression of the source while a kernel is elaborated.
#pragma once
#include "compiler/frontend/program/GraphProgram.h"
#include "compiler/frontend/program/Linear.h"
#include "compiler/frontend/sema/FrontendOptions.h"
#include "compiler/ops/Functions.h"
#include "core/service/CompilerService.h"
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::frontend {

using ops::findConstant;
using ops::findFunction;
using ops::findSubmodule;
using ops::FunctionId;
using ops::LanguageFunction;
using ops::namesOf;

/// A compile-time object, or the expression that computes a run-time value. Copying copies the expression.
struct Value {
  enum Kind : uint8_t {
    Error, // already reported; every operation on it yields Error
    None,
    Str,       // text
    Tuple,     // items; a list, if `list` is set
    DTypeName, // dtype
    Module,    // text: path
    Function,  // builtin, or text: the helper's name
    Context,   // ts.tile.context()
    Tensor,    // param
    Buffer,    // symbol; transposed
    Scalar,    // constant or expr, with dtype
    Tile,      // expr, dtype, shape
    Graph,     // index: a value of the graph function, with dtype; text describes it
  };
  Kind kind = Error;
  DType dtype = DType::F32;
  bool weak = false;    // takes the dtype of the other operand
  bool wide = false;    // of a weak integer: narrower integers are widened to it (dims, ids, loop variables)
  bool yields = false;  // an integer that is weak beside floats only (a parameter declared `int`)
  bool isConst = false; // Scalar: intValue (integers, bool) or floatValue holds its value
  bool transposed = false;
  int64_t intValue = 0;
  double floatValue = 0;
  ExprPtr expr;
  std::vector<int64_t> shape;
  // Scalar: the least and the largest integer literal of which a weak run-time value is one
  std::optional<std::pair<int64_t, int64_t>> choice;
  std::optional<Linear> linear; // integer scalars
  std::vector<Value> items;     // Tuple; Function: the tensor it is a method of
  // Str, Module, Function, Graph; Scalar: the variable that was first bound to a bare literal
  std::string text;
  const LanguageFunction *builtin = nullptr;
  int index = -1;             // Tensor: parameter; Buffer: symbol; Graph: value
  std::optional<DType> accum; // policy of the tensor a tile was loaded from
  int list = 0;               // Tuple: the identity of a list, whose items may be assigned; 0 of a tuple

  Value() = default;
  Value(Value &&) = default;
  Value &operator=(Value &&) = default;
  Value(const Value &o) { *this = o; }
  Value &operator=(const Value &o);

  static Value error() { return {}; }
  static Value none();
  static Value integer(int64_t v, DType t = DType::I64, bool weak = true);
  /// The known value of a dim or loop variable, which mixes with other types as an unknown value does.
  static Value extent(int64_t v);
  static Value real(double v, DType t = DType::F32, bool weak = true);
  static Value boolean(bool v);
  static Value string(std::string s);
  static Value tuple(std::vector<Value> items);
  static Value dtypeName(DType t);
  /// A run-time scalar or tile, depending on the type of the expression.
  static Value of(ExprPtr e, bool weak = false);
  /// A weak 64-bit integer: a dim, an id or a loop variable.
  static Value extent(ExprPtr e, Linear form);

  bool isError() const { return kind == Error; }
  bool isScalar() const { return kind == Scalar; }
  bool isTile() const { return kind == Tile; }
  bool isGraph() const { return kind == Graph; }
  bool isConstInt() const { return kind == Scalar && isConst && isInt(dtype); }
  bool isIntScalar() const { return kind == Scalar && isInt(dtype); }
  bool isBool() const { return (kind == Scalar || kind == Tile) && dtype == DType::Bool; }
  bool isWide() const { return weak && wide && isInt(dtype); }
  bool isLiteral() const { return isScalar() && isConst && weak && !wide; }
  /// Is it a choice between integer literals that `t` holds?
  bool isChoiceOf(DType t) const;
  bool isRuntime() const { return (kind == Scalar && !isConst) || kind == Tile; }
  /// Does it become a `t` without a cast: because it is one, or because it is weak and cannot wrap unnoticed?
  bool converts(DType t) const;
  Type type() const;
};

/// Is the integer a value of `t`?
bool fits(int64_t, DType t);
/// Returns a weak f32 expression with all its operations in f64; null if it reads a variable, whose dtype is
/// fixed.
ExprPtr inDouble(const Expr &);

/// "f32 tile (64, 32)", "an i32 scalar", "a tuple": for messages.
std::string describe(const Value &);
/// "(64, 32)"
std::string shapeText(const std::vector<int64_t> &);
/// The shape to which two shapes are broadcast, aligned at their last axes; nothing if they do not fit.
std::optional<std::vector<int64_t>> broadcastShape(const std::vector<int64_t> &,
                                                   const std::vector<int64_t> &);

} // namespace tessera::frontend
