#include "core/plugin/Mappers.h"
#include <cassert>

namespace tessera {
namespace {

constinit const Mappers *registered = nullptr;

const Mappers &mappers() {
  assert(registered && "runtime/Parts.cpp is not part of this program");
  return *registered;
}

} // namespace

void setMappers(const Mappers &mappers) { registered = &mappers; }

tsr_status_t decideVariants(std::string_view source, CompileOptions &options,
                            std::vector<Diagnostic> &diags) {
  return mappers().decideVariants(source, options, diags);
}

bool isBuiltinMapper(std::string_view name) { return mappers().isBuiltin(name); }

std::unique_ptr<AlgorithmChoices> makeAlgorithmChoices() { return mappers().makeAlgorithmChoices(); }

} // namespace tessera
