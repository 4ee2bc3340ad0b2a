// Reads the file of --expect: which checks a plugin is known not to pass, and why.
#pragma once
#include "core/support/Expected.h"
#include "tools/tsr-conformance/Outcome.h"
#include <optional>

namespace tessera::kit {

/// Returns whether `id` matches a shell pattern such as "graph.*".
bool matches(std::string_view pattern, std::string_view id);

class Expectations {
public:
  struct Entry {
    std::string pattern, reason;
    bool isFailure; // true: expected_failure; false: unsupported
  };
  /// Reads YAML or JSON:
  ///   unsupported:
  ///     - {checks: "launch.*", reason: it computes nothing}
  ///   expected_failure:
  ///     - {checks: [copies.overlap], reason: "driver 535 copies upwards only; fixed in 540"}
  /// The error names the line where the file has another form, where a reason is missing, or where a pattern
  /// matches no check.
  static Expected<Expectations> read(const std::string &path);
  /// Returns the first entry whose pattern matches the check.
  const Entry *find(const Check &, bool isFailure) const;

private:
  std::vector<Entry> entries_;
};

} // namespace tessera::kit
