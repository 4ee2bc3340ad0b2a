// Checks that any bytes are either refused with a reason or give an array whose size agrees with its shape,
// and that writing this array and reading it again gives the same array.
#include "tools/npy/Npy.h"
#include <cstdlib>
#include <cstring>

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Expected<npy::Array> array = npy::decode({reinterpret_cast<const std::byte *>(data), size});
  if (!array) {
    if (array.error().code.empty() || array.error().message.empty()) std::abort();
    return 0;
  }
  std::string file = npy::makeHeader(array->type, array->shape);
  file.append(reinterpret_cast<const char *>(array->data.data()), array->data.size());
  Expected<npy::Array> again = npy::decode(std::as_bytes(std::span(file)));
  if (!again || again->type != array->type || again->shape != array->shape ||
      again->data.size() != array->data.size() ||
      std::memcmp(again->data.data(), array->data.data(), array->data.size()) != 0)
    std::abort();
  return 0;
}
