#include "plugins/cpu/runtime/SharedObject.h"
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <mutex>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace tessera::cpu {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
constexpr const char *kMachineName = "x86-64";
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
constexpr const char *kMachineName = "aarch64";
#else
#error "name this machine's ELF architecture"
#endif

std::string machineName(Elf64_Half machine) {
  switch (machine) {
  case EM_X86_64:
    return "x86-64";
  case EM_AARCH64:
    return "aarch64";
  case EM_RISCV:
    return "riscv";
  case EM_386:
    return "i386";
  case EM_AMDGPU:
    return "an AMD GPU";
  default:
    return "ELF machine " + std::to_string(machine);
  }
}

/// Held while the dynamic linker works. A fork meanwhile would leave the linker's own lock locked in the
/// child, so fork() waits for it. It is registered before the handlers of core, which are therefore run
/// first: a thread that holds a mutex of core may wait for this one, and not the reverse.
constinit std::mutex linking;
[[gnu::constructor(101)]] void holdAcrossForks() {
  constexpr auto unlock = [] { linking.unlock(); };
  pthread_atfork([] { linking.lock(); }, unlock, unlock);
}

struct Library {
  void *handle = nullptr;
  bool open(const std::string &path) {
    const std::lock_guard lock(linking);
    return (handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
  }
  ~Library() {
    if (!handle) return;
    const std::lock_guard lock(linking);
    dlclose(handle);
  }
};

/// Closes the descriptor once the dynamic linker has mapped the file.
struct Descriptor {
  int fd = -1;
  explicit Descriptor(int number) : fd(number) {}
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
};

std::string lastSystemError() { return std::strerror(errno); }

bool writeAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

/// Returns a path by which a debugger can also open the descriptor: in the debugger, /proc/self would be the
/// debugger itself. Every load has a different path, because dlopen treats a known path as the library loaded
/// from it, and descriptor numbers are reused. Each bit of a count adds a slash or a "./", which do not
/// change the meaning.
std::string pathOf(int fd) {
  static std::atomic<uint32_t> loads{0};
  std::string path = "/proc/" + std::to_string(getpid()) + "/fd/";
  for (uint32_t count = loads++; count; count >>= 1)
    path += count & 1 ? "./" : "/";
  return path + std::to_string(fd);
}

/// Moves the file to a number in the upper half of the range. A debugger that attaches later opens whatever
/// the number then refers to; this makes it unlikely to be a pipe of the program.
int withHighNumber(int fd) {
  rlimit most{};
  if (fd < 0 || getrlimit(RLIMIT_NOFILE, &most) != 0) return fd;
  const int high = fcntl(fd, F_DUPFD_CLOEXEC, static_cast<int>(std::min<rlim_t>(most.rlim_cur, 1 << 16) / 2));
  if (high < 0) return fd;
  close(fd);
  return high;
}

int memoryFile() {
#ifdef MFD_EXEC // kernels before 6.3 reject the flag and do not need it
  if (int fd = memfd_create("tessera-image", MFD_CLOEXEC | MFD_EXEC); fd >= 0 || errno != EINVAL) return fd;
#endif
  return memfd_create("tessera-image", MFD_CLOEXEC);
}

bool openInMemory(std::string_view bytes, Library &library, std::string &why) {
  const Descriptor file(withHighNumber(memoryFile()));
  if (file.fd < 0 || !writeAll(file.fd, bytes)) {
    why = "memory file: " + lastSystemError();
    return false;
  }
  if (!library.open(pathOf(file.fd))) why = dlerror();
  return library.handle;
}

bool openAsFile(std::string_view bytes, Library &library, std::string &why) {
  const char *folder = std::getenv("TMPDIR");
  std::string path = std::string(folder && *folder ? folder : "/tmp") + "/tessera-image-XXXXXX";
  int fd = mkostemp(path.data(), O_CLOEXEC);
  if (fd < 0 || !writeAll(fd, bytes)) {
    why = path + ": " + lastSystemError();
  } else {
    if (!library.open(path)) why = dlerror();
  }
  if (fd >= 0) {
    close(fd);
    unlink(path.c_str());
  }
  return library.handle;
}

} // namespace

bool checkSharedObject(std::string_view bytes, std::string &why) {
  Elf64_Ehdr header;
  if (bytes.size() < sizeof header || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0) {
    why = "no ELF file";
    return false;
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    why = "an ELF file that is not 64-bit little-endian";
    return false;
  }
  if (header.e_machine != kMachine) {
    why = "code for " + machineName(header.e_machine) + ", this machine is " + kMachineName;
    return false;
  }
  if (header.e_type != ET_DYN) {
    why = "an ELF file, but no shared object (an object file is linked with ld -shared first)";
    return false;
  }
  auto outside = [&](uint64_t offset, uint64_t length) {
    return offset > bytes.size() || length > bytes.size() - offset;
  };
  uint64_t table = uint64_t{header.e_phnum} * sizeof(Elf64_Phdr);
  bool cut =
      header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 || outside(header.e_phoff, table);
  for (size_t i = 0; !cut && i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, bytes.data() + header.e_phoff + i * sizeof segment, sizeof segment);
    cut = outside(segment.p_offset, segment.p_filesz);
  }
  if (cut)
    why = "a shared object that is cut short: a segment lies outside its " + std::to_string(bytes.size()) +
          " bytes";
  return !cut;
}

std::shared_ptr<void> loadSharedObject(std::string_view bytes, std::string &why, ObjectHome home) {
  if (!checkSharedObject(bytes, why)) return nullptr;
  auto library = std::make_shared<Library>();
  if (home != ObjectHome::TemporaryFile && openInMemory(bytes, *library, why)) return library;
  if (home == ObjectHome::Memory) return nullptr;
  std::string fileWhy;
  auto fromFile = std::make_shared<Library>();
  if (openAsFile(bytes, *fromFile, fileWhy)) return fromFile;
  why += (why.empty() ? "" : "; ") + fileWhy;
  return nullptr;
}

const void *findSymbol(const std::shared_ptr<void> &object, const std::string &symbol) {
  void *handle = static_cast<Library *>(object.get())->handle;
  const void *found = dlsym(handle, symbol.c_str());
  // dlsym also searches the libraries that the object depends on: fmodf is in libm.
  const link_map *own = nullptr;
  Dl_info where;
  bool isOwn = found && dlinfo(handle, RTLD_DI_LINKMAP, &own) == 0 && dladdr(found, &where) &&
               std::strcmp(where.dli_fname, own->l_name) == 0;
  return isOwn ? found : nullptr;
}

} // namespace tessera::cpu
