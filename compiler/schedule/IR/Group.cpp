// The rules of schedule.group, which a schedule edited by hand must obey.
#include "compiler/schedule/IR/GroupSpace.h"
#include "compiler/schedule/IR/GroupVariants.h"
#include "compiler/schedule/IR/LibraryVariant.h"

using namespace mlir;
using namespace tessera::schedule;

namespace {
/// A tile of f32 of this size would fill the memory of a program.
constexpr int64_t kMostGroupTileElements = 1 << 18;
} // namespace

static size_t tileRank(GroupKind kind) { return kind == GroupKind::Matmul ? 3 : 2; }

LogicalResult tessera::schedule::verifyTile(GroupOp group, ArrayRef<int64_t> tile) {
  if (tile.size() != tileRank(group.getKind()))
    return group.emitOpError() << "of kind " << stringifyGroupKind(group.getKind()) << " needs tile to have "
                               << tileRank(group.getKind()) << " extents, found " << tile.size();
  for (auto [i, extent] : llvm::enumerate(tile)) {
    if (extent < 1 || extent > kMostGroupTileElements)
      return group.emitOpError() << "has " << extent << " as extent " << i
                                 << " of its tile; extents are 1 to " << kMostGroupTileElements;
    for (int64_t other : tile.drop_front(i + 1))
      if (extent * other > kMostGroupTileElements)
        return group.emitOpError() << "has a tile of " << extent << "x" << other << " elements; at most "
                                   << kMostGroupTileElements << " fit a program";
  }
  return success();
}

/// The parts of a reduced axis are walked in whole tiles.
static LogicalResult verifyParts(GroupOp group, const GroupSpace &space, ArrayRef<int64_t> tile) {
  if (!space.parts()) return success();
  const int64_t extent = tile[*space.reducedAxis() == space.tileAxes().second ? 1 : 0];
  if (*space.parts() % extent == 0) return success();
  return group.emitOpError() << "reduces parts of " << *space.parts() << " elements by tiles of " << extent
                             << ", which do not divide them";
}

LogicalResult GroupOp::verify() {
  if (failed(verifyTile(*this, getTile()))) return failure();
  const StringRef variant = getVariant().value_or(kTile);
  if (variant == kBlas && getKind() != GroupKind::Matmul)
    return emitOpError() << "of kind " << stringifyGroupKind(getKind())
                         << " has no variant \"blas\", which computes matrix products";
  if (variant == kTile || variant == kBlas) return success();
  if (getVariants())
    for (auto v : getVariants()->getAsRange<VariantAttr>())
      if (v.getName() == variant) return success();
  InFlightDiagnostic diagnostic = emitOpError() << "has the variant \"" << variant << "\"; the variants are "
                                                << "\"tile\"";
  if (getVariants())
    for (auto v : getVariants()->getAsRange<VariantAttr>())
      diagnostic << ", " << v.getName();
  return diagnostic << " and \"blas\"";
}

/// A library computes only the product of two inputs.
static LogicalResult verifyLibraryCall(GroupOp group) {
  if (group.getVariant() != kBlas) return success();
  Block &body = group.getBody().front();
  for (Operation &op : body.without_terminator())
    if (!isa<tessera::graph::MatmulOp>(op))
      return op.emitOpError() << "is in a group of variant \"blas\", which holds one graph.matmul: give it a "
                                 "group of its own";
  auto product = cast<tessera::graph::MatmulOp>(body.front());
  std::string why;
  if (!gemmCallOf(product, why)) return product.emitOpError() << "has no variant \"blas\": " << why;
  if (product.getA() == body.getArgument(0) && product.getB() == body.getArguments().back() &&
      group.getInputs().size() <= 2)
    return success();
  return product.emitOpError()
         << "of a group of variant \"blas\" multiplies the group's inputs, in their order";
}

LogicalResult GroupOp::verifyRegions() {
  Block &body = getBody().front();
  if (body.getArgumentTypes() != getInputs().getTypes())
    return emitOpError() << "has inputs of (" << getInputs().getTypes() << ") but a body of ("
                         << body.getArgumentTypes() << ")";
  auto yield = dyn_cast<YieldOp>(body.back());
  if (!yield) return emitOpError() << "must end in schedule.yield";
  if (yield.getValues().getTypes() != getResultTypes())
    return yield.emitOpError() << "gives (" << yield.getValues().getTypes() << ") in a group of ("
                               << getResultTypes() << ")";
  if (yield.getValues().empty()) return emitOpError() << "yields nothing";
  GroupSpace space;
  for (Operation &op : body.without_terminator()) {
    if (op.hasTrait<OpTrait::ConstantLike>()) continue;
    if (auto refusal = space.add(&op)) return op.emitOpError() << "does not fit its group: " << *refusal;
  }
  if (!space.space()) return emitOpError() << "holds no operation";
  if (space.kind() != getKind())
    return emitOpError() << "says " << stringifyGroupKind(getKind()) << " but its operations make it "
                         << stringifyGroupKind(space.kind());
  if (failed(verifyVariants(*this)) || failed(verifyParts(*this, space, getTile()))) return failure();
  if (getVariants())
    for (auto v : getVariants()->getAsRange<VariantAttr>())
      if (isTileProgram(v.getBody()) && failed(verifyParts(*this, space, tileOf(*this, v)))) return failure();
  for (Value value : yield.getValues())
    if (!space.holds(value))
      return yield.emitOpError() << "gives a value that the group does not compute";
    else if (getKind() == GroupKind::Concat && !value.getDefiningOp<tessera::graph::ConcatOp>())
      return yield.emitOpError() << "gives a slice that a concat joins";
  return verifyLibraryCall(*this);
}
