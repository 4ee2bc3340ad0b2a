// layout-docs PAGE -o FILE: copies PAGE and regenerates what lies between the lines "<!-- instructions -->"
// or
// "<!-- drawings -->" and the line "<!-- end -->" from the table of matrix instructions.
#include "compiler/layout/Drawing.h"
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>

namespace {

int rewrite(const char *page, const char *result) {
  std::ifstream in(page);
  std::ostringstream out;
  size_t found = 0;
  bool isGenerated = false;
  for (std::string line; std::getline(in, line);) {
    if (line == "<!-- end -->") isGenerated = false;
    if (!isGenerated) out << line << "\n";
    if (line == "<!-- instructions -->") out << "\n" << tessera::layout::fragmentTable() << "\n";
    if (line == "<!-- drawings -->") out << "\n" << tessera::layout::fragmentDrawings() << "\n";
    if (line == "<!-- instructions -->" || line == "<!-- drawings -->") {
      isGenerated = true;
      ++found;
    }
  }
  if (found != 2 || isGenerated) {
    std::cerr << page << ": expected the markers 'instructions' and 'drawings', each followed by 'end'\n";
    return 1;
  }
  in.close();
  return std::ofstream(result) << out.str() ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  if (argc == 4 && std::strcmp(argv[2], "-o") == 0) return rewrite(argv[1], argv[3]);
  std::cerr << "usage: layout-docs PAGE -o FILE\n";
  return 1;
}
