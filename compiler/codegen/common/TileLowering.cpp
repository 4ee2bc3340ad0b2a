#include "compiler/codegen/common/TileLowering.h"
#include "compiler/schedule/Transforms/IndexEmitter.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/KernelSyntax.h"
#include "compiler/tile/IR/TileFunctions.h"
#include "compiler/tile/Transforms/ExpandCasts.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tessera::target {

Type registerElement(Type element) {
  auto f = dyn_cast<FloatType>(element);
  if (f && (f.isBF16() || f.getWidth() <= 8))
    return IntegerType::get(element.getContext(), f.isBF16() ? 16 : 8);
  if (element.isUnsignedInteger())
    return IntegerType::get(element.getContext(), element.getIntOrFloatBitWidth());
  return element;
}

bool isZeroTile(Value v) {
  if (auto broadcast = v.getDefiningOp<tile::BroadcastOp>()) return isZeroTile(broadcast.getInput());
  return matchPattern(v, m_AnyZeroFloat()) || matchPattern(v, m_Zero());
}

namespace {
/// Converts the attribute of a scalar constant whose type has another register form.
TypedAttr registerAttr(TypedAttr attr) {
  Type to = registerElement(attr.getType());
  if (to == attr.getType()) return attr;
  return IntegerAttr::get(
      to, cast<FloatAttr>(attr).getValue().bitcastToAPInt().zextOrTrunc(to.getIntOrFloatBitWidth()));
}
} // namespace

Value TileLowering::toI64(Value index) { return arith::IndexCastOp::create(b_, b_.getI64Type(), index); }

Value TileLowering::zeroOf(Type registerType) {
  return arith::ConstantOp::create(b_, cast<TypedAttr>(b_.getZeroAttr(registerType)));
}

Value TileLowering::dimValue(StringRef text) {
  int64_t number = 0;
  if (!text.getAsInteger(10, number)) return constant(number);
  DictionaryAttr specialized = kernel_.getSpecializedAttr();
  if (auto known = specialized ? specialized.getAs<IntegerAttr>(text) : IntegerAttr())
    return constant(known.getInt());
  if (BlockArgument dim = tile::findDim(kernel_, kernel_.getParams(), text)) return scalar(dim);
  Vec<Value> args;
  for (BlockArgument arg : kernel_.getBody().front().getArguments())
    args.push_back(map_.lookupOrNull(arg));
  return schedule::emitIndexExpr(b_, b_.getLoc(), kernel_.getParams(), args,
                                 *IndexExpr::parse(std::string_view(text.data(), text.size()))); // verified
}

void TileLowering::bindKernelArguments(llvm::function_ref<Value(BlockArgument)> get) {
  Block &entry = kernel_.getBody().front();
  for (BlockArgument arg : entry.getArguments()) {
    auto view = dyn_cast<tile::ViewType>(arg.getType());
    if (!view) {
      map_.map(arg, get(arg));
      continue;
    }
    Type element = view.getElementType();
    views_[arg] = {isPacked(element) ? halfByteAddress(get(arg)) : get(arg), {}, {}, element};
  }
  // Extents need the dims, which are the last arguments.
  for (BlockArgument arg : entry.getArguments()) {
    auto type = dyn_cast<tile::ViewType>(arg.getType());
    if (!type) continue;
    View &view = views_[arg];
    tile::ParamAttr param = kernel_.getParam(arg);
    for (unsigned d = 0; d < type.getRank(); ++d) {
      view.sizes.push_back(type.isDynamicDim(d) ? dimValue(param.getDim(d)) : constant(type.getShape()[d]));
    }
    view.strides.assign(view.sizes.size(), Value());
    Value stride = constant(1);
    for (unsigned d = view.sizes.size(); d-- > 0;) {
      view.strides[d] = param.getStrides() ? dimValue(param.getStride(d)) : stride;
      if (d && !param.getStrides()) stride = b_.createOrFold<arith::MulIOp>(stride, view.sizes[d]);
    }
  }
  Vec<Value> args;
  for (BlockArgument arg : entry.getArguments())
    args.push_back(map_.lookupOrNull(arg));
  for (Attribute axis : kernel_.getGrid())
    axisCounts_.push_back(schedule::emitIndexExpr(b_, b_.getLoc(), kernel_.getParams(), args,
                                                  cast<tile::IndexExprAttr>(axis).getExpr()));
}

/// The last axis varies fastest. In groups of rows the last but one does. Programs of a cluster follow each
/// other; the clusters are ordered as programs are without them. The number of a program is first that among
/// those of its chiplet: those of the first chiplet come first, and each has as many as start on it.
auto TileLowering::programIdsOf(Value program) -> Vec<Value> {
  const size_t axes = axisCounts_.size();
  Vec<Value> ids(axes), counts = axisCounts_;
  Value rest = program, rank;
  const int64_t inCluster = kernel_.programsOfCluster();
  if (inCluster > 1) {
    rank = arith::RemUIOp::create(b_, rest, constant(inCluster));
    rest = arith::DivUIOp::create(b_, rest, constant(inCluster));
    for (auto [axis, extent] : llvm::zip(llvm::seq(axes - 2, axes), *kernel_.getCluster()))
      if (extent > 1) counts[axis] = arith::DivUIOp::create(b_, counts[axis], constant(extent));
  }
  auto inGrid = [&] { // from positions of clusters
    if (inCluster > 1)
      for (auto [axis, extent] : llvm::zip(llvm::seq(axes - 2, axes), *kernel_.getCluster()))
        if (extent > 1)
          ids[axis] = arith::AddIOp::create(b_, arith::MulIOp::create(b_, ids[axis], constant(extent)), rank);
    return ids;
  };
  if (const auto chiplets = int64_t(kernel_.getChiplets().value_or(1)); chiplets > 1) {
    Value total = constant(1), by = constant(chiplets);
    for (Value count : counts)
      total = b_.createOrFold<arith::MulIOp>(total, count);
    Value chiplet = arith::RemUIOp::create(b_, rest, by), inChiplet = arith::DivUIOp::create(b_, rest, by);
    Value each = arith::DivUIOp::create(b_, total, by), left = arith::RemUIOp::create(b_, total, by);
    Value before = arith::AddIOp::create(b_, arith::MulIOp::create(b_, chiplet, each),
                                         arith::MinUIOp::create(b_, chiplet, left));
    rest = arith::AddIOp::create(b_, before, inChiplet);
  }
  auto split = [&](Value &rest, Value count) -> Value {
    Value inner = arith::RemUIOp::create(b_, rest, count);
    rest = arith::DivUIOp::create(b_, rest, count);
    return inner;
  };
  for (size_t axis = axes; axis-- > 1;)
    ids[axis] = split(rest, counts[axis]);
  if (axes) ids[0] = rest;
  if (!kernel_.getGroupRows() || axes < 2) return inGrid();
  Value &row = ids[axes - 2], &column = ids[axes - 1];
  const auto groupRows = int64_t(*kernel_.getGroupRows());
  Value columns = counts[axes - 1],
        most = constant(inCluster > 1 ? std::max<int64_t>(groupRows / (*kernel_.getCluster())[0], 1)
                                      : groupRows);
  Value inGroup = arith::RemUIOp::create(b_, row, most);
  Value first = arith::SubIOp::create(b_, row, inGroup);
  Value rows = arith::MinUIOp::create(b_, arith::SubIOp::create(b_, counts[axes - 2], first), most);
  Value number = arith::AddIOp::create(b_, arith::MulIOp::create(b_, inGroup, columns), column);
  row = arith::AddIOp::create(b_, first, split(number, rows));
  column = number;
  return inGrid();
}

void TileLowering::emitProgramIds(Value program) {
  programIds_ = programIdsOf(program);
  programId_ = program;
  if (!kernel_.getGroupRows() && !kernel_.getChiplets() && kernel_.programsOfCluster() == 1) return;
  programId_ = constant(0); // what the program sees does not depend on the order
  for (auto [id, count] : llvm::zip(programIds_, axisCounts_))
    programId_ = arith::AddIOp::create(b_, arith::MulIOp::create(b_, programId_, count), id);
}

LogicalResult TileLowering::lowerBlock(Block &block) {
  for (Operation &op : block.without_terminator()) {
    b_.setLoc(op.getLoc());
    beforeOp(&op);
    if (isDeferred(&op)) continue;
    if (failed(lowerOp(&op))) return failure();
    afterOp(&op);
  }
  if (Operation *last = block.empty() ? nullptr : &block.back();
      last && last->hasTrait<OpTrait::IsTerminator>())
    beforeOp(last);
  return success();
}

LogicalResult TileLowering::lowerOp(Operation *op) {
  using namespace tile;
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](scf::ForOp o) { return lowerFor(o); })
      .Case([&](scf::IfOp o) { return lowerIf(o); })
      .Case([&](scf::WhileOp o) { return lowerWhile(o); })
      .Case([&](StoreOp o) { return lowerStore(o); })
      .Case([&](ScatterOp o) { return lowerScatter(o); })
      .Case([&](CpAsyncOp o) { return lowerCopy(o); })
      .Case([&](BufferWriteOp o) { return lowerBufferWrite(o); })
      .Case([&](PrefetchOp o) { return lowerPrefetch(o); })
      .Case([&](LoadElemOp o) { return lowerLoadElem(o); })
      .Case([&](StoreElemOp o) { return lowerStoreElem(o); })
      .Case<AtomicOp, AtomicCasOp>([&](Operation *o) { return lowerAtomic(o); })
      .Case([&](ReduceOp o) { return lowerReduce(o); })
      .Case([&](ArgReduceOp o) { return lowerArgReduce(o); })
      .Case([&](ScanOp o) { return lowerScan(o); })
      .Case([&](SortOp o) { return lowerSort(o); })
      .Case([&](ConcatOp o) { return lowerConcat(o); })
      .Case([&](FlipOp o) { return lowerFlip(o); })
      .Case([&](TransposeOp o) { return lowerTranspose(o); })
      .Case([&](MmaOp o) { return lowerMma(o); })
      .Case([&](ConvertOp o) { return lowerConvert(o); })
      .Case<AllocSharedOp, SlotOp, ReshapeOp>([](Operation *) { return success(); })
      .Case([&](CommitGroupOp) { return commitCopies(), success(); })
      .Case<InitArrivalsOp, ExpectBytesOp, CopyBoxOp, StoreBoxOp, AwaitBytesOp, ArriveOp, AwaitTurnOp,
            PassTurnOp>([&](Operation *o) { return lowerBoxes(o); })
      .Case<CommitProductsOp, TakeSumsOp>([&](Operation *o) { return lowerTensorSums(o); })
      .Case([&](RolesOp o) { return lowerRoles(o); })
      .Case([&](BlockProgramsOp o) { return lowerPrograms(o); })
      .Case([&](WaitGroupOp o) { return awaitCopies(int64_t(o.getPending())), lowerBarrier(), success(); })
      .Case([&](BarrierOp) {
        commitCopies();
        return awaitCopies(0), lowerBarrier(), success();
      })
      .Case([&](FenceOp o) {
        static constexpr LLVM::AtomicOrdering orders[] = {
            LLVM::AtomicOrdering::acquire, LLVM::AtomicOrdering::acquire, LLVM::AtomicOrdering::release,
            LLVM::AtomicOrdering::acq_rel, LLVM::AtomicOrdering::seq_cst};
        LLVM::FenceOp::create(b_, orders[static_cast<int>(o.getOrder())], syncScope(o.getScope()));
        return success();
      })
      .Default([&](Operation *o) -> LogicalResult {
        if (o->getNumResults() == 1 && isInRegisters(o->getResult(0))) return lowerInRegisters(o);
        if (o->getNumResults() == 1 && isTile(o->getResult(0))) {
          if (inMemory(o->getResult(0))) compute(o);
          return success(); // otherwise it is computed where it is used
        }
        return lowerScalarOp(o);
      });
}

LogicalResult TileLowering::lowerScalarOp(Operation *op) {
  using namespace tile;
  auto bind = [&](Value v) {
    map_.map(op->getResult(0), v);
    return success();
  };
  if (auto id = dyn_cast<ProgramIdOp>(op))
    return bind((id.getProgram() ? programIdsOf(scalar(id.getProgram())) : programIds_)[id.getAxis()]);
  if (auto dim = dyn_cast<DimOp>(op)) return bind(views_[dim.getView()].sizes[dim.getDim()]);
  if (auto cast = dyn_cast<CastOp>(op))
    return bind(convert(scalar(cast.getInput()), *parseDType(cast.getFrom()), *parseDType(cast.getTo())));
  if (auto rand = dyn_cast<RandOp>(op))
    return bind(evaluateRand(rand, scalar(rand.getSeed()), scalar(rand.getOffset()), 0));
  if (auto info = dyn_cast<GroupInfoOp>(op)) return bind(groupInfo(info.getKind()));
  if (auto reduce = dyn_cast<GroupReduceOp>(op)) {
    FailureOr<Value> result = groupReduce(reduce);
    return failed(result) ? failure() : bind(*result);
  }
  if (auto c = dyn_cast<arith::ConstantOp>(op))
    return bind(arith::ConstantOp::create(b_, registerAttr(c.getValue())));
  if (op->getNumRegions() ||
      (!isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect()) && !isFunction(op)))
    return notImplemented(op);
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

LogicalResult TileLowering::notImplemented(Operation *op) {
  return op->emitOpError() << "is not implemented on " << backend_ << " (TSR_UNIMPLEMENTED)";
}

LogicalResult TileLowering::lowerConvert(tile::ConvertOp op) { return notImplemented(op); }

SmallVector<Type> TileLowering::registerTypes(RankedTensorType type) {
  const layout::TileLayout &layout = cast<tile::LayoutAttr>(type.getEncoding()).getValue();
  const int64_t width = std::min<int64_t>(8, int64_t(1) << layout.reg.size());
  return Vec<Type>(layout.registers() / width, vectorOf(type.getElementType(), width));
}

} // namespace tessera::target
