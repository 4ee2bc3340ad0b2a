// The output of `tsr tune`, and what it keeps of each result.
#pragma once
#include "tools/tsr/Console.h"
#include "tools/tsr/Json.h"
#include "tools/tune/Database.h"
#include "tools/tune/Tuner.h"

namespace tessera::cli {

/// Stores results in the database as they come, and shows the progress.
class TuneRecorder final : public tune::TuneObserver {
public:
  /// All references outlive this object. `budget` is in seconds.
  TuneRecorder(tune::TuneDatabase &database, const tune::TuneKey &key,
               const std::vector<tune::Configuration> &configurations, Progress &progress, std::string what,
               double budget)
      : database_(database), key_(key), configurations_(configurations), progress_(progress),
        what_(std::move(what)), budget_(budget) {}

  MaybeError onTrial(size_t configuration, const std::vector<tune::Sample> &, bool confirms) override;
  MaybeError onWrong(size_t configuration, const Error &) override;
  void onIllegal(size_t configuration, const Error &) override;
  void onProgress(size_t done, size_t all, size_t best, double gain, double seconds) override;

  /// Configurations that take no part, each with the reason.
  const std::vector<std::pair<std::string, std::string>> &illegal() const { return illegal_; }
  const std::vector<std::pair<std::string, std::string>> &wrong() const { return wrong_; }

private:
  tune::TuneDatabase &database_;
  const tune::TuneKey &key_;
  const std::vector<tune::Configuration> &configurations_;
  Progress &progress_;
  std::string what_;
  double budget_;
  std::vector<std::pair<std::string, std::string>> illegal_, wrong_;
};

/// A few lines about one set of sizes. `choice` follows from this run and earlier ones.
std::string describeTuning(const std::string &kernel, const NamedValues &dims,
                           const std::vector<tune::Configuration> &, const tune::TuneResult &,
                           const tune::TuneDatabase::Choice &choice, const TuneRecorder &);
/// The same as a document.
Json tuningDocument(const std::string &kernel, const NamedValues &dims,
                    const std::vector<tune::Configuration> &, const tune::TuneResult &,
                    const tune::TuneDatabase::Choice &choice, const TuneRecorder &);

/// A table of a database's choices. `compiler` is the build id whose choices apply.
std::string describeChoices(const std::vector<tune::TuneDatabase::Choice> &, const std::string &compiler);
Json choicesDocument(const std::vector<tune::TuneDatabase::Choice> &, const std::string &compiler);

} // namespace tessera::cli
