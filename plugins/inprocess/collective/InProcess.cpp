// Collectives among the threads of one process: a plugin that is part of libtessera.so.
#include "plugins/inprocess/collective/Communicator.h"

namespace tessera {
namespace inprocess {
namespace {

constexpr int kMostRanks = 1024; // a staging buffer holds at least one element per rank

class InProcess final : public Collective {
public:
  std::unique_ptr<Communicator> create(const tsr_cl_options_t &o, tsr_status_t &status,
                                       std::string &why) override {
    status = TSR_EINVAL;
    if (!o.id || !*o.id)
      why = "id: ranks of one process meet by a name that they agree on; none is given";
    else if (o.size < 1 || o.size > kMostRanks)
      why = "size: expected 1 to " + std::to_string(kMostRanks) + " ranks, found " + std::to_string(o.size);
    else if (o.rank < 0 || o.rank >= o.size)
      why = "rank: expected 0 to " + std::to_string(o.size - 1) + ", found " + std::to_string(o.rank);
    else if (auto group = meet(o.id, o.rank, o.size, o.timeout_ns, status, why))
      return std::make_unique<InProcessCommunicator>(std::move(group), o.rank, o.timeout_ns);
    return nullptr;
  }
  const char *algorithms(uint32_t kind) const override {
    return kind < std::size(collective::kKinds) && !collective::isPaired(kind) ? kAlgorithms : "";
  }
  const char *topology() const override { return "process"; }
};

Collective &instance() {
  static InProcess object;
  return object;
}

} // namespace
} // namespace inprocess

int32_t queryInProcess(const tsr_host_info_t *, tsr_plugin_info_t *out) {
  tsr_plugin_info_t info{};
  info.struct_size = out->struct_size;
  info.abi_major = TSR_PLUGIN_ABI_MAJOR;
  info.built_minor = TSR_PLUGIN_ABI_MINOR;
  info.kinds = TSR_PLUGIN_COLLECTIVE;
  info.name = "inprocess";
  info.version = "1.0";
  info.description = "collectives among the threads of one process";
  info.features_required = info.features_optional = info.compiler_abi = "";
  info.collective = thunk::collectiveTable<inprocess::instance>();
  thunk::copyOut(out, info);
  return TSR_SUCCESS;
}

} // namespace tessera
