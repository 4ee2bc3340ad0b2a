#include "tests/shims/hip/Hsaco.h"
#include <cstring>
#include <elf.h>
#include <nlohmann/json.hpp>

namespace tessera::shim {
namespace {

using nlohmann::json;
constexpr uint32_t kMetadataNote = 32; // NT_AMDGPU_METADATA

/// The metadata's MessagePack bytes. A code object has one such note: drivers read the first only, and would
/// not find kernels that a second one lists.
std::string_view metadata(const char *image, const Elf64_Ehdr &elf, std::string &why) {
  std::string_view found;
  for (unsigned i = 0; i < elf.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, image + elf.e_shoff + size_t{i} * elf.e_shentsize, sizeof section);
    if (section.sh_type != SHT_NOTE) continue;
    for (uint64_t at = 0; at < section.sh_size;) {
      Elf64_Nhdr note;
      const char *begin = image + section.sh_offset + at;
      std::memcpy(&note, begin, sizeof note);
      const char *name = begin + sizeof note, *text = name + (note.n_namesz + 3) / 4 * 4;
      at += size_t(text - begin) + (note.n_descsz + 3) / 4 * 4;
      if (note.n_type != kMetadataNote || std::string_view(name) != "AMDGPU") continue;
      if (!found.empty()) why = "the code object has two notes with metadata";
      found = {text, note.n_descsz};
    }
  }
  if (found.empty()) why = "the code object has no metadata";
  return found;
}

OwnKernel kernelOf(const json &row) {
  OwnKernel out;
  out.name = row.at(".name").get<std::string>();
  for (const json &argument : row.value(".args", json::array())) {
    const auto kind = argument.at(".value_kind").get<std::string>();
    if (kind == "hidden_dynamic_lds_size") out.hasDynamicShared = true;
    if (kind.starts_with("hidden_")) continue; // which the runtime fills in
    const auto offset = argument.at(".offset").get<uint64_t>(), bytes = argument.at(".size").get<uint64_t>();
    out.parameters.push_back({offset, bytes, kind == "global_buffer"});
    out.parameterBytes = std::max(out.parameterBytes, offset + bytes);
  }
  const json block = row.value(".reqd_workgroup_size", json::array());
  for (size_t axis = 0; axis < block.size() && axis < 3; ++axis)
    out.block[axis] = block[axis].get<uint32_t>();
  out.staticShared = row.at(".group_segment_fixed_size").get<uint64_t>();
  return out;
}

} // namespace

bool readHsaco(const char *image, HsacoModule &out, std::string &why) {
  constexpr int kAmdGpu = 224, kAbiVersion5 = 3; // EM_AMDGPU, ELFABIVERSION_AMDGPU_HSA_V5
  if (std::memcmp(image, ELFMAG, SELFMAG) != 0) return why = "the image is no ELF file", false;
  Elf64_Ehdr elf;
  std::memcpy(&elf, image, sizeof elf);
  if (elf.e_machine != kAmdGpu || elf.e_type != ET_DYN || elf.e_ident[EI_ABIVERSION] != kAbiVersion5)
    return why = "the image is no shared object of code object version 5", false;
  out.bytes = elf.e_shoff + size_t{elf.e_shnum} * elf.e_shentsize; // the table is at the file's end
  const std::string_view text = metadata(image, elf, why);
  if (!why.empty()) return false;
  const json root = json::from_msgpack(text, true, false);
  if (root.is_discarded()) return why = "the code object's metadata is no MessagePack", false;
  try {
    const auto target = root.at("amdhsa.target").get<std::string>(); // "amdgcn-amd-amdhsa--gfx90a"
    out.processor = target.substr(target.rfind('-') + 1);
    for (const json &row : root.at("amdhsa.kernels"))
      out.kernels.push_back(kernelOf(row));
  } catch (const json::exception &e) {
    return why = std::string("the code object's metadata: ") + e.what(), false;
  }
  return true;
}

} // namespace tessera::shim
