// What other tools call things, and how it is written here: the hints of errors about unknown names.
#pragma once
#include "compiler/ops/Functions.h"
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tessera::ops {

struct ForeignName {
  std::string_view name;
  const char *written; // `@` is the prefix of the place
};

/// Names of other libraries that are no function and no dtype here.
std::span<const ForeignName> foreignNames();

/// The hint for such a name, or for a dtype of another library; nothing when the name is not known. `prefix`
/// is what the functions of the place begin with: "ts." or "ts.tile.".
std::optional<std::string> foreignHint(std::string_view name, const std::string &prefix);

/// Whether kernels of other tools are written with a module of that name: "tl", "jnp", "torch".
bool isForeignModule(std::string_view name);

/// The hint for `argument=` in a call of a function that has no argument of that name; empty when it is not
/// known.
std::string foreignArgumentHint(std::string_view argument, const Signature &);

} // namespace tessera::ops
