// A table of results, printed as text and recorded as Markdown.
#pragma once
#include <string>
#include <vector>

namespace tessera::bench {

struct Table {
  std::string title;
  std::vector<std::string> notes; // how it was measured, one sentence each
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  bool ok = true; // false: a result was wrong

  std::string text() const;
  std::string markdown() const;
};

} // namespace tessera::bench
