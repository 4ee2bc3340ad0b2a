#include "compiler/tile/Transforms/ExpandMathBuilder.h"
#include "mlir/IR/BuiltinOps.h"
#include "numerics/functions/Fma.h"
#include "plugins/cpu/codegen/InternalFunction.h"
#include "plugins/cpu/codegen/Passes.h"

using namespace mlir;

namespace tessera::cpu {
#define GEN_PASS_DEF_CPUEXPANDFMA
#include "plugins/cpu/codegen/Passes.h.inc"

namespace {

struct ExpandFmaPass : impl::CpuExpandFmaBase<ExpandFmaPass> {
  void runOnOperation() final {
    SmallVector<math::FmaOp> ops;
    getOperation()->walk([&](math::FmaOp op) { ops.push_back(op); });
    llvm::SmallDenseMap<Type, func::FuncOp> functions;
    for (math::FmaOp op : ops) {
      OpBuilder b(op);
      Value result;
      if (getElementTypeOrSelf(op.getType()).isF64()) {
        func::FuncOp &function = functions[op.getType()];
        if (!function) function = define(op.getType(), op.getLoc());
        result = func::CallOp::create(b, op.getLoc(), function, op->getOperands()).getResult(0);
      } else {
        tile::MathBuilder m(b, op.getLoc(), op.getResult());
        result = functions::fmaF32(m, op.getA(), op.getB(), op.getC());
      }
      op.replaceAllUsesWith(result);
      op.erase();
    }
  }

  /// The function is about 150 operations long and is not inlined.
  func::FuncOp define(Type type, Location loc) {
    auto vector = dyn_cast<VectorType>(type);
    OpBuilder b = OpBuilder::atBlockEnd(getOperation().getBody());
    std::string name = "fma.f64x" + std::to_string(vector ? vector.getNumElements() : 1);
    if (vector)
      for (int64_t extent : vector.getShape().drop_back())
        name += "." + std::to_string(extent);
    else
      name += ".scalar";
    auto function = createInternalFunction(b, loc, name, b.getFunctionType({type, type, type}, {type}));
    function->setAttr(kNoInline, b.getUnitAttr());
    b.setInsertionPointToStart(function.addEntryBlock());
    tile::MathBuilder m(b, loc, function.getArgument(0));
    Value result =
        functions::fmaF64(m, function.getArgument(0), function.getArgument(1), function.getArgument(2));
    func::ReturnOp::create(b, loc, result);
    return function;
  }
};

} // namespace

} // namespace tessera::cpu
