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

/// x, or a zero of its sign if it is subnormal.
static Value flushed(ImplicitLocOpBuilder &b, Value x) {
  Type word = b.getI32Type();
  Value bits = LLVM::BitcastOp::create(b, word, x);
  auto masked = [&](uint32_t mask) -> Value {
    return LLVM::AndOp::create(b, bits, constant(b, word, b.getI32IntegerAttr(int32_t(mask))));
  };
  Value isSmall = LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::eq, masked(0x7f800000),
                                       constant(b, word, b.getI32IntegerAttr(0)));
  return LLVM::BitcastOp::create(b, b.getF32Type(),
                                 LLVM::SelectOp::create(b, isSmall, masked(0x80000000), bits));
}

Value nearInverse(ImplicitLocOpBuilder &b, Value operand) {
  // With the rounding at most 5 / 3 of it, so that x times the inverse is within 4 ulp of the quotient.
  constexpr float kError = 1.25f * 0x1p-23f;
  Type f32 = b.getF32Type(), word = b.getI32Type();
  auto number = [&](float v) { return constant(b, f32, b.getF32FloatAttr(v)); };
  Value one = number(1), x = flushed(b, operand);
  Value right = LLVM::FDivOp::create(b, one, x);
  Value ones = LLVM::CtPopOp::create(b, word, LLVM::BitcastOp::create(b, word, x));
  Value isOdd = LLVM::TruncOp::create(b, b.getI1Type(), ones);
  Value error = LLVM::SelectOp::create(b, isOdd, number(kError), number(-kError));
  Value wrong = LLVM::FMAOp::create(b, right, error, right);
  Value missing = LLVM::FMAOp::create(b, LLVM::FNegOp::create(b, x), wrong, one);
  Value corrected = LLVM::FMAOp::create(b, missing, wrong, wrong);
  Value isCorrected = LLVM::FCmpOp::create(b, LLVM::FCmpPredicate::oeq, corrected, right);
  return flushed(b, LLVM::SelectOp::create(b, isCorrected, wrong, right));
}

Value extremeOf(ImplicitLocOpBuilder &b, bool isMax, Value x, Value y) {
  constexpr uint32_t kCanonicalNaN = 0x7fffffff; // PTX ISA, floating-point NaN payloads
  Type type = x.getType();
  Value extreme = isMax ? LLVM::MaximumOp::create(b, type, x, y).getResult()
                        : LLVM::MinimumOp::create(b, type, x, y).getResult();
  Value isNaN = LLVM::FCmpOp::create(b, like(x, b.getI1Type()), LLVM::FCmpPredicate::uno, x, y);
  APFloat none(APFloat::IEEEsingle(), APInt(32, kCanonicalNaN));
  return LLVM::SelectOp::create(b, isNaN, constant(b, type, b.getFloatAttr(b.getF32Type(), none)), extreme);
}

} // namespace tessera::emulate
