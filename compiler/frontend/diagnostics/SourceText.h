// A source file split into lines, addressed from 1. Columns count code points, so that carets line up.
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

  /// Text of a line for display: no line end, control characters and broken UTF-8 replaced. Empty past the
  /// end.
  std::string line(uint32_t number) const;

  /// The first line that holds a NUL or bytes that are not UTF-8, or 0: then this is no text.
  uint32_t firstBrokenLine() const;

private:
  std::string text_, fileName_;
  std::vector<size_t> starts_;
};

} // namespace tessera::frontend
