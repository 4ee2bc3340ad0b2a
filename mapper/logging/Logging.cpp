// logging(M, FILE): writes down what M decides. The file is complete after each decision: written beside and
// renamed. Programs ask a few questions each, so that writing all of it again costs little.
#include "mapper/host/DecisionFile.h"
#include "mapper/host/Mappers.h"
#include "mapper/host/Question.h"
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <unistd.h>

namespace tessera::mapping {
namespace {

void writeWhole(const std::string &file, const std::string &text) {
  const std::string beside = file + "." + std::to_string(::getpid()) + ".tmp";
  std::FILE *out = std::fopen(beside.c_str(), "w");
  bool ok = out && std::fwrite(text.data(), 1, text.size(), out) == text.size();
  if (out) ok = std::fclose(out) == 0 && ok;
  ok = ok && std::rename(beside.c_str(), file.c_str()) == 0;
  if (ok) return;
  const std::string reason = std::strerror(errno);
  (void)::unlink(beside.c_str());
  throw Failure(TSR_EIO, "E_MAPPER_LOG", "the decisions cannot be written to " + file + ": " + reason,
                "name another file: logging(default, /path/decisions.yaml)");
}

class Logging final : public Mapper {
public:
  Logging(std::unique_ptr<Mapper> inner, std::string file)
      : inner_(std::move(inner)), file_(std::move(file)) {
    writeWhole(file_, writeDecisions(decisions_));
  }
  Choice place(const Region &r, const Mesh &m) override { return keep(question(r, m), inner_->place(r, m)); }
  Choice chooseCollective(const CollectiveCall &c) override {
    return keep(question(c), inner_->chooseCollective(c));
  }
  Choice chooseVariant(const VariantCall &c) override { return keep(question(c), inner_->chooseVariant(c)); }

private:
  /// What will be refused is not written down: it is no decision.
  Choice keep(const Question &q, Choice choice) {
    const bool takesDefault = choice.name.empty();
    if (!takesDefault && std::find(q.legal.begin(), q.legal.end(), choice.name) == q.legal.end())
      return choice;
    LoggedDecision d{q.call, q.about, q.legal, choice.name, choice.predictedNs};
    if (takesDefault && q.hasDefault && !q.legal.empty()) d.choice = q.legal.front();
    std::lock_guard lock(mutex_);
    decisions_.push_back(std::move(d));
    writeWhole(file_, writeDecisions(decisions_));
    return choice;
  }

  const std::unique_ptr<Mapper> inner_;
  const std::string file_;
  std::mutex mutex_; // guards what follows, and the file
  std::vector<LoggedDecision> decisions_;
};

} // namespace

std::unique_ptr<Mapper> makeLogging(std::unique_ptr<Mapper> inner, const std::string &file) {
  return std::make_unique<Logging>(std::move(inner), file);
}

} // namespace tessera::mapping
