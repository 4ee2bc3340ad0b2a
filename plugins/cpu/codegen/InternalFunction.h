#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace tessera::cpu {

// What func-to-llvm reads of a func.func.
inline constexpr llvm::StringLiteral kLinkage = "llvm.linkage";
inline constexpr llvm::StringLiteral kNoInline = "no_inline";

/// Hides a function from other objects: objects of several kernels are linked into one image.
inline void makeInternal(mlir::func::FuncOp function) {
  function.setPrivate();
  function->setAttr(kLinkage,
                    mlir::LLVM::LinkageAttr::get(function.getContext(), mlir::LLVM::Linkage::Internal));
}

/// Creates such a function.
inline mlir::func::FuncOp createInternalFunction(mlir::OpBuilder &b, mlir::Location loc, llvm::StringRef name,
                                                 mlir::FunctionType type) {
  auto function = mlir::func::FuncOp::create(b, loc, name, type);
  makeInternal(function);
  return function;
}

} // namespace tessera::cpu
