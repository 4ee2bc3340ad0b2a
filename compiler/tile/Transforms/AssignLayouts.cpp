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
#include "compiler/layout/Products.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/Profiles.h"
#include "compiler/tile/Transforms/Passes.h"
#include "compiler/tile/Transforms/TileUtils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <set>

namespace tessera {
#define GEN_PASS_DEF_TILEASSIGNLAYOUTS
#include "compiler/tile/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::tile;

namespace {

/// Registers for the sums of a lane: half of those that a lane of an NVIDIA GPU can have. With more, they
/// would be spilled to memory, and the code, which is unrolled, takes long to compile.
constexpr int64_t kMostRegisters = 128;

class AssignLayouts : public impl::TileAssignLayoutsBase<AssignLayouts> {
public:
  using impl::TileAssignLayoutsBase<AssignLayouts>::TileAssignLayoutsBase;

private:
  struct Row {
    const layout::Fragment *fragment;
    SmallVector<DType> dtypes; // that the target multiplies with it
    bool addsShort = false;    // MatrixProduct::addsShort
  };
  SmallVector<Row> rows_;
  std::set<std::string> fallbacks_;
  int64_t tensorColumns_ = 0;    // of tensor memory, that products of the kernel take
  bool reducesMultiply_ = false; // f32 may be rounded to tf32, and sums may keep fewer bits

  LogicalResult initialize(MLIRContext *context) override {
    for (const std::string &text : instructions) {
      SmallVector<StringRef> words;
      llvm::SplitString(text, words, ": ");
      const layout::Fragment *fragment = words.empty() ? nullptr : layout::findFragment(words[0]);
      if (!fragment)
        return emitError(UnknownLoc::get(context))
               << "tile-assign-layouts: no instruction '" << text << "' in docs/layouts.md";
      Row row{fragment, {}};
      row.addsShort = words.back() == "short";
      if (row.addsShort) words.pop_back();
      for (StringRef word : llvm::drop_begin(words)) {
        std::optional<DType> dtype = parseDType(word);
        if (!dtype || !fragment->multiplies(*dtype))
          return emitError(UnknownLoc::get(context))
                 << "tile-assign-layouts: " << fragment->name << " does not multiply '" << word << "'";
        row.dtypes.push_back(*dtype);
      }
      for (const DTypeInfo &dtype : allDTypes())
        if (words.size() == 1 && fragment->multiplies(dtype.dtype)) row.dtypes.push_back(dtype.dtype);
      rows_.push_back(std::move(row));
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
    tensorColumns_ = 0;
    for (MmaOp mma : products)
      legalize(mma);
    addFallbacks(getOperation(), fallbacks_);
  }

  /// Assigns the first instruction that fits, in the narrowest dtype that has all values of the operands'.
  void legalize(MmaOp mma) {
    const std::optional<DType> own = dtypeOfOperand(mma);
    if (!own) return;
    const std::optional<DType> sum = dtypeOfMemory(getElementTypeOrSelf(mma.getResult()));
    SmallVector<std::tuple<bool, int, size_t, DType>> candidates; // its own first, then narrow ones
    for (const Row &row : rows_)
      for (DType dtype : parseDType(row.fragment->accumulator) == sum ? row.dtypes : SmallVector<DType>())
        if (holds(dtype, *own) || (reducesMultiply_ && *own == DType::F32 && dtype == DType::TF32))
          candidates.emplace_back(dtype != *own, info(dtype).bits, candidates.size(), dtype);
    llvm::sort(candidates);
    for (const auto &candidate : candidates) {
      const DType dtype = std::get<DType>(candidate);
      if (FragmentAttr fragment = choose(mma, dtype)) {
        const std::string reason = whyNotShared(mma, *own);
        if (own == DType::F32) // which the instruction takes from operands of f32
          fallbacks_.insert(backend + ": mma of f32 multiplies in tf32");
        else if (dtype != *own)
          widen(mma, *own, dtype, reason);
        if (dtype == inInstruction(*own) && !fragment.getRow()->readsShared() && !reason.empty())
          fallbacks_.insert(backend + ": mma of " + name(*own) + " uses " + fragment.getRow()->name + reason);
        if (!unused.empty() && !fragment.getRow()->hasTensorMemory())
          fallbacks_.insert(llvm::formatv("{0}: mma of {1} uses {2}, not {3}", backend, name(*own),
                                          fragment.getRow()->name, unused.getValue()));
        return assign(mma, fragment);
      }
    }
    if (candidates.empty()) return;
    const auto [m, n, k] = extentsOf(mma);
    fallbacks_.insert(
        llvm::formatv("{0}: mma of {1} with a tile of {2}x{3}x{4} uses no matrix instruction, because none "
                      "divides it among {5} warps",
                      backend, name(*own), m, n, k, warpsFor(*rows_.front().fragment)));
  }

  /// The dtype that instructions multiply operands in memory as.
  static DType inInstruction(DType operand) { return operand == DType::F32 ? DType::TF32 : operand; }

  /// Returns ", because ..." if an instruction for the operands reads them only in another order.
  std::string whyNotShared(MmaOp mma, DType own) {
    for (const Row &row : rows_)
      if (llvm::is_contained(row.dtypes, inInstruction(own)) && !readsOrder(*row.fragment, mma))
        return std::string(", because ") + row.fragment->name + " reads only factors that are stored along k";
    return "";
  }
  static bool readsOrder(const layout::Fragment &row, MmaOp mma) {
    return !row.isAlongK || (!mma.getTransA() && mma.getTransB());
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

  static std::optional<DType> dtypeOfOperand(MmaOp mma) {
    if (mma.getIsUnsigned()) return DType::U8;
    auto buffer = dyn_cast<BufferType>(mma.getA().getType());
    return dtypeOfMemory(buffer ? buffer.getElementType() : getElementTypeOrSelf(mma.getA()));
  }

  static std::array<int64_t, 3> extentsOf(MmaOp mma) {
    auto result = tileType(mma.getResult());
    auto buffer = dyn_cast<BufferType>(mma.getA().getType());
    ArrayRef<int64_t> a = buffer ? buffer.getShape() : tileType(mma.getA()).getShape();
    return {result.getDimSize(0), result.getDimSize(1), a[!mma.getTransA()]};
  }

  /// Returns null if no instruction fits, of all or of those that have their factors in registers.
  FragmentAttr choose(MmaOp mma, DType dtype, bool mayReadShared = true) {
    auto result = tileType(mma.getResult());
    const std::array<int64_t, 3> mnk = extentsOf(mma);
    const std::optional<DType> sum = dtypeOfMemory(result.getElementType());
    const bool leads = leadsToFactor(mma.getResult());
    const MmaOp before = sumsBefore(mma.getA());
    const bool follows = bool(before);
    for (const auto &[row, dtypes, addsShort] : rows_) {
      const int64_t warps = warpsFor(*row);
      const int64_t lanes = warps * row->layout(layout::Operand::C).lanes();
      // Promoted sums are there twice: since the last addition, and all of them.
      const bool isTwice = addsShort && !reducesMultiply_ && row->readsShared() && !row->hasTensorMemory();
      const int64_t sumRegisters = mnk[0] * mnk[1] * info(*sum).bits / 32 * (isTwice ? 2 : 1);
      if (!llvm::is_contained(dtypes, dtype) || parseDType(row->accumulator) != sum ||
          sumRegisters > kMostRegisters * lanes ||
          // The assembler would refuse it; others keep sums elsewhere.
          (registers && row->readsShared() && !row->hasTensorMemory() &&
           sumRegisters + kBesideSums * lanes > registers) ||
          (row->readsShared() && (!mayReadShared || !readsOrder(*row, mma))) ||
          (row->readsShared() && follows && !row->isInRegisters(layout::Operand::A)) ||
          (row->hasTensorMemory() && (leads || !fitsTensorMemory(*row, mnk))))
        continue;
      FragmentAttr best;
      int64_t fewest = 0;
      for (int64_t m = row->warps(); m <= warps; m *= 2) {
        const layout::WarpGrid grid = {m, warps / m};
        const bool isSplit = row->readsShared() && !row->hasTensorMemory();
        auto [columns, reads] =
            row->readsShared()
                ? wideProduct(mma, *row, isSplit ? grid : layout::WarpGrid{m, 1}, dtype, mnk, follows)
                : std::pair(int64_t(row->n), mnk[0] / grid.m + mnk[1] / grid.n);
        // Parts of a width that is not a power of two would alternate (TileLayout).
        if (row->hasTensorMemory() && grid.n > 1 &&
            (!llvm::isPowerOf2_64(uint64_t(columns)) || columns < 8 * grid.n))
          continue;
        if (!columns || layout::paddedProduct(row->ofColumns(int(columns)), grid, mnk) != mnk) continue;
        if (row->readsShared() && follows && !holdsFactor(*row, grid, mma, before, dtype)) continue;
        if ((leads || follows) && grid.n == 1) reads = 0; // a warp has whole rows
        if (best && reads >= fewest) continue;
        best = FragmentAttr::get(&getContext(), row->m, columns, row->k,
                                 StringAttr::get(&getContext(), row->name), {grid.m, grid.n});
        fewest = reads;
      }
      if (best && (!row->readsShared() || canReadShared(mma, best, dtype))) {
        if (row->hasTensorMemory()) tensorColumns_ += columnsOfSums(*row, mnk);
        return best;
      }
    }
    return {};
  }

  /// The columns of tensor memory that the sums take: rows past those of one instruction are beside them.
  /// Each product of the kernel has columns of its own.
  static int64_t columnsOfSums(const layout::Fragment &row, std::array<int64_t, 3> mnk) {
    return llvm::divideCeil(mnk[0], row.m) * mnk[1];
  }
  bool fitsTensorMemory(const layout::Fragment &row, std::array<int64_t, 3> mnk) const {
    return tensorColumns_ + columnsOfSums(row, mnk) <= layout::kTensorColumns;
  }

  /// The warps of a block of the kernel, if they have as many lanes as the instruction needs.
  int64_t warpsFor(const layout::Fragment &row) {
    auto threads = getOperation().getThreads();
    return threads ? int64_t(*threads) / row.layout(layout::Operand::C).lanes() : int64_t(warps);
  }

  /// Is what is computed of the sums, element by element, the left factor of another product?
  static bool leadsToFactor(Value v, int depth = 32) {
    return depth && llvm::any_of(v.getUses(), [&](OpOperand &use) {
             Operation *user = use.getOwner();
             if (isa<MmaOp>(user)) return use.getOperandNumber() == 0;
             if (isa<scf::YieldOp>(user) && isa<scf::IfOp>(user->getParentOp()))
               return leadsToFactor(user->getParentOp()->getResult(use.getOperandNumber()), depth - 1);
             return (isElementwise(user) || isa<ConvertOp>(user)) &&
                    leadsToFactor(user->getResult(0), depth - 1);
           });
  }
  /// Returns the product from whose sums the tile is computed, element by element; null: there is none.
  static MmaOp sumsBefore(Value v, int depth = 32) {
    Operation *op = v.getDefiningOp();
    if (!op || !depth || !isTile(v)) return {};
    if (auto mma = dyn_cast<MmaOp>(op)) return mma;
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return sumsBefore(branch.thenYield().getOperand(cast<OpResult>(v).getResultNumber()), depth - 1);
    if (isElementwise(op) || isa<ConvertOp>(op))
      for (Value operand : op->getOperands())
        if (MmaOp found = sumsBefore(operand, depth - 1)) return found;
    return {};
  }
  /// Do the lanes have the sums where the instruction takes its left factor from registers?
  static bool holdsFactor(const layout::Fragment &row, layout::WarpGrid grid, MmaOp mma, MmaOp before,
                          DType dtype) {
    const std::optional<layout::Fragment> sums =
        before.getFragment() ? before.getFragment()->getRow() : std::nullopt;
    if (!sums || sums->hasTensorMemory() || mma.getTransA() || dtypeOfOperand(mma) != dtype) return false;
    auto type = tileType(mma.getA());
    const std::array<int64_t, 2> shape = {type.getDimSize(0), type.getDimSize(1)};
    return shape == std::array{tileType(before.getResult()).getDimSize(0),
                               tileType(before.getResult()).getDimSize(1)} &&
           layout::operandLayout(row, layout::Operand::A, grid, shape) ==
               layout::operandLayout(*sums, layout::Operand::C, before.getFragment()->getWarpGrid(), shape);
  }

  /// Returns the most columns that an instruction which reads its operands in shared memory can have in this
  /// product (0: none can compute it), and the elements that the instructions of a group of warps then read.
  static std::pair<int64_t, int64_t> wideProduct(MmaOp mma, const layout::Fragment &row,
                                                 layout::WarpGrid grid, DType dtype,
                                                 std::array<int64_t, 3> mnk, bool holdsA) {
    const int64_t bytes = info(dtype).storageBytes;
    const int64_t panelA = layout::panelBytes(bytes * mnk[mma.getTransA() ? 0 : 2]),
                  panelB = layout::panelBytes(bytes * mnk[mma.getTransB() ? 2 : 1]);
    if ((!panelA && !holdsA) || !panelB || mnk[1] % (grid.n * row.n)) return {0, 0};
    const int64_t ofGroup = mnk[1] / grid.n;
    for (int64_t across = llvm::divideCeil(ofGroup, 256); across * row.n <= ofGroup; ++across) {
      const int64_t columns = ofGroup / across, width = columns * bytes;
      // Parts of a tile whose extent is not a power of two would alternate (TileLayout).
      const bool isWhole = columns == mnk[1] || llvm::isPowerOf2_64(uint64_t(columns));
      const bool endsWithPanel = mma.getTransB() || width % panelB == 0 || panelB % width == 0;
      if (ofGroup % across == 0 && columns % row.n == 0 && isWhole && endsWithPanel)
        return {columns, mnk[0] / (row.m * grid.m / row.warps()) * across * (row.m + columns)};
    }
    return {0, 0};
  }

  /// Are the factors matrices in memory whose order can be the instruction's?
  bool canReadShared(MmaOp mma, FragmentAttr fragment, DType dtype) {
    if (inInstruction(*dtypeOfOperand(mma)) != dtype) return true; // they will be results of casts
    // Other products of a factor, which get theirs later, have at least an instruction that reads this order.
    SmallVector<MmaOp> assigned = {mma};
    mma.setFragmentAttr(fragment);
    for (Value factor : {mma.getA(), mma.getB()})
      for (Operation *user : factor.getUsers())
        if (auto other = dyn_cast<MmaOp>(user); other && !other.getFragment())
          if (FragmentAttr own = choose(other, dtype, /*mayReadShared=*/false)) {
            other.setFragmentAttr(own);
            assigned.push_back(other);
          }
    const bool can = (sumsBefore(mma.getA()) || canSwizzle(mma.getA())) && canSwizzle(mma.getB());
    for (MmaOp product : assigned)
      product.removeFragmentAttr();
    return can;
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
