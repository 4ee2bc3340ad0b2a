// The commands that only print information: explain, version.
#include "core/service/CompilerLoader.h"
#include "core/service/CompilerService.h"
#include "tools/tsr/Commands.h"
#include "tools/tsr/Examples.h"
#include "tools/tsr/Json.h"
#include <algorithm>
#include <fmt/format.h>
#include <tessera/tessera.h>

namespace tessera::cli {
namespace {

const OptionSpec jsonOption = {"json", 0, OptionSpec::Flag, "", "as a JSON document"};

Json describe(const CodeText &c) {
  Json out = {{"code", c.code}, {"title", c.title}, {"text", c.text}};
  if (const CodeExample *example = exampleOf(c.code))
    out["example"] = {{"kind", example->kind}, {"text", example->text}};
  return out;
}

void printExplanation(const CodeText &c) {
  fmt::print("{}: {}\n\n{}\n", c.code, c.title, c.text);
  if (const CodeExample *example = exampleOf(c.code)) fmt::print("\n{}", example->text);
}

int explainAll(bool json) {
  Json list = Json::array();
  for (const CodeText &c : knownCodes())
    if (json)
      list.push_back(describe(c));
    else
      fmt::print("{:<24} {}\n", c.code, c.title);
  if (json) printJson(list);
  return exitOk;
}

int explain(const Arguments &args, const std::string &) {
  if (args.has("list")) return explainAll(args.has("json"));
  if (args.positional().empty())
    return fail(Error{"E_OPTION_VALUE", "tsr explain needs a code", "for example: tsr explain E_DIM_CLASH"});
  std::string code = args.positional()[0];
  std::transform(code.begin(), code.end(), code.begin(),
                 [](unsigned char c) { return char(std::toupper(c)); });

  std::vector<std::string> names;
  for (const CodeText &c : knownCodes()) {
    names.emplace_back(c.code);
    if (c.code != code) continue;
    if (args.has("json"))
      printJson(describe(c));
    else
      printExplanation(c);
    return exitOk;
  }
  auto near = closest(code, names);
  return fail(Error{"E_OPTION_VALUE", fmt::format("no code is called {}", code),
                    near ? fmt::format("did you mean {}?", *near) : "tsr explain --list lists them all"});
}

int version(const Arguments &args, const std::string &) {
  uint32_t major = 0, minor = 0;
  tsrAbiVersion(&major, &minor);
  const std::string abi = fmt::format("{}.{}", major, minor);
  auto compiler = loadCompiler();
  if (args.has("json")) {
    Json j = {{"tessera", tsrVersion()}, {"abi", abi}, {"compiler", nullptr}};
    if (compiler)
      j["compiler"] = (*compiler)->version();
    else
      j["reason"] = compiler.error().message;
    printJson(j);
  } else {
    fmt::print("tessera {}\nabi {}\ncompiler {}\n", tsrVersion(), abi,
               compiler ? (*compiler)->version()
                        : fmt::format("not available ({})", compiler.error().message));
  }
  return exitOk;
}

} // namespace

const Command explainCommand = {
    {"explain",
     "CODE | --list",
     "what an error code means and what to do about it",
     "Explains an error code: what it means, what usually causes it, how to fix it, and an example of what "
     "is "
     "wrong and\nwhat is right.",
     {{"list", 0, OptionSpec::Flag, "", "list every code with its title"}, jsonOption},
     1,
     "  tsr explain E_DIM_CLASH\n"},
    explain};

const Command versionCommand = {{"version",
                                 "[--json]",
                                 "versions of the library, the ABI and the compiler",
                                 "Prints the versions of the library, its ABI and the compiler.",
                                 {jsonOption},
                                 0,
                                 ""},
                                version};

} // namespace tessera::cli
