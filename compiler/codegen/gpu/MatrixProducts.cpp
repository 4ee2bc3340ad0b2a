// Products by matrix instructions: each warp computes its rows and columns, with the sums in registers and
// the operands in memory.
//
// A step of k loads the warp's part of A, then of B one instruction's columns at a time. From shared memory a
// vendor may load whole matrices; otherwise each lane loads its own elements.
#include "compiler/codegen/gpu/BlockLoader.h"
#include "compiler/codegen/gpu/OperandLoader.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/Profiles.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <functional>

using namespace mlir;

namespace tessera::gpu {

/// A buffer of a ring is written after the next step's barrier. What is defined before a loop keeps its
/// memory until the end of the loop.
bool KernelLowering::isOverwritten(Value factor, tile::MmaOp mma) {
  if (factor.getDefiningOp<tile::SlotOp>() || tile::isReadByBlocks(factor)) return false;
  auto loop = dyn_cast<scf::ForOp>(mma->getParentOp());
  if (!loop || !loop.isDefinedOutsideOfLoop(factor)) return true;
  auto isWriter = [&](Operation *user) {
    return isa<tile::CpAsyncOp, tile::BufferWriteOp, tile::ScatterOp>(user) && loop->isAncestor(user);
  };
  if (llvm::any_of(factor.getUsers(), isWriter)) return true;
  owesBarrier_ = true;
  return false;
}

/// The elements of one instruction of A that is in registers, whose first one is at `row` and `column` of the
/// first thread's part.
Value KernelLowering::heldFactor(Value tile, const layout::Fragment &f, int64_t row, int64_t column) {
  const layout::RegisterNumbers numbers(
      cast<tile::LayoutAttr>(tile::tileType(tile).getEncoding()).getValue());
  const layout::TileLayout own = f.layout(layout::Operand::A);
  Vec<Value> elements;
  for (int64_t r = 0; r < own.registers(); ++r) {
    std::vector<int64_t> at = own.at(r, 0, 0);
    at[0] += row, at[1] += column;
    elements.push_back(elementOf(tile, numbers.at(at)));
  }
  auto type = VectorType::get({own.registers()}, elements.front().getType());
  return vector::FromElementsOp::create(b_, type, elements);
}

/// Zeros past an operand's end times infinities would be NaNs, so the elements there keep the accumulator's
/// value.
SmallVector<Value> KernelLowering::keepPastLimits(tile::MmaOp op, const layout::TileLayout &sums,
                                                  ValueRange before, ValueRange after) {
  auto type = tile::tileType(op.getResult());
  Value isWhole;
  for (auto [d, extent] : llvm::enumerate(type.getShape()))
    isWhole = both(isWhole, arith::CmpIOp::create(b_, arith::CmpIPredicate::sge, scalar(op.getLimits()[d]),
                                                  constant(extent)));
  return eachRegister(sums, type.getElementType(), isWhole, [&](Indices at, Mode mode) -> Value {
    if (mode.inside) return after[register_];
    Value inRow = arith::CmpIOp::create(b_, arith::CmpIPredicate::slt, at[0], scalar(op.getLimits()[0]));
    Value inColumn = arith::CmpIOp::create(b_, arith::CmpIPredicate::slt, at[1], scalar(op.getLimits()[1]));
    return arith::SelectOp::create(b_, arith::AndIOp::create(b_, inRow, inColumn), after[register_],
                                   before[register_]);
  });
}

void KernelLowering::boundSums(scf::ForOp loop) {
  llvm::erase_if(boundedSums_, [&](tile::MmaOp mma) {
    if (mma->getParentOp() != loop) return false;
    const unsigned i = cast<BlockArgument>(mma.getAcc()).getArgNumber() - loop.getNumInductionVars();
    Value result = loop.getResult(i);
    const auto &sums = cast<tile::LayoutAttr>(tile::tileType(result).getEncoding()).getValue();
    bindElements(result, keepPastLimits(mma, sums, elementsOf(loop.getInitArgs()[i]), elementsOf(result)));
    return true;
  });
}

const MatrixProduct *KernelLowering::productRow(const layout::Fragment &f, DType dtype) const {
  const auto *row = llvm::find_if(target_.products, [&](const MatrixProduct &product) {
    return product.instruction == f.executed() && hasWord(product.dtypes, name(dtype));
  });
  return row == target_.products.end() ? nullptr : &*row;
}

bool KernelLowering::needsPromotion(const MatrixProduct &row) const {
  return row.addsShort && !permitsOf(kernel_).value_or(NumericsPermissions()).reducedMultiply;
}

LogicalResult KernelLowering::lowerProduct(tile::MmaOp op, const layout::Fragment &f) {
  const bool isHeld = tile::isInRegisters(op.getA()); // A
  auto ofB = dyn_cast<tile::BufferType>(op.getB().getType());
  DType dtype = op.getIsUnsigned() ? DType::U8
                                   : *dtypeOfMemory(ofB ? loadedElementType(ofB.getElementType())
                                                        : tile::tileType(op.getB()).getElementType());
  if (dtype == DType::F32) dtype = DType::TF32; // to which the instruction's operands are rounded
  const MatrixProduct *own = productRow(f, dtype);
  std::string known;
  for (const MatrixProduct &row : target_.products)
    if (!row.instruction.empty())
      known += llvm::formatv("{0}{1} of {2}", known.empty() ? "" : ", ", row.instruction, row.dtypes);
  if (!own)
    return op.emitOpError() << "of " << name(dtype) << " by " << f.executed() << " is not implemented on "
                            << backend_ << ":" << target_.name << ", which has "
                            << (known.empty() ? "no matrix instructions" : known) << " (TSR_UNIMPLEMENTED)";
  const layout::WarpGrid grid = op.getFragment()->getWarpGrid();
  auto type = tile::tileType(op.getResult());
  const layout::TileLayout &sums = cast<tile::LayoutAttr>(type.getEncoding()).getValue();
  if (!isOnThreads(sums) || tile::isInRegisters(op.getB())) return notImplemented(op);
  // Loads the parts of a factor, by row and column in the operand, that instructions take.
  using Loader = std::function<Vec<Value>(Value row, Value column)>;
  auto loaderOf = [&](Value v, bool isTransposed, layout::Operand which) -> Loader {
    if (tile::isReadByBlocks(v))
      return BlockLoader(*this, v.getDefiningOp<tile::LoadOp>(), isTransposed, f, which);
    return OperandLoader(*this, isa<tile::BufferType>(v.getType()) ? bufferPlace(v) : place(v), isTransposed,
                         f, which);
  };
  Loader left;
  if (!isHeld) left = loaderOf(op.getA(), op.getTransA(), layout::Operand::A);
  const Loader right = loaderOf(op.getB(), op.getTransB(), layout::Operand::B);
  const ArrayRef<int64_t> shapeOfB = ofB ? ofB.getShape() : tile::tileType(op.getB()).getShape();
  const int64_t depth = shapeOfB[op.getTransB() ? 1 : 0];
  const layout::ProductPlan plan(f, grid, {type.getDimSize(0), type.getDimSize(1), depth});
  auto ofWarp = [&](const std::vector<int64_t> &images) { // the warp's bits are above the lane's
    Vec<int64_t> ofThread(llvm::Log2_64(target_.warpSize), 0);
    llvm::append_range(ofThread, images);
    return threadPart(ofThread);
  };
  Value firstRow = ofWarp(plan.rowOfWarp), firstColumn = ofWarp(plan.columnOfWarp);
  auto plus = [&](Value x, int64_t d) {
    return d ? arith::AddIOp::create(b_, x, constant(d)).getResult() : x;
  };

  const bool isPromoted = needsPromotion(*own);
  const layout::Fragment executed = f.isPermuted() ? *layout::findFragment(f.executed()) : f;
  auto multiplyOnce = [&](Value x, Value y, ValueRange c) {
    if (!isPromoted) return vendor_.emitProduct(b_, executed, dtype, x, y, c);
    Vec<Value> all =
        vendor_.emitProduct(b_, executed, dtype, x, y, Vec<Value>(c.size(), zeroOf(c[0].getType())));
    for (auto [product, sum] : llvm::zip(all, c))
      product = arith::AddFOp::create(b_, sum, product);
    return all;
  };
  // A form of an instruction multiplies interleaved rows and columns one after the other.
  auto multiply = [&](Indices x, Indices y, MutableArrayRef<Value> c) {
    for (auto [i, left] : llvm::enumerate(x))
      for (auto [j, right] : llvm::enumerate(y)) {
        const std::vector<int64_t> registers = f.registersOf(layout::Operand::C, int64_t(i), int64_t(j));
        Vec<Value> sums;
        for (int64_t r : registers)
          sums.push_back(c[r]);
        sums = multiplyOnce(left, right, sums);
        for (auto [r, sum] : llvm::zip(registers, sums))
          c[r] = sum;
      }
  };
  const int64_t sumsOfOne = f.layout(layout::Operand::C).registers();
  Vec<Value> before = elementsOf(op.getAcc());
  auto step = [&](Value k, ValueRange carried, llvm::function_ref<Vec<Value>(int64_t row)> leftOf) {
    Vec<Value> next(carried);
    Vec<Vec<Value>> lefts;
    for (int64_t i = 0; i < plan.down; ++i)
      lefts.push_back(leftOf(i * plan.rows));
    for (int64_t j = 0; j < plan.across; ++j) {
      const Vec<Value> r = right(k, plus(firstColumn, j * plan.columns));
      for (int64_t i = 0; i < plan.down; ++i)
        multiply(lefts[i], r, MutableArrayRef(next).slice(plan.firstRegister(i, j), sumsOfOne));
    }
    return next;
  };
  // While one warp multiplies, others that load and wait do not delay it.
  if (target_.raisesPriority) vendor_.emitPriority(b_, true);
  Vec<Value> after;
  if (isHeld) {
    after = before;
    for (int64_t k = 0; k < depth; k += f.k)
      after =
          step(constant(k), after, [&](int64_t row) { return Vec<Value>{heldFactor(op.getA(), f, row, k)}; });
  } else {
    auto loop = scf::ForOp::create(b_, constant(0), constant(depth), constant(f.k), before);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    Value k = loop.getInductionVar();
    scf::YieldOp::create(
        b_, step(k, loop.getRegionIterArgs(), [&](int64_t row) { return left(plus(firstRow, row), k); }));
    after = Vec<Value>(loop.getResults());
  }
  if (target_.raisesPriority) vendor_.emitPriority(b_, false);
  endProduct(op, before, after);
  return success();
}

/// In a loop that only adds to the sums, rows and columns past the limits may become anything: once, after
/// the loop, they get what they were before it.
void KernelLowering::endProduct(tile::MmaOp op, ValueRange before, Vec<Value> after) {
  const auto sums = cast<tile::LayoutAttr>(tile::tileType(op.getResult()).getEncoding());
  ++products_;
  mostSums_ = std::max(mostSums_, sums.getValue().registers());
  if (!op.getLimits().empty() && tile::sumOfLoop(op))
    boundedSums_.push_back(op);
  else if (!op.getLimits().empty())
    after = keepPastLimits(op, sums.getValue(), before, after);
  bindElements(op.getResult(), after);
  const bool overwritesA = !tile::isInRegisters(op.getA()) && isOverwritten(op.getA(), op),
             overwritesB = isOverwritten(op.getB(), op);
  if (overwritesA || overwritesB) lowerBarrier();
}

} // namespace tessera::gpu
