// A communicator over the processes that mpirun started.
#pragma once
#include "plugins/mpi/collective/Agreement.h"
#include "plugins/mpi/collective/Types.h"
#include <list>

namespace tessera::mpi {

/// `native`: MPI's own collectives. `ordered`: the ranks exchange the operands and reduce them themselves, in
/// the order of numerics/Combine.h.
inline constexpr const char *kAlgorithms = "native,ordered";

class MpiCommunicator final : public Communicator {
public:
  /// Takes ownership of `comm`, which nothing else may use.
  MpiCommunicator(MPI_Comm comm, std::string id, uint64_t timeoutNs);
  ~MpiCommunicator() override;
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  tsr_status_t run(const tsr_cl_call_t &call, std::string &why) override;
  collective::Outcome split(int32_t color, int32_t key, std::unique_ptr<Communicator> &out) override;
  /// Waits for this rank's call, which ends soon: if it waits for other ranks, it fails.
  collective::Outcome abort(const std::string &reason) override;

private:
  struct Outgoing; // a message that MPI may still read

  collective::Outcome begin(std::unique_lock<std::mutex> &turn);
  collective::Outcome runOnAll(const tsr_cl_call_t &call);
  collective::Outcome send(const tsr_cl_call_t &call);
  collective::Outcome receive(const tsr_cl_call_t &call);
  void forgetSent();
  collective::Outcome breaks(tsr_status_t status, std::string text);
  tsr_status_t move(const tsr_cl_call_t &call, bool ordered, std::string &why);
  tsr_status_t native(const tsr_cl_call_t &call, size_t from, size_t n, std::string &why);
  tsr_status_t ordered(const tsr_cl_call_t &call, size_t from, size_t n, std::string &why);
  tsr_status_t packed(const tsr_cl_call_t &call, size_t from, size_t n, std::string &why);
  void pack(const tsr_cl_call_t &call, size_t from, size_t n);

  const MPI_Comm comm_;
  const int rank_, size_;
  const std::string id_, name_;
  const uint64_t timeoutNs_;
  AbortRequest abort_;
  Agreement agreement_;
  std::mutex busy_; // held during a call; guards the members below
  std::list<std::unique_ptr<Outgoing>> outgoing_;
  uint64_t calls_ = 0;
  tsr_status_t broken_ = TSR_SUCCESS;
  std::string since_;
  std::vector<std::byte> given_, taken_; // buffers of `ordered` and `packed`
};

/// Creates a communicator with the launcher's other ranks under options.id.
std::unique_ptr<Communicator> createMpi(const tsr_cl_options_t &options, tsr_status_t &status,
                                        std::string &why);

} // namespace tessera::mpi
