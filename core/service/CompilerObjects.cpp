#include "core/service/CompilerObjects.h"
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <link.h>
#include <string_view>
#include <sys/stat.h>

namespace tessera {
namespace {

struct Object {
  std::string path, soname;
  std::vector<std::string> needed;
  bool isSought = false; // contains the address
};

struct Search {
  uintptr_t address;
  std::vector<Object> found;
};

/// Called with the dynamic linker's lock held, so no object is unloaded while it is read.
int visit(dl_phdr_info *info, size_t, void *user) noexcept {
  auto &search = *static_cast<Search *>(user);
  Object object;
  object.path = info->dlpi_name ? info->dlpi_name : "";
  const ElfW(Dyn) *dynamic = nullptr;
  for (const ElfW(Phdr) *p = info->dlpi_phdr; p != info->dlpi_phdr + info->dlpi_phnum; ++p) {
    const uintptr_t begin = info->dlpi_addr + p->p_vaddr;
    if (p->p_type == PT_DYNAMIC) dynamic = reinterpret_cast<const ElfW(Dyn) *>(begin);
    if (p->p_type == PT_LOAD && search.address >= begin && search.address - begin < p->p_memsz)
      object.isSought = true;
  }
  if (object.path.empty() || !dynamic) return 0; // the program itself, or an object mapped by the kernel
  uintptr_t strings = 0;
  for (const ElfW(Dyn) *d = dynamic; d->d_tag != DT_NULL; ++d)
    if (d->d_tag == DT_STRTAB) strings = d->d_un.d_ptr;
  if (!strings) return 0;
  if (strings < info->dlpi_addr) strings += info->dlpi_addr; // on some machines it is not relocated
  for (const ElfW(Dyn) *d = dynamic; d->d_tag != DT_NULL; ++d) {
    const char *text = reinterpret_cast<const char *>(strings + d->d_un.d_val);
    if (d->d_tag == DT_SONAME) object.soname = text;
    if (d->d_tag == DT_NEEDED) object.needed.emplace_back(text);
  }
  search.found.push_back(std::move(object));
  return 0;
}

std::string absolute(const std::string &path) {
  std::error_code ignored;
  return std::filesystem::absolute(path, ignored).string();
}

} // namespace

std::vector<std::string> objectsOf(const void *address) {
  Search search{reinterpret_cast<uintptr_t>(address), {}};
  ::dl_iterate_phdr(visit, &search);
  std::vector<std::string> out;
  for (const Object &object : search.found) {
    if (!object.isSought) continue;
    out.push_back(absolute(object.path));
    for (const std::string &name : object.needed)
      for (const Object &other : search.found)
        if (other.soname == name || other.path == name || other.path.ends_with('/' + name)) {
          out.push_back(absolute(other.path));
          break;
        }
  }
  return out;
}

std::string identityOf(const std::vector<std::string> &files) {
  std::string out;
  for (const std::string &file : files) {
    struct stat s;
    if (::stat(file.c_str(), &s) != 0) return "";
    out += file;
    out += '\0';
    for (int64_t v :
         {int64_t(s.st_size), int64_t(s.st_ino), int64_t(s.st_mtim.tv_sec), int64_t(s.st_mtim.tv_nsec)})
      out += std::to_string(v) + ' ';
  }
  return out;
}

} // namespace tessera
