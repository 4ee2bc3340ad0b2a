// `tsr cache`: shows the contents and the location of the compile cache, or empties it.
#include "core/cache/Store.h"
#include "core/support/Escaped.h"
#include "tools/tsr/Commands.h"
#include "tools/tsr/Json.h"
#include "tools/tsr/Report.h"
#include <fmt/format.h>

namespace tessera::cli {
namespace {

int cacheMain(const Arguments &args, const std::string &) {
  const std::string what = args.positional().empty() ? "" : args.positional()[0];
  const cache::Store store = cache::Store::ofEnvironment();
  const cache::Statistics held = store.statistics();
  if (what == "clear") {
    if (auto error = store.clear()) return fail(*error);
    if (!args.has("json")) fmt::print("{} entries deleted, {} bytes\n", held.entries, held.bytes);
  } else if (what != "stat" && what != "path") {
    return fail(Error{"E_OPTION_VALUE",
                      what.empty() ? "tsr cache: what to do is missing"
                                   : fmt::format("tsr cache {}: no such action", what),
                      "stat, clear or path"});
  }
  if (args.has("json"))
    printJson(Json{{"directory", store.directory()},
                   {"entries", what == "clear" ? 0 : held.entries},
                   {"bytes", what == "clear" ? 0 : held.bytes},
                   {"limit", store.limit()}});
  else if (what == "path")
    fmt::print("{}\n", store ? escaped(store.directory()) : "off");
  else if (what == "stat" && !store)
    fmt::print("off\n");
  else if (what == "stat")
    fmt::print("{}: {} entries, {} of {} bytes\n", escaped(store.directory()), held.entries, held.bytes,
               store.limit());
  return exitOk;
}

} // namespace

const Command cacheCommand = {
    {"cache",
     "stat|clear|path [--json]",
     "what the compile cache holds; empty it; where it is",
     "The compile cache keeps compiled code by source, options, compiler and processor (docs/cache.md).",
     {{"json", 0, OptionSpec::Flag, "", "as a JSON document"}},
     1,
     "  tsr cache stat\n  tsr cache clear\n",
     "tsr",
     &commonOptions(),
     {"stat", "clear", "path"}},
    cacheMain};

} // namespace tessera::cli
