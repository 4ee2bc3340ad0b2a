// Products by instructions that a group of warps executes together, with operands in shared memory and sums
// in registers. They run beside other work until they are awaited. What products with sums in tensor memory
// (TensorProducts.cpp) have in common with them is here, too.
#include "compiler/codegen/gpu/SharedOperand.h"
#include "compiler/layout/Products.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/Transforms/TileUtils.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tessera::gpu {

FailureOr<KernelLowering::SharedFactors> KernelLowering::sharedFactors(tile::MmaOp op,
                                                                       const layout::Fragment &f) {
  auto operand = [&](Value v) { return isa<tile::BufferType>(v.getType()) ? bufferPlace(v) : place(v); };
  const bool isHeld = tile::isInRegisters(op.getA());
  Place a = isHeld ? Place() : operand(op.getA()), b = operand(op.getB());
  auto isShared = [](const Place &p) {
    return cast<LLVM::LLVMPointerType>(p.data.getType()).getAddressSpace() == kSharedSpace;
  };
  DType dtype = op.getIsUnsigned() ? DType::U8 : *dtypeOfMemory(b.element);
  if (dtype == DType::F32) dtype = DType::TF32; // whose bits the instruction reads
  if ((!isHeld && !isShared(a)) || !isShared(b)) {
    op.emitOpError() << "of " << name(dtype) << " by " << f.name << " has operands that do not fit in the "
                     << target_.maxShared << " bytes of shared memory of " << backend_ << ":" << target_.name
                     << " with the other tiles of the program; take smaller tiles, for instance of 32 rows, "
                        "which another instruction multiplies (TSR_UNIMPLEMENTED)";
    return failure();
  }
  if (!productRow(f, dtype)) {
    op.emitOpError() << "of " << name(dtype) << " by " << f.name << " is not implemented on " << backend_
                     << ":" << target_.name << " (TSR_UNIMPLEMENTED)";
    return failure();
  }
  if (!isOnThreads(sumsOf(op)) || (!isHeld && !a.panel) || !b.panel) return notImplemented(op);
  return SharedFactors{std::move(a), std::move(b), dtype};
}

const layout::TileLayout &KernelLowering::sumsOf(tile::MmaOp op) {
  return cast<tile::LayoutAttr>(tile::tileType(op.getResult()).getEncoding()).getValue();
}

Value KernelLowering::warpNumber() {
  return vendor_.emitUniform(
      b_, arith::ShRUIOp::create(b_, thread_, i32(llvm::Log2_64(uint64_t(target_.warpSize)))));
}

/// Bits of the warp's number above those of the instruction's own warps.
Value KernelLowering::firstOfGroup(const layout::TileLayout &sums, const layout::Fragment &f, Value warp,
                                   size_t axis) {
  Value sum = i32(0);
  for (size_t i = llvm::Log2_64(uint64_t(f.warps())); i < sums.warp.size(); ++i) {
    Value bit = arith::AndIOp::create(b_, arith::ShRUIOp::create(b_, warp, i32(int64_t(i))), i32(1));
    Value part = b_.createOrFold<arith::MulIOp>(bit, i32(sums.unit.onAxis(sums.warp[i], axis)));
    sum = b_.createOrFold<arith::AddIOp>(sum, part);
  }
  return sum;
}

/// So many products are added in the instruction's precision where that is less than the sums'.
static constexpr int64_t kPromotedDepth = 128;

void KernelLowering::forEachSum(const StartedProduct &product,
                                llvm::function_ref<void(int64_t, Value)> visit) {
  for (const auto &[numbers, sum] : product.sums)
    for (auto [position, number] : llvm::enumerate(numbers))
      visit(number, LLVM::ExtractValueOp::create(b_, sum, int64_t(position)));
}

LogicalResult KernelLowering::lowerWarpgroupProduct(tile::MmaOp op, const layout::Fragment &f) {
  auto factors = sharedFactors(op, f);
  if (failed(factors)) return failure();
  const auto &[a, b, dtype] = *factors;
  const layout::WarpGrid grid = op.getFragment()->getWarpGrid();
  auto type = tile::tileType(op.getResult());
  const layout::TileLayout &sums = sumsOf(op);
  const int64_t depth = b.shape[op.getTransB() ? 1 : 0];
  Value warp = warpNumber();
  auto ofGroup = [&](size_t axis) -> Value {
    return b_.createOrFold<arith::IndexCastUIOp>(b_.getIndexType(), firstOfGroup(sums, f, warp, axis));
  };
  std::optional<SharedOperand> left; // none: A is in registers
  if (!tile::isInRegisters(op.getA())) left.emplace(*this, f, a, !op.getTransA(), ofGroup(0));
  SharedOperand right(*this, f, b, op.getTransB(), ofGroup(1));

  // The registers of each instruction, by the places of their elements.
  const int64_t rows = f.m * (grid.m / f.warps()), columns = f.n * grid.n;
  const int64_t down = type.getDimSize(0) / rows, across = type.getDimSize(1) / columns;
  const layout::RegisterNumbers registers(sums);
  const layout::TileLayout one = f.layout(layout::Operand::C);
  auto registersOf = [&](int64_t i, int64_t j) {
    Vec<int64_t> numbers;
    for (int64_t r = 0; r < one.registers(); ++r) {
      std::vector<int64_t> at = one.at(r, 0, 0);
      at[0] += i * rows, at[1] += j * columns;
      numbers.push_back(registers.at(at));
    }
    return numbers;
  };

  Vec<Value> before = elementsOf(op.getAcc());
  auto structType = LLVM::LLVMStructType::getLiteral(
      b_.getContext(), Vec<Type>(size_t(one.registers()), target::registerElement(type.getElementType())));
  // Starts the products of the elements [from, to) along k.
  auto start = [&](int64_t from, int64_t to, bool adds) {
    StartedProduct started{op, before, {}};
    vendor_.emitProductFence(b_);
    for (int64_t i = 0; i < down; ++i)
      for (int64_t j = 0; j < across; ++j) {
        Vec<int64_t> numbers = registersOf(i, j);
        Value sum = LLVM::UndefOp::create(b_, structType);
        for (auto [position, number] : llvm::enumerate(numbers))
          if (adds) sum = LLVM::InsertValueOp::create(b_, sum, before[size_t(number)], int64_t(position));
        for (int64_t k = from; k < to; k += f.k) {
          const bool addsTo = adds || k > from;
          const Vendor::SharedMatrix factor = right.at(j * columns, k);
          sum = left ? vendor_.emitSharedProduct(b_, f, dtype, left->at(i * rows, k), factor, sum, addsTo)
                     : vendor_.emitHeldProduct(b_, f, dtype, heldFactor(op.getA(), f, i * rows, k), factor,
                                               sum, addsTo);
        }
        started.sums.emplace_back(numbers, sum);
      }
    vendor_.emitProductCommit(b_);
    return started;
  };
  if (needsPromotion(*productRow(f, dtype))) {
    Vec<Value> after = before;
    for (int64_t k = 0; k < depth; k += kPromotedDepth) {
      const StartedProduct started = start(k, std::min(depth, k + kPromotedDepth), /*adds=*/false);
      vendor_.emitProductWait(b_, 0);
      forEachSum(started, [&](int64_t number, Value sum) {
        after[size_t(number)] = arith::AddFOp::create(b_, after[size_t(number)], sum);
      });
    }
    mostSums_ = std::max(mostSums_, 2 * sums.registers());
    endProduct(op, before, after);
    return success();
  }
  started_ = start(0, depth, /*adds=*/true);
  if (!op.getInFlight()) return success();
  if (!tile::sumOfLoop(op)) return op.emitOpError() << "is in flight, but its sum is used in the loop";
  awaitProduct(1); // the one of the step before
  return success();
}

/// Copies into buffers of a ring that the product does not read, and scalars, are computed beside it.
static bool runsBesideProducts(Operation *op) {
  if (isa<tile::CommitGroupOp, tile::SlotOp, tile::PassTurnOp, scf::YieldOp>(op)) return true;
  if (auto copy = dyn_cast<tile::CpAsyncOp>(op))
    return copy.getBuffer().getDefiningOp<tile::SlotOp>() != nullptr;
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return branch->getNumResults() == 0 && !branch
                                                .walk([](Operation *inner) {
                                                  return isa<scf::IfOp>(inner) || runsBesideProducts(inner)
                                                             ? WalkResult::advance()
                                                             : WalkResult::interrupt();
                                                })
                                                .wasInterrupted();
  auto isTile = [](Value v) { return tile::isTile(v); };
  return isMemoryEffectFree(op) && op->getNumRegions() == 0 && llvm::none_of(op->getResults(), isTile) &&
         llvm::none_of(op->getOperands(), isTile);
}

void KernelLowering::awaitUnlessBeside(Operation *op) {
  if (!started_ || op->getBlock() != started_->op->getBlock() ||
      (runsBesideProducts(op) && !op->hasTrait<OpTrait::IsTerminator>()))
    return;
  awaitProduct();
}

void KernelLowering::awaitProduct(int64_t pending) {
  StartedProduct product = std::move(*started_);
  started_.reset();
  if (tile::hasTensorMemory(product.op)) return awaitTensorProduct(product.op, pending);
  Vec<Value> after = product.before;
  vendor_.emitProductWait(b_, pending);
  forEachSum(product, [&](int64_t number, Value sum) { after[size_t(number)] = sum; });
  endProduct(product.op, product.before, after);
}

} // namespace tessera::gpu
