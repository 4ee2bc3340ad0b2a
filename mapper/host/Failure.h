// The failure of a question to a mapper.
#pragma once
#include <exception>
#include <string>
#include <tessera/status.h>
#include <utility>

namespace tessera::mapping {

/// A stable code ("E_MAPPER_ANSWER"), the text, and the status for the call that asked. The built-in mappers
/// throw it; the code that asks the question catches it. It never leaves a thread.
struct Failure : std::exception {
  Failure() = default;
  Failure(tsr_status_t s, std::string c, std::string m, std::string h = {})
      : status(s), code(std::move(c)), message(std::move(m)), hint(std::move(h)) {}
  const char *what() const noexcept override { return message.c_str(); }

  tsr_status_t status = TSR_SUCCESS;
  std::string code, message, hint;
};

} // namespace tessera::mapping
