// The cache's files: what a reader returns if they are valid, damaged, foreign or cannot be written.
#include "core/cache/Signatures.h"
#include "core/cache/Store.h"
#include "core/config/Config.h"
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tessera;
using namespace tessera::cache;
namespace fs = std::filesystem;

namespace {

class CacheStore : public testing::Test {
protected:
  void SetUp() override {
    char name[] = "/tmp/tsr-cache-XXXXXX";
    root = ::mkdtemp(name);
  }
  void TearDown() override {
    fs::permissions(root, fs::perms::owner_all);
    fs::remove_all(root);
  }
  std::string onlyEntry() const {
    for (const auto &e : fs::directory_iterator(root))
      if (e.path().extension() == ".entry") return e.path();
    return "";
  }
  std::string root;
  Hash128 key{1, 2};
};

TEST_F(CacheStore, GetReturnsWhatWasPut) {
  Store store(root + "/deep/er");
  EXPECT_FALSE(store.get(key, Kind::Bundle));
  ASSERT_FALSE(store.put(key, Kind::Bundle, "bytes"));
  EXPECT_EQ(store.get(key, Kind::Bundle), "bytes");
  EXPECT_FALSE(store.get({1, 3}, Kind::Bundle));
  EXPECT_EQ(store.statistics().entries, 1u);
  EXPECT_FALSE(store.clear());
  EXPECT_FALSE(store.get(key, Kind::Bundle));
}

TEST_F(CacheStore, ADamagedEntryIsAMissAndIsRewritten) {
  Store store(root);
  ASSERT_FALSE(store.put(key, Kind::Bundle, "some bytes"));
  const size_t size = fs::file_size(onlyEntry());
  for (size_t at = 0; at < size; ++at) {
    std::fstream file(onlyEntry(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(std::streamoff(at));
    const char byte = char(file.get());
    file.seekp(std::streamoff(at));
    file.put(char(byte ^ 0x40));
    file.close();
    EXPECT_FALSE(store.get(key, Kind::Bundle)) << at;
    EXPECT_EQ(onlyEntry(), "") << "deleted, byte " << at;
    ASSERT_FALSE(store.put(key, Kind::Bundle, "some bytes"));
    EXPECT_EQ(store.get(key, Kind::Bundle), "some bytes");
  }
}

TEST_F(CacheStore, TruncatedExtendedOrOtherKindIsAMiss) {
  Store store(root);
  for (size_t size : {0, 1, 55, 56, 60, 100}) {
    ASSERT_FALSE(store.put(key, Kind::Bundle, "some bytes"));
    fs::resize_file(onlyEntry(), size);
    EXPECT_FALSE(store.get(key, Kind::Bundle)) << size;
  }
  ASSERT_FALSE(store.put(key, Kind::Signatures, "some bytes"));
  EXPECT_FALSE(store.get(key, Kind::Bundle));
}

TEST_F(CacheStore, ConcurrentWritersLeaveACompleteEntry) {
  Store store(root);
  const std::string bytes(200000, 'x');
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i)
    if (pid_t child = ::fork(); child == 0) {
      for (int n = 0; n < 20; ++n) {
        auto found = store.get(key, Kind::Bundle);
        if (store.put(key, Kind::Bundle, bytes) || (found && *found != bytes)) ::_exit(1);
      }
      ::_exit(0);
    } else {
      children.push_back(child);
    }
  for (pid_t child : children) {
    int status = 1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(store.get(key, Kind::Bundle), bytes);
  EXPECT_EQ(std::distance(fs::directory_iterator(root), {}), 1) << "nothing half-written stays";
}

TEST_F(CacheStore, AWriteThatFailsLeavesNothing) {
  Store store(root);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  rlimit little = before;
  little.rlim_cur = 1000; // later writes fail, as on a full disk
  ::setrlimit(RLIMIT_FSIZE, &little);
  auto error = store.put(key, Kind::Bundle, std::string(100000, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &before);
  ASSERT_TRUE(error);
  EXPECT_NE(error->message.find(root), std::string::npos);
  EXPECT_TRUE(fs::is_empty(root));
}

TEST_F(CacheStore, ADirectoryThatCannotBeCreatedIsReported) {
  std::ofstream(root + "/file") << "x";
  auto error = Store(root + "/file/below").put(key, Kind::Bundle, "x");
  ASSERT_TRUE(error);
  EXPECT_NE(error->message.find(root), std::string::npos);
}

TEST_F(CacheStore, StaysNearItsLimitAlthoughNotEveryPutLooks) {
  Store store(root, 256 * 1056); // a put of 1056 bytes looks one time in four
  uint64_t most = 0;
  for (int i = 0; i < 800; ++i) {
    ASSERT_FALSE(store.put(hash128("entry " + std::to_string(i)), Kind::Bundle, std::string(1000, 'x')));
    most = std::max(most, store.statistics().bytes);
  }
  EXPECT_GT(most, store.limit() / 10 * 9);
  EXPECT_LE(most, store.limit() + store.limit() / 8);
}

TEST_F(CacheStore, LeastRecentlyUsedEntriesAreEvicted) {
  Store store(root, 10 * 1056);
  for (uint64_t i = 0; i < 10; ++i) {
    ASSERT_FALSE(store.put({i, 0}, Kind::Bundle, std::string(1000, 'x')));
    const timespec used[2] = {{time_t(1000 + i), 0}, {time_t(1000 + i), 0}};
    ::utimensat(AT_FDCWD, (root + "/" + hexadecimal({i, 0}) + ".entry").c_str(), used, 0);
  }
  EXPECT_TRUE(store.get({0, 0}, Kind::Bundle)); // marks it as used
  ASSERT_FALSE(store.put({10, 0}, Kind::Bundle, std::string(1000, 'x')));
  EXPECT_LE(store.statistics().bytes, store.limit());
  EXPECT_TRUE(store.get({0, 0}, Kind::Bundle));
  EXPECT_FALSE(store.get({1, 0}, Kind::Bundle));
  EXPECT_TRUE(store.get({10, 0}, Kind::Bundle));
}

TEST_F(CacheStore, TheEnvironmentSelectsDirectoryAndLimit) {
  ::setenv("TESSERA_CACHE_DIR", "off", 1);
  EXPECT_FALSE(Store::ofEnvironment());
  ::unsetenv("TESSERA_CACHE_DIR");
  ::setenv("XDG_CACHE_HOME", "/x", 1);
  EXPECT_EQ(Store::ofEnvironment().directory(), "/x/tessera");
  ::setenv("XDG_CACHE_HOME", "relative", 1);
  ::setenv("HOME", "/h", 1);
  ::setenv("TESSERA_CACHE_SIZE", "3M", 1);
  EXPECT_EQ(Store::ofEnvironment().directory(), "/h/.cache/tessera");
  EXPECT_EQ(Store::ofEnvironment().limit(), 3u << 20);
}

TEST(CacheLimit, IsASizeOrInvalid) {
  EXPECT_EQ(parseBytes("0"), 0u);
  EXPECT_EQ(parseBytes("77"), 77u);
  EXPECT_EQ(parseBytes("2K"), 2048u);
  EXPECT_EQ(parseBytes("17179869183G"), UINT64_MAX >> 30 << 30);
  for (const char *text :
       {"", "K", "-1", " 1", "1 K", "1KB", "1T", "0x10", "17179869184G", "99999999999999999999"})
    EXPECT_EQ(parseBytes(text), std::nullopt) << text;
}

TEST_F(CacheStore, LimitOfZero) {
  Store store(root, 0);
  EXPECT_FALSE(store.put(key, Kind::Bundle, "x"));
  EXPECT_EQ(store.statistics().entries, 0u);
}

TEST(CacheSignatures, ReadBackAndTruncated) {
  Signature s;
  s.kernel = "k";
  s.params = {{"x", true, false, true, true, "f32", {"M", "64"}, {}}, SignatureParam{}};
  s.params[1].name = "a";
  s.params[1].defaultValue = -1.5;
  s.params.push_back(s.params[1]);
  s.params[2].defaultValue = INT64_MIN + 1;
  s.dims = {"M"};
  s.tunables = {{"B", {1, 2}}};
  const std::string bytes = writeSignatures({s});
  std::vector<Signature> out;
  ASSERT_TRUE(readSignatures(bytes, out));
  EXPECT_EQ(writeSignatures(out), bytes);
  EXPECT_EQ(out[0].params[0].dims, s.params[0].dims);
  EXPECT_EQ(out[0].params[0].defaultValue, std::nullopt);
  EXPECT_EQ(out[0].params[1].defaultValue, Number(-1.5));
  EXPECT_EQ(out[0].params[2].defaultValue, Number(INT64_MIN + 1));
  for (size_t n = 0; n < bytes.size(); ++n)
    EXPECT_FALSE(readSignatures(std::string_view(bytes).substr(0, n), out)) << n;
}

} // namespace
