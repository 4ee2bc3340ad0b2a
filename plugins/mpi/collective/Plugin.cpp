// Collectives among the processes of an MPI job. One source for every MPI; the build says which
// (TESSERA_MPI).
#include "plugins/mpi/collective/MpiCommunicator.h"

namespace tessera::mpi {
namespace {

class Mpi final : public Collective {
public:
  std::unique_ptr<Communicator> create(const tsr_cl_options_t &options, tsr_status_t &status,
                                       std::string &why) override {
    return createMpi(options, status, why);
  }
  const char *algorithms(uint32_t kind) const override {
    return kind >= std::size(collective::kKinds) ? "" : collective::reduces(kind) ? kAlgorithms : "native";
  }
  const char *topology() const override { return "network"; }
};

Collective &instance() {
  static Mpi object;
  return object;
}

void shutdown() { Session::get().end(); }

} // namespace
} // namespace tessera::mpi

extern "C" __attribute__((visibility("default"))) int32_t tsrPluginQuery(const tsr_host_info_t *,
                                                                         tsr_plugin_info_t *out) {
  tsr_plugin_info_t info{};
  info.struct_size = out->struct_size;
  info.abi_major = TSR_PLUGIN_ABI_MAJOR;
  info.built_minor = TSR_PLUGIN_ABI_MINOR;
  info.kinds = TSR_PLUGIN_COLLECTIVE;
  info.name = TESSERA_MPI;
  info.version = TESSERA_MPI_VERSION;
  info.description = "collectives among the processes of an MPI job (" TESSERA_MPI ")";
  info.features_required = info.features_optional = info.compiler_abi = "";
  info.shutdown = tessera::mpi::shutdown;
  info.collective = tessera::thunk::collectiveTable<tessera::mpi::instance>();
  tessera::thunk::copyOut(out, info);
  return TSR_SUCCESS;
}
