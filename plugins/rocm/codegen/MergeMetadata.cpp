#include "plugins/rocm/codegen/MergeMetadata.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"
#include <cstring>
#include <optional>

namespace tessera::rocm {
namespace {

using namespace llvm::ELF;
using llvm::msgpack::DocNode;

constexpr char kOwner[8] = "AMDGPU"; // with its padding; the length in the note is 7

struct Note {
  size_t header = 0;         // where the object has the section's header
  std::string_view metadata; // MessagePack
};

template <class T> T at(std::string_view object, size_t offset) {
  T out{};
  if (offset <= object.size() && object.size() - offset >= sizeof out)
    std::memcpy(&out, object.data() + offset, sizeof out);
  return out;
}

/// Finds the section that consists of the metadata's note.
std::optional<Note> findNote(std::string_view object) {
  const auto elf = at<Elf64_Ehdr>(object, 0);
  for (unsigned i = 0; i < elf.e_shnum; ++i) {
    const size_t header = elf.e_shoff + size_t{i} * elf.e_shentsize;
    const auto section = at<Elf64_Shdr>(object, header);
    if (section.sh_type != SHT_NOTE) continue;
    const auto note = at<Elf64_Nhdr>(object, section.sh_offset);
    const size_t text = section.sh_offset + sizeof note + sizeof kOwner;
    if (note.n_type == NT_AMDGPU_METADATA && note.n_namesz == sizeof kOwner - 1 && text <= object.size() &&
        note.n_descsz <= object.size() - text)
      return Note{header, object.substr(text, note.n_descsz)};
  }
  return std::nullopt;
}

/// Appends lists of kernels and of formats of printf; the rest is equal in all objects.
int merge(DocNode *known, DocNode, DocNode key) {
  const bool isList =
      key.isString() && (key.getString() == "amdhsa.kernels" || key.getString() == "amdhsa.printf");
  return isList && known->isArray() ? int(known->getArray().size()) : 0;
}

void patch(std::string &object, size_t header, Elf64_Shdr section) {
  std::memcpy(object.data() + header, &section, sizeof section);
}

} // namespace

MaybeError mergeMetadata(std::vector<std::string> &objects) {
  if (objects.size() < 2) return std::nullopt;
  llvm::msgpack::Document all;
  std::vector<size_t> headers;
  for (const std::string &object : objects) {
    const std::optional<Note> note = findNote(object);
    if (!note || !all.readFromBlob({note->metadata.data(), note->metadata.size()}, /*Multi=*/false, merge))
      return Error{"E_BACKEND", "the metadata of an object cannot be read", ""};
    headers.push_back(note->header);
  }
  std::string text;
  all.writeToBlob(text); // before the objects change, whose strings the document refers to

  for (size_t i = 1; i < objects.size(); ++i) {
    auto section = at<Elf64_Shdr>(objects[i], headers[i]);
    section.sh_flags = (section.sh_flags & ~uint64_t{SHF_ALLOC}) | uint64_t{SHF_EXCLUDE};
    patch(objects[i], headers[i], section);
  }
  std::string &first = objects.front();
  auto section = at<Elf64_Shdr>(first, headers.front());
  first.resize((first.size() + 3) / 4 * 4);
  section.sh_offset = first.size();
  Elf64_Nhdr note{};
  note.n_namesz = sizeof kOwner - 1;
  note.n_descsz = uint32_t(text.size());
  note.n_type = NT_AMDGPU_METADATA;
  first.append(reinterpret_cast<const char *>(&note), sizeof note).append(kOwner, sizeof kOwner).append(text);
  first.resize((first.size() + 3) / 4 * 4);
  section.sh_size = first.size() - section.sh_offset;
  patch(first, headers.front(), section);
  return std::nullopt;
}

} // namespace tessera::rocm
