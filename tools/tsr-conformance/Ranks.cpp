#include "tools/tsr-conformance/Ranks.h"
#include "tools/tsr-conformance/Objects.h"

namespace tessera::kit {

using thunk::Text;

tsr_collective_api_t collectiveApi(Subject &s) { return thunk::copyIn(s.info().collective); }

Comm::Comm(Subject &s, const std::string &id, int rank, int size, uint64_t timeoutNs) : s_(s) {
  const tsr_cl_options_t o = {sizeof o, id.c_str(), rank, size, timeoutNs};
  const tsr_collective_api_t api = collectiveApi(s);
  Text why;
  s.must("comm_create", api.comm_create(&kitHost(), &o, &comm_, why), why);
  expect(comm_, "an object from comm_create, which succeeded", "NULL");
  if (api.comm_info(comm_, &rank_, &size_) != TSR_SUCCESS || rank_ < 0 || rank_ >= size_ ||
      (rank >= 0 && rank != rank_) || (size >= 0 && size != size_)) {
    api.comm_destroy(comm_);
    throw Failure{"comm_info that says rank " + std::to_string(rank) + " of " + std::to_string(size),
                  "rank " + std::to_string(rank_) + " of " + std::to_string(size_), ""};
  }
}
Comm::Comm(Subject &s, tsr_cl_comm_t *comm) : s_(s), comm_(comm) {
  expectEqual(collectiveApi(s).comm_info(comm_, &rank_, &size_), int32_t{TSR_SUCCESS}, "comm_info:");
}
std::unique_ptr<Comm> Comm::split(int32_t color, int32_t key) const {
  Text why;
  tsr_cl_comm_t *out = nullptr;
  const int32_t status = collectiveApi(s_).comm_split(comm_, color, key, &out, why);
  if (status == TSR_UNIMPLEMENTED) throw Skip{"comm_split is TSR_UNIMPLEMENTED"};
  s_.must("comm_split", status, why);
  return std::unique_ptr<Comm>(out ? new Comm(s_, out) : nullptr);
}
void Comm::abort(const char *reason) const {
  Text why;
  const int32_t status = collectiveApi(s_).comm_abort(comm_, reason, why);
  if (status == TSR_UNIMPLEMENTED) throw Skip{"comm_abort is TSR_UNIMPLEMENTED"};
  s_.must("comm_abort", status, why);
}
Comm::~Comm() {
  if (comm_) collectiveApi(s_).comm_destroy(comm_);
}
int32_t Comm::run(const tsr_cl_call_t &call, Text &why) const {
  return collectiveApi(s_).run(comm_, &call, why);
}
void Comm::must(const tsr_cl_call_t &call, const std::string &what) const {
  Text why;
  const int32_t status = run(call, why);
  if (status != TSR_SUCCESS)
    throw Failure{"TSR_SUCCESS of " + what, statusName(status) + ": " + why.str(), ""};
}

void onRanks(Subject &s, const std::string &id, int atLeast, const std::function<void(const Comm &)> &body,
             uint64_t timeoutNs) {
  const tsr_collective_api_t api = collectiveApi(s);
  const std::string topology = api.topology ? api.topology : "process";
  if (s.options.isLaunched) {
    const Comm comm(s, id, -1, -1, timeoutNs);
    if (comm.size() < atLeast)
      throw Skip{"needs " + std::to_string(atLeast) + " ranks; the launcher started " +
                 std::to_string(comm.size())};
    return body(comm);
  }
  if (topology != "process") throw Skip{"its ranks are processes: --launcher 'mpirun -n 2' starts them"};
  if (s.options.ranks < atLeast) throw Skip{"needs --ranks " + std::to_string(atLeast)};
  onThreads(s.options.ranks, [&](int rank) { body(Comm(s, id, rank, s.options.ranks, timeoutNs)); });
}

} // namespace tessera::kit
