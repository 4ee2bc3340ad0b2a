// The in-process collectives with one behaviour replaced.
#include "tests/kit/Broken.h"
#include <cstring>
#include <string>
#include <tessera/thunk.hpp>

namespace tessera {
int32_t queryInProcess(const tsr_host_info_t *, tsr_plugin_info_t *);
}

namespace {
using namespace tessera;
using kit::is;

tsr_collective_api_t sound, api;

int32_t create(const tsr_host_info_t *host, const tsr_cl_options_t *o, tsr_cl_comm_t **out, tsr_text_t *why) {
  const int32_t status = sound.comm_create(host, o, out, why);
  if (is("options") && status == TSR_EINVAL) thunk::put(why, "");
  if (is("meeting") && status == TSR_ETIMEOUT) thunk::put(why, "somebody is missing");
  return status;
}

int32_t run(tsr_cl_comm_t *comm, const tsr_cl_call_t *call, tsr_text_t *why) {
  tsr_cl_call_t c = thunk::copyIn(call);
  if (is("trusting") && c.kind == 99) return TSR_SUCCESS;
  if (is("in_place") && c.src == c.dst) return thunk::put(why, "not in place"), TSR_EINVAL;
  if (is("nothing") && !c.count) return thunk::put(why, "nothing to do"), TSR_EINVAL;
  if (is("patient")) c.timeout_ns *= 20;
  if (is("untagged") && (c.kind == TSR_SEND || c.kind == TSR_RECV)) c.tag = 0;
  const int32_t status = sound.run(comm, &c, why);
  auto *bytes = static_cast<unsigned char *>(c.dst);
  int32_t rank = 0, size = 0;
  sound.comm_info(comm, &rank, &size);
  if (status == TSR_SUCCESS && c.count == 61) {
    if (is("sums") && c.kind == TSR_ALL_REDUCE && c.dtype == TSR_DTYPE_I16) bytes[7] ^= 1;
    if (is("casts") && c.kind == TSR_BROADCAST && c.dtype == TSR_DTYPE_U8) bytes[60] ^= 1;
    if (is("writes_past") && c.kind == TSR_ALL_GATHER && c.dtype == TSR_DTYPE_U8) bytes[61 * size] = 0;
    if (is("scatters") && c.kind == TSR_REDUCE_SCATTER && c.dtype == TSR_DTYPE_F64) bytes[7] ^= 0x40;
    if (is("exchanges") && c.kind == TSR_ALL_TO_ALL && c.dtype == TSR_DTYPE_U8) bytes[0] ^= 1;
  }
  if (is("deaf") && status == TSR_EINVAL && why && why->data && std::strstr(why->data, "rank 1 calls"))
    thunk::put(why, "the calls differ");
  return status;
}

int32_t split(tsr_cl_comm_t *comm, int32_t color, int32_t key, tsr_cl_comm_t **out, tsr_text_t *why) {
  return sound.comm_split(comm, color, is("unordered") ? 0 : key, out, why);
}

int32_t abort(tsr_cl_comm_t *comm, const char *reason, tsr_text_t *why) {
  return sound.comm_abort(comm, is("reasonless") ? "" : reason, why);
}

} // namespace

extern "C" __attribute__((visibility("default"))) int32_t tsrPluginQuery(const tsr_host_info_t *host,
                                                                         tsr_plugin_info_t *info) {
  tsr_plugin_info_t out{};
  out.struct_size = sizeof out;
  queryInProcess(host, &out);
  static const bool isChanged = [&] {
    sound = api = thunk::copyIn(out.collective);
    api.comm_create = create, api.run = run, api.comm_split = split, api.comm_abort = abort;
    if (is("nowhere")) api.topology = "";
    return true;
  }();
  out.name = "broken", out.version = isChanged ? "1.0" : "";
  out.collective = &api;
  thunk::copyOut(info, out);
  return TSR_SUCCESS;
}
