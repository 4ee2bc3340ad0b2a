// cpu-expand-minmax: minima and maxima of whole AVX-512 vectors in three instructions.
//
//   %r = arith.maximumf %x, %y : vector<16xf32>    %m = vrangeps %x, %y, 5
//                                              ->  %n = arith.cmpf uno, %x, %y
//                                                  %r = arith.select %n, NaN, %m
//
// vrange orders -0 before +0, as the language does, but ignores a NaN beside a number. The generic expansion
// (`tile-expand-minmax`), which runs next, takes six instructions; it is as good where an operand is a
// constant. Must run before that pass, and for x86 only.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "plugins/cpu/codegen/Passes.h"

using namespace mlir;

namespace tessera::cpu {
#define GEN_PASS_DEF_CPUEXPANDMINMAX
#include "plugins/cpu/codegen/Passes.h.inc"

namespace {

/// vrange: bit 0 is the maximum; bits 2 and 3 are 1, the sign of the result is that of the comparison.
constexpr int32_t kMinimum = 4, kMaximum = 5;
/// Use the rounding mode of MXCSR, that is, do not suppress exceptions.
constexpr int32_t kCurrentMode = 4;

struct ExpandMinMax : impl::CpuExpandMinMaxBase<ExpandMinMax> {
  void runOnOperation() final {
    getOperation()->walk([](Operation *op) {
      if (isa<arith::MinimumFOp, arith::MaximumFOp>(op)) expand(op);
    });
  }

  static void expand(Operation *op) {
    auto type = dyn_cast<VectorType>(op->getResult(0).getType());
    if (!type || type.getRank() != 1 || type.isScalable()) return;
    const int64_t lanes = type.getDimSize(0);
    const bool isSingle = type.getElementType().isF32() && lanes == 16;
    if (!isSingle && !(type.getElementType().isF64() && lanes == 8)) return;
    Value x = op->getOperand(0), y = op->getOperand(1);
    if (matchPattern(x, m_Constant()) || matchPattern(y, m_Constant())) return;
    OpBuilder b(op);
    Location loc = op->getLoc();
    auto number = [&](Type of, int64_t value) -> Value {
      return LLVM::ConstantOp::create(b, loc, of, b.getIntegerAttr(of, value));
    };
    Value control = number(b.getI32Type(), isa<arith::MaximumFOp>(op) ? kMaximum : kMinimum);
    Value all = number(b.getIntegerType(static_cast<unsigned>(lanes)), -1);
    Value values[] = {x, y, control, x, all, number(b.getI32Type(), kCurrentMode)};
    auto name =
        b.getStringAttr(isSingle ? "llvm.x86.avx512.mask.range.ps.512" : "llvm.x86.avx512.mask.range.pd.512");
    Value range = LLVM::CallIntrinsicOp::create(b, loc, type, name, ValueRange(values)).getResult(0);
    const llvm::fltSemantics &semantics = cast<FloatType>(type.getElementType()).getFloatSemantics();
    Value none = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, APFloat::getQNaN(semantics)));
    Value isNone = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, x, y);
    op->getResult(0).replaceAllUsesWith(arith::SelectOp::create(b, loc, isNone, none, range));
    op->erase();
  }
};

} // namespace

} // namespace tessera::cpu
