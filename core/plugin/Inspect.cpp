#include "core/plugin/Inspect.h"
#include <elf.h>
#include <link.h>

namespace tessera {
namespace {

std::string text(const char *s) { return s ? s : ""; }

std::string join(const std::vector<std::string> &parts) {
  std::string out;
  for (const std::string &part : parts)
    out += (out.empty() ? "" : ",") + part;
  return out;
}

std::string number(uint32_t n) { return std::to_string(n); }

} // namespace

std::vector<std::string> exportedSymbols(const link_map *map) {
  const ElfW(Sym) *symbols = nullptr;
  const char *strings = nullptr;
  const uint32_t *hash = nullptr;
  for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; ++d) {
    if (d->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym) *>(d->d_un.d_ptr);
    if (d->d_tag == DT_STRTAB) strings = reinterpret_cast<const char *>(d->d_un.d_ptr);
    if (d->d_tag == DT_GNU_HASH) hash = reinterpret_cast<const uint32_t *>(d->d_un.d_ptr);
  }
  std::vector<std::string> out;
  if (!symbols || !strings || !hash) return out;
  // GNU hash table: bucket count, first hashed symbol, filter words, shift; then filter, buckets, chains.
  // Exported symbols are the hashed ones. The last hash of a chain is odd.
  const uint32_t buckets = hash[0], first = hash[1], words = hash[2];
  const uint32_t *bucket = hash + 4 + words * (sizeof(ElfW(Addr)) / 4), *chain = bucket + buckets;
  for (uint32_t b = 0; b < buckets; ++b)
    for (uint32_t i = bucket[b]; i >= first && i != 0; ++i) {
      const ElfW(Sym) &s = symbols[i];
      const char *name = strings + s.st_name;
      if (s.st_shndx != SHN_UNDEF && name[0] != '_') out.push_back(name);
      if (chain[i - first] & 1) break;
    }
  return out;
}

PluginError compareWithNote(const Manifest &m, const tsr_plugin_info_t &info) {
  const struct {
    const char *field;
    std::string note, object;
  } rows[] = {{"name", m.name, text(info.name)},
              {"version", m.version, text(info.version)},
              {"kinds", kindList(m.kinds), kindList(info.kinds)},
              {"abi_major", number(m.abiMajor), number(info.abi_major)},
              {"built_minor", number(m.builtMinor), number(info.built_minor)},
              {"needs_minor", number(m.needsMinor), number(info.needs_minor)},
              {"features_required", join(m.featuresRequired), text(info.features_required)},
              {"features_optional", join(m.featuresOptional), text(info.features_optional)},
              {"compiler_abi", m.compilerAbi, text(info.compiler_abi)}};
  for (auto &row : rows)
    if (row.note != row.object)
      return {refusal::kNoteLies,
              std::string("its manifest says ") + row.field + " '" + row.note + "', its code says '" +
                  row.object + "'",
              "rebuild it with tessera_add_plugin(), which writes both from plugin.json"};
  return {};
}

} // namespace tessera
