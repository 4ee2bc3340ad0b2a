#include "tools/tsr/Json.h"
#include <cstdio>

namespace tessera::cli {

void printJson(const Json &document) {
  const std::string text = document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
}

} // namespace tessera::cli
