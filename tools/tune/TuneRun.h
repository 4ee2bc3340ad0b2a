// Tunes one kernel for one set of sizes after another: binds arguments, measures, stores the measurements and
// writes the look-up file. `tsr tune` and the Python package have the same one.
#pragma once
#include "tools/tsr/Bind.h"
#include "tools/tune/Database.h"
#include "tools/tune/Tuner.h"

namespace tessera::tune {

/// What is tuned, and where the results go.
struct TuneRequest {
  std::string source;
  CompileOptions options; // the file's name, what the caller supplies, the profile with its permissions
  cli::Request arguments; // files and scalars
  std::vector<std::vector<cli::NamedValue>> sizes; // dims with their values; none: what the files say
  std::string backend;                             // that is asked for; "": TESSERA_BACKEND, or cpu
  std::string database, lookUp;                    // lookUp "": none is written
  double budget = 60;                              // seconds, which the sizes share
  uint64_t seed = 0;                               // which configurations of a large space are tried
};

/// Configurations that take no part, each with the reason.
using Exclusions = std::vector<std::pair<std::string, std::string>>;

/// What is known of one set of sizes.
struct SizeResult {
  std::string kernel;
  NamedValues dims;
  std::vector<Configuration> configurations; // the default first
  TuneResult result;
  TuneDatabase::Choice choice; // follows from this run and earlier ones
  Exclusions illegal, wrong;
};

/// How far the tuning of one set of sizes is.
struct TuneProgress {
  std::string kernel;
  NamedValues dims;
  size_t done = 0, all = 0; // configurations of this round; all 0: they are being compiled
  std::string best;         // "": the default
  double gain = 1;
  double secondsLeft = 0; // of the budget of these sizes
};

/// Called by the thread that tunes.
class TuneListener {
public:
  virtual ~TuneListener() = default;
  virtual void onProgress(const TuneProgress &) = 0;
  virtual void onResult(const SizeResult &) = 0;
  /// The database is open, and what is measured from here on is kept.
  virtual void onBegin() {}
  /// A set of sizes begins, whose configurations are compiled with these options.
  virtual void onSizes(const CompileOptions &) {}
  /// Returns true to end: run() then fails with E_TUNE_STOPPED.
  virtual bool isStopped() { return false; }
};

/// What a run leaves in the look-up file.
struct TuneOutcome {
  size_t choices = 0; // of the database
  cli::Errors errors; // empty: every set of sizes was tuned
};

/// Tunes `signature`'s kernel. What was measured until an error is kept, and the sizes before it get their
/// choices. Fails with E_TUNE_BACKEND if a backend other than cpu is asked for.
TuneOutcome runTuning(const TuneRequest &, const Signature &signature, TuneListener &);

/// Where the database and its look-up file are if the caller names neither, one, or both. "" is not named.
/// Fails with E_OPTION_VALUE if there is no home directory, or both would be one file.
[[nodiscard]] MaybeError chooseFiles(std::string &database, std::string &lookUp);

/// Adds the measurements of databases to another one and writes its look-up file. Returns its choices.
Expected<size_t> mergeDatabases(const std::vector<std::string> &files, const std::string &database,
                                const std::string &lookUp);
/// Writes the look-up file of a database, with the choices of runs that were interrupted. Returns how many
/// there are.
Expected<size_t> exportChoices(const std::string &database, const std::string &lookUp);
/// The choices of a database, which is only read.
Expected<std::vector<TuneDatabase::Choice>> readChoices(const std::string &database);

} // namespace tessera::tune
