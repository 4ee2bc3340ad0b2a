// A sample: builds its kernel from samples/FOLDER/FOLDER.py, runs it on random data, checks every element and
// times it.
#pragma once
#include "bench/Check.h"
#include "bench/Timing.h"
#include "tools/host/Host.h"
#include <string>
#include <vector>

namespace tessera::bench {

struct Outcome {
  std::string shape;
  double flops = 0, bytes = 0; // one of them is 0; the other one limits the sample
  Timing timing;
  Check check;
  std::string numerics;
  std::vector<std::string> fallbacks;
};

/// Completes the outcome with the times of launches, each after an untimed `before`, and with what the
/// metadata state.
template <typename Before>
Outcome finish(Outcome out, const host::Kernel &kernel, const host::Launch &launch, Before before) {
  out.timing = measure([&] { launch.run(); }, before);
  out.numerics = kernel.metadata().numerics;
  out.fallbacks = kernel.metadata().fallbacks;
  return out;
}
inline Outcome finish(Outcome out, const host::Kernel &kernel, const host::Launch &launch) {
  return finish(std::move(out), kernel, launch, [] {});
}

struct Sample {
  const char *name, *folder;
  Outcome (*run)(host::Device &, const std::string &source, const std::string &fileName);
};

Outcome runFlashAttention(host::Device &, const std::string &source, const std::string &fileName);
Outcome runGemm(host::Device &, const std::string &source, const std::string &fileName);
Outcome runGemmLoops(host::Device &, const std::string &source, const std::string &fileName);
Outcome runMlp(host::Device &, const std::string &source, const std::string &fileName);
Outcome runTransformer(host::Device &, const std::string &source, const std::string &fileName);
Outcome runTransformerBf16(host::Device &, const std::string &source, const std::string &fileName);
Outcome runLayerNorm(host::Device &, const std::string &source, const std::string &fileName);
Outcome runHistogram(host::Device &, const std::string &source, const std::string &fileName);
Outcome runSoftmax(host::Device &, const std::string &source, const std::string &fileName);
Outcome runSaxpy(host::Device &, const std::string &source, const std::string &fileName);

} // namespace tessera::bench
