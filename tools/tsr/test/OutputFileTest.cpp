#include "tools/tsr/OutputFile.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public ::testing::Test {
protected:
  void SetUp() override {
    char name[] = "/tmp/tsr-output-XXXXXX";
    ASSERT_TRUE(mkdtemp(name));
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string read(const fs::path &p) {
    std::ostringstream text;
    text << std::ifstream(p).rdbuf();
    return text.str();
  }
  size_t files() { return size_t(std::distance(fs::directory_iterator(folder_), fs::directory_iterator())); }
  fs::path folder_;
  std::string why_;
};

TEST_F(OutputFileTest, AppearsOnlyWhenCommitted) {
  const fs::path path = folder_ / "y.npy";
  std::ofstream(path) << "old";
  OutputFile file;
  ASSERT_TRUE(file.open(path, why_)) << why_;
  ASSERT_TRUE(file.write("new", why_) && file.finish(why_));
  EXPECT_EQ(read(path), "old");
  ASSERT_TRUE(file.commit(why_));
  EXPECT_EQ(read(path), "new");
  EXPECT_EQ(files(), 1u);
}

TEST_F(OutputFileTest, LeavesNothingWhenAbandoned) {
  {
    OutputFile file;
    ASSERT_TRUE(file.open(folder_ / "y.npy", why_));
    ASSERT_TRUE(file.write("half", why_));
  }
  EXPECT_EQ(files(), 0u);
}

TEST_F(OutputFileTest, FollowsLinksAndKeepsPermissions) {
  std::ofstream(folder_ / "real") << "old";
  fs::permissions(folder_ / "real", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("real", folder_ / "link");
  OutputFile file;
  ASSERT_TRUE(file.open(folder_ / "link", why_) && file.write("new", why_) && file.finish(why_) &&
              file.commit(why_));
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(read(folder_ / "real"), "new");
  EXPECT_EQ(fs::status(folder_ / "real").permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(OutputFileTest, SaysWhyItCannotBeWritten) {
  OutputFile file;
  EXPECT_FALSE(file.open(folder_ / "missing" / "y.npy", why_));
  EXPECT_EQ(why_, "No such file or directory");
  OutputFile folder;
  EXPECT_FALSE(folder.open(folder_, why_));
  EXPECT_EQ(why_, "Is a directory");
  OutputFile full;
  ASSERT_TRUE(full.open("/dev/full", why_));
  EXPECT_FALSE(full.write("x", why_) && full.finish(why_) && full.commit(why_));
  EXPECT_EQ(why_, "No space left on device");
}

} // namespace
} // namespace tessera::cli
