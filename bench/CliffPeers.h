// Calls of oneDNN's primitives for the cliffs: created once, run often.
#pragma once
#include <cstdint>
#include <functional>

namespace tessera::bench {

/// Row softmax of x [rows, columns], or its logarithm, into y.
std::function<void()> dnnlSoftmax(const float *x, float *y, int64_t rows, int64_t columns,
                                  bool logarithm = false);

/// Layer norm of the rows of x with eps 1e-5.
std::function<void()> dnnlLayerNorm(const float *x, const float *gamma, const float *beta, float *y,
                                    int64_t rows, int64_t columns);

/// A function of each element, by the end of its name in dnnl::algorithm: "gelu_erf".
std::function<void()> dnnlFunction(const char *name, const float *x, float *y, int64_t count);

/// y = 2 x + 1, the smallest primitive there is to call.
std::function<void()> dnnlLinear(const float *x, float *y, int64_t count);

} // namespace tessera::bench
