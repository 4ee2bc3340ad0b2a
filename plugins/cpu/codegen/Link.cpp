// Objects to one shared object, by LLD in this process.
#include "compiler/target/emit/Linker.h"
#include "plugins/cpu/codegen/Target.h"
#include "llvm/ADT/STLExtras.h"
#include <cerrno>
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <memory>

namespace tessera::cpu {
namespace {

/// The file of the library that holds `function`.
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

} // namespace

bool linkShared(llvm::ArrayRef<std::string> objects, llvm::ArrayRef<std::string> symbols, std::string &bytes,
                std::string &why) {
  std::vector<std::unique_ptr<emit::MemoryFile>> inputs;
  for (const std::string &object : objects)
    inputs.push_back(std::make_unique<emit::MemoryFile>(object));
  emit::MemoryFile script(exportsOnly(symbols));
  if (!script.good() || !llvm::all_of(inputs, [](auto &file) { return file->good(); })) {
    why = std::string("no memory file for the linker: ") + strerror(errno);
    return false;
  }
  // Named "_init" a kernel would be run by the dynamic linker; these options look for a name no kernel has.
  std::vector<std::string> words;
  for (const char *word :
       {"-shared", "-Bsymbolic", "-z", "now", "-z", "defs", "-s", "--gc-sections", "--hash-style=gnu",
        "--build-id=none", "--as-needed", "-init=.none", "-fini=.none"})
    words.push_back(word);
  words.push_back("--version-script=" + script.path());
  for (auto &input : inputs)
    words.push_back(input->path());
  // memset and memcpy may stand for loops, fma and fmaf for the instruction on processors without it.
  words.push_back(
      libraryOf(reinterpret_cast<const void *>(static_cast<double (*)(double, double, double)>(&::fma))));
  words.push_back(libraryOf(reinterpret_cast<const void *>(&::gnu_get_libc_version)));
  return emit::link(words, bytes, why);
}

} // namespace tessera::cpu
