// The f32 transformer block as written in C++ over a BLAS: cblas_sgemm for every product, loops for the rest,
// with the rows distributed over the cores.
#pragma once
#include "bench/TransformerBlock.h"

namespace tessera::bench {

class BlasBlock {
public:
  /// `block` must not be gated and must outlive this object.
  explicit BlasBlock(const Block &block);
  void run();
  const std::vector<float> &result() const { return out_; }

private:
  void attend(size_t batch, size_t head);
  const Block &block_;
  std::vector<float> norm_, q_, k_, v_, y_, scores_, hidden_, out_;
};

} // namespace tessera::bench
