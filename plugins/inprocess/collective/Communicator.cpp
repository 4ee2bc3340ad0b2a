#include "plugins/inprocess/collective/Communicator.h"
#include "plugins/inprocess/collective/Work.h"
#include <cstring>
#include <thread>

namespace tessera::inprocess {
namespace {

constexpr size_t kStagedBytes = 1024; // up to this size of a rank's larger buffer, calls are staged

/// Prevents two calls at a time on one rank's end.
class Turn {
public:
  explicit Turn(std::atomic<bool> &busy)
      : busy_(busy), mine_(!busy.exchange(true, std::memory_order_acquire)) {}
  ~Turn() {
    if (mine_) busy_.store(false, std::memory_order_release);
  }
  Turn(const Turn &) = delete;
  explicit operator bool() const { return mine_; }

private:
  std::atomic<bool> &busy_;
  const bool mine_;
};

} // namespace

InProcessCommunicator::InProcessCommunicator(std::shared_ptr<Group> group, int rank, uint64_t timeoutNs)
    : group_(std::move(group)), rank_(rank), slot_(group_->slots[static_cast<size_t>(rank)]),
      timeoutNs_(timeoutNs) {}

InProcessCommunicator::~InProcessCommunicator() { group_->leave(rank_); }

std::string InProcessCommunicator::name() const {
  return "communicator '" + group_->id + "', rank " + std::to_string(rank_) + ": ";
}

tsr_status_t InProcessCommunicator::run(const tsr_cl_call_t &call, std::string &why) {
  Turn turn(busy_);
  if (!turn) {
    why = name() + "another thread is in a call of this rank; one at a time";
    return TSR_EINVAL;
  }
  if (group_->isBroken()) {
    std::string since;
    const tsr_status_t status = group_->failure(since);
    why = name() + "it is broken (" + since + "); destroy it and make a new one";
    return status;
  }
  uint8_t algorithm;
  if (!collective::check(call, group_->size, kAlgorithms, algorithm, why)) {
    why = name() + why;
    return TSR_EINVAL;
  }
  const Work w(call, group_->size, collective::signatureOf(call, calls_, algorithm));
  Deadline deadline(call.timeout_ns ? call.timeout_ns : timeoutNs_);
  if (group_->size == 1) {
    ++calls_;
    return runAlone(w);
  }
  const bool large = std::max(w.sourceBytes(), w.targetBytes()) > kStagedBytes;
  return algorithm == 1 || (algorithm == 0 && large) ? direct(w, deadline, why) : staged(w, deadline, why);
}

tsr_status_t InProcessCommunicator::runAlone(const Work &w) {
  if (w.src != w.dst && w.count) std::memcpy(w.dst, w.src, w.count * w.bytes);
  return TSR_SUCCESS;
}

void InProcessCommunicator::post(const Work &w) {
  Cell &cell = slot_.at(step_);
  cell.signature = w.signature;
  char *where = cell.where;
  size_t n = 0;
  if (w.where)
    while (n + 1 < kWhereBytes && w.where[n]) {
      where[n] = w.where[n];
      ++n;
    }
  where[n] = 0;
}

/// Returns whether `peer` has posted the same call. If not, marks the group as broken.
bool InProcessCommunicator::agrees(int peer) {
  const Cell &own = slot_.at(step_), &other = group_->slots[static_cast<size_t>(peer)].at(step_);
  if (other.signature == own.signature) return true;
  group_->fail(TSR_EINVAL, collective::mismatch(rank_, describe(own.signature, own.where, kAlgorithms), peer,
                                                describe(other.signature, other.where, kAlgorithms)));
  return false;
}

tsr_status_t InProcessCommunicator::ended(Group::Wait how, const Work &w, Deadline &deadline,
                                          std::string &why) {
  if (how == Group::Wait::Timeout)
    group_->fail(TSR_ETIMEOUT, describe(w.signature, w.where ? w.where : "", kAlgorithms) + ": " +
                                   group_->missing(step_) + " did not come within " +
                                   collective::duration(deadline.total()));
  while (!group_->isBroken())
    std::this_thread::yield(); // the rank that gave up is about to store the reason
  const tsr_status_t status = group_->failure(why);
  why = name() + why + "; the communicator is broken";
  return status;
}

tsr_status_t InProcessCommunicator::staged(const Work &w, Deadline &deadline, std::string &why) {
  // Elements of one piece: a rank's staging buffer holds that many of each of its parts.
  const size_t parts = collective::dividesSource(w.kind) ? static_cast<size_t>(group_->size) : 1;
  const size_t most = kStageBytes / (parts * w.bytes);
  size_t from = 0;
  do {
    const size_t n = std::min(most, w.count - from);
    ++step_;
    if (!from) post(w);
    stage(w, slot_.at(step_).stage, from, n);
    group_->publish(rank_, step_);
    const auto how = from ? group_->waitForAll(rank_, step_, deadline, [](int) { return true; })
                          : group_->waitForAll(rank_, step_, deadline, [&](int p) { return agrees(p); });
    if (how != Group::Wait::Done) return ended(how, w, deadline, why);
    unstage(w, from, n);
    from += n;
  } while (from < w.count);
  ++calls_;
  return TSR_SUCCESS;
}

void InProcessCommunicator::stage(const Work &w, std::byte *buffer, size_t from, size_t n) const {
  if (!n || (w.kind == TSR_BROADCAST && w.root != rank_)) return;
  const int parts = collective::dividesSource(w.kind) ? group_->size : 1;
  for (int part = 0; part < parts; ++part)
    std::memcpy(buffer + static_cast<size_t>(part) * n * w.bytes,
                w.src + (static_cast<size_t>(part) * w.count + from) * w.bytes, n * w.bytes);
}

void InProcessCommunicator::unstage(const Work &w, size_t from, size_t n) const {
  const auto part = static_cast<size_t>(collective::dividesSource(w.kind) ? rank_ : 0);
  auto staged = [&](int rank) {
    return group_->slots[static_cast<size_t>(rank)].at(step_).stage + part * n * w.bytes;
  };
  std::byte *to = w.dst + from * w.bytes;
  if (!n) return;
  if (w.kind == TSR_BROADCAST) {
    if (w.src != w.dst || w.root != rank_) std::memcpy(to, staged(w.root), n * w.bytes);
  } else if (collective::dividesTarget(w.kind)) {
    for (int rank = 0; rank < group_->size; ++rank)
      std::memcpy(to + static_cast<size_t>(rank) * w.count * w.bytes, staged(rank), n * w.bytes);
  } else {
    Sources sources(group_->size);
    for (int rank = 0; rank < group_->size; ++rank)
      sources[rank] = staged(rank);
    combine(to, sources.data(), group_->size, n, w.dtype, w.op);
  }
}

tsr_status_t InProcessCommunicator::direct(const Work &w, Deadline &deadline, std::string &why) {
  Cell &cell = slot_.at(++step_);
  post(w);
  cell.src = w.src;
  cell.dst = w.dst;
  if (!group_->enter()) return ended(Group::Wait::Broken, w, deadline, why);
  group_->publish(rank_, step_);
  const uint64_t whole = ++directCalls_ * static_cast<uint64_t>(group_->size);
  auto begin = [&](Deadline &limit) {
    return group_->waitForAll(rank_, step_, limit, [&](int peer) { return agrees(peer); });
  };
  Deadline never(UINT64_MAX);
  auto how = begin(deadline);
  // all ranks have entered after all
  if (how == Group::Wait::Timeout && !group_->giveUp(whole)) how = begin(never);
  if (how != Group::Wait::Done) return ended(how, w, deadline, why);
  if (w.count) directWork(w);
  group_->publish(rank_, ++step_);
  how = group_->waitForAll(rank_, step_, never, [](int) { return true; });
  if (how != Group::Wait::Done) return ended(how, w, deadline, why);
  ++calls_;
  return TSR_SUCCESS;
}

} // namespace tessera::inprocess
