// sort, argsort and topk of whole tensors: a launch of a kernel that sorts each row, along the last axis.
//
// A row that fits a tile is sorted by the tile function of the same name. A longer one is sorted by the
// digits of a key, a byte each, from the least significant one on: counts of the digits give the place where
// the elements of each digit begin, and every element moves to the next place of its digit. Such a pass keeps
// the order of equal digits. topk first finds the key of the last element that it takes, digit by digit from
// the most significant one on, and sorts only what is not above it.
//
// A key is a signed integer in the order of the elements, as SortRules.cpp has them. Positions are packed
// into the lower half of an i64 whose upper half is the key; those of 64-bit keys have a tensor of their own.
#include "compiler/frontend/sema/CallRules.h"
#include "compiler/frontend/sema/ElabGraph.h"
#include "compiler/frontend/sema/KernelText.h"
#include <algorithm>
#include <functional>
#include <span>

namespace tessera::frontend::rules {

namespace {

/// Tiles that rows are sorted in: a row takes the smallest one that holds it.
constexpr int64_t kTiles[] = {16, 64, 128, 256, 512, 1024, 4096};
/// The same where a tile takes five sorts, for the positions of keys of 64 bits.
constexpr int64_t kWideTiles[] = {16, 64, 256, 1024};
/// topk sorts few of a row's elements, which pays early where a sort is expensive.
constexpr int64_t kLargestWideTop = 64;

/// The dtype that elements are sorted in: those of few bits, and bool, have the same order in another one.
DType sortedAs(DType t) {
  if (t == DType::Bool) return DType::I8;
  if (t == DType::TF32) return DType::F32;
  return isFloat(t) && info(t).bits < 16 ? DType::F16 : t;
}

/// Writes the kernel of one function, dtype and direction.
class SortKernel {
public:
  /// `extent` of a row if it is known when compiling; `k` of topk.
  SortKernel(FunctionId function, DType dtype, bool isDescending, std::optional<int64_t> extent, int64_t k)
      : function_(function), dtype_(dtype), isDescending_(isDescending), isWide_(info(dtype).bits == 64),
        digits_(info(dtype).bits / 8), k_(k) {
    const std::span<const int64_t> tiles =
        isWide_ && function != FunctionId::Sort ? std::span<const int64_t>(kWideTiles) : kTiles;
    for (int64_t tile : tiles) {
      if (function == FunctionId::TopK && isWide_ && tile > kLargestWideTop) break;
      if (k <= tile && extent.value_or(tile) <= tile) tiles_.push_back(tile);
      if (extent && *extent <= tile) break;
    }
    if (extent && !tiles_.empty()) tiles_.erase(tiles_.begin(), tiles_.end() - 1);
    isLong_ = !extent || tiles_.empty();
    hasSortedCandidates_ = k > tiles.back();
    name_ = std::string(function == FunctionId::Sort      ? "sort"
                        : function == FunctionId::ArgSort ? "argsort"
                                                          : "topk") +
            "_" + name(dtype) + (isDescending ? "_descending" : "") + (k ? "_" + std::to_string(k) : "");
    if (extent) name_ += "_of_" + std::to_string(*extent);
  }

  /// A tensor that the kernel needs beside the one that is sorted: a result, or memory for its passes.
  struct Buffer {
    std::string name;
    DType dtype;
    bool isResult;
  };

  /// The extent of a buffer's rows; nothing if it has no expression. Memory for passes is empty where the
  /// rows fit a tile: `extent` times 1 or 0, because it is below 2^31.
  std::optional<DimExpr> extentOf(const Buffer &b, const DimExpr &extent) const {
    if (k_) return DimExpr(k_);
    if (b.isResult || tiles_.empty()) return extent;
    std::optional<DimExpr> sum = add(extent, DimExpr(INT32_MAX - tiles_.back()));
    std::optional<DimExpr> isUsed = sum ? apply("floordiv", *sum, DimExpr(int64_t{1} << 31)) : sum;
    return isUsed ? multiply(extent, *isUsed) : isUsed;
  }

  /// In the order of the kernel's parameters.
  std::vector<Buffer> buffers() const {
    const bool isSort = function_ == FunctionId::Sort, isTop = function_ == FunctionId::TopK;
    std::vector<Buffer> out;
    if (isSort || isTop) out.push_back({"y", dtype_, true});
    if (!isSort) out.push_back({"o", DType::I32, true});
    if (!isLong_) return out;
    const DType key = isWide_ || !isSort ? DType::I64 : DType::I32;
    const bool hasA = isTop ? hasSortedCandidates_ && digits_ > 1 : digits_ > 1;
    const bool hasB = isTop || (!isSort && digits_ > 2);
    if (hasA) out.push_back({"a", key, false});
    if (hasB) out.push_back({"b", key, false});
    if (isWide_ && !isSort && hasA) out.push_back({"ap", DType::I32, false});
    if (isWide_ && isTop) out.push_back({"bp", DType::I32, false});
    return out;
  }

  std::string text() {
    std::string parameters = "x: ts.Tensor[\"R\", \"N\", ts." + std::string(name(dtype_)) + "]";
    for (const Buffer &b : buffers())
      parameters += ", " + b.name + ": ts.Tensor[\"R\", " + row(b) + ", ts." + name(b.dtype) + "]";
    t_.line(0, "import tessera as ts");
    writeKeys();
    t_.line(0, "@ts.kernel").line(0, "def ", name_, "(", parameters, "):");
    if (isLong_) t_.line(1, "h = ts.tile.alloc_shared((", std::max(digits_, kCounts + 1), ", 256), ts.i32)");
    t_.line(1, "for r in ts.tile.parallel(0, R):");
    if (tiles_.size() == 1 && !isLong_) {
      writeTile(2, tiles_.front());
      return t_.str();
    }
    for (size_t i = 0; i < tiles_.size(); ++i) {
      t_.line(2, i ? "elif" : "if", " N <= ", tiles_[i], ":");
      writeTile(3, tiles_[i]);
    }
    const int depth = tiles_.empty() ? 2 : 3;
    if (!tiles_.empty()) t_.line(2, "else:");
    if (function_ == FunctionId::TopK)
      writeTop(depth);
    else
      writePasses(depth, "N", [&](int d) { writeElement(d, "i"); });
    return t_.str();
  }

private:
  /// Tables that topk counts digits in by turns, so that equal digits do not wait for each other.
  static constexpr int64_t kCounts = 4;

  /// The extent of a buffer's rows in the text; P is N, or 0 where the rows fit a tile.
  std::string row(const Buffer &b) const {
    return k_ ? std::to_string(k_) : b.isResult || tiles_.empty() ? "\"N\"" : "\"P\"";
  }
  std::string keyDType() const { return "ts.i" + std::to_string(info(dtype_).bits); }
  int64_t largest() const { return static_cast<int64_t>(~uint64_t(0) >> (65 - info(dtype_).bits)); }

  int64_t infinity() const {
    switch (dtype_) {
    case DType::F64:
      return 0x7FF0000000000000;
    case DType::F32:
      return 0x7F800000;
    case DType::F16:
      return 0x7C00;
    default:
      return 0x7F80; // bf16
    }
  }

  /// Functions between elements and keys, which are i32, or i64 of elements of 64 bits.
  void writeKeys() {
    const std::string key = keyDType(), wide = isWide_ ? "ts.i64" : "ts.i32";
    const int64_t sign = info(dtype_).bits - 1;
    const char *opposite = isDescending_ ? "~" : "";
    t_.line(0, "def key(v):");
    if (isFloat(dtype_)) {
      t_.line(1, "s = ts.tile.bitcast(v, ", key, ")");
      t_.line(1, "k = ", opposite, "(s ^ ((s >> ", sign, ") & ", largest(), "))");
      // NaN is last in either order
      t_.line(1, "return ts.tile.cast(ts.tile.where((s & ", largest(), ") > ", infinity(), ", ", largest(),
              ", k), ", wide, ")");
    } else if (isUnsigned(dtype_)) {
      t_.line(1, "s = ts.tile.bitcast(v, ", key, ") ^ (-", largest(), " - 1)");
      t_.line(1, "return ts.tile.cast(", opposite, "s, ", wide, ")");
    } else {
      t_.line(1, "return ts.tile.cast(", opposite, "v, ", wide, ")");
    }
    t_.line(0, "def value(k):").line(1, "k = ts.tile.cast(k, ", key, ")").line(1, "s = ", opposite, "k");
    if (isFloat(dtype_)) t_.line(1, "s = s ^ ((s >> ", sign, ") & ", largest(), ")");
    if (isFloat(dtype_) && isDescending_) // a NaN is positive in either order
      t_.line(1, "s = ts.tile.where(k == ", largest(), ", k, s)");
    if (isUnsigned(dtype_)) t_.line(1, "s = s ^ (-", largest(), " - 1)");
    t_.line(1, "return ts.tile.bitcast(s, ts.", name(dtype_), ")");
  }

  void writeTile(int depth, int64_t tile) {
    const std::string flag = isDescending_ ? "True" : "False", x = "x[r, 0:" + std::to_string(tile) + "]";
    const std::string place = "[r, 0:" + std::to_string(tile) + "]";
    if (isWide_ && hasPositions() && tile == kTiles[0]) return writeRanks(depth, tile);
    if (function_ == FunctionId::TopK) {
      t_.line(depth, "v, at = ts.tile.topk(", x, ", ", k_, ", largest=", flag, ")");
      t_.line(depth, "y[r, 0:", k_, "] = v").line(depth, "o[r, 0:", k_, "] = at");
    } else if (function_ == FunctionId::Sort) {
      t_.line(depth, "y", place, " = ts.tile.sort(", x, ", descending=", flag, ")");
    } else {
      t_.line(depth, "o", place, " = ts.tile.argsort(", x, ", descending=", flag, ")");
    }
  }

  /// Sorts few elements by the number of those that come before each: fewer steps than five sorts. topk drops
  /// ranks past its results.
  void writeRanks(int depth, int64_t tile) {
    t_.line(depth, "few = x[r, 0:", tile, "]").line(depth, "own = key(few)[:, None]");
    t_.line(depth, "others = key(few)[None, :]").line(depth, "place = ts.tile.arange(", tile, ")");
    t_.line(depth, "before = (others < own) | ((others == own) & (place[None, :] < place[:, None]))");
    t_.line(depth, "rank = ts.tile.sum(ts.tile.cast(before, ts.i32), axis=1)");
    if (function_ == FunctionId::TopK) t_.line(depth, "y[r, rank] = value(key(few))"); // a NaN as elsewhere
    t_.line(depth, "o[r, rank] = place");
  }

  bool hasPositions() const { return function_ != FunctionId::Sort; }
  bool isPacked() const { return hasPositions() && !isWide_; }

  /// Digit `j`, from the least significant one, of the key `k`, in unsigned order.
  std::string digit(const std::string &k, int64_t j) const {
    const std::string d = "((" + k + " >> " + std::to_string(8 * j + (isPacked() ? 32 : 0)) + ") & 255)";
    return j + 1 == digits_ ? "(" + d + " ^ 128)" : d;
  }

  /// Sets `k`, and `q`, the position, if it is apart, of element `at` of x.
  void writeElement(int depth, const char *at) {
    if (isPacked())
      t_.line(depth, "k = (ts.tile.cast(key(x[r, ", at, "]), ts.i64) << 32) | ", at);
    else
      t_.line(depth, "k = key(x[r, ", at, "])");
    if (hasPositions() && isWide_) t_.line(depth, "q = ts.tile.cast(", at, ", ts.i32)");
  }

  /// The elements of a pass come from and go to a, with their positions in ap, and b, with theirs in bp.
  /// Where a result of the kernel has the right size, it takes the place of b or bp.
  void writeLoad(int depth, bool isA) {
    const bool isResult = !isA && function_ == FunctionId::Sort;
    t_.line(depth, "k = ",
            isA        ? "a[r, i]"
            : isResult ? "ts.tile.bitcast(y[r, i], " + keyDType() + ")"
                       : std::string("b[r, i]"));
    if (hasPositions() && isWide_)
      t_.line(depth, "q = ", isA ? "ap" : function_ == FunctionId::TopK ? "bp" : "o", "[r, i]");
  }

  void writeStore(int depth, bool isA) {
    const bool isResult = !isA && function_ == FunctionId::Sort;
    if (isResult)
      t_.line(depth, "y[r, p] = ts.tile.bitcast(k, ts.", name(dtype_), ")");
    else
      t_.line(depth, isA ? "a" : "b", "[r, p] = k");
    if (hasPositions() && isWide_)
      t_.line(depth, isA ? "ap" : function_ == FunctionId::TopK ? "bp" : "o", "[r, p] = q");
  }

  void writeResult(int depth) {
    if (function_ != FunctionId::ArgSort)
      t_.line(depth, "y[r, p] = value(", isPacked() ? "k >> 32" : "k", ")");
    if (hasPositions()) t_.line(depth, "o[r, p] = ", isWide_ ? "q" : "ts.tile.cast(k, ts.i32)");
  }

  /// Sorts `count` elements, which `first` reads, into the result.
  void writePasses(int depth, const std::string &count, const std::function<void(int)> &first) {
    auto all = [](const std::string &n) { return "for i in ts.tile.range(0, " + n + "):"; };
    t_.line(depth, "h[0:", digits_, ", :] = ts.tile.zeros((", digits_, ", 256), ts.i32)")
        .line(depth, all(count));
    first(depth + 1);
    for (int64_t j = 0; j < digits_; ++j) {
      const std::string c = "c" + std::to_string(j), place = "h[" + std::to_string(j) + ", " + c + "]";
      t_.line(depth + 1, c, " = ", digit("k", j)).line(depth + 1, place, " = ", place, " + 1");
    }
    t_.line(depth, "n = h[0:", digits_, ", :]")
        .line(depth, "h[0:", digits_, ", :] = ts.tile.cumsum(n, axis=1) - n");
    for (int64_t j = 0; j < digits_; ++j) {
      // The last pass but one writes a, the one before it b, and so on; topk's elements begin in b.
      const bool toA = (digits_ - j) % 2 == 0;
      // The extent of what is read bounds the loop, so that its elements need no check.
      const bool readsResult = toA && function_ == FunctionId::Sort;
      t_.line(depth, all(j == 0 || k_ || readsResult || tiles_.empty() ? count : "P"));
      if (j == 0)
        first(depth + 1);
      else
        writeLoad(depth + 1, !toA);
      t_.line(depth + 1, "c = ", digit("k", j)).line(depth + 1, "p = h[", j, ", c]");
      t_.line(depth + 1, "h[", j, ", c] = p + 1");
      if (j + 1 == digits_)
        writeResult(depth + 1);
      else
        writeStore(depth + 1, toA);
    }
  }

  /// Finds the last element that is taken, copies it and what is before it, and sorts them.
  ///
  /// `e` is how far a key is above the lowest one, so that digits that no element has cost nothing; of keys
  /// that fill their dtype it has the opposite sign bit, to be compared as an unsigned integer.
  void writeTop(int depth) {
    const std::string all = "for i in ts.tile.range(0, N):", wide = isWide_ ? "ts.i64" : "ts.i32";
    const bool isFull = info(dtype_).bits >= 32;
    const int64_t most = isWide_ ? INT64_MAX : INT32_MAX;
    const std::string e =
        std::string("e = ") + (isFull ? "(s - low) ^ (-" + std::to_string(most) + " - 1)" : "s - low");
    t_.line(depth, "low = ", wide, "(", most, ")").line(depth, "high = ", wide, "(-", most, " - 1)");
    t_.line(depth, "for i in ts.tile.range(0, N, 1024):").line(depth + 1, "t = key(x[r, i:i+1024])");
    t_.line(depth + 1, "low = ts.tile.minimum(low, ts.tile.min(t))");
    t_.line(depth + 1, "high = ts.tile.maximum(high, ts.tile.max(t))");
    t_.line(depth, "last = ", wide, "(", most, ")").line(depth, "prefix = ", wide, "(0)");
    t_.line(depth, "left = ts.i32(", k_, ")").line(depth, "d = ts.i32(0)");
    t_.line(depth, "h[0, 0] = ts.tile.cast(N, ts.i32)");
    for (int64_t j = digits_ - 1; j >= 0; --j) {
      const bool isFirst = j + 1 == digits_, isFlipped = isFirst && isFull;
      const int64_t shift = 8 * j;
      // If all that share the digits so far are taken, the others do not matter.
      t_.line(depth, "if h[0, d] > left:").line(depth + 1, "d = 0");
      t_.line(depth + 1, "if (high - low) >> ", shift, " == 0:");
      t_.line(depth + 2, "h[0, 0] = ts.tile.cast(N, ts.i32)");
      t_.line(depth + 1, "else:");
      t_.line(depth + 2, "h[0:", kCounts, ", :] = ts.tile.zeros((", kCounts, ", 256), ts.i32)");
      // The row of other digits is never read for its counts, but an increment reads what it adds to.
      if (!isFirst) t_.line(depth + 2, "h[", kCounts, ", :] = ts.tile.zeros((256,), ts.i32)");
      t_.line(depth + 2, all);
      t_.line(depth + 3, "s = key(x[r, i])").line(depth + 3, e);
      t_.line(depth + 3, "c = ", isFlipped ? "((e >> " : "(e >> ", shift,
              isFlipped ? ") & 255) ^ 128" : ") & 255");
      // Those of other digits before are counted apart: a branch would be as good as random.
      if (isFirst)
        t_.line(depth + 3, "u = i & ", kCounts - 1);
      else
        t_.line(depth + 3, "u = ts.tile.where((e >> ", shift + 8, ") == prefix, i & ", kCounts - 1, ", ",
                kCounts, ")");
      t_.line(depth + 3, "h[u, c] = h[u, c] + 1");
      t_.line(depth + 2, "n = h[0:", kCounts, ", :]").line(depth + 2, "h[0, :] = ts.tile.sum(n, axis=0)");
      t_.line(depth + 2, "while left > h[0, d]:");
      t_.line(depth + 3, "left = left - h[0, d]").line(depth + 3, "d = d + 1");
      t_.line(depth + 1, "prefix = ", isFirst ? "" : "(prefix << 8) | ", "ts.tile.cast(d, ", wide, ")",
              isFlipped ? " - 128" : "");
      t_.line(depth + 1, "last = (prefix << ", shift, ") | ", (int64_t{1} << shift) - 1);
    }
    t_.line(depth, "p = ts.i32(0)").line(depth, all).line(depth + 1, "s = key(x[r, i])").line(depth + 1, e);
    t_.line(depth + 1, "if e < last or (e == last and left > 0):");
    t_.line(depth + 2, "if e == last:").line(depth + 3, "left = left - 1");
    if (isWide_)
      t_.line(depth + 2, "b[r, p] = s").line(depth + 2, "bp[r, p] = ts.tile.cast(i, ts.i32)");
    else
      t_.line(depth + 2, "b[r, p] = (ts.tile.cast(s, ts.i64) << 32) | i");
    t_.line(depth + 2, "p = p + 1");
    const std::string part = "[r, 0:" + std::to_string(k_) + "]";
    if (hasSortedCandidates_) {
      writePasses(depth, std::to_string(k_), [&](int d) { writeLoad(d, false); });
    } else if (isWide_) {
      t_.line(depth, "at = ts.tile.argsort(b", part, ")").line(depth, "y", part, " = value(b[r, at])");
      t_.line(depth, "o", part, " = bp[r, at]");
    } else {
      t_.line(depth, "k = ts.tile.sort(b", part, ")").line(depth, "y", part, " = value(k >> 32)");
      t_.line(depth, "o", part, " = ts.tile.cast(k, ts.i32)");
    }
  }

  FunctionId function_;
  DType dtype_;
  bool isDescending_, isWide_;
  int64_t digits_, k_;
  std::vector<int64_t> tiles_;
  bool isLong_ = false;              // may a row be longer than the tiles?
  bool hasSortedCandidates_ = false; // does topk take more than fits a tile?
  std::string name_;
  KernelText t_;
};

/// Sorts the rows along `axis`; gives the results of the function.
std::vector<Value> sortAlong(Elaborator &ctx, GraphCall &a, Value x, int64_t axis, bool isDescending,
                             int64_t k) {
  const Range loc = a.loc;
  const Dims dims = ctx.graphDims(x);
  const auto rank = static_cast<int64_t>(dims.size());
  const DimExpr extent = dims[static_cast<size_t>(axis)];
  std::vector<int64_t> axisLast;
  std::optional<DimExpr> rows = DimExpr(1);
  for (int64_t d = 0; d < rank; ++d) {
    if (d == axis) continue;
    axisLast.push_back(d);
    if (rows) rows = multiply(*rows, dims[static_cast<size_t>(d)]);
  }
  if (!rows) {
    ctx.fail(Code::E_SHAPE, loc, "the number of rows has no short expression",
             "name the dims in the function's signature");
    return {};
  }
  axisLast.push_back(axis);
  const bool isLast = axis + 1 == rank;
  x = ctx.cast(std::move(x), sortedAs(x.dtype), loc);
  if (!isLast) x = ctx.graphTranspose(std::move(x), axisLast, loc);
  x = ctx.graphReshapeTo(std::move(x), {*rows, extent}, loc);
  if (x.isError()) return {};

  SortKernel kernel(a.function.id, x.dtype, isDescending, extent.constant(), k);
  const DimExpr kept = k ? DimExpr(k) : extent;
  std::vector<std::optional<Value>> operands;
  operands.emplace_back(x);
  std::vector<Value> results;
  for (const SortKernel::Buffer &b : kernel.buffers()) {
    Value v = ctx.graphEmpty(b.dtype, {*rows, kernel.extentOf(b, extent).value_or(extent)}, loc);
    if (b.isResult) results.push_back(v);
    operands.emplace_back(std::move(v));
  }
  if (ctx.graphLaunchOwn(kernel.text(), std::move(operands), a.source).isError()) return {};
  Dims moved;
  std::vector<int64_t> back(static_cast<size_t>(rank));
  for (size_t d = 0; d < axisLast.size(); ++d) {
    moved.push_back(axisLast[d] == axis ? kept : dims[static_cast<size_t>(axisLast[d])]);
    back[static_cast<size_t>(axisLast[d])] = static_cast<int64_t>(d);
  }
  for (Value &v : results) {
    v = ctx.graphReshapeTo(std::move(v), moved, loc);
    if (!isLast) v = ctx.graphTranspose(std::move(v), back, loc);
  }
  return results;
}

/// The tensor and the axis of a call; nothing, with an error, if they do not fit.
std::optional<int64_t> sortedAxis(Elaborator &ctx, GraphCall &a, size_t axisAt) {
  if (a[0].isError() || !ctx.graphTensor(a[0], a.locOf(0), 1)) return std::nullopt;
  if (isPacked(a[0].dtype)) {
    ctx.refusePacked(a[0].dtype, a.function.name, a.locOf(0));
    return std::nullopt;
  }
  std::optional<int64_t> axis = ctx.graphAxis(a[axisAt], a.locOf(axisAt), ctx.graphDims(a[0]).size());
  if (!axis) return axis;
  const DimExpr &extent = ctx.graphDims(a[0])[static_cast<size_t>(*axis)];
  const std::optional<DimExpr> rest = subtract(DimExpr(INT32_MAX), extent);
  const std::string says = std::string("'") + a.function.name +
                           "' takes rows of less than 2^31 elements, found " + ctx.graphName(a[0]);
  if (!rest || !ctx.graphRequire(*rest, Code::E_SHAPE, says, a.loc)) return std::nullopt;
  return axis;
}

} // namespace

Value graphSort(Elaborator &ctx, GraphCall &a) {
  const std::optional<int64_t> axis = sortedAxis(ctx, a, 1);
  bool isDescending = false;
  if (!axis || !ctx.graphFlag(a[2], a.locOf(2), "descending", isDescending)) return Value::error();
  const DType dtype = a[0].dtype;
  std::vector<Value> results = sortAlong(ctx, a, std::move(a[0]), *axis, isDescending, 0);
  if (results.empty()) return Value::error();
  return a.function.id == FunctionId::Sort ? ctx.cast(std::move(results[0]), dtype, a.loc)
                                           : std::move(results[0]);
}

Value graphTopK(Elaborator &ctx, GraphCall &a) {
  const std::optional<int64_t> axis = sortedAxis(ctx, a, 2);
  const std::optional<int64_t> k = ctx.staticInt(a[1], a.locOf(1), "the number of elements");
  bool isLargest = false;
  if (!axis || !k || !ctx.graphFlag(a[3], a.locOf(3), "largest", isLargest)) return Value::error();
  const DimExpr &extent = ctx.graphDims(a[0])[static_cast<size_t>(*axis)];
  const std::string says =
      "'topk' takes between 1 and " + extent.text() + " elements of this axis, found " + std::to_string(*k);
  const std::optional<DimExpr> rest = subtract(extent, DimExpr(*k));
  if (*k < 1) return ctx.fail(Code::E_SHAPE, a.locOf(1), says);
  if (!rest || !ctx.graphRequire(*rest, Code::E_SHAPE, says, a.locOf(1))) return Value::error();
  const DType dtype = a[0].dtype;
  std::vector<Value> results = sortAlong(ctx, a, std::move(a[0]), *axis, isLargest, *k);
  if (results.empty()) return Value::error();
  results[0] = ctx.cast(std::move(results[0]), dtype, a.loc);
  return Value::tuple(std::move(results));
}

} // namespace tessera::frontend::rules
