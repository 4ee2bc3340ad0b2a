// Runs lld in this process: links ELF objects in memory to a shared object in memory.
#pragma once
#include "core/support/Expected.h"
#include "llvm/ADT/ArrayRef.h"
#include <string>
#include <string_view>

namespace tessera::emit {

/// A file in memory that lld can open by name while this object lives.
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

/// Runs ld.lld with `words`: options and the paths of inputs, but no -o. Returns the ELF image, or E_BACKEND
/// with lld's messages. Thread-safe; calls run one after the other, since lld keeps global state.
Expected<std::string> link(llvm::ArrayRef<std::string> words);

} // namespace tessera::emit
