// A communicator over the processes that mpirun started.
#pragma once
#include "plugins/mpi/collective/Agreement.h"
#include "plugins/mpi/collective/Types.h"

namespace tessera::mpi {

/// `native`: MPI's own collectives. `ordered`: the ranks exchange the operands and reduce them themselves, in
/// the order of numerics/Combine.h.
inline constexpr const char *kAlgorithms = "native,ordered";

class MpiCommunicator final : public Communicator {
public:
  /// Takes ownership of `comm`, which nothing else may use.
  MpiCommunicator(MPI_Comm comm, std::string id, uint64_t timeoutNs);
  ~MpiCommunicator() override;
  int rank() const override { return Session::get().rank(); }
  int size() const override { return Session::get().size(); }
  tsr_status_t run(const tsr_cl_call_t &call, std::string &why) override;

private:
  tsr_status_t move(const tsr_cl_call_t &call, bool ordered, std::string &why);
  tsr_status_t native(const tsr_cl_call_t &call, size_t from, size_t n, std::string &why);
  tsr_status_t ordered(const tsr_cl_call_t &call, size_t from, size_t n, std::string &why);
  tsr_status_t packed(const tsr_cl_call_t &call, size_t from, size_t n, std::string &why);
  void pack(const tsr_cl_call_t &call, size_t from, size_t n);

  const MPI_Comm comm_;
  const std::string id_;
  const uint64_t timeoutNs_;
  Agreement agreement_;
  std::mutex busy_;
  uint64_t calls_ = 0;
  tsr_status_t broken_ = TSR_SUCCESS;
  std::string since_;
  std::vector<std::byte> given_, taken_; // buffers of `ordered` and `packed`
};

/// Creates a communicator with the launcher's other ranks under options.id.
std::unique_ptr<Communicator> createMpi(const tsr_cl_options_t &options, tsr_status_t &status,
                                        std::string &why);

} // namespace tessera::mpi
