// Subscripts in graph functions, x[a:b, ::-1, i, None, ids], which select as NumPy's do: slices and integers
// give a box of the tensor, tensors of integers a gather.
#include "compiler/frontend/sema/NeverNegative.h"
#include "compiler/frontend/sema/SubscriptEntry.h"
#include <algorithm>

namespace tessera::frontend {

namespace {

class Subscript {
public:
  Subscript(Elaborator &ctx, Value x, const ast::Expr &e)
      : ctx_(ctx), x_(std::move(x)), e_(e), dims_(ctx.graphDims(x_)) {}

  Value value() {
    if (!read()) return Value::error();
    // A list at equal distances that is not paired with other indices is a slice, which is read where it is
    // used.
    if (std::ranges::count_if(entries_, &Entry::isIndex) == 1)
      for (Entry &entry : entries_)
        if (entry.isRange) entry.kind = Entry::Slice;
    const bool gathers =
        std::ranges::any_of(entries_, [](const Entry &e) { return e.kind == Entry::Indices; });
    return gathers ? gathered() : boxed();
  }

private:
  bool refuse(Code code, Range loc, std::string message, std::string hint = {}) {
    ctx_.fail(code, loc, std::move(message), std::move(hint));
    return false;
  }

  /// Refuses distances that are negative, when compiling or when the function is called.
  bool require(std::initializer_list<DimExpr> distances, Code code, const std::string &what, Range loc) {
    const std::string says = what + " is outside a dim of " + extent_.text() + " of " + ctx_.graphName(x_);
    return std::ranges::all_of(distances, [&](const DimExpr &d) {
      // No extent is as large as 2^63, nor has a check room for that number: D less 2^63 is negative.
      if (d.text().find("9223372036854775808") != std::string::npos) return refuse(code, loc, says);
      return ctx_.graphRequire(d, code, says, loc);
    });
  }

  bool read() {
    std::optional<std::vector<SubscriptItem>> items = readItems(ctx_, e_);
    if (!items) return false;
    const auto named = static_cast<size_t>(std::ranges::count_if(*items, &SubscriptItem::isAxis));
    if (std::ranges::count_if(*items, &SubscriptItem::isLeading) > 1)
      return refuse(Code::E_INDEX, e_.loc,
                    "'...' stands for all dims that are not indexed, so it is written once");
    if (named > dims_.size())
      return refuse(Code::E_INDEX, e_.loc, ctx_.graphName(x_) + " is indexed along more dims than it has");
    size_t dim = 0;
    auto addWhole = [&](size_t count) {
      for (; count > 0; --count)
        entries_.push_back({Entry::Slice, e_.loc, dims_[dim++]});
    };
    for (SubscriptItem &item : *items) {
      const Range loc = item.source->loc;
      if (item.isNewAxis()) {
        entries_.push_back({Entry::NewAxis, loc});
      } else if (item.isLeading()) {
        if (named == dims_.size()) entries_.push_back({Entry::NoDims, loc});
        addWhole(dims_.size() - named);
      } else {
        extent_ = dims_[dim++];
        if (!(item.isSlice() ? readSlice(*item.source) : readIndex(std::move(item)))) return false;
      }
    }
    addWhole(dims_.size() - dim);
    return true;
  }

  std::optional<DimExpr> fromEnd(std::optional<DimExpr> d, Range loc) {
    if (!d || d->constant().value_or(0) >= 0) return d;
    d = add(extent_, *d);
    if (!d) refuse(Code::E_INDEX, loc, extent_.text() + " less this is too long an expression");
    return d;
  }

  bool readIndex(SubscriptItem item) {
    const Range loc = item.source->loc;
    Value &index = item.index;
    if (index.kind == Value::Tuple) return checkList(ctx_, item) && readList(index.items, loc);
    if (isMask(index)) {
      refuseMask(ctx_, "a mask", loc);
      return false;
    }
    if (isComputed(index)) return addIndices(fromBeginning(std::move(index), loc), loc);
    const std::optional<DimExpr> at = known(index, loc);
    if (!at) return false;
    entries_.push_back({Entry::Number, loc, DimExpr(1), *at});
    return true;
  }

  /// Is this index, or are these indices, known only when the function is called?
  bool isComputed(const Value &index) {
    const bool isKnown = index.isConstInt() || (index.expr && ctx_.graphDimOf(*index.expr));
    return index.isGraph() || (index.isIntScalar() && !isKnown);
  }

  /// An index that constants and dims give, counted from the beginning of the dim.
  std::optional<DimExpr> known(const Value &index, Range loc) {
    std::optional<DimExpr> at = fromEnd(ctx_.graphDimOf(index, loc, "an index"), loc);
    if (!at) return std::nullopt;
    std::optional<DimExpr> rest = subtract(extent_, *at), after = rest ? subtract(*rest, 1) : std::nullopt;
    if (!after) {
      refuse(Code::E_INDEX, loc, "this index is too long an expression");
      return std::nullopt;
    }
    if (!require({*at, *after}, Code::E_INDEX, "index " + at->text(), loc)) return std::nullopt;
    return at;
  }

  bool addIndices(Value indices, Range loc) {
    if (indices.isError()) return false;
    entries_.push_back({Entry::Indices, loc});
    entries_.back().indices = std::move(indices);
    return true;
  }

  /// Negative indices count from the end. Those that are still outside are left to the gather.
  Value fromBeginning(Value index, Range loc) {
    if (!isInt(index.dtype))
      return ctx_.fail(Code::E_TYPE, loc, "indices are integers, found " + describe(index),
                       "convert them with ts.cast(indices, ts.i32)");
    const bool counts = !index.isGraph() || !isNeverNegative(*ctx_.graph_, ctx_.graphNode(index, loc));
    if (!index.isGraph()) index = ctx_.graphBroadcastTo(std::move(index), {}, loc);
    index = ctx_.cast(std::move(index), DType::I64, loc);
    if (!counts || index.isError()) return index;
    Value isBack = ctx_.binary(Op::Lt, index, Value::integer(0), loc);
    Value counted = ctx_.binary(Op::Add, index, ctx_.graphExtent(extent_), loc);
    if (isBack.isError() || counted.isError()) return Value::error();
    return ctx_.graphSelect(std::move(isBack), std::move(counted), std::move(index), loc);
  }

  /// A list of integers selects as a tensor of them does.
  bool readList(std::vector<Value> &list, Range loc) {
    Entry entry{Entry::Indices, loc, DimExpr(static_cast<int64_t>(list.size()))};
    entry.isList = true;
    entry.isRange = !list.empty();
    entry.list.resize(list.size());
    for (size_t i = list.size(); i-- > 0;) {
      if (isComputed(list[i])) {
        entry.list[i].computed = fromBeginning(std::move(list[i]), loc);
        if (entry.list[i].computed.isError()) return false;
        entry.isRange = false;
        continue;
      }
      const std::optional<DimExpr> at = known(list[i], loc);
      if (!at) return false;
      const std::optional<DimExpr> distance = subtract(entry.start, *at);
      const int64_t step = distance ? distance->constant().value_or(0) : 0;
      if (i + 2 == list.size()) entry.step = step;
      if (i + 1 < list.size() && (step == 0 || step != entry.step)) entry.isRange = false;
      entry.list[i].known = entry.start = *at;
    }
    entries_.push_back(std::move(entry));
    return true;
  }

  bool readSlice(const ast::Expr &item) {
    const std::optional<int64_t> given =
        item.items[2] ? ctx_.staticInt(*item.items[2], "the step of a slice") : 1;
    if (!given) return false;
    const int64_t step = *given, distance = std::abs(step);
    if (step == 0 || step < -INT32_MAX || step > INT32_MAX)
      return refuse(Code::E_SLICE, item.items[2]->loc,
                    "a slice has a step other than 0 of at most 31 bits, found " + std::to_string(step));
    const bool isBack = step < 0;
    auto bound = [&](size_t i, std::optional<DimExpr> otherwise) {
      if (!item.items[i]) return otherwise;
      const ast::Expr &at = *item.items[i];
      return fromEnd(ctx_.graphDimOf(ctx_.evaluate(at), at.loc, "a bound"), at.loc);
    };
    // Backwards a slice begins at the last element, and ends before -1.
    std::optional<DimExpr> lo = bound(0, isBack ? subtract(extent_, 1) : DimExpr(0)),
                           hi = lo ? bound(1, isBack ? DimExpr(-1) : extent_) : lo;
    if (!lo || !hi) return false;
    std::optional<DimExpr> span = isBack ? subtract(*lo, *hi) : subtract(*hi, *lo),
                           reach = span ? add(*span, DimExpr(distance - 1)) : span, count = reach;
    if (count && distance != 1) count = apply("floordiv", *count, DimExpr(distance));
    // Forwards: 0 <= lo, hi <= extent. Backwards: -1 <= hi, lo < extent.
    std::optional<DimExpr> below = isBack ? add(*hi, DimExpr(1)) : lo,
                           above = subtract(extent_, isBack ? *lo : *hi);
    if (isBack && above) above = subtract(*above, 1);
    if (!count || !below || !above)
      return refuse(Code::E_SLICE, item.loc, "these bounds are too long expressions");
    // A slice with a step may begin past its end, x[3::4] of 2 elements, and has no elements then. Where the
    // step divides the span for all extents, x[2::2] of 2*D elements, the count is D - 1 without a maximum,
    // which is equal to other dims of this text.
    if (distance != 1 && !count->isNeverNegative() &&
        (count->isConstant() || count->text().find("//") != std::string::npos)) {
      reach = DimExpr(0);
      count = apply("max", *count, DimExpr(0));
      if (!count) return refuse(Code::E_SLICE, item.loc, "these bounds are too long expressions");
    }
    const std::string text = (item.items[0] ? lo->text() : "") + ":" + (item.items[1] ? hi->text() : "") +
                             (step == 1 ? "" : ":" + std::to_string(step));
    if (!require({*below, *reach, *above}, Code::E_SLICE, text, item.loc)) return false;
    entries_.push_back({Entry::Slice, item.loc, *count, *lo, step});
    return true;
  }

  Value boxed() {
    Dims box, kept; // before and after indexed axes are removed and new ones are inserted
    std::vector<std::string> starts;
    std::vector<int64_t> steps;
    for (const Entry &entry : entries_) {
      if (entry.makesAxis()) kept.push_back(entry.extent);
      if (!entry.hasDim()) continue;
      box.push_back(entry.extent);
      starts.push_back(entry.start.text());
      steps.push_back(entry.step);
    }
    const bool isStrided = std::ranges::any_of(steps, [](int64_t step) { return step != 1; });
    if (isStrided || box != dims_) {
      if (!isStrided) steps.clear();
      x_ = ctx_.graphBox(std::move(x_), std::move(box), std::move(starts), std::move(steps), e_.loc);
      if (x_.isError() || kept == ctx_.graphDims(x_)) return std::move(x_);
    }
    return ctx_.graphReshapeTo(std::move(x_), std::move(kept), e_.loc);
  }

  /// As in NumPy, tensors of indices and numbers broadcast to one shape. Its axes are where the first of them
  /// is; they are the first axes if a slice, `...` or a new axis separates two of them.
  Value gathered() {
    std::vector<const Value *> tensors;
    for (Entry &entry : entries_) {
      if (entry.kind != Entry::Indices) continue;
      if (entry.isList) entry.indices = listTensor(ctx_, entry);
      if (entry.indices.isError()) return Value::error();
      tensors.push_back(&entry.indices);
    }
    const std::optional<Dims> shape = ctx_.graphBroadcast(tensors, e_.loc);
    if (!shape) return Value::error();
    const auto isIndex = [](const Entry &entry) { return entry.isIndex(); };
    const auto makesAxis = [](const Entry &entry) { return entry.makesAxis(); };
    const auto first = std::ranges::find_if(entries_, isIndex);
    const auto last = std::find_if(entries_.rbegin(), entries_.rend(), isIndex).base();
    const bool isSeparated = !std::all_of(first, last, isIndex);
    const auto at =
        isSeparated ? size_t{0} : static_cast<size_t>(std::count_if(entries_.begin(), first, makesAxis));

    Dims dims;
    for (const Entry &entry : entries_)
      if (entry.makesAxis()) dims.push_back(entry.extent);
    const size_t after = dims.size() - at; // axes after those of the indices
    dims.insert(dims.begin() + static_cast<ptrdiff_t>(at), shape->begin(), shape->end());

    std::vector<int64_t> along;
    std::vector<Value> indices;
    size_t made = 0, dim = 0;
    for (const Entry &entry : entries_) {
      const size_t axis = made < at ? made : made + shape->size();
      made += entry.makesAxis();
      if (!entry.hasDim()) continue;
      const DimExpr &extent = dims_[dim++];
      const bool isWhole = entry.kind == Entry::Slice && entry.step == 1 && entry.extent == extent;
      along.push_back(isWhole ? static_cast<int64_t>(axis) : -1);
      if (isWhole) continue;
      indices.push_back(entry.kind == Entry::Indices  ? spread(entry.indices, after)
                        : entry.kind == Entry::Number ? ctx_.graphExtent(entry.start)
                                                      : positions(entry, dims, axis));
    }
    return ctx_.graphGather(x_, indices, std::move(along), std::move(dims), e_.loc);
  }

  /// Indices with an axis of extent 1 for each axis of the result after theirs.
  Value spread(const Value &indices, size_t after) {
    if (after == 0) return indices;
    Dims dims = ctx_.graphDims(indices);
    dims.resize(dims.size() + after, DimExpr(1));
    return ctx_.graphReshapeTo(indices, std::move(dims), e_.loc);
  }

  /// The elements of a slice beside a gather are gathered, too: a box would be copied first.
  Value positions(const Entry &slice, const Dims &dims, size_t axis) {
    Value at = ctx_.graphPosition(dims, static_cast<int64_t>(axis), slice.loc);
    if (slice.step != 1)
      at = ctx_.binary(Op::Mul, ctx_.cast(std::move(at), DType::I64, slice.loc), Value::integer(slice.step),
                       slice.loc);
    return slice.start.constant() == 0
               ? std::move(at)
               : ctx_.binary(Op::Add, std::move(at), ctx_.graphExtent(slice.start), slice.loc);
  }

  Elaborator &ctx_;
  Value x_;
  const ast::Expr &e_;
  const Dims dims_;
  DimExpr extent_ = DimExpr(1); // of the dim whose entry is being read
  std::vector<Entry> entries_;
};

} // namespace

Value Elaborator::graphSubscript(Value v, const ast::Expr &e) {
  return Subscript(*this, std::move(v), e).value();
}

} // namespace tessera::frontend
