// The text behind tsrLastError, and the frame every ABI function runs in.
#pragma once
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <tessera/tessera.h>
#include <tessera/thunk.hpp>

namespace tessera {

/// Keeps `text` as this thread's last error and returns `status`.
tsr_status_t fail(tsr_status_t status, std::string_view text);
const char *lastError();

/// Runs the body of an ABI function; no exception leaves it.
template <class Body> tsr_status_t guarded(Body body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    return fail(TSR_EOOM, "out of host memory");
  } catch (const StatusError &e) {
    return fail(e.status(), e.what());
  } catch (const std::exception &e) {
    return fail(TSR_EINTERNAL, e.what());
  } catch (...) {
    return fail(TSR_EINTERNAL, "an exception that is no std::exception");
  }
}

/// Calls a backend with a text for its reason, and keeps that on failure.
template <class Call> tsr_status_t checked(Call call) {
  std::string why;
  tsr_status_t status = call(why);
  return status == TSR_SUCCESS || status == TSR_NOT_READY ? status : fail(status, why);
}

} // namespace tessera
