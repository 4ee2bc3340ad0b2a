// Answers choose_collective for the calls of communicators.
#include "core/log/Log.h"
#include "mapper/host/Decisions.h"
#include "mapper/host/Host.h"
#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

namespace tessera {

struct AlgorithmChoices::Record {
  std::string kind, topology, choice, by;
  uint64_t bytes = 0;
  uint32_t ranks = 0;
  std::vector<std::string> legal;
  double predictedNs = -1;
  uint64_t calls = 0, leastNs = 0; // guarded by the mutex of Choices
};

namespace mapping {
namespace {

constexpr size_t kMostRecords = 65536; // per communicator; when they are full, all records are discarded

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> out;
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    if (comma) out.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return out;
}

void note(const AlgorithmChoices::Call &call, const std::string &choice, const std::string &by) {
  if (!logs(TSR_LOG_NOTE)) return;
  log(TSR_LOG_NOTE, "N_MAPPER",
      std::string(call.kind) + " of " + std::to_string(call.bytes) + " bytes among " +
          std::to_string(call.ranks) +
          " ranks: " + (choice.empty() ? "the implementation's choice" : choice) + ", by mapper " + by);
}

class Choices final : public AlgorithmChoices {
public:
  bool isQuiet() const noexcept override {
    return quiet_.load(std::memory_order_relaxed) == mapping::generation();
  }
  tsr_status_t choose(const Call &call, Record *&out, std::string &why) override;
  const char *algorithmOf(const Record &r) const override { return r.choice.c_str(); }
  void measured(Record &r, uint64_t nanoseconds) override {
    std::lock_guard lock(mutex_);
    r.leastNs = r.calls++ ? std::min(r.leastNs, nanoseconds) : nanoseconds;
  }
  std::string json() const override;

private:
  std::atomic<uint64_t> quiet_{0}; // the generation in which the mapper need not be asked
  mutable std::mutex mutex_;       // guards the members below
  std::deque<Record> records_;     // in the order of the questions; elements never move
  uint64_t generation_ = 0;        // of the records in the index
  std::map<std::pair<uint64_t, std::string_view>, Record *>
      index_; // by bytes and kind; the ranks of a communicator never change
};

tsr_status_t Choices::choose(const Call &call, Record *&out, std::string &why) {
  out = nullptr;
  // read before the mapper: if a later mapper is set meanwhile, the next call asks again
  const uint64_t generation = mapping::generation();
  try {
    {
      std::lock_guard lock(mutex_);
      if (generation_ != generation) index_.clear();
      generation_ = generation;
      if (auto it = index_.find({call.bytes, call.kind}); it != index_.end())
        return out = it->second, TSR_SUCCESS;
    }
    const std::shared_ptr<Host> host = current();
    if (!host || host->choosesNothing()) {
      quiet_.store(generation, std::memory_order_relaxed);
      return TSR_SUCCESS;
    }
    std::vector<std::string> legal = split(call.algorithms);
    if (legal.empty()) return TSR_SUCCESS; // nothing to choose from
    const Mapper::Choice choice =
        host->algorithmFor({call.kind, call.bytes, call.ranks, call.topology, legal});
    note(call, choice.name, host->name());
    std::lock_guard lock(mutex_);
    if (records_.size() >= kMostRecords) index_.clear(), records_.clear();
    out = &records_.emplace_back(Record{call.kind, call.topology, choice.name, host->name(), call.bytes,
                                        call.ranks, std::move(legal), choice.predictedNs});
    index_.insert_or_assign({out->bytes, out->kind}, out);
    return TSR_SUCCESS;
  } catch (const Failure &f) {
    why = "[" + f.code + "] " + f.message + (f.hint.empty() ? "" : "\n  hint: " + f.hint);
    return f.status == TSR_ETIMEOUT || f.status == TSR_EOOM ? f.status : TSR_EINVAL;
  }
}

std::string Choices::json() const {
  nlohmann::json out = nlohmann::json::array();
  std::lock_guard lock(mutex_);
  for (const Record &r : records_) {
    nlohmann::json j = {{"call", "choose_collective"},
                        {"kind", r.kind},
                        {"bytes", r.bytes},
                        {"ranks", r.ranks},
                        {"topology", r.topology},
                        {"from", r.legal},
                        {"choice", r.choice},
                        {"by", r.by},
                        {"calls", r.calls}};
    if (r.predictedNs >= 0) j["predicted_ns"] = r.predictedNs;
    if (r.calls) j["measured_ns"] = r.leastNs;
    out.push_back(std::move(j));
  }
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace

std::unique_ptr<AlgorithmChoices> makeAlgorithmChoices() { return std::make_unique<Choices>(); }

} // namespace mapping
} // namespace tessera
