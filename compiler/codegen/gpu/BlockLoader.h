// How the operands of matrix instructions get from a tensor to registers by 2D block reads.
#pragma once
#include "compiler/codegen/gpu/Lowering.h"
#include "compiler/layout/BlockReads.h"

namespace tessera::gpu {

/// Reads the parts of one operand that instructions take, from where a tile.load would.
class KernelLowering::BlockLoader {
public:
  using Value = mlir::Value;

  BlockLoader(KernelLowering &l, tile::LoadOp load, bool isStoredTransposed, const layout::Fragment &f,
              layout::Operand operand)
      : lowering_(l), isTransposed_(isStoredTransposed) {
    const Window w = l.window(load.getView(), load.getStarts(), load.getExtents(), load.getInBounds());
    const auto bytes = int64_t(target::inMemoryElement(w.view.element).getIntOrFloatBitWidth() / 8);
    read_ = layout::blockRead(f, operand, int(bytes), isStoredTransposed);
    mlir::ImplicitLocOpBuilder &b = l.b_;
    using namespace mlir::arith;
    const unsigned rowDim = w.dimOfAxis[0], columnDim = w.dimOfAxis[1];
    row_ = coordinate(w.starts[rowDim]), column_ = coordinate(w.starts[columnDim]);
    // The matrix among those of the tensor. If there is none at this index, all rows are outside.
    Value offset = l.constant(0), isInside;
    for (auto [dim, start] : llvm::enumerate(w.starts)) {
      if (w.extents[dim] >= 0) continue;
      if (!w.inBounds)
        isInside = l.both(isInside, CmpIOp::create(b, CmpIPredicate::ult, start, w.view.sizes[dim]));
      offset = AddIOp::create(b, offset, MulIOp::create(b, start, w.view.strides[dim]));
    }
    if (isInside) {
      offset = SelectOp::create(b, isInside, offset, l.constant(0));
      row_ = SelectOp::create(b, isInside, row_, l.i32(kFarOutside));
    }
    auto inBytes = [&](Value elements) -> Value {
      return IndexCastOp::create(b, b.getI32Type(), MulIOp::create(b, elements, l.constant(bytes)));
    };
    matrix_ = {
        mlir::LLVM::PtrToIntOp::create(b, b.getI64Type(), l.address(w.view.data, offset, w.view.element)),
        inBytes(w.view.sizes[columnDim]), IndexCastOp::create(b, b.getI32Type(), w.view.sizes[rowDim]),
        inBytes(w.view.strides[rowDim])};
  }

  /// Returns the operand whose first element is at `row`, `column` of the tile.
  Vec<Value> operator()(Value row, Value column) const {
    mlir::ImplicitLocOpBuilder &b = lowering_.b_;
    if (isTransposed_) std::swap(row, column);
    auto plus = [&](Value start, Value index) -> Value {
      return mlir::arith::AddIOp::create(b, start,
                                         mlir::arith::IndexCastOp::create(b, b.getI32Type(), index));
    };
    Value x = plus(column_, column), y = plus(row_, row);
    if (read_->unit > 1) // negative columns, too
      x = mlir::arith::ShRSIOp::create(b, x, lowering_.i32(int64_t(llvm::Log2_32(unsigned(read_->unit)))));
    return {lowering_.vendor_.emitBlockRead(b, *read_, matrix_, x, y)};
  }

private:
  /// Rows and columns of tensors are fewer (BlockReadRules::most), and the sum with an index in a tile is an
  /// i32.
  static constexpr int64_t kFarOutside = int64_t{1} << 30;
  Value coordinate(Value start) {
    mlir::ImplicitLocOpBuilder &b = lowering_.b_;
    start = mlir::arith::MaxSIOp::create(b, start, lowering_.constant(-kFarOutside));
    start = mlir::arith::MinSIOp::create(b, start, lowering_.constant(kFarOutside));
    return mlir::arith::IndexCastOp::create(b, b.getI32Type(), start);
  }

  KernelLowering &lowering_;
  bool isTransposed_;
  const layout::BlockRead *read_;
  Vendor::GlobalMatrix matrix_;
  Value row_, column_; // of the tile's first element in the matrix
};

} // namespace tessera::gpu
