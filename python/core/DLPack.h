// The structs of DLPack (https://dmlc.github.io/dlpack): version 0.x ("dltensor") and 1.x
// ("dltensor_versioned"), and the table of functions of 1.3.
#pragma once
#include <cstdint>

namespace tessera::python::dlpack {

enum DeviceType : int32_t {
  Cpu = 1,
  Cuda = 2,
  CudaHost = 3,
  Rocm = 10,
  RocmHost = 11,
  Other = 12, // kDLExtDev: which device it is only the producer knows
  OneApi = 14
};
enum TypeCode : uint8_t {
  Int = 0,
  UInt = 1,
  Float = 2,
  BFloat = 4,
  Complex = 5,
  Bool = 6,
  E4M3FN = 10,
  E5M2 = 12,
  E8M0 = 14,
  E2M3 = 15,
  E3M2 = 16,
  E2M1 = 17
};
constexpr uint64_t kReadOnly = 1;
constexpr uint32_t kMajor = 1; // of the version that is read

struct Tensor {
  void *data;
  struct {
    int32_t type, id;
  } device;
  int32_t rank;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } dtype;
  int64_t *shape, *strides; // in elements; null strides: contiguous
  uint64_t offset;          // in bytes
};

struct Managed {
  Tensor tensor;
  void *context;
  void (*deleter)(Managed *);
};

struct Versioned {
  struct {
    uint32_t major, minor;
  } version;
  void *context;
  void (*deleter)(Versioned *);
  uint64_t flags;
  Tensor tensor;
};

/// The functions of a library, which it publishes on its types. They need the GIL, return 0, or else raise,
/// and order nothing: the memory is ready in the order of the library's current stream.
struct ExchangeHeader {
  uint32_t major, minor;
  const ExchangeHeader *previous; // of an earlier major version; null: none
};
struct Exchange {
  ExchangeHeader header;
  void *allocate;
  int (*exportTensor)(void *object, Versioned **out); // the caller owns `out`
  void *importTensor;
  int (*view)(void *object, Tensor *out); // valid while the object is and does not change; may be null
  int (*currentStream)(int32_t deviceType, int32_t deviceId, void **out);
};

} // namespace tessera::python::dlpack
