// The text of tsrLastError, and the error handling around every ABI function.
#pragma once
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <tessera/tessera.h>
#include <tessera/thunk.hpp>

namespace tessera {

/// Stores `text` as this thread's last error and returns `status`.
tsr_status_t fail(tsr_status_t status, std::string_view text);
const char *lastError();

/// Runs the body of an ABI function and converts every exception to a status.
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
    return fail(TSR_EINTERNAL, "an exception that is not a std::exception");
  }
}

/// Calls a backend with a string for its error text, and stores the text as the last error on failure.
template <class Call> tsr_status_t checked(Call call) {
  std::string why;
  tsr_status_t status = call(why);
  return status == TSR_SUCCESS || status == TSR_NOT_READY ? status : fail(status, why);
}

} // namespace tessera
