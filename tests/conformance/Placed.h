// A tensor with guards on both sides.
#pragma once
#include "tools/host/Host.h"
#include <optional>
#include <span>

namespace tessera::conformance {

/// What borders a tensor: an inaccessible page or, on a device with its own memory, bytes that must not
/// change.
enum class Against { Bytes, PageAfter, PageBefore };

/// Owns the memory of one tensor. Throws std::bad_alloc or host::Failure when there is none.
class Placed {
public:
  Placed(host::Device &, Against, std::vector<std::byte> contents);
  ~Placed();
  Placed(const Placed &) = delete;
  Placed &operator=(const Placed &) = delete;

  void *data() const { return data_; }
  /// Returns the contents of the tensor before the launch.
  const std::vector<std::byte> &contents() const { return contents_; }
  /// Returns the current contents. Fills `why` when a guard byte has changed.
  std::vector<std::byte> fetch(std::string &why) const;

private:
  std::span<std::byte> pages() const; // the accessible pages

  std::vector<std::byte> contents_;
  std::optional<host::Buffer> buffer_; // Against::Bytes
  std::byte *mapped_ = nullptr;        // otherwise: a guard page, pages() and another guard page
  std::byte *data_ = nullptr;
};

} // namespace tessera::conformance
