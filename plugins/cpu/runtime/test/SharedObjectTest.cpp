#include "plugins/cpu/runtime/SharedObject.h"
#include "core/support/HostCpu.h"
#include "core/test/Fixture.h"
#include <cstdlib>
#include <elf.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <set>
#include <sys/wait.h>
#include <vector>

using namespace tessera;
using namespace tessera::cpu;
using namespace tessera::test;

namespace {

std::string image() { return fileBytes(TESSERA_FIXTURE_KERNELS); }

std::string refusalOf(const std::string &bytes) {
  std::string why;
  EXPECT_EQ(loadSharedObject(bytes, why), nullptr);
  return why;
}

int64_t call(const std::shared_ptr<void> &object, const char *symbol) {
  auto entry = reinterpret_cast<void (*)(const uint64_t *, int64_t, int64_t, uint8_t *)>(
      const_cast<void *>(findSymbol(object, symbol)));
  int64_t out = 0;
  uint64_t values[] = {reinterpret_cast<uint64_t>(&out)};
  if (entry) entry(values, 0, 1, nullptr);
  return out;
}

class Homes : public testing::TestWithParam<ObjectHome> {};

TEST_P(Homes, RunTheCode) {
  std::string why;
  std::shared_ptr<void> object = loadSharedObject(image(), why, GetParam());
  ASSERT_TRUE(object) << why;
  EXPECT_EQ(call(object, "first"), 42);
  EXPECT_EQ(call(object, "second"), 42);
  EXPECT_EQ(findSymbol(object, "third"), nullptr);
}

INSTANTIATE_TEST_SUITE_P(All, Homes,
                         testing::Values(ObjectHome::Any, ObjectHome::Memory, ObjectHome::TemporaryFile));

/// A descriptor's number comes again, and with it the path; the libraries must not be mixed up.
TEST(SharedObject, EachLoadIsItsOwnLibrary) {
  std::string why, bytes = image();
  std::shared_ptr<void> a = loadSharedObject(bytes, why), b = loadSharedObject(bytes, why);
  ASSERT_TRUE(a && b) << why;
  EXPECT_NE(findSymbol(a, "first"), findSymbol(b, "first"));
  a = nullptr;
  EXPECT_EQ(call(b, "first"), 42);
  a = loadSharedObject(bytes, why);
  ASSERT_TRUE(a) << why;
  EXPECT_NE(findSymbol(a, "first"), findSymbol(b, "first"));
}

size_t openDescriptors() {
  std::filesystem::directory_iterator all("/proc/self/fd"), end;
  return static_cast<size_t>(std::distance(all, end));
}

TEST(SharedObject, LoadedLibrariesHoldNoDescriptors) {
  std::string why;
  std::vector<std::shared_ptr<void>> loaded;
  const size_t before = openDescriptors();
  for (int i = 0; i < 40; ++i) {
    loaded.push_back(loadSharedObject(image(), why, ObjectHome::Memory));
    ASSERT_TRUE(loaded.back()) << why;
    EXPECT_EQ(call(loaded.back(), "first"), 42);
  }
  EXPECT_EQ(openDescriptors(), before);
  std::set<const void *> entries;
  for (auto &object : loaded)
    entries.insert(findSymbol(object, "first"));
  EXPECT_EQ(entries.size(), loaded.size());
}

/// What a command writes, and its exit status after that.
std::string outputOf(const std::string &command) {
  std::string out;
  FILE *pipe = popen(("(" + command + ") 2>&1 </dev/null").c_str(), "r");
  char buffer[4096];
  while (size_t n = fread(buffer, 1, sizeof buffer, pipe))
    out.append(buffer, n);
  return out + "status " + std::to_string(WEXITSTATUS(pclose(pipe)));
}

// A debugger opens the files of the libraries that the program loads.
TEST(SharedObject, RunsUnderADebugger) {
  if (std::system("gdb --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "gdb is not installed";
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string out = outputOf("ASAN_OPTIONS=detect_leaks=0 timeout -s KILL 120 gdb -nx -batch "
                                   "-ex 'set breakpoint pending on' -ex 'set debuginfod enabled off' "
                                   "-ex 'break first' -ex run -ex 'info symbol $pc' -ex continue --args " +
                                   self + " --gtest_filter=SharedObject.EachLoadIsItsOwnLibrary");
  if (out.find("ptrace: Operation not permitted") != out.npos)
    GTEST_SKIP() << "no process may be traced here";
  EXPECT_NE(out.find("first + "), out.npos) << out; // its symbols were read
  EXPECT_NE(out.find("exited normally"), out.npos) << out;
}

TEST(SharedObject, OtherFilesAreRefusedByName) {
  EXPECT_EQ(refusalOf(""), "no ELF file");
  EXPECT_EQ(refusalOf(std::string(100, 'x')), "no ELF file");
  std::string bytes = image();
  ASSERT_GT(bytes.size(), sizeof(Elf64_Ehdr));
  auto changed = [&](size_t at, char value) {
    std::string out = bytes;
    out[at] = value;
    return out;
  };
  EXPECT_NE(refusalOf(changed(EI_CLASS, ELFCLASS32)).find("not 64-bit"), std::string::npos);
  EXPECT_NE(refusalOf(changed(EI_DATA, ELFDATA2MSB)).find("little-endian"), std::string::npos);
  EXPECT_NE(
      refusalOf(changed(offsetof(Elf64_Ehdr, e_machine), static_cast<char>(EM_RISCV))).find("code for riscv"),
      std::string::npos);
  EXPECT_NE(refusalOf(changed(offsetof(Elf64_Ehdr, e_type), ET_REL)).find("no shared object"),
            std::string::npos);
  EXPECT_NE(refusalOf(bytes.substr(0, bytes.size() / 4)).find("cut short"), std::string::npos);
  EXPECT_NE(refusalOf(bytes.substr(0, sizeof(Elf64_Ehdr))).find("cut short"), std::string::npos);
}

TEST(HostCpu, FeaturesOutsideTheListAreMissing) {
  EXPECT_EQ(firstMissing({}), "");
  EXPECT_EQ(firstMissing({"telepathy"}), "telepathy");
#if defined(__x86_64__)
  EXPECT_EQ(firstMissing({"sse3"}), ""); // every x86-64 machine of these days
  EXPECT_EQ(firstMissing({"sse3", "telepathy", "avx2"}), "telepathy");
#endif
}

} // namespace
