// Names that other tools use, and how the same thing is written in this language: the hints of errors about
// unknown names.
#pragma once
#include "compiler/ops/Functions.h"
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tessera::ops {

struct ForeignName {
  std::string_view name;
  const char *written; // `@` stands for the prefix that the context requires
};

/// Names of other libraries that are neither a function nor a dtype of this language.
std::span<const ForeignName> foreignNames();

/// Returns the hint for such a name, or for a dtype of another library; nothing if the name is not known.
/// `prefix` is what the names of functions begin with in this context: "ts." or "ts.tile.".
std::optional<std::string> foreignHint(std::string_view name, const std::string &prefix);

/// Returns what a decorator of another tool is in this language ("triton.jit"); empty if it is not known.
std::string foreignDecoratorHint(std::string_view dotted);

/// Returns the hint for an annotation of a parameter that other tools write ("np.ndarray", "str"); empty if
/// it is not known.
std::string foreignTypeHint(std::string_view dotted);

/// Is it the name of a module that kernels of other tools use: "tl", "jnp", "torch"?
bool isForeignModule(std::string_view name);

/// Returns the hint for `argument=` in a call of a function that has no argument of that name; empty if it is
/// not known.
std::string foreignArgumentHint(std::string_view argument, const Signature &);

} // namespace tessera::ops
