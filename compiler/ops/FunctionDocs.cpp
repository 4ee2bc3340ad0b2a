// function-docs PAGE -o FILE: copies PAGE and regenerates its tables of functions from Functions.def. A table
// follows the line "<!-- functions of kernels -->" or "<!-- functions of graph functions -->" and ends at the
// next blank line.
// function-docs --python -o FILE: writes the functions and the dtypes as a module of Python.
#include "compiler/ops/Functions.h"
#include "numerics/DTypeAliases.h"
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

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text)
    out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "\"";
}

int writePython(const char *result) {
  std::ofstream out(result);
  out << "\"\"\"Made by function-docs from compiler/ops/Functions.def and numerics/DType.cpp.\"\"\"\n\n"
         "# module, name, arguments in kernels and in graph functions (\"\": it is not called there), what "
         "it gives\n"
         "OPERATIONS = (\n";
  for (const LanguageFunction &f : allFunctions()) {
    auto arguments = [&](Place place) {
      return f.isIn(place) ? quoted(shownArguments(f.signature(place))) : "\"\"";
    };
    out << "    (" << quoted(f.module) << ", " << quoted(f.name) << ", " << arguments(Kernels) << ", "
        << arguments(Graphs) << ", " << quoted(f.doc) << "),\n";
  }
  out << ")\nDTYPES = (";
  for (const DTypeInfo &d : allDTypes())
    out << quoted(d.name) << ", ";
  out << ")\nALIASES = {\n";
  for (const auto &[alias, dtype] : dtypeAliases())
    out << "    " << quoted(alias) << ": " << quoted(name(dtype)) << ",\n";
  out << "}\n";
  return out.flush() ? 0 : 1;
}

} // namespace
} // namespace tessera::ops

int main(int argc, char **argv) {
  if (argc == 4 && std::strcmp(argv[2], "-o") == 0)
    return std::strcmp(argv[1], "--python") == 0 ? tessera::ops::writePython(argv[3])
                                                 : tessera::ops::rewrite(argv[1], argv[3]);
  std::cerr << "usage: function-docs PAGE|--python -o FILE\n";
  return 1;
}
