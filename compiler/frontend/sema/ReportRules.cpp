// print and assert_: records in the memory that the launch reads when the kernel has run.
//
// core/metadata/Reports.h describes that memory, which is a hidden tensor of the kernel. A record takes an
// atomic that counts it and one that reserves its place; a place past the end drops the stores, as every
// tensor does. The statements are compiled if the constant __debug__ is true; without it, only their
// arguments are evaluated.
#include "compiler/frontend/sema/CallRules.h"
#include "core/metadata/Reports.h"
#include <algorithm>

namespace tessera::frontend::rules {
namespace {

constexpr DType kWord = DType::I64;

bool isOn(Elaborator &ctx, Range loc) {
  const Value debug = ctx.debugConstant(loc);
  return debug.isScalar() && debug.isConst && debug.intValue != 0;
}

int hiddenTensor(Elaborator &ctx, Range loc) {
  if (ctx.reportsParam_ >= 0) return ctx.reportsParam_;
  Param p;
  p.name = "ts.reports"; // no name of a source has a dot
  p.loc = loc;
  p.isTensor = p.reads = p.writes = p.atomics = true;
  p.dtype = kWord;
  p.dims = {{reports::kWords, ""}};
  ctx.kernel_.params.push_back(std::move(p));
  return ctx.reportsParam_ = static_cast<int>(ctx.kernel_.params.size()) - 1;
}

/// Returns the number of a statement; the copies of an unrolled loop share one.
std::optional<int64_t> numberOf(Elaborator &ctx, Report r) {
  std::vector<Report> &all = ctx.kernel_.params[static_cast<size_t>(hiddenTensor(ctx, r.loc))].reports;
  auto same = [&](const Report &other) {
    return other.loc.line == r.loc.line && other.loc.col == r.loc.col && other.text == r.text &&
           other.values == r.values;
  };
  const auto it = std::ranges::find_if(all, same);
  const int64_t number = it - all.begin();
  if (it != all.end()) return number;
  if (number == reports::kStatements) {
    ctx.fail(Code::E_UNIMPLEMENTED, r.loc,
             "TSR_UNIMPLEMENTED: a kernel with more than " + std::to_string(reports::kStatements) +
                 " statements print and assert_");
    return std::nullopt;
  }
  all.push_back(std::move(r));
  return number;
}

Value addTo(Elaborator &ctx, int64_t word, int64_t value, const char *name, Range loc) {
  std::vector<ExprPtr> args;
  args.push_back(ctx.constInt(word, loc));
  args.push_back(ctx.constInt(value, loc));
  ExprPtr e = ctx.make(Op::Atomic, {Type::Scalar, kWord, {}}, loc, std::move(args));
  e->param = ctx.reportsParam_;
  return ctx.toVariable(Value::of(std::move(e)), name, loc);
}

Value bitsOf(Elaborator &ctx, Value v, Range loc) {
  Type type = v.type();
  type.dtype = kWord;
  std::vector<ExprPtr> args;
  args.push_back(ctx.take(std::move(v), loc));
  return Value::of(ctx.make(Op::Bitcast, type, loc, std::move(args)));
}

/// The value as words: a float as the bits of an f64.
Value wordsOf(Elaborator &ctx, Value v, Range loc) {
  if (isFloat(v.dtype)) return bitsOf(ctx, ctx.cast(std::move(v), DType::F64, loc), loc);
  return v.dtype == DType::U64 ? bitsOf(ctx, std::move(v), loc) : ctx.cast(std::move(v), kWord, loc);
}

void write(Elaborator &ctx, Value words, const Value &at, int64_t offset, Range loc) {
  Value start = ctx.binary(Op::Add, at, Value::integer(reports::kHeader + offset, kWord, false), loc);
  const int64_t count = words.isTile() ? words.shape[0] : 0;
  ExprPtr value = ctx.take(std::move(words), loc), index = ctx.take(std::move(start), loc);
  Stmt &s = ctx.emit(count ? Stmt::StoreTile : Stmt::StoreElem, loc);
  s.param = ctx.reportsParam_;
  s.exprs.push_back(std::move(value));
  s.exprs.push_back(std::move(index));
  if (count) s.ints = {count};
}

int64_t elementCount(const Value &v) {
  int64_t count = 1;
  for (int64_t n : v.shape)
    count *= n;
  return count;
}

/// Words whose every value is a value of the dtype: a second word per element then has its mask.
bool hasMaskWords(const Value &v) { return v.isTile() && reports::hasMaskWords(v.dtype); }

/// Opens a branch, whose statements are added to the block that is returned.
Block &branch(Elaborator &ctx, Value condition, Range loc) {
  ExprPtr e = ctx.take(std::move(condition), loc);
  Stmt &s = ctx.emit(Stmt::If, loc);
  s.exprs.push_back(std::move(e));
  return s.body;
}

/// Computes the values before the branches, which shared memory and group reductions must not be in.
std::vector<Value> computed(Elaborator &ctx, std::vector<Value> values, Range loc) {
  for (Value &v : values)
    if (v.isRuntime()) v = ctx.toVariable(std::move(v), "reported", loc);
  return values;
}

void report(Elaborator &ctx, Report r, std::vector<Value> values) {
  const Range loc = r.loc;
  int64_t size = reports::kValuesAt;
  for (const Value &v : values) {
    r.values.push_back(v.type());
    size += elementCount(v) * (hasMaskWords(v) ? 2 : 1);
  }
  if (size > reports::kWords - reports::kHeader) {
    ctx.fail(Code::E_UNIMPLEMENTED, loc,
             "TSR_UNIMPLEMENTED: a record of " + std::to_string(size - reports::kValuesAt) +
                 " elements; the memory of a launch has room for " +
                 std::to_string(reports::kWords - reports::kHeader - reports::kValuesAt),
             "print a part: x[0:8, 0:8]");
    return;
  }
  const std::optional<int64_t> number = numberOf(ctx, std::move(r));
  if (!number) return;
  Value count = addTo(ctx, 1 + *number, 1, "count", loc);
  Value isKept =
      ctx.binary(Op::Lt, std::move(count), Value::integer(reports::kMostPerLaunch, kWord, false), loc);
  ctx.blocks_.push_back(&branch(ctx, std::move(isKept), loc));
  const Value at = addTo(ctx, 0, size, "at", loc);
  write(ctx, Value::integer(*number, kWord, false), at, 0, loc);
  Value program = Value::of(ctx.linearId_ ? ctx.make(Op::LaneId, {Type::Scalar, DType::I64, {}}, loc)
                                          : ctx.make(Op::GroupId, {Type::Scalar, DType::I32, {}}, loc));
  write(ctx, ctx.cast(std::move(program), kWord, loc), at, 1, loc);
  int64_t offset = reports::kValuesAt;
  for (Value &v : values) {
    const int64_t n = elementCount(v);
    const bool isAmbiguous = hasMaskWords(v);
    Value words = wordsOf(ctx, std::move(v), loc);
    if (words.isTile()) words = reshaped(ctx, std::move(words), {n}, loc);
    if (isAmbiguous) { // masked where the words are, and no constant, so that nothing folds it
      words = ctx.toVariable(std::move(words), "words", loc);
      Value again = Value::of(clone(*words.expr));
      Value flags = ctx.binary(Op::And, std::move(again), Value::integer(1, kWord, false), loc);
      write(ctx, std::move(flags), at, offset + n, loc);
    }
    write(ctx, std::move(words), at, offset, loc);
    offset += isAmbiguous ? 2 * n : n;
  }
  ctx.blocks_.pop_back();
}

/// The format, and the values after it.
bool readMessage(Elaborator &ctx, const KernelCall &a, size_t first, std::string &text,
                 std::vector<Value> &values) {
  std::optional<std::string> format = ctx.staticString(*a[first], "the format");
  std::vector<DType> dtypes;
  bool ok = format.has_value();
  for (size_t i = first + 1; i < a.at.size(); ++i) {
    Value v = ctx.strengthen(ctx.operand(*a[i]));
    ok &= !v.isError();
    dtypes.push_back(v.dtype);
    values.push_back(std::move(v));
  }
  if (!ok) return false;
  if (std::string why = reports::checkFormat(*format, dtypes); !why.empty()) {
    ctx.fail(Code::E_ARGUMENTS, a[first]->loc, "the format of '" + std::string(a.function.name) + "': " + why,
             "a format has {} for each value, or none: \"x = {}, y = {:.3f}\"");
    return false;
  }
  text = std::move(*format);
  return true;
}

Report makeReport(Elaborator &ctx, const KernelCall &a, std::string text) {
  Report r;
  r.loc = a.loc;
  r.isAssert = a.function.id == FunctionId::Assert;
  r.isOfLane = ctx.linearId_.has_value();
  r.file = ctx.options_.fileName;
  toFile(ctx.options_.supplied.pieces, r.file, r.loc.line);
  r.text = std::move(text);
  return r;
}

} // namespace

Value print(Elaborator &ctx, const KernelCall &a) {
  if (a.at.empty())
    return ctx.fail(Code::E_ARGUMENTS, a.loc, "'print' lacks its format",
                    "write: ts.tile.print(\"x = {}\", x)");
  std::string text;
  std::vector<Value> values;
  if (!readMessage(ctx, a, 0, text, values)) return Value::none();
  if (isOn(ctx, a.loc))
    report(ctx, makeReport(ctx, a, std::move(text)), computed(ctx, std::move(values), a.loc));
  else if (!ctx.printOff_)
    ctx.printOff_ = a.loc;
  return Value::none();
}

Value assert_(Elaborator &ctx, const KernelCall &a) {
  const Range loc = a.loc;
  if (a.at.size() < 2)
    return ctx.fail(Code::E_ARGUMENTS, loc, "'assert_' takes a condition and a message",
                    "write: ts.tile.assert_(x >= 0, \"x is negative: {}\", x)");
  Value held = ctx.operand(*a[0]);
  std::string text;
  std::vector<Value> values;
  if (!readMessage(ctx, a, 1, text, values) || held.isError()) return Value::none();
  if (!held.isBool())
    return ctx.fail(Code::E_TYPE, a[0]->loc, "'assert_' takes a bool, found " + describe(held),
                    "compare it: x > 0");
  if (!isOn(ctx, loc)) return Value::none();
  Report r = makeReport(ctx, a, std::move(text));
  values = computed(ctx, std::move(values), loc);
  if (held.isConst) {
    if (!held.intValue) report(ctx, std::move(r), std::move(values));
    return Value::none();
  }
  // Masked elements are neither true nor false: a sum over the tile does not see them.
  Value failed = ctx.binary(Op::Xor, ctx.cast(std::move(held), DType::I32, loc),
                            Value::integer(1, DType::I32, false), loc);
  while (failed.isTile())
    failed = reduceAxis(ctx, Op::Sum, std::move(failed), 0, loc);
  if (failed.isError()) return failed;
  failed = ctx.binary(Op::Ne, std::move(failed), Value::integer(0, DType::I32, false), loc);
  ctx.blocks_.push_back(&branch(ctx, std::move(failed), loc));
  report(ctx, std::move(r), std::move(values));
  ctx.blocks_.pop_back();
  return Value::none();
}

} // namespace tessera::frontend::rules
