// lld in this process: ELF objects in memory become a shared object in memory.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include <string>
#include <string_view>

namespace tessera::emit {

/// A file in memory that lld can open by name, for as long as this lives.
class MemoryFile {
public:
  explicit MemoryFile(std::string_view bytes);
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;
  ~MemoryFile();
  bool good() const { return good_; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

private:
  int fd_;
  bool good_ = false;
};

/// Runs ld.lld with `words` (options and the paths of inputs; no -o), which names an ELF image. False with
/// lld's words when it fails. Any thread may call it; calls run one after the other, since lld keeps global
/// state.
[[nodiscard]] bool link(llvm::ArrayRef<std::string> words, std::string &image, std::string &why);

} // namespace tessera::emit
