// Expands intrinsics that LLVM's optimizer forms and for which OpenCL's SPIR-V has no instruction.
#pragma once

namespace llvm {
class Module;
} // namespace llvm

namespace tessera::levelzero {

/// Replaces llvm.bitreverse, which the optimizer forms from index arithmetic modulo powers of two, by shifts
/// and masks.
void expandIntrinsics(llvm::Module &);

/// Returns false for intrinsics that would abort LLVM's code generator and that expandIntrinsics does not
/// replace.
bool hasIntrinsic(unsigned id);

} // namespace tessera::levelzero
