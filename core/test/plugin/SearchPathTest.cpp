// Which files may be trusted.
#include "core/plugin/SearchPath.h"
#include "core/test/plugin/PluginFixture.h"
#include <sys/stat.h>
#include <unistd.h>

using namespace tessera;
using namespace tessera::test;
namespace fs = std::filesystem;

namespace {

using Paths = PluginTest;

TEST_F(Paths, WritableByOthersIsRefused) {
  install("sound");
  ASSERT_EQ(chmod(pathOf("sound").c_str(), 0666), 0);
  PluginError e = load("sound");
  EXPECT_EQ(e.code, refusal::kWritable);
  EXPECT_THAT(e.fix, testing::HasSubstr("chmod go-w"));
  ASSERT_EQ(chmod(pathOf("sound").c_str(), 0644), 0);
  ASSERT_EQ(chmod(directory.c_str(), 01777), 0); // a sticky bit is not accepted on the directory itself
  EXPECT_EQ(load("sound").code, refusal::kWritable);
  ASSERT_EQ(chmod(directory.c_str(), 0755), 0);
  EXPECT_EQ(load("sound").code, 0);
}

TEST_F(Paths, AnotherUsersFileIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  install("sound");
  ASSERT_EQ(chown(pathOf("sound").c_str(), 12345, 12345), 0);
  EXPECT_EQ(load("sound").code, refusal::kOwner);
}

TEST_F(Paths, ALinkOutOfTheDirectoryIsRefused) {
  install("sound");
  fs::rename(pathOf("sound"), root / "elsewhere.so");
  fs::create_symlink(root / "elsewhere.so", pathOf("sound"));
  EXPECT_EQ(load("sound").code, refusal::kSymlink);
}

TEST_F(Paths, ALinkInsideTheDirectoryIsAccepted) {
  install("sound");
  fs::rename(pathOf("sound"), directory / "sound.so.1");
  fs::create_symlink("sound.so.1", pathOf("sound"));
  EXPECT_EQ(load("sound").code, 0);
}

TEST_F(Paths, DirectoriesAndPipesAreRefused) {
  fs::create_directory(pathOf("folder"));
  EXPECT_EQ(load("folder").code, refusal::kNotAFile);
  ASSERT_EQ(mkfifo(pathOf("pipe").c_str(), 0644), 0);
  EXPECT_EQ(load("pipe").code, refusal::kNotAFile);
}

TEST_F(Paths, RelativeEntriesAreRefused) {
  setenv("TESSERA_PLUGIN_PATH", "plugins:.", 1);
  SearchPath path = searchPath();
  ASSERT_EQ(path.refused.size(), 2u);
  EXPECT_EQ(path.refused[0].second.code, refusal::kPathNotAbsolute);
}

TEST_F(Paths, ADirectoryIsSearchedOnce) {
  const std::string plain = directory.string();
  fs::create_directory_symlink(directory, root / "link");
  setenv("TESSERA_PLUGIN_PATH",
         (plain + ":" + plain + "/:" + (root / "link").string() + ":" + plain +
          "/../plugins:/no/such:/no//such/:x:x:" + searchPath().own)
             .c_str(),
         1);
  SearchPath path = searchPath();
  EXPECT_EQ(path.directories, (std::vector<std::string>{plain, "/no/such", path.own}));
  EXPECT_EQ(path.refused.size(), 1u);
  install("sound");
  size_t rows = 0;
  for (const Candidate &c : surveyPlugins(TSR_PLUGIN_BACKEND, /*probe=*/false))
    rows += c.name == "sound";
  EXPECT_EQ(rows, 1u);
}

TEST_F(Paths, AFileInPlaceOfADirectoryCannotBeRead) {
  std::vector<std::string> files;
  EXPECT_EQ(listPlugins(install("sound").string(), files).code, refusal::kDirectoryUnreadable);
}

TEST_F(Paths, AMissingFileIsUnreadable) {
  EXPECT_EQ(checkPermissions(directory.string(), pathOf("gone").string()).code, refusal::kUnreadable);
}

TEST_F(Paths, AnAbsentDirectoryIsEmpty) {
  std::vector<std::string> files;
  EXPECT_FALSE(listPlugins((root / "nothing").string(), files));
  EXPECT_TRUE(files.empty());
}

TEST_F(Paths, FileNames) {
  EXPECT_EQ(fileNameOf(TSR_PLUGIN_BACKEND, "rocm"), "libtessera-rocm.so");
  EXPECT_EQ(fileNameOf(TSR_PLUGIN_COLLECTIVE, "mpich"), "libtessera-collective-mpich.so");
  EXPECT_EQ(nameOfFile("/a/libtessera-mapper-mine.so").name, "mine");
  EXPECT_EQ(nameOfFile("/a/libtessera-mapper-mine.so").kind, uint32_t(TSR_PLUGIN_MAPPER));
  EXPECT_EQ(nameOfFile("/a/libtessera-mine.so").kind, uint32_t(TSR_PLUGIN_BACKEND));
  EXPECT_EQ(nameOfFile("/a/libfoo.so").name, "");
}

} // namespace
