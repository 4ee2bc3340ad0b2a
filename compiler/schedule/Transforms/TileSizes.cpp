#include "compiler/schedule/Transforms/TileSizes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tessera::schedule {

namespace {

/// Elements of a tile of one value: 16 KiB of f32, so that a chain of a few stays in a core's first two
/// caches.
constexpr int64_t kTileElements = 4096;
constexpr int64_t kMaxColumns = 512;

/// The extent of axis `d`, or nullopt when nothing is known about it.
std::optional<int64_t> extent(GroupSpace::Tensor space, int64_t d, graph::FuncOp function) {
  if (d < 0) return 1;
  if (auto known = dyn_cast<IntegerAttr>(space.getDims()[d])) return known.getInt();
  auto hints = function->getAttrOfType<DictionaryAttr>("schedule.hints");
  auto hint = hints ? hints.getAs<IntegerAttr>(cast<StringAttr>(space.getDims()[d])) : IntegerAttr();
  return hint ? std::optional(hint.getInt()) : std::nullopt;
}

/// The smallest power of two that covers `extent`, within [least, most].
int64_t cover(std::optional<int64_t> extent, int64_t least, int64_t most) {
  if (!extent) return most;
  int64_t wanted =
      static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(std::max<int64_t>(*extent, 1))));
  return std::clamp(wanted, least, most);
}

} // namespace

SmallVector<int64_t> chooseTile(const GroupSpace &group, graph::FuncOp function, bool gpu) {
  GroupSpace::Tensor space = group.space();
  int64_t rank = space.getRank();
  auto columns = extent(space, rank - 1, function), rows = extent(space, rank - 2, function);
  switch (group.kind()) {
  case GroupKind::Matmul:
    if (gpu) return {64, 64, 16}; // operands and accumulator within 48 KiB of shared memory
    // The register blocks of the CPU and its second-level cache (docs/measurements/gemm.md).
    return {rows && *rows <= 48 ? std::max<int64_t>(6, llvm::alignTo(*rows, 6)) : 96, cover(columns, 64, 256),
            256};
  case GroupKind::Attention:
    return gpu ? SmallVector<int64_t>{32, 32} : SmallVector<int64_t>{64, 64};
  case GroupKind::Reduce:
    if (int64_t reduced = *group.reducedAxis(); reduced != rank - 1)
      return {cover(extent(space, reduced, function), 1, 64), cover(columns, 16, 128)};
    break;
  case GroupKind::Gather:
    return {1, cover(columns, 16, kMaxColumns)};
  case GroupKind::Map:
    // Whole cache lines of the tensor that is read as well as of the one that is written.
    if (!gpu && group.transposes()) return {cover(rows, 8, 64), cover(columns, 8, 64)};
    break;
  case GroupKind::Concat:
    break;
  }
  // One axis alone is as long as a tile of several; what reaches past its end is not computed.
  int64_t width = cover(columns, 16, rank <= 1 && !gpu ? kTileElements : kMaxColumns);
  return {cover(rows, 1, (gpu ? kTileElements / 4 : kTileElements) / width), width};
}

} // namespace tessera::schedule
