// Intrinsics that LLVM's optimizer forms and that OpenCL's SPIR-V has no instruction for.
#pragma once

namespace llvm {
class Module;
} // namespace llvm

namespace tessera::levelzero {

/// Replaces llvm.bitreverse, which the optimizer makes of index arithmetic modulo powers of two, by shifts
/// and masks.
void expandIntrinsics(llvm::Module &);

/// False for intrinsics that would abort LLVM's code generator and that expandIntrinsics leaves alone.
bool hasIntrinsic(unsigned id);

} // namespace tessera::levelzero
