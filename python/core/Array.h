// ts.Array: a tensor in a device's memory.
#pragma once
#include "python/core/Stream.h"
#include "python/core/Tensor.h"

namespace tessera::python {

struct Array {
  PyObject_HEAD Context *context;
  void *data;
  bool isOwner, isReadOnly; // isOwner: `data` is from tsrAlloc
  int dtype, rank;
  int64_t shape[kMaxRank], strides[kMaxRank]; // in elements
  int64_t exports;                            // buffers and capsules that refer to `data`
  Tensor *foreign;                            // of an array that views another library's memory; else null
  Stream *last;                               // that a call on the array was queued on; a reference, or null
  uint64_t begun;                             // calls whose order is decided,
  std::atomic<uint64_t> queued;               // and those of them that are queued: counted without the GIL
};

/// Notes a call on the array, which comes after those that other streams have queued. False after raising.
bool use(Array &, Stream &);

/// use() of all arrays of a call, up to when it is queued. Another thread's call on one of them comes after
/// it, so it waits for that.
class Uses {
public:
  Uses(Stream &stream, Array *const *arrays, size_t count)
      : stream_(stream), arrays_(arrays), count_(count) {}
  ~Uses() { end(); }
  Uses(const Uses &) = delete;
  Uses &operator=(const Uses &) = delete;
  /// Returns false after raising.
  bool begin();
  /// Needs no GIL.
  void end();

private:
  Stream &stream_;
  Array *const *const arrays_;
  const size_t count_;
  bool isOpen_ = false;
};

/// Allocates a contiguous array with undefined elements. Null after raising.
Array *newArray(Context &, int dtype, int rank, const int64_t *shape);
/// The bytes of a contiguous tensor; -1 if they cannot be counted.
int64_t bytesOf(int dtype, int rank, const int64_t *shape);

} // namespace tessera::python
