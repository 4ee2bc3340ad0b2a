#include "core/support/OutputFile.h"
#include "core/support/InputFile.h"
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace tessera {
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
  /// Stores the message of an error for the next check.
  bool good(const MaybeError &error) {
    why_ = error ? error->message : "";
    return !error;
  }
  bool read(const fs::path &path, size_t limit, std::string &text) {
    auto found = readFile(path, limit);
    if (!found) return good(found.error());
    text = *found;
    return true;
  }
  std::string why_;
};

TEST_F(OutputFileTest, AppearsOnlyWhenCommitted) {
  const fs::path path = folder_ / "y.npy";
  std::ofstream(path) << "old";
  OutputFile file;
  ASSERT_TRUE(good(file.open(path))) << why_;
  ASSERT_TRUE(good(file.write("new")) && good(file.finish()));
  EXPECT_EQ(read(path), "old");
  ASSERT_TRUE(good(file.commit()));
  EXPECT_EQ(read(path), "new");
  EXPECT_EQ(files(), 1u);
}

TEST_F(OutputFileTest, LeavesNothingWhenAbandoned) {
  {
    OutputFile file;
    ASSERT_TRUE(good(file.open(folder_ / "y.npy")));
    ASSERT_TRUE(good(file.write("half")));
  }
  EXPECT_EQ(files(), 0u);
}

TEST_F(OutputFileTest, FollowsLinksAndKeepsPermissions) {
  std::ofstream(folder_ / "real") << "old";
  fs::permissions(folder_ / "real", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("real", folder_ / "link");
  OutputFile file;
  ASSERT_TRUE(good(file.open(folder_ / "link")) && good(file.write("new")) && good(file.finish()) &&
              good(file.commit()));
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(read(folder_ / "real"), "new");
  EXPECT_EQ(fs::status(folder_ / "real").permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(OutputFileTest, RefusesDanglingLinks) {
  fs::create_symlink("nowhere", folder_ / "link");
  OutputFile file;
  EXPECT_FALSE(good(file.open(folder_ / "link")));
  EXPECT_EQ(why_, "it is a symbolic link to a file that does not exist");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(files(), 1u);
}

TEST_F(OutputFileTest, WritesPipes) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  OutputFile unread;
  EXPECT_FALSE(good(unread.open(pipe, OutputFile::Pipe::Refuse)));
  EXPECT_EQ(why_, "it is a pipe that nobody reads");
  for (auto unreadPipe : {OutputFile::Pipe::Wait, OutputFile::Pipe::Refuse}) {
    const int end = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
    OutputFile file;
    ASSERT_TRUE(good(file.open(pipe, unreadPipe))) << why_;
    EXPECT_TRUE(file.isStream());
    ASSERT_TRUE(good(file.write("text")) && good(file.finish()) && good(file.commit()));
    char text[8] = {};
    EXPECT_EQ(::read(end, text, sizeof text), 4);
    EXPECT_STREQ(text, "text");
    ::close(end);
  }
  EXPECT_TRUE(fs::is_fifo(pipe));
}

// As root, a rename over a device would remove it for the whole machine.
TEST_F(OutputFileTest, WritesDevices) {
  const fs::path device = folder_ / "null";
  if (mknod(device.c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0) GTEST_SKIP() << "only root makes devices";
  fs::create_symlink("null", folder_ / "link");
  for (const char *name : {"null", "link"}) {
    OutputFile file;
    ASSERT_TRUE(good(file.open(folder_ / name))) << why_;
    ASSERT_TRUE(good(file.write("text")) && good(file.finish()) && good(file.commit()));
  }
  EXPECT_TRUE(fs::is_character_file(fs::symlink_status(device)));
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(files(), 2u);
}

TEST_F(OutputFileTest, ReadsRegularFilesOnly) {
  std::string text;
  const fs::path file = folder_ / "file", pipe = folder_ / "pipe";
  std::ofstream(file) << "text";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  fs::create_symlink("file", folder_ / "link");
  for (const fs::path &path : {file, folder_ / "link"}) {
    ASSERT_TRUE(read(path, 4, text)) << why_;
    EXPECT_EQ(text, "text");
  }
  EXPECT_FALSE(read(file, 3, text));
  EXPECT_EQ(why_, "it has more than 3 bytes");
  EXPECT_FALSE(read(pipe, 8, text));
  EXPECT_EQ(why_, "it is not a regular file: it is a pipe");
  EXPECT_FALSE(read(folder_, 8, text));
  EXPECT_EQ(why_, "it is not a regular file: it is a directory");
  EXPECT_FALSE(read("/dev/zero", 8, text));
  EXPECT_EQ(why_, "it is not a regular file: it is a device");
  EXPECT_FALSE(read(folder_ / "missing", 8, text));
  EXPECT_EQ(why_, "No such file or directory");
}

TEST_F(OutputFileTest, ReportsWhyItCannotBeWritten) {
  OutputFile file;
  EXPECT_FALSE(good(file.open(folder_ / "missing" / "y.npy")));
  EXPECT_EQ(why_, "No such file or directory");
  OutputFile folder;
  EXPECT_FALSE(good(folder.open(folder_)));
  EXPECT_EQ(why_, "Is a directory");
  OutputFile full;
  ASSERT_TRUE(good(full.open("/dev/full")));
  EXPECT_FALSE(good(full.write("x")) && good(full.finish()) && good(full.commit()));
  EXPECT_EQ(why_, "No space left on device");
}

} // namespace
} // namespace tessera
