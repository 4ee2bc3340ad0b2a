// function-docs PAGE -o FILE: copies PAGE and regenerates its tables of functions from Functions.def. A table
// follows the line "<!-- functions of kernels -->" or "<!-- functions of graph functions -->" and ends at the
// next blank line.
#include "compiler/ops/Functions.h"
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <utility>

namespace tessera::ops {
namespace {

/// Returns "sum" for ts.sum, "group.sum", "math.sqrt".
std::string shownName(const LanguageFunction &f) {
  const std::string_view module = f.module;
  const bool isShort = module == "tile" || module == "op" || module.empty();
  return (isShort ? "" : std::string(module) + ".") + f.name;
}

std::string shownArguments(const Signature &signature) {
  std::string out = "(";
  for (size_t i = 0; i < signature.size(); ++i) {
    const Argument a = signature[i];
    out += (i ? ", " : "") + std::string(a.name);
    if (a.optional()) out += "=" + std::string(a.otherwise);
  }
  return out + (signature.takesAny() ? "...)" : ")");
}

void writeTable(std::ostream &out, Place place) {
  struct Row {
    std::vector<std::string> names;
    std::string arguments, doc;
  };
  std::vector<Row> rows;
  for (const LanguageFunction &f : allFunctions()) {
    if (!f.isIn(place) || !*f.doc) continue;
    const std::string name = shownName(f), arguments = shownArguments(f.signature(place));
    if (rows.empty() || rows.back().arguments != arguments || rows.back().doc != f.doc)
      rows.push_back({{}, arguments, f.doc});
    std::vector<std::string> &names = rows.back().names;
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  out << "| function | what it gives |\n| --- | --- |\n";
  for (const Row &row : rows) {
    out << "| `";
    for (size_t i = 0; i < row.names.size(); ++i)
      out << (i ? " " : "") << row.names[i];
    out << row.arguments << "` | " << row.doc << " |\n";
  }
}

int rewrite(const char *page, const char *result) {
  static constexpr std::pair<std::string_view, Place> kTables[] = {
      {"<!-- functions of kernels -->", Kernels}, {"<!-- functions of graph functions -->", Graphs}};
  std::ifstream in(page);
  std::ostringstream out;
  size_t found = 0;
  bool isTable = false;
  for (std::string line; std::getline(in, line);) {
    if (!isTable) out << line << "\n";
    if (isTable && line.empty()) {
      isTable = false;
      out << "\n";
    }
    for (const auto &[marker, place] : kTables)
      if (line == marker) {
        isTable = true;
        ++found;
        writeTable(out, place);
      }
  }
  if (found != std::size(kTables)) {
    std::cerr << page << ": " << found << " of " << std::size(kTables) << " markers found\n";
    return 1;
  }
  in.close();
  std::ofstream(result) << out.str();
  return 0;
}

} // namespace
} // namespace tessera::ops

int main(int argc, char **argv) {
  if (argc == 4 && std::strcmp(argv[2], "-o") == 0) return tessera::ops::rewrite(argv[1], argv[3]);
  std::cerr << "usage: function-docs PAGE -o FILE\n";
  return 1;
}
