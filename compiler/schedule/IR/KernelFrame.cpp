#include "compiler/schedule/IR/KernelFrame.h"

using namespace mlir;

namespace tessera::schedule {

DictionaryAttr describeInts(Builder &b, ArrayRef<std::pair<std::string, int64_t>> entries) {
  NamedAttrList list;
  for (const auto &[name, value] : entries)
    list.append(name, b.getI64IntegerAttr(value));
  return list.getDictionary(b.getContext());
}

KernelFrame::KernelFrame(OpBuilder &b, Location loc, StringRef name, StringRef numerics) : b_(b) {
  OperationState state(loc, KernelOp::getOperationName());
  state.addRegion()->emplaceBlock();
  state.addAttribute("sym_name", b_.getStringAttr(name));
  state.addAttribute("function_type", TypeAttr::get(b_.getFunctionType({}, {})));
  state.addAttribute("params", b_.getArrayAttr({}));
  state.addAttribute("numerics", b_.getStringAttr(numerics));
  kernel_ = mlir::cast<KernelOp>(b_.create(state));
}

Value KernelFrame::addParam(tile::ParamAttr param, Type type, Location loc) {
  params_.push_back(param);
  return kernel_.getBody().addArgument(type, loc);
}

Value KernelFrame::addDim(StringRef name) {
  params_.push_back(tile::ParamAttr::getDimParam(b_.getContext(), name));
  return kernel_.getBody().addArgument(b_.getIndexType(), kernel_.getLoc());
}

void KernelFrame::endSignature() {
  kernel_.setFunctionType(b_.getFunctionType(llvm::to_vector(kernel_.getBody().getArgumentTypes()), {}));
  kernel_.setParamsAttr(b_.getArrayAttr(params_));
  b_.setInsertionPointToEnd(&kernel_.getBody().front());
}

SmallVector<Value> KernelFrame::openGrid(ArrayRef<Axis> axes) {
  endSignature();
  SmallVector<Attribute> from, to, step;
  SmallVector<StringRef> names;
  auto attr = [&](const IndexExpr &expr) { return tile::IndexExprAttr::get(b_.getContext(), expr); };
  SmallVector<bool> batch;
  OperationState state(kernel_.getLoc(), GridOp::getOperationName());
  construct_ = &state.addRegion()->emplaceBlock();
  SmallVector<Value> variables;
  for (const Axis &axis : axes) {
    from.push_back(attr(axis.from));
    to.push_back(attr(axis.to));
    step.push_back(attr(axis.step));
    names.push_back(axis.name);
    batch.push_back(axis.isBatch);
    variables.push_back(construct_->addArgument(b_.getIndexType(), axis.loc));
  }
  state.addAttribute("from", b_.getArrayAttr(from));
  state.addAttribute("to", b_.getArrayAttr(to));
  state.addAttribute("step", b_.getArrayAttr(step));
  state.addAttribute("names", b_.getStrArrayAttr(names));
  if (llvm::is_contained(batch, true)) state.addAttribute("batch", b_.getDenseBoolArrayAttr(batch));
  b_.create(state);
  b_.setInsertionPointToEnd(construct_);
  return variables;
}

Value KernelFrame::openLanes(const IndexExpr &count) {
  endSignature();
  OperationState state(kernel_.getLoc(), LanesOp::getOperationName());
  construct_ = &state.addRegion()->emplaceBlock();
  state.addAttribute("count", tile::IndexExprAttr::get(b_.getContext(), count));
  Value lane = construct_->addArgument(b_.getIndexType(), kernel_.getLoc());
  b_.create(state);
  b_.setInsertionPointToEnd(construct_);
  return lane;
}

void KernelFrame::close() {
  for (Block *block : {construct_, &kernel_.getBody().front()}) {
    b_.setInsertionPointToEnd(block);
    YieldOp::create(b_, kernel_.getLoc());
  }
}

} // namespace tessera::schedule
