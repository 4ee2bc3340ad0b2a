#include "compiler/pipeline/Images.h"
#include "compiler/pipeline/Vendors.h"

namespace tessera {
namespace {

CompileStatus backendFailure(Compilation &c, const std::string &why) {
  return c.fail(CompileStatus::BackendFailure, "E_BACKEND", "LLVM could not compile the kernel: " + why);
}

ImageFormat formatOf(const gpu::GpuTarget &gpu) {
  llvm::StringRef format = findVendor(gpu.kind)->format();
  return format == "ptx" ? ImageFormat::Ptx : format == "hsaco" ? ImageFormat::Hsaco : ImageFormat::Spirv;
}

bool makeCpuImage(const ImageTarget &target, std::vector<CodeUnit> units, std::vector<BundleImage> &images,
                  std::string &why) {
  BundleImage image;
  image.target = target.name();
  image.features = target.cpu.required;
  std::vector<std::string> objects, symbols;
  for (CodeUnit &unit : units) {
    for (std::string &object : unit.code)
      objects.push_back(std::move(object));
    for (BundleEntry &entry : unit.entries) {
      if (entry.kind == EntryKind::Kernel) symbols.push_back(entry.name);
      image.entries.push_back(std::move(entry));
    }
  }
  if (!cpu::linkShared(objects, symbols, image.data, why)) return false;
  images.push_back(std::move(image));
  return true;
}

} // namespace

CompileStatus emitAssembly(Compilation &c, std::string &text) {
  std::string why;
  const gpu::GpuTarget *gpu = c.gpu();
  bool done = gpu ? findVendor(gpu->kind)->emitAssembly(*c.image(), *gpu, text, why)
                  : cpu::emitAssembly(*c.image(), c.target(), text, why);
  return done ? CompileStatus::Ok : backendFailure(c, why);
}

CompileStatus makeUnit(Compilation &c, CodeUnit &out) {
  if (auto status = c.entries(out.entries); status != CompileStatus::Ok) return status;
  std::string why;
  const gpu::GpuTarget *gpu = c.gpu();
  bool done = gpu ? findVendor(gpu->kind)->emitObject(*c.image(), *gpu, out.code.emplace_back(), why)
                  : cpu::emitObjects(c.image(), c.target(), out.code, why);
  return done ? CompileStatus::Ok : backendFailure(c, why);
}

CompileStatus emitObject(Compilation &c, std::string &bytes) {
  CodeUnit unit;
  if (auto status = makeUnit(c, unit); status != CompileStatus::Ok) return status;
  std::string why;
  return cpu::joinObjects(unit.code, bytes, why) ? CompileStatus::Ok : backendFailure(c, why);
}

bool makeImages(const ImageTarget &target, std::vector<CodeUnit> units, std::vector<BundleImage> &images,
                std::string &why) {
  if (!target.gpu) return makeCpuImage(target, std::move(units), images, why);
  for (CodeUnit &unit : units) {
    BundleImage image;
    image.target = target.name();
    image.format = formatOf(*target.gpu);
    image.data = std::move(unit.code[0]);
    image.entries = std::move(unit.entries);
    images.push_back(std::move(image));
  }
  return true;
}

} // namespace tessera
