// Random numbers: functions of a seed and an offset, made of the words of one call of Philox4x32-10.
#include "compiler/frontend/sema/CallRules.h"

namespace tessera::frontend::rules {
namespace {

/// The arguments of a call, evaluated once.
struct Position {
  Value seed, offset;
};

std::optional<Position> positionOf(Elaborator &ctx, const KernelCall &a, bool isUsedOften) {
  Value seed = ctx.operand(*a[0]), offset = ctx.operand(*a[1]);
  if (seed.isError() || offset.isError()) return std::nullopt;
  if (!seed.isIntScalar() || !(offset.isScalar() || offset.isTile()) || !isInt(offset.dtype)) {
    ctx.fail(Code::E_TYPE, a.loc,
             std::string("'") + a.function.name +
                 "' takes an integer seed and an integer offset (scalar or tile)");
    return std::nullopt;
  }
  offset = ctx.cast(std::move(offset), DType::I64, a.loc);
  if (isUsedOften && offset.isRuntime()) offset = ctx.toVariable(std::move(offset), "offset", a.loc);
  return Position{std::move(seed), std::move(offset)};
}

/// A word of Philox's output, as i32 or as an f32 in [0, 1).
Value wordOf(Elaborator &ctx, const Position &at, int64_t word, DType dtype, Range loc) {
  Type type = at.offset.type();
  type.dtype = dtype;
  std::vector<ExprPtr> args;
  args.push_back(ctx.indexExpr(at.seed, loc));
  args.push_back(ctx.take(at.offset, loc));
  ExprPtr e = ctx.make(Op::Rand, type, loc, std::move(args));
  if (word) e->ints = {word};
  return Value::of(std::move(e));
}

} // namespace

Value rand(Elaborator &ctx, const KernelCall &a) {
  std::optional<Position> at = positionOf(ctx, a, false);
  return at ? wordOf(ctx, *at, 0, DType::F32, a.loc) : Value::error();
}

Value rand4x(Elaborator &ctx, const KernelCall &a) {
  std::optional<Position> at = positionOf(ctx, a, true);
  if (!at) return Value::error();
  std::vector<Value> words;
  for (int64_t word = 0; word < 4; ++word)
    words.push_back(wordOf(ctx, *at, word, DType::F32, a.loc));
  return Value::tuple(std::move(words));
}

/// low + floor(word * (high - low) / 2^32)
Value randint(Elaborator &ctx, const KernelCall &a) {
  const Range loc = a.loc;
  std::optional<Position> at = positionOf(ctx, a, false);
  Value low = ctx.operand(*a[2]), high = ctx.operand(*a[3]);
  if (!at || low.isError() || high.isError()) return Value::error();
  for (const Value *bound : {&low, &high}) {
    const bool isNarrow = bound->isConstInt() ? fits(bound->intValue, DType::I32)
                                              : info(bound->dtype).bits <= 32 || bound->weak;
    if (!bound->isIntScalar() || isUnsigned(bound->dtype) || !isNarrow)
      return ctx.fail(Code::E_TYPE, loc,
                      "the bounds of 'randint' are integers of 32 bits, found " + describe(*bound),
                      "cast them to ts.i32");
  }
  if (low.isConst && high.isConst && low.intValue >= high.intValue)
    return ctx.fail(Code::E_LITERAL_RANGE, loc,
                    "no integer is in [" + std::to_string(low.intValue) + ", " +
                        std::to_string(high.intValue) + ")");
  low = ctx.cast(std::move(low), DType::I32, loc);
  Value range = ctx.binary(Op::Sub, ctx.cast(std::move(high), DType::I32, loc), low, loc);
  Value word = wordOf(ctx, *at, 0, DType::I32, loc);
  Value scaled = ctx.binary(Op::UMulHi, std::move(word), std::move(range), loc);
  return ctx.binary(Op::Add, std::move(scaled), std::move(low), loc);
}

/// Box and Muller: sqrt(-2 log(1 - u)) cos(2 pi v), of two words.
Value randn(Elaborator &ctx, const KernelCall &a) {
  const Range loc = a.loc;
  std::optional<Position> at = positionOf(ctx, a, true);
  if (!at) return Value::error();
  auto real = [](double v) { return Value::real(v, DType::F32, false); };
  Value u = ctx.binary(Op::Sub, real(1), wordOf(ctx, *at, 0, DType::F32, loc), loc);
  Value v = ctx.binary(Op::Mul, real(0x1.921fb6p+2), wordOf(ctx, *at, 1, DType::F32, loc), loc);
  Value squared = ctx.binary(Op::Mul, real(-2), ctx.function(Op::Log, std::move(u), loc), loc);
  return ctx.binary(Op::Mul, ctx.function(Op::Sqrt, std::move(squared), loc),
                    ctx.function(Op::Cos, std::move(v), loc), loc);
}

} // namespace tessera::frontend::rules
