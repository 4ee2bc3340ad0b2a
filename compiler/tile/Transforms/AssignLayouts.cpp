// tile-assign-layouts (normative phase 3): chooses matrix instructions, and the layouts that follow from
// them.
//
//   %s = scf.for iter_args(%acc = %z)       ->   %r = tile.convert %z : tensor<..> -> tensor<.., #c>
//     %p = tile.mma %a, %b, %acc                 %s = scf.for iter_args(%acc = %r)
//     yield %p                                     %p = tile.mma %a, %b, %acc {fragment = #tile.fragment<..>}
//                                                  yield %p
//                                                %m = tile.convert %s : tensor<.., #c> -> tensor<..>
//
// It runs before tile-vectorize, which gives the other products register blocks of multiply-adds, and before
// tile-fuse and tile-plan-memory, so that tiles in registers get no memory. A fragment in the text is kept.
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/Profiles.h"
#include "compiler/tile/Transforms/ChooseInstruction.h"
#include "compiler/tile/Transforms/Passes.h"
#include "compiler/tile/Transforms/TileUtils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <set>

namespace tessera {
#define GEN_PASS_DEF_TILEASSIGNLAYOUTS
#include "compiler/tile/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::tile;

namespace {

class AssignLayouts : public impl::TileAssignLayoutsBase<AssignLayouts> {
public:
  using impl::TileAssignLayoutsBase<AssignLayouts>::TileAssignLayoutsBase;

private:
  SmallVector<InstructionRow> rows_;
  std::set<std::string> fallbacks_;
  bool reducesMultiply_ = false; // f32 may be rounded to tf32, and sums may keep fewer bits

  LogicalResult initialize(MLIRContext *context) override {
    FailureOr<SmallVector<InstructionRow>> parsed = parseInstructions(context, getArgument(), instructions);
    if (failed(parsed)) return failure();
    const SmallVector<InstructionRow> &plain = *parsed;
    // Forms for factors in another order come before all instructions of the dtype that would load single
    // elements.
    std::set<std::string_view> added;
    for (const InstructionRow &row : plain) {
      for (const InstructionRow &other : plain)
        if (!row.fragment->readsShared() && other.dtypes == row.dtypes &&
            added.insert(other.fragment->name).second)
          for (const layout::Fragment &form : layout::allFragments())
            if (form.instruction == std::string_view(other.fragment->name))
              rows_.push_back({&form, other.dtypes, other.addsShort});
      rows_.push_back(row);
    }
    return success();
  }

  void runOnOperation() override {
    const NumericsPermissions permits = permitsOf(getOperation()).value_or(NumericsPermissions());
    if (permits.fixedReductions) return;
    reducesMultiply_ = permits.reducedMultiply;
    SmallVector<MmaOp> products;
    getOperation()->walk([&](MmaOp mma) {
      if (!mma.getFragment()) products.push_back(mma);
    });
    fallbacks_.clear();
    InstructionChoice choice(getOperation(), rows_, {warps, registers, reducesMultiply_});
    for (MmaOp mma : products)
      legalize(mma, choice);
    addFallbacks(getOperation(), fallbacks_);
  }

  /// Assigns the first instruction that fits, in the narrowest dtype that has all values of the operands'.
  void legalize(MmaOp mma, InstructionChoice &choice) {
    const std::optional<DType> own = dtypeOfFactors(mma);
    if (!own) return;
    const std::optional<DType> sum = dtypeOfMemory(getElementTypeOrSelf(mma.getResult()));
    SmallVector<std::tuple<bool, int, size_t, DType>> candidates; // its own first, then narrow ones
    for (const InstructionRow &row : rows_)
      for (DType dtype : parseDType(row.fragment->accumulator) == sum ? row.dtypes : SmallVector<DType>())
        if (holds(dtype, *own) || (reducesMultiply_ && *own == DType::F32 && dtype == DType::TF32))
          candidates.emplace_back(dtype != *own, info(dtype).bits, candidates.size(), dtype);
    llvm::sort(candidates);
    for (const auto &candidate : candidates) {
      const DType dtype = std::get<DType>(candidate);
      if (FragmentAttr fragment = choice.choose(mma, dtype)) {
        const std::string reason = choice.whyNotShared(mma, *own);
        if (own == DType::F32) // which the instruction takes from operands of f32
          fallbacks_.insert(backend + ": mma of f32 multiplies in tf32");
        else if (dtype != *own)
          widen(mma, *own, dtype, reason);
        const std::string used = fragment.getRow()->executed();
        if (dtype == inInstruction(*own) && !fragment.getRow()->readsShared() && !reason.empty())
          fallbacks_.insert(backend + ": mma of " + name(*own) + " uses " + used + reason);
        if (!unused.empty() && !fragment.getRow()->hasTensorMemory())
          fallbacks_.insert(llvm::formatv("{0}: mma of {1} uses {2}, not {3}", backend, name(*own), used,
                                          unused.getValue()));
        return assign(mma, fragment);
      }
    }
    if (candidates.empty()) return;
    const auto [m, n, k] = extentsOf(mma);
    fallbacks_.insert(
        llvm::formatv("{0}: mma of {1} with a tile of {2}x{3}x{4} uses no matrix instruction, because none "
                      "divides it among {5} warps",
                      backend, name(*own), m, n, k, choice.warpsFor(*rows_.front().fragment)));
  }

  void widen(MmaOp mma, DType from, DType to, const std::string &reason) {
    OpBuilder b(mma);
    for (OpOperand &operand : mma->getOpOperands().take_front(2)) {
      Value v = operand.get();
      if (auto buffer = dyn_cast<BufferType>(v.getType()))
        v = BufferReadOp::create(b, mma.getLoc(),
                                 RankedTensorType::get(buffer.getShape(), buffer.getElementType()), v);
      auto type = RankedTensorType::get(tileType(v).getShape(), elementTypeInValues(&getContext(), to));
      operand.set(CastOp::create(b, mma.getLoc(), type, v, name(from), name(to)));
    }
    fallbacks_.insert(backend + ": mma of " + name(from) + " multiplies in " + name(to) + reason);
  }

  static Value convert(OpBuilder &b, Value v, Type type) { return ConvertOp::create(b, v.getLoc(), type, v); }

  /// Returns the loop whose variable only `mma` reads and replaces.
  static scf::ForOp loopOfSum(MmaOp mma) {
    auto arg = dyn_cast<BlockArgument>(mma.getAcc());
    auto loop = arg ? dyn_cast<scf::ForOp>(arg.getOwner()->getParentOp()) : scf::ForOp();
    if (!loop || !arg.hasOneUse() || mma->getBlock() != loop.getBody()) return {};
    Value next = loop.getBody()->getTerminator()->getOperand(arg.getArgNumber() - loop.getNumInductionVars());
    return next == mma.getResult() ? loop : scf::ForOp();
  }

  /// Are elements of the sum past the limits never used: is each use a store of what is before them?
  static bool isCutTo(Value v, ValueRange limits) {
    return llvm::all_of(v.getUsers(), [&](Operation *user) {
      if (auto store = dyn_cast<StoreOp>(user))
        return store.getValue() == v && store.getUpper().size() == 2 && store.getUpper()[0] == limits[0] &&
               store.getUpper()[1] == limits[1];
      return isElementwise(user) && tileType(user->getResult(0)).getShape() == tileType(v).getShape() &&
             isCutTo(user->getResult(0), limits);
    });
  }

  static void assign(MmaOp mma, FragmentAttr fragment) {
    RankedTensorType memory = tileType(mma.getResult());
    std::array<int64_t, 2> shape = {memory.getDimSize(0), memory.getDimSize(1)};
    auto layout =
        LayoutAttr::get(mma.getContext(), layout::operandLayout(*fragment.getRow(), layout::Operand::C,
                                                                fragment.getWarpGrid(), shape));
    auto type = RankedTensorType::get(memory.getShape(), memory.getElementType(), layout);
    OpBuilder b(mma);
    mma.setFragmentAttr(fragment);
    auto inMemoryAfter = [&](Value v, Operation *except) {
      v.setType(type);
      b.setInsertionPointAfterValue(v);
      if (llvm::all_of(v.getUsers(), [&](Operation *user) { return user == except; })) return;
      Value back = convert(b, v, memory);
      v.replaceUsesWithIf(back, [&](OpOperand &use) {
        return use.getOwner() != back.getDefiningOp() && use.getOwner() != except;
      });
    };
    scf::ForOp loop = loopOfSum(mma);
    if (!mma.getLimits().empty()) {
      auto arg = dyn_cast<BlockArgument>(mma.getAcc());
      Value sum = loop ? loop.getResult(arg.getArgNumber() - loop.getNumInductionVars()) : mma.getResult();
      if (isCutTo(sum, mma.getLimits())) mma.getLimitsMutable().clear();
    }
    if (!loop) {
      mma.getAccMutable().assign(convert(b, mma.getAcc(), type));
      return inMemoryAfter(mma.getResult(), nullptr);
    }
    auto arg = cast<BlockArgument>(mma.getAcc());
    const unsigned i = arg.getArgNumber() - loop.getNumInductionVars();
    b.setInsertionPoint(loop);
    OpOperand &init = loop.getInitArgsMutable()[i];
    init.set(convert(b, init.get(), type));
    arg.setType(type);
    inMemoryAfter(mma.getResult(), loop.getBody()->getTerminator());
    inMemoryAfter(loop.getResult(i), nullptr);
  }
};

} // namespace
} // namespace tessera
