#include "tools/tune/Database.h"
#include "core/metadata/Guard.h"
#include "tools/tune/Space.h"
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <sqlite3.h>
#include <sys/stat.h>

namespace tessera::tune {
namespace {

constexpr int64_t kApplication = 0x54535254; // "TSRT", in the header of the file
constexpr int64_t kVersion = 2;
constexpr int kBusyMs = 2000;

// `began` orders runs. `body` has what a run measured of a key: rows of `timing` and `fault` speak of the
// body of their run. `number` counts the pairs of one configuration in one run.
constexpr const char *kSchema = R"sql(
CREATE TABLE run(id TEXT PRIMARY KEY, cpu TEXT NOT NULL, cores INTEGER NOT NULL,
                 began INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE key(id INTEGER PRIMARY KEY, kernel TEXT NOT NULL, arch TEXT NOT NULL, numerics TEXT NOT NULL,
                 compiler TEXT NOT NULL, sizes TEXT NOT NULL, UNIQUE(kernel, arch, numerics, compiler, sizes));
CREATE TABLE body(key INTEGER NOT NULL REFERENCES key(id), run TEXT NOT NULL, body TEXT NOT NULL,
                  PRIMARY KEY(key, run)) WITHOUT ROWID;
CREATE TABLE timing(key INTEGER NOT NULL REFERENCES key(id), configuration TEXT NOT NULL, run TEXT NOT NULL,
                    number INTEGER NOT NULL, confirms INTEGER NOT NULL, base_ns REAL NOT NULL, ns REAL NOT NULL,
                    PRIMARY KEY(key, configuration, run, number)) WITHOUT ROWID;
CREATE TABLE fault(key INTEGER NOT NULL REFERENCES key(id), configuration TEXT NOT NULL, run TEXT NOT NULL,
                   reason TEXT NOT NULL, PRIMARY KEY(key, configuration, run)) WITHOUT ROWID;
CREATE TABLE choice(key INTEGER PRIMARY KEY REFERENCES key(id), configuration TEXT NOT NULL, gain REAL NOT NULL,
                    pairs INTEGER NOT NULL);
)sql";

constexpr std::string_view kAnd = " and ";

std::vector<std::string> splitSizes(std::string_view text) {
  std::vector<std::string> out;
  for (size_t end; !text.empty(); text.remove_prefix(std::min(text.size(), end + kAnd.size()))) {
    end = std::min(text.find(kAnd), text.size());
    out.emplace_back(text.substr(0, end));
  }
  return out;
}

/// Checks what the look-up file will say of a key. Only another program can have stored what is refused.
MaybeError check(const std::string &path, const TuneKey &key, const std::string &configuration = "") {
  constexpr const char *hint = "restore or delete it; --database FILE names another file";
  for (const std::string &condition : key.when)
    if (Expected<Guard> guard = Guard::parse(condition); !guard)
      return Error{
          "E_TUNE_DATABASE",
          fmt::format("{}: {}: condition '{}': {}", path, key.kernel, condition, guard.error().message),
          hint};
  if (!configuration.empty() && valuesOf(configuration).empty())
    return Error{"E_TUNE_DATABASE",
                 fmt::format("{}: {}: '{}' is no configuration", path, key.kernel, configuration), hint};
  return std::nullopt;
}

std::string sizesOf(const TuneKey &key) { return fmt::format("{}", fmt::join(key.when, kAnd)); }

} // namespace

/// Leaves one file, unless another process uses the database.
void TuneDatabase::Close::operator()(sqlite3 *db) const {
  if (sqlite3_db_readonly(db, "main") == 0) {
    sqlite3_busy_timeout(db, 0);
    sqlite3_exec(db, "PRAGMA journal_mode = DELETE", nullptr, nullptr, nullptr);
  }
  sqlite3_close_v2(db);
}

/// A prepared statement; lives for one use.
struct TuneDatabase::Statement {
  Statement(const TuneDatabase &db, const std::string &sql) : db(db) {
    status = sqlite3_prepare_v2(db.db_.get(), sql.c_str(), -1, &handle, nullptr);
  }
  Statement(const Statement &) = delete;
  Statement &operator=(const Statement &) = delete;
  ~Statement() { sqlite3_finalize(handle); }

  void bind(int at, const std::string &text) {
    sqlite3_bind_text(handle, at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  }
  void bind(int at, int64_t value) { sqlite3_bind_int64(handle, at, value); }
  void bind(int at, double value) { sqlite3_bind_double(handle, at, value); }
  template <class... Values> Statement &with(const Values &...values) {
    int at = 0;
    if (status == SQLITE_OK) (bind(++at, values), ...);
    return *this;
  }
  /// Goes to the next row. Returns false at the end and after an error.
  bool step() {
    if (status == SQLITE_OK || status == SQLITE_ROW) status = sqlite3_step(handle);
    return status == SQLITE_ROW;
  }
  bool hasFailed() const { return status != SQLITE_OK && status != SQLITE_ROW && status != SQLITE_DONE; }
  /// Runs a statement without rows.
  MaybeError run(const char *doing) {
    step();
    if (hasFailed()) return db.error(doing);
    return std::nullopt;
  }
  std::string text(int column) const {
    const unsigned char *bytes = sqlite3_column_text(handle, column);
    return bytes ? std::string(reinterpret_cast<const char *>(bytes),
                               static_cast<size_t>(sqlite3_column_bytes(handle, column)))
                 : std::string();
  }
  int64_t integer(int column) const { return sqlite3_column_int64(handle, column); }
  double real(int column) const { return sqlite3_column_double(handle, column); }

  const TuneDatabase &db;
  sqlite3_stmt *handle = nullptr;
  int status;
};

Error TuneDatabase::error(std::string doing) const {
  constexpr const char *elsewhere = "--database FILE names another file";
  const int code = db_ ? sqlite3_errcode(db_.get()) & 0xff : SQLITE_NOMEM;
  switch (code) {
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
    return {"E_TUNE_DATABASE", fmt::format("{}: another process has locked it", path_),
            fmt::format("wait for it, or {}", elsewhere)};
  case SQLITE_CORRUPT:
    return {"E_TUNE_DATABASE", fmt::format("{}: it is corrupt: {}", path_, sqlite3_errmsg(db_.get())),
            fmt::format("restore or delete it; {}", elsewhere)};
  case SQLITE_NOTADB:
    return {"E_TUNE_DATABASE", fmt::format("{}: it is no SQLite database", path_), elsewhere};
  case SQLITE_READONLY:
  case SQLITE_PERM:
  case SQLITE_AUTH:
    return {"E_TUNE_DATABASE", fmt::format("{}: it is read-only", path_),
            fmt::format("make it and its directory writable; {}", elsewhere)};
  case SQLITE_CANTOPEN:
    return {"E_TUNE_DATABASE",
            fmt::format("{}: it cannot be opened: {}", path_, strerror(sqlite3_system_errno(db_.get()))),
            elsewhere};
  default:
    return {"E_TUNE_DATABASE",
            fmt::format("{}: {}: {}", path_, doing, db_ ? sqlite3_errmsg(db_.get()) : "out of memory"),
            elsewhere};
  }
}

MaybeError TuneDatabase::execute(const std::string &sql) {
  if (sqlite3_exec(db_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return error("writing");
  return std::nullopt;
}

Expected<int64_t> TuneDatabase::number(const std::string &sql) {
  Statement s(*this, sql);
  if (!s.step()) return error("reading");
  return s.integer(0);
}

/// Runs `work` in one transaction, which a crash undoes.
MaybeError TuneDatabase::transact(const std::function<MaybeError()> &work) {
  if (MaybeError error = execute("BEGIN IMMEDIATE")) return error;
  MaybeError failed = work();
  if (!failed) failed = execute("COMMIT");
  if (failed) sqlite3_exec(db_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  return failed;
}

Expected<TuneDatabase> TuneDatabase::openFile(const std::string &path, int flags) {
  // SQLite waits for the other end of a pipe, and does not say why it cannot open a file.
  struct stat file = {};
  const bool exists = ::stat(path.c_str(), &file) == 0;
  if (!exists && errno == ENOENT && !(flags & SQLITE_OPEN_CREATE))
    return Error{"E_TUNE_DATABASE", fmt::format("{}: it does not exist", path), "tsr tune FILE makes it"};
  if (exists && !S_ISREG(file.st_mode))
    return Error{"E_TUNE_DATABASE",
                 fmt::format("{}: it is {}", path, S_ISDIR(file.st_mode) ? "a directory" : "no regular file"),
                 "--database FILE names another file"};
  sqlite3 *handle = nullptr;
  const int status = sqlite3_open_v2(path.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  TuneDatabase out(path, handle);
  if (status != SQLITE_OK) return out.error("opening");
  sqlite3_busy_timeout(handle, kBusyMs);
  sqlite3_extended_result_codes(handle, 0);
  const bool isReadOnly = (flags & SQLITE_OPEN_READONLY) != 0;
  if (MaybeError error = out.prepareSchema(isReadOnly)) return *error;
  // With a write-ahead log a transaction does not wait for the disk, and a killed process leaves a database
  // that opens. A loss of power may lose the last transactions.
  if (!isReadOnly)
    if (MaybeError error = out.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL"))
      return *error;
  return out;
}

Expected<TuneDatabase> TuneDatabase::open(const std::string &path, bool mustExist) {
  std::error_code ignored; // opening the file reports it
  if (const auto parent = std::filesystem::path(path).parent_path(); !mustExist && !parent.empty())
    std::filesystem::create_directories(parent, ignored);
  return openFile(path, SQLITE_OPEN_READWRITE | (mustExist ? 0 : SQLITE_OPEN_CREATE));
}

Expected<TuneDatabase> TuneDatabase::openToRead(const std::string &path) {
  return openFile(path, SQLITE_OPEN_READONLY);
}

/// Checks what the file is, and makes the tables of an empty one.
MaybeError TuneDatabase::prepareSchema(bool isReadOnly) {
  if (!isReadOnly && sqlite3_db_readonly(db_.get(), "main") == 1)
    return Error{"E_TUNE_DATABASE", fmt::format("{}: it is read-only", path_),
                 "make it and its directory writable; --database FILE names another file"};
  Expected<int64_t> tables = number("SELECT count(*) FROM sqlite_master");
  if (!tables) return tables.error();
  Expected<int64_t> application = number("PRAGMA application_id"), version = number("PRAGMA user_version");
  if (!application) return application.error();
  if (!version) return version.error();
  if (*tables == 0 && isReadOnly)
    return Error{"E_TUNE_DATABASE", fmt::format("{}: it has no measurements", path_), ""};
  if (*tables == 0)
    return transact([&] {
      // Another process may have made the tables meanwhile.
      Expected<int64_t> again = number("SELECT count(*) FROM sqlite_master");
      if (!again) return MaybeError(again.error());
      if (*again > 0) return MaybeError();
      return execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}; {}", kApplication,
                                 kVersion, kSchema));
    });
  if (*application != kApplication)
    return Error{"E_TUNE_DATABASE", fmt::format("{}: it is an SQLite database, but not a tuner's", path_),
                 "--database FILE names another file"};
  if (*version != kVersion)
    return Error{"E_TUNE_DATABASE",
                 fmt::format("{}: its version is {}, this tsr reads {}", path_, *version, kVersion),
                 fmt::format("{}; --database FILE names another file",
                             *version > kVersion ? "update tsr" : "delete it and tune again")};
  Statement check(*this, "PRAGMA quick_check(1)");
  if (!check.step()) return error("reading");
  if (const std::string text = check.text(0); text != "ok")
    return Error{"E_TUNE_DATABASE", fmt::format("{}: it is corrupt: {}", path_, text),
                 "restore or delete it; --database FILE names another file"};
  return std::nullopt;
}

MaybeError TuneDatabase::beginRun(const std::string &id, const std::string &cpu, int64_t cores,
                                  int64_t began) {
  run_ = id;
  return Statement(*this, "INSERT OR IGNORE INTO run VALUES(?,?,?,?)")
      .with(id, cpu, cores, began)
      .run("writing");
}

MaybeError TuneDatabase::beginKey(const TuneKey &key, const std::string &body) {
  return transact([&]() -> MaybeError {
    Expected<int64_t> id = idOf(key);
    if (!id) return id.error();
    return Statement(*this, "INSERT OR IGNORE INTO body VALUES(?,?,?)").with(*id, run_, body).run("writing");
  });
}

Expected<int64_t> TuneDatabase::idOf(const TuneKey &key) {
  const std::string sizes = sizesOf(key);
  if (MaybeError error =
          Statement(*this,
                    "INSERT OR IGNORE INTO key(kernel, arch, numerics, compiler, sizes) VALUES(?,?,?,?,?)")
              .with(key.kernel, key.arch, key.numerics, key.compiler, sizes)
              .run("writing"))
    return *error;
  Statement find(*this,
                 "SELECT id FROM key WHERE kernel=? AND arch=? AND numerics=? AND compiler=? AND sizes=?");
  if (!find.with(key.kernel, key.arch, key.numerics, key.compiler, sizes).step()) return error("reading");
  return find.integer(0);
}

MaybeError TuneDatabase::addSamples(const TuneKey &key, const std::string &configuration,
                                    const std::vector<Sample> &samples, bool confirms) {
  return transact([&]() -> MaybeError {
    Expected<int64_t> id = idOf(key);
    if (!id) return id.error();
    Statement count(*this, "SELECT count(*) FROM timing WHERE key=? AND configuration=? AND run=?");
    if (!count.with(*id, configuration, run_).step()) return error("reading");
    int64_t number = count.integer(0);
    for (const Sample &s : samples)
      if (MaybeError error = Statement(*this, "INSERT INTO timing VALUES(?,?,?,?,?,?,?)")
                                 .with(*id, configuration, run_, number++, int64_t{confirms}, s.baseNs, s.ns)
                                 .run("writing"))
        return error;
    return std::nullopt;
  });
}

MaybeError TuneDatabase::addFault(const TuneKey &key, const std::string &configuration,
                                  const std::string &reason) {
  return transact([&]() -> MaybeError {
    Expected<int64_t> id = idOf(key);
    if (!id) return id.error();
    return Statement(*this, "INSERT OR REPLACE INTO fault VALUES(?,?,?,?)")
        .with(*id, configuration, run_, reason)
        .run("writing");
  });
}

MaybeError TuneDatabase::decide() {
  return transact([&]() -> MaybeError {
    std::vector<int64_t> keys;
    Statement all(*this, "SELECT id FROM key");
    while (all.step())
      keys.push_back(all.integer(0));
    if (all.hasFailed()) return error("reading");
    for (int64_t key : keys)
      if (MaybeError error = decideKey(key)) return error;
    return std::nullopt;
  });
}

/// The significant configuration of the largest gain; of equal ones the first by its text. Only the runs
/// count whose body is that of the last run.
MaybeError TuneDatabase::decideKey(int64_t key) {
  std::map<std::string, std::vector<Sample>> samples;
  Statement timings(
      *this, "WITH bodies AS (SELECT run, body, began FROM body JOIN run ON run.id = run WHERE key=?), "
             "counted AS (SELECT run FROM bodies "
             "WHERE body = (SELECT body FROM bodies ORDER BY began DESC, body DESC LIMIT 1)) "
             "SELECT configuration, base_ns, ns FROM timing WHERE key=? AND confirms AND run IN counted AND "
             "configuration NOT IN (SELECT configuration FROM fault WHERE key=? AND run IN counted)");
  timings.with(key, key, key);
  while (timings.step())
    samples[timings.text(0)].push_back({timings.real(1), timings.real(2)});
  if (timings.hasFailed()) return error("reading");
  std::string best;
  Verdict verdict;
  for (const auto &[configuration, pairs] : samples)
    if (const Verdict v = judge(pairs); v.isSignificant() && (best.empty() || v.gain > verdict.gain)) {
      best = configuration;
      verdict = v;
    }
  return Statement(*this, "INSERT OR REPLACE INTO choice VALUES(?,?,?,?)")
      .with(key, best, verdict.gain, static_cast<int64_t>(verdict.pairs))
      .run("writing");
}

MaybeError TuneDatabase::merge(TuneDatabase &other) {
  if (MaybeError error = transact([&] { return copyFrom(other); })) return error;
  return decide();
}

MaybeError TuneDatabase::copyFrom(TuneDatabase &other) {
  Statement runs(other, "SELECT id, cpu, cores, began FROM run");
  while (runs.step())
    if (MaybeError error = Statement(*this, "INSERT OR IGNORE INTO run VALUES(?,?,?,?)")
                               .with(runs.text(0), runs.text(1), runs.integer(2), runs.integer(3))
                               .run("writing"))
      return error;
  std::map<int64_t, int64_t> ids;
  Statement keys(other, "SELECT id, kernel, arch, numerics, compiler, sizes FROM key");
  while (keys.step()) {
    const TuneKey key{keys.text(1), keys.text(2), keys.text(3), keys.text(4), splitSizes(keys.text(5))};
    if (MaybeError error = check(other.path_, key)) return error;
    Expected<int64_t> id = idOf(key);
    if (!id) return id.error();
    ids[keys.integer(0)] = *id;
  }
  Statement bodies(other, "SELECT key, run, body FROM body");
  while (bodies.step())
    if (MaybeError error = Statement(*this, "INSERT OR IGNORE INTO body VALUES(?,?,?)")
                               .with(ids[bodies.integer(0)], bodies.text(1), bodies.text(2))
                               .run("writing"))
      return error;
  Statement timings(other, "SELECT key, configuration, run, number, confirms, base_ns, ns FROM timing");
  while (timings.step())
    if (MaybeError error = Statement(*this, "INSERT OR IGNORE INTO timing VALUES(?,?,?,?,?,?,?)")
                               .with(ids[timings.integer(0)], timings.text(1), timings.text(2),
                                     timings.integer(3), timings.integer(4), timings.real(5), timings.real(6))
                               .run("writing"))
      return error;
  Statement faults(other, "SELECT key, configuration, run, reason FROM fault");
  while (faults.step())
    if (MaybeError error = Statement(*this, "INSERT OR IGNORE INTO fault VALUES(?,?,?,?)")
                               .with(ids[faults.integer(0)], faults.text(1), faults.text(2), faults.text(3))
                               .run("writing"))
      return error;
  for (const Statement *s : {&runs, &keys, &bodies, &timings, &faults})
    if (s->hasFailed()) return other.error("reading");
  return std::nullopt;
}

Expected<TuneDatabase::Choice> TuneDatabase::choice(const TuneKey &key) {
  Choice out{key, "", 1, 0};
  MaybeError failed = transact([&]() -> MaybeError {
    Expected<int64_t> id = idOf(key);
    if (!id) return id.error();
    if (MaybeError error = decideKey(*id)) return error;
    Statement s(*this, "SELECT configuration, gain, pairs FROM choice WHERE key=?");
    if (!s.with(*id).step()) return error("reading");
    out.configuration = s.text(0);
    out.gain = s.real(1);
    out.pairs = s.integer(2);
    return std::nullopt;
  });
  if (failed) return *failed;
  return out;
}

Expected<std::vector<TuneDatabase::Choice>> TuneDatabase::choices() {
  std::vector<Choice> out;
  Statement s(*this, "SELECT kernel, arch, numerics, compiler, sizes, configuration, gain, pairs FROM choice "
                     "JOIN key ON key.id = choice.key ORDER BY kernel, arch, numerics, compiler, sizes");
  while (s.step())
    out.push_back({{s.text(0), s.text(1), s.text(2), s.text(3), splitSizes(s.text(4))},
                   s.text(5),
                   s.real(6),
                   s.integer(7)});
  if (s.hasFailed()) return error("reading");
  return out;
}

Expected<std::vector<TunedRow>> TuneDatabase::rows() {
  Expected<std::vector<Choice>> all = choices();
  if (!all) return all.error();
  std::vector<TunedRow> out;
  for (const Choice &c : *all) {
    if (MaybeError error = check(path_, c.key, c.configuration)) return *error;
    if (NamedValues values = valuesOf(c.configuration); !values.empty())
      out.push_back(
          {c.key.kernel, c.key.arch, c.key.numerics, c.key.compiler, c.key.when, std::move(values), c.gain});
  }
  return out;
}

Expected<std::vector<std::string>> TuneDatabase::dump() {
  std::vector<std::string> out;
  Statement s(*this,
              "SELECT kernel, arch, numerics, compiler, sizes, configuration, run, number, confirms, "
              "base_ns, ns FROM timing "
              "JOIN key ON key.id = timing.key UNION ALL SELECT kernel, arch, numerics, compiler, sizes, "
              "configuration, run, -1, 0, 0, 0 FROM fault JOIN key ON key.id = fault.key UNION ALL SELECT "
              "kernel, arch, numerics, "
              "compiler, sizes, body, run, -2, 0, 0, 0 FROM body JOIN key ON key.id = body.key");
  while (s.step()) {
    std::string line;
    for (int i = 0; i < 11; ++i)
      line += s.text(i) + "|";
    out.push_back(std::move(line));
  }
  if (s.hasFailed()) return error("reading");
  std::ranges::sort(out);
  return out;
}

} // namespace tessera::tune
