#include "compiler/pipeline/Images.h"

namespace tessera {

CompileStatus noMachineCode(Compilation &c) {
  return c.fail(CompileStatus::Unimplemented, "E_UNIMPLEMENTED",
                "TSR_UNIMPLEMENTED: machine code for target '" + c.targetName() + "' is not built",
                "--emit target prints the kernel before instruction selection");
}

CompileStatus makeUnit(Compilation &c, CodeUnit &out) {
  if (c.gpu()) return noMachineCode(c);
  if (auto status = c.entries(out.entries); status != CompileStatus::Ok) return status;
  std::string why;
  if (cpu::emitObject(*c.image(), c.target(), out.code, why)) return CompileStatus::Ok;
  return c.fail(CompileStatus::BackendFailure, "E_BACKEND", "LLVM could not compile the kernel: " + why);
}

bool makeImages(const cpu::CpuTarget &target, std::vector<CodeUnit> units, std::vector<BundleImage> &images,
                std::string &why) {
  BundleImage image;
  image.target = "cpu:" + target.cpu;
  image.features = target.required;
  std::vector<std::string> objects, symbols;
  for (CodeUnit &unit : units) {
    objects.push_back(std::move(unit.code));
    for (BundleEntry &entry : unit.entries) {
      if (entry.kind == EntryKind::Kernel) symbols.push_back(entry.name);
      image.entries.push_back(std::move(entry));
    }
  }
  if (!cpu::linkShared(objects, symbols, image.data, why)) return false;
  images.push_back(std::move(image));
  return true;
}

} // namespace tessera
