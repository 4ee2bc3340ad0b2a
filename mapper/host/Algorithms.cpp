// choose_collective for the calls of communicators.
#include "core/log/Log.h"
#include "core/plugin/Mappers.h"
#include "mapper/host/Host.h"
#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

namespace tessera {

using mapping::Failure;

struct AlgorithmChoices::Record {
  std::string kind, topology, choice, by;
  uint64_t bytes = 0;
  uint32_t ranks = 0;
  std::vector<std::string> legal;
  double predictedNs = -1;
  uint64_t calls = 0, leastNs = 0; // guarded by the state's mutex
};

struct AlgorithmChoices::State {
  std::atomic<uint64_t> quiet{0}; // the generation in which nobody is asked
  mutable std::mutex mutex;       // guards what follows
  std::deque<Record> records;     // in the order of the questions; grow, and never move
  uint64_t generation = 0;        // of those in the index
  std::map<std::pair<uint64_t, std::string_view>, Record *>
      index; // by bytes and kind; ranks are always the same
};

namespace {

constexpr size_t kMostRecords = 65536; // of one communicator; then it begins anew

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

} // namespace

AlgorithmChoices::AlgorithmChoices() : state_(std::make_unique<State>()) {}
AlgorithmChoices::~AlgorithmChoices() = default;

bool AlgorithmChoices::isQuiet() const noexcept {
  return state_->quiet.load(std::memory_order_relaxed) == mapping::generation();
}

tsr_status_t AlgorithmChoices::choose(const Call &call, Record *&out, std::string &why) {
  out = nullptr;
  const uint64_t generation = mapping::generation(); // before the mapper is looked at: a later one asks again
  try {
    {
      std::lock_guard lock(state_->mutex);
      if (state_->generation != generation) state_->index.clear();
      state_->generation = generation;
      if (auto it = state_->index.find({call.bytes, call.kind}); it != state_->index.end())
        return out = it->second, TSR_SUCCESS;
    }
    const std::shared_ptr<mapping::Host> host = mapping::current();
    if (!host || host->choosesNothing()) {
      state_->quiet.store(generation, std::memory_order_relaxed);
      return TSR_SUCCESS;
    }
    std::vector<std::string> legal = split(call.algorithms);
    if (legal.empty()) return TSR_SUCCESS; // nothing to choose from
    const Mapper::Choice choice =
        host->algorithmFor({call.kind, call.bytes, call.ranks, call.topology, legal});
    note(call, choice.name, host->name());
    std::lock_guard lock(state_->mutex);
    if (state_->records.size() >= kMostRecords) state_->index.clear(), state_->records.clear();
    out = &state_->records.emplace_back(Record{call.kind, call.topology, choice.name, host->name(),
                                               call.bytes, call.ranks, std::move(legal), choice.predictedNs});
    state_->index.insert_or_assign({out->bytes, out->kind}, out);
    return TSR_SUCCESS;
  } catch (const Failure &f) {
    why = "[" + f.code + "] " + f.message + (f.hint.empty() ? "" : "\n  hint: " + f.hint);
    return f.status == TSR_ETIMEOUT || f.status == TSR_EOOM ? f.status : TSR_EINVAL;
  }
}

const char *AlgorithmChoices::algorithmOf(const Record &r) { return r.choice.c_str(); }

void AlgorithmChoices::measured(Record &r, uint64_t nanoseconds) {
  std::lock_guard lock(state_->mutex);
  r.leastNs = r.calls++ ? std::min(r.leastNs, nanoseconds) : nanoseconds;
}

std::string AlgorithmChoices::json() const {
  nlohmann::json out = nlohmann::json::array();
  std::lock_guard lock(state_->mutex);
  for (const Record &r : state_->records) {
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

} // namespace tessera
