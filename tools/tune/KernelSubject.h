// A kernel as the tuner sees it: configurations are compiled, loaded into one context, compared and timed.
#pragma once
#include "tools/tsr/Session.h"
#include "tools/tune/Tuner.h"
#include <functional>

namespace tessera::tune {

class KernelSubject final : public TuneSubject {
public:
  /// `binding` has the arguments. Inputs without a file are filled from a fixed seed, and everything that is
  /// written starts as NaN. All references outlive this object. `isExact`: results must have equal bits. Once
  /// `isStopped` returns true, measure() fails with E_TUNE_STOPPED.
  KernelSubject(cli::Session &session, std::string_view source, CompileOptions options,
                const Signature &signature, cli::Binding &binding,
                const std::vector<Configuration> &configurations, bool isExact,
                std::function<bool()> isStopped);

  /// Places the arguments. Called once, before everything else.
  [[nodiscard]] MaybeError place();

  MaybeError prepare(size_t configuration) override;
  MaybeError check(size_t configuration) override;
  Expected<Sample> measure(size_t configuration) override;
  double now() override;

private:
  MaybeError run(size_t configuration, std::vector<npy::Bytes> &results);
  Expected<double> time(size_t configuration);
  double termsOf(size_t param) const;

  cli::Session &session_;
  std::string_view source_;
  CompileOptions options_;
  const Signature &signature_;
  cli::Binding &binding_;
  const std::vector<Configuration> &configurations_;
  bool isExact_;
  std::function<bool()> isStopped_;
  bool sums_ = true;                  // the default has operations that may add terms in another order
  std::vector<tsr_kernel_t> kernels_; // by configuration; null: not prepared
  std::vector<npy::Bytes> expected_;  // the default's results, by parameter
  int64_t repetitions_ = 1;           // of one timing
  bool isBaseFirst_ = true;
};

} // namespace tessera::tune
