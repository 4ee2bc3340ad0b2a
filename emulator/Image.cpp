#include "emulator/Image.h"
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

namespace tessera::emulator {
namespace {

/// A file in memory, which is closed at the end. dlopen keeps what it maps.
struct MemoryFile {
  explicit MemoryFile(std::string_view bytes) : fd(memfd_create("tessera-emulated", MFD_CLOEXEC)) {
    for (; fd >= 0 && !bytes.empty();) {
      const ssize_t n = write(fd, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return;
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    isComplete = fd >= 0;
  }
  ~MemoryFile() {
    if (fd >= 0) close(fd);
  }
  const int fd;
  bool isComplete = false;
};

/// dlopen takes a known path for the object that was loaded from it, and descriptors are reused: each load
/// has a path of its own, by slashes that mean nothing.
std::string pathOf(int fd) {
  static thread_local uint32_t loads = 0;
  std::string path = "/proc/" + std::to_string(getpid()) + "/task/" + std::to_string(gettid()) + "/fd/";
  for (uint32_t count = loads++; count; count >>= 1)
    path += count & 1 ? "./" : "/";
  return path + std::to_string(fd);
}

/// Makes the calls tsr_emu_* of this library visible to the images, which do not name it.
void publishCalls() {
  static const bool done = [] {
    Dl_info own;
    if (dladdr(reinterpret_cast<const void *>(&publishCalls), &own))
      dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
    return true;
  }();
  (void)done;
}

bool isSharedObject(std::string_view bytes) {
  Elf64_Ehdr head;
  if (bytes.size() < sizeof head) return false;
  std::memcpy(&head, bytes.data(), sizeof head);
  return std::memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_ident[EI_CLASS] == ELFCLASS64 &&
         head.e_machine == EM_X86_64 && head.e_type == ET_DYN;
}

std::vector<Site> readSites(std::string_view table) {
  std::vector<Site> out;
  while (!table.empty()) {
    std::string_view line = table.substr(0, table.find('\n'));
    table.remove_prefix(std::min(table.size(), line.size() + 1));
    Site &site = out.emplace_back();
    std::string_view fields[4];
    for (std::string_view &field : fields) {
      field = line.substr(0, line.find('\t'));
      line.remove_prefix(std::min(line.size(), field.size() + 1));
    }
    site.file = fields[0], site.operation = fields[3];
    site.line = std::atoi(std::string(fields[1]).c_str());
    site.column = std::atoi(std::string(fields[2]).c_str());
  }
  return out;
}

} // namespace

std::string Site::place() const {
  if (file.empty() || line == 0) return "an operation " + operation + " without a place";
  return file + ":" + std::to_string(line) + ":" + std::to_string(column);
}

std::shared_ptr<const Image> Image::load(std::string_view bytes, std::string &why) {
  if (!isSharedObject(bytes)) {
    why = "the image is no emulated code for this processor (an x86-64 shared object)";
    return nullptr;
  }
  publishCalls();
  const MemoryFile file(bytes);
  if (!file.isComplete) {
    why = std::string("a file in memory for the image: ") + std::strerror(errno);
    return nullptr;
  }
  std::shared_ptr<Image> image(new Image);
  image->object_ = dlopen(pathOf(file.fd).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!image->object_) {
    why = dlerror();
    return nullptr;
  }
  const auto *table = static_cast<const char *>(dlsym(image->object_, "tsr_emu_sites"));
  if (!table) {
    why = "the shared object has no table of sites, so it is no emulated code";
    return nullptr;
  }
  image->sites_ = readSites(table);
  return image;
}

Image::~Image() {
  if (object_) dlclose(object_);
}

Image::Entry Image::find(const std::string &symbol) const {
  return reinterpret_cast<Entry>(dlsym(object_, symbol.c_str()));
}

const Site &Image::site(int32_t number) const {
  static const Site unknown;
  return number >= 0 && static_cast<size_t>(number) < sites_.size() ? sites_[static_cast<size_t>(number)]
                                                                    : unknown;
}

} // namespace tessera::emulator
