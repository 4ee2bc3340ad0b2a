// The layer between the C++ classes of the SDK and the C tables of plugin.h: texts, exceptions, TSR_PLUGIN.
// Part of plugin.hpp; both sides compile it into themselves.
#pragma once
#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tessera/plugin.h>
#include <tessera/require_cxx20.hpp>

namespace tessera {

/// An exception that the caller receives as this status and text. It is for methods that return an object or
/// null, whose failure otherwise has one fixed status.
class StatusError : public std::runtime_error {
public:
  StatusError(tsr_status_t status, const std::string &text) : std::runtime_error(text), status_(status) {}
  tsr_status_t status() const noexcept { return status_; }

private:
  tsr_status_t status_;
};

} // namespace tessera

namespace tessera::thunk {

/// Writes `text` into the caller's buffer, truncated to its capacity. Never throws.
inline void put(tsr_text_t *out, std::string_view text) noexcept {
  if (!out) return;
  out->length = text.size();
  if (!out->data || !out->capacity) return;
  size_t n = std::min<size_t>(text.size(), out->capacity - 1);
  std::memcpy(out->data, text.data(), n);
  out->data[n] = 0;
}

/// A buffer to pass across the boundary, and the text returned in it.
class Text {
public:
  Text() { buffer_[0] = 0; }
  Text(const Text &) = delete;
  Text &operator=(const Text &) = delete;
  operator tsr_text_t *() noexcept { return &text_; }
  /// Returns at most what fits into the buffer, whatever length was reported.
  std::string str() const { return std::string(buffer_, strnlen(buffer_, sizeof buffer_ - 1)); }

private:
  char buffer_[1024];
  tsr_text_t text_{buffer_, sizeof buffer_, 0};
};

/// Runs the body of a slot: body(std::string &why) returns a status. Every exception becomes a status and a
/// text; none propagates.
template <class Body> int32_t guard(tsr_text_t *why, Body body) noexcept {
  try {
    std::string text;
    int32_t status = body(text);
    if (status != TSR_SUCCESS) put(why, text);
    return status;
  } catch (const StatusError &e) {
    put(why, e.what());
    return e.status();
  } catch (const std::bad_alloc &) {
    put(why, "out of memory");
    return TSR_EOOM;
  } catch (const std::exception &e) {
    put(why, e.what());
    return TSR_EINTERNAL;
  } catch (...) {
    put(why, "an exception that is not a std::exception");
    return TSR_EINTERNAL;
  }
}

/// As guard, for slots without a status.
template <class Body> void guardVoid(Body body) noexcept {
  try {
    body();
  } catch (...) {
  }
}

/// Copies a struct that begins with struct_size, up to the smaller of both sides' sizes.
template <class T> void copyOut(T *out, const T &value) noexcept {
  uint64_t size = std::min<uint64_t>(out->struct_size, sizeof(T));
  std::memcpy(out, &value, size);
  out->struct_size = size;
}

/// A type tag for overloads: offer(Of<Mine>(), info) puts Mine's table into a plugin's answer. Each kind of
/// plugin has its own overload, selected by Mine's base class.
template <class T> struct Of {};
template <class... Ts> void offerAll(tsr_plugin_info_t &info) { (offer(Of<Ts>(), info), ...); }

/// Copies a struct that the other side filled. Fields that it does not have are zero.
template <class T> T copyIn(const T *in) noexcept {
  T out{};
  std::memcpy(&out, in, std::min<uint64_t>(in->struct_size, sizeof(T)));
  out.struct_size = sizeof(T);
  return out;
}

} // namespace tessera::thunk
