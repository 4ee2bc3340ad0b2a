// The tuner's database: an SQLite file with every measurement, from which choices follow. A process that is
// killed at any moment leaves a file that opens.
#pragma once
#include "core/support/Expected.h"
#include "core/tuning/TunedFile.h"
#include "tools/tune/Verdict.h"
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

struct sqlite3;

namespace tessera::tune {

/// What measurements belong to (core/tuning/TunedKey.h).
struct TuneKey {
  std::string kernel, arch, numerics, compiler;
  std::vector<std::string> when;
};

/// Not thread-safe; several processes may use one file. Errors have code E_TUNE_DATABASE and name the file.
class TuneDatabase {
public:
  /// Opens a file. It is created unless `mustExist` is set. Refuses what is no tuning database, is corrupt,
  /// locked by another process, cannot be written, or is of a newer version.
  static Expected<TuneDatabase> open(const std::string &path, bool mustExist = false);
  /// Opens a file that is only read.
  static Expected<TuneDatabase> openToRead(const std::string &path);
  TuneDatabase(TuneDatabase &&) noexcept = default;
  TuneDatabase &operator=(TuneDatabase &&) noexcept = default;

  /// Begins a run: what this process measures on this machine. `id` is unique among all databases. `began`
  /// orders runs; it is in nanoseconds since 1970.
  [[nodiscard]] MaybeError beginRun(const std::string &id, const std::string &cpu, int64_t cores,
                                    int64_t began);
  /// Precedes what the run stores of a key. `body` identifies the code that it measures. What runs with
  /// another body stored no longer counts for a choice, as long as no later run has theirs.
  [[nodiscard]] MaybeError beginKey(const TuneKey &, const std::string &body);
  /// Stores pairs of the run. They are complete or absent after a crash. `confirms`: they were measured after
  /// the configuration had been chosen by others; only these count for a choice.
  [[nodiscard]] MaybeError addSamples(const TuneKey &, const std::string &configuration,
                                      const std::vector<Sample> &, bool confirms);
  /// Stores that the results of a configuration differ from the default's. It is never chosen.
  [[nodiscard]] MaybeError addFault(const TuneKey &, const std::string &configuration,
                                    const std::string &reason);
  /// Decides again for each key, from all measurements of its newest body.
  [[nodiscard]] MaybeError decide();
  /// Adds the measurements of another file. Merging in any order gives the same measurements and choices.
  [[nodiscard]] MaybeError merge(TuneDatabase &other);

  struct Choice {
    TuneKey key;
    std::string configuration; // "": the default stays
    double gain = 1;
    int64_t pairs = 0;
  };
  /// Decides again for this key and returns its choice.
  Expected<Choice> choice(const TuneKey &);
  /// All keys with their choices, in a fixed order.
  Expected<std::vector<Choice>> choices();
  /// Those that differ from the default, as rows of a look-up file.
  Expected<std::vector<TunedRow>> rows();
  /// Every measurement as text, in a fixed order.
  Expected<std::vector<std::string>> dump();

  const std::string &path() const { return path_; }

private:
  struct Close {
    void operator()(sqlite3 *) const;
  };
  struct Statement;
  TuneDatabase(std::string path, sqlite3 *handle) : path_(std::move(path)), db_(handle) {}
  static Expected<TuneDatabase> openFile(const std::string &path, int flags);
  Error error(std::string doing) const;
  [[nodiscard]] MaybeError execute(const std::string &sql);
  [[nodiscard]] MaybeError prepareSchema(bool isReadOnly);
  Expected<int64_t> idOf(const TuneKey &);
  Expected<int64_t> number(const std::string &sql);
  [[nodiscard]] MaybeError transact(const std::function<MaybeError()> &);
  [[nodiscard]] MaybeError copyFrom(TuneDatabase &other);
  [[nodiscard]] MaybeError decideKey(int64_t key);

  std::string path_, run_;
  std::unique_ptr<sqlite3, Close> db_;
};

} // namespace tessera::tune
