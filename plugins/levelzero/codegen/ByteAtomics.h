// Atomic loads and updates of bytes, which SPIR-V for OpenCL does not have.
#pragma once

namespace llvm {
class Module;
} // namespace llvm

namespace tessera::levelzero {

/// Replaces atomic loads, and and or of a byte by those of the aligned 32-bit word that it is in, in which
/// they leave the other bytes as they are.
void widenByteAtomics(llvm::Module &);

} // namespace tessera::levelzero
