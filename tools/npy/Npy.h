// Strict reader and writer of NumPy's .npy files (format versions 1.0, 2.0 and 3.0 as numpy/lib/format.py
// defines them). Nothing in a file is trusted: every length is checked before it is used and before memory is
// allocated.
//
// No function throws. No function has shared state, so all may run concurrently. Codes of errors:
// E_FILE_READ: the operating system refused. E_NPY_FORMAT: not a .npy file, truncated, too long, or of a type
// that is not supported. E_OUT_OF_MEMORY.
#pragma once
#include "core/support/Expected.h"
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::npy {

/// The type of one element. Only fixed-size numbers and booleans are supported: no objects, strings, records
/// or complex numbers.
struct ElementType {
  char kind = 'f';   // 'f' float, 'i' signed, 'u' unsigned, 'b' bool: as in a dtype string
  uint8_t bytes = 4; // f: 2 4 8; i, u: 1 2 4 8; b: 1
  bool operator==(const ElementType &) const = default;
};

/// Returns the type as NumPy abbreviates it: "f4", "i8", "b1".
std::string toString(ElementType);
/// Parses such an abbreviation. Returns false when there is no such type.
[[nodiscard]] bool parseElementType(std::string_view text, ElementType &out);

struct Header {
  ElementType type;
  bool bigEndian = false;
  bool fortranOrder = false;
  std::vector<int64_t> shape; // rank 0 is a scalar
  int64_t elements = 1;       // product of shape; its bytes fit in int64
  size_t dataOffset = 0;      // from the start of the file
};

/// Memory aligned to 64 bytes, which suits vector code and the CPU backend.
class Bytes {
public:
  /// Allocates `size` zeroed bytes. Returns false when memory runs out.
  [[nodiscard]] bool allocate(size_t size);
  /// Grows to `size` bytes, at least the current size. Keeps the existing bytes; the new ones are undefined.
  [[nodiscard]] bool grow(size_t size);
  std::byte *data() { return data_.get(); }
  const std::byte *data() const { return data_.get(); }
  size_t size() const { return size_; }
  std::span<std::byte> span() { return {data_.get(), size_}; }
  std::span<const std::byte> span() const { return {data_.get(), size_}; }

private:
  bool reserve(size_t size); // undefined contents
  struct Free {
    void operator()(std::byte *p) const;
  };
  std::unique_ptr<std::byte[], Free> data_;
  size_t size_ = 0;
};

/// An array in memory: row-major, contiguous, in this machine's byte order.
struct Array {
  ElementType type;
  std::vector<int64_t> shape;
  Bytes data;
};

/// Reads the header of a file that begins with `file`. `file` may be a prefix of at least maxHeaderBytes.
inline constexpr size_t maxHeaderBytes = 1 << 16;
Expected<Header> parseHeader(std::span<const std::byte> file);

/// Reads a whole file that is in memory. Both extra and missing bytes after the header are errors.
Expected<Array> decode(std::span<const std::byte> file);

/// Reads a file on disk. Pipes and devices are read to their end.
Expected<Array> read(const std::string &path);

/// Returns the header of a row-major little-endian file of format version 1.0, padded to 64 bytes as NumPy
/// pads it.
std::string makeHeader(ElementType, std::span<const int64_t> shape);

} // namespace tessera::npy
