// Stores that leave the caches alone.
//
// An ordinary store reads the line that it overwrites, and the line replaces another one in the caches. A
// result larger than a core's part of the last-level cache is in memory before anything reads it, so whole
// vectors of it are stored by instructions that write to memory only: a third less traffic for a copy
// (docs/decisions/0146). Such stores are not ordered by what tells another thread that a launch is done; a
// fence at the end of the function orders them.
#include "compiler/tile/IR/DTypes.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "plugins/cpu/codegen/Lowering.h"

using namespace mlir;

namespace tessera::cpu {
namespace {

/// Narrower vectors would need more than two stores for a line.
constexpr int64_t kLeastBytes = 32;
/// Vectors of half a line leave part of a line to an ordinary store at each end of a row, unless rows are
/// whole lines. The line is then written and read again, which only long rows outweigh (docs/decisions/0187).
constexpr int64_t kLeastRowBytes = 4096;

/// May another thread learn before the end of the function that an element was stored?
bool publishes(tile::KernelOp kernel) {
  return kernel
      .walk([](Operation *op) {
        return isa<tile::AtomicOp, tile::AtomicCasOp, tile::FenceOp>(op) ? WalkResult::interrupt()
                                                                         : WalkResult::advance();
      })
      .wasInterrupted();
}

} // namespace

void KernelLowering::beginNonTemporal() {
  // The epilogue of a product is called for each block of results, and a fence waits for memory.
  if (tile::Product::of(kernel_) || publishes(kernel_)) return;
  for (BlockArgument arg : kernel_.getBody().getArguments()) {
    auto type = dyn_cast<tile::ViewType>(arg.getType());
    if (!type || type.getElementType().isInteger(1) || tessera::isPacked(type.getElementType())) continue;
    auto param = cast<tile::ParamAttr>(kernel_.getParams()[arg.getArgNumber()]);
    // What the kernel reads again, as a softmax its exponentials, has to stay in a near cache.
    if (param.getAccess() != tile::Access::Write ||
        !llvm::all_of(arg.getUsers(), [](Operation *user) { return isa<tile::StoreOp, tile::DimOp>(user); }))
      continue;
    const View &view = views_[arg];
    Value bytes = constant(tessera::storageBytes(type.getElementType()));
    for (Value size : view.sizes)
      bytes = b_.createOrFold<arith::MulIOp>(bytes, size);
    auto known = getConstantIntValue(bytes);
    if (known && *known < kNonTemporalBytes) continue;
    Value isLarge =
        b_.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::uge, bytes, constant(kNonTemporalBytes));
    if (vectorBytes_ < kLineBytes) {
      Value wholeLines = hasWholeLines(view);
      if (isConstantIntValue(wholeLines, 0)) continue;
      isLarge = b_.createOrFold<arith::AndIOp>(isLarge, wholeLines);
    }
    nonTemporal_[view.data] = isLarge;
  }
}

/// i1: are rows whole cache lines, or so long that their ends do not matter?
Value KernelLowering::hasWholeLines(const View &view) {
  Value row =
      b_.createOrFold<arith::MulIOp>(view.sizes.back(), constant(tessera::storageBytes(view.element)));
  Value rest = b_.createOrFold<arith::RemUIOp>(row, constant(kLineBytes));
  return b_.createOrFold<arith::OrIOp>(
      b_.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::uge, row, constant(kLeastRowBytes)),
      b_.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, rest, constant(0)));
}

void KernelLowering::storeWhole(const View &view, Value v, Value to) {
  auto type = cast<VectorType>(v.getType());
  const int64_t bytes = type.getDimSize(0) * type.getElementTypeBitWidth() / 8;
  auto found = nonTemporal_.find(view.data);
  if (found == nonTemporal_.end() || bytes < kLeastBytes) return TileLowering::storeWhole(view, v, to);
  // One test for the size of the result and the alignment of the vector: no address is a multiple of 2^64.
  const int64_t align = std::min(bytes, kLineBytes);
  Type i64 = b_.getI64Type();
  auto number = [&](int64_t n) { return arith::ConstantOp::create(b_, b_.getI64IntegerAttr(n)); };
  Value bits = b_.createOrFold<arith::SelectOp>(found->second, number(align - 1), number(-1));
  Value at = LLVM::PtrToIntOp::create(b_, i64, to);
  Value isWhole =
      arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, arith::AndIOp::create(b_, at, bits), number(0));
  auto choice = scf::IfOp::create(b_, TypeRange(), isWhole, true);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(&choice.getThenRegion().front());
  LLVM::StoreOp::create(b_, v, to, static_cast<unsigned>(align), /*isVolatile=*/false,
                        /*isNonTemporal=*/true);
  storesNonTemporal_ = true;
  b_.setInsertionPointToStart(&choice.getElseRegion().front());
  TileLowering::storeWhole(view, v, to);
}

/// i1: a result is stored past the caches. There is one that may be.
Value KernelLowering::anyNonTemporal() {
  Value any;
  for (auto [data, isLarge] : nonTemporal_)
    any = any ? arith::OrIOp::create(b_, any, isLarge).getResult() : isLarge;
  return any;
}

void KernelLowering::endNonTemporal() {
  if (!storesNonTemporal_) return;
  auto branch = scf::IfOp::create(b_, TypeRange(), anyNonTemporal(), false);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(&branch.getThenRegion().front());
  LLVM::FenceOp::create(b_, LLVM::AtomicOrdering::seq_cst, "");
}

} // namespace tessera::cpu
