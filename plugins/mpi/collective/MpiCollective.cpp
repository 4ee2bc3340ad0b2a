// Collectives among the processes of an MPI job. All MPI libraries share this source; the manifests name
// them.
#include "plugins/mpi/collective/MpiCommunicator.h"
#include <tessera/plugin.hpp>

namespace tessera::mpi {

class Mpi final : public Collective {
public:
  std::unique_ptr<Communicator> create(const tsr_cl_options_t &options, tsr_status_t &status,
                                       std::string &why) override {
    return createMpi(options, status, why);
  }
  const char *algorithms(uint32_t kind) const override {
    if (kind >= std::size(collective::kKinds) || collective::isPaired(kind)) return "";
    return collective::reduces(kind) ? kAlgorithms : "native";
  }
  const char *topology() const override { return "network"; }
  static void shutdown() { Session::get().end(); }
};

} // namespace tessera::mpi

TSR_PLUGIN(tessera::mpi::Mpi);
