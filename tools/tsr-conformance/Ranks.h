// The ranks that a collective check runs on: threads of this process or, under a launcher, this process as
// one of them.
#pragma once
#include "tools/tsr-conformance/Subject.h"
#include <functional>
#include <memory>

namespace tessera::kit {

/// One rank's end of a communicator.
class Comm {
public:
  Comm(Subject &s, const std::string &id, int rank, int size, uint64_t timeoutNs);
  ~Comm();
  Comm(const Comm &) = delete;
  Comm &operator=(const Comm &) = delete;
  int rank() const { return rank_; }
  int size() const { return size_; }
  /// Makes the call; returns its status and fills `why` with its text.
  int32_t run(const tsr_cl_call_t &, thunk::Text &why) const;
  void must(const tsr_cl_call_t &, const std::string &what) const;
  /// Splits, which must succeed; null if there is no communicator for this rank.
  std::unique_ptr<Comm> split(int32_t color, int32_t key) const;
  void abort(const char *reason) const;

private:
  Comm(Subject &s, tsr_cl_comm_t *comm);
  Subject &s_;
  tsr_cl_comm_t *comm_ = nullptr;
  int32_t rank_ = -1, size_ = -1;
};

constexpr uint64_t kSecond = 1000000000;

/// Returns the plugin's table; entries that the plugin does not have are zero.
tsr_collective_api_t collectiveApi(Subject &);

/// Runs `body` as every rank of a new communicator. Skips the check when it cannot be made here, for example
/// when it needs ranks in separate processes and there is no launcher, or when there are fewer than `atLeast`
/// ranks.
void onRanks(Subject &, const std::string &id, int atLeast, const std::function<void(const Comm &)> &body,
             uint64_t timeoutNs = 20 * kSecond);

} // namespace tessera::kit
