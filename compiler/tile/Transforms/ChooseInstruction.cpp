#include "compiler/tile/Transforms/ChooseInstruction.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/Transforms/TileUtils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tessera::tile {

namespace {

/// Registers for the sums of a lane: half of those that a lane of an NVIDIA GPU can have. With more, they
/// would be spilled to memory, and the code, which is unrolled, takes long to compile.
constexpr int64_t kMostRegisters = 128;

bool readsOrder(const layout::Fragment &row, MmaOp mma) {
  return row.readsOrder(mma.getTransA(), mma.getTransB());
}

/// The columns of tensor memory that the sums take: rows past those of one instruction are beside them. Each
/// product of the kernel has columns of its own.
int64_t columnsOfSums(const layout::Fragment &row, std::array<int64_t, 3> mnk) {
  return llvm::divideCeil(mnk[0], row.m) * mnk[1];
}

/// Is a factor to be read by blocks (tile-read-blocks)? There is none of interleaved rows or columns.
bool readsBlocks(MmaOp mma) {
  return llvm::any_of(ValueRange{mma.getA(), mma.getB()}, [](Value factor) {
    Operation *op = factor.getDefiningOp();
    return op && op->hasAttr(kReadBlocks);
  });
}

/// Is what is computed of the sums, element by element, the left factor of another product?
bool leadsToFactor(Value v, int depth = 32) {
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
MmaOp sumsBefore(Value v, int depth = 32) {
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
bool holdsFactor(const layout::Fragment &row, layout::WarpGrid grid, MmaOp mma, MmaOp before, DType dtype) {
  const std::optional<layout::Fragment> sums =
      before.getFragment() ? before.getFragment()->getRow() : std::nullopt;
  if (!sums || sums->hasTensorMemory() || mma.getTransA() || dtypeOfFactors(mma) != dtype) return false;
  auto type = tileType(mma.getA());
  const std::array<int64_t, 2> shape = {type.getDimSize(0), type.getDimSize(1)};
  return shape == std::array{tileType(before.getResult()).getDimSize(0),
                             tileType(before.getResult()).getDimSize(1)} &&
         layout::operandLayout(row, layout::Operand::A, grid, shape) ==
             layout::operandLayout(*sums, layout::Operand::C, before.getFragment()->getWarpGrid(), shape);
}

/// Returns the most columns that an instruction which reads its operands in shared memory can have in this
/// product (0: none can compute it), and the elements that the instructions of a group of warps then read.
std::pair<int64_t, int64_t> wideProduct(MmaOp mma, const layout::Fragment &row, layout::WarpGrid grid,
                                        DType dtype, std::array<int64_t, 3> mnk, bool holdsA) {
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

} // namespace

FailureOr<SmallVector<InstructionRow>> parseInstructions(MLIRContext *context, StringRef pass,
                                                         ArrayRef<std::string> texts) {
  SmallVector<InstructionRow> rows;
  for (const std::string &text : texts) {
    SmallVector<StringRef> words;
    llvm::SplitString(text, words, ": ");
    const layout::Fragment *fragment = words.empty() ? nullptr : layout::findFragment(words[0]);
    if (!fragment)
      return emitError(UnknownLoc::get(context))
             << pass << ": no instruction '" << text << "' in docs/layouts.md";
    InstructionRow row{fragment, {}};
    row.addsShort = words.back() == "short";
    if (row.addsShort) words.pop_back();
    for (StringRef word : llvm::drop_begin(words)) {
      std::optional<DType> dtype = parseDType(word);
      if (!dtype || !fragment->multiplies(*dtype))
        return emitError(UnknownLoc::get(context))
               << pass << ": " << fragment->name << " does not multiply '" << word << "'";
      row.dtypes.push_back(*dtype);
    }
    for (const DTypeInfo &dtype : allDTypes())
      if (words.size() == 1 && fragment->multiplies(dtype.dtype)) row.dtypes.push_back(dtype.dtype);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::optional<DType> dtypeOfFactors(MmaOp mma) {
  if (mma.getIsUnsigned()) return DType::U8;
  auto buffer = dyn_cast<BufferType>(mma.getA().getType());
  return dtypeOfMemory(buffer ? buffer.getElementType() : getElementTypeOrSelf(mma.getA()));
}

std::array<int64_t, 3> extentsOf(MmaOp mma) {
  auto result = tileType(mma.getResult());
  auto buffer = dyn_cast<BufferType>(mma.getA().getType());
  ArrayRef<int64_t> a = buffer ? buffer.getShape() : tileType(mma.getA()).getShape();
  return {result.getDimSize(0), result.getDimSize(1), a[!mma.getTransA()]};
}

bool InstructionChoice::promotes(const InstructionRow &row) const {
  return row.addsShort && !limits_.reducesMultiply && row.fragment->readsShared() &&
         !row.fragment->hasTensorMemory();
}

int64_t InstructionChoice::sumRegisters(const InstructionRow &row, MmaOp mma) const {
  auto type = tileType(mma.getResult());
  return type.getNumElements() * type.getElementTypeBitWidth() / 32 * (promotes(row) ? 2 : 1);
}

bool InstructionChoice::hasRoom(const InstructionRow &row, MmaOp mma, int64_t lanes) const {
  const int64_t count = sumRegisters(row, mma);
  // The assembler would refuse more than a unit has; instructions of single warps keep sums elsewhere.
  const bool isLimited = limits_.registers && row.fragment->readsShared() && !row.fragment->hasTensorMemory();
  return count <= kMostRegisters * lanes && (!isLimited || count + kBesideSums * lanes <= limits_.registers);
}

std::string InstructionChoice::whyNotShared(MmaOp mma, DType own) const {
  for (const InstructionRow &row : rows_) {
    if (!row.fragment->readsShared() || !llvm::is_contained(row.dtypes, inInstruction(own))) continue;
    if (!readsOrder(*row.fragment, mma))
      return std::string(", because ") + row.fragment->name + " reads only factors that are stored along k";
    const int64_t lanes = warpsFor(*row.fragment) * row.fragment->layout(layout::Operand::C).lanes();
    if (promotes(row) && !hasRoom(row, mma, lanes))
      return llvm::formatv(", because the sums of {0}, which are promoted, take {1} registers of a lane",
                           row.fragment->name, llvm::divideCeil(sumRegisters(row, mma), lanes));
  }
  return "";
}

FragmentAttr InstructionChoice::choose(MmaOp mma, DType dtype, bool mayReadShared) {
  auto result = tileType(mma.getResult());
  const std::array<int64_t, 3> mnk = extentsOf(mma);
  const std::optional<DType> sum = dtypeOfMemory(result.getElementType());
  const bool leads = leadsToFactor(mma.getResult());
  const MmaOp before = sumsBefore(mma.getA());
  const bool follows = bool(before);
  for (const InstructionRow &candidate : rows_) {
    const layout::Fragment *row = candidate.fragment;
    const int64_t warps = warpsFor(*row);
    const int64_t lanes = warps * row->layout(layout::Operand::C).lanes();
    if (!llvm::is_contained(candidate.dtypes, dtype) || parseDType(row->accumulator) != sum ||
        !hasRoom(candidate, mma, lanes) || !readsOrder(*row, mma) || (row->readsShared() && !mayReadShared) ||
        // A factor would be elsewhere.
        (row->isPermuted() && (leads || follows || readsBlocks(mma))) ||
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
      best = FragmentAttr::get(mma.getContext(), row->m, columns, row->k,
                               StringAttr::get(mma.getContext(), row->name), {grid.m, grid.n});
      fewest = reads;
    }
    if (best && (!row->readsShared() || canReadShared(mma, best, dtype))) {
      if (row->hasTensorMemory()) tensorColumns_ += columnsOfSums(*row, mnk);
      return best;
    }
  }
  return {};
}

bool InstructionChoice::fitsTensorMemory(const layout::Fragment &row, std::array<int64_t, 3> mnk) const {
  return tensorColumns_ + columnsOfSums(row, mnk) <= layout::kTensorColumns;
}

int64_t InstructionChoice::warpsFor(const layout::Fragment &row) const {
  auto threads = KernelOp(kernel_).getThreads();
  return threads ? int64_t(*threads) / row.layout(layout::Operand::C).lanes() : limits_.warps;
}

/// Are the factors matrices in memory whose order can be the instruction's?
bool InstructionChoice::canReadShared(MmaOp mma, FragmentAttr fragment, DType dtype) {
  if (inInstruction(*dtypeOfFactors(mma)) != dtype) return true; // they will be results of casts
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

} // namespace tessera::tile
