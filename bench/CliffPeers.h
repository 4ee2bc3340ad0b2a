// Calls of oneDNN's primitives for the cliffs: created once, run often.
#pragma once
#include <cstdint>
#include <functional>

namespace tessera::bench {

/// Row softmax of x [rows, columns] into y.
std::function<void()> dnnlSoftmax(const float *x, float *y, int64_t rows, int64_t columns);

/// Layer norm of the rows of x with eps 1e-5.
std::function<void()> dnnlLayerNorm(const float *x, const float *gamma, const float *beta, float *y,
                                    int64_t rows, int64_t columns);

/// y = 2 x + 1, the smallest primitive there is to call.
std::function<void()> dnnlLinear(const float *x, float *y, int64_t count);

} // namespace tessera::bench
