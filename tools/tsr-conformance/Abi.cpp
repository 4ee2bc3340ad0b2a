// Checks of the ABI itself: the file, its manifest, the export, the query, structs of other sizes, and
// tables.
#include "core/plugin/Inspect.h"
#include "tools/tsr-conformance/Groups.h"
#include "tools/tsr-conformance/Guarded.h"
#include "tools/tsr-conformance/Subject.h"
#include <cstring>
#include <filesystem>
#include <link.h>
#include <thread>

namespace tessera::kit {
namespace {

constexpr const char *kHowToWriteSizes = "write with tessera::thunk::copyOut, or by TSR_HAS";

void manifest(Subject &s) { s.file(); }

/// The file is named libtessera-NAME.so for backends; other kinds put the kind in front of the name.
void fileName(Subject &s) {
  const Manifest &m = s.file().manifest;
  const std::string found = std::filesystem::path(s.options.plugin).filename();
  std::string wanted;
  for (const std::string &kind : m.kindNames) {
    const std::string prefix = m.kinds & TSR_PLUGIN_BACKEND ? "" : kind + "-";
    const std::string name = "libtessera-" + prefix + m.name + ".so";
    if (found == name) return;
    wanted += (wanted.empty() ? "" : " or ") + name;
    if (prefix.empty()) break;
  }
  throw Failure{"the file name " + wanted, found, "the loader looks for it by its name"};
}

void loads(Subject &s) { s.library(); }

void exportsQuery(Subject &s) { (void)s.query(); }

void exportsOnly(Subject &s) {
  std::string found;
  for (const std::string &name : exportedSymbols(static_cast<const link_map *>(s.library())))
    if (name != "tsrPluginQuery") found += (found.empty() ? "" : ", ") + name;
  expect(found.empty(), "no export but tsrPluginQuery", found,
         "link it with tessera_add_plugin(), which hides the rest");
}

void abiQuery(Subject &s) {
  const tsr_plugin_info_t &i = s.info();
  const Manifest &m = s.file().manifest;
  s.facts["name"] = i.name ? i.name : m.name;
  s.facts["version"] = i.version ? i.version : m.version;
  s.facts["kinds"] = std::to_string(i.kinds);
  for (uint32_t kind = 1; kind <= TSR_PLUGIN_CODEGEN; kind <<= 1)
    if (i.kinds & kind)
      for (const Slot &slot : slotsOf(kind))
        if (!hasSlot(i, kind, slot.name)) s.facts["missing"] += std::string(slot.name) + ",";
}

void strings(Subject &s) {
  const tsr_plugin_info_t &i = s.info();
  const struct {
    const char *field, *value;
  } rows[] = {{"name", i.name},
              {"version", i.version},
              {"description", i.description},
              {"features_required", i.features_required},
              {"features_optional", i.features_optional},
              {"compiler_abi", i.compiler_abi}};
  for (auto &row : rows) {
    expect(row.value, std::string("a string in ") + row.field + "; \"\" where there is nothing to say",
           "NULL");
    for (const char *c = row.value; *c; ++c)
      expect(static_cast<unsigned char>(*c) >= 0x20, std::string("printable text in ") + row.field,
             "a control character");
  }
  expect(*i.name && *i.version, "a name and a version", "an empty one");
}

void note(Subject &s) {
  if (const PluginError e = compareWithNote(s.file().manifest, s.info()))
    throw Failure{"a manifest that says what the code says", e.text, e.fix};
}

void abiNumbers(Subject &s) {
  const tsr_plugin_info_t &i = s.info();
  expectEqual(i.abi_major, TSR_PLUGIN_ABI_MAJOR, "abi_major");
  expect(i.needs_minor <= i.built_minor, "a needs_minor of at most built_minor",
         std::to_string(i.needs_minor) + " and " + std::to_string(i.built_minor));
  expect(i.needs_minor <= TSR_PLUGIN_ABI_MINOR,
         "a needs_minor this kit's ABI provides, at most " + std::to_string(TSR_PLUGIN_ABI_MINOR),
         std::to_string(i.needs_minor), "use the kit of the release the plugin needs");
}

void features(Subject &s) {
  for (const char *list : {s.info().features_required, s.info().features_optional})
    for (std::string_view rest = list ? list : ""; !rest.empty();) {
      const std::string_view one = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(one.size() + 1, rest.size()));
      const size_t at = one.find('@');
      const bool isGood = at != one.npos && at > 0 && at + 1 < one.size() &&
                          one.find_first_not_of("0123456789", at + 1) == one.npos;
      expect(isGood, "features written as name@1, separated by commas", std::string(one));
    }
}

/// Returns the fields that must agree between two queries.
std::string summary(const tsr_plugin_info_t &i) {
  auto text = [](const char *t) { return std::string(t ? t : "NULL"); };
  return text(i.name) + " " + text(i.version) + " kinds " + std::to_string(i.kinds) + " ABI " +
         std::to_string(i.abi_major) + "." + std::to_string(i.built_minor) + " needs " +
         std::to_string(i.needs_minor);
}

/// Queries as `host` would, with an answer of `size` bytes that ends at an inaccessible page.
std::string askAbi(Subject &s, const tsr_host_info_t *host, size_t size, int32_t *status = nullptr) {
  Guarded answer(size);
  tsr_plugin_info_t &out = answer.as<tsr_plugin_info_t>();
  out.struct_size = size;
  const int32_t result = s.query()(host, &out);
  if (status) *status = result;
  expect(result >= TSR_SUCCESS && result <= TSR_EINTERNAL, "a status of tsrPluginQuery",
         std::to_string(result));
  expect(out.struct_size <= size, "a struct_size of at most the " + std::to_string(size) + " bytes given",
         std::to_string(out.struct_size), kHowToWriteSizes);
  answer.expectUntouched("tsrPluginQuery", kHowToWriteSizes);
  return result == TSR_SUCCESS ? summary(thunk::copyIn(&out)) : statusName(result);
}

void sameAnswer(Subject &s, const tsr_host_info_t *host, size_t size) {
  const std::string wanted = summary(s.info()), found = askAbi(s, host, size);
  expect(found == wanted, "the answer every host gets: " + wanted, found);
}

void hostOlder(Subject &s) {
  tsr_host_info_t host = kitHost();
  host.abi_minor = std::max(s.info().needs_minor, host.abi_minor ? host.abi_minor - 1 : 0);
  sameAnswer(s, &host, sizeof(tsr_plugin_info_t));
}

/// A newer host knows more fields and provides space for them.
void hostNewer(Subject &s) {
  Guarded memory(sizeof(tsr_host_info_t) + 64);
  memory.fill(0xA5);
  tsr_host_info_t &host = memory.as<tsr_host_info_t>();
  host = kitHost();
  host.struct_size = memory.size();
  ++host.abi_minor;
  sameAnswer(s, &host, sizeof(tsr_plugin_info_t) + 128);
  memory.expectUntouched("tsrPluginQuery", "the host's struct is to be read, not written");
}

void hostTruncated(Subject &s) {
  (void)s.info();
  for (size_t size : {offsetof(tsr_host_info_t, version), offsetof(tsr_host_info_t, compiler_abi),
                      offsetof(tsr_host_info_t, log)}) {
    Guarded memory(size);
    memory.put(kitHost(), size);
    askAbi(s, &memory.as<tsr_host_info_t>(), sizeof(tsr_plugin_info_t));
  }
}

void infoTruncated(Subject &s) {
  (void)s.info();
  for (size_t size = 16; size < sizeof(tsr_plugin_info_t); size += 8)
    askAbi(s, &kitHost(), size);
}

void infoExact(Subject &s) { askAbi(s, &kitHost(), sizeof(tsr_plugin_info_t)); }

void infoEnlarged(Subject &s) { sameAnswer(s, &kitHost(), sizeof(tsr_plugin_info_t) + 4096); }

void queryRepeats(Subject &s) {
  const std::string wanted = summary(s.info());
  std::string found[8];
  std::vector<std::thread> threads;
  for (std::string &f : found)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        RoomyInfo room;
        const tsr_plugin_info_t &out = room.answer;
        const int32_t status = s.query()(&kitHost(), &room.answer);
        f = status ? statusName(status) : summary(out);
        if (f != wanted) return;
      }
    });
  for (std::thread &t : threads)
    t.join();
  for (const std::string &f : found)
    expect(f == wanted, "the same answer to every thread: " + wanted, f);
}

constexpr struct {
  uint32_t bit, major;
  const char *name;
} kTables[] = {{TSR_PLUGIN_BACKEND, TSR_BACKEND_API_MAJOR, "backend"},
               {TSR_PLUGIN_MAPPER, TSR_MAPPER_API_MAJOR, "mapper"},
               {TSR_PLUGIN_COLLECTIVE, TSR_COLLECTIVE_API_MAJOR, "collective"},
               {TSR_PLUGIN_NUMERICS, TSR_NUMERICS_API_MAJOR, "numerics"},
               {TSR_PLUGIN_CODEGEN, TSR_CODEGEN_API_MAJOR, "codegen"}};

/// Returns the header that every table begins with, or null when there is no table.
const tsr_numerics_api_t *headOf(const tsr_plugin_info_t &i, uint32_t bit) {
  const void *table = bit == TSR_PLUGIN_BACKEND      ? static_cast<const void *>(i.backend)
                      : bit == TSR_PLUGIN_MAPPER     ? static_cast<const void *>(i.mapper)
                      : bit == TSR_PLUGIN_COLLECTIVE ? static_cast<const void *>(i.collective)
                      : bit == TSR_PLUGIN_NUMERICS   ? static_cast<const void *>(i.numerics)
                                                     : static_cast<const void *>(i.codegen);
  return static_cast<const tsr_numerics_api_t *>(table);
}

void tables(Subject &s) {
  const tsr_plugin_info_t &i = s.info();
  for (auto &row : kTables)
    expect(!(i.kinds & row.bit) == !headOf(i, row.bit),
           std::string("a ") + row.name + " table if, and only if, kinds has its bit",
           headOf(i, row.bit) ? "a table without the bit" : "the bit without a table");
}

void interfaces(Subject &s) {
  for (auto &row : kTables)
    if (const auto *head = headOf(s.info(), row.bit))
      expectEqual(head->version_major, row.major, std::string(row.name) + " interface of major");
}

void tableSizes(Subject &s) {
  for (auto &row : kTables)
    if (const auto *head = headOf(s.info(), row.bit))
      expect(head->struct_size >= 24 && head->struct_size % 8 == 0 && head->struct_size < 65536,
             std::string("struct_size of the ") + row.name + " table: its bytes",
             std::to_string(head->struct_size));
}

void requiredSlots(Subject &s) {
  std::string missing;
  for (auto &row : kTables)
    if (headOf(s.info(), row.bit))
      for (const Slot &slot : slotsOf(row.bit))
        if (slot.isRequired && !hasSlot(s.info(), row.bit, slot.name))
          missing += (missing.empty() ? "" : ", ") + std::string(slot.name);
  if (s.info().backend && !s.info().probe) missing += missing.empty() ? "probe" : ", probe";
  expect(missing.empty(), "every slot plugin.h marks [required]", "without " + missing);
}

/// The host uses events, and likewise graphs, only if all their slots are present.
void slotGroups(Subject &s) {
  if (!s.info().backend) return;
  for (auto names :
       {std::vector<const char *>{"event_create", "event_destroy", "event_query", "event_synchronize",
                                  "event_timestamp", "stream_record", "stream_wait"},
        {"graph_create", "graph_launch", "graph_destroy"},
        {"range_push", "range_pop"}}) {
    std::string present, absent;
    for (const char *name : names) {
      std::string &list = hasSlot(s.info(), TSR_PLUGIN_BACKEND, name) ? present : absent;
      list += (list.empty() ? "" : ", ") + std::string(name);
    }
    expect(present.empty() || absent.empty(), "all of these slots or none, as no host can use a part of them",
           present + " without " + absent);
  }
}

constexpr Check kAbiChecks[] = {
    {"abi.manifest", "The file holds one valid manifest in its ELF note .note.tessera.", manifest,
     Needs::File},
    {"abi.file_name", "The file is named after the manifest.", fileName, Needs::Noted},
    {"abi.loads", "dlopen with RTLD_NOW | RTLD_LOCAL loads it.", loads, Needs::Noted},
    {"abi.export", "It exports tsrPluginQuery.", exportsQuery, Needs::Loaded},
    {"abi.exports_only", "It exports nothing else.", exportsOnly, Needs::Exported},
    {"abi.query", "tsrPluginQuery answers TSR_SUCCESS.", abiQuery, Needs::Exported},
    {"abi.strings", "Every string of the answer is there and printable.", strings, Needs::Queried},
    {"abi.manifest_equals_query", "The manifest says what the code says.", note, Needs::Queried},
    {"abi.numbers", "abi_major, built_minor and needs_minor make sense.", abiNumbers, Needs::Queried},
    {"abi.features", "Features are written as name@version.", features, Needs::Queried},
    {"abi.info_exact", "The query writes no byte past the answer.", infoExact, Needs::Queried},
    {"abi.info_truncated",
     "The query writes no byte past a shorter answer, of an older host.",
     infoTruncated,
     Needs::Queried,
     {},
     "abi.info_exact"},
    {"abi.info_enlarged",
     "A longer answer, of a newer host, is filled as far as the plugin knows it.",
     infoEnlarged,
     Needs::Queried,
     {},
     "abi.info_exact"},
    {"abi.host_minor_older",
     "A host a minor older, no older than needed, gets the same answer.",
     hostOlder,
     Needs::Queried,
     {},
     "abi.info_exact"},
    {"abi.host_minor_newer",
     "A host a minor newer, with longer structs, gets the same answer.",
     hostNewer,
     Needs::Queried,
     {},
     "abi.info_exact"},
    {"abi.host_truncated",
     "The query reads no byte past a shorter tsr_host_info_t.",
     hostTruncated,
     Needs::Queried,
     {},
     "abi.info_exact"},
    {"abi.query_repeats", "Every abiQuery, from any thread, gives the same answer.", queryRepeats,
     Needs::Queried},
    {"abi.tables", "There is a table for each kind and for no other.", tables, Needs::Queried},
    {"abi.interface_version", "Each table is of the major this kit knows.", interfaces, Needs::Queried},
    {"abi.table_size", "Each table's struct_size is its size.", tableSizes, Needs::Queried},
    {"abi.required_slots", "The slots marked [required] are there.", requiredSlots, Needs::Queried},
    {"abi.slot_groups", "Slots that only work together are there together.", slotGroups, Needs::Queried},
};

} // namespace

extern const Group kAbi = {"abi", ~0u, true, kAbiChecks};

} // namespace tessera::kit
