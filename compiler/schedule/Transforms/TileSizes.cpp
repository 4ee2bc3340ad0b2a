#include "compiler/schedule/Transforms/TileSizes.h"

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
  int64_t rank = space.getRank();
  codegen::TileRequest request{group.kind(), rank, extent(space, rank - 2, function),
                               extent(space, rank - 1, function)};
  request.transposes = group.transposes();
  if (auto walked = group.reducedAxis()) {
    request.reducesOuterAxis = *walked != rank - 1;
    request.reduced = extent(space, *walked, function);
  }
  return target.proposeTile(request);
}

} // namespace tessera::schedule
