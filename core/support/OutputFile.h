// The one way to write a file whose path somebody gave. It appears complete or not at all: written without a
// name in its final directory (or, where the file system cannot do that, under a temporary one), then renamed
// into place. Even a killed process leaves nothing there.
//
// Only regular files are replaced. A device or a pipe is opened and written itself. A symbolic link stays:
// the file it leads to is replaced; a link that leads nowhere is refused.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

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
  [[nodiscard]] bool open(const std::string &path, std::string &why, Pipe unread = Pipe::Wait);
  /// Is it a device or a pipe? What is written reaches its readers at once.
  bool isStream() const { return kind_ == Direct; }
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
  Kind kind_ = Direct;
  int fd_ = -1;
};

} // namespace tessera
