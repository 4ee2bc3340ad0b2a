// How tsr shows the matrix products of kernels.
#pragma once
#include "core/metadata/KernelMetadata.h"
#include "tools/tsr/Json.h"

namespace tessera::cli {

/// "mma.m16n8k16, bf16 into f32, gemm.py:14"
std::string textOf(const MetadataProduct &);

/// An array with an object for each: {"instruction", "in", "acc", "at"}.
Json jsonOf(const std::vector<MetadataProduct> &);

} // namespace tessera::cli
