// One rank's end of an in-process communicator, and the two ways in which its calls run:
//
//   staged   each rank copies its piece into a staging buffer of its slot, publishes it, waits for the other
//            ranks and computes its result from all staging buffers: the ranks meet once per piece. For
//            small payloads.
//   direct   the ranks publish their src and dst and meet; each does one p-th of the work, reading every src
//            and writing every dst that needs it; then they meet again. For large payloads.
//
// Both reduce in the order of numerics/Combine.h, so they give the same bits. A deadline or an abort ends a
// staged call at any point, and a direct call until all ranks have begun it: after that only this library's
// copying is left, which uses all ranks' memory.
//
// A send copies its message into the receiver's inbox.
#pragma once
#include "numerics/Combine.h"
#include "plugins/inprocess/collective/Group.h"

namespace tessera::inprocess {

inline constexpr const char *kAlgorithms = "direct,staged";

class InProcessCommunicator final : public Communicator {
public:
  InProcessCommunicator(std::shared_ptr<Group> group, int rank, uint64_t timeoutNs);
  ~InProcessCommunicator() override;
  int rank() const override { return rank_; }
  int size() const override { return group_->size; }
  tsr_status_t run(const tsr_cl_call_t &call, std::string &why) override;
  collective::Outcome split(int32_t color, int32_t key, std::unique_ptr<Communicator> &out) override;
  collective::Outcome abort(const std::string &reason) override;

private:
  struct Work; // a checked call, in terms of bytes
  collective::Outcome begin(std::unique_lock<std::mutex> &turn);
  tsr_status_t runAlone(const Work &w);
  collective::Outcome send(const tsr_cl_call_t &call);
  collective::Outcome receive(const tsr_cl_call_t &call, Deadline &deadline);
  tsr_status_t staged(const Work &w, Deadline &deadline, std::string &why);
  tsr_status_t direct(const Work &w, Deadline &deadline, std::string &why);
  void stage(const Work &w, std::byte *buffer, size_t from, size_t n) const;
  void unstage(const Work &w, size_t from, size_t n) const;
  void directWork(const Work &w) const;

  void post(const Work &w);
  bool agrees(int peer);
  tsr_status_t ended(Group::Wait how, const Work &w, Deadline &deadline, std::string &why);
  std::string name() const;

  const std::shared_ptr<Group> group_;
  const int rank_;
  Slot &slot_;
  const uint64_t timeoutNs_;
  std::mutex busy_; // held during a call
  // Counters that have the same values on every rank.
  uint64_t calls_ = 0, directCalls_ = 0;
  uint32_t step_ = 0;
};

} // namespace tessera::inprocess
