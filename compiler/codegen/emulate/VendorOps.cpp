#include "compiler/codegen/emulate/VendorRewriter.h"

using namespace mlir;

namespace tessera::emulate {
namespace {

int64_t bytesOf(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getNumElements() * vector.getElementTypeBitWidth() / 8;
  return type.getIntOrFloatBitWidth() / 8;
}

} // namespace

bool rewriteVendorOp(ImplicitLocOpBuilder &b, Operation *op, EmitCall call,
                     llvm::function_ref<Value()> site) {
  return VendorRewriter(b, op, call, site).run();
}

bool VendorRewriter::replace(Value value) {
  Type wanted = op_->getResult(0).getType();
  if (value.getType() != wanted) {
    if (wanted.isInteger(1))
      value = LLVM::ICmpOp::create(b_, LLVM::ICmpPredicate::ne, value, constant(0));
    else if (isa<IntegerType>(wanted))
      value = LLVM::ZExtOp::create(b_, wanted, value);
    else
      value = LLVM::BitcastOp::create(b_, wanted, value);
  }
  op_->getResult(0).replaceAllUsesWith(value);
  return erase();
}

Value VendorRewriter::asI32(Value value) {
  return value.getType() == i32() ? value : LLVM::BitcastOp::create(b_, i32(), value).getResult();
}

Value VendorRewriter::plain(Value pointer) {
  auto type = LLVM::LLVMPointerType::get(b_.getContext());
  return pointer.getType() == type ? pointer : LLVM::AddrSpaceCastOp::create(b_, type, pointer).getResult();
}

Value VendorRewriter::stack(int64_t bytes) {
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(&op_->getParentOfType<LLVM::LLVMFuncOp>().getBody().front());
  Value count = LLVM::ConstantOp::create(b_, b_.getI64Type(), bytes);
  return LLVM::AllocaOp::create(b_, LLVM::LLVMPointerType::get(b_.getContext()), b_.getI8Type(), count, 16);
}

Value VendorRewriter::advance(Value place, int64_t bytes) {
  return LLVM::GEPOp::create(b_, place.getType(), b_.getI8Type(), place,
                             ArrayRef<LLVM::GEPArg>{int32_t(bytes)});
}

Value VendorRewriter::spill(ValueRange values) {
  int64_t bytes = 0;
  for (Value v : values)
    bytes += bytesOf(v.getType());
  Value place = stack(bytes);
  int64_t at = 0;
  for (Value v : values) {
    LLVM::StoreOp::create(b_, v, advance(place, at), /*alignment=*/2);
    at += bytesOf(v.getType());
  }
  return place;
}

bool VendorRewriter::reload(Value place) {
  Type type = op_->getResult(0).getType();
  auto all = dyn_cast<LLVM::LLVMStructType>(type);
  Value result;
  if (!all) {
    result = LLVM::LoadOp::create(b_, type, place, /*alignment=*/2);
  } else {
    result = LLVM::UndefOp::create(b_, type);
    int64_t at = 0;
    for (auto [i, element] : llvm::enumerate(all.getBody())) {
      Value v = LLVM::LoadOp::create(b_, element, advance(place, at), /*alignment=*/2);
      result = LLVM::InsertValueOp::create(b_, result, v, int64_t(i));
      at += bytesOf(element);
    }
  }
  op_->getResult(0).replaceAllUsesWith(result);
  return erase();
}

} // namespace tessera::emulate
