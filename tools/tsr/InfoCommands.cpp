// The commands that only tell: backends, explain, version.
#include "core/CompilerService.h"
#include "tools/tsr/Commands.h"
#include "tools/tsr/Options.h"
#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <tessera/tessera.h>

namespace tessera::cli {
namespace {

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

/// Reads the words; true with the exit status set when there is nothing more to do.
bool done(const CommandSpec &spec, std::span<char *const> words, Arguments &args, int &rc) {
  rc = exitOk;
  if (auto e = parseArguments(spec, words, args)) {
    rc = fail(*e);
    return true;
  }
  if (args.wantsHelp()) print(spec.help());
  return args.wantsHelp();
}

const CommandSpec backendsSpec = {
    "backends", "", "Lists every backend, whether it can be used here, and if not, why.",
    {},         0,  "  TESSERA_BACKEND=cpu tsr backends\n"};
const CommandSpec explainSpec = {
    "explain",
    "CODE | --list",
    "Explains an error code: what it means, what usually causes it, how to mend it.",
    {{"list", 0, OptionSpec::Flag, "", "list every code with its title"}},
    1,
    "  tsr explain E_DIM_CLASH\n"};
const CommandSpec versionSpec = {
    "version", "", "Prints the versions of the library, its ABI and the compiler.", {}, 0, ""};

} // namespace

int backendsCommand(std::span<char *const> words) {
  Arguments args;
  int rc;
  if (done(backendsSpec, words, args, rc)) return rc;
  tsr_backend_info_t info = {};
  info.struct_size = sizeof info;
  bool selected = false;
  for (size_t i = 0; tsrGetBackendInfo(i, &info) == TSR_SUCCESS; ++i) {
    selected |= info.selected != 0;
    print(fmt::format("{} {:<10} {:<13} {}\n", info.selected ? '*' : ' ', info.name,
                      info.available
                          ? fmt::format("{} device{}", info.device_count, info.device_count == 1 ? "" : "s")
                          : "not available",
                      info.available ? info.description : info.reason));
  }
  if (selected) return exitOk;
  // TESSERA_BACKEND names none of those that are available; the library says it best.
  tsr_context_t context = nullptr;
  const tsr_status_t status = tsrCreateContext(&context);
  if (status == TSR_SUCCESS) {
    (void)tsrDestroyContext(context);
    return exitOk;
  }
  return fail(Error{status == TSR_ENOTFOUND ? "E_BACKEND_UNKNOWN" : "E_UNIMPLEMENTED", tsrLastError(), ""});
}

int explainCommand(std::span<char *const> words) {
  Arguments args;
  int rc;
  if (done(explainSpec, words, args, rc)) return rc;
  if (args.has("list")) {
    for (const CodeText &c : knownCodes())
      print(fmt::format("{:<24} {}\n", c.code, c.title));
    return exitOk;
  }
  if (args.positional().empty())
    return fail(Error{"E_OPTION_VALUE", "tsr explain needs a code", "for example: tsr explain E_DIM_CLASH"});
  std::string code = args.positional()[0];
  std::transform(code.begin(), code.end(), code.begin(),
                 [](unsigned char c) { return char(std::toupper(c)); });

  std::vector<std::string> names;
  for (const CodeText &c : knownCodes()) {
    names.emplace_back(c.code);
    if (c.code == code) {
      print(fmt::format("{}: {}\n\n{}\n", c.code, c.title, c.text));
      return exitOk;
    }
  }
  auto near = closest(code, names);
  return fail(Error{"E_OPTION_VALUE", fmt::format("no code is called {}", code),
                    near ? fmt::format("did you mean {}?", *near) : "tsr explain --list lists them all"});
}

int versionCommand(std::span<char *const> words) {
  Arguments args;
  int rc;
  if (done(versionSpec, words, args, rc)) return rc;
  uint32_t major = 0, minor = 0;
  tsrAbiVersion(&major, &minor);
  std::string why;
  CompilerService *compiler = loadCompiler(why);
  print(fmt::format("tessera {}\nabi {}.{}\ncompiler {}\n", tsrVersion(), major, minor,
                    compiler ? compiler->version() : fmt::format("not available ({})", why)));
  return exitOk;
}

} // namespace tessera::cli
