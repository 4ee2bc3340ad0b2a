// Access to environment variables.
#pragma once
#include <string>

namespace tessera {

/// Returns the value of a variable, or "" if it is unset. Returns "" for every variable in a program that
/// runs with elevated rights (setuid), since its environment is not trusted.
std::string environment(const char *name);

} // namespace tessera
