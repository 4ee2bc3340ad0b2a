// The order between this package's streams and those of the libraries whose tensors a call gets
// (docs/decisions/0086).
#pragma once
#include "python/core/Stream.h"
#include "python/core/Tensor.h"
#include <vector>

namespace tessera::python {

/// The name of a device's interface (tsr_native_stream_t) and the number of its default stream in DLPack.
struct NativeStreams {
  const char *api;
  int64_t defaultStream;
};
/// Null for devices whose streams have no numbers in DLPack.
const NativeStreams *nativeStreamsOf(int32_t deviceType);

/// The streams of other libraries that a call comes after, and those that come after it.
class Foreign {
public:
  /// Adds the stream in whose order a tensor's memory is, if it has one. Returns false after raising.
  bool add(const Tensor &t) { return (!t.streams && !t.isOrdered) || addStream(t); }
  /// Makes what is queued on the stream from now on come after what they hold now. Needs no GIL.
  tsr_status_t before(tsr_stream_t stream) const { return rows_.empty() ? TSR_SUCCESS : waitForAll(stream); }
  /// Makes what is queued on the current streams of the libraries from now on come after what the stream
  /// holds now. Needs no GIL, and may wait for calls of the host.
  tsr_status_t after(tsr_stream_t stream) const { return rows_.empty() ? TSR_SUCCESS : letAllWait(stream); }

private:
  struct Row {
    const dlpack::Exchange *streams; // null: a default stream
    int32_t deviceType, deviceId;
    tsr_native_stream_t native;
  };
  bool addStream(const Tensor &);
  tsr_status_t waitForAll(tsr_stream_t) const;
  tsr_status_t letAllWait(tsr_stream_t) const;
  std::vector<Row> rows_;
};

} // namespace tessera::python
