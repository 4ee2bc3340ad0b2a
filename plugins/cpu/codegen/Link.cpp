// Links objects into one shared object, or into one object, with LLD in this process.
#include "compiler/codegen/emit/Linker.h"
#include "plugins/cpu/codegen/CpuTarget.h"
#include "plugins/cpu/codegen/products/Archive.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/ObjCopy/ConfigManager.h"
#include "llvm/ObjCopy/ObjCopy.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <cmath>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <gnu/libc-version.h>

namespace tessera::cpu {
namespace {

/// Returns the file of the library that contains `function`.
std::string libraryOf(const void *function) {
  Dl_info info;
  return dladdr(function, &info) && info.dli_fname ? info.dli_fname : "";
}

std::string exportsOnly(llvm::ArrayRef<std::string> symbols) {
  std::string script = "{ global: ";
  for (const std::string &symbol : symbols)
    script += '"' + symbol + "\"; ";
  return script + "local: *; };";
}

Error noMemoryFile() {
  return {"E_BACKEND", std::string("no memory file for the linker: ") + strerror(errno), ""};
}

/// Does an object name a body? Most do not, and the archive need not be copied for them.
bool callsProducts(llvm::StringRef object) { return object.contains("tsr.p."); }

/// Runs the linker with `words`, followed by the objects and the bodies of products for the target.
Expected<std::string> linkObjects(llvm::ArrayRef<std::string> objects, std::vector<std::string> words,
                                  const CpuTarget &target) {
  std::deque<emit::MemoryFile> inputs;
  for (const std::string &object : objects) {
    if (!inputs.emplace_back(object).good()) return noMemoryFile();
    words.push_back(inputs.back().path());
  }
  for (const product::Archive &archive : product::archives()) {
    if (archive.level != target.productLevel || llvm::none_of(objects, callsProducts)) continue;
    if (!inputs.emplace_back(archive.bytes).good()) return noMemoryFile();
    words.push_back(inputs.back().path());
  }
  return emit::link(words);
}

/// Makes everything but the kernels local to the object: a program may link objects for several instruction
/// levels, or of several versions of Tessera, whose bodies have the same names.
Expected<std::string> localizeInternals(llvm::StringRef object) {
  auto failed = [](llvm::Error error) {
    return Error{"E_BACKEND", "cannot localize symbols: " + llvm::toString(std::move(error)), ""};
  };
  auto binary = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "joined"));
  if (!binary) return failed(binary.takeError());
  auto names = llvm::objcopy::NameOrPattern::create("tsr.*", llvm::objcopy::MatchStyle::Wildcard,
                                                    [](llvm::Error error) { return error; });
  llvm::objcopy::ConfigManager config;
  if (auto error = config.Common.SymbolsToLocalize.addMatcher(std::move(names)))
    return failed(std::move(error));
  config.ELF.LocalizeHidden = true;
  std::string bytes;
  llvm::raw_string_ostream out(bytes);
  if (auto error = llvm::objcopy::executeObjcopyOnBinary(config, **binary, out))
    return failed(std::move(error));
  return bytes;
}

/// Cuts off what follows the last segment: zeros in place of the section headers that the linker left out.
std::string endingWithSegments(std::string image) {
  using namespace llvm::ELF;
  Elf64_Ehdr header;
  std::memcpy(&header, image.data(), sizeof(header));
  uint64_t end = 0;
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, image.data() + header.e_phoff + i * sizeof(segment), sizeof(segment));
    end = std::max(end, segment.p_offset + segment.p_filesz);
  }
  image.resize(end);
  return image;
}

} // namespace

Expected<std::string> linkShared(llvm::ArrayRef<std::string> objects, llvm::ArrayRef<std::string> symbols,
                                 const CpuTarget &target) {
  emit::MemoryFile script(exportsOnly(symbols));
  if (!script.good()) return noMemoryFile();
  std::vector<std::string> words;
  // What loads an image needs no section headers; they are 1 KiB of each.
  for (const char *word : {"-shared", "-Bsymbolic", "-z", "now", "-z", "defs", "-z", "nosectionheader", "-s",
                           "--gc-sections", "--hash-style=gnu", "--build-id=none", "--as-needed"})
    words.push_back(word);
  words.push_back("--version-script=" + script.path());
  // libc for memset and memcpy, which may replace loops; libm for fmod.
  words.push_back(
      libraryOf(reinterpret_cast<const void *>(static_cast<double (*)(double, double, double)>(&::fma))));
  words.push_back(libraryOf(reinterpret_cast<const void *>(&::gnu_get_libc_version)));
  Expected<std::string> image = linkObjects(objects, std::move(words), target);
  return image ? endingWithSegments(*std::move(image)) : std::move(image);
}

Expected<std::string> joinObjects(llvm::ArrayRef<std::string> objects, const CpuTarget &target) {
  if (objects.size() == 1 && !callsProducts(objects[0])) return objects[0];
  Expected<std::string> joined = linkObjects(objects, {"--relocatable"}, target);
  return joined ? localizeInternals(*joined) : std::move(joined);
}

} // namespace tessera::cpu
