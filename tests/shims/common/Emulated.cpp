#include "tests/shims/common/Emulated.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace tessera::shim {
namespace {

std::string contents(const std::filesystem::path &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace

std::string emulatedImageOf(std::string_view image) {
  const char *table = std::getenv("SHIM_TABLE");
  std::error_code error;
  if (table)
    for (const auto &entry : std::filesystem::directory_iterator(table, error))
      if (entry.path().extension() == ".image" && contents(entry.path()) == image)
        return contents(std::filesystem::path(entry.path()).replace_extension(".emulated"));
  return "";
}

std::shared_ptr<Emulated> Emulated::load(const char *backend, const GpuArchitecture &device,
                                         const std::string &image, std::string &why) {
  Driver library({TESSERA_EMULATOR, "libtessera-emulator.so"});
  CreateEmulatedFn *create = nullptr;
  if (!library.find(create, kCreateEmulated)) return why = library.why(), nullptr;
  static const tsr_host_info_t host{sizeof host, 1, 1, 0, 0, "", "", nullptr, nullptr, ""};
  auto out = std::make_shared<Emulated>();
  out->backend_.reset(create(backend, {&device, 1}, "emulated:" + std::string(device.name), &host, why));
  if (!out->backend_) return nullptr;
  out->context_ = out->backend_->createContext(0, nullptr, why);
  if (!out->context_) return nullptr;
  out->module_ = out->context_->loadModule(
      {TSR_IMAGE_EMULATED, image.data(), image.size(), "the emulated image of the table", nullptr}, why);
  return out->module_ ? out : nullptr;
}

bool Emulated::run(const OwnKernel &kernel, const uint32_t grid[3], uint64_t shared,
                   const std::vector<uint64_t> &values, std::string &why) {
  KernelSpec spec;
  spec.name = kernel.name;
  spec.valueCount = static_cast<uint32_t>(values.size());
  spec.sharedBytes = shared;
  std::copy_n(kernel.block, 3, spec.block);
  std::copy_n(kernel.cluster, 3, spec.cluster);
  const auto loaded = module_->getKernel(spec, why);
  if (!loaded) return false;
  const auto stream = context_->createStream(why);
  return stream && stream->launch(loaded, values.data(), {grid[0], grid[1], grid[2]}, why) == TSR_SUCCESS;
}

} // namespace tessera::shim
