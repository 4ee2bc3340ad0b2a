#include "core/plugin/Mappers.h"
#include <cassert>

namespace tessera {
namespace {

constinit const Mappers *registeredMappers = nullptr;

const Mappers &mappers() {
  assert(registeredMappers && "runtime/Parts.cpp is not part of this program");
  return *registeredMappers;
}

} // namespace

void setMappers(const Mappers &mappers) { registeredMappers = &mappers; }

tsr_status_t decideVariants(std::string_view source, CompileOptions &options,
                            std::vector<Diagnostic> &diags) {
  return mappers().decideVariants(source, options, diags);
}

bool isBuiltinMapper(std::string_view name) { return mappers().isBuiltin(name); }

std::unique_ptr<AlgorithmChoices> makeAlgorithmChoices() { return mappers().makeAlgorithmChoices(); }

} // namespace tessera
