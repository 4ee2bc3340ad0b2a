// The file of --expect: which checks a plugin is known not to pass, and why.
#pragma once
#include "tools/tsr-conformance/Outcome.h"
#include <optional>

namespace tessera::kit {

/// A pattern of the shell over ids: "graph.*".
bool matches(std::string_view pattern, std::string_view id);

class Expectations {
public:
  struct Entry {
    std::string pattern, reason;
    bool isFailure; // expected_failure; else unsupported
  };
  /// Reads YAML or JSON:
  ///   unsupported:
  ///     - {checks: "launch.*", reason: it computes nothing}
  ///   expected_failure:
  ///     - {checks: [copies.overlap], reason: "driver 535 copies upwards only; fixed in 540"}
  /// False with `why`, which names the line, when it is not that, a reason is missing or a pattern meets no
  /// check.
  [[nodiscard]] static bool read(const std::string &path, Expectations &out, std::string &why);
  /// The first entry that speaks of the check.
  const Entry *find(const Check &, bool isFailure) const;

private:
  std::vector<Entry> entries_;
};

} // namespace tessera::kit
