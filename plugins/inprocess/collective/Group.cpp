#include "plugins/inprocess/collective/Group.h"
#include <algorithm>
#include <cerrno>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tessera::inprocess {
namespace {

// Iterations of the loop in which a rank waits before it sleeps. The first run at full speed, the later ones
// pause about 50 ns each. Sleeping and waking costs tens of microseconds, so the loop lasts about as long.
constexpr int kEagerSpins = 3000, kSpins = 1000;

/// Returns the cores of the process; the calling thread may be bound to one of them.
int usableCores() {
  cpu_set_t set;
  return sched_getaffinity(getpid(), sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

void futexWait(std::atomic<uint32_t> &word, uint32_t value, uint64_t ns) {
  timespec limit = {static_cast<time_t>(ns / 1000000000), static_cast<long>(ns % 1000000000)};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, ns == UINT64_MAX ? nullptr : &limit, nullptr, 0);
}

void futexWake(std::atomic<uint32_t> &word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

} // namespace

uint64_t Deadline::left() {
  if (ns_ == UINT64_MAX) return UINT64_MAX;
  const auto now = std::chrono::steady_clock::now();
  if (!started_) start_ = now;
  started_ = true;
  const auto spent =
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now - start_).count());
  return spent < ns_ ? ns_ - spent : 0;
}

Group::Group(std::string id, int size)
    : id(std::move(id)), size(size), slots(new Slot[static_cast<size_t>(size)]),
      spins_(size <= usableCores() ? kSpins : 0),
      fences_(syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0),
      inboxes_(new Inbox[static_cast<size_t>(size)]) {}

void Group::publish(int rank, uint32_t step) {
  // Either the sleeper sees the step or this thread sees the sleeper. The sleeper's membarrier ensures that;
  // without membarrier the exchange does, which blocks this thread until it owns the cache line.
  std::atomic<uint32_t> &own = slots[rank].at(step).step;
  if (fences_)
    own.store(step, std::memory_order_release);
  else
    own.exchange(step, std::memory_order_seq_cst);
  for (int peer = 0; peer < size; ++peer)
    if (peer != rank && slots[peer].sleeping.load(std::memory_order_seq_cst)) ring(peer);
}

void Group::ring(int rank) {
  slots[rank].bell.fetch_add(1, std::memory_order_seq_cst);
  futexWake(slots[rank].bell);
}

void Group::ringInbox(int rank) {
  Inbox &inbox = inboxes_[static_cast<size_t>(rank)];
  // A thread that has looked at the inbox and is about to wait holds the mutex.
  {
    std::lock_guard lock(inbox.mutex);
  }
  inbox.changed.notify_all();
}

void Group::send(int to, Message message) {
  Inbox &inbox = inboxes_[static_cast<size_t>(to)];
  {
    std::lock_guard lock(inbox.mutex);
    inbox.messages.push_back(std::move(message));
  }
  inbox.changed.notify_all();
}

Group::Wait Group::receive(int rank, int from, int32_t tag, Deadline &deadline, Message &out) {
  Inbox &inbox = inboxes_[static_cast<size_t>(rank)];
  std::unique_lock lock(inbox.mutex);
  for (;;) {
    const bool gone = hasLeft(from); // read before the messages: the peer may send one and then leave
    auto found = std::ranges::find_if(
        inbox.messages, [&](const Message &m) { return m.from == from && m.signature.root == tag; });
    if (found != inbox.messages.end()) {
      out = std::move(*found);
      inbox.messages.erase(found);
      return Wait::Done;
    }
    if (isBroken()) return Wait::Broken;
    if (gone) {
      lock.unlock();
      fail(TSR_EINVAL, collective::list({from}) + " has destroyed its end while " + collective::list({rank}) +
                           " waits for it");
      return Wait::Broken;
    }
    const uint64_t left = std::min<uint64_t>(deadline.left(), 86400ull * 1000000000); // clocks overflow
    if (!left) return Wait::Timeout;
    inbox.changed.wait_for(lock, std::chrono::nanoseconds(left));
  }
}

Group::Wait Group::waitFor(int rank, int peer, uint32_t step, Deadline &deadline, bool mayEnd) {
  const int eager = spins_ ? kEagerSpins : 0;
  for (int i = 0; i < eager; ++i)
    if (reached(peer, step)) return Wait::Done;
  for (int i = 0; i < spins_; ++i) {
    if (reached(peer, step)) return Wait::Done;
    pause();
  }
  Slot &own = slots[rank];
  for (;;) {
    const uint32_t bell = own.bell.load(std::memory_order_seq_cst);
    own.sleeping.store(1, std::memory_order_seq_cst);
    if (fences_) syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    const bool gone = hasLeft(peer); // read before `done`: the peer may publish a step and then leave
    const bool done = reached(peer, step);
    const uint64_t left = done || gone || (mayEnd && isBroken()) ? 0 : deadline.left();
    if (left) futexWait(own.bell, bell, left);
    own.sleeping.store(0, std::memory_order_seq_cst);
    if (done) return Wait::Done;
    if (mayEnd && isBroken()) return Wait::Broken;
    if (gone) {
      fail(TSR_EINVAL, collective::list({peer}) + " has destroyed its end while " + collective::list({rank}) +
                           " waits for it");
      return Wait::Broken;
    }
    if (!left) return Wait::Timeout;
  }
}

std::string Group::missing(uint32_t step) const {
  std::vector<int> out;
  for (int rank = 0; rank < size; ++rank)
    if (!reached(rank, step)) out.push_back(rank);
  return collective::list(out);
}

bool Group::giveUp(uint64_t whole) {
  uint64_t now = entered_.load(std::memory_order_acquire);
  while (now < whole)
    if (entered_.compare_exchange_weak(now, now | kGivenUp, std::memory_order_acq_rel)) return true;
  return now & kGivenUp;
}

void Group::fail(tsr_status_t status, std::string why) {
  {
    std::lock_guard lock(mutex_);
    if (status_ == TSR_SUCCESS) {
      status_ = status;
      why_ = std::move(why);
    }
  }
  broken_.store(true, std::memory_order_seq_cst);
  for (int rank = 0; rank < size; ++rank) {
    ring(rank);
    ringInbox(rank);
  }
}

void Group::leave(int rank) {
  slots[rank].left.store(1, std::memory_order_seq_cst);
  for (int peer = 0; peer < size; ++peer)
    if (peer != rank) {
      ring(peer);
      ringInbox(peer);
    }
}

tsr_status_t Group::failure(std::string &why) const {
  std::lock_guard lock(mutex_);
  why = why_;
  return status_;
}

} // namespace tessera::inprocess
