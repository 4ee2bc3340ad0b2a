#include "python/core/Foreign.h"
#include "python/core/DLPack.h"
#include <algorithm>

namespace tessera::python {

const NativeStreams *nativeStreamsOf(int32_t deviceType) {
  static constexpr NativeStreams cuda = {"cuda", 1}, rocm = {"hip", 0};
  return deviceType == dlpack::Cuda ? &cuda : deviceType == dlpack::Rocm ? &rocm : nullptr;
}

bool Foreign::addStream(const Tensor &t) {
  const auto isKnown = [&](const Row &r) {
    return r.streams == t.streams && r.deviceType == t.deviceType && r.deviceId == t.deviceId;
  };
  if (std::ranges::any_of(rows_, isKnown)) return true;
  const NativeStreams &native = *nativeStreamsOf(t.deviceType);
  void *handle = reinterpret_cast<void *>(native.defaultStream);
  if (t.streams && t.streams->currentStream(t.deviceType, t.deviceId, &handle)) {
    if (!PyErr_Occurred()) refuse("E_ARG_DLPACK", "the library of a tensor does not tell its current stream");
    return false;
  }
  rows_.push_back({t.streams, t.deviceType, t.deviceId, {sizeof(tsr_native_stream_t), native.api, handle}});
  return true;
}

tsr_status_t Foreign::waitForAll(tsr_stream_t stream) const {
  for (const Row &r : rows_)
    if (tsr_status_t status = tsrStreamWaitNative(stream, &r.native)) return status;
  return TSR_SUCCESS;
}

tsr_status_t Foreign::letAllWait(tsr_stream_t stream) const {
  for (const Row &r : rows_)
    if (r.streams)
      if (tsr_status_t status = tsrNativeWaitStream(&r.native, stream)) return status;
  return TSR_SUCCESS;
}

} // namespace tessera::python
