#include "core/config/Names.h"
#include <cstdlib>

namespace tessera {

std::string environment(const char *name) {
  const char *value = secure_getenv(name);
  return value ? value : "";
}

} // namespace tessera
