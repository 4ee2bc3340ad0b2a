// tile-legalize-numerics (normative phase 6): replaces arithmetic on dtypes that the backend has no
// instructions for.
//
// bf16, f16 and the OCP 8-, 6- and 4-bit floats are computed in f32 and rounded after every operation. f32
// has more than twice their precision plus two bits, so +, -, *, / and sqrt are still correctly rounded
// (Figueroa 1995):
//
//   %r = arith.addf %a, %b : tensor<8xbf16>   ->   %x = tile.cast %a from bf16 to f32
//                                                  %y = tile.cast %b from bf16 to f32
//                                                  %s = arith.addf %x, %y : tensor<8xf32>
//                                                  %r = tile.cast %s from f32 to bf16
//
// Operands of products whose dtype the target does not multiply are widened, which is exact: to a dtype that
// it does multiply, or to f32 or i32. If it multiplies pairs of bf16, those of strided products stay as they
// are: the left one is read where it is, the right one becomes words of two rows. The accumulator keeps its
// dtype. Operands in shared memory are loaded. A product by a matrix instruction (tile-assign-layouts) keeps
// its operands, which it reads where they are. Every such change of arithmetic is recorded as a fallback of
// the kernel (decisions D4, D13). Storage and the values of casts never change.
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/Profiles.h"
#include "compiler/tile/IR/TileFunctions.h"
#include "compiler/tile/Transforms/Passes.h"
#include "compiler/tile/Transforms/TileUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "numerics/DType.h"
#include <set>

namespace tessera {
#define GEN_PASS_DEF_TILELEGALIZENUMERICS
#include "compiler/tile/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::tile;

namespace {

/// Returns the language's name of a float element type.
StringRef floatName(Type t) { return name(*dtypeOfMemory(t)); }

Type withElement(Type like, Type element) {
  if (auto tile = dyn_cast<RankedTensorType>(like)) return tile.clone(element);
  return element;
}

bool isLow(Type t) {
  auto f = dyn_cast<FloatType>(getElementTypeOrSelf(t));
  return f && f.getWidth() < 32;
}

class LegalizeNumerics : public impl::TileLegalizeNumericsBase<LegalizeNumerics> {
public:
  using impl::TileLegalizeNumericsBase<LegalizeNumerics>::TileLegalizeNumericsBase;

private:
  std::set<std::string> fallbacks_;
  SmallVector<DType> products_;
  bool mayReduce_ = false; // f32 operands of products to tf32

  LogicalResult initialize(MLIRContext *context) override {
    for (const std::string &product : products) {
      std::optional<DType> dtype = parseDType(product);
      if (!dtype)
        return emitError(UnknownLoc::get(context)) << "tile-legalize-numerics: no dtype '" << product << "'";
      products_.push_back(*dtype);
    }
    return success();
  }

  void runOnOperation() override {
    fallbacks_.clear();
    mayReduce_ = permitsOf(getOperation()).value_or(NumericsPermissions()).reducedMultiply;
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops) {
      if (auto mma = dyn_cast<MmaOp>(op))
        legalizeMma(mma);
      else if (isa<ReduceOp, ScanOp, ArgReduceOp, GroupReduceOp>(op) || isFunction(op) || isArithmetic(op))
        legalize(op);
    }
    for (auto param : getOperation().getParams().getAsRange<ParamAttr>())
      if (param.getDtype() == DType::TF32) fallback("tf32 arithmetic runs in f32");
    addFallbacks(getOperation(), fallbacks_);
  }

  void fallback(const Twine &what) { fallbacks_.insert((backend + ": " + what).str()); }

  static bool isArithmetic(Operation *op) {
    if (isa<arith::ConstantOp, arith::SelectOp, arith::BitcastOp>(op)) return false;
    return isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect());
  }

  Value cast(OpBuilder &b, Location loc, Value v, StringRef from, StringRef to, Type element) {
    return CastOp::create(b, loc, withElement(v.getType(), element), v, from, to);
  }

  Value widen(OpBuilder &b, Location loc, Value v) {
    return cast(b, loc, v, floatName(getElementTypeOrSelf(v.getType())), "f32", b.getF32Type());
  }

  void legalize(Operation *op) {
    Type low;
    for (OpOperand &operand : op->getOpOperands())
      if (isLow(operand.get().getType())) {
        low = getElementTypeOrSelf(operand.get().getType());
        OpBuilder b(op);
        operand.set(widen(b, op->getLoc(), operand.get()));
        if (isa<ScanOp>(op)) // iterates over its operand in memory
          operand.get().getDefiningOp()->setAttr(kMaterialize, b.getUnitAttr());
      }
    if (!low) return;
    fallback(floatName(low) + " arithmetic runs in f32 and rounds after each operation");
    OpBuilder b(op->getContext());
    b.setInsertionPointAfter(op);
    for (OpResult result : op->getResults()) {
      if (!isLow(result.getType())) continue;
      Type element = getElementTypeOrSelf(result.getType());
      result.setType(withElement(result.getType(), b.getF32Type()));
      Value narrow = cast(b, op->getLoc(), result, "f32", floatName(element), element);
      result.replaceAllUsesExcept(narrow, narrow.getDefiningOp());
      // The rounded value is the one that has several users or is read from memory.
      if (op->hasAttr(kMaterialize) || llvm::any_of(narrow.getUses(), needsMemoryOperand)) {
        op->removeAttr(kMaterialize);
        narrow.getDefiningOp()->setAttr(kMaterialize, b.getUnitAttr());
      }
    }
  }

  /// Returns the dtype that the target multiplies operands of `operand` in: the narrowest that has all of its
  /// values.
  DType factorOf(DType operand) const {
    DType best = isFloat(operand) ? DType::F32 : DType::I32;
    if (!holds(best, operand)) return operand; // f64, i64
    for (DType product : products_)
      if (holds(product, operand) && info(product).bits < info(best).bits) best = product;
    return best;
  }

  /// Does the target multiply pairs of its operands? Only sums that begin with zeros are known not to be
  /// subnormal, which the instruction takes for 0.
  bool isPaired(MmaOp mma) const {
    DenseElementsAttr zero;
    return pairsOfBf16 && mma->hasAttr(kStrided) && !mma.getTransB() && isTile(mma.getA()) &&
           isTile(mma.getB()) && getElementTypeOrSelf(mma.getA()).isBF16() &&
           getElementTypeOrSelf(mma.getAcc()).isF32() && tileType(mma.getB()).getDimSize(0) % 2 == 0 &&
           matchPattern(mma.getAcc(), m_Constant(&zero)) && zero.isSplat() &&
           zero.getSplatValue<APFloat>().isPosZero();
  }

  void pairRows(MmaOp mma) {
    Value b = mma.getB();
    OpBuilder builder(mma);
    if (Operation *from = b.getDefiningOp()) {
      builder.setInsertionPointAfter(from);
      // Elements that only the words need are computed where they are joined.
      if (b.hasOneUse() && !alwaysInMemory(b)) from->removeAttr(kMaterialize);
    }
    auto type = tileType(b);
    auto words = RankedTensorType::get({type.getDimSize(0) / 2, type.getDimSize(1)}, builder.getI32Type());
    auto pairs = PairRowsOp::create(builder, mma.getLoc(), words, b);
    pairs->setAttr(kMaterialize, builder.getUnitAttr());
    mma.getBMutable().assign(pairs);
    if (!inMemory(mma.getA())) mma.getA().getDefiningOp()->setAttr(kMaterialize, builder.getUnitAttr());
  }

  void legalizeMma(MmaOp mma) {
    if (isPaired(mma)) return pairRows(mma);
    const bool isInstruction = mma.getFragment() && mma.getFragment()->getRow();
    std::optional<DType> from, to;
    for (OpOperand &operand : mma->getOpOperands().take_front(2)) {
      OpBuilder b(mma);
      Location loc = mma.getLoc();
      Value v = operand.get();
      bool isTurned =
          operand.getOperandNumber() == 0 ? mma.getTransA() && !mma->hasAttr(kStrided) : mma.getTransB();
      auto buffer = dyn_cast<BufferType>(v.getType());
      from = mma.getIsUnsigned() ? DType::U8
                                 : dtypeOfMemory(buffer ? buffer.getElementType() : getElementTypeOrSelf(v));
      to = factorOf(*from);
      if (mayReduce_ && from == DType::F32 && !isInstruction) // those for f32 are of tf32
        fallback("numerics " + profileOf(getOperation()) +
                 " has no effect on products, which are not rounded to tf32");
      if (isInstruction) { // it reads its operands where they are
        if (!buffer && !inMemory(v) && !isInRegisters(v) && !isReadByBlocks(v))
          v.getDefiningOp()->setAttr(kMaterialize, b.getUnitAttr());
        continue;
      }
      if (buffer) {
        Type inValue = buffer.getElementType();
        if (inValue.isUnsignedInteger()) inValue = b.getIntegerType(8);
        v = BufferReadOp::create(b, loc, RankedTensorType::get(buffer.getShape(), inValue), v);
      } else if ((isTurned || from != to) && v.hasOneUse() && v.getDefiningOp() && !alwaysInMemory(v)) {
        // Load, widen and transpose in one loop, at the place of the load.
        v.getDefiningOp()->removeAttr(kMaterialize);
        b.setInsertionPointAfter(v.getDefiningOp());
      }
      if (from != to) v = cast(b, loc, v, name(*from), name(*to), elementTypeInValues(&getContext(), *to));
      if (isTurned) {
        auto t = tileType(v);
        v = TransposeOp::create(
            b, loc, RankedTensorType::get({t.getDimSize(1), t.getDimSize(0)}, t.getElementType()), v);
      }
      if (!inMemory(v)) v.getDefiningOp()->setAttr(kMaterialize, b.getUnitAttr());
      operand.set(v);
    }
    if (isInstruction) return;
    if (!mma->hasAttr(kStrided)) mma.setTransA(false);
    mma.setTransB(false);
    if (from == to) return;
    mma.setIsUnsigned(false);
    fallback(Twine("mma of ") + name(*from) + " multiplies in " + name(*to));
  }
};

} // namespace
} // namespace tessera
