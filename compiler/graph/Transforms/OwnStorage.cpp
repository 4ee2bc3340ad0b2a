// graph-own-storage: copies a tensor if two values would need its memory.
//
//   graph.return %x, %x          ->     %c = graph.broadcast %x      (the identity; it becomes a kernel that
// copies)
//                                       graph.return %x, %c
//
// It runs after CSE: equal values still need separate memory if one of them is updated or both are returned,
// and CSE would merge the copies again.
#include "compiler/graph/Transforms/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_GRAPHOWNSTORAGE
#include "compiler/graph/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::graph;

namespace {

void copy(OpOperand &use) {
  OpBuilder b(use.getOwner());
  use.set(BroadcastOp::create(b, use.getOwner()->getLoc(), use.get().getType(), use.get()));
}

struct GraphOwnStorage : impl::GraphOwnStorageBase<GraphOwnStorage> {
  void runOnOperation() override {
    FuncOp function = getOperation();
    if (!function.getReturnsAttr()) return;
    Block &body = function.getBody().front();
    for (auto launch : body.getOps<LaunchOp>())
      for (OpOperand &operand : launch->getOpOperands())
        if (launch.writes(operand.getOperandNumber()) && isNeededLater(operand)) copy(operand);

    // Results first: a copy made for one may read the old value of a parameter.
    llvm::DenseSet<Value> used;
    SmallVector<OpOperand *> parameters;
    auto names = function.getReturnsAttr().getAsRange<StringAttr>();
    for (auto [operand, name] : llvm::zip_equal(body.getTerminator()->getOpOperands(), names)) {
      Value root = storageOf(operand.get());
      auto arg = dyn_cast<BlockArgument>(root);
      bool isUpdate = llvm::any_of(body.getArguments(), [&](BlockArgument other) {
        return isa<graph::TensorType>(other.getType()) && isNamed(other, name);
      });
      bool isOwn = arg ? isNamed(arg, name) : !isUpdate;
      bool isFirst = used.insert(root).second;
      if (isOwn && isFirst) continue;
      // A parameter whose final value was computed elsewhere keeps its old value until its last reader.
      if (isUpdate)
        parameters.push_back(&operand);
      else
        copy(operand);
    }
    for (OpOperand *operand : parameters)
      copy(*operand);
  }

private:
  tile::ParamAttr paramOf(BlockArgument arg) {
    size_t index = 0;
    for (BlockArgument other : getOperation().getBody().getArguments()) {
      if (other == arg) break;
      index += isa<graph::TensorType>(other.getType());
    }
    for (auto param : getOperation().getParamsAttr().getAsRange<tile::ParamAttr>())
      if (param.isTensor() && index-- == 0) return param;
    return {};
  }

  bool isNamed(BlockArgument arg, StringAttr name) {
    tile::ParamAttr param = paramOf(arg);
    return param && param.getName() == name;
  }

  /// Is the memory of an operand that a launch overwrites read later with its old value, or is it not ours to
  /// write?
  bool isNeededLater(OpOperand &operand) {
    Value root = storageOf(operand.get());
    if (auto arg = dyn_cast<BlockArgument>(root))
      if (tile::ParamAttr param = paramOf(arg); param && param.getAccess() == tile::Access::Read) return true;
    // Looks at the old value and its reshapes. Values that later launches make of it are different ones.
    SmallVector<Value> names = {operand.get()};
    while (auto reshape = names.back().getDefiningOp<ReshapeOp>())
      names.push_back(reshape.getInput());
    for (size_t i = 0; i < names.size(); ++i)
      for (OpOperand &use : names[i].getUses()) {
        Operation *user = use.getOwner();
        if (auto reshape = dyn_cast<ReshapeOp>(user);
            reshape && !llvm::is_contained(names, reshape.getResult()))
          names.push_back(reshape.getResult());
        bool isBeside = user == operand.getOwner() && &use != &operand; // another operand of the launch
        if (!isa<ReshapeOp>(user) && (isBeside || operand.getOwner()->isBeforeInBlock(user))) return true;
      }
    return false;
  }
};

} // namespace
} // namespace tessera
