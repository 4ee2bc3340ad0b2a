// schedule-split-scans (normative phase 2, beside schedule-split-reductions): scans a long axis in parts that
// are programs of their own, for targets with many units.
//
//   %y = graph.scan sum %x axis 0    ->    %p = graph.reduce sum %x axes [0] parts 8192
//                                          %c = graph.scan sum %p axis 0
//                                          %y = graph.scan sum %x axis 0 parts 8192 after %c
//
// The tensor is read twice. Sums and products of floats stay as they are: their bits depend on the order.
#include "compiler/schedule/Transforms/Passes.h"
#include "compiler/schedule/Transforms/TileSizes.h"

namespace tessera {
#define GEN_PASS_DEF_SCHEDULESPLITSCANS
#include "compiler/schedule/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::graph;
using Tensor = tessera::graph::TensorType;

namespace {

ReduceKind reductionOf(ScanKind kind) {
  switch (kind) {
  case ScanKind::Sum:
    return ReduceKind::Sum;
  case ScanKind::Prod:
    return ReduceKind::Prod;
  case ScanKind::Max:
    return ReduceKind::Max;
  case ScanKind::Min:
    return ReduceKind::Min;
  }
  llvm_unreachable("every kind is listed");
}

/// Returns the elements of a part that the axis is worth; none: it is scanned by one program. Rows of a
/// matrix are programs beside each other, unless few of them are known.
std::optional<int64_t> partOf(ScanOp op, FuncOp function, const codegen::Capabilities &target) {
  const Tensor type = op.getType();
  const auto axis = static_cast<int64_t>(op.getAxis());
  const bool isOuter = axis + 1 < type.getRank();
  const int64_t part = isOuter ? schedule::kPartRows : target.partElements;
  const std::optional<int64_t> length = schedule::likelyExtent(type, axis, function);
  if (length.value_or(2 * part) < 2 * part) return std::nullopt;
  if (isOuter || type.getRank() == 1) return part;
  int64_t rows = 1;
  for (int64_t d = 0; d < axis; ++d) {
    const std::optional<int64_t> extent = schedule::likelyExtent(type, d, function);
    if (!extent || __builtin_mul_overflow(rows, *extent, &rows)) return std::nullopt;
  }
  return length && rows < target.units ? std::optional(part) : std::nullopt;
}

struct ScheduleSplitScans : impl::ScheduleSplitScansBase<ScheduleSplitScans> {
  using ScheduleSplitScansBase::ScheduleSplitScansBase;

  void runOnOperation() override {
    auto found = codegen::findTarget(target);
    if (!found) {
      getOperation().emitError() << found.error().message;
      return signalPassFailure();
    }
    const codegen::Capabilities &known = (*found)->capabilities();
    if (known.threads == 0) return; // one program is a core
    for (ScanOp op : llvm::to_vector(getOperation().getBody().front().getOps<ScanOp>()))
      if (const auto part = partOf(op, getOperation(), known); part && !op.getParts() && op.isExact())
        split(op, *part);
  }

private:
  static void split(ScanOp op, int64_t part) {
    OpBuilder b(op);
    const Tensor type = op.getType();
    const auto axis = static_cast<int64_t>(op.getAxis());
    SmallVector<Attribute> dims(type.getDims().getValue());
    dims[axis] = partsOf(type, axis, part);
    const auto ofParts = Tensor::get(op.getContext(), b.getArrayAttr(dims), type.getElementType());
    Value each =
        ReduceOp::create(b, op.getLoc(), ofParts, reductionOf(op.getKind()), op.getInput(),
                         b.getDenseI64ArrayAttr(axis), /*keep_dims=*/false, b.getI64IntegerAttr(part));
    op.getAfterMutable().assign(
        ScanOp::create(b, op.getLoc(), ofParts, op.getKind(), each, Value(), axis, IntegerAttr()));
    op.setParts(part);
  }
};

} // namespace
} // namespace tessera
