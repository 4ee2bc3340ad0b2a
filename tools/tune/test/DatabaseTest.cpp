#include "tools/tune/Database.h"
#include <csignal>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <random>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tessera::tune {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

struct Folder {
  Folder() {
    char name[] = "/tmp/tune-test-XXXXXX";
    path = mkdtemp(name);
  }
  ~Folder() { fs::remove_all(path); }
  std::string file(const std::string &name) const { return (path / name).string(); }
  fs::path path;
};

const TuneKey kKey = {
    "k(X: f32[N]) B: 1 2 3", "cpu:test", "standard", "1", {"N >= 8", "N < 10", "N % 16 != 0"}};

TuneKey keyOf(const char *size) {
  TuneKey out = kKey;
  out.when = {size};
  return out;
}

TuneDatabase opened(const std::string &path, const std::string &run, const std::string &body = "body",
                    int64_t began = 1) {
  Expected<TuneDatabase> db = TuneDatabase::open(path);
  if (!db) throw std::runtime_error(db.error().message);
  if (auto error = db->beginRun(run, "test", 2, began)) throw std::runtime_error(error->message);
  for (const TuneKey &key : {kKey, keyOf("N == 0"), keyOf("N == 1"), keyOf("N == 2"), keyOf("N == 3")})
    if (auto error = db->beginKey(key, body)) throw std::runtime_error(error->message);
  return std::move(*db);
}

std::vector<Sample> pairs(size_t count, double gain) { return std::vector<Sample>(count, {gain * 100, 100}); }

Error refusal(const std::string &path) {
  Expected<TuneDatabase> db = TuneDatabase::open(path);
  EXPECT_FALSE(db) << path;
  return db ? Error() : db.error();
}

void run(const std::string &path, const char *sql) {
  sqlite3 *db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
  sqlite3_close(db);
}

TEST(Database, ChoosesFromAllRuns) {
  Folder folder;
  const std::string path = folder.file("sub/tune.db");
  {
    TuneDatabase db = opened(path, "monday");
    EXPECT_FALSE(db.addSamples(kKey, "B=2", pairs(5, 1.2), true));
    EXPECT_FALSE(db.addSamples(kKey, "B=3", pairs(9, 1.1), true));
    EXPECT_EQ(db.choice(kKey)->configuration, "B=3") << "5 pairs are too few";
    EXPECT_FALSE(db.addSamples(kKey, "B=1", pairs(20, 3), false));
    EXPECT_EQ(db.choice(kKey)->configuration, "B=3") << "pairs that choose do not confirm";
  }
  TuneDatabase db = opened(path, "tuesday");
  EXPECT_FALSE(db.addSamples(kKey, "B=2", pairs(2, 1.2), true));
  EXPECT_FALSE(db.addSamples(kKey, "B=2", pairs(2, 1.2), true));
  EXPECT_FALSE(db.decide());
  std::vector<TunedRow> rows = *db.rows();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].values, (NamedValues{{"B", 2}}));
  EXPECT_EQ(rows[0].when, kKey.when);
  EXPECT_EQ(rows[0].kernel, kKey.kernel);
  EXPECT_NEAR(rows[0].gain, 1.2, 1e-9);
}

TEST(Database, AFaultOutweighsEveryGain) {
  Folder folder;
  TuneDatabase db = opened(folder.file("tune.db"), "r");
  EXPECT_FALSE(db.addSamples(kKey, "B=2", pairs(20, 5), true));
  EXPECT_FALSE(db.addFault(kKey, "B=2", "C: 1 of 4 elements differ"));
  EXPECT_EQ(db.choice(kKey)->configuration, "");
  EXPECT_TRUE(db.rows()->empty()) << "the default needs no row";
}

TEST(Database, OnlyTheNewestBodyCounts) {
  Folder folder;
  const std::string path = folder.file("tune.db");
  auto measure = [&](const std::string &file, const std::string &run, const std::string &body, int64_t began,
                     const std::string &configuration, double gain) {
    TuneDatabase db = opened(file, run, body, began);
    if (!configuration.empty()) EXPECT_FALSE(db.addSamples(kKey, configuration, pairs(21, gain), true));
    return db.choice(kKey)->configuration;
  };
  EXPECT_EQ(measure(path, "1", "wrong", 1, "B=2", 9), "B=2");
  EXPECT_FALSE(opened(path, "1", "wrong", 1).addFault(kKey, "B=3", "1 of 4 elements differ"));
  EXPECT_EQ(measure(path, "2", "right", 2, "B=3", 1.2), "B=3") << "neither the fault nor the gain counts";
  EXPECT_EQ(measure(path, "3", "other", 3, "", 0), "") << "nothing is known of it";
  EXPECT_EQ(measure(path, "4", "right", 4, "B=1", 1.1), "B=3") << "earlier runs of the same body count";
  EXPECT_EQ(measure(path, "5", "wrong", 5, "B=3", 20), "B=2") << "and so do their faults";

  // Merging goes by the time of the runs, not by the order of the files.
  const std::string late = folder.file("late.db");
  EXPECT_EQ(measure(late, "6", "right", 6, "B=1", 2), "B=1");
  std::vector<std::pair<std::vector<std::string>, std::string>> merged;
  for (const auto &[name, order] : {std::pair("a", std::vector{path, late}), {"b", {late, path}}}) {
    Expected<TuneDatabase> out = TuneDatabase::open(folder.file(name));
    ASSERT_TRUE(out);
    for (const std::string &source : order) {
      Expected<TuneDatabase> db = TuneDatabase::openToRead(source);
      ASSERT_TRUE(db);
      EXPECT_FALSE(out->merge(*db));
    }
    merged.emplace_back(*out->dump(), out->choice(kKey)->configuration);
  }
  EXPECT_EQ(merged[0], merged[1]);
  EXPECT_EQ(merged[0].second, "B=1");
}

TEST(Database, MergingIsCommutativeAndRepeatable) {
  Folder folder;
  std::mt19937 random(3);
  auto fill = [&](const std::string &name) {
    TuneDatabase db = opened(folder.file(name), name);
    for (int key = 0; key < 3; ++key) {
      const TuneKey k = keyOf(("N == " + std::to_string((key + (name == "a" ? 0 : 1)) % 4)).c_str());
      for (const char *configuration : {"B=2", "B=3"})
        for (int i = 0; i < 2; ++i)
          EXPECT_FALSE(db.addSamples(k, configuration, pairs(5, 1 + 0.1 * (random() % 5)), true));
    }
    if (name == "a") EXPECT_FALSE(db.addFault(kKey, "B=3", "wrong"));
    EXPECT_FALSE(db.decide());
  };
  fill("a"), fill("b");
  auto merged = [&](const std::string &name, const std::vector<std::string> &order) {
    TuneDatabase out = opened(folder.file(name), "merge");
    for (const std::string &source : order) {
      Expected<TuneDatabase> db = TuneDatabase::openToRead(folder.file(source));
      EXPECT_TRUE(db);
      EXPECT_FALSE(out.merge(*db));
    }
    return std::pair(*out.dump(), *out.rows());
  };
  const auto ab = merged("ab", {"a", "b"}), ba = merged("ba", {"b", "a"});
  EXPECT_FALSE(ab.first.empty());
  EXPECT_EQ(ab, ba);
  EXPECT_EQ(ab, merged("twice", {"a", "b", "a", "ab"}));
}

TEST(Database, RefusesWhatIsNone) {
  Folder folder;
  std::ofstream(folder.file("text")) << std::string(5000, 'x');
  EXPECT_THAT(refusal(folder.file("text")).message, HasSubstr("no SQLite database"));
  EXPECT_EQ(refusal(folder.file("text")).code, "E_TUNE_DATABASE");

  run(folder.file("other"), "CREATE TABLE t(x)");
  EXPECT_THAT(refusal(folder.file("other")).message, HasSubstr("not a tuner's"));

  opened(folder.file("newer"), "r");
  run(folder.file("newer"), "PRAGMA user_version = 3");
  EXPECT_THAT(refusal(folder.file("newer")).message, HasSubstr("its version is 3, this tsr reads 2"));
  run(folder.file("newer"), "PRAGMA user_version = 1");
  EXPECT_THAT(refusal(folder.file("newer")).message, HasSubstr("its version is 1, this tsr reads 2"));
  EXPECT_THAT(refusal(folder.file("newer")).hint, HasSubstr("tune again"));

  EXPECT_THAT(refusal(folder.path.string()).message, HasSubstr("it is a directory"));
  ASSERT_EQ(mkfifo(folder.file("pipe").c_str(), 0600), 0);
  EXPECT_THAT(refusal(folder.file("pipe")).message, HasSubstr("it is no regular file"));
  Expected<TuneDatabase> absent = TuneDatabase::openToRead(folder.file("absent"));
  ASSERT_FALSE(absent);
  EXPECT_THAT(absent.error().message, HasSubstr("absent: it does not exist"));
}

TEST(Database, RefusesABadCondition) {
  Folder folder;
  const std::string path = folder.file("tune.db");
  {
    TuneDatabase db = opened(path, "r");
    EXPECT_FALSE(db.addSamples(kKey, "B=2", pairs(21, 2), true));
    EXPECT_EQ(db.choice(kKey)->configuration, "B=2");
  }
  run(path, "UPDATE key SET sizes = 'N >=' WHERE sizes LIKE 'N >=%'");
  TuneDatabase db = std::move(*TuneDatabase::open(path));
  Expected<std::vector<TunedRow>> rows = db.rows();
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().code, "E_TUNE_DATABASE");
  EXPECT_THAT(rows.error().message, HasSubstr("condition 'N >='"));
  TuneDatabase out = std::move(*TuneDatabase::open(folder.file("out")));
  MaybeError merged = out.merge(db);
  ASSERT_TRUE(merged);
  EXPECT_EQ(merged->code, "E_TUNE_DATABASE");
  EXPECT_THAT(merged->message, HasSubstr(path));
  EXPECT_TRUE(out.dump()->empty()) << "nothing of it is added";
}

TEST(Database, RefusesACorruptFile) {
  Folder folder;
  const std::string path = folder.file("tune.db");
  {
    TuneDatabase db = opened(path, "r");
    for (int i = 0; i < 20; ++i)
      EXPECT_FALSE(db.addSamples(kKey, "B=" + std::to_string(i), pairs(100, 1.1), true));
  }
  const auto size = fs::file_size(path);
  fs::resize_file(path, size / 2);
  EXPECT_THAT(refusal(path).message, HasSubstr("corrupt"));
}

TEST(Database, RefusesALockedFile) {
  Folder folder;
  const std::string path = folder.file("tune.db");
  opened(path, "r");
  sqlite3 *other = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_THAT(refusal(path).message, HasSubstr("another process has locked it"));
  sqlite3_close(other);
  EXPECT_TRUE(TuneDatabase::open(path));
}

TEST(Database, RefusesAReadOnlyFile) {
  Folder folder;
  const std::string path = folder.file("tune.db");
  opened(path, "r");
  fs::permissions(path, fs::perms(0444));
  fs::permissions(folder.path, fs::perms(0755));
  const bool isRoot = geteuid() == 0; // may write everything
  if (isRoot) ASSERT_EQ(seteuid(65534), 0);
  const Error error = refusal(path);
  const bool canRead = bool(TuneDatabase::openToRead(path));
  if (isRoot) ASSERT_EQ(seteuid(0), 0);
  EXPECT_TRUE(canRead) << "merging needs no more";
  EXPECT_THAT(error.message, HasSubstr("read-only"));
}

TEST(Database, OpensAfterItsWriterWasKilled) {
  Folder folder;
  const std::string path = folder.file("tune.db");
  opened(path, "first");
  std::mt19937 random(11);
  for (int round = 0; round < 30; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      TuneDatabase db = opened(path, "run" + std::to_string(round));
      for (int i = 0;; ++i)
        if (db.addSamples(kKey, "B=" + std::to_string(i % 7), pairs(3, 1.1), true) ||
            (i % 5 == 0 && db.decide()))
          _exit(1);
    }
    usleep(random() % 20000);
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status)) << "it ended by itself with " << WEXITSTATUS(status);
    Expected<TuneDatabase> db = TuneDatabase::open(path);
    ASSERT_TRUE(db) << db.error().message;
    const auto lines = *db->dump();
    const auto samples = std::ranges::count_if(lines, [](auto &l) { return l.find("|B=") != l.npos; });
    EXPECT_EQ(samples % 3, 0) << "a trial is stored as a whole";
    EXPECT_FALSE(db->decide());
  }
}

} // namespace
} // namespace tessera::tune
