// Loads the compiler on first use, so that a process which only launches never maps LLVM.
#include "core/cache/CachedCompiler.h"
#include "core/cache/CompilerObjects.h"
#include "core/service/BuildId.h"
#include "core/service/CompilerGate.h"
#include "core/service/CompilerService.h"
#include "core/support/AddressSpace.h"
#include "core/support/Fork.h"
#include <dlfcn.h>
#include <mutex>
#include <unistd.h>

namespace tessera {
namespace {

constexpr const char *kLibrary = "libtessera-compiler.so";

struct Loaded {
  CompilerService *service = nullptr;
  std::string why;
  LoadedCompiler compiler;
};

struct Once {
  std::mutex mutex;
  HeldAcrossFork heldAcrossFork{mutex};
  Loaded loaded;
};

Once &once() {
  static Once *it = new Once; // never destroyed: a compilation may outlive main()
  return *it;
}

/// The folder of the file `address` was loaded from, with its slash; empty when the loader does not tell.
std::string folderOf(const void *address) {
  Dl_info info;
  if (!address || !dladdr(address, &info) || !info.dli_fname) return "";
  std::string path = info.dli_fname;
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

/// Of libtessera.so, or of the tool that has this file for itself.
std::string ownFolder() { return folderOf(reinterpret_cast<const void *>(&loadCompiler)); }

Loaded load() {
  Loaded out;
  // The initialisers of LLVM's static objects end the process when they find no memory.
  if (!canMap(kLoadBytes)) {
    out.why = "the process has too little memory left to load the compiler: it needs " +
              std::to_string(kLoadBytes >> 20) + " MB of address space (ulimit -v)";
    return out;
  }
  void *library = nullptr;
  std::string tried;
  bool isThere = false;
  for (const std::string &path : {ownFolder() + kLibrary, std::string(kLibrary)}) {
    // Lazy: binding all calls between the compiler, MLIR and LLVM at once would take a third of the start.
    // Local, so that its LLVM meets no other in the process; never unloaded, since its code may be running.
    library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    if (library) break;
    const std::string said = dlerror(), why = "\n  " + said;
    isThere |= !said.starts_with(path + ": cannot open shared object file: No such file or directory");
    if (!tried.ends_with(why)) tried += why; // a program found by PATH does not know its folder: both are one
  }
  if (!library) {
    out.why = isThere ? "the compiler is installed and cannot be loaded:" + tried
                      : "the compiler is not installed (package libtessera-compiler):" + tried;
    return out;
  }
  auto entry = reinterpret_cast<decltype(&tesseraCompilerService)>(dlsym(library, "tesseraCompilerService"));
  if (entry) out.service = entry(TESSERA_BUILD_ID);
  if (!out.service) {
    out.why = std::string(kLibrary) + " is of another build than this libtessera.so (" + TESSERA_BUILD_ID +
              "): install both from one version";
    return out;
  }
  out.compiler.files = cache::objectsOf(reinterpret_cast<const void *>(entry));
  out.service = gatedCompiler(out.service);
  out.compiler.identity = cache::identityOf(out.compiler.files);
  return out;
}

} // namespace

std::string compilerFile() {
  for (const std::string &folder : {ownFolder(), folderOf(dlsym(RTLD_DEFAULT, "tsrCreateContext"))})
    if (!folder.empty() && ::access((folder + kLibrary).c_str(), R_OK) == 0) return folder + kLibrary;
  return "";
}

LoadedCompiler loadedCompiler() {
  std::lock_guard lock(once().mutex);
  return once().loaded.compiler;
}

CompilerService *loadCompiler(std::string &why) {
  std::lock_guard lock(once().mutex);
  Loaded &loaded = once().loaded;
  if (!loaded.service) loaded = load(); // a failure is not kept: the library may be installed meanwhile
  if (!loaded.service) why = loaded.why;
  return loaded.service;
}

} // namespace tessera
