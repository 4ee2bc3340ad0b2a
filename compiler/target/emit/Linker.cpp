#include "compiler/target/emit/Linker.h"
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
  /// A name that lld can open.
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

private:
  int fd_;
};

bool writeAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

bool readAll(int fd, std::string &bytes) {
  char buffer[1 << 16];
  for (;;) {
    ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n == 0;
    bytes.append(buffer, static_cast<size_t>(n));
  }
}

/// The input is a memory file. The output is a pipe, which lld fills in one go: beside a regular file it would
/// create a temporary one, and there is no beside in /proc.
bool link(std::string_view object, std::string &image, std::string &messages, bool &usable) {
  Descriptor input(memfd_create("tessera-object", MFD_CLOEXEC));
  int ends[2];
  if (input.get() < 0 || pipe2(ends, O_CLOEXEC) != 0) {
    messages = std::string("memory file for the linker: ") + std::strerror(errno);
    return false;
  }
  Descriptor out(ends[0]), in(ends[1]);
  if (!writeAll(input.get(), object)) {
    messages = std::string("memory file for the linker: ") + std::strerror(errno);
    return false;
  }
  llvm::raw_string_ostream stream(messages);
  std::string inputPath = input.path(), outputPath = in.path();
  std::future<bool> reader = std::async(std::launch::async, [&] { return readAll(out.get(), image); });
  // One thread: an image is small, and a host program's cores are not ours to take.
  const char *args[] = {"ld.lld", "-shared", "--no-undefined", "--threads=1", inputPath.c_str(),
                        "-o",     outputPath.c_str()};
  lld::Result result = lld::lldMain(args, stream, stream, {{lld::Gnu, &lld::elf::link}});
  usable = result.canRunAgain;
  in.reset(); // the reader sees the end
  bool complete = reader.get();
  if (result.retCode == 0 && (!complete || image.empty())) messages = "the linker's output cannot be read back";
  return result.retCode == 0 && complete && !image.empty();
}

} // namespace

bool linkShared(std::string_view object, std::string &image, std::string &why) {
  static std::mutex mutex;
  static bool usable = true; // lld says when its state is beyond reuse
  std::lock_guard lock(mutex);
  image.clear();
  why.clear();
  if (!usable) {
    why = "lld failed earlier in this process and cannot run again";
    return false;
  }
  try {
    if (link(object, image, why, usable)) return true;
  } catch (const std::exception &e) { // no thread to be had, no memory
    why = e.what();
  }
  if (why.empty()) why = "lld failed without saying why";
  return false;
}

} // namespace tessera::emit
