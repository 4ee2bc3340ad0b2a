#include "compiler/codegen/emit/Linker.h"
#include "core/support/Fork.h"
#include "lld/Common/Driver.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <future>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

LLD_HAS_DRIVER(elf)

namespace tessera::emit {
namespace {

class Descriptor {
public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  ~Descriptor() { reset(); }
  void reset() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  int get() const { return fd_; }

private:
  int fd_;
};

/// Reads to the end in any case, so that the writer never blocks. Returns false if `bytes` does not hold all
/// of it.
bool readAll(int fd, std::string &bytes) {
  char buffer[1 << 16];
  bool complete = true;
  for (;;) {
    ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n == 0 && complete;
    try {
      if (complete) bytes.append(buffer, static_cast<size_t>(n));
    } catch (const std::bad_alloc &) {
      complete = false;
    }
  }
}

/// The output is a pipe, which lld fills in one write. For a regular file it would create a temporary file in
/// the same folder, and /proc has no such folder.
bool run(llvm::ArrayRef<std::string> words, std::string &image, std::string &messages, bool &usable) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    messages = std::string("a pipe for the linker: ") + std::strerror(errno);
    return false;
  }
  Descriptor out(ends[0]), in(ends[1]);
  llvm::raw_string_ostream stream(messages);
  std::string output = "/proc/self/fd/" + std::to_string(in.get());
  // One thread: an image is small, and the host program may need the other cores.
  std::vector<const char *> arguments = {"ld.lld", "--threads=1", "-o", output.c_str()};
  for (const std::string &word : words)
    arguments.push_back(word.c_str());
  // lld allocates per thread and frees only when the thread ends.
  std::future<lld::Result> linker = std::async(std::launch::async, [&] {
    const lld::Result result = lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
    in.reset(); // the reader sees the end of the pipe
    return result;
  });
  const bool complete = readAll(out.get(), image);
  const lld::Result result = linker.get();
  usable = result.canRunAgain;
  if (result.retCode == 0 && (!complete || image.empty()))
    messages = "the linker's output cannot be read back";
  return result.retCode == 0 && complete && !image.empty();
}

} // namespace

MemoryFile::MemoryFile(std::string_view bytes) : fd_(memfd_create("tessera-link", MFD_CLOEXEC)) {
  while (fd_ >= 0 && !bytes.empty()) {
    ssize_t n = write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  good_ = fd_ >= 0 && bytes.empty();
}

MemoryFile::~MemoryFile() {
  if (fd_ >= 0) close(fd_);
}

namespace {
std::mutex mutex;
[[maybe_unused]] auto &heldAcrossFork = *new HeldAcrossFork(mutex);
} // namespace

Expected<std::string> link(llvm::ArrayRef<std::string> words) {
  static bool usable = true; // lld's state is invalid after a crash
  std::lock_guard lock(mutex);
  if (!usable) return Error{"E_BACKEND", "the linker crashed earlier in this process", ""};
  std::string image, messages;
  try {
    if (run(words, image, messages, usable)) return image;
  } catch (const std::exception &e) { // the thread cannot be started, or memory is exhausted
    messages = e.what();
  }
  return Error{"E_BACKEND", messages.empty() ? "lld failed without a message" : messages, ""};
}

} // namespace tessera::emit
