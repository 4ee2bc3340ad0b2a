// Writes files at paths that the user gave. The file appears completely or not at all: it is written without
// a name in its final directory, then renamed into place, so that even a killed process leaves nothing
// behind. If the file system has no nameless files, it is written under a temporary name, which a killed
// process leaves behind.
//
// Only regular files are replaced. Devices and pipes are opened and written directly. A symbolic link is
// kept: the file it refers to is replaced. A dangling link is refused.
#pragma once
#include "core/support/Expected.h"
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

/// One output file. Errors have code E_OUTPUT_WRITE and a message that does not name the path.
class OutputFile {
public:
  OutputFile() = default;
  OutputFile(OutputFile &&) noexcept;
  OutputFile &operator=(OutputFile &&) = delete;
  ~OutputFile(); // removes the temporary file if it was not committed

  /// What open() does for a named pipe without a reader: wait for one, or fail.
  enum class Pipe : char { Wait, Refuse };

  /// Opens the file for writing. Calling this before the work is done reveals a directory that is not
  /// writable early.
  [[nodiscard]] MaybeError open(const std::string &path, Pipe unread = Pipe::Wait);
  /// Returns whether the file is a device or a pipe. Its readers receive data before commit().
  bool isStream() const { return kind_ == Direct; }
  [[nodiscard]] MaybeError write(std::span<const std::byte> bytes);
  [[nodiscard]] MaybeError write(std::string_view text) { return write(std::as_bytes(std::span(text))); }
  /// Flushes the data to the medium. After this only the file's name is missing.
  [[nodiscard]] MaybeError finish();
  /// Gives the finished file its name, replacing an existing file.
  [[nodiscard]] MaybeError commit();

private:
  enum Kind : char { Direct, Nameless, Named };

  std::string path_, temporary_; // temporary_: name to remove unless committed; may be empty
  Kind kind_ = Direct;
  int fd_ = -1;
};

/// Opens, writes, finishes and commits one file.
[[nodiscard]] MaybeError writeFile(const std::string &path, std::string_view text);

} // namespace tessera
