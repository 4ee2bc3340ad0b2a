#include "core/service/CodegenPlugins.h"

namespace tessera {
namespace {

struct NoPlugins final : CodegenPlugins {
  CodegenPlugin load(std::string_view, std::string &) override { return {}; }
  std::vector<std::string> names() override { return {}; }
  std::optional<std::string> identity(std::string_view) override { return ""; }
};

constinit CodegenPlugins *current = nullptr;

} // namespace

CodegenPlugins &codegenPlugins() {
  static NoPlugins none;
  return current ? *current : none;
}

void setCodegenPlugins(CodegenPlugins &plugins) { current = &plugins; }

} // namespace tessera
