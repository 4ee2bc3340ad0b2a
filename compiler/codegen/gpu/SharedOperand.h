// An operand that instructions read in shared memory.
#pragma once
#include "compiler/codegen/gpu/Lowering.h"
#include "compiler/layout/Products.h"

namespace tessera::gpu {

/// Where the parts of one operand are that instructions read.
struct KernelLowering::SharedOperand {
  KernelLowering &lowering;
  Place place;
  bool isAlongK; // neighbours in memory are neighbours along k
  int64_t bytes; // of an element
  Value first;   // descriptor of the group's first row (or column) at k = 0

  SharedOperand(KernelLowering &l, const layout::Fragment &f, Place p, bool alongK, Value start)
      : lowering(l), place(std::move(p)), isAlongK(alongK),
        bytes(target::inMemoryElement(place.element).getIntOrFloatBitWidth() / 8) {
    mlir::ImplicitLocOpBuilder &b = l.b_;
    Value zero = l.constant(0);
    Value address = l.placeAddress({place.data, place.shape, place.element, place.offset, {}, place.panel},
                                   isAlongK ? Vec<Value>{start, zero} : Vec<Value>{zero, start});
    const int64_t panelBytes = place.panel * bytes;
    first = l.vendor_.emitDescriptor(b, f, address, panelBytes, place.shape[0] * panelBytes, 8 * panelBytes);
  }

  /// Returns the matrix `offset` rows (or columns) and `k` elements from the first one. Constant distances in
  /// the order without swizzle, which permutes the bits of addresses, are distances of descriptors.
  Vendor::SharedMatrix at(int64_t offset, int64_t k) {
    const int64_t row = isAlongK ? offset : k, column = isAlongK ? k : offset;
    const int64_t distance =
        ((column / place.panel * place.shape[0] + row) * place.panel + column % place.panel) * bytes;
    mlir::ImplicitLocOpBuilder &b = lowering.b_;
    Value step = mlir::arith::ConstantOp::create(b, b.getI64IntegerAttr(distance / 16));
    return {distance ? mlir::arith::AddIOp::create(b, first, step).getResult() : first, isAlongK};
  }
};

} // namespace tessera::gpu
