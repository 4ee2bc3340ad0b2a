// Kernels that are compiled as several objects are one code object in the end, with one list of kernels.
#pragma once
#include "compiler/codegen/emit/Linker.h"
#include <string>
#include <vector>

namespace tessera::rocm {

/// Moves the metadata of all objects (ELF files of LLVM's AMDGPU target) into the first one's note
/// NT_AMDGPU_METADATA, and has the linker drop the others. The linker would keep each note, of which the
/// driver reads only the first (LLVM's AMDGPUUsage, Code Object V3 and above Metadata). One object is left as
/// it is.
MaybeError mergeMetadata(std::vector<std::string> &objects);

} // namespace tessera::rocm
