#include "plugins/inprocess/collective/Communicator.h"
#include "plugins/inprocess/collective/Work.h"
#include <cstring>
#include <new>
#include <thread>

namespace tessera::inprocess {

using collective::Outcome;

namespace {

constexpr size_t kStagedBytes = 1024; // up to this size of a rank's larger buffer, calls are staged

} // namespace

InProcessCommunicator::InProcessCommunicator(std::shared_ptr<Group> group, int rank, uint64_t timeoutNs)
    : group_(std::move(group)), rank_(rank), slot_(group_->slots[static_cast<size_t>(rank)]),
      timeoutNs_(timeoutNs) {}

InProcessCommunicator::~InProcessCommunicator() { group_->leave(rank_); }

std::string InProcessCommunicator::name() const {
  return "communicator '" + group_->id + "', rank " + std::to_string(rank_) + ": ";
}

/// Begins a call, which ends when `turn` unlocks. Fails if another thread is in one, or if the communicator
/// is broken.
Outcome InProcessCommunicator::begin(std::unique_lock<std::mutex> &turn) {
  turn = std::unique_lock(busy_, std::try_to_lock);
  if (!turn) return {TSR_EINVAL, name() + "another thread is in a call of this rank; one at a time"};
  if (!group_->isBroken()) return {};
  std::string since;
  const tsr_status_t status = group_->failure(since);
  return {status, name() + "it is broken (" + since + "); destroy it and make a new one"};
}

tsr_status_t InProcessCommunicator::run(const tsr_cl_call_t &call, std::string &why) {
  std::unique_lock<std::mutex> turn;
  if (Outcome o = begin(turn); o.failed()) return o.moveTo(why);
  uint8_t algorithm;
  if (!collective::check(call, group_->size, kAlgorithms, algorithm, why)) {
    why = name() + why;
    return TSR_EINVAL;
  }
  Deadline deadline(call.timeout_ns ? call.timeout_ns : timeoutNs_);
  if (call.kind == TSR_SEND) return send(call).moveTo(why);
  if (call.kind == TSR_RECV) return receive(call, deadline).moveTo(why);
  const Work w(call, group_->size, collective::signatureOf(call, calls_, algorithm));
  if (group_->size == 1) {
    ++calls_;
    return runAlone(w);
  }
  const bool large = std::max(w.sourceBytes(), w.targetBytes()) > kStagedBytes;
  return algorithm == 1 || (algorithm == 0 && large) ? direct(w, deadline, why) : staged(w, deadline, why);
}

Outcome InProcessCommunicator::send(const tsr_cl_call_t &call) {
  const size_t bytes = call.count * collective::kBytes[call.dtype];
  Message message{rank_, collective::signatureOf(call, 0, 0), call.where ? call.where : "", {}};
  message.data.reset(new (std::nothrow) std::byte[bytes]);
  if (!message.data)
    return {TSR_EOOM, name() + "no memory for a message of " + std::to_string(bytes) + " bytes"};
  if (bytes) std::memcpy(message.data.get(), call.src, bytes); // a NULL src is allowed without elements
  group_->send(call.peer, std::move(message));
  return {};
}

Outcome InProcessCommunicator::receive(const tsr_cl_call_t &call, Deadline &deadline) {
  collective::Signature wanted = collective::signatureOf(call, 0, 0);
  const std::string_view where = call.where ? call.where : "";
  Message message;
  const auto how = group_->receive(rank_, call.peer, call.tag, deadline, message);
  if (how == Group::Wait::Timeout)
    group_->fail(TSR_ETIMEOUT, describe(wanted, where, "") + ": " + collective::list({call.peer}) +
                                   " did not send within " + collective::duration(deadline.total()));
  if (how == Group::Wait::Done) {
    if (message.signature.count == wanted.count && message.signature.dtype == wanted.dtype) {
      if (call.count) std::memcpy(call.dst, message.data.get(), call.count * collective::kBytes[call.dtype]);
      return {};
    }
    group_->fail(TSR_EINVAL,
                 collective::mismatchOfPair(call.peer, describe(message.signature, message.where, ""), rank_,
                                            describe(wanted, where, "")));
  }
  std::string text;
  const tsr_status_t status = group_->failure(text);
  return {status, name() + text + "; the communicator is broken"};
}

Outcome InProcessCommunicator::split(int32_t color, int32_t key, std::unique_ptr<Communicator> &out) {
  std::unique_lock<std::mutex> turn;
  if (Outcome o = begin(turn); o.failed()) return o;
  // The ranks exchange color and key as an all_gather does, with a signature of its own.
  const auto size = static_cast<size_t>(group_->size);
  const int64_t mine[2] = {color, key};
  std::vector<int64_t> all(2 * size);
  tsr_cl_call_t call{};
  call.struct_size = sizeof call;
  call.kind = TSR_ALL_GATHER;
  call.dtype = TSR_DTYPE_I64;
  call.count = 2;
  call.src = mine;
  call.dst = all.data();
  collective::Signature signature = collective::signatureOf(call, calls_, 0);
  signature.kind = collective::kSplit;
  const std::string child = group_->id + "/" + std::to_string(calls_) + "." + std::to_string(color);
  const Work w(call, group_->size, signature);
  Deadline deadline(timeoutNs_);
  Outcome failure;
  if (size == 1) {
    ++calls_;
    runAlone(w);
  } else if ((failure.status = staged(w, deadline, failure.text))) {
    return failure;
  }
  if (color < 0) return {};
  int rank = 0, members = 0;
  for (size_t r = 0; r < size; ++r) {
    if (all[2 * r] != color) continue;
    ++members;
    if (std::pair(all[2 * r + 1], static_cast<int>(r)) < std::pair(int64_t{key}, rank_)) ++rank;
  }
  auto group = meet(child, rank, members, timeoutNs_, failure.status, failure.text);
  if (!group) return failure;
  out = std::make_unique<InProcessCommunicator>(std::move(group), rank, timeoutNs_);
  return {};
}

Outcome InProcessCommunicator::abort(const std::string &reason) {
  group_->fail(TSR_EDEVICE, collective::list({rank_}) + " has aborted: " + reason);
  return {};
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
  const size_t parts = w.hasSourceParts() ? w.ranks : 1;
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
  const int parts = w.hasSourceParts() ? group_->size : 1;
  for (int part = 0; part < parts; ++part)
    std::memcpy(buffer + static_cast<size_t>(part) * n * w.bytes,
                w.src + (static_cast<size_t>(part) * w.count + from) * w.bytes, n * w.bytes);
}

void InProcessCommunicator::unstage(const Work &w, size_t from, size_t n) const {
  const auto part = static_cast<size_t>(w.hasSourceParts() ? rank_ : 0);
  auto staged = [&](int rank) {
    return group_->slots[static_cast<size_t>(rank)].at(step_).stage + part * n * w.bytes;
  };
  std::byte *to = w.dst + from * w.bytes;
  if (!n) return;
  if (w.kind == TSR_BROADCAST) {
    if (w.src != w.dst || w.root != rank_) std::memcpy(to, staged(w.root), n * w.bytes);
  } else if (w.kind == TSR_ALL_GATHER || w.kind == TSR_ALL_TO_ALL) {
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
  bool agreed = true;
  auto meetAll = [&](Deadline &limit, bool mayEnd) {
    return group_->waitForAll(rank_, step_, limit, [&](int peer) { return agreed = agrees(peer); }, mayEnd);
  };
  Deadline never(UINT64_MAX);
  auto how = meetAll(deadline, true);
  // After a timeout or an abort, all ranks may have entered after all; then they use each other's memory.
  if (how != Group::Wait::Done && agreed && !group_->giveUp(whole)) how = meetAll(never, false);
  if (how != Group::Wait::Done) return ended(how, w, deadline, why);
  if (w.count) directWork(w);
  group_->publish(rank_, ++step_);
  how = group_->waitForAll(rank_, step_, never, [](int) { return true; }, false);
  if (how != Group::Wait::Done) return ended(how, w, deadline, why);
  ++calls_;
  return TSR_SUCCESS;
}

} // namespace tessera::inprocess
