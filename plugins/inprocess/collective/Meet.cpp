// How ranks that pass the same id find each other.
#include "plugins/inprocess/collective/Group.h"
#include <condition_variable>
#include <map>
#include <new>
#include <pthread.h>

namespace tessera::inprocess {
namespace {

/// One id on which ranks are waiting. It is removed from the table when the last rank arrives, or when one
/// gives up.
struct Meeting {
  std::shared_ptr<Group> group;
  std::vector<bool> here;
  int count = 0;
  bool over = false;
  std::string failure; // why the meeting failed
};

struct Table {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, std::shared_ptr<Meeting>> meetings;
};

Table &table = *new Table; // never destroyed: ranks may still wait while the process ends

/// The child of a fork has none of the waiting ranks, and any of them may have held the mutex: the child
/// starts with an empty table. The contents of the old one are leaked.
[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, [] { new (&table) Table; });

} // namespace

std::shared_ptr<Group> meet(const std::string &id, int rank, int size, uint64_t timeoutNs,
                            tsr_status_t &status, std::string &why) {
  const std::string name = "communicator '" + id + "', rank " + std::to_string(rank) + ": ";
  auto refuse = [&](tsr_status_t s, const std::string &text) {
    status = s;
    why = name + text;
    return std::shared_ptr<Group>();
  };
  Table &t = table;
  std::unique_lock lock(t.mutex);
  auto &entry = t.meetings[id];
  if (!entry) {
    entry = std::make_shared<Meeting>();
    entry->group = std::make_shared<Group>(id, size);
    entry->here.resize(static_cast<size_t>(size));
  }
  const std::shared_ptr<Meeting> meeting = entry;
  if (meeting->group->size != size)
    return refuse(TSR_EINVAL, "size is " + std::to_string(size) + ", but other ranks of this id say " +
                                  std::to_string(meeting->group->size));
  if (meeting->here[static_cast<size_t>(rank)])
    return refuse(TSR_EINVAL, "another thread waits on this id as the same rank");
  meeting->here[static_cast<size_t>(rank)] = true;
  if (++meeting->count == size) {
    meeting->over = true;
    t.meetings.erase(id);
    t.changed.notify_all();
    return meeting->group;
  }
  auto done = [&] { return meeting->over; };
  if (timeoutNs == UINT64_MAX) {
    t.changed.wait(lock, done);
  } else {
    // At most a day at a time, because clocks overflow.
    const auto limit = std::chrono::nanoseconds(std::min<uint64_t>(timeoutNs, 86400ull * 1000000000));
    t.changed.wait_for(lock, limit, done);
  }
  if (!meeting->over) { // give up, which also ends the wait of the meeting's other ranks
    std::vector<int> missing;
    for (int r = 0; r < size; ++r)
      if (!meeting->here[static_cast<size_t>(r)]) missing.push_back(r);
    meeting->over = true;
    t.meetings.erase(id);
    meeting->failure = collective::list(missing) + " did not come within " + collective::duration(timeoutNs);
    t.changed.notify_all();
  }
  return meeting->failure.empty() ? meeting->group : refuse(TSR_ETIMEOUT, meeting->failure);
}

} // namespace tessera::inprocess
