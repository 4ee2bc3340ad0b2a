// The rules of schedule.group, which a schedule edited by hand must obey.
#include "compiler/schedule/IR/GroupSpace.h"

using namespace mlir;
using namespace tessera::schedule;

namespace {
/// A tile of f32 this large would fill the memory a program has.
constexpr int64_t kMaxTileElements = 1 << 18;
} // namespace

static size_t tileRank(GroupKind kind) { return kind == GroupKind::Matmul ? 3 : 2; }

LogicalResult GroupOp::verify() {
  if (getTile().size() != tileRank(getKind()))
    return emitOpError() << "of kind " << stringifyGroupKind(getKind()) << " needs tile to have "
                         << tileRank(getKind()) << " extents, found " << getTile().size();
  for (auto [i, extent] : llvm::enumerate(getTile())) {
    if (extent < 1 || extent > kMaxTileElements)
      return emitOpError() << "has " << extent << " as extent " << i << " of its tile; extents are 1 to "
                           << kMaxTileElements;
    for (int64_t other : getTile().drop_front(i + 1))
      if (extent * other > kMaxTileElements)
        return emitOpError() << "has a tile of " << extent << "x" << other << " elements; at most "
                             << kMaxTileElements << " fit a program";
  }
  return success();
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
    std::string why;
    if (!space.add(&op, why)) return op.emitOpError() << "does not fit its group: " << why;
  }
  if (!space.space()) return emitOpError() << "holds no operation";
  if (space.kind() != getKind())
    return emitOpError() << "says " << stringifyGroupKind(getKind()) << " but its operations make it "
                         << stringifyGroupKind(space.kind());
  for (Value value : yield.getValues())
    if (!space.holds(value)) return yield.emitOpError() << "gives a value that the group does not compute";
  return success();
}
