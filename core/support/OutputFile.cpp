#include "core/support/OutputFile.h"
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace tessera {
namespace {

Error cannotWrite(std::string why) { return {"E_OUTPUT_WRITE", std::move(why), ""}; }

/// Returns an error from errno, which the preceding system call has set.
Error failed() { return cannotWrite(std::strerror(errno)); }

MaybeError failedUnless(bool good) { return good ? MaybeError() : failed(); }

/// Returns a name beside `path` that is unique in this process.
std::string beside(const std::string &path) {
  static std::atomic<uint64_t> count{0};
  return path + "." + std::to_string(::getpid()) + "-" + std::to_string(count++);
}

Expected<int> openStream(const std::string &path, bool isPipe, OutputFile::Pipe unread) {
  const int flags = O_WRONLY | O_CLOEXEC | O_NOCTTY;
  const bool refuses = isPipe && unread == OutputFile::Pipe::Refuse;
  const int fd = ::open(path.c_str(), refuses ? flags | O_NONBLOCK : flags);
  if (fd < 0) return refuses && errno == ENXIO ? cannotWrite("it is a pipe that nobody reads") : failed();
  if (refuses) ::fcntl(fd, F_SETFL, flags & O_ACCMODE);
  return fd;
}

} // namespace

OutputFile::OutputFile(OutputFile &&o) noexcept
    : path_(std::move(o.path_)), temporary_(std::exchange(o.temporary_, "")), kind_(o.kind_),
      fd_(std::exchange(o.fd_, -1)) {}

OutputFile::~OutputFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

MaybeError OutputFile::open(const std::string &path, Pipe unread) {
  path_ = path;
  struct stat st;
  const bool exists = ::stat(path.c_str(), &st) == 0;
  if (exists && S_ISDIR(st.st_mode)) return cannotWrite(std::strerror(EISDIR));
  if (exists && !S_ISREG(st.st_mode)) {
    auto stream = openStream(path, S_ISFIFO(st.st_mode), unread);
    if (!stream) return std::move(stream.error());
    fd_ = *stream;
    return std::nullopt;
  }
  struct stat itself;
  if (!exists && ::lstat(path.c_str(), &itself) == 0 && S_ISLNK(itself.st_mode))
    return cannotWrite("it is a symbolic link to a file that does not exist");
  // A read-only file is not replaced, although rename() would allow it.
  if (exists && ::access(path.c_str(), W_OK) != 0) return failed();
  // Resolves symbolic links, so that a link is kept and its target is replaced.
  if (char *resolved = exists ? ::realpath(path.c_str(), nullptr) : nullptr) {
    path_ = resolved;
    std::free(resolved);
  }
  const size_t slash = path_.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  kind_ = Nameless;
  fd_ = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (fd_ < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
    kind_ = Named;
    const std::string name = beside(path_);
    fd_ = ::open(name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    if (fd_ >= 0) temporary_ = name;
  }
  if (fd_ < 0) return failed();
  return failedUnless(!exists || ::fchmod(fd_, st.st_mode & 07777) == 0);
}

MaybeError OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed();
    bytes = bytes.subspan(size_t(n));
  }
  return std::nullopt;
}

MaybeError OutputFile::finish() {
  if (kind_ != Direct) return failedUnless(::fsync(fd_) == 0);
  return failedUnless(::close(std::exchange(fd_, -1)) == 0);
}

MaybeError OutputFile::commit() {
  if (kind_ == Direct) return std::nullopt;
  if (kind_ == Nameless) { // linkat() cannot replace a file, but rename() can
    const std::string source = "/proc/self/fd/" + std::to_string(fd_);
    const std::string name = beside(path_);
    if (::linkat(AT_FDCWD, source.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0) return failed();
    temporary_ = name;
  }
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) return failed();
  temporary_.clear();
  return std::nullopt;
}

MaybeError writeFile(const std::string &path, std::string_view text) {
  OutputFile file;
  MaybeError error = file.open(path);
  if (!error) error = file.write(text);
  if (!error) error = file.finish();
  if (!error) error = file.commit();
  return error;
}

} // namespace tessera
