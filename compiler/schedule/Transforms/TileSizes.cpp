#include "compiler/schedule/Transforms/TileSizes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tessera::schedule {

namespace {

/// Returns the extent of axis `d`, or nullopt if nothing is known about it.
std::optional<int64_t> extent(GroupSpace::Tensor space, int64_t d, graph::FuncOp function) {
  if (d < 0) return 1;
  if (auto known = dyn_cast<IntegerAttr>(space.getDims()[d])) return known.getInt();
  auto hints = function->getAttrOfType<DictionaryAttr>(schedule::kHints);
  auto hint = hints ? hints.getAs<IntegerAttr>(space.dimText(d)) : IntegerAttr();
  return hint ? std::optional(hint.getInt()) : std::nullopt;
}

} // namespace

SmallVector<int64_t> chooseTile(const GroupSpace &group, graph::FuncOp function,
                                const codegen::Target &target) {
  GroupSpace::Tensor space = group.space();
  auto [rows, columns] = group.tileAxes();
  int64_t rank = rows == GroupSpace::kFixed ? std::min<int64_t>(space.getRank(), 1) : space.getRank();
  codegen::TileRequest request{group.kind(), rank, extent(space, rows, function),
                               extent(space, columns, function)};
  request.transposes = group.transposes();
  if (group.interleaves()) { // all of the tensors' tiles together are as large as another group's
    SmallVector<int64_t> tile = target.proposeTile({GroupKind::Map, 1, 1, request.columns});
    const auto joined = cast<IntegerAttr>(space.getDims().getValue().back()).getInt();
    const auto parts = static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(joined)));
    return {1, std::max<int64_t>(tile.back() / parts, 16)};
  }
  if (auto walked = group.reducedAxis()) {
    request.reducesOuterAxis = *walked != space.getRank() - 1;
    request.reduced = extent(space, *walked, function);
  }
  SmallVector<int64_t> tile = target.proposeTile(request);
  if (group.finds() && !request.reducesOuterAxis && request.columns) {
    // An axis that fits a tile is looked at once: the same elements, as long a row as there is.
    const int64_t elements = tile[0] * tile[1];
    const auto row = static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(*request.columns)));
    if (row > tile[1] && row <= elements) tile = {elements / row, row};
  }
  return tile;
}

} // namespace tessera::schedule
