#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace tessera::cpu {

// What func-to-llvm reads of a func.func.
inline constexpr llvm::StringLiteral kLinkage = "llvm.linkage";
inline constexpr llvm::StringLiteral kNoInline = "no_inline";

/// Creates a function that other objects do not see: objects of several kernels are linked into one image.
inline mlir::func::FuncOp createInternalFunction(mlir::OpBuilder &b, mlir::Location loc, llvm::StringRef name,
                                                 mlir::FunctionType type) {
  auto function = mlir::func::FuncOp::create(b, loc, name, type);
  function.setPrivate();
  function->setAttr(kLinkage, mlir::LLVM::LinkageAttr::get(b.getContext(), mlir::LLVM::Linkage::Internal));
  return function;
}

} // namespace tessera::cpu
