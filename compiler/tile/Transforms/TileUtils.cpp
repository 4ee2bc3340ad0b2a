#include "compiler/tile/Transforms/TileUtils.h"
#include "compiler/layout/BlockReads.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/KernelVariants.h"
#include "compiler/tile/IR/TileAccess.h"
#include "compiler/tile/IR/TileFunctions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;

namespace tessera::tile {

LayoutAttr layoutOf(Value v) {
  return isTile(v) ? dyn_cast_or_null<LayoutAttr>(tileType(v).getEncoding()) : LayoutAttr();
}

bool isInRegisters(Value v) { return bool(layoutOf(v)); }

bool isAcrossWarps(ReduceOp op) {
  LayoutAttr layout = layoutOf(op.getInput());
  return layout && llvm::any_of(layout.getValue().warp, [&](layout::Bits image) {
           return layout.getValue().unit.onAxis(image, op.getAxis()) != 0;
         });
}

bool isElementwise(Operation *op) {
  if (op->getNumResults() != 1) return false;
  if (isa<CastOp, MaskOp, RandOp>(op) || isFunction(op)) return true;
  return isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect()) &&
         !isa<arith::ConstantOp>(op);
}

bool saturates(Operation *op) {
  if (!isElementwise(op) || isa<CastOp, arith::SelectOp, arith::BitcastOp>(op)) return false;
  auto result = dyn_cast<FloatType>(getElementTypeOrSelf(op->getResult(0).getType()));
  return result && result.getWidth() <= 8;
}

bool isCheap(Operation *op) { return isa<arith::ConstantOp, IotaOp, BroadcastOp, ExpandDimsOp>(op); }

std::optional<double> constantFloat(Value v) {
  Attribute constant;
  if (!matchPattern(v, m_Constant(&constant))) return {};
  if (auto tile = dyn_cast<DenseElementsAttr>(constant)) {
    if (!tile.isSplat() || !isa<FloatType>(tile.getElementType())) return {};
    return tile.getSplatValue<APFloat>().convertToDouble();
  }
  auto number = dyn_cast<FloatAttr>(constant);
  return number ? std::optional(number.getValueAsDouble()) : std::nullopt;
}

bool isLowest(Value v) {
  const std::optional<double> number = constantFloat(v);
  return number && *number == -std::numeric_limits<double>::infinity();
}

bool alwaysInMemory(Value v) {
  if (isInRegisters(v)) return false;
  Operation *op = v.getDefiningOp();
  if (!op) return true; // carried by a loop
  if (op->getNumRegions()) return true;
  return isa<ConvertOp, ReduceOp, ArgReduceOp, ScanOp, SortOp, MmaOp, ConcatOp, FlipOp, AtomicOp, AtomicCasOp,
             ReshapeOp, TransposeOp>(op);
}

/// Does one value fill the tile, so that each register gets it?
static bool isFilled(Value v) {
  Operation *op = v.getDefiningOp();
  if (auto broadcast = dyn_cast_or_null<BroadcastOp>(op))
    return !isTile(broadcast.getInput()) || isFilled(broadcast.getInput());
  return op && matchPattern(op, m_Constant());
}

bool needsMemoryOperand(OpOperand &use) {
  Operation *op = use.getOwner();
  if (auto mma = dyn_cast<MmaOp>(op)) return use.get() != mma.getAcc();
  // Its tiles of indices, unless they are computed for the first and the last lane of a vector.
  if (auto gather = dyn_cast<GatherOp>(op)) return !stridedDim(gather);
  if (isa<ConvertOp>(op)) return !isInRegisters(use.get()) && !isFilled(use.get());
  if (auto scatter = dyn_cast<ScatterOp>(op))
    return use.get() != scatter.getValue() && use.get() != scatter.getFlags();
  return isa<ScanOp, ReshapeOp>(op);
}

bool mayHaveVariants(KernelOp kernel) {
  return !kernel->hasAttr(kVariants) &&
         llvm::none_of(kernel.getParams().getAsRange<ParamAttr>(),
                       [](auto param) { return param.getPolicy() && param.getPolicy().contains("reports"); });
}

bool isReadByBlocks(Value factor) {
  auto load = factor.getDefiningOp<LoadOp>();
  if (!load || !load->hasAttr(kReadBlocks) || !load->hasOneUse()) return false;
  OpOperand &use = *load->use_begin();
  auto mma = dyn_cast<MmaOp>(use.getOwner());
  if (!mma || use.getOperandNumber() > 1) return false;
  const auto row = mma.getFragment() ? mma.getFragment()->getRow() : std::nullopt;
  const bool isLeft = use.getOperandNumber() == 0;
  return row && layout::blockRead(*row, isLeft ? layout::Operand::A : layout::Operand::B,
                                  int(storageBytes(tileType(factor).getElementType())),
                                  isLeft ? mma.getTransA() : mma.getTransB());
}

bool isShort(Value v) {
  int64_t left = 4;
  std::function<bool(Value)> visit = [&](Value x) {
    if (!isTile(x) || inMemory(x)) return true;
    return left-- > 0 && llvm::all_of(x.getDefiningOp()->getOperands(), visit);
  };
  return visit(v);
}

int64_t widestElement(ValueRange roots, ArrayRef<Type> more) {
  int64_t bytes = 1;
  auto widen = [&](Type type) {
    Type element = getElementTypeOrSelf(type);
    if (!element.isInteger(1) && !element.isIndex()) bytes = std::max(bytes, storageBytes(element));
  };
  SmallVector<Value> work(roots.begin(), roots.end());
  llvm::SmallPtrSet<Value, 16> seen;
  while (!work.empty()) {
    Value v = work.pop_back_val();
    if (!isTile(v) || !seen.insert(v).second) continue;
    widen(v.getType());
    if (!inMemory(v) && !v.getDefiningOp<GatherOp>())
      llvm::append_range(work, v.getDefiningOp()->getOperands());
  }
  llvm::for_each(more, widen);
  return bytes;
}

bool isShortStride(int64_t step) { return step != 0 && std::abs(step) <= 4; }

/// Operands that several operations share are looked at once.
using KnownSteps = llvm::DenseMap<Value, std::optional<Steps>>;
static std::optional<Steps> stepsOf(Value index, KnownSteps &known);

static std::optional<Steps> computeSteps(Value index, KnownSteps &known) {
  const Steps none = {0, 0};
  if (!isTile(index)) return none;
  Operation *op = index.getDefiningOp();
  if (!op) return std::nullopt;
  auto sameLast = [&](Value input) {
    return isTile(input) && tileType(input).getShape().back() == tileType(index).getShape().back();
  };
  if (isa<IotaOp>(op)) return Steps{1, 1};
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return cast<DenseElementsAttr>(constant.getValue()).isSplat() ? std::optional(none) : std::nullopt;
  if (isa<BroadcastOp>(op)) return sameLast(op->getOperand(0)) ? stepsOf(op->getOperand(0), known) : none;
  if (isa<ExpandDimsOp, ReshapeOp>(op))
    return sameLast(op->getOperand(0)) ? stepsOf(op->getOperand(0), known) : std::nullopt;
  if (auto cast = dyn_cast<CastOp>(op)) {
    const bool isWider = cast.getFrom() == "i32" && cast.getTo() == "i64";
    return isWider ? stepsOf(cast.getInput(), known) : std::nullopt;
  }
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::MinSIOp, arith::MaxSIOp>(op))
    return std::nullopt;
  std::optional<Steps> x = stepsOf(op->getOperand(0), known), y = stepsOf(op->getOperand(1), known);
  if (!x || !y) return std::nullopt;
  constexpr int64_t kFar = int64_t{1} << 32; // sums and products of less are exact
  std::optional<Steps> result;
  if (isa<arith::AddIOp>(op)) result = {x->least + y->least, x->most + y->most};
  if (isa<arith::SubIOp>(op)) result = {x->least - y->most, x->most - y->least};
  if (isa<arith::MinSIOp, arith::MaxSIOp>(op))
    result = {std::min(x->least, y->least), std::max(x->most, y->most)};
  if (isa<arith::MulIOp>(op)) {
    if (x->least == 0 && x->most == 0 && y->least == 0 && y->most == 0) return none;
    APInt factor;
    for (auto [steps, other] : {std::pair(*x, op->getOperand(1)), std::pair(*y, op->getOperand(0))})
      if (matchPattern(other, m_ConstantInt(&factor)) && factor.getSignificantBits() <= 16) {
        const int64_t first = steps.least * factor.getSExtValue(),
                      second = steps.most * factor.getSExtValue();
        result = {std::min(first, second), std::max(first, second)};
      }
  }
  if (!result || result->least < -kFar || result->most > kFar) return std::nullopt;
  return result;
}

static std::optional<Steps> stepsOf(Value index, KnownSteps &known) {
  if (auto it = known.find(index); it != known.end()) return it->second;
  std::optional<Steps> steps = computeSteps(index, known);
  known[index] = steps;
  return steps;
}

std::optional<Steps> stepsOf(Value index) {
  KnownSteps known;
  return stepsOf(index, known);
}

std::optional<StridedDim> stridedDim(GatherOp op) {
  std::optional<size_t> dim;
  for (auto [d, index] : llvm::enumerate(op.getIndices())) {
    if (!isTile(index)) continue;
    if (dim) return std::nullopt;
    dim = d;
  }
  GatherAxes axes = gatherAxes(op.getIndices(), op.getExtents());
  if (!dim || axes.first + axes.indices.size() != axes.shape.size()) return std::nullopt;
  std::optional<Steps> steps = stepsOf(op.getIndices()[*dim]);
  if (!steps) return std::nullopt;
  const int64_t step = steps->most > 0 ? steps->most : steps->least;
  return isShortStride(step) ? std::optional(StridedDim{*dim, step}) : std::nullopt;
}

int64_t vectorLength(ValueRange roots, bool computesRoots) {
  constexpr int64_t kBytes = 16, kMost = 8; // vectors of SPIR-V have at most 16 elements, those of PTX 8
  const int64_t n = tileType(roots.front()).getShape().back();
  int64_t narrowest = kBytes, most = kMost;
  SmallVector<std::pair<Value, bool>> work; // and: does every element of a row read the same one?
  for (Value root : roots)
    work.emplace_back(root, false);
  llvm::SmallPtrSet<Value, 16> seen[2]; // by isColumn
  while (!work.empty()) {
    auto [v, isColumn] = work.pop_back_val();
    if (!isTile(v) || !seen[isColumn].insert(v).second) continue;
    auto type = tileType(v);
    isColumn |= type.getShape().back() == 1;
    if (!isColumn && type.getShape().back() != n) return 1;
    const bool isRoot = llvm::is_contained(roots, v);
    const bool isRead = inMemory(v) && (!isRoot || !computesRoots || alwaysInMemory(v));
    Operation *op = v.getDefiningOp();
    if (!isColumn && (isRoot || isRead || isa<LoadOp>(op)))
      narrowest = std::min(narrowest, storageBytes(type.getElementType()));
    // a swizzle keeps pieces of 16 bytes
    if (isRoot && canSwizzle(v)) most = std::min(most, kBytes / storageBytes(type.getElementType()));
    if (isRead || isa<LoadOp, IotaOp, arith::ConstantOp>(op)) continue;
    if (auto read = dyn_cast<BufferReadOp>(op)) {
      if (!read.getStarts().empty()) return 1;
      const int64_t bytes = storageBytes(type.getElementType());
      narrowest = std::min(narrowest, bytes);
      most = std::min(most, kBytes / bytes); // of a swizzled buffer
      continue;
    }
    if (!isa<BroadcastOp, ExpandDimsOp>(op) && (!isElementwise(op) || isa<RandOp>(op))) return 1;
    for (Value operand : op->getOperands())
      work.emplace_back(operand, isColumn);
  }
  int64_t length = std::min(most, kBytes / narrowest);
  while (n % length)
    length /= 2;
  return length;
}

int64_t threadsPerResult(int64_t threads, int64_t results, int64_t n) {
  if (results >= threads) return 1;
  return std::min<int64_t>(llvm::bit_floor<uint64_t>(threads / results), llvm::bit_floor<uint64_t>(n));
}

void addFallbacks(KernelOp kernel, const std::set<std::string> &lines) {
  if (lines.empty()) return;
  Builder b(kernel.getContext());
  SmallVector<Attribute> all;
  if (auto had = kernel.getFallbacksAttr()) llvm::append_range(all, had);
  for (const std::string &line : lines)
    if (Attribute text = b.getStringAttr(line); !llvm::is_contained(all, text)) all.push_back(text);
  kernel.setFallbacksAttr(b.getArrayAttr(all));
}

bool isRing(Value buffer) { return llvm::any_of(buffer.getUsers(), llvm::IsaPred<SlotOp>); }

/// The uses of a value; of a ring, or of one of its buffers: of all of them.
static SmallVector<OpOperand *> usesOfMemory(Value v) {
  SmallVector<OpOperand *> uses;
  auto slot = v.getDefiningOp<SlotOp>();
  for (OpOperand &use : (slot ? slot.getRing() : v).getUses())
    if (auto one = dyn_cast<SlotOp>(use.getOwner()))
      llvm::append_range(uses, llvm::make_pointer_range(one->getUses()));
    else
      uses.push_back(&use);
  return uses;
}

bool canSwizzle(Value v) {
  auto isFactor = [&](OpOperand &use) {
    auto mma = dyn_cast<MmaOp>(use.getOwner());
    return mma && mma.getFragment() && mma.getFragment()->getRow() && use.getOperandNumber() < 2;
  };
  if (auto buffer = dyn_cast<BufferType>(v.getType())) {
    auto slot = v.getDefiningOp<SlotOp>();
    SmallVector<OpOperand *> uses = usesOfMemory(v);
    const int64_t rank = buffer.getRank() - (!slot && isRing(v));
    return rank == 2 && llvm::any_of(uses, [&](OpOperand *use) { return isFactor(*use); }) &&
           llvm::all_of(uses, [&](OpOperand *use) {
             Operation *user = use->getOwner();
             if (auto read = dyn_cast<BufferReadOp>(user)) return read.getStarts().empty();
             if (auto write = dyn_cast<BufferWriteOp>(user)) return write.getStarts().empty();
             return isa<CpAsyncOp, CopyBoxOp>(user) || isFactor(*use);
           });
  }
  // What reads its operands contiguously, or gives its result in pieces, stores it row-major.
  Operation *op = v.getDefiningOp();
  return op && isTile(v) && tileType(v).getRank() == 2 && (isElementwise(op) || isa<LoadOp>(op)) &&
         llvm::all_of(v.getUses(), isFactor);
}

static scf::ForOp laneLoop(Operation *op) {
  auto loop = op->getParentOfType<scf::ForOp>();
  while (loop && !loop->hasAttr(kLanes))
    loop = loop->getParentOfType<scf::ForOp>();
  return loop;
}

bool isShared(ReduceOp op, int64_t threads) {
  constexpr int64_t kMostLanes = 8; // of a thread
  const auto [lanes, width, length, n, results] = sharesOf(op, threads);
  return n % lanes == 0 && n <= op.getOrder()->getBlock() && lanes > 1 && results <= threads &&
         length <= kMostLanes;
}

ReduceShares sharesOf(ReduceOp op, int64_t threads) {
  auto type = tileType(op.getInput());
  const int64_t lanes = op.getOrder() ? op.getOrder()->getLanes() : 1, n = type.getDimSize(op.getAxis()),
                results = type.getNumElements() / n,
                most = int64_t(llvm::bit_floor(uint64_t(std::max<int64_t>(threads / results, 1))));
  const int64_t width = std::min(lanes, most);
  return {lanes, width, lanes / width, n, results};
}

bool hasTensorMemory(MmaOp mma) {
  const auto row = mma.getFragment() ? mma.getFragment()->getRow() : std::nullopt;
  return row && row->hasTensorMemory();
}

int64_t exchangeBytes(KernelOp kernel, int64_t threads) {
  int64_t words = 0, ofTensorMemory = 0; // of 8 bytes
  kernel.walk([&](Operation *op) {
    if (isa<GroupReduceOp, ScanOp>(op)) words = std::max(words, threads);
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      const int64_t bytes =
          llvm::divideCeil(getElementTypeOrSelf(reduce.getInput()).getIntOrFloatBitWidth(), 8);
      int64_t ofThread = 0; // results or partial results
      const bool isFixed = reduce.getOrder() && reduce.getOrder()->isFixed();
      // A result of a fixed order that threads do not share is one thread's.
      if (!isInRegisters(reduce.getInput()))
        ofThread = isFixed && !isShared(reduce, threads) ? 0 : sharesOf(reduce, threads).length;
      else if (isAcrossWarps(reduce))
        ofThread = layoutOf(reduce.getResult()).getValue().registers();
      words = std::max(words, threads * int64_t(llvm::divideCeil(ofThread * bytes, 8)));
    }
    if (auto mma = dyn_cast<MmaOp>(op); mma && hasTensorMemory(mma)) ofTensorMemory = kTensorWords;
    if (isa<ArgReduceOp>(op)) words = std::max(words, threads * 3 / 2);
    bool scalar = isa<AtomicOp, AtomicCasOp, LoadElemOp>(op) && !isTile(op->getResult(0));
    if (scalar && !laneLoop(op)) words = std::max<int64_t>(words, 1);
  });
  return llvm::alignTo((words + ofTensorMemory) * 8, /*alignment=*/128);
}

scf::ForOp sumOfLoop(MmaOp mma) {
  auto variable = dyn_cast<BlockArgument>(mma.getAcc());
  auto loop = dyn_cast<scf::ForOp>(mma->getParentOp());
  if (!variable || !loop || variable.getOwner() != loop.getBody()) return {};
  const unsigned i = variable.getArgNumber() - loop.getNumInductionVars();
  const bool isOnlySum = variable.hasOneUse() && mma->hasOneUse() &&
                         loop.getBody()->getTerminator()->getOperand(i) == mma.getResult();
  return isOnlySum && llvm::all_of(mma.getLimits().take_front(mma.getLimits().empty() ? 0 : 2),
                                   [&](Value limit) { return loop.isDefinedOutsideOfLoop(limit); })
             ? loop
             : scf::ForOp();
}

bool isInPanels(Value v) {
  return llvm::any_of(usesOfMemory(v), [&](OpOperand *use) {
    auto mma = dyn_cast<MmaOp>(use->getOwner());
    if (isa<CopyBoxOp>(use->getOwner())) return isa<BufferType>(v.getType()) && canSwizzle(v);
    const auto row = mma && mma.getFragment() ? mma.getFragment()->getRow() : std::nullopt;
    return row && row->readsShared() && use->getOperandNumber() < 2;
  });
}

bool inMemory(Value v) {
  if (!isTile(v) || isInRegisters(v)) return false;
  Operation *op = v.getDefiningOp();
  return alwaysInMemory(v) || op->hasAttr(kMaterialize);
}

} // namespace tessera::tile
