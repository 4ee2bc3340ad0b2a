// The passes of phase 7 that GPUs share. Passes.td describes each.
#pragma once
#include "compiler/target/IR/TargetDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/Passes.h"
#include <memory>

namespace tessera::gpu {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/codegen/gpu/Passes.h.inc"

/// The canonicalizer without its simplification of regions: no pass before it leaves anything to that, and it
/// would take a tenth of a compilation. And without the patterns that make one conversion of an integer's
/// conversion to a wide float and that one's to a narrow float: each of them rounds.
inline std::unique_ptr<mlir::Pass> createSimplifyOps() {
  return mlir::createCanonicalizerPass(
      mlir::GreedyRewriteConfig().setRegionSimplificationLevel(mlir::GreedySimplifyRegionLevel::Disabled),
      {"(anonymous namespace)::TruncFSIToFPToSIToFP", "(anonymous namespace)::TruncFUIToFPToUIToFP"});
}

} // namespace tessera::gpu
