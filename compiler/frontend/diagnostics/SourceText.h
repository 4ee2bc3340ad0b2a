// A source file split into lines, which are numbered from 1. Columns count code points, so that carets line
// up.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::frontend {

class SourceText {
public:
  SourceText(std::string text, std::string fileName);

  std::string_view text() const { return text_; }
  const std::string &fileName() const { return fileName_; }

  /// Returns the text of a line for display: without its line end, and with control characters and broken
  /// UTF-8 replaced. Empty past the end.
  std::string line(uint32_t number) const;

  /// Returns the first line that contains a NUL or bytes that are not UTF-8; 0 if there is none. Such a file
  /// is not text.
  uint32_t firstBrokenLine() const;

private:
  std::string text_, fileName_;
  std::vector<size_t> starts_;
};

} // namespace tessera::frontend
