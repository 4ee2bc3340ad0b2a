// docs/language.md has every name that the compiler accepts.
#include "compiler/frontend/sema/Names.h"
#include "compiler/frontend/test/TestSupport.h"
#include "compiler/ops/Functions.h"
#include "numerics/DTypeAliases.h"
#include <cctype>
#include <fstream>
#include <set>
#include <span>

namespace tessera::frontend::test {
namespace {

/// The words of the page's code, spans and blocks alike, with the dots inside: "ts", "ts.tile.exp", "exp".
std::set<std::string> wordsOfCode() {
  std::ifstream file(TESSERA_LANGUAGE_PAGE);
  std::set<std::string> out;
  bool isBlock = false, isCheck = false; // a check is no program of the language
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("```")) {
      isBlock = !isBlock;
      isCheck = line.starts_with("```check");
      continue;
    }
    if (isCheck) continue;
    bool isCode = isBlock;
    std::string word;
    for (char c : line + " ") {
      if (std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.') {
        word += c;
        continue;
      }
      if (isCode) { // "math.pi" is also "pi" of a table's "math.sqrt math.exp"
        out.insert(word);
        for (size_t dot = word.find('.'); dot != std::string::npos; dot = word.find('.', dot + 1))
          out.insert(word.substr(dot + 1));
      }
      word.clear();
      isCode ^= c == '`' && !isBlock;
    }
  }
  return out;
}

TEST(DocumentedNames, AreAllThatTheCompilerAccepts) {
  const std::set<std::string> documented = wordsOfCode();
  ASSERT_GT(documented.size(), 200u) << TESSERA_LANGUAGE_PAGE;
  auto expect = [&](const std::string &name) {
    EXPECT_TRUE(documented.contains(name)) << name << " is not in docs/language.md";
  };
  for (const ops::LanguageFunction &f : ops::allFunctions()) {
    const std::string_view module = f.module;
    const bool isShort = module.empty() || module == "tile" || module == "op";
    expect(isShort ? f.name : std::string(module) + "." + f.name);
  }
  for (const char *name : {"pi", "e", "tau", "inf", "nan"}) {
    ASSERT_TRUE(ops::findConstant("math", name));
    expect(std::string("math.") + name);
  }
  for (const DTypeInfo &d : allDTypes())
    expect(d.name);
  for (const auto &[alias, dtype] : dtypeAliases())
    expect(std::string(alias));
  for (const char *name : {"tile", "op", "group", "dist"}) {
    ASSERT_FALSE(ops::findSubmodule("tessera", name).empty());
    expect(std::string("ts.") + name);
  }
  for (std::string_view name : names::kDecorators)
    expect(std::string(name));
  for (std::string_view name : names::kTypes)
    expect("ts." + std::string(name));
  for (std::span<const std::string_view> list :
       {std::span<const std::string_view>(names::kAttributes),
        std::span<const std::string_view>(names::kPolicies),
        std::span<const std::string_view>(names::kRoundingModes),
        std::span<const std::string_view>(names::kSwizzles),
        std::span<const std::string_view>(names::kOrders), std::span<const std::string_view>(names::kScopes)})
    for (std::string_view name : list)
      expect(std::string(name));
  for (const auto &[method, function] : names::kMethods)
    expect(std::string("x.") + std::string(method));
}

} // namespace
} // namespace tessera::frontend::test
