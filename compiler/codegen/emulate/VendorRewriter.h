// Rewrites one operation of a vendor to calls of the emulator. The methods are in three files, by what the
// operation does.
#pragma once
#include "compiler/codegen/emulate/VendorOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include <tessera/emulated.hpp>

namespace tessera::emulate {

/// Each method returns false, and changes nothing, if the operation is none of its kind or has a form that is
/// not executed.
class VendorRewriter {
public:
  VendorRewriter(mlir::ImplicitLocOpBuilder &b, mlir::Operation *op, EmitCall call,
                 llvm::function_ref<mlir::Value()> site)
      : b_(b), op_(op), call_(call), site_(site) {}

  bool run() { return forThreads() || forMatrices() || forCopies(); }

private:
  using Type = mlir::Type;
  using Value = mlir::Value;

  // VendorThreads.cpp: coordinates, barriers and exchanges of lanes.
  bool forThreads();
  bool builtinForThreads(mlir::LLVM::CallOp);
  bool permutation(mlir::LLVM::CallIntrinsicOp);
  bool blockBarrier(Value number, Value count, bool waits = true);
  bool exchange(Value value, Value lane, bool isXor);
  bool shuffle(mlir::NVVM::ShflOp);

  // VendorMatrices.cpp: matrix instructions, what they load, and tensor memory.
  bool forMatrices();
  bool multiply(MatrixInstruction, mlir::ValueRange a, mlir::ValueRange b, mlir::ValueRange c);
  bool readBlock(mlir::LLVM::CallOp, EmulatedBlockRead);
  bool mma(mlir::NVVM::MmaOp);
  bool mmaOfFp8(mlir::LLVM::CallIntrinsicOp);
  bool loadMatrix(mlir::NVVM::LdMatrixOp);
  bool storeMatrix(mlir::NVVM::StMatrixOp);
  bool sharedProduct(mlir::NVVM::WgmmaMmaAsyncOp);
  bool heldProduct(mlir::LLVM::InlineAsmOp);
  bool tensorMemory();

  // VendorCopies.cpp: asynchronous copies and what awaits them.
  bool forCopies();
  bool forArrivals();
  bool storeBox(mlir::NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp);
  bool copyBox(mlir::NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp);

  // VendorOps.cpp: values and the lane's stack.
  Type i32() { return b_.getI32Type(); }
  Value constant(int32_t value) { return mlir::LLVM::ConstantOp::create(b_, i32(), value); }
  Value asI32(Value value);
  /// A pointer to the host's memory, which has one address space.
  Value plain(Value pointer);
  bool erase() { return op_->erase(), true; }
  /// Replaces the operation by a call without result.
  bool become(llvm::StringRef function, mlir::ValueRange operands) {
    return call_(function, nullptr, operands, false), erase();
  }
  /// Replaces the operation's only result by `value`, converted to its type.
  bool replace(Value value);
  /// Returns `bytes` bytes of the lane's stack, the same ones each time that the operation is executed.
  Value stack(int64_t bytes);
  Value advance(Value place, int64_t bytes);
  /// Stores the values one after another.
  Value spill(mlir::ValueRange values);
  /// Replaces the operation's result, one value or a struct of them, by what is stored at `place`.
  bool reload(Value place);

  mlir::ImplicitLocOpBuilder &b_;
  mlir::Operation *op_;
  EmitCall call_;
  llvm::function_ref<Value()> site_;
};

} // namespace tessera::emulate
