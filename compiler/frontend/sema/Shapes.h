// Checks the shapes of a kernel against a policy.
#pragma once
#include "compiler/frontend/program/Program.h"
#include <string_view>

namespace tessera::frontend {

/// What validateShapes checks. The text form (parseShapePolicy) is a comma-separated list of
/// `known`, `nonempty`, `whole_tiles`, `max_bytes=N` and `NAME=VALUE` for the dims' values.
struct ShapePolicy {
  bool requireKnown = false;      // every symbolic dim has a value
  bool requireNonEmpty = true;    // no known dim is below 1 (a negative extent is always an error)
  bool requireWholeTiles = false; // every grid axis' extent is a multiple of its step
  int64_t maxBytes = INT64_MAX;   // of one tensor
  std::vector<std::pair<std::string, int64_t>> dims;
};

struct ShapeFinding {
  std::string subject; // the parameter, dim or grid axis
  std::string message;
  Range loc; // line 0: none
};

struct ShapeReport {
  std::vector<ShapeFinding> findings; // empty: the shapes obey the policy
  bool ok() const { return findings.empty(); }
  std::string text() const; // one line per finding
};

[[nodiscard]] bool parseShapePolicy(std::string_view text, ShapePolicy &out, std::string &why);
ShapeReport validateShapes(const Kernel &, const ShapePolicy &);

} // namespace tessera::frontend
