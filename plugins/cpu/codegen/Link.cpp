// Objects to one shared object, by LLD in this process.
#include "lld/Common/Driver.h"
#include "plugins/cpu/codegen/Target.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

namespace tessera::cpu {
namespace {

/// A file in memory with a path, for as long as it lives.
class MemoryFile {
public:
  explicit MemoryFile(llvm::StringRef bytes) : fd_(memfd_create("tessera-link", MFD_CLOEXEC)) {
    while (fd_ >= 0 && !bytes.empty()) {
      ssize_t n = ::write(fd_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      bytes = bytes.drop_front(static_cast<size_t>(n));
    }
    good_ = fd_ >= 0 && bytes.empty();
  }
  ~MemoryFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;
  bool good() const { return good_; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

private:
  int fd_;
  bool good_ = false;
};

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

bool run(llvm::ArrayRef<std::string> words, std::string &why) {
  // LLD keeps its state in globals. After a crash inside they are not to be used again.
  static std::mutex mutex;
  static bool usable = true;
  std::lock_guard lock(mutex);
  if (!usable) {
    why = "the linker crashed earlier in this process";
    return false;
  }
  std::vector<const char *> arguments = {"ld.lld"};
  for (const std::string &word : words)
    arguments.push_back(word.c_str());
  llvm::raw_string_ostream said(why);
  lld::Result result = lld::lldMain(arguments, said, said, {{lld::Gnu, &lld::elf::link}});
  usable = result.canRunAgain;
  return result.retCode == 0;
}

} // namespace

bool linkShared(llvm::ArrayRef<std::string> objects, llvm::ArrayRef<std::string> symbols, std::string &bytes,
                std::string &why) {
  std::vector<std::unique_ptr<MemoryFile>> inputs;
  for (const std::string &object : objects)
    inputs.push_back(std::make_unique<MemoryFile>(object));
  MemoryFile script(exportsOnly(symbols));
  llvm::SmallString<128> output; // LLD writes beside it and renames, which a memory file does not allow
  std::error_code error = llvm::sys::fs::createTemporaryFile("tessera-image", "so", output);
  llvm::FileRemover remover(output);
  if (error || !script.good() || !llvm::all_of(inputs, [](auto &file) { return file->good(); })) {
    why = "no temporary file for the linker: " + (error ? error.message() : std::string(strerror(errno)));
    return false;
  }
  // Named "_init" a kernel would be run by the dynamic linker; these options look for a name no kernel has.
  std::vector<std::string> words;
  for (const char *word :
       {"-shared", "-Bsymbolic", "-z", "now", "-z", "defs", "-s", "--gc-sections", "--hash-style=gnu",
        "--build-id=none", "--threads=1", "--as-needed", "-init=.none", "-fini=.none", "-o", output.c_str()})
    words.push_back(word);
  words.push_back("--version-script=" + script.path());
  for (auto &input : inputs)
    words.push_back(input->path());
  // memset and memcpy may stand for loops, fma and fmaf for the instruction on processors without it.
  words.push_back(
      libraryOf(reinterpret_cast<const void *>(static_cast<double (*)(double, double, double)>(&::fma))));
  words.push_back(libraryOf(reinterpret_cast<const void *>(&::gnu_get_libc_version)));
  bool linked = run(words, why);
  if (linked) {
    auto file = llvm::MemoryBuffer::getFile(output, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    linked = static_cast<bool>(file);
    if (linked)
      bytes = (*file)->getBuffer().str();
    else
      why = "the linked image cannot be read: " + file.getError().message();
  }
  return linked;
}

} // namespace tessera::cpu
