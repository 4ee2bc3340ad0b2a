// tile-read-blocks (normative phase 3): gives a kernel a variant whose factors the instructions of products
// take from registers that 2D block reads fill, without shared memory and its barriers.
//
//   scf.for %k = ... {                            scf.for %k = ... {
//     tile.cp_async %A[%i, %k] to %a                %x = tile.load %A[%i, %k] {tile.read_blocks}
//     tile.barrier                          ->      tile.mma %x, ...
//     tile.mma %a, ...                            }
//     tile.barrier
//   }
//
// The device reads zeros past the ends of the tensor, as the load has them. It demands that addresses, and
// the bytes between rows, are multiples of some number: the kernel itself runs where they are not.
//
// It runs before tile-assign-layouts: blocks have neighbouring columns in neighbouring lanes, so that the
// variant's sums are not interleaved as those of the kernel may be.
#include "compiler/layout/BlockReads.h"
#include "compiler/schedule/IR/ScheduleDialect.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/KernelVariants.h"
#include "compiler/tile/IR/Profiles.h"
#include "compiler/tile/Transforms/ChooseInstruction.h"
#include "compiler/tile/Transforms/LaunchConditions.h"
#include "compiler/tile/Transforms/Passes.h"
#include "compiler/tile/Transforms/TileUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

namespace tessera {
#define GEN_PASS_DEF_TILEREADBLOCKS
#include "compiler/tile/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::tile;

namespace {

/// The power of two that a number of elements is known to be a multiple of, as its logarithm.
unsigned knownZeros(Value v, int depth = 16) {
  constexpr unsigned kAll = 63;
  APInt number;
  if (matchPattern(v, m_ConstantInt(&number))) return number.isZero() ? kAll : number.countr_zero();
  if (!depth--) return 0;
  if (auto variable = dyn_cast<BlockArgument>(v)) {
    auto loop = dyn_cast<scf::ForOp>(variable.getOwner()->getParentOp());
    if (!loop || variable != loop.getInductionVar()) return 0;
    return std::min(knownZeros(loop.getLowerBound(), depth), knownZeros(loop.getStep(), depth));
  }
  Operation *op = v.getDefiningOp();
  if (isa<arith::MulIOp>(op))
    return std::min(kAll, knownZeros(op->getOperand(0), depth) + knownZeros(op->getOperand(1), depth));
  if (isa<arith::AddIOp, arith::SubIOp, arith::MaxSIOp, arith::MinSIOp>(op))
    return std::min(knownZeros(op->getOperand(0), depth), knownZeros(op->getOperand(1), depth));
  return 0;
}

/// The tensor's product of the extents from `axis` on, as the text of one symbol, and its value if known.
std::string sizeFrom(ParamAttr param, size_t axis) {
  int64_t number = 1;
  std::string names;
  for (; axis < param.getDims().size(); ++axis) {
    const StringRef extent = param.getDim(axis);
    if (auto known = numberOf(extent))
      number *= *known;
    else
      names += (names.empty() ? "" : "*") + extent.str();
  }
  if (names.empty()) return std::to_string(number);
  return number == 1 ? names : std::to_string(number) + "*" + names;
}

/// A factor of a product, which a tile.load or a copy to shared memory brings from a tensor.
struct Factor {
  OpOperand *use;
  LoadOp load;    // or
  CpAsyncOp copy; // its buffer has no other use

  Value view() { return load ? load.getView() : copy.getView(); }
  ValueRange starts() { return load ? ValueRange(load.getStarts()) : ValueRange(copy.getStarts()); }
  ArrayRef<int64_t> extents() { return load ? load.getExtents() : copy.getExtents(); }
};

/// Returns the conditions of a launch under which the tensor can be read by blocks of the factor; nullopt:
/// there is none.
std::optional<LaunchConditions> conditionsOf(KernelOp kernel, Factor factor, int64_t bytes) {
  ParamAttr param = kernel.getParam(factor.view());
  if (!param.getDims() || param.getAccess() != Access::Read) return std::nullopt;
  const auto rank = int64_t(param.getDims().size());
  for (int64_t axis = 0; axis < rank; ++axis)
    if (!isKnownSize(kernel, param.getDim(axis)) ||
        (param.getStrides() && !isKnownSize(kernel, param.getStride(axis))))
      return std::nullopt;
  const layout::BlockReadRules &rules = layout::kBlockReadRules;
  auto strideOf = [&](int64_t axis) {
    return param.getStrides() ? param.getStride(axis).str() : sizeFrom(param, size_t(axis) + 1);
  };
  LaunchConditions all;
  all.addText(llvm::formatv("aligned({0}, {1})", param.getName(), rules.addressAlign));
  auto multiple = [&](const std::string &size, int64_t of) {
    const int64_t step = std::max<int64_t>(1, of / bytes);
    if (step > 1) all.add(size, " % " + Twine(step) + " == 0", numberOf(size).value_or(0) % step == 0);
  };
  auto within = [&](const std::string &size, int64_t least, int64_t most) {
    const int64_t known = numberOf(size).value_or(0);
    all.add(size, " >= " + Twine(least), known >= least);
    all.add(size, " <= " + Twine(most), known <= most);
  };
  bool hasRows = false;
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (axis + 1 == rank) { // a row
      if (factor.extents()[axis] < 0 || (param.getStrides() && param.getStride(axis) != "1"))
        return std::nullopt;
      const bool isPitch = !param.getStrides() && rank > 1 && factor.extents()[axis - 1] >= 0;
      if (isPitch) continue; // its conditions are stronger
      multiple(param.getDim(axis).str(), rules.widthAlign);
      within(param.getDim(axis).str(), rules.leastWidth / bytes, rules.most / bytes);
    } else if (factor.extents()[axis] < 0) { // one of several matrices
      multiple(strideOf(axis), rules.addressAlign);
    } else {
      hasRows = true;
      within(param.getDim(axis).str(), 1, rules.most);
      multiple(strideOf(axis), rules.pitchAlign);
      within(strideOf(axis), rules.leastPitch / bytes, rules.most / bytes);
      if (param.getStrides()) // rows do not overlap
        all.addText(strideOf(axis) + " >= " + param.getDim(rank - 1).str());
    }
  }
  if (!hasRows || !all.isPossible()) return std::nullopt;
  return all;
}

/// The load or copy that fills the operand, in the block of the product; nullopt: it is something else.
std::optional<Factor> factorOf(MmaOp mma, OpOperand &operand) {
  Factor factor{&operand, operand.get().getDefiningOp<LoadOp>(), {}};
  if (factor.load) {
    if (!factor.load->hasOneUse() || factor.load->getBlock() != mma->getBlock()) return std::nullopt;
    return factor;
  }
  auto alloc = operand.get().getDefiningOp<AllocSharedOp>();
  if (!alloc || alloc->use_empty() || std::distance(alloc->use_begin(), alloc->use_end()) != 2)
    return std::nullopt;
  for (Operation *user : alloc->getUsers())
    if (auto copy = dyn_cast<CpAsyncOp>(user)) factor.copy = copy;
  if (!factor.copy || factor.copy->getBlock() != mma->getBlock() || !factor.copy->isBeforeInBlock(mma))
    return std::nullopt;
  auto loop = dyn_cast<scf::ForOp>(mma->getParentOp());
  auto copies = loop ? loop->getAttrOfType<StringAttr>(schedule::kCopy) : StringAttr();
  if (copies && copies.getValue() == "async") return std::nullopt; // a decision
  for (Operation *op = factor.copy; op != mma; op = op->getNextNode())
    if (isa<BarrierOp>(op)) return factor;
  return std::nullopt;
}

bool writes(Operation *op) {
  return isa<StoreOp, ScatterOp, StoreElemOp, AtomicOp, AtomicCasOp, BufferWriteOp, CpAsyncOp, CommitGroupOp,
             WaitGroupOp, FenceOp>(op);
}

/// Erases the barriers of a loop before and in which the kernel writes nothing.
void eraseBarriers(KernelOp kernel, scf::ForOp loop) {
  const auto found = kernel.walk([&](Operation *op) {
    if (!writes(op)) return WalkResult::advance();
    Operation *outer = loop->getBlock()->findAncestorOpInBlock(*op);
    const bool isAfter = loop->getParentOp() == kernel && outer && loop->isBeforeInBlock(outer);
    return isAfter ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (found.wasInterrupted()) return;
  for (auto barrier : llvm::make_early_inc_range(loop.getBody()->getOps<BarrierOp>()))
    barrier.erase();
}

struct ReadBlocks : impl::TileReadBlocksBase<ReadBlocks> {
  using impl::TileReadBlocksBase<ReadBlocks>::TileReadBlocksBase;

  LogicalResult initialize(MLIRContext *context) override {
    FailureOr<SmallVector<InstructionRow>> parsed = parseInstructions(context, getArgument(), instructions);
    if (failed(parsed)) return failure();
    rows_ = std::move(*parsed);
    return success();
  }

  void runOnOperation() override {
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<KernelOp>())) {
      if (!mayHaveVariants(kernel) || permitsOf(kernel).value_or(NumericsPermissions()).fixedReductions)
        continue;
      LaunchConditions conditions;
      if (factorsOf(kernel, conditions).empty()) continue;
      KernelOp variant = kernel.clone();
      kernel->getBlock()->getOperations().insert(std::next(kernel->getIterator()), variant);
      LaunchConditions same;
      apply(variant, factorsOf(variant, same));
      MetadataVariant blocks, general;
      blocks.name = blocks.body = kBlocks;
      blocks.entry = kernel.getSymName().str() + "." + blocks.name;
      blocks.when = conditions.list();
      general.name = general.body = "shared";
      variant.setSymName(blocks.entry);
      kernel->setAttr(kVariants, describeVariants(&getContext(), {blocks, general}));
    }
  }

private:
  /// The factors of the kernel's products that blocks can be read for. Adds the conditions for all of them.
  SmallVector<Factor> factorsOf(KernelOp kernel, LaunchConditions &conditions) {
    SmallVector<Factor> all;
    InstructionChoice choice(kernel, rows_, {warps, 0, permitsOf(kernel)->reducedMultiply});
    kernel.walk([&](MmaOp mma) {
      const std::optional<DType> dtype = dtypeOfFactors(mma);
      const FragmentAttr chosen = mma.getFragment() || !dtype ? FragmentAttr() : choice.choose(mma, *dtype);
      const auto row = chosen ? chosen.getRow() : std::nullopt;
      if (!row) return;
      for (OpOperand &operand : mma->getOpOperands().take_front(2)) {
        const bool isLeft = operand.getOperandNumber() == 0;
        const int64_t bytes = info(*dtype).storageBytes;
        std::optional<Factor> factor = factorOf(mma, operand);
        if (!factor ||
            !layout::blockRead(*row, isLeft ? layout::Operand::A : layout::Operand::B, int(bytes),
                               isLeft ? mma.getTransA() : mma.getTransB()) ||
            dtypeOfMemory(cast<ViewType>(factor->view().getType()).getElementType()) != dtype)
          continue;
        const int64_t step = std::max<int64_t>(1, layout::kBlockReadRules.columnAlign / bytes);
        if (knownZeros(factor->starts().back()) < llvm::Log2_64(uint64_t(step))) continue;
        const std::optional<LaunchConditions> own = conditionsOf(kernel, *factor, bytes);
        if (!own) continue;
        for (const std::string &condition : own->list())
          conditions.addText(condition);
        all.push_back(*factor);
      }
    });
    return all;
  }

  void apply(KernelOp kernel, ArrayRef<Factor> factors) {
    llvm::SetVector<Operation *> loops;
    for (Factor factor : factors) {
      if (factor.copy) {
        OpBuilder b(factor.use->getOwner());
        auto buffer = cast<BufferType>(factor.use->get().getType());
        auto type = RankedTensorType::get(buffer.getShape(), loadedElementType(buffer.getElementType()));
        factor.load =
            LoadOp::create(b, factor.copy.getLoc(), type, factor.copy.getView(), factor.copy.getStarts(),
                           factor.copy.getExtents(), factor.copy.getInBounds());
        auto alloc = factor.use->get().getDefiningOp<AllocSharedOp>();
        factor.use->set(factor.load);
        factor.copy.erase();
        alloc.erase();
        loops.insert(factor.use->getOwner()->getParentOp());
      }
      factor.load->setAttr(kReadBlocks, UnitAttr::get(&getContext()));
    }
    for (Operation *parent : loops)
      if (auto loop = dyn_cast<scf::ForOp>(parent)) eraseBarriers(kernel, loop);
  }

  static constexpr const char *kBlocks = "block2d";
  SmallVector<InstructionRow> rows_;
};

} // namespace
} // namespace tessera
