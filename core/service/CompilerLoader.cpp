#include "core/service/CompilerLoader.h"
#include "core/service/BuildId.h"
#include "core/service/CodegenPlugins.h"
#include "core/service/CompilerGate.h"
#include "core/service/CompilerObjects.h"
#include "core/support/AddressSpace.h"
#include "core/support/Fork.h"
#include <dlfcn.h>
#include <mutex>
#include <unistd.h>

namespace tessera {
namespace {

constexpr const char *kLibrary = "libtessera-compiler.so";

struct Loaded {
  CompilerService *service;
  LoadedCompiler compiler;
};

struct Once {
  std::mutex mutex;
  HeldAcrossFork heldAcrossFork{mutex};
  Loaded loaded{};
};

Once &once() {
  static Once *it = new Once; // never destroyed: a compilation may outlive main()
  return *it;
}
[[maybe_unused]] const Once &madeOnce = once(); // when the library is loaded: see HeldAcrossFork

/// Returns the folder of the file that contains `address`, with a trailing slash; "" if the dynamic linker
/// does not know it.
std::string folderOf(const void *address) {
  Dl_info info;
  if (!address || !dladdr(address, &info) || !info.dli_fname) return "";
  std::string path = info.dli_fname;
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

/// Returns the folder of libtessera.so, or of the tool that links this file.
std::string ownFolder() { return folderOf(reinterpret_cast<const void *>(&loadCompiler)); }

Error noCompiler(std::string message, std::string hint) {
  return {"E_NO_COMPILER", std::move(message), std::move(hint)};
}

Expected<Loaded> load() {
  // The initialisers of LLVM's static objects terminate the process when memory runs out.
  if (!canMap(kLoadBytes))
    return Error{"E_OUT_OF_MEMORY",
                 "the process has too little memory left to load the compiler: it needs " +
                     std::to_string(kLoadBytes >> 20) + " MB of address space (ulimit -v)",
                 ""};
  void *library = nullptr;
  std::string tried;
  bool isThere = false;
  for (const std::string &path : {ownFolder() + kLibrary, std::string(kLibrary)}) {
    // Lazy, because binding all calls between the compiler, MLIR and LLVM at load time would take a third of
    // the start. Local, so that its LLVM does not clash with another one in the process. Never unloaded,
    // since its code may be running.
    library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    if (library) break;
    const std::string error = dlerror(), why = "\n  " + error;
    isThere |= !error.starts_with(path + ": cannot open shared object file: No such file or directory");
    // a program found by PATH does not know its folder, so both paths give the same error
    if (!tried.ends_with(why)) tried += why;
  }
  if (!library)
    return isThere
               ? noCompiler("the compiler is installed but cannot be loaded:" + tried, "")
               : noCompiler("the compiler is not installed:" + tried,
                            "install the package libtessera-compiler, which puts it beside libtessera.so");
  auto entry = reinterpret_cast<decltype(&tesseraCompilerService)>(dlsym(library, "tesseraCompilerService"));
  CompilerService *service = entry ? entry(TESSERA_BUILD_ID, &codegenPlugins(), &forkMutexes()) : nullptr;
  if (!service)
    return noCompiler(std::string(kLibrary) + " is of another build than this libtessera.so (" +
                          TESSERA_BUILD_ID + ")",
                      "install both from one version");
  std::vector<std::string> files = objectsOf(reinterpret_cast<const void *>(entry));
  std::string identity = identityOf(files);
  return Loaded{gatedCompiler(service), {std::move(files), std::move(identity)}};
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

Expected<CompilerService *> loadCompiler() {
  std::lock_guard lock(once().mutex);
  Loaded &loaded = once().loaded;
  if (!loaded.service) {
    auto found = load(); // a failure is not stored: the library may be installed later
    if (!found) return std::move(found.error());
    loaded = std::move(*found);
  }
  return loaded.service;
}

} // namespace tessera
