// Sorts of long rows by the digits of their keys, in one kernel.
#include "compiler/frontend/sema/SortKernel.h"
#include <algorithm>

namespace tessera::frontend {

namespace {

/// topk sorts few of a row's elements, which pays early where a sort is expensive.
constexpr int64_t kLargestWideTop = 64;
/// Tables that topk counts digits in by turns, so that equal digits do not wait for each other.
constexpr int64_t kCounts = 4;

} // namespace

DigitSort::DigitSort(FunctionId function, DType dtype, bool isDescending, std::optional<int64_t> extent,
                     int64_t k)
    : SortKernel(function, dtype, isDescending, extent, k, kLargestWideTop), digits_(info(dtype).bits / 8),
      hasSortedCandidates_(k > largestTile_) {}

/// Memory for passes is empty where the rows fit a tile.
std::optional<DimExpr> DigitSort::extentForLong(const DimExpr &extent) const {
  return k_ ? DimExpr(k_) : ifLong(extent, extent);
}

std::vector<SortKernel::Buffer> DigitSort::buffers() const {
  const bool isSort = function_ == FunctionId::Sort, isTop = function_ == FunctionId::TopK;
  std::vector<Buffer> out = results();
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

std::vector<SortKernel::Launch> DigitSort::launches() {
  std::vector<std::string> tensors = {"x"};
  std::string parameters = "x: ts.Tensor[\"R\", \"N\", ts." + std::string(name(dtype_)) + "]";
  for (const Buffer &b : buffers()) {
    tensors.push_back(b.name);
    parameters += ", " + b.name + ": ts.Tensor[\"R\", " + row(b) + ", ts." + name(b.dtype) + "]";
  }
  writeKeys(t_);
  t_.line(0, "@ts.kernel").line(0, "def ", name_, "(", parameters, "):");
  if (isLong_) t_.line(1, "h = ts.tile.alloc_shared((", std::max(digits_, kCounts + 1), ", 256), ts.i32)");
  t_.line(1, "for r in ts.tile.parallel(0, R):");
  if (tiles_.size() == 1 && !isLong_) {
    writeTile(t_, 2, tiles_.front());
    return {{t_.str(), tensors, {}}};
  }
  writeTiles(t_, 2);
  const int depth = tiles_.empty() ? 2 : 3;
  if (!tiles_.empty()) t_.line(2, "else:");
  if (function_ == FunctionId::TopK)
    writeTop(depth);
  else
    writePasses(depth, "N", [&](int d) { writeElement(d, "i"); });
  return {{t_.str(), tensors, {}}};
}

/// The extent of a buffer's rows in the text; P is N, or 0 where the rows fit a tile.
std::string DigitSort::row(const Buffer &b) const {
  return k_ ? std::to_string(k_) : b.isResult || tiles_.empty() ? "\"N\"" : "\"P\"";
}

/// Digit `j`, from the least significant one, of the key `k`, in unsigned order.
std::string DigitSort::digit(const std::string &k, int64_t j) const {
  const std::string d = "((" + k + " >> " + std::to_string(8 * j + (isPacked() ? 32 : 0)) + ") & 255)";
  return j + 1 == digits_ ? "(" + d + " ^ 128)" : d;
}

/// Sets `k`, and `q`, the position, if it is apart, of element `at` of x.
void DigitSort::writeElement(int depth, const char *at) {
  if (isPacked())
    t_.line(depth, "k = (ts.tile.cast(key(x[r, ", at, "]), ts.i64) << 32) | ", at);
  else
    t_.line(depth, "k = key(x[r, ", at, "])");
  if (hasPositions() && isWide_) t_.line(depth, "q = ts.tile.cast(", at, ", ts.i32)");
}

/// The elements of a pass come from and go to a, with their positions in ap, and b, with theirs in bp.
/// Where a result of the kernel has the right size, it takes the place of b or bp.
void DigitSort::writeLoad(int depth, bool isA) {
  const bool isResult = !isA && function_ == FunctionId::Sort;
  t_.line(depth, "k = ",
          isA        ? "a[r, i]"
          : isResult ? "ts.tile.bitcast(y[r, i], " + keyName() + ")"
                     : std::string("b[r, i]"));
  if (hasPositions() && isWide_)
    t_.line(depth, "q = ", isA ? "ap" : function_ == FunctionId::TopK ? "bp" : "o", "[r, i]");
}

void DigitSort::writeStore(int depth, bool isA) {
  const bool isResult = !isA && function_ == FunctionId::Sort;
  if (isResult)
    t_.line(depth, "y[r, p] = ts.tile.bitcast(k, ts.", name(dtype_), ")");
  else
    t_.line(depth, isA ? "a" : "b", "[r, p] = k");
  if (hasPositions() && isWide_)
    t_.line(depth, isA ? "ap" : function_ == FunctionId::TopK ? "bp" : "o", "[r, p] = q");
}

void DigitSort::writeResult(int depth) {
  if (function_ != FunctionId::ArgSort) t_.line(depth, "y[r, p] = value(", isPacked() ? "k >> 32" : "k", ")");
  if (hasPositions()) t_.line(depth, "o[r, p] = ", isWide_ ? "q" : "ts.tile.cast(k, ts.i32)");
}

/// Sorts `count` elements, which `first` reads, into the result.
void DigitSort::writePasses(int depth, const std::string &count, const std::function<void(int)> &first) {
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
void DigitSort::writeTop(int depth) {
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

} // namespace tessera::frontend
