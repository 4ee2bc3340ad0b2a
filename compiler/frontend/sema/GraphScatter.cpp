// Scatters in graph functions: a launch of a kernel, one lane per update, that writes into a copy of the
// tensor.
#include "compiler/frontend/sema/CallRules.h"
#include "compiler/frontend/sema/ElabGraph.h"
#include "compiler/frontend/sema/KernelText.h"
#include <algorithm>

namespace tessera::frontend::rules {

namespace {

/// One scatter. A rule says which element of x each update replaces; the rest is common.
class Scatter {
public:
  Scatter(Elaborator &ctx, GraphCall &call, size_t reductionAt)
      : ctx_(ctx), call_(call), reductionAt_(reductionAt) {}

  /// Checks the operands: indices are integers, updates have the dtype of x.
  bool check() {
    for (size_t i = 0; i < 3; ++i)
      if (call_[i].isError() || !ctx_.graphTensor(call_[i], call_.locOf(i), i == 0 ? 1 : 0)) return false;
    if (call_[1].dtype != DType::I32 && call_[1].dtype != DType::I64)
      return refuse(Code::E_TYPE, call_.locOf(1),
                    "the indices of '" + name() + "' are i32 or i64, found " + describe(call_[1]),
                    "convert them with ts.cast(indices, ts.i32)");
    if (call_[2].dtype != call_[0].dtype)
      return refuse(Code::E_TYPE_MIX, call_.locOf(2),
                    "'" + name() + "' mixes " + describe(call_[0]) + " and " + describe(call_[2]),
                    std::string("cast the updates: ts.cast(updates, ts.") + tessera::name(call_[0].dtype) +
                        ")");
    const Value &asked = call_[reductionAt_];
    const auto *found = std::ranges::find_if(
        kReductions, [&](const char *r) { return asked.kind == Value::Str && asked.text == r; });
    if (found == std::end(kReductions))
      return refuse(Code::E_ARGUMENTS, call_.locOf(reductionAt_),
                    "the reduction of '" + name() + "' is \"none\", \"add\", \"mul\", \"max\" or \"min\"",
                    "");
    reduction_ = *found;
    if (reduction_ != "none" && call_[0].dtype == DType::Bool)
      return refuse(Code::E_TYPE, call_.locOf(0), "'" + name() + "' with a reduction takes numbers, not bool",
                    "cast to ts.i32 first");
    if (call_[0].dtype == DType::U64 && (reduction_ == "max" || reduction_ == "min"))
      return refuse(Code::E_UNIMPLEMENTED, call_.locOf(0),
                    "'" + name() + "' with reduction=\"" + reduction_ + "\" is not built for u64",
                    "cast to ts.i64 if the numbers are below 2^63");
    return true;
  }

  Dims dims(size_t i) const { return ctx_.graphDims(*call_.values[i]); }
  bool expect(const Dims &updates) {
    if (dims(2) == updates) return true;
    return refuse(Code::E_SHAPE, call_.loc,
                  "'" + name() + "' of " + ctx_.graphName(call_[0]) + " by indices " +
                      ctx_.graphName(call_[1]) + " takes updates " + dimsText(updates) + ", found " +
                      ctx_.graphName(call_[2]),
                  "");
  }
  bool refuse(Code code, Range at, std::string message, std::string hint) {
    ctx_.fail(code, at, std::move(message), std::move(hint));
    return false;
  }
  std::string name() const { return call_.function.name; }

  /// `place` has the index of each axis of x, in terms of the position p0, p1, ... of an update and of the
  /// tensor of indices, i.
  Value run(const std::vector<std::string> &place) {
    const Range loc = call_.loc;
    const DType given = call_[0].dtype;
    // Atomics are built for these.
    const bool isDirect = reduction_ == "none" || given == DType::I32 || given == DType::I64 ||
                          given == DType::F32 || given == DType::F64;
    const bool isWide = given == DType::U32 || given == DType::U64;
    const DType dtype = isDirect ? given : isFloat(given) ? DType::F32 : isWide ? DType::I64 : DType::I32;
    Value x = ctx_.cast(std::move(call_[0]), dtype, loc),
          updates = ctx_.cast(std::move(call_[2]), dtype, loc);
    Value indices = std::move(call_[1]);
    for (Value *v : {&updates, &indices})
      if (ctx_.graphDims(*v).empty()) *v = ctx_.graphReshapeTo(std::move(*v), {DimExpr(1)}, loc);
    Dims own = ctx_.graphDims(x);
    x = ctx_.graphReshapeTo(std::move(x), std::move(own), loc); // a value that the kernel may update
    if (x.isError() || updates.isError() || indices.isError()) return Value::error();

    const std::string source = text(place, dtype, indices.dtype, ctx_.graphDims(x).size(),
                                    ctx_.graphDims(indices).size(), ctx_.graphDims(updates).size());
    std::vector<std::optional<Value>> operands;
    operands.emplace_back(x);
    operands.emplace_back(std::move(indices));
    operands.emplace_back(std::move(updates));
    Value done = ctx_.graphLaunchOwn(source, std::move(operands), call_.source);
    if (done.isError()) return done;
    if (given != dtype) return ctx_.cast(std::move(x), given, loc);
    Dims same = ctx_.graphDims(x);
    return ctx_.graphReshapeTo(std::move(x), std::move(same), loc);
  }

private:
  static constexpr const char *kReductions[] = {"none", "add", "mul", "max", "min"};

  std::string text(const std::vector<std::string> &place, DType dtype, DType index, size_t rank,
                   size_t indexRank, size_t updateRank) const {
    auto tensor = [](const char *param, const char *dim, size_t axes, DType t) {
      std::vector<std::string> extents;
      for (size_t d = 0; d < axes; ++d)
        extents.push_back("\"" + (dim + std::to_string(d)) + "\"");
      return std::string(param) + ": ts.Tensor[" + joinedText(extents, ", ") + ", ts." + tessera::name(t) +
             "]";
    };
    std::vector<std::string> factors, position;
    for (size_t d = 0; d < updateRank; ++d) {
      factors.push_back("U" + std::to_string(d));
      position.push_back("p" + std::to_string(d));
    }
    // The kernel's name is that of what it does, because equal names are one kernel.
    std::string kernel = name() + "_" + reduction_ + "_" + tessera::name(dtype) + "_" + tessera::name(index) +
                         "_" + std::to_string(updateRank);
    for (const std::string &at : place)
      for (char c : "_" + at)
        if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') kernel += c;
    KernelText t;
    t.line(0, "import tessera as ts").line(0, "@ts.kernel");
    t.line(0, "def ", kernel, "(", tensor("x", "X", rank, dtype), ", ", tensor("i", "I", indexRank, index),
           ", ", tensor("u", "U", updateRank, dtype), "):");
    t.line(1, "l = ts.tile.linear_id()").line(1, "if l < ", joinedText(factors, "*"), ":");
    std::string rest = "l";
    for (size_t d = updateRank; d-- > 1;) {
      t.line(2, "p", d, " = (", rest, ") % U", d).line(2, "q", d, " = (", rest, ") // U", d);
      rest = "q" + std::to_string(d);
    }
    t.line(2, "p0 = ", rest);
    const std::string value = "u[" + joinedText(position, ", ") + "]", at = joinedText(place, ", ");
    if (reduction_ == "none") {
      t.line(2, "x[", at, "] = ", value);
    } else if (reduction_ == "mul") {
      // Until no other lane has changed the element; bits, because a NaN is not equal to itself.
      const std::string type = info(dtype).bits == 64 ? "ts.i64" : "ts.i32";
      auto bits = [&](const char *x) {
        return isFloat(dtype) ? "ts.tile.bitcast(" + std::string(x) + ", " + type + ")" : std::string(x);
      };
      // A first exchange of v for v reads: an ordinary read would race with the exchanges of other lanes.
      t.line(2, "v = ", value).line(2, "old = ts.tile.atomic_cas(x, (", at, ",), v, v)");
      t.line(2, "again = True").line(2, "while again:");
      t.line(3, "now = ts.tile.atomic_cas(x, (", at, ",), old, old * v)");
      t.line(3, "again = ", bits("now"), " != ", bits("old")).line(3, "old = now");
    } else {
      t.line(2, "ts.tile.atomic_", reduction_, "(x, (", at, ",), ", value, ")");
    }
    return t.str();
  }

  Elaborator &ctx_;
  GraphCall &call_;
  size_t reductionAt_;
  std::string reduction_;
};

std::string at(const std::vector<std::string> &indices) { return "i[" + joinedText(indices, ", ") + "]"; }
std::string position(size_t d) { return "p" + std::to_string(d); }

} // namespace

Value graphScatter(Elaborator &ctx, GraphCall &a) {
  Scatter scatter(ctx, a, 4);
  if (!scatter.check()) return Value::error();
  const Dims x = scatter.dims(0), ids = scatter.dims(1);
  std::optional<int64_t> axis = ctx.graphAxis(a[3], a.locOf(3), x.size());
  if (!axis) return Value::error();
  Dims updates = x;
  updates.erase(updates.begin() + *axis);
  updates.insert(updates.begin() + *axis, ids.begin(), ids.end());
  if (!scatter.expect(updates)) return Value::error();
  const auto first = static_cast<size_t>(*axis);
  std::vector<std::string> place, index;
  for (size_t d = 0; d < ids.size(); ++d)
    index.push_back(position(first + d));
  for (size_t d = 0; d < x.size(); ++d)
    place.push_back(d == first ? at(ids.empty() ? std::vector<std::string>{"0"} : index)
                               : position(d < first ? d : d + ids.size() - 1));
  return scatter.run(place);
}

/// Adds ones, or weights, to the elements of zeros that integers select.
Value graphBincount(Elaborator &ctx, GraphCall &a) {
  const Range loc = a.loc;
  if (a[0].isError() || !ctx.graphTensor(a[0], a.locOf(0), 0)) return Value::error();
  if (!isInt(a[0].dtype))
    return ctx.fail(Code::E_TYPE, a.locOf(0), "'bincount' counts integers, found " + describe(a[0]),
                    "cast to ts.i32 first");
  const std::optional<DimExpr> bins = ctx.graphDimOf(a[1], a.locOf(1), "the number of bins");
  const bool isWeighted = a.given(2) && a[2].kind != Value::None;
  if (!bins || (isWeighted && !ctx.graphTensor(a[2], a.locOf(2), 0))) return Value::error();
  // Unsigned integers of 64 bits that i64 lacks are no bins either way.
  if (a[0].dtype != DType::I32 && a[0].dtype != DType::I64)
    a[0] = ctx.cast(std::move(a[0]), info(a[0].dtype).bits < 32 ? DType::I32 : DType::I64, a.locOf(0));
  auto filled = [&](int64_t value, DType dtype, Dims dims) {
    return ctx.graphBroadcastTo(ctx.castConstant(Value::integer(value), dtype), std::move(dims), loc);
  };
  const DType dtype = isWeighted ? a[2].dtype : DType::I32;
  const Dims dims = ctx.graphDims(a[0]);
  GraphCall scatter{
      a.function, a.source, loc, {}, {loc, a.locOf(0), isWeighted ? a.locOf(2) : loc, loc, loc}};
  scatter.values.emplace_back(filled(0, dtype, {*bins}));
  scatter.values.emplace_back(std::move(a[0]));
  scatter.values.emplace_back(isWeighted ? std::move(a[2]) : filled(1, dtype, dims));
  scatter.values.emplace_back(Value::integer(0));
  scatter.values.emplace_back(Value::string("add"));
  return graphScatter(ctx, scatter);
}

Value graphScatterElements(Elaborator &ctx, GraphCall &a) {
  Scatter scatter(ctx, a, 4);
  if (!scatter.check()) return Value::error();
  const Dims x = scatter.dims(0), ids = scatter.dims(1);
  std::optional<int64_t> axis = ctx.graphAxis(a[3], a.locOf(3), x.size());
  if (!axis || !scatter.expect(ids)) return Value::error();
  if (ids.size() != x.size())
    return ctx.fail(Code::E_SHAPE, a.loc,
                    "'scatter_elements' takes indices of the tensor's rank, found " + ctx.graphName(a[0]) +
                        " and indices " + ctx.graphName(a[1]));
  std::vector<std::string> place;
  for (size_t d = 0; d < x.size(); ++d)
    place.push_back(position(d));
  place[static_cast<size_t>(*axis)] = at(place);
  return scatter.run(place);
}

Value graphScatterNd(Elaborator &ctx, GraphCall &a) {
  Scatter scatter(ctx, a, 3);
  if (!scatter.check()) return Value::error();
  const Dims x = scatter.dims(0), ids = scatter.dims(1);
  std::optional<int64_t> count = ids.empty() ? std::nullopt : ids.back().constant();
  if (!count || *count < 1 || static_cast<size_t>(*count) > x.size())
    return ctx.fail(
        Code::E_SHAPE, a.locOf(1),
        "the last axis of the indices of 'scatter_nd' has one number for each axis they select, of " +
            ctx.graphName(a[0]) + "; found indices " + ctx.graphName(a[1]));
  const auto selected = static_cast<size_t>(*count);
  Dims updates(ids.begin(), ids.end() - 1);
  updates.insert(updates.end(), x.begin() + *count, x.end());
  if (!scatter.expect(updates)) return Value::error();
  std::vector<std::string> place, index;
  for (size_t d = 0; d + 1 < ids.size(); ++d)
    index.push_back(position(d));
  for (size_t d = 0; d < x.size(); ++d) {
    std::vector<std::string> one = index;
    one.push_back(std::to_string(d));
    place.push_back(d < selected ? at(one) : position(ids.size() - 1 + d - selected));
  }
  return scatter.run(place);
}

} // namespace tessera::frontend::rules
