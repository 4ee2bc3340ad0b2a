#include "compiler/tile/Transforms/BoxCopies.h"
#include "compiler/layout/Products.h"
#include "compiler/tile/IR/DTypes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tessera::tile {
namespace {

// Limits of tensor maps (CUDA driver API reference, cuTensorMapEncodeTiled).
constexpr int64_t kBytes = 16;                    // of which addresses and strides are multiples
constexpr int64_t kMostInBox = 256;               // elements along an axis
constexpr int64_t kMostAxes = 5, kRows = 8;       // rows after which a swizzle repeats
constexpr int64_t kMostStride = int64_t{1} << 40; // bytes, not included
constexpr int64_t kMostExtent = int64_t{1} << 31; // elements, not included: starts are i32

void addConditions(ParamAttr param, int64_t bytes, LaunchConditions &out) {
  const int64_t step = std::max<int64_t>(1, kBytes / bytes), most = kMostStride / bytes;
  const size_t rank = param.getDims().size();
  out.addText(llvm::formatv("aligned({0}, {1})", param.getName(), kBytes));
  for (size_t axis = 0; axis < rank; ++axis) {
    const StringRef extent = param.getDim(axis);
    const int64_t known = numberOf(extent).value_or(0);
    out.add(extent, " > 0", known > 0);
    out.add(extent, " < " + Twine(kMostExtent), known < kMostExtent);
  }
  if (rank < 2) return;
  if (param.getStrides()) {
    for (size_t axis = 0; axis + 1 < rank; ++axis) {
      const StringRef stride = param.getStride(axis);
      const int64_t known = numberOf(stride).value_or(0);
      out.add(stride, " > 0", known > 0);
      out.add(stride, " < " + Twine(most), known < most);
      if (step > 1) out.add(stride, " % " + Twine(step) + " == 0", known % step == 0);
    }
    return;
  }
  // The other strides are multiples of the innermost one, and less than the outermost one.
  if (step > 1) {
    const StringRef innermost = param.getDim(rank - 1);
    out.add(innermost, " % " + Twine(step) + " == 0", numberOf(innermost).value_or(0) % step == 0);
  }
  if (rank < 3) return;
  std::string outermost;
  for (size_t axis = 1; axis < rank; ++axis)
    outermost += (axis > 1 ? " * " : "") + param.getDim(axis).str();
  out.addText(outermost + " < " + std::to_string(most));
}

/// Is the value a multiple of `number` in every program and step, as far as its operations show? Dims, and
/// dims divided by a number, are if the conditions that this adds to `needed` hold (null: none may be
/// needed). Looks at no more than `steps` values, since operands that are shared are looked at again.
bool isMultipleOf(KernelOp kernel, Value value, int64_t number, LaunchConditions *needed, int64_t &steps) {
  if (number == 1) return true;
  if (--steps < 0) return false;
  if (const auto known = getConstantIntValue(value)) return *known % number == 0;
  auto is = [&](Value operand) { return isMultipleOf(kernel, operand, number, needed, steps); };
  auto needs = [&](Value dim, int64_t divisor) {
    auto argument = dyn_cast<BlockArgument>(dim);
    if (!needed || !argument || argument.getOwner() != &kernel.getBody().front()) return false;
    ParamAttr param = kernel.getParam(argument);
    if (param.getKind() != ParamKind::Dim) return false;
    needed->addText(llvm::formatv("{0} % {1} == 0", param.getName().getValue(), divisor));
    return true;
  };
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop) return needs(value, number);
    return value == loop.getInductionVar() && is(loop.getLowerBound()) && is(loop.getStep());
  }
  Operation *op = value.getDefiningOp();
  if (isa<arith::DivUIOp, arith::DivSIOp, arith::FloorDivSIOp>(op)) { // a dim is not negative
    const auto divisor = getConstantIntValue(op->getOperand(1));
    int64_t product = 0;
    return divisor && *divisor > 0 && !llvm::MulOverflow(*divisor, number, product) &&
           needs(op->getOperand(0), product);
  }
  if (isa<arith::MulIOp>(op)) {
    auto isAlways = [&](Value operand) { return isMultipleOf(kernel, operand, number, nullptr, steps); };
    if (llvm::any_of(op->getOperands(), isAlways)) return true;
    return needed && llvm::any_of(op->getOperands(), [&](Value operand) {
             LaunchConditions tried = *needed;
             if (!isMultipleOf(kernel, operand, number, &tried, steps)) return false;
             *needed = tried;
             return true;
           });
  }
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return is(select.getTrueValue()) && is(select.getFalseValue());
  return isa<arith::AddIOp, arith::SubIOp, arith::MaxSIOp, arith::MinSIOp, arith::IndexCastOp,
             arith::ExtSIOp>(op) &&
         llvm::all_of(op->getOperands(), is);
}

} // namespace

std::string whyNoBoxes(KernelOp kernel, Value view, ArrayRef<int64_t> extents, Value column,
                       BufferType buffer, LaunchConditions *columns) {
  ParamAttr param = kernel.getParam(view);
  const std::string name = param.getName().str();
  if (isPacked(cast<ViewType>(view.getType()).getElementType()))
    return "elements of " + name + " share bytes";
  const auto rank = int64_t(param.getDims() ? param.getDims().size() : 0);
  if (rank < 1 || rank > kMostAxes)
    return llvm::formatv("{0} has {1} axes, not 1 to {2}", name, rank, kMostAxes);
  auto isKnown = [&](StringRef size) { return isKnownSize(kernel, size); };
  for (int64_t axis = 0; axis < rank; ++axis)
    if (!isKnown(param.getDim(axis)) || (param.getStrides() && !isKnown(param.getStride(axis))))
      return "an extent or stride of " + name + " is an expression";
  if (extents.back() < 0 || (param.getStrides() && param.getStride(rank - 1) != "1"))
    return "rows of its tiles of " + name + " are not contiguous";
  const int64_t bytes = storageBytes(buffer.getElementType()), rows = buffer.getShape().front(),
                panel = layout::panelBytes(buffer.getShape().back() * bytes);
  if (buffer.getRank() != 2 || !panel)
    return llvm::formatv("rows of {0} have no multiple of 32 bytes", buffer);
  if (rows > kMostInBox || rows % kRows)
    return llvm::formatv("{0} has {1} rows, not a multiple of {2} up to {3}", buffer, rows, kRows,
                         kMostInBox);
  // A copy that begins elsewhere is an illegal instruction to the device (H200, driver 580.159).
  LaunchConditions needed = columns ? *columns : LaunchConditions();
  int64_t steps = 1000;
  if (!isMultipleOf(kernel, column, std::max<int64_t>(1, kBytes / bytes), columns ? &needed : nullptr, steps))
    return llvm::formatv("its tiles of {0} may begin at columns that are no multiples of {1} bytes", name,
                         kBytes);
  LaunchConditions conditions;
  addConditions(param, bytes, conditions);
  if (!conditions.isPossible())
    return "extents or strides of " + name + " are no multiples of 16 bytes, or too small or large for boxes";
  if (columns) *columns = needed;
  return "";
}

std::vector<std::string> boxConditions(KernelOp kernel, ArrayRef<Value> views) {
  LaunchConditions all;
  for (Value view : views)
    addConditions(kernel.getParam(view), storageBytes(cast<ViewType>(view.getType()).getElementType()), all);
  return all.list();
}

} // namespace tessera::tile
