// Sorts of long rows by runs that are merged, for targets where threads share the tiles of a program.
#include "compiler/frontend/sema/SortKernel.h"
#include <bit>

namespace tessera::frontend {

namespace {

/// Runs that become one run in a launch. More would need fewer launches, but more searches for each element.
constexpr int64_t kMerged = 4;

int64_t ceilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

} // namespace

MergeSort::MergeSort(FunctionId function, DType dtype, bool isDescending, const DimExpr &extent, int64_t k)
    : SortKernel(function, dtype, isDescending, extent.constant(), k, INT64_MAX), known_(extent.constant()) {
  // The parts of a row that is little longer than one part have up to 2 * k elements.
  isCut_ = k > 0 && 2 * k <= largestTile_;
  if (isCut_) isCut_ = extentForLong(extent).has_value();
}

std::optional<DimExpr> MergeSort::extentForLong(const DimExpr &extent) const {
  if (!isCut_) return ifLong(extent, extent);
  const std::optional<DimExpr> sum = add(extent, DimExpr(largestTile_ - 1));
  const std::optional<DimExpr> parts = sum ? apply("floordiv", *sum, DimExpr(largestTile_)) : sum;
  const std::optional<DimExpr> kept = parts ? multiply(*parts, DimExpr(k_)) : parts;
  return kept ? ifLong(*kept, extent) : kept;
}

/// Runs are in a, with their positions in ap, and in b, with theirs in bp, by turns.
std::vector<SortKernel::Buffer> MergeSort::buffers() const {
  std::vector<Buffer> out = results();
  if (!isLong_) return out;
  for (const char *run : {"a", "b"}) {
    out.push_back({run, storedDType(), false});
    if (hasApart()) out.push_back({std::string(run) + "p", DType::I32, false});
  }
  return out;
}

std::string MergeSort::resultParameters() const {
  std::string out;
  for (const Buffer &b : results())
    out += ", " + b.name + ": ts.Tensor[\"R\", " + (k_ ? std::to_string(k_) : "\"N\"") + ", ts." +
           name(b.dtype) + "]";
  return out;
}

std::vector<SortKernel::Launch> MergeSort::launches() {
  std::vector<std::string> names;
  for (const Buffer &b : results())
    names.push_back(b.name);
  Launch runs{runsText(), {"x"}, {}};
  if (!tiles_.empty()) runs.tensors.insert(runs.tensors.end(), names.begin(), names.end());
  if (isLong_) runs.tensors.emplace_back("a");
  if (isLong_ && hasApart()) runs.tensors.emplace_back("ap");
  std::vector<Launch> out = {std::move(runs)};
  if (!isLong_) return out;

  const int64_t longest = known_.value_or(INT32_MAX), first = isCut_ ? k_ : largestTile_;
  const int64_t stored = isCut_ ? ceilDivide(longest, largestTile_) * k_ : longest;
  const std::string text = mergeText();
  bool fromA = true;
  for (int64_t length = first; length < stored; length *= kMerged, fromA = !fromA) {
    Launch merge{text, {}, {length, static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(length)))}};
    for (const char *run : {fromA ? "a" : "b", fromA ? "b" : "a"}) {
      merge.tensors.emplace_back(run);
      if (hasApart()) merge.tensors.push_back(std::string(run) + "p");
    }
    merge.tensors.insert(merge.tensors.end(), names.begin(), names.end());
    out.push_back(std::move(merge));
  }
  return out;
}

std::string MergeSort::runsText() const {
  KernelText t;
  std::string parameters = "x: ts.Tensor[\"R\", \"N\", ts." + std::string(name(dtype_)) + "]";
  if (!tiles_.empty()) parameters += resultParameters(); // a kernel that gets a result writes it
  if (isLong_) parameters += std::string(", a: ts.Tensor[\"R\", \"L\", ts.") + name(storedDType()) + "]";
  if (isLong_ && hasApart()) parameters += ", ap: ts.Tensor[\"R\", \"L\", ts.i32]";
  writeKeys(t);
  t.line(0, "@ts.kernel").line(0, "def ", name_, "_runs(", parameters, "):");
  t.line(1, "for r in ts.tile.parallel(0, R):");
  t.line(2, "for c in ts.tile.parallel(0, N, ", largestTile_, "):");
  writeTiles(t, 3);
  if (!isLong_) return t.str();
  if (!tiles_.empty()) t.line(3, "else:");
  writeRun(t, tiles_.empty() ? 3 : 4);
  return t.str();
}

/// Sorts the part of row r from c on. If parts are cut, the last one may have fewer than k elements: keys
/// after all others, which only this part has, fill it.
void MergeSort::writeRun(KernelText &t, int depth) const {
  const std::string part = "x[r, c:c+" + std::to_string(largestTile_) + "]";
  const std::string head = isCut_ ? "[0:" + std::to_string(k_) + "]" : "";
  const std::string to = isCut_ ? "m:m+" + std::to_string(k_) : "c:c+" + std::to_string(largestTile_);
  const int64_t last = INT64_MAX;
  if (isCut_) t.line(depth, "m = c // ", largestTile_, " * ", k_);
  if (hasApart()) {
    t.line(depth, "source = ts.tile.argsort(", part, ", descending=", isDescending_ ? "True" : "False", ")",
           head);
    t.line(depth, "source = source + ts.tile.cast(c, ts.i32)");
    t.line(depth, "k = key(x[r, source])");
    t.line(depth, "a[r, ", to, "] = ", isCut_ ? "ts.tile.fill_masked(k, " + std::to_string(last) + ")" : "k");
    t.line(depth, "ap[r, ", to, "] = ", isCut_ ? "ts.tile.fill_masked(source, 0)" : "source");
    return;
  }
  if (isPacked())
    t.line(depth, "k = (ts.tile.cast(key(", part, "), ts.i64) << 32) | ts.tile.cast(c + ts.tile.arange(",
           largestTile_, "), ts.i64)");
  else
    t.line(depth, "k = ts.tile.cast(key(", part, "), ", keyName(), ")");
  if (isCut_) t.line(depth, "k = ts.tile.fill_masked(k, ", last, ")");
  t.line(depth, "a[r, ", to, "] = ts.tile.sort(k)", head);
}

/// Merges runs of w elements. `first` is the largest power of two that is not above w.
///
/// Element i of a row belongs to run `run`; its number among the runs that are merged differs from those of
/// the others in its last two bits. Of equal elements the one of an earlier run comes first. Packed keys are
/// never equal.
std::string MergeSort::mergeText() const {
  const std::string stored = std::string("ts.") + name(storedDType());
  auto runs = [&](const std::string &n) {
    std::string out = n + ": ts.Tensor[\"R\", \"L\", " + stored + "]";
    return hasApart() ? out + ", " + n + "p: ts.Tensor[\"R\", \"L\", ts.i32]" : out;
  };
  KernelText t;
  writeKeys(t);
  t.line(0, "@ts.kernel");
  t.line(0, "def ", name_, "_merge(", runs("a"), ", ", runs("b"), resultParameters(),
         ", w: ts.i32, first: ts.i32):");
  t.line(1, "lane = ts.tile.linear_id()").line(1, "if lane < R * L:");
  t.line(2, "n = ts.tile.cast(L, ts.i32)").line(2, "if w < n:");
  t.line(3, "r = lane // L").line(3, "i = ts.tile.cast(lane - r * L, ts.i32)").line(3, "k = a[r, i]");
  t.line(3, "run = i // w").line(3, "runs = (n - 1) // w + 1").line(3, "step = first");
  for (int j = 1; j < kMerged; ++j) { // a run that does not exist is empty
    t.line(3, "run", j, " = run ^ ", j).line(3, "begin", j, " = n");
    t.line(3, "if run", j, " < runs:").line(4, "begin", j, " = run", j, " * w");
    t.line(3, "length", j, " = ts.tile.minimum(n - begin", j, ", w)").line(3, "before", j, " = ts.i32(0)");
  }
  t.line(3, "while step > 0:");
  for (int j = 1; j < kMerged; ++j) {
    t.line(4, "if before", j, " + step <= length", j, ":");
    t.line(5, "other = a[r, begin", j, " + before", j, " + step - 1]");
    t.line(5, "if other < k", isPacked() ? "" : " or (other == k and run" + std::to_string(j) + " < run)",
           ":");
    t.line(6, "before", j, " = before", j, " + step");
  }
  t.line(4, "step = step >> 1");
  t.line(3, "p = i - (run & ", kMerged - 1, ") * w + before1 + before2 + before3");
  t.line(3, "if runs <= ", kMerged, ":");
  if (k_) t.line(4, "if p < ", k_, ":");
  const int depth = k_ ? 5 : 4;
  if (function_ != FunctionId::ArgSort) t.line(depth, "y[r, p] = value(", isPacked() ? "k >> 32" : "k", ")");
  if (hasPositions()) t.line(depth, "o[r, p] = ", hasApart() ? "ap[r, i]" : "ts.tile.cast(k, ts.i32)");
  t.line(3, "else:").line(4, "b[r, p] = k");
  if (hasApart()) t.line(4, "bp[r, p] = ap[r, i]");
  return t.str();
}

} // namespace tessera::frontend
