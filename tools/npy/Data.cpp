// Reads the elements from memory or disk into row-major order and this machine's byte order.
#include "tools/npy/Npy.h"
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera::npy {

static_assert(std::endian::native == std::endian::little, "makeHeader and the readers assume it");

void Bytes::Free::operator()(std::byte *p) const { std::free(p); }

bool Bytes::allocate(size_t size) {
  if (!reserve(size)) return false;
  std::memset(data(), 0, size);
  return true;
}

bool Bytes::reserve(size_t size) {
  constexpr size_t alignment = 64;
  data_.reset();
  size_ = 0;
  if (size > SIZE_MAX - alignment) return false;
  size_t rounded = std::max(alignment, (size + alignment - 1) / alignment * alignment);
  auto *p = static_cast<std::byte *>(std::aligned_alloc(alignment, rounded));
  if (!p) return false;
  data_.reset(p);
  size_ = size;
  return true;
}

bool Bytes::grow(size_t size) {
  Bytes larger;
  if (!larger.reserve(size)) return false;
  std::copy_n(data(), size_, larger.data());
  *this = std::move(larger);
  return true;
}

namespace {

void swapBytes(Bytes &data, size_t width) {
  for (size_t i = 0; i + width <= data.size(); i += width)
    std::reverse(data.data() + i, data.data() + i + width);
}

/// Converts column-major `from` to row-major `to`; writes `to` in order.
void transposeOrder(const Bytes &from, Bytes &to, const Header &h) {
  const size_t rank = h.shape.size(), width = h.type.bytes;
  std::vector<int64_t> index(rank, 0), stride(rank, 1);
  for (size_t d = 1; d < rank; ++d)
    stride[d] = stride[d - 1] * h.shape[d - 1];
  int64_t source = 0;
  for (int64_t i = 0; i < h.elements; ++i) {
    std::memcpy(to.data() + i * width, from.data() + source * width, width);
    for (size_t d = rank; d-- > 0;) {
      source += stride[d];
      if (++index[d] < h.shape[d]) break;
      source -= stride[d] * h.shape[d];
      index[d] = 0;
    }
  }
}

Error outOfMemory(const Header &h) {
  return {"E_OUT_OF_MEMORY", "not enough memory for " + std::to_string(h.elements * h.type.bytes) + " bytes",
          ""};
}

/// Converts raw elements to the layout of Array.
Expected<Array> finish(Header &h, Bytes raw) {
  if (h.bigEndian && h.type.bytes > 1) swapBytes(raw, h.type.bytes);
  if (h.type.kind == 'b') // NumPy itself writes only 0 and 1; other bytes would be undefined as bools
    for (std::byte &b : raw.span())
      b = std::byte(b != std::byte(0));
  if (h.fortranOrder && h.shape.size() > 1 && h.elements > 0) {
    Bytes ordered;
    if (!ordered.allocate(raw.size())) return outOfMemory(h);
    transposeOrder(raw, ordered, h);
    raw = std::move(ordered);
  }
  return Array{h.type, std::move(h.shape), std::move(raw)};
}

MaybeError checkSize(const Header &h, uint64_t fileBytes) {
  uint64_t wanted = h.dataOffset + uint64_t(h.elements) * h.type.bytes;
  if (fileBytes == wanted) return std::nullopt;
  return Error{"E_NPY_FORMAT",
               std::string(fileBytes < wanted ? "truncated" : "trailing bytes") + ": the header promises " +
                   std::to_string(wanted) + " bytes, the file has " + std::to_string(fileBytes),
               ""};
}

struct File {
  int fd = -1;
  ~File() {
    if (fd >= 0) ::close(fd);
  }
  /// Reads until `size` bytes or the end of the file. Returns -1 on an error, which errno holds.
  ssize_t readFully(std::byte *to, size_t size) const {
    size_t done = 0;
    while (done < size) {
      ssize_t n = ::read(fd, to + done, size - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return -1;
      if (n == 0) break;
      done += size_t(n);
    }
    return ssize_t(done);
  }
};

} // namespace

Expected<Array> decode(std::span<const std::byte> file) {
  Expected<Header> header = parseHeader(file);
  if (!header) return header.error();
  if (auto e = checkSize(*header, file.size())) return *e;
  Bytes raw;
  size_t size = file.size() - header->dataOffset;
  if (!raw.allocate(size)) return outOfMemory(*header);
  std::copy_n(file.data() + header->dataOffset, size, raw.data());
  return finish(*header, std::move(raw));
}

Expected<Array> read(const std::string &path) {
  auto failed = [&] { return Error{"E_FILE_READ", std::strerror(errno), ""}; };
  File file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat st;
  if (file.fd < 0 || ::fstat(file.fd, &st) != 0) return failed();
  if (S_ISDIR(st.st_mode)) return Error{"E_FILE_READ", "is a directory", ""};
  std::vector<std::byte> head(maxHeaderBytes);
  ssize_t got = file.readFully(head.data(), head.size());
  if (got < 0) return failed();
  head.resize(size_t(got));
  Expected<Header> header = parseHeader(head);
  if (!header) return header.error();
  Header &h = *header;
  // The size of a regular file is known before memory is allocated. A pipe is checked at its end.
  if (S_ISREG(st.st_mode))
    if (auto e = checkSize(h, uint64_t(st.st_size))) return *e;
  const size_t size = size_t(h.elements) * h.type.bytes;
  const size_t inHead = std::min(head.size() - h.dataOffset, size);
  Bytes raw;
  // A pipe is read in growing pieces, so that memory is allocated for the bytes that arrived, not for those
  // that the header promises.
  size_t have = inHead;
  size_t piece = S_ISREG(st.st_mode) ? size : std::min(size, maxHeaderBytes); // `inHead` is no larger
  if (!raw.grow(piece)) return outOfMemory(h);
  std::copy_n(head.data() + h.dataOffset, inHead, raw.data());
  for (;;) {
    ssize_t n = file.readFully(raw.data() + have, piece - have);
    if (n < 0) return failed();
    have += size_t(n);
    if (have < piece || piece == size) break;
    piece = piece > size / 2 ? size : piece * 2;
    if (!raw.grow(piece)) return outOfMemory(h);
  }
  std::byte extra;
  ssize_t more = head.size() - h.dataOffset > size ? 1 : file.readFully(&extra, 1);
  if (auto e = checkSize(h, h.dataOffset + have + size_t(std::max<ssize_t>(more, 0)))) return *e;
  return finish(h, std::move(raw));
}

} // namespace tessera::npy
