#include "plugins/cpu/codegen/Lowering.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/TileAccess.h"
#include "plugins/cpu/codegen/InternalFunction.h"

using namespace mlir;

namespace tessera::cpu {

void KernelLowering::beginFunction(StringRef symbol) {
  auto pointer = LLVM::LLVMPointerType::get(b_.getContext());
  Type i64 = b_.getI64Type();
  b_.setInsertionPoint(kernel_);
  function_ = func::FuncOp::create(b_, symbol, b_.getFunctionType({pointer, i64, i64, pointer}, TypeRange()));
  // Scratch is private to the call. Nothing that the kernel accesses overlaps the argument array either.
  function_.setArgAttr(0, LLVM::LLVMDialect::getReadonlyAttrName(), b_.getUnitAttr());
  for (unsigned i : {0u, 3u})
    function_.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), b_.getUnitAttr());
  b_.setInsertionPointToStart(function_.addEntryBlock());
  values_ = function_.getArgument(0);
  buffers_ = scratch_ = function_.getArgument(3);
}

FailureOr<func::FuncOp> KernelLowering::lower(StringRef symbol) {
  beginFunction(symbol);
  bindKernelArguments([&](BlockArgument arg) { return emitArgument(arg, arg.getArgNumber()); });

  Value begin = b_.createOrFold<arith::IndexCastOp>(b_.getIndexType(), function_.getArgument(1));
  Value end = b_.createOrFold<arith::IndexCastOp>(b_.getIndexType(), function_.getArgument(2));
  beginPrivateValues();
  beginPrivateTables(begin, end);
  beginNonTemporal();
  beginFetchAhead();
  auto programs = scf::ForOp::create(b_, begin, end, constant(1));
  b_.setInsertionPointToStart(programs.getBody());
  emitProgramIds(programs.getInductionVar());
  LogicalResult result = lowerBlock(kernel_.getBody().front());
  b_.setInsertionPointAfter(programs);
  endPrivateTables();
  endPrivateValues();
  endNonTemporal();
  func::ReturnOp::create(b_);
  if (failed(result)) {
    function_.erase();
    return failure();
  }
  return function_;
}

Value KernelLowering::emitArgument(BlockArgument arg, unsigned number) {
  Type pointer = LLVM::LLVMPointerType::get(b_.getContext());
  Value slot = LLVM::GEPOp::create(b_, pointer, b_.getI64Type(), values_,
                                   ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(number)});
  if (isa<tile::ViewType>(arg.getType())) return LLVM::LoadOp::create(b_, pointer, slot);
  if (!arg.getType().isIndex()) return load(arg.getType(), slot, 0);
  Value wide = LLVM::LoadOp::create(b_, b_.getI64Type(), slot);
  return arith::IndexCastOp::create(b_, b_.getIndexType(), wide);
}

func::FuncOp KernelLowering::sharedFunction(llvm::StringRef name, ArrayRef<Type> inputs,
                                            llvm::function_ref<void(func::FuncOp)> body) {
  auto module = function_->getParentOfType<ModuleOp>();
  if (auto known = module.lookupSymbol<func::FuncOp>(name)) return known;
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPoint(function_);
  auto function = createInternalFunction(b_, b_.getLoc(), name, b_.getFunctionType(inputs, TypeRange()));
  b_.setInsertionPointToStart(function.addEntryBlock());
  body(function);
  func::ReturnOp::create(b_);
  return function;
}

Value KernelLowering::groupInfo(tile::GroupInfoKind kind) {
  if (kind == tile::GroupInfoKind::GroupId)
    return arith::IndexCastOp::create(b_, b_.getI32Type(), laneIndex_ ? laneIndex_ : programId_);
  return arith::ConstantOp::create(b_, b_.getI32IntegerAttr(kind == tile::GroupInfoKind::GroupSize ? 1 : 0));
}

/// Emits one prefetch per cache line of each row.
LogicalResult KernelLowering::lowerPrefetch(tile::PrefetchOp op) {
  Window w = window(op.getView(), op.getStarts(), op.getExtents(), false);
  auto shape = tile::tileShape(op.getExtents());
  int64_t perLine =
      !w.isContiguous() ? 1 : 64 / tessera::storageBytes(op.getView().getType().getElementType());
  Vec<int64_t> lines(shape);
  lines.back() = (shape.back() + perLine - 1) / perLine;
  nest(lines, 1, [&](Indices at, int64_t) {
    Vec<Value> index(at);
    index.back() = arith::MulIOp::create(b_, index.back(), constant(perLine));
    LLVM::Prefetch::create(b_, byteAddress(w.view.element, windowAddress(w, index)), 0, 3, 1);
  });
  return success();
}

} // namespace tessera::cpu
