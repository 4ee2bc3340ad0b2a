// From kernels at Target level to the images of a bundle. The one place that knows which kind of target has
// which code generator.
#pragma once
#include "compiler/pipeline/Compilation.h"

namespace tessera {

/// Machine code of one compilation, before what joins it to others.
struct CodeUnit {
  std::string code; // CPU: an ELF object
  std::vector<BundleEntry> entries;
};

/// Code and entries of a compilation that has reached Level::Target.
[[nodiscard]] CompileStatus makeUnit(Compilation &compilation, CodeUnit &out);

/// The failure of asking for machine code of a target without a code generator.
[[nodiscard]] CompileStatus noMachineCode(Compilation &compilation);

/// Joins the units of one target and appends its image, or images.
[[nodiscard]] bool makeImages(const cpu::CpuTarget &target, std::vector<CodeUnit> units,
                              std::vector<BundleImage> &images, std::string &why);

} // namespace tessera
