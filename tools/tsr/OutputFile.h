// A file that appears complete or not at all: written without a name in its final directory (or, where the
// file system cannot do that, under a temporary one), then renamed into place. Even a killed process leaves
// nothing behind.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace tessera::cli {

class OutputFile {
public:
  OutputFile() = default;
  OutputFile(OutputFile &&) noexcept;
  OutputFile &operator=(OutputFile &&) = delete;
  ~OutputFile(); // removes what was not committed

  /// Opens the file to be written, so that a directory that cannot be written to is found before any work is
  /// done. A path that exists and is no regular file (a pipe, /dev/null) is opened itself.
  [[nodiscard]] bool open(const std::string &path, std::string &why);
  [[nodiscard]] bool write(std::span<const std::byte> bytes, std::string &why);
  [[nodiscard]] bool write(std::string_view text, std::string &why) {
    return write(std::as_bytes(std::span(text)), why);
  }
  /// Writes what is buffered to the medium; the file is complete and only its name is missing.
  [[nodiscard]] bool finish(std::string &why);
  /// Gives the finished file its name.
  [[nodiscard]] bool commit(std::string &why);

private:
  enum Kind : char { Direct, Nameless, Named };

  std::string path_, temporary_; // temporary_: a name to be removed unless committed; may be empty
  Kind kind_ = Direct;           // Direct: path_ is a device or pipe and is written itself
  int fd_ = -1;
};

} // namespace tessera::cli
