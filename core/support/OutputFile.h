// The one way to write a file whose path somebody gave. It appears complete or not at all: written without a
// name in its final directory (or, where the file system cannot do that, under a temporary one), then renamed
// into place. Even a killed process leaves nothing there.
//
// Only regular files are replaced. A device or a pipe is opened and written itself. A symbolic link stays:
// the file it leads to is replaced; a link that leads nowhere is refused.
#pragma once
#include "core/support/Expected.h"
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

/// Errors are of code E_OUTPUT_WRITE, with a message that does not name the path.
class OutputFile {
public:
  OutputFile() = default;
  OutputFile(OutputFile &&) noexcept;
  OutputFile &operator=(OutputFile &&) = delete;
  ~OutputFile(); // removes what was not committed

  /// What opening a named pipe that nobody reads does.
  enum class Pipe : char { Wait, Refuse };

  /// Opens the file to be written, so that a directory that cannot be written to is found before any work is
  /// done.
  [[nodiscard]] MaybeError open(const std::string &path, Pipe unread = Pipe::Wait);
  /// Is it a device or a pipe? What is written reaches its readers at once.
  bool isStream() const { return kind_ == Direct; }
  [[nodiscard]] MaybeError write(std::span<const std::byte> bytes);
  [[nodiscard]] MaybeError write(std::string_view text) { return write(std::as_bytes(std::span(text))); }
  /// Writes what is buffered to the medium; the file is complete and only its name is missing.
  [[nodiscard]] MaybeError finish();
  /// Gives the finished file its name.
  [[nodiscard]] MaybeError commit();

private:
  enum Kind : char { Direct, Nameless, Named };

  std::string path_, temporary_; // temporary_: a name to be removed unless committed; may be empty
  Kind kind_ = Direct;
  int fd_ = -1;
};

/// Opens, writes, finishes and commits one file.
[[nodiscard]] MaybeError writeFile(const std::string &path, std::string_view text);

} // namespace tessera
