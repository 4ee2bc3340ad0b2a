#include "compiler/schedule/Transforms/CollapseAxes.h"
#include "compiler/schedule/Transforms/TileSizes.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tessera::schedule {

using Tensor = graph::TensorType;

namespace {

bool isSingle(Type type) {
  auto tensor = dyn_cast<Tensor>(type);
  return !tensor || tensor.getRank() == 0;
}

/// The number of elements of a tensor of `dims`; null when it does not fit.
Attribute countOf(ArrayAttr dims) {
  int64_t constant = 1;
  std::string text;
  for (auto [d, dim] : llvm::enumerate(dims)) {
    if (auto known = dyn_cast<IntegerAttr>(dim)) {
      if (llvm::MulOverflow(constant, known.getInt(), constant)) return {};
      continue;
    }
    StringRef factor = cast<StringAttr>(dim);
    bool isProduct = llvm::all_of(factor, [](char c) { return llvm::isAlnum(c) || c == '_' || c == '*'; });
    text += (text.empty() ? "" : "*") + (isProduct ? factor.str() : "(" + factor.str() + ")");
  }
  Builder b(dims.getContext());
  if (text.empty() || constant == 0) return b.getI64IntegerAttr(constant);
  return b.getStringAttr(constant == 1 ? text : std::to_string(constant) + "*" + text);
}

/// Whether each tensor of the group is of `space` or a single element.
bool isCollapsible(GroupOp group, Tensor space) {
  auto fits = [&](Type type) { return isSingle(type) || cast<Tensor>(type).getDims() == space.getDims(); };
  return llvm::all_of(group.getBody().front().without_terminator(), [&](Operation &op) {
    return (op.hasTrait<OpTrait::ConstantLike>() ||
            isa<graph::UnaryOp, graph::BinaryOp, graph::SelectOp, graph::CastOp, graph::BroadcastOp>(op)) &&
           llvm::all_of(op.getOperandTypes(), fits) && llvm::all_of(op.getResultTypes(), fits);
  });
}

} // namespace

void collapseAxes(GroupOp group, graph::FuncOp function) {
  if (group.getKind() != GroupKind::Map || group.getVariant()) return;
  auto space = cast<Tensor>(group.getResultTypes().front());
  if (space.getRank() < 2 || !isCollapsible(group, space)) return;
  Attribute count = countOf(space.getDims());
  if (!count) return;
  OpBuilder b(group);
  auto flat = [&](Type type) -> Type {
    if (isSingle(type)) return type;
    return Tensor::get(b.getContext(), b.getArrayAttr(count), cast<Tensor>(type).getElementType());
  };
  auto reshaped = [&](Value v, Type type) -> Value {
    return v.getType() == type ? v : graph::ReshapeOp::create(b, group.getLoc(), type, v);
  };
  SmallVector<Value> inputs;
  for (Value input : group.getInputs())
    inputs.push_back(reshaped(input, flat(input.getType())));
  SmallVector<Type> results = llvm::map_to_vector(group.getResultTypes(), flat);
  auto collapsed = GroupOp::create(b, group.getLoc(), results, group.getKind(), inputs, group.getTile(),
                                   IntegerAttr(), StringAttr());
  Block &body = collapsed.getBody().emplaceBlock();
  IRMapping map;
  for (auto [old, input] : llvm::zip_equal(group.getBody().front().getArguments(), inputs))
    map.map(old, body.addArgument(input.getType(), old.getLoc()));
  OpBuilder inner = OpBuilder::atBlockEnd(&body);
  GroupSpace line;
  std::string why;
  for (Operation &op : group.getBody().front()) {
    Operation *copy = inner.clone(op, map);
    for (Value result : copy->getResults())
      result.setType(flat(result.getType()));
    if (!isa<YieldOp>(copy) && !copy->hasTrait<OpTrait::ConstantLike>() && !line.add(copy, why))
      llvm_unreachable("operations that shared a space share its only axis");
  }
  collapsed.setTile(chooseTile(line, function, /*gpu=*/false));
  b.setInsertionPointAfter(collapsed);
  for (auto [old, result] : llvm::zip_equal(group.getResults(), collapsed.getResults()))
    old.replaceAllUsesWith(reshaped(result, old.getType()));
  group.erase();
}

} // namespace tessera::schedule
