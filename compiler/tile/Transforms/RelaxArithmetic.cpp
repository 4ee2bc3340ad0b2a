// tile-relax-arithmetic (normative phase 3): applies what a numerics profile permits beyond `standard`.
//
//   %d = tile.broadcast %s                            %i = arith.divf %one, %s : tensor<8x1xf32>
//   %y = arith.divf %x, %d : tensor<8x64xf32>    ->   %d = tile.broadcast %i
//   %z = arith.addf %y, %b                            %y = arith.mulf %x, %d fastmath<reassoc,contract,arcp>
//                                                     %z = arith.addf %y, %b fastmath<reassoc,contract,arcp>
//
// It runs after simplification, so that every operation it marks is one of the program's, and before fusion,
// since a reciprocal is a value that needs memory. It must not see the sequences of elementary functions,
// whose bits are fixed: those are expanded after tiles have become vectors. If a permission has no effect, a
// line in `fallbacks` reports it.
#include "compiler/tile/IR/Profiles.h"
#include "compiler/tile/IR/TileFunctions.h"
#include "compiler/tile/Transforms/ChooseInstruction.h"
#include "compiler/tile/Transforms/Passes.h"
#include "compiler/tile/Transforms/TileUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

namespace tessera {
#define GEN_PASS_DEF_TILERELAXARITHMETIC
#include "compiler/tile/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::tile;

namespace {

Value createOne(OpBuilder &b, Location loc, Type type) {
  auto element = b.getFloatAttr(getElementTypeOrSelf(type), 1.0);
  if (auto tile = dyn_cast<RankedTensorType>(type))
    return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(tile, element));
  return arith::ConstantOp::create(b, loc, element);
}

class RelaxArithmetic : public impl::TileRelaxArithmeticBase<RelaxArithmetic> {
public:
  using impl::TileRelaxArithmeticBase<RelaxArithmetic>::TileRelaxArithmeticBase;

private:
  void runOnOperation() override {
    const NumericsPermissions permits = permitsOf(getOperation()).value_or(NumericsPermissions());
    const arith::FastMathFlags flags = relaxationsOf(permits);
    const bool asksForMore = flags != arith::FastMathFlags::none || permits.reducedMultiply;
    if (!asksForMore) return;
    bool hasFunctions = false, hasProducts = false, isRelaxed = false;
    SmallVector<arith::DivFOp> divisions;
    getOperation()->walk([&](Operation *op) {
      if (auto divide = dyn_cast<arith::DivFOp>(op)) divisions.push_back(divide);
      hasFunctions |= isFunction(op) && !(approximates && hasApproximation(op));
      isRelaxed |= permits.approximate && approximates && hasApproximation(op);
      if (auto product = dyn_cast<MmaOp>(op)) {
        const std::optional<DType> factors = dtypeOfFactors(product);
        hasProducts |= factors == DType::F32 || (factors && llvm::is_contained(shortSums, name(*factors)));
      }
      if (auto reduce = dyn_cast<ReduceOp>(op))
        isRelaxed |= isa<FloatType>(tileType(reduce.getInput()).getElementType());
      if (!isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::NegFOp>(op)) return;
      op->setAttr(cast<arith::ArithFastMathInterface>(op).getFastMathAttrName(),
                  arith::FastMathFlagsAttr::get(&getContext(), flags));
      isRelaxed = true;
    });
    if (permits.approximate)
      for (arith::DivFOp divide : divisions)
        multiplyInstead(divide);

    const std::string profile = (backend + ": numerics " + profileOf(getOperation())).str();
    std::set<std::string> lines;
    if (permits.approximate && hasFunctions)
      lines.insert(profile + " has no effect on functions, which keep their error");
    // Of f32, tile-legalize-numerics reports it.
    const bool isReduced = permits.reducedMultiply && hasProducts;
    if (lines.empty() && !isRelaxed && !isReduced)
      lines.insert(profile + " has no effect: no float is added, multiplied or divided");
    addFallbacks(getOperation(), lines);
  }

  /// x / s -> x * (1 / s), if one reciprocal serves many elements. Not for narrow floats, which would round
  /// it.
  static void multiplyInstead(arith::DivFOp divide) {
    Type element = getElementTypeOrSelf(divide.getType());
    auto broadcast = divide.getRhs().getDefiningOp<BroadcastOp>();
    if (!broadcast || !(element.isF32() || element.isF64())) return;
    OpBuilder b(broadcast);
    Location loc = divide.getLoc();
    Value one = createOne(b, loc, broadcast.getInput().getType());
    Value reciprocal = arith::DivFOp::create(b, loc, one, broadcast.getInput(), divide.getFastmath());
    Value stretched = BroadcastOp::create(b, loc, broadcast.getType(), reciprocal);
    b.setInsertionPoint(divide);
    divide.replaceAllUsesWith(
        arith::MulFOp::create(b, loc, divide.getLhs(), stretched, divide.getFastmath()).getResult());
    divide.erase();
    if (broadcast->use_empty()) broadcast.erase();
  }
};

} // namespace
} // namespace tessera
