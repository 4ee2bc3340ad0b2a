#include "compiler/codegen/TileProposal.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

namespace tessera::codegen {

int64_t coverExtent(std::optional<int64_t> extent, int64_t least, int64_t most) {
  if (!extent) return most;
  int64_t wanted =
      static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(std::max<int64_t>(*extent, 1))));
  return std::clamp(wanted, least, most);
}

llvm::SmallVector<int64_t> proposeCommonTile(const TileRequest &request, int64_t elements,
                                             int64_t mostColumns) {
  // A scan computes whole tiles, also of a short axis, and reads its result again while it is in the cache.
  if (request.kind == schedule::GroupKind::Scan)
    return {coverExtent(request.reducesOuterAxis ? request.reduced : request.rows, 1, 16),
            coverExtent(request.columns, 16, 128)};
  if (request.reducesOuterAxis)
    return {coverExtent(request.reduced, 1, 64), coverExtent(request.columns, 16, 128)};
  int64_t width = coverExtent(request.columns, 16, mostColumns);
  return {coverExtent(request.rows, 1, elements / width), width};
}

} // namespace tessera::codegen
