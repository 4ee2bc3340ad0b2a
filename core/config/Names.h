// Variables of the environment.
#pragma once
#include <string>

namespace tessera {

/// Value of a variable; empty and unset are the same, and so are all of them in a program that runs with
/// another user's rights: who starts it may have set them.
std::string environment(const char *name);

} // namespace tessera
