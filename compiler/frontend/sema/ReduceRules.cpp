// Reductions, scans and products of tiles.
#include "compiler/frontend/sema/CallRules.h"
#include <algorithm>

namespace tessera::frontend::rules {

Value reduceAxis(Elaborator &ctx, Op op, Value v, int64_t axis, Range loc) {
  Type type = v.type();
  type.shape.erase(type.shape.begin() + axis);
  if (type.shape.empty()) type.kind = Type::Scalar;
  if (op == Op::ArgMax || op == Op::ArgMin) type.dtype = DType::I32;
  std::vector<ExprPtr> args;
  args.push_back(ctx.take(std::move(v), loc));
  ExprPtr e = ctx.make(op, type, loc, std::move(args));
  e->ints = {axis};
  return Value::of(std::move(e));
}

/// Sums of narrow floats are computed in f32, or in f64 if @accum asks for it, and rounded once; sums of
/// bools and narrow integers are i32.
static DType sumDType(const Value &v) {
  if (isFloat(v.dtype))
    return v.accum == DType::F64 || v.dtype == DType::F64 ? DType::F64
           : v.dtype == DType::TF32                       ? DType::TF32
                                                          : DType::F32;
  return info(v.dtype).bits < 32 ? DType::I32 : v.dtype;
}

bool checkAccumulator(Elaborator &ctx, const Value &v, Range loc) {
  if (!v.accum || isFloat(v.dtype)) return true;
  ctx.fail(Code::E_POLICY, loc,
           std::string("@accum(") + name(*v.accum) + ") does not apply to integers, whose sums are integers",
           "remove the policy, or cast to " + std::string(name(*v.accum)) + " first");
  return false;
}

Value reduce(Elaborator &ctx, const KernelCall &a) {
  const LanguageFunction &b = a.function;
  const Range loc = a.loc;
  const Op op = *b.op;
  const size_t keepdims = a.at.size() - 1;
  const bool isRow = keepdims == 1; // without an axis argument
  Value v = ctx.operand(*a[0]);
  if (v.isError()) return v;
  if (!v.isTile())
    return ctx.fail(Code::E_TYPE, a[0]->loc,
                    std::string("'") + b.name + "' takes a tile, found " + describe(v),
                    b.id == FunctionId::Max   ? "the larger of two values is ts.tile.maximum(a, b)"
                    : b.id == FunctionId::Min ? "the smaller of two values is ts.tile.minimum(a, b)"
                                              : "");
  auto rank = static_cast<int64_t>(v.shape.size());
  std::optional<int64_t> axis = isRow ? rank - 1 : ctx.staticAxis(a[1], v.shape.size(), -1);
  if (!axis) return Value::error();
  Value keep = ctx.evaluate(*a[keepdims]);
  if (keep.isError()) return keep;
  if (!keep.isScalar() || !keep.isConst)
    return ctx.fail(Code::E_CONSTANT, a[keepdims]->loc, "keepdims is True or False");
  const bool keepsDims = keep.intValue != 0;
  bool isArg = op == Op::ArgMax || op == Op::ArgMin;
  if (v.dtype == DType::Bool && isArg) v = ctx.cast(std::move(v), DType::I8, loc);
  if (v.dtype == DType::Bool && op != Op::Sum && op != Op::Prod)
    return ctx.fail(Code::E_TYPE, loc, std::string("'") + b.name + "' takes numbers, not bool",
                    "cast to ts.i32 first");

  DType original = v.dtype;
  if (op == Op::Sum || op == Op::Prod) {
    if (!checkAccumulator(ctx, v, a[0]->loc)) return Value::error();
    DType in = sumDType(v); // read before v is moved from
    v = ctx.cast(std::move(v), in, loc);
  }
  size_t fullRank = v.shape.size();
  if (*axis >= 0) {
    v = reduceAxis(ctx, op, std::move(v), *axis, loc);
    if (keepsDims && v.isTile())
      v = ctx.expandDims(std::move(v), static_cast<int>(*axis), loc);
    else if (keepsDims)
      v = ctx.broadcastTo(std::move(v), {1}, loc);
  } else {
    if (isArg && v.shape.size() > 1) { // the index into the flattened tile, as in NumPy
      int64_t count = 1;
      for (int64_t n : v.shape)
        count *= n;
      Type flat{Type::Tile, v.dtype, {count}};
      std::vector<ExprPtr> args;
      args.push_back(ctx.take(std::move(v), loc));
      v = Value::of(ctx.make(Op::Reshape, flat, loc, std::move(args)));
    }
    while (v.isTile()) {
      int64_t last = static_cast<int64_t>(v.shape.size()) - 1; // read before v is moved from
      v = reduceAxis(ctx, op, std::move(v), last, loc);
    }
    if (keepsDims) v = ctx.broadcastTo(std::move(v), std::vector<int64_t>(fullRank, 1), loc);
  }
  if ((op == Op::Sum || op == Op::Prod) && isFloat(original)) v = ctx.cast(std::move(v), original, loc);
  return v;
}

Value scan(Elaborator &ctx, const KernelCall &a) {
  const Range loc = a.loc;
  const Op op = *a.function.op;
  Value v = ctx.operand(*a[0]);
  if (v.isError()) return v;
  if (!v.isTile()) return ctx.fail(Code::E_TYPE, a[0]->loc, "a scan takes a tile, found " + describe(v));
  if (!a[1] && v.shape.size() > 1)
    return ctx.fail(Code::E_AXIS, loc, "a scan of a tile with several axes needs axis=", "add axis=-1");
  std::optional<int64_t> axis = ctx.staticAxis(a[1], v.shape.size(), 0);
  if (!axis) return Value::error();
  const bool isSum = op == Op::CumSum || op == Op::CumProd;
  if (v.dtype == DType::Bool && !isSum)
    return ctx.fail(Code::E_TYPE, loc, std::string("'") + a.function.name + "' takes numbers, not bool");
  DType original = v.dtype;
  if (isSum) {
    if (!checkAccumulator(ctx, v, a[0]->loc)) return Value::error();
    DType in = sumDType(v); // read before v is moved from
    v = ctx.cast(std::move(v), in, loc);
  }
  v = ctx.function(op, std::move(v), loc);
  v.expr->ints = {*axis};
  if (isSum && isFloat(original)) v = ctx.cast(std::move(v), original, loc);
  return v;
}

Value mma(Elaborator &ctx, const KernelCall &a) {
  const Range loc = a.loc;
  Value sides[2] = {ctx.evaluate(*a[0]), ctx.evaluate(*a[1])};
  bool transposed[2] = {false, false};
  std::vector<int64_t> shapes[2];
  std::optional<DType> policy;
  std::vector<ExprPtr> args;
  for (int i = 0; i < 2; ++i) {
    Value &v = sides[i];
    if (v.kind == Value::Buffer) { // .T of an operand is a flag rather than a copy
      transposed[i] = v.transposed;
      v = ctx.readBuffer(v.index, a[static_cast<size_t>(i)]->loc);
    } else {
      v = ctx.asOperand(std::move(v), a[static_cast<size_t>(i)]->loc);
      if (v.isTile() && v.expr->op == Op::Transpose && v.shape.size() == 2) {
        transposed[i] = true;
        std::optional<DType> accum = v.accum;
        v = Value::of(std::move(v.expr->args[0]));
        v.accum = accum;
      }
    }
    if (v.isError()) return v;
    if (v.shape.size() != 2)
      return ctx.fail(Code::E_MMA, a[static_cast<size_t>(i)]->loc,
                      "'mma' takes tiles with two axes, found " + describe(v));
    shapes[i] = v.shape;
    if (transposed[i]) std::swap(shapes[i][0], shapes[i][1]);
    if (v.accum) policy = v.accum;
  }
  DType t = sides[0].dtype;
  if (t != sides[1].dtype)
    return ctx.fail(Code::E_MMA, loc,
                    std::string("the operands of 'mma' have dtypes ") + name(t) + " and " +
                        name(sides[1].dtype) + "; they must agree",
                    "cast one of them with ts.tile.cast");
  if (shapes[0][1] != shapes[1][0])
    return ctx.fail(Code::E_MMA, loc,
                    "'mma' multiplies MxK by KxN, found " + shapeText(shapes[0]) + " by " +
                        shapeText(shapes[1]),
                    shapes[0][1] == shapes[1][1] ? "transpose the second operand with .T" : "");
  if (!isFloat(t) && t != DType::I8 && t != DType::U8)
    return ctx.fail(Code::E_MMA, loc, std::string("'mma' takes floats, i8 or u8, not ") + name(t),
                    "cast the operands to ts.i8 or ts.f32");
  DType natural = t == DType::F64 ? DType::F64 : isFloat(t) ? DType::F32 : DType::I32;
  if (policy && isFloat(t)) natural = *policy;

  DType acc = natural;
  if (a[3]) {
    std::optional<DType> asked = ctx.staticDType(*a[3]);
    if (!asked) return Value::error();
    acc = *asked;
    bool legal = isFloat(t) ? acc == natural || (acc == DType::F64 && t == DType::F32) : acc == DType::I32;
    if (!legal)
      return ctx.fail(Code::E_MMA, a[3]->loc,
                      std::string("'mma' of ") + name(t) + " accumulates in " + name(natural) + ", not " +
                          name(acc));
  }
  std::vector<int64_t> shape = {shapes[0][0], shapes[1][1]};
  if (!ctx.checkTileSize(shape, loc)) return Value::error();
  Value start;
  if (a[2]) {
    start = ctx.evaluate(*a[2]);
    if (start.kind != Value::None) {
      start = ctx.asOperand(std::move(start), a[2]->loc);
      if (start.isError()) return start;
      if (a[2] && !a[3] && isFloat(t) && start.dtype == DType::F64 && t == DType::F32) acc = DType::F64;
      if (!start.isTile() || start.shape != shape || start.dtype != acc)
        return ctx.fail(Code::E_MMA, a[2]->loc,
                        "the accumulator of this 'mma' is a " + std::string(name(acc)) + " tile " +
                            shapeText(shape) + ", found " + describe(start));
    }
  }
  for (int i = 0; i < 2; ++i)
    args.push_back(ctx.take(std::move(sides[i]), a[static_cast<size_t>(i)]->loc));
  if (start.isTile()) args.push_back(ctx.take(std::move(start), loc));
  ExprPtr e = ctx.make(Op::Mma, {Type::Tile, acc, shape}, loc, std::move(args));
  e->ints = {transposed[0], transposed[1]};
  return Value::of(std::move(e));
}

Value causalMask(Elaborator &ctx, const KernelCall &a) {
  const Range loc = a.loc;
  Value scores = ctx.operand(*a[0]), q0 = ctx.operand(*a[1]), k0 = ctx.operand(*a[2]);
  if (scores.isError() || q0.isError() || k0.isError()) return Value::error();
  if (!scores.isTile() || scores.shape.size() != 2 || !isFloat(scores.dtype))
    return ctx.fail(Code::E_TYPE, a[0]->loc,
                    "'causal_mask' takes a float tile with two axes, found " + describe(scores));
  if (!q0.isIntScalar() || !k0.isIntScalar())
    return ctx.fail(Code::E_TYPE, loc,
                    "'causal_mask' takes the positions of the tile's first query and key, two integers");
  Type type = scores.type();
  std::vector<ExprPtr> args;
  args.push_back(ctx.take(std::move(scores), loc));
  args.push_back(ctx.indexExpr(q0, loc));
  args.push_back(ctx.indexExpr(k0, loc));
  return Value::of(ctx.make(Op::CausalMask, type, loc, std::move(args)));
}

Value groupReduce(Elaborator &ctx, const KernelCall &a) {
  const LanguageFunction &b = a.function;
  const Range loc = a.loc;
  Value v = ctx.strengthen(ctx.operand(*a[0]));
  if (v.isError()) return v;
  if (v.isTile() || v.dtype == DType::Bool)
    return ctx.fail(Code::E_TYPE, a[0]->loc,
                    std::string("'group.") + b.name + "' takes a number of each lane, found " + describe(v),
                    std::string("reduce a tile with ts.tile.") + b.name);
  Type type = v.type();
  std::vector<ExprPtr> args;
  args.push_back(ctx.take(std::move(v), loc));
  ExprPtr e = ctx.make(Op::GroupReduce, type, loc, std::move(args));
  e->text = b.name;
  return Value::of(std::move(e));
}

} // namespace tessera::frontend::rules
