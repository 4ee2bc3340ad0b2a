// logging(M, FILE): writes M's decisions to a file. The file is complete after each decision, because the
// whole of it is written to another file that replaces it. That costs little, because programs ask only a few
// questions. A pipe or a device receives each decision once.
#include "core/support/Fork.h"
#include "core/support/OutputFile.h"
#include "mapper/host/DecisionFile.h"
#include "mapper/host/Mappers.h"
#include "mapper/host/Question.h"
#include <algorithm>
#include <mutex>
#include <optional>

namespace tessera::mapping {
namespace {

class Logging final : public Mapper {
public:
  Logging(std::unique_ptr<Mapper> inner, std::string file)
      : inner_(std::move(inner)), file_(std::move(file)) {
    OutputFile out = open();
    if (out.isStream()) {
      stream_.emplace(std::move(out));
      write(*stream_, decisionsHeader());
    } else {
      write(out, writeDecisions({}));
      commit(out);
    }
  }
  Choice place(const Region &r, const Mesh &m) override { return keep(question(r, m), inner_->place(r, m)); }
  Choice chooseCollective(const CollectiveCall &c) override {
    return keep(question(c), inner_->chooseCollective(c));
  }
  Choice chooseVariant(const VariantCall &c) override { return keep(question(c), inner_->chooseVariant(c)); }

private:
  /// Does not log an answer that will be refused, since it is not a decision.
  Choice keep(const Question &q, Choice choice) {
    const bool takesDefault = choice.name.empty();
    if (!takesDefault && std::find(q.legal.begin(), q.legal.end(), choice.name) == q.legal.end())
      return choice;
    LoggedDecision d{q.call, q.about, q.legal, choice.name, choice.predictedNs};
    if (takesDefault && q.hasDefault && !q.legal.empty()) d.choice = q.legal.front();
    std::lock_guard lock(mutex_);
    decisions_.push_back(std::move(d));
    if (stream_) {
      write(*stream_, writeDecision(decisions_.back()));
    } else {
      OutputFile out = open();
      write(out, writeDecisions(decisions_));
      commit(out);
    }
    return choice;
  }

  OutputFile open() const {
    OutputFile file;
    check(file.open(file_, OutputFile::Pipe::Refuse));
    return file;
  }
  void write(OutputFile &file, const std::string &text) const { check(file.write(text)); }
  void commit(OutputFile &file) const { check(file.commit()); }
  void check(const MaybeError &error) const {
    if (error)
      throw Failure(TSR_EIO, "E_MAPPER_LOG",
                    "the decisions cannot be written to " + file_ + ": " + error->message,
                    "name another file: logging(default, /path/decisions.yaml)");
  }

  const std::unique_ptr<Mapper> inner_;
  const std::string file_;
  std::mutex mutex_; // guards the members below and the file
  HeldAcrossFork heldAcrossFork_{mutex_};
  std::vector<LoggedDecision> decisions_;
  std::optional<OutputFile> stream_; // set when the file is a pipe or a device
};

} // namespace

std::unique_ptr<Mapper> makeLogging(std::unique_ptr<Mapper> inner, const std::string &file) {
  return std::make_unique<Logging>(std::move(inner), file);
}

} // namespace tessera::mapping
