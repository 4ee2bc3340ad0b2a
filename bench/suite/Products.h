// Matrix products as cases: the program, its data, every library that has the product, and the check.
#pragma once
#include "bench/suite/Suite.h"

namespace tessera::bench {

/// A case of a product, or with `gelu` of gelu(a @ b + bias), compiled for any extents.
Case productCase(std::string family, std::string name, const Product &, bool gelu = false);

/// The text of the program that multiplies.
std::string productSource(const Product &, bool gelu);

/// The operands of a case, and the bytes of its result.
struct ProductData {
  const void *a, *b, *bias;
  size_t bytes;
};
/// Draws the operands, which the trial then owns, and sets its check.
ProductData storeProduct(Trial &, const Product &, const std::string &name, bool gelu = false);

/// "64x128x256" for M, N, K.
std::string extentsOf(const Product &);

/// Returns `count` random values of a dtype: floats in [-1, 1), integers over the dtype's range.
std::vector<std::byte> randomValues(DType, size_t count, const std::string &seed);
std::vector<double> toDoubles(DType, const void *values, size_t count);

} // namespace tessera::bench
