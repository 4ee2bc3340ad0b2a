#include "compiler/pipeline/IrText.h"
#include "compiler/graph/IR/GraphDialect.h"
#include "compiler/schedule/IR/ScheduleDialect.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/Profiles.h"
#include "compiler/tile/IR/TileAccess.h"
#include "compiler/tile/IR/TileDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tessera {

namespace {

constexpr int64_t kMaxTileElements = 1 << 24; // as in the language
constexpr int64_t kMaxRank = 8;

bool isKnown(Operation &op) {
  return isa_and_nonnull<graph::GraphDialect, schedule::ScheduleDialect, tile::TileDialect,
                         arith::ArithDialect>(op.getDialect()) ||
         isa<math::AbsFOp, math::CeilOp, math::CountLeadingZerosOp, math::CountTrailingZerosOp, math::CtPopOp,
             math::FloorOp, math::FmaOp, math::IPowIOp, math::RoundEvenOp, math::SqrtOp, math::TruncOp>(op) ||
         isa<scf::ForOp, scf::IfOp, scf::WhileOp, scf::YieldOp, scf::ConditionOp>(op);
}

/// Null if a tile may have the shape, else what is wrong with it.
const char *findWrongShape(ArrayRef<int64_t> shape) {
  if (static_cast<int64_t>(shape.size()) > kMaxRank) return "has more than 8 axes";
  int64_t count = 1;
  for (int64_t extent : shape) {
    if (ShapedType::isDynamic(extent)) return "has an unknown extent";
    if (extent < 1) return "is empty";
    if (__builtin_mul_overflow(count, extent, &count) || count > kMaxTileElements)
      return "has more than 16777216 elements";
  }
  return nullptr;
}

/// Null if a program may have values of this type.
const char *findWrongType(Type type) {
  if (isa<tile::ViewType>(type))
    return cast<tile::ViewType>(type).getRank() > kMaxRank ? "has more than 8 axes" : nullptr;
  if (isa<graph::TensorType>(type))
    return cast<graph::TensorType>(type).getRank() > kMaxRank ? "has more than 8 axes" : nullptr;
  if (auto buffer = dyn_cast<tile::BufferType>(type)) return findWrongShape(buffer.getShape());
  if (auto tensor = dyn_cast<RankedTensorType>(type)) {
    if (tensor.getEncoding()) return "has an encoding";
    if (const char *why = findWrongShape(tensor.getShape())) return why;
    type = tensor.getElementType();
  }
  if (type.isIndex() || dtypeOfMemory(type) || type.isInteger(1)) return nullptr;
  return "is no type of the language";
}

/// Returns the relaxations that the profile of the kernel around `op` permits.
arith::FastMathFlags permittedAt(Operation &op) {
  auto kernel = op.getParentOfType<FunctionOpInterface>();
  std::optional<NumericsPermissions> permits = kernel ? permitsOf(kernel) : std::nullopt;
  return permits ? relaxationsOf(*permits) : arith::FastMathFlags::none;
}

/// Null unless MLIR leaves the operation's result undefined for some inputs, so that no later check can rely
/// on it.
const char *findUndefined(Operation &op) {
  if (isa<arith::FPToSIOp, arith::FPToUIOp>(op))
    return "is undefined outside the integer's range; use tile.cast";
  if (auto math = dyn_cast<arith::ArithFastMathInterface>(op); math && math.getFastMathFlagsAttr()) {
    const arith::FastMathFlags flags = math.getFastMathFlagsAttr().getValue();
    if (flags != arith::FastMathFlags::none && (flags & permittedAt(op)) != flags)
      return "has fast-math flags; the numerics profile decides what is permitted";
  }
  if (auto sum = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(op);
      sum && sum.getOverflowAttr() && sum.getOverflowAttr().getValue() != arith::IntegerOverflowFlags::none)
    return "has overflow flags; integers of the language wrap";
  return nullptr;
}

LogicalResult checkOp(Operation &op) {
  if (!isKnown(op)) return op.emitOpError() << "does not belong in a program";
  if (const char *why = findUndefined(op)) return op.emitOpError() << why;
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    if (loop.getUnsignedCmp())
      return op.emitOpError() << "compares unsigned; loops of the language are signed";
    if (auto step = getConstantIntValue(loop.getStep()); step && *step < 1)
      return op.emitOpError() << "has a step of " << *step << "; a loop counts upwards, by 1 or more";
  }
  if (auto prefetch = dyn_cast<tile::PrefetchOp>(op))
    if (const char *why = findWrongShape(tile::tileShape(prefetch.getExtents())))
      return op.emitOpError() << "fetches a tile that " << why;
  auto check = [&](TypeRange types) {
    for (Type type : types)
      if (const char *why = findWrongType(type))
        return op.emitOpError() << "has a value of type " << type << ", which " << why, failure();
    return LogicalResult(success());
  };
  if (failed(check(op.getResultTypes()))) return failure();
  for (Region &region : op.getRegions())
    for (Block &block : region)
      if (failed(check(block.getArgumentTypes()))) return failure();
  return success();
}

} // namespace

std::optional<uint32_t> lineTooDeep(std::string_view text) {
  int depth = 0;
  uint32_t line = 1;
  for (size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
    case '\n':
      ++line;
      break;
    case '"':
      while (++i < text.size() && text[i] != '"' && text[i] != '\n')
        i += text[i] == '\\';
      line += i < text.size() && text[i] == '\n';
      break;
    case '/':
      if (i + 1 < text.size() && text[i + 1] == '/')
        while (i + 1 < text.size() && text[i + 1] != '\n')
          ++i;
      break;
    case '(':
    case '[':
    case '{':
    case '<':
      if (++depth > kMaxIrDepth) return line;
      break;
    case '>':
      if (i && text[i - 1] == '-') break; // an arrow
      [[fallthrough]];
    case ')':
    case ']':
    case '}':
      depth -= depth > 0;
      break;
    default:
      break;
    }
  }
  return std::nullopt;
}

LogicalResult checkIrText(ModuleOp module) {
  const bool isTile = !module.getOps<tile::KernelOp>().empty();
  bool hasKernel = false;
  for (Operation &op : *module.getBody()) {
    if (!isa<graph::FuncOp, schedule::KernelOp, tile::KernelOp>(op))
      return op.emitOpError() << "stands beside kernels and graph functions but is neither";
    if (isTile && isa<schedule::KernelOp>(op))
      return op.emitOpError() << "is Schedule IR in a module with kernels of Tile IR";
    auto function = dyn_cast<graph::FuncOp>(op);
    // a function without params describes how a kernel is called
    hasKernel |= !function || function.getParamsAttr();
  }
  if (!hasKernel)
    return mlir::emitError(module.getLoc(),
                           "the IR holds no kernel and no graph function; compile takes what --emit "
                           "graph, schedule and tile write");
  WalkResult walked = module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == module) return WalkResult::advance();
    return failed(checkOp(*op)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

} // namespace tessera
