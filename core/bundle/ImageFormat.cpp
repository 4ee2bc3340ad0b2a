#include "core/bundle/ImageFormat.h"
#include <cstddef>
#include <cstring>
#include <elf.h>
#include <tessera/plugin.h>

namespace tessera {
namespace {

constexpr struct {
  const char *name;
  uint32_t contract;
} kFormats[] = {{"elf", TSR_IMAGE_ELF},     {"ptx", TSR_IMAGE_PTX},     {"hsaco", TSR_IMAGE_HSACO},
                {"spirv", TSR_IMAGE_SPIRV}, {"cubin", TSR_IMAGE_CUBIN}, {"emulated", TSR_IMAGE_EMULATED}};

} // namespace

const char *name(ImageFormat format) { return kFormats[static_cast<size_t>(format)].name; }

std::string imageFormatNames() {
  std::string out;
  for (const auto &format : kFormats)
    out += (out.empty() ? "" : ", ") + std::string(format.name);
  return out;
}

uint32_t contractValue(ImageFormat format) { return kFormats[static_cast<size_t>(format)].contract; }

std::optional<ImageFormat> detectFormat(std::string_view bytes) {
  constexpr std::string_view spirv("\x03\x02\x23\x07", 4);
  if (bytes.substr(0, SELFMAG) == ELFMAG && bytes.size() >= sizeof(Elf64_Ehdr)) {
    Elf64_Half machine;
    std::memcpy(&machine, bytes.data() + offsetof(Elf64_Ehdr, e_machine), sizeof machine);
    return machine == EM_AMDGPU ? ImageFormat::Hsaco
           : machine == EM_CUDA ? ImageFormat::Cubin
                                : ImageFormat::Elf;
  }
  if (bytes.starts_with(spirv)) return ImageFormat::Spirv;
  if (bytes.find(".version") != bytes.npos && bytes.find(".target") != bytes.npos) return ImageFormat::Ptx;
  return std::nullopt;
}

} // namespace tessera
