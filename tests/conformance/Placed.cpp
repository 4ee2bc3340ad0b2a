#include "tests/conformance/Placed.h"
#include <algorithm>
#include <new>
#include <sys/mman.h>

namespace tessera::conformance {
namespace {

constexpr size_t kGuard = 64;
constexpr size_t kPage = 4096;
constexpr std::byte kPattern{0x5a}; // of guard bytes

/// An empty tensor also needs a pointer.
size_t touchable(size_t bytes) { return std::max<size_t>((bytes + kPage - 1) / kPage, 1) * kPage; }

} // namespace

Placed::Placed(host::Device &device, Against against, std::vector<std::byte> contents)
    : contents_(std::move(contents)) {
  const size_t bytes = contents_.size();
  if (against == Against::Bytes) {
    std::vector<std::byte> all(bytes + 2 * kGuard, kPattern);
    std::copy(contents_.begin(), contents_.end(), all.begin() + kGuard);
    buffer_.emplace(device, all.size());
    buffer_->upload(all);
    data_ = static_cast<std::byte *>(buffer_->data()) + kGuard;
    return;
  }
  const size_t inner = touchable(bytes);
  void *all = ::mmap(nullptr, inner + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) throw std::bad_alloc();
  mapped_ = static_cast<std::byte *>(all);
  if (::mprotect(mapped_ + kPage, inner, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  std::ranges::fill(pages(), kPattern);
  data_ = mapped_ + kPage + (against == Against::PageAfter ? inner - bytes : 0);
  std::ranges::copy(contents_, data_);
}

Placed::~Placed() {
  if (mapped_) ::munmap(mapped_, touchable(contents_.size()) + 2 * kPage);
}

std::span<std::byte> Placed::pages() const { return {mapped_ + kPage, touchable(contents_.size())}; }

std::vector<std::byte> Placed::fetch(std::string &why) const {
  std::vector<std::byte> all;
  size_t from = kGuard;
  if (buffer_) {
    all.resize(contents_.size() + 2 * kGuard);
    buffer_->download(all);
  } else {
    all.assign(pages().begin(), pages().end());
    from = static_cast<size_t>(data_ - pages().data());
  }
  const auto begin = all.begin() + static_cast<ptrdiff_t>(from);
  const auto end = begin + static_cast<ptrdiff_t>(contents_.size());
  auto changed = [](std::byte b) { return b != kPattern; };
  if (std::any_of(all.begin(), begin, changed) || std::any_of(end, all.end(), changed))
    why = "wrote outside the tensor";
  return {begin, end};
}

} // namespace tessera::conformance
