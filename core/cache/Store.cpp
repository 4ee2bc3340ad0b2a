#include "core/cache/Store.h"
#include "core/config/Config.h"
#include "core/config/Names.h"
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace tessera::cache {
namespace {

constexpr char kMagic[8] = {'T', 'S', 'R', 'C', 'A', 'C', 'H', 'E'};
constexpr uint32_t kVersion = 1;
constexpr std::string_view kSuffix = ".entry", kTemporary = ".writing";

struct Header {
  char magic[8];
  uint32_t version, kind;
  Hash128 key;
  uint64_t length;
  Hash128 checksum; // of the bytes after the header
};
static_assert(sizeof(Header) == 56);

class File {
public:
  explicit File(int fd) : fd_(fd) {}
  File(const File &) = delete;
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  int fd() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

private:
  int fd_;
};

bool readAll(int fd, void *to, size_t size) {
  for (auto *at = static_cast<char *>(to); size;) {
    ssize_t n = ::read(fd, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n, size -= static_cast<size_t>(n);
  }
  return true;
}

bool writeAll(int fd, const void *from, size_t size) {
  for (auto *at = static_cast<const char *>(from); size;) {
    ssize_t n = ::write(fd, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    at += n, size -= static_cast<size_t>(n);
  }
  return true;
}

/// Creates directories like mkdir -p. Only the owner can access them, since compiled code may be
/// confidential.
bool makeDirectories(const std::string &path) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    if (::mkdir(path.substr(0, slash).c_str(), 0700) != 0 && errno != EEXIST) return false;
    if (slash == std::string::npos) return true;
  }
}

struct Found {
  std::string path;
  uint64_t bytes;
  timespec used;
};

/// Returns the directory's regular files whose names end in `suffix`.
std::vector<Found> list(const std::string &directory, std::string_view suffix) {
  std::vector<Found> out;
  std::unique_ptr<DIR, int (*)(DIR *)> dir(::opendir(directory.c_str()), ::closedir);
  if (!dir) return out;
  while (const dirent *e = ::readdir(dir.get())) {
    struct stat s;
    if (!std::string_view(e->d_name).ends_with(suffix)) continue;
    if (::fstatat(::dirfd(dir.get()), e->d_name, &s, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(s.st_mode))
      continue;
    out.push_back({directory + "/" + e->d_name, static_cast<uint64_t>(s.st_size), s.st_mtim});
  }
  return out;
}

uint64_t total(const std::vector<Found> &files) {
  uint64_t bytes = 0;
  for (const Found &f : files)
    bytes += f.bytes;
  return bytes;
}

std::string pathOf(const std::string &directory, Hash128 key) {
  return directory + "/" + hexadecimal(key) + std::string(kSuffix);
}

std::string directoryOfEnvironment() {
  if (std::string own = setting("TESSERA_CACHE_DIR").value; !own.empty()) return own == "off" ? "" : own;
  if (std::string xdg = environment("XDG_CACHE_HOME"); xdg.starts_with('/')) return xdg + "/tessera";
  std::string home = environment("HOME");
  return home.starts_with('/') ? home + "/.cache/tessera" : "";
}

/// Returns an error from errno, which the preceding system call on the file `path` has set.
Error fail(const std::string &path) { return {"E_OUTPUT_WRITE", path + ": " + std::strerror(errno), ""}; }

} // namespace

Store Store::ofEnvironment() {
  return Store(directoryOfEnvironment(),
               parseBytes(setting("TESSERA_CACHE_SIZE").value).value_or(kDefaultLimit));
}

std::optional<std::string> Store::get(Hash128 key, Kind kind) const {
  if (directory_.empty()) return std::nullopt;
  const std::string path = pathOf(directory_, key);
  File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) return std::nullopt;
  Header h;
  struct stat s;
  std::string bytes;
  auto isSound = [&] {
    if (::fstat(file.fd(), &s) != 0 || !S_ISREG(s.st_mode) || !readAll(file.fd(), &h, sizeof h)) return false;
    if (std::memcmp(h.magic, kMagic, sizeof kMagic) || h.version != kVersion || !(h.key == key) ||
        h.kind != static_cast<uint32_t>(kind) || h.length != static_cast<uint64_t>(s.st_size) - sizeof h)
      return false;
    bytes.resize(h.length);
    return readAll(file.fd(), bytes.data(), bytes.size()) && hash128(bytes) == h.checksum;
  };
  if (!isSound()) {
    ::unlink(path.c_str());
    return std::nullopt;
  }
  (void)::futimens(file.fd(), nullptr); // marks it as used; a read-only directory still gives a hit
  return bytes;
}

MaybeError Store::put(Hash128 key, Kind kind, std::string_view bytes) const {
  if (directory_.empty()) return std::nullopt;
  if (!makeDirectories(directory_)) return fail(directory_);
  static std::atomic<uint64_t> count{0};
  const std::string path = pathOf(directory_, key);
  const std::string beside = directory_ + "/" + std::to_string(::getpid()) + "-" +
                             std::to_string(reinterpret_cast<uintptr_t>(&count)) + "-" +
                             std::to_string(count++) + std::string(kTemporary);
  {
    File file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file) return fail(beside);
    Header h{{}, kVersion, static_cast<uint32_t>(kind), key, bytes.size(), hash128(bytes)};
    std::memcpy(h.magic, kMagic, sizeof kMagic);
    if (!writeAll(file.fd(), &h, sizeof h) || !writeAll(file.fd(), bytes.data(), bytes.size()) ||
        ::fsync(file.fd()) != 0) {
      Error error = fail(beside);
      ::unlink(beside.c_str());
      return error;
    }
  }
  if (::rename(beside.c_str(), path.c_str()) != 0) {
    Error error = fail(path);
    ::unlink(beside.c_str());
    return error;
  }
  if (looksForSpace(key, sizeof(Header) + bytes.size())) evict();
  return std::nullopt;
}

/// To add up the sizes of all files costs as much as they are many, which is too much for each put. A put
/// looks with a probability that grows with its size, so that in the mean a 64th of the limit is written
/// between two looks, by whatever processes. Keys are hashes and provide the chance.
bool Store::looksForSpace(Hash128 key, uint64_t bytes) const {
  constexpr uint64_t kLooksPerLimit = 64;
  return bytes >= limit_ / kLooksPerLimit || key.low % (limit_ / kLooksPerLimit) < bytes;
}

/// Deletes the least recently used entries. Only one process does this at a time; others return at once. A
/// reader that has a deleted file open can still read it.
void Store::evict() const {
  std::vector<Found> files = list(directory_, kSuffix);
  uint64_t bytes = total(files);
  if (bytes <= limit_) return;
  File lock(::open((directory_ + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock || ::flock(lock.fd(), LOCK_EX | LOCK_NB) != 0) return;
  const auto later = [](const timespec &a, const timespec &b) {
    return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
  };
  std::sort(files.begin(), files.end(), [&](auto &a, auto &b) { return later(a.used, b.used); });
  // Continues to a tenth below the limit, so that not every put has to evict.
  for (const Found &f : files) {
    if (bytes <= limit_ - limit_ / 10) break;
    if (::unlink(f.path.c_str()) == 0) bytes -= f.bytes;
  }
  constexpr time_t kForgotten = 3600; // older files were left by a process that was killed while writing
  for (const Found &f : list(directory_, kTemporary))
    if (::time(nullptr) - f.used.tv_sec > kForgotten) ::unlink(f.path.c_str());
}

Statistics Store::statistics() const {
  const std::vector<Found> files = list(directory_, kSuffix);
  return {files.size(), total(files)};
}

MaybeError Store::clear() const {
  MaybeError error;
  for (std::string_view suffix : {kSuffix, kTemporary})
    for (const Found &f : list(directory_, suffix))
      if (::unlink(f.path.c_str()) != 0 && errno != ENOENT) error = fail(f.path);
  return error;
}

} // namespace tessera::cache
