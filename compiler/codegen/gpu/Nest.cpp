// Distributes the elements of tiles over the threads of a block.
#include "compiler/codegen/gpu/Lowering.h"

using namespace mlir;

namespace tessera::gpu {

Value KernelLowering::below(Value i, int64_t end) {
  return arith::CmpIOp::create(b_, arith::CmpIPredicate::ult, i, i32(end));
}

void KernelLowering::guarded(Value condition, llvm::function_ref<void()> body) {
  auto branch = scf::IfOp::create(b_, TypeRange(), condition, false);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(&branch.getThenRegion().front());
  body();
}

void KernelLowering::spread(int64_t count, llvm::function_ref<void(Value)> body) {
  if (count <= 0) return;
  if (count == threads_) return body(thread_);
  if (count < threads_) return guarded(below(thread_, count), [&] { body(thread_); });
  auto loop = scf::ForOp::create(b_, thread_, i32(count), i32(threads_));
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

void KernelLowering::spreadRolled(int64_t count, llvm::function_ref<void(Value)> body) {
  spread(count, body);
  if (count <= threads_) return;
  auto unroll = LLVM::LoopUnrollAttr::get(b_.getContext(), b_.getBoolAttr(true), {}, {}, {}, {}, {}, {});
  // The branches that the loop becomes take over what LLVM's have under this name.
  constexpr llvm::StringLiteral kAnnotation = "loop_annotation";
  auto annotation = LLVM::LoopAnnotationAttr::get(b_.getContext(), {}, {}, {}, unroll, {}, {}, {}, {}, {}, {},
                                                  {}, {}, {}, {}, {});
  std::prev(b_.getInsertionPoint())->setAttr(kAnnotation, annotation);
}

/// Divisions are unsigned, of 32 bits, and by constants.
SmallVector<Value> KernelLowering::delinearize(Value i, ArrayRef<int64_t> shape) {
  Vec<Value> at(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    Value index = d ? arith::RemUIOp::create(b_, i, i32(shape[d])).getResult() : i;
    at[d] = arith::IndexCastUIOp::create(b_, b_.getIndexType(), index);
    if (d) i = arith::DivUIOp::create(b_, i, i32(shape[d]));
  }
  return at;
}

/// The barrier makes writes visible, and lets values that were read be overwritten. Consecutive barriers with
/// nothing in between fold.
void KernelLowering::nest(ArrayRef<int64_t> shape, int64_t, NestBody body, Indices) {
  spread(ShapedType::getNumElements(shape), [&](Value i) { body(delinearize(i, shape), 0); });
  lowerBarrier();
}

Value KernelLowering::exchange(Type type, Value word, int64_t from) {
  Value base = from ? address(exchange_, constant(from), b_.getI8Type()) : exchange_;
  return address(base, arith::IndexCastUIOp::create(b_, b_.getIndexType(), word), type);
}

} // namespace tessera::gpu
