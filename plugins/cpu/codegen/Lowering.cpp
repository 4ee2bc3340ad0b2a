#include "plugins/cpu/codegen/Lowering.h"
#include "compiler/schedule/Transforms/IndexEmitter.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/KernelSyntax.h"
#include "compiler/tile/Transforms/ExpandCasts.h"
#include "compiler/tile/Transforms/ExpandMath.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tessera::cpu {

Type registerElement(Type element) {
  auto f = dyn_cast<FloatType>(element);
  if (f && (f.isBF16() || f.getWidth() <= 8))
    return IntegerType::get(element.getContext(), f.isBF16() ? 16 : 8);
  if (element.isUnsignedInteger())
    return IntegerType::get(element.getContext(), element.getIntOrFloatBitWidth());
  return element;
}

namespace {
/// Attributes of scalar constants whose type has another register form.
TypedAttr registerAttr(TypedAttr attr) {
  Type to = registerElement(attr.getType());
  if (to == attr.getType()) return attr;
  return IntegerAttr::get(
      to, cast<FloatAttr>(attr).getValue().bitcastToAPInt().zextOrTrunc(to.getIntOrFloatBitWidth()));
}
} // namespace

Value KernelLowering::toI64(Value index) { return arith::IndexCastOp::create(b_, b_.getI64Type(), index); }

Value KernelLowering::zeroOf(Type registerType) {
  return arith::ConstantOp::create(b_, cast<TypedAttr>(b_.getZeroAttr(registerType)));
}

Value KernelLowering::scalarSlot(Type element) {
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(&function_.getBody().front());
  Value one = arith::ConstantOp::create(b_, b_.getI64IntegerAttr(1));
  Type memory = element.isInteger(1) ? b_.getI8Type() : registerElement(element);
  return LLVM::AllocaOp::create(b_, LLVM::LLVMPointerType::get(b_.getContext()), memory, one);
}

FailureOr<func::FuncOp> KernelLowering::lower() {
  auto pointer = LLVM::LLVMPointerType::get(b_.getContext());
  Type i64 = b_.getI64Type();
  b_.setInsertionPoint(kernel_);
  function_ = func::FuncOp::create(b_, kernel_.getName(),
                                   b_.getFunctionType({pointer, i64, i64, pointer}, TypeRange()));
  // Scratch is private to the call; nothing else the kernel sees overlaps the argument array either.
  function_.setArgAttr(0, LLVM::LLVMDialect::getReadonlyAttrName(), b_.getUnitAttr());
  for (unsigned i : {0u, 3u})
    function_.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), b_.getUnitAttr());
  b_.setInsertionPointToStart(function_.addEntryBlock());
  values_ = function_.getArgument(0);
  scratch_ = function_.getArgument(3);
  emitArguments();

  Value begin = arith::IndexCastOp::create(b_, b_.getIndexType(), function_.getArgument(1));
  Value end = arith::IndexCastOp::create(b_, b_.getIndexType(), function_.getArgument(2));
  auto programs = scf::ForOp::create(b_, begin, end, constant(1));
  b_.setInsertionPointToStart(programs.getBody());
  emitProgramIds(programs.getInductionVar());
  LogicalResult result = lowerBlock(kernel_.getBody().front());
  b_.setInsertionPointAfter(programs);
  func::ReturnOp::create(b_);
  if (failed(result)) {
    function_.erase();
    return failure();
  }
  return function_;
}

void KernelLowering::emitArguments() {
  auto pointer = LLVM::LLVMPointerType::get(b_.getContext());
  Block &entry = kernel_.getBody().front();
  for (BlockArgument arg : entry.getArguments()) {
    Value slot = LLVM::GEPOp::create(b_, pointer, b_.getI64Type(), values_,
                                     ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(arg.getArgNumber())});
    if (auto view = dyn_cast<tile::ViewType>(arg.getType())) {
      View v;
      v.data = LLVM::LoadOp::create(b_, pointer, slot);
      v.element = view.getElementType();
      views_[arg] = v;
    } else if (arg.getType().isIndex()) {
      Value wide = LLVM::LoadOp::create(b_, b_.getI64Type(), slot);
      map_.map(arg, arith::IndexCastOp::create(b_, b_.getIndexType(), wide).getResult());
    } else {
      map_.map(arg, load(arg.getType(), slot, 0));
    }
  }
  // Extents need the dims, which come last.
  for (BlockArgument arg : entry.getArguments()) {
    auto type = dyn_cast<tile::ViewType>(arg.getType());
    if (!type) continue;
    View &view = views_[arg];
    auto dims = cast<ArrayAttr>(cast<DictionaryAttr>(kernel_.getParams()[arg.getArgNumber()]).get("dims"));
    for (unsigned d = 0; d < type.getRank(); ++d)
      view.sizes.push_back(type.isDynamicDim(d) ? scalar(tile::findDim(kernel_, kernel_.getParams(),
                                                                       cast<StringAttr>(dims[d])))
                                                : constant(type.getShape()[d]));
    view.strides.assign(view.sizes.size(), Value());
    Value stride = constant(1);
    for (unsigned d = view.sizes.size(); d-- > 0;) {
      view.strides[d] = stride;
      if (d) stride = arith::MulIOp::create(b_, stride, view.sizes[d]);
    }
  }
  Vec<Value> args;
  for (BlockArgument arg : entry.getArguments())
    args.push_back(map_.lookupOrNull(arg));
  for (Attribute axis : kernel_.getGrid())
    axisCounts_.push_back(schedule::emitIndexExpr(b_, b_.getLoc(), kernel_.getParams(), args,
                                                  cast<StringAttr>(axis).getValue()));
}

/// The last axis runs fastest.
void KernelLowering::emitProgramIds(Value program) {
  programId_ = program;
  programIds_.assign(axisCounts_.size(), Value());
  Value rest = program;
  for (unsigned axis = axisCounts_.size(); axis-- > 0;) {
    if (axis == 0) {
      programIds_[axis] = rest;
      break;
    }
    programIds_[axis] = arith::RemUIOp::create(b_, rest, axisCounts_[axis]);
    rest = arith::DivUIOp::create(b_, rest, axisCounts_[axis]);
  }
}

LogicalResult KernelLowering::lowerBlock(Block &block) {
  for (Operation &op : block.without_terminator()) {
    b_.setLoc(op.getLoc());
    if (failed(lowerOp(&op))) return failure();
  }
  return success();
}

LogicalResult KernelLowering::lowerOp(Operation *op) {
  using namespace tile;
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](scf::ForOp o) { return lowerFor(o); })
      .Case([&](scf::IfOp o) { return lowerIf(o); })
      .Case([&](scf::WhileOp o) { return lowerWhile(o); })
      .Case([&](StoreOp o) { return lowerStore(o); })
      .Case([&](CpAsyncOp o) { return lowerCopy(o); })
      .Case([&](BufferWriteOp o) { return lowerBufferWrite(o); })
      .Case([&](PrefetchOp o) { return lowerPrefetch(o); })
      .Case([&](LoadElemOp o) { return lowerLoadElem(o); })
      .Case([&](StoreElemOp o) { return lowerStoreElem(o); })
      .Case<AtomicOp, AtomicCasOp>([&](Operation *o) { return lowerAtomic(o); })
      .Case([&](ReduceOp o) { return lowerReduce(o); })
      .Case([&](ArgReduceOp o) { return lowerArgReduce(o); })
      .Case([&](ScanOp o) { return lowerScan(o); })
      .Case([&](ConcatOp o) { return lowerConcat(o); })
      .Case([&](TransposeOp o) { return lowerTranspose(o); })
      .Case([&](MmaOp o) { return lowerMma(o); })
      // Copies are synchronous and a program is one thread: nothing is outstanding, nobody to wait for.
      .Case<AllocSharedOp, CommitGroupOp, WaitGroupOp, BarrierOp, ReshapeOp>(
          [](Operation *) { return success(); })
      .Case([&](FenceOp o) {
        static constexpr LLVM::AtomicOrdering orders[] = {
            LLVM::AtomicOrdering::acquire, LLVM::AtomicOrdering::acquire, LLVM::AtomicOrdering::release,
            LLVM::AtomicOrdering::acq_rel, LLVM::AtomicOrdering::seq_cst};
        LLVM::FenceOp::create(b_, orders[static_cast<int>(o.getOrder())], StringRef());
        return success();
      })
      .Default([&](Operation *o) -> LogicalResult {
        if (o->getNumResults() == 1 && isTile(o->getResult(0))) {
          if (inMemory(o->getResult(0))) compute(o);
          return success(); // else computed where it is used
        }
        return lowerScalarOp(o);
      });
}

LogicalResult KernelLowering::lowerScalarOp(Operation *op) {
  using namespace tile;
  auto bind = [&](Value v) {
    map_.map(op->getResult(0), v);
    return success();
  };
  if (auto id = dyn_cast<ProgramIdOp>(op)) return bind(programIds_[id.getAxis()]);
  if (auto dim = dyn_cast<DimOp>(op)) return bind(views_[dim.getView()].sizes[dim.getDim()]);
  if (auto cast = dyn_cast<CastOp>(op))
    return bind(emitCast(b_, b_.getLoc(), scalar(cast.getInput()), *parseDType(cast.getFrom()),
                         *parseDType(cast.getTo())));
  if (auto sigmoid = dyn_cast<SigmoidOp>(op))
    return bind(emitSigmoid(b_, b_.getLoc(), scalar(sigmoid.getInput())));
  if (auto rand = dyn_cast<RandOp>(op))
    return bind(lane(evaluateRand(rand, splat(scalar(rand.getOffset()), 1), 1), 0));
  if (auto info = dyn_cast<GroupInfoOp>(op)) {
    // A group of the CPU is one lane of a lane program, or the one thread of a tile program.
    Value id = laneIndex_ ? laneIndex_ : programId_;
    if (info.getKind() == GroupInfoKind::GroupId)
      return bind(arith::IndexCastOp::create(b_, b_.getI32Type(), id));
    int32_t value = info.getKind() == GroupInfoKind::GroupSize ? 1 : 0;
    return bind(arith::ConstantOp::create(b_, b_.getI32IntegerAttr(value)));
  }
  if (auto reduce = dyn_cast<GroupReduceOp>(op)) return bind(scalar(reduce.getInput()));
  if (auto c = dyn_cast<arith::ConstantOp>(op))
    return bind(arith::ConstantOp::create(b_, registerAttr(c.getValue())));
  if (op->getNumRegions() || !isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect()))
    return op->emitOpError("has no lowering to the CPU");
  OperationState state(b_.getLoc(), op->getName());
  for (Value operand : op->getOperands())
    state.addOperands(scalar(operand));
  for (Type type : op->getResultTypes())
    state.addTypes(registerElement(type));
  state.propertiesAttr = op->getPropertiesAsAttribute();
  Operation *copy = b_.create(state);
  map_.map(op->getResults(), copy->getResults());
  return success();
}

} // namespace tessera::cpu
