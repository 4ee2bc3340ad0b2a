// Shorthand for arithmetic on scalars and vectors of one shape as C++ expressions, and the arithmetic class
// with which the sequences of numerics/functions are emitted. Private to Expand*.cpp.
#pragma once
#include "compiler/tile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include <array>
#include <cstdint>
#include <limits>
#include <span>

namespace tessera::tile {

class MathBuilder {
public:
  /// Every value it creates has the shape of `like` (a scalar or a vector).
  MathBuilder(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value like)
      : b(builder), loc(loc), shape_(mlir::dyn_cast<mlir::VectorType>(like.getType())) {}

  mlir::OpBuilder &b;
  mlir::Location loc;

  using V = mlir::Value;
  static mlir::Type elementOf(V v) { return mlir::getElementTypeOrSelf(v.getType()); }
  mlir::Type like(mlir::Type element) { return shape_ ? shape_.clone(element) : element; }
  bool isF64(V v) const { return elementOf(v).isF64(); }
  /// Returns the integer type that is as wide as x's floats.
  mlir::Type wordOf(V x) { return i(int(elementOf(x).getIntOrFloatBitWidth())); }
  mlir::Type f16() { return like(b.getF16Type()); }
  mlir::Type f32() { return like(b.getF32Type()); }
  mlir::Type f64() { return like(b.getF64Type()); }
  mlir::Type i(int bits) { return like(b.getIntegerType(bits)); }

  /// Returns a constant of the element type of `like`: the double rounded to it, or the integer.
  V fconst(double value, V like) { return constant(b.getFloatAttr(elementOf(like), value)); }
  V iconst(int64_t value, V like) {
    auto type = mlir::cast<mlir::IntegerType>(elementOf(like));
    return constant(mlir::IntegerAttr::get(type, llvm::APInt(type.getWidth(), uint64_t(value), true, true)));
  }
  V constant(mlir::TypedAttr element) {
    if (!shape_) return mlir::arith::ConstantOp::create(b, loc, element);
    auto type = shape_.clone(element.getType());
    return mlir::arith::ConstantOp::create(b, loc, type,
                                           mlir::DenseElementsAttr::get(type, mlir::Attribute(element)));
  }

  // Floats. No operation has fast-math flags: a fused operation is written as fma.
  V add(V x, V y) { return mlir::arith::AddFOp::create(b, loc, x, y); }
  V sub(V x, V y) { return mlir::arith::SubFOp::create(b, loc, x, y); }
  V mul(V x, V y) { return mlir::arith::MulFOp::create(b, loc, x, y); }
  V div(V x, V y) { return mlir::arith::DivFOp::create(b, loc, x, y); }
  V inverse(V x) {
    auto quotient = mlir::arith::DivFOp::create(b, loc, fconst(1, x), x);
    quotient->setAttr(kIsInverse, b.getUnitAttr());
    return quotient;
  }
  // Approximations by the target's instructions (kApproximates).
  V nearExp2(V x) { return mlir::math::Exp2Op::create(b, loc, x, near()); }
  V nearLog2(V x) { return mlir::math::Log2Op::create(b, loc, x, near()); }
  V nearTanh(V x) { return mlir::math::TanhOp::create(b, loc, x, near()); }
  V nearSqrt(V x) { return mlir::math::SqrtOp::create(b, loc, x, near()); }
  V nearRsqrt(V x) { return mlir::math::RsqrtOp::create(b, loc, x, near()); }
  V nearInverse(V x) { return mlir::arith::DivFOp::create(b, loc, fconst(1, x), x, near()); }
  static mlir::arith::FastMathFlags near() { return mlir::arith::FastMathFlags::afn; }

  V neg(V x) { return mlir::arith::NegFOp::create(b, loc, x); }
  V abs(V x) { return mlir::math::AbsFOp::create(b, loc, x); }
  V sqrt(V x) { return mlir::math::SqrtOp::create(b, loc, x); }
  V floor(V x) { return mlir::math::FloorOp::create(b, loc, x); }
  V fma(V x, V y, V z) { return mlir::math::FmaOp::create(b, loc, x, y, z); }
  V add(V x, double y) { return add(x, fconst(y, x)); }
  V sub(V x, double y) { return sub(x, fconst(y, x)); }
  V mul(V x, double y) { return mul(x, fconst(y, x)); }
  V fma(V x, double y, V z) { return fma(x, fconst(y, x), z); }
  V fma(V x, V y, double z) { return fma(x, y, fconst(z, x)); }

  /// c[0] + x * (c[1] + x * (c[2] + ...)) by Horner's rule; at least one coefficient.
  V polynomial(V x, std::span<const double> c) {
    V sum = fconst(c.back(), x);
    for (size_t k = c.size() - 1; k-- > 0;)
      sum = fma(sum, x, c[k]);
    return sum;
  }
  /// Returns `magnitude`, which must not be negative, with the sign of `sign`.
  V copySign(V magnitude, V sign) {
    const int bits = int(elementOf(sign).getIntOrFloatBitWidth());
    V word = bitcast(sign, i(bits));
    V signBit = andi(word, iconst(int64_t(uint64_t(1) << (bits - 1)), word));
    return bitcast(ori(bitcast(magnitude, i(bits)), signBit), magnitude.getType());
  }

  using P = mlir::arith::CmpFPredicate;
  V cmp(P p, V x, V y) { return mlir::arith::CmpFOp::create(b, loc, p, x, y); }
  V cmp(P p, V x, double y) { return cmp(p, x, fconst(y, x)); }
  V isNaN(V x) { return cmp(P::UNO, x, x); }
  V select(V c, V x, V y) { return mlir::arith::SelectOp::create(b, loc, c, x, y); }
  V select(V c, double x, V y) { return select(c, fconst(x, y), y); }
  // Bounds that pass a NaN through; each is one instruction on x86.
  V atMost(V x, double high) { return select(cmp(P::OGT, x, high), high, x); }
  V atLeast(V x, double low) { return select(cmp(P::OLT, x, low), low, x); }

  // Integers.
  using IP = mlir::arith::CmpIPredicate;
  V icmp(IP p, V x, V y) { return mlir::arith::CmpIOp::create(b, loc, p, x, y); }
  V icmp(IP p, V x, int64_t y) { return icmp(p, x, iconst(y, x)); }
  V addi(V x, V y) { return mlir::arith::AddIOp::create(b, loc, x, y); }
  V subi(V x, V y) { return mlir::arith::SubIOp::create(b, loc, x, y); }
  V muli(V x, V y) { return mlir::arith::MulIOp::create(b, loc, x, y); }
  V andi(V x, V y) { return mlir::arith::AndIOp::create(b, loc, x, y); }
  V ori(V x, V y) { return mlir::arith::OrIOp::create(b, loc, x, y); }
  V xori(V x, V y) { return mlir::arith::XOrIOp::create(b, loc, x, y); }
  V addi(V x, int64_t y) { return addi(x, iconst(y, x)); }
  V subi(V x, int64_t y) { return subi(x, iconst(y, x)); }
  V andi(V x, int64_t y) { return andi(x, iconst(y, x)); }
  V ori(V x, int64_t y) { return ori(x, iconst(y, x)); }
  V shl(V x, V n) { return mlir::arith::ShLIOp::create(b, loc, x, n); }
  V shru(V x, V n) { return mlir::arith::ShRUIOp::create(b, loc, x, n); }
  V shl(V x, int64_t n) { return shl(x, iconst(n, x)); }
  V shru(V x, int64_t n) { return shru(x, iconst(n, x)); }
  V shrs(V x, int64_t n) { return mlir::arith::ShRSIOp::create(b, loc, x, iconst(n, x)); }
  V minu(V x, int64_t y) { return mlir::arith::MinUIOp::create(b, loc, x, iconst(y, x)); }
  V selecti(V c, int64_t x, V y) { return select(c, iconst(x, y), y); }

  // Conversions. `type` is the whole type (f32(), i(8), ...).
  V bitcast(V x, mlir::Type type) { return mlir::arith::BitcastOp::create(b, loc, type, x); }
  V extf(V x, mlir::Type type) { return mlir::arith::ExtFOp::create(b, loc, type, x); }
  V truncf(V x, mlir::Type type) { return mlir::arith::TruncFOp::create(b, loc, type, x); }
  V extu(V x, mlir::Type type) {
    return x.getType() == type ? x : V(mlir::arith::ExtUIOp::create(b, loc, type, x));
  }
  V exts(V x, mlir::Type type) {
    return x.getType() == type ? x : V(mlir::arith::ExtSIOp::create(b, loc, type, x));
  }
  V trunci(V x, mlir::Type type) {
    return x.getType() == type ? x : V(mlir::arith::TruncIOp::create(b, loc, type, x));
  }
  V sitofp(V x, mlir::Type type) { return mlir::arith::SIToFPOp::create(b, loc, type, x); }
  V uitofp(V x, mlir::Type type) { return mlir::arith::UIToFPOp::create(b, loc, type, x); }
  V fptoui(V x, mlir::Type type) { return mlir::arith::FPToUIOp::create(b, loc, type, x); }
  V fptosi(V x, mlir::Type type) { return mlir::arith::FPToSIOp::create(b, loc, type, x); }

  /// Returns `otherwise` if no lane of `flags` is set, else the values of `then()`.
  template <size_t N, class Then>
  std::array<V, N> ifAny(V flags, const std::array<V, N> &otherwise, Then then) {
    auto types = llvm::map_to_vector(otherwise, [](V v) { return v.getType(); });
    auto branch = mlir::scf::IfOp::create(b, loc, types, anyOf(flags), /*withElseRegion=*/true);
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    mlir::scf::YieldOp::create(b, loc, then());
    b.setInsertionPointToStart(branch.elseBlock());
    mlir::scf::YieldOp::create(b, loc, otherwise);
    std::array<V, N> out;
    llvm::copy(branch.getResults(), out.begin());
    return out;
  }

private:
  mlir::VectorType shape_;

  /// Returns whether any lane of an i1 value is set, as a scalar.
  V anyOf(V flags) {
    auto type = mlir::dyn_cast<mlir::VectorType>(flags.getType());
    if (!type) return flags;
    if (type.getRank() != 1)
      flags = mlir::vector::ShapeCastOp::create(
          b, loc, mlir::VectorType::get({type.getNumElements()}, type.getElementType()), flags);
    return mlir::vector::ReductionOp::create(b, loc, mlir::vector::CombiningKind::OR, flags);
  }
};

} // namespace tessera::tile
