// What sorts of whole tensors have in common: keys, and rows that fit a tile.
#include "compiler/frontend/sema/SortKernel.h"
#include <span>

namespace tessera::frontend {

namespace {

/// Tiles that rows are sorted in: a row takes the smallest one that holds it.
constexpr int64_t kTiles[] = {16, 64, 128, 256, 512, 1024, 4096};
/// The same where a tile takes five sorts, for the positions of keys of 64 bits.
constexpr int64_t kWideTiles[] = {16, 64, 256, 1024};

} // namespace

SortKernel::SortKernel(FunctionId function, DType dtype, bool isDescending, std::optional<int64_t> extent,
                       int64_t k, int64_t largestWideTop)
    : function_(function), dtype_(dtype), isDescending_(isDescending), isWide_(info(dtype).bits == 64),
      k_(k) {
  const std::span<const int64_t> tiles =
      isWide_ && function != FunctionId::Sort ? std::span<const int64_t>(kWideTiles) : kTiles;
  largestTile_ = tiles.back();
  for (int64_t tile : tiles) {
    if (function == FunctionId::TopK && isWide_ && tile > largestWideTop) break;
    if (k <= tile && extent.value_or(tile) <= tile) tiles_.push_back(tile);
    if (extent && *extent <= tile) break;
  }
  if (extent && !tiles_.empty()) tiles_.erase(tiles_.begin(), tiles_.end() - 1);
  isLong_ = !extent || tiles_.empty();
  name_ = std::string(function == FunctionId::Sort      ? "sort"
                      : function == FunctionId::ArgSort ? "argsort"
                                                        : "topk") +
          "_" + name(dtype) + (isDescending ? "_descending" : "") + (k ? "_" + std::to_string(k) : "");
  if (extent) name_ += "_of_" + std::to_string(*extent);
}

std::optional<DimExpr> SortKernel::extentOf(const Buffer &b, const DimExpr &extent) const {
  if (!b.isResult) return extentForLong(extent);
  return k_ ? DimExpr(k_) : extent;
}

// It is below 2^31.
std::optional<DimExpr> SortKernel::ifLong(const DimExpr &extent, const DimExpr &of) const {
  if (tiles_.empty()) return extent;
  std::optional<DimExpr> sum = add(of, DimExpr(INT32_MAX - tiles_.back()));
  std::optional<DimExpr> isUsed = sum ? apply("floordiv", *sum, DimExpr(int64_t{1} << 31)) : sum;
  return isUsed ? multiply(extent, *isUsed) : isUsed;
}

std::vector<SortKernel::Buffer> SortKernel::results() const {
  std::vector<Buffer> out;
  if (function_ != FunctionId::ArgSort) out.push_back({"y", dtype_, true});
  if (hasPositions()) out.push_back({"o", DType::I32, true});
  return out;
}

DType SortKernel::keyDType() const {
  const int64_t bits = info(dtype_).bits;
  return bits == 64 ? DType::I64 : bits == 32 ? DType::I32 : bits == 16 ? DType::I16 : DType::I8;
}

int64_t SortKernel::infinity() const {
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

void SortKernel::writeKeys(KernelText &t) const {
  t.line(0, "import tessera as ts");
  const std::string key = keyName(), wide = isWide_ ? "ts.i64" : "ts.i32";
  const int64_t sign = info(dtype_).bits - 1;
  const char *opposite = isDescending_ ? "~" : "";
  t.line(0, "def key(v):");
  if (isFloat(dtype_)) {
    t.line(1, "s = ts.tile.bitcast(v, ", key, ")");
    t.line(1, "k = ", opposite, "(s ^ ((s >> ", sign, ") & ", largest(), "))");
    // NaN is last in either order
    t.line(1, "return ts.tile.cast(ts.tile.where((s & ", largest(), ") > ", infinity(), ", ", largest(),
           ", k), ", wide, ")");
  } else if (isUnsigned(dtype_)) {
    t.line(1, "s = ts.tile.bitcast(v, ", key, ") ^ (-", largest(), " - 1)");
    t.line(1, "return ts.tile.cast(", opposite, "s, ", wide, ")");
  } else {
    t.line(1, "return ts.tile.cast(", opposite, "v, ", wide, ")");
  }
  t.line(0, "def value(k):").line(1, "k = ts.tile.cast(k, ", key, ")").line(1, "s = ", opposite, "k");
  if (isFloat(dtype_)) t.line(1, "s = s ^ ((s >> ", sign, ") & ", largest(), ")");
  if (isFloat(dtype_) && isDescending_) // a NaN is positive in either order
    t.line(1, "s = ts.tile.where(k == ", largest(), ", k, s)");
  if (isUnsigned(dtype_)) t.line(1, "s = s ^ (-", largest(), " - 1)");
  t.line(1, "return ts.tile.bitcast(s, ts.", name(dtype_), ")");
}

void SortKernel::writeTiles(KernelText &t, int depth) const {
  for (size_t i = 0; i < tiles_.size(); ++i) {
    t.line(depth, i ? "elif" : "if", " N <= ", tiles_[i], ":");
    writeTile(t, depth + 1, tiles_[i]);
  }
}

void SortKernel::writeTile(KernelText &t, int depth, int64_t tile) const {
  const std::string flag = isDescending_ ? "True" : "False", x = "x[r, 0:" + std::to_string(tile) + "]";
  const std::string place = "[r, 0:" + std::to_string(tile) + "]";
  if (isWide_ && hasPositions() && tile == kTiles[0]) return writeRanks(t, depth, tile);
  if (function_ == FunctionId::TopK) {
    t.line(depth, "v, at = ts.tile.topk(", x, ", ", k_, ", largest=", flag, ")");
    t.line(depth, "y[r, 0:", k_, "] = v").line(depth, "o[r, 0:", k_, "] = at");
  } else if (function_ == FunctionId::Sort) {
    t.line(depth, "y", place, " = ts.tile.sort(", x, ", descending=", flag, ")");
  } else {
    t.line(depth, "o", place, " = ts.tile.argsort(", x, ", descending=", flag, ")");
  }
}

/// Sorts few elements by the number of those that come before each: fewer steps than five sorts. topk drops
/// ranks past its results.
void SortKernel::writeRanks(KernelText &t, int depth, int64_t tile) const {
  t.line(depth, "few = x[r, 0:", tile, "]").line(depth, "own = key(few)[:, None]");
  t.line(depth, "others = key(few)[None, :]").line(depth, "place = ts.tile.arange(", tile, ")");
  t.line(depth, "before = (others < own) | ((others == own) & (place[None, :] < place[:, None]))");
  t.line(depth, "rank = ts.tile.sum(ts.tile.cast(before, ts.i32), axis=1)");
  if (function_ == FunctionId::TopK) t.line(depth, "y[r, rank] = value(key(few))"); // a NaN as elsewhere
  t.line(depth, "o[r, rank] = place");
}

} // namespace tessera::frontend
