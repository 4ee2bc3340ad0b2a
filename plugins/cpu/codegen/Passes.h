// The CPU's passes of phase 7; Passes.td says what each does.
#pragma once
#include "compiler/target/IR/TargetDialect.h"
#include "compiler/tile/IR/TileDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include <memory>

namespace tessera::cpu {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "plugins/cpu/codegen/Passes.h.inc"

} // namespace tessera::cpu
