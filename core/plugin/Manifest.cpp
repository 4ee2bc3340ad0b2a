#include "core/plugin/Manifest.h"
#include "core/plugin/plugin_generated.h"
#include "core/support/Escaped.h"
#include <algorithm>
#include <cstring>
#include <elf.h>
#include <iterator>
#include <sys/stat.h>
#include <tessera/plugin.h>
#include <unistd.h>

namespace tessera {
namespace {

constexpr struct {
  const char *name;
  uint32_t bit;
} kKinds[] = {{"backend", TSR_PLUGIN_BACKEND},
              {"mapper", TSR_PLUGIN_MAPPER},
              {"collective", TSR_PLUGIN_COLLECTIVE},
              {"numerics", TSR_PLUGIN_NUMERICS},
              {"codegen", TSR_PLUGIN_CODEGEN}};

constexpr const char *kRebuild = "rebuild it with tessera_add_plugin()";
constexpr size_t kMaxProgramHeaders = 128;
constexpr char kOwnerName[] = "Tessera";

PluginError malformed(const std::string &what) {
  return {refusal::kNoteMalformed, "its manifest is damaged: " + what, kRebuild};
}

/// Reads exactly `bytes` at `offset`; returns false if the file has fewer.
bool readAt(int fd, void *to, size_t bytes, uint64_t offset) {
  if (offset > INT64_MAX - bytes) return false;
  for (size_t done = 0; done < bytes;) {
    ssize_t n = pread(fd, static_cast<char *>(to) + done, bytes - done, static_cast<off_t>(offset + done));
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

/// Checks that every loadable segment lies within the file: the dynamic linker maps each segment as declared
/// and faults if the file is shorter.
PluginError checkExtents(int fd, const std::vector<Elf64_Phdr> &segments) {
  struct stat about;
  if (fstat(fd, &about) != 0) return {refusal::kUnreadable, "it cannot be examined", ""};
  const auto size = static_cast<uint64_t>(about.st_size);
  for (const Elf64_Phdr &segment : segments)
    if (segment.p_type == PT_LOAD && (segment.p_offset > size || segment.p_filesz > size - segment.p_offset))
      return {refusal::kNotElf,
              "the file is truncated: a segment extends past its " + std::to_string(size) + " bytes",
              "install it again"};
  return {};
}

/// Collects the payloads of Tessera's notes in one segment. Returns false if a note extends past the
/// segment's end.
bool findNotes(std::string_view segment, uint64_t align, std::vector<std::string_view> &found) {
  const size_t a = align == 8 ? 8 : 4;
  auto up = [&](size_t n) { return (n + a - 1) / a * a; };
  while (segment.size() >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr head;
    std::memcpy(&head, segment.data(), sizeof head);
    // The sizes have 32 bits and the arithmetic 64, so it cannot overflow.
    size_t name = sizeof head, payload = up(name + head.n_namesz), next = up(payload + head.n_descsz);
    if (payload + head.n_descsz > segment.size() || name + head.n_namesz > segment.size()) return false;
    if (head.n_namesz == sizeof kOwnerName && head.n_type == 1 &&
        std::memcmp(segment.data() + name, kOwnerName, sizeof kOwnerName) == 0)
      found.push_back(segment.substr(payload, head.n_descsz));
    segment.remove_prefix(std::min(next, segment.size()));
  }
  return true;
}

template <class List> std::vector<std::string> strings(const List *list) {
  std::vector<std::string> out;
  if (list)
    for (const auto *s : *list)
      out.push_back(s->str());
  return out;
}

/// Returns whether `s` is printable and short, since it is shown on a terminal.
bool isText(std::string_view s) {
  if (s.size() > 512) return false;
  for (unsigned char c : s)
    if (c < 0x20 || c == 0x7f) return false;
  return true;
}

} // namespace

bool isPluginName(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

std::string PluginError::render(const std::string &path) const {
  char number[16];
  snprintf(number, sizeof number, "TSRP-%03d", code);
  return number +
         escaped((path.empty() ? "" : " " + path) + ": " + text + (fix.empty() ? "" : " / fix: " + fix));
}

std::string kindList(uint32_t kinds) {
  std::string out;
  for (auto &row : kKinds)
    if (kinds & row.bit) out += (out.empty() ? "" : ", ") + std::string(row.name);
  return out;
}

uint32_t kindOf(std::string_view name) {
  for (auto &row : kKinds)
    if (name == row.name) return row.bit;
  return 0;
}

PluginError parseManifest(std::string_view payload, Manifest &out) {
  // The verifier requires the buffer to be aligned for its largest scalar.
  std::vector<uint64_t> aligned(payload.size() / 8 + 1);
  if (!payload.empty()) std::memcpy(aligned.data(), payload.data(), payload.size());
  auto *bytes = reinterpret_cast<const uint8_t *>(aligned.data());
  uint32_t claimed = 0;
  if (payload.size() >= sizeof claimed) std::memcpy(&claimed, bytes, sizeof claimed);
  if (payload.size() < 16 || claimed != payload.size() - sizeof claimed)
    return malformed("its size field is " + std::to_string(claimed) + ", but it has " +
                     std::to_string(payload.size()) + " bytes with that field");
  flatbuffers::Verifier verifier(bytes, payload.size(), /*max depth*/ 8, /*max tables*/ 256);
  if (!fb::VerifySizePrefixedManifestBuffer(verifier))
    return malformed("it is not a valid FlatBuffer of type TSRP");
  const fb::Manifest *m = fb::GetSizePrefixedManifest(bytes);
  auto text = [](const flatbuffers::String *s) { return s ? s->str() : std::string(); };
  out = {};
  out.name = text(m->name()), out.version = text(m->version()), out.description = text(m->description());
  out.compilerAbi = text(m->compiler_abi()), out.triplet = text(m->triplet());
  out.minDriver = text(m->min_driver()), out.driverModule = text(m->driver_module());
  out.sanitizer = text(m->sanitizer());
  out.kindNames = strings(m->kinds()), out.isa = strings(m->isa()),
  out.pciVendors = strings(m->pci_vendors());
  out.deviceNodes = strings(m->device_nodes());
  out.featuresRequired = strings(m->features_required());
  out.featuresOptional = strings(m->features_optional());
  out.variants = strings(m->variants());
  out.abiMajor = m->abi_major(), out.builtMinor = m->built_minor(), out.needsMinor = m->needs_minor();
  out.priority = m->priority();
  if (!isPluginName(out.name)) return malformed("its name must consist of a-z, 0-9, - and _");
  for (const std::string *s : {&out.version, &out.description, &out.compilerAbi, &out.triplet, &out.minDriver,
                               &out.driverModule, &out.sanitizer})
    if (!isText(*s)) return malformed("a text in it is too long or not printable");
  for (auto *list :
       {&out.isa, &out.pciVendors, &out.deviceNodes, &out.featuresRequired, &out.featuresOptional})
    for (const std::string &s : *list)
      if (!isText(s) || s.empty()) return malformed("a text in it is empty, too long or not printable");
  for (const std::string &variant : out.variants)
    if (!isPluginName(variant)) return malformed("the name of a variant must consist of a-z, 0-9, - and _");
  for (const std::string &kind : out.kindNames) {
    if (!isText(kind)) return malformed("the name of a kind is not printable");
    uint32_t bit = kindOf(kind);
    if (!bit)
      return {refusal::kKind, "it is of kind '" + kind + "'; this runtime knows " + kindList(~0u),
              "upgrade libtessera1"};
    out.kinds |= bit;
  }
  if (!out.kinds) return malformed("it names no kind");
  return {};
}

PluginError readManifest(int fd, PluginFile &out) {
  const PluginError noElf = {refusal::kNotElf, "it is not a 64-bit little-endian ELF shared object", ""};
  Elf64_Ehdr head;
  if (!readAt(fd, &head, sizeof head, 0) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
      head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB || head.e_type != ET_DYN ||
      head.e_phentsize != sizeof(Elf64_Phdr))
    return noElf;
  out.machine = head.e_machine;
  if (head.e_phnum > kMaxProgramHeaders)
    return malformed("the file has " + std::to_string(head.e_phnum) + " program headers");
  std::vector<Elf64_Phdr> segments(head.e_phnum);
  if (!readAt(fd, segments.data(), segments.size() * sizeof(Elf64_Phdr), head.e_phoff)) return noElf;
  if (PluginError cut = checkExtents(fd, segments)) return cut;
  std::vector<std::string> contents;
  contents.reserve(segments.size()); // the views below point into it
  std::vector<std::string_view> notes;
  for (const Elf64_Phdr &segment : segments) {
    if (segment.p_type != PT_NOTE) continue;
    if (segment.p_filesz > kMaxNoteBytes)
      return {refusal::kNoteTooLarge,
              "its notes have " + std::to_string(segment.p_filesz) + " bytes; at most " +
                  std::to_string(kMaxNoteBytes) + " are read",
              kRebuild};
    std::string &bytes = contents.emplace_back(segment.p_filesz, '\0');
    if (!readAt(fd, bytes.data(), bytes.size(), segment.p_offset))
      return malformed("the file ends within its notes");
    if (!findNotes(bytes, segment.p_align, notes)) return malformed("a note extends past its segment");
  }
  if (notes.empty())
    return {refusal::kNoNote, "it has no manifest (no note of owner Tessera), so it is not a plugin",
            kRebuild};
  if (notes.size() > 1)
    return {refusal::kNoteTwice, "it has " + std::to_string(notes.size()) + " manifests", kRebuild};
  return parseManifest(notes.front(), out.manifest);
}

} // namespace tessera
