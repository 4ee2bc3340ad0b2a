// A schedule.group has copies of the operations that share a kernel, of the constants among their operands,
// and of what the host would compute for all groups. Its inputs are the other tensors that they read, and the
// extents and distances that do not follow from the dims of its tensors.
#include "compiler/schedule/Transforms/EmitGroup.h"
#include "compiler/schedule/Transforms/FixedOrders.h"
#include "compiler/schedule/Transforms/MissingExpressions.h"
#include "compiler/schedule/Transforms/TileSizes.h"
#include "compiler/schedule/Transforms/Variants.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tessera::schedule {

StringRef chosenVariant(Operation *first) {
  auto decision = first->getAttrOfType<DictionaryAttr>(schedule::kDecision);
  auto choice = decision ? decision.getAs<StringAttr>("choice") : StringAttr();
  return choice ? choice.getValue() : StringRef();
}

bool isConstant(Value v) { return v.getDefiningOp() && v.getDefiningOp()->hasTrait<OpTrait::ConstantLike>(); }

/// The target's tile, which a fixed order of sums may change along the reduced axis.
static SmallVector<int64_t> tileOf(const GroupContents &contents, graph::FuncOp function,
                                   const codegen::Target &target) {
  SmallVector<int64_t> tile = chooseTile(contents.space, function, target);
  for (Operation *op : contents.ops) {
    if (auto attention = dyn_cast<graph::AttentionOp>(op); attention && hasKeyBlocks(attention)) {
      // Scores of as many elements as the target proposes, where they fill the first-level cache.
      const codegen::Capabilities &can = target.capabilities();
      if (!can.threads && can.vectorBytes < 64)
        tile.front() = std::max<int64_t>(tile.front() * tile.back() / kKeyBlock, 1);
      tile.back() = kKeyBlock;
    }
    if (auto reduce = dyn_cast<graph::ReduceOp>(op); reduce && hasFixedOrder(reduce)) {
      const int64_t axis = *contents.space.reducedAxis();
      const auto length = dyn_cast<IntegerAttr>(contents.space.space().getDims()[axis]);
      fitToBlocks(tile, axis != contents.space.tileAxes().second, fixedBlock(reduce),
                  length ? std::optional(length.getInt()) : std::nullopt, target.capabilities().threads > 0);
      break;
    }
  }
  return tile;
}

void emitGroup(OpBuilder &b, const GroupContents &contents, graph::FuncOp function,
               const codegen::Target &target) {
  llvm::SmallSetVector<Value, 8> inputs;
  llvm::SmallSetVector<Operation *, 8> own; // constants and uniform values, of which the group has copies
  SmallVector<Value> outputs;
  llvm::SmallPtrSet<Operation *, 8> inside(contents.ops.begin(), contents.ops.end());
  auto need = [&](auto &&need, Value operand) -> void {
    Operation *op = operand.getDefiningOp();
    if (isConstant(operand)) {
      own.insert(op);
    } else if (op && contents.uniforms.contains(op)) {
      for (Value inner : op->getOperands())
        need(need, inner);
      own.insert(op);
    } else if (!op || !inside.contains(op)) {
      inputs.insert(operand);
    }
  };
  for (Operation *op : contents.ops) {
    for (Value operand : op->getOperands())
      need(need, operand);
    if (llvm::any_of(op->getUsers(), [&](Operation *user) { return !inside.contains(user); }))
      outputs.push_back(op->getResult(0));
  }
  if (outputs.empty()) { // it has no users
    for (Operation *op : llvm::reverse(contents.ops))
      op->erase();
    return;
  }
  // Dims are passed to the kernel as scalars, so its tensors need not have them.
  llvm::SmallDenseMap<Operation *, Value> dims;
  for (Operation *op : own)
    if (auto dim = dyn_cast<graph::DimOp>(op)) {
      dims[op] = graph::DimOp::create(b, op->getLoc(), b.getI64Type(), dim.getExpression());
      inputs.insert(dims[op]);
    }
  // So are extents of values that exist only in the group, and starts of slices and what is before a padded
  // tensor if they are not expressions of the tensors' dims.
  SmallVector<Attribute> extents, distances;
  for (Operation *op : contents.ops) {
    SmallVector<Type> types(op->getOperandTypes());
    llvm::append_range(types, op->getResultTypes());
    for (Type type : types)
      if (auto tensor = dyn_cast<graph::TensorType>(type))
        llvm::append_range(extents, tensor.getDims().getValue());
    auto slice = dyn_cast<graph::SliceOp>(op);
    auto pad = dyn_cast<graph::PadOp>(op);
    if (ArrayAttr of = slice ? slice.getStarts() : pad ? pad.getLow() : ArrayAttr())
      llvm::append_range(distances, of.getValue());
  }
  for (tile::IndexExprAttr expr :
       missingExpressions(inputs.getArrayRef(), ValueRange(outputs).getTypes(), extents, distances))
    inputs.insert(graph::DimOp::create(b, contents.ops.front()->getLoc(), b.getI64Type(), expr));
  SmallVector<Location> opLocations =
      llvm::map_to_vector(contents.ops, [](Operation *op) { return op->getLoc(); });
  Location loc = FusedLoc::get(b.getContext(), opLocations);
  auto group =
      GroupOp::create(b, loc, TypeRange(ValueRange(outputs)), contents.space.kind(), inputs.getArrayRef(),
                      tileOf(contents, function, target), IntegerAttr(), StringAttr(), ArrayAttr());
  if (StringRef variant = chosenVariant(contents.ops.front()); !variant.empty()) {
    group.setVariant(variant);
    group->setAttr(schedule::kDecision, contents.ops.front()->getAttr(schedule::kDecision));
    contents.ops.front()->removeAttr(schedule::kDecision);
    contents.ops.front()->removeAttr(schedule::kChoice);
  }
  Block &body = group.getBody().emplaceBlock();
  IRMapping map;
  for (Value input : inputs)
    map.map(input, body.addArgument(input.getType(), input.getLoc()));
  OpBuilder inner = OpBuilder::atBlockEnd(&body);
  for (Operation *op : own)
    if (Value dim = dims.lookup(op))
      map.map(op->getResult(0),
              graph::BroadcastOp::create(inner, op->getLoc(), op->getResult(0).getType(), map.lookup(dim)));
    else
      inner.clone(*op, map);
  for (Operation *op : contents.ops)
    inner.clone(*op, map);
  YieldOp::create(inner, loc, llvm::map_to_vector(outputs, [&](Value v) { return map.lookup(v); }));
  for (auto [old, value] : llvm::zip_equal(outputs, group.getResults()))
    old.replaceAllUsesWith(value);
  for (Operation *op : llvm::reverse(contents.ops))
    op->erase();
}

} // namespace tessera::schedule
