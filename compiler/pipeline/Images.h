// From kernels at Target level to the images of a bundle. The one place that knows which kind of target has
// which code generator.
#pragma once
#include "compiler/pipeline/Compilation.h"

namespace tessera {

/// Machine code of one compilation, before what joins it to others.
struct CodeUnit {
  std::vector<std::string> code; // CPU: ELF objects; GPUs: what the driver loads, one
  std::vector<BundleEntry> entries;
};

/// What the images of one target are for.
struct ImageTarget {
  ImageTarget() = default;
  explicit ImageTarget(const Compilation &c) : cpu(c.target()), gpu(c.gpu()) {}
  /// "cpu:x86-64-v3", "ptx:sm_90".
  std::string name() const { return gpu ? gpu->name() : "cpu:" + cpu.cpu; }

  cpu::CpuTarget cpu;
  const gpu::GpuTarget *gpu = nullptr; // set: `cpu` has no meaning
};

/// Assembly text of a compilation that has reached Level::Target.
[[nodiscard]] CompileStatus emitAssembly(Compilation &compilation, std::string &text);

/// The machine code alone, in one file: what makeUnit gives, the CPU's objects joined.
[[nodiscard]] CompileStatus emitObject(Compilation &compilation, std::string &bytes);

/// Code and entries of a compilation that has reached Level::Target.
[[nodiscard]] CompileStatus makeUnit(Compilation &compilation, CodeUnit &out);

/// Joins the units of one target and appends its image; on a GPU each unit is an image.
[[nodiscard]] bool makeImages(const ImageTarget &target, std::vector<CodeUnit> units,
                              std::vector<BundleImage> &images, std::string &why);

} // namespace tessera
