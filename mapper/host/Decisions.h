// The questions that core asks of mappers (core/plugin/Mappers.h), answered by the current mapper.
#pragma once
#include "core/plugin/Mappers.h"

namespace tessera::mapping {

/// Implements Mappers::decideVariants.
tsr_status_t decideVariants(std::string_view source, CompileOptions &options, std::vector<Diagnostic> &diags);

std::unique_ptr<AlgorithmChoices> makeAlgorithmChoices();

} // namespace tessera::mapping
