// A tensor with guards on both sides.
#pragma once
#include "tools/host/Host.h"
#include <optional>
#include <span>

namespace tessera::conformance {

/// What a tensor is flush against: a page that must not be touched, or, on a device of its own memory, bytes
/// that must survive.
enum class Against { Bytes, PageAfter, PageBefore };

/// Owns the memory of one tensor. Throws std::bad_alloc and host::Failure when there is none.
class Placed {
public:
  Placed(host::Device &, Against, std::vector<std::byte> contents);
  ~Placed();
  Placed(const Placed &) = delete;
  Placed &operator=(const Placed &) = delete;

  void *data() const { return data_; }
  /// What the tensor held before the launch.
  const std::vector<std::byte> &contents() const { return contents_; }
  /// What it holds now; `why` says when a guard byte changed.
  std::vector<std::byte> fetch(std::string &why) const;

private:
  std::span<std::byte> pages() const; // those that may be touched

  std::vector<std::byte> contents_;
  std::optional<host::Buffer> buffer_; // Against::Bytes
  std::byte *mapped_ = nullptr;        // else: a guard page, pages() and another guard page
  std::byte *data_ = nullptr;
};

} // namespace tessera::conformance
