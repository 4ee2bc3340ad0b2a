#include "compiler/codegen/emulate/Arithmetic.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace tessera::emulate {

namespace {

/// Returns the type `element` with the shape of v's.
Type like(Value v, Type element) {
  auto vector = dyn_cast<VectorType>(v.getType());
  return vector ? Type(vector.clone(element)) : element;
}

Value constant(ImplicitLocOpBuilder &b, Type type, TypedAttr element) {
  auto vector = dyn_cast<VectorType>(type);
  Attribute value =
      vector ? Attribute(DenseElementsAttr::get(vector, Attribute(element))) : Attribute(element);
  return LLVM::ConstantOp::create(b, type, value);
}

} // namespace

Value roundToBf16(ImplicitLocOpBuilder &b, Value f32) {
  Type words = like(f32, b.getI32Type());
  auto word = [&](int32_t v) { return constant(b, words, b.getI32IntegerAttr(v)); };
  Value bits = LLVM::BitcastOp::create(b, words, f32);
  Value high = LLVM::LShrOp::create(b, bits, word(16));
  Value bias = LLVM::AddOp::create(b, LLVM::AndOp::create(b, high, word(1)), word(0x7fff));
  Value rounded = LLVM::LShrOp::create(b, LLVM::AddOp::create(b, bits, bias), word(16));
  Value quiet = LLVM::OrOp::create(b, high, word(0x40));
  Value isNaN = LLVM::FCmpOp::create(b, like(f32, b.getI1Type()), LLVM::FCmpPredicate::uno, f32, f32);
  Value result = LLVM::SelectOp::create(b, isNaN, quiet, rounded);
  result = LLVM::TruncOp::create(b, like(f32, b.getI16Type()), result);
  return LLVM::BitcastOp::create(b, like(f32, b.getBF16Type()), result);
}

Value nearInverse(ImplicitLocOpBuilder &b, Value x) {
  Type f32 = b.getF32Type(), word = b.getI32Type();
  Value one = constant(b, f32, b.getF32FloatAttr(1));
  Value right = LLVM::FDivOp::create(b, one, x);
  Value flipped = LLVM::XOrOp::create(b, LLVM::BitcastOp::create(b, word, right),
                                      constant(b, word, b.getI32IntegerAttr(1)));
  Value wrong = LLVM::BitcastOp::create(b, f32, flipped);
  Value missing = LLVM::FMAOp::create(b, LLVM::FNegOp::create(b, x), wrong, one);
  Value corrected = LLVM::FMAOp::create(b, missing, wrong, wrong);
  Value isCorrected = LLVM::FCmpOp::create(b, LLVM::FCmpPredicate::oeq, corrected, right);
  return LLVM::SelectOp::create(b, isCorrected, wrong, right);
}

} // namespace tessera::emulate
