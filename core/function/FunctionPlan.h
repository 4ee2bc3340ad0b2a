// A host plan (core/metadata/HostPlan.h) bound to the kernels of its module: what a call of the function
// queues.
#pragma once
#include "core/launch/LaunchPlan.h"
#include "core/metadata/KernelMetadata.h"
#include "core/metadata/PlanMemory.h"
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tessera {

/// What a step runs: a kernel as the module holds it, or a library call dressed as one (core/library).
struct StepKernel {
  const KernelMetadata *metadata = nullptr; // null: the module has no such kernel
  const LaunchPlan *plan = nullptr;
  std::shared_ptr<DeviceKernel> device;
  int64_t maxDim = INT64_MAX; // the largest extent it takes
};

/// Immutable but for a cache behind a lock; any thread may call.
class FunctionPlan {
public:
  /// All that follows from the dims (and the integer scalars that sizes depend on): one set of them, planned.
  struct Instance {
    struct Step {
      LaunchGrid grid;
      std::vector<uint64_t> values; // a buffer's is its offset, a parameter's is filled in by each call
    };
    std::vector<uint64_t> key;
    std::vector<Step> steps;
    std::vector<int64_t> tensorBytes; // by parameter; -1: no tensor
    uint64_t workspaceBytes = 0;      // the planned peak
  };

  /// Checks every step against its kernel: it exists, its arguments are as many and of the kinds and dtypes
  /// it takes, what it reads has been written, what it writes may be written. `why` names step and kernel.
  [[nodiscard]] static bool make(const KernelMetadata &function,
                                 const std::function<StepKernel(const PlanStep &)> &find,
                                 std::unique_ptr<FunctionPlan> &out, std::string &why);

  /// The instance for these launch values, which `own`, the function's LaunchPlan, has bound. Null with `why`
  /// filled when a size overflows, a step's dims do not suit its kernel or its tensors. Allocates nothing
  /// when the dims are among the last kCached sets seen.
  std::shared_ptr<const Instance> prepare(const LaunchPlan &own, const uint64_t *values,
                                          std::string &why) const;

  /// False with `why` filled when a tensor that the function writes shares memory with another of the call's.
  /// Which element a step reads last before another is written is nothing a plan says, so none of it is safe.
  [[nodiscard]] bool checkOverlap(const Instance &, const uint64_t *values, std::string &why) const;

  bool hasBuffers() const { return !buffers_.empty(); }
  size_t stepCount() const { return steps_.size(); }
  const std::shared_ptr<DeviceKernel> &kernel(size_t step) const { return steps_[step].kernel.device; }
  /// "step 1 (kernel mlp.g1)"
  std::string describeStep(size_t step) const;
  /// Writes the launch values of a step for a call with `values` and a workspace at `base`.
  void fill(size_t step, const Instance &, const uint64_t *values, uint64_t base, uint64_t *out) const;
  size_t largestStep() const { return largestStep_; } // values of the step that has most

  static constexpr size_t kCached = 16;

private:
  struct Argument {
    enum class Source : uint8_t { Parameter, Buffer, Constant, Expression };
    Source source;
    uint32_t index = 0;    // of the parameter, the buffer, the expression
    uint64_t constant = 0; // the bits of a literal
  };
  struct Check {
    uint32_t expression;
    std::string says;
  };
  struct Step {
    StepKernel kernel;
    std::vector<Argument> arguments;
  };
  struct Buffer {
    std::string name;
    int64_t elementBytes;
    std::vector<uint32_t> dims; // expressions
  };
  struct Tensor {
    uint32_t index; // of the parameter
    bool written;
  };
  class Builder;

  std::shared_ptr<const Instance> find(const uint64_t *values) const;
  std::shared_ptr<Instance> build(const LaunchPlan &own, const uint64_t *values, std::string &why) const;
  bool bufferBytes(const Buffer &, const int64_t *slots, int64_t &out, std::string &why) const;
  bool bindStep(const Step &, const uint64_t *values, const int64_t *slots, Instance::Step &out,
                std::string &why) const;
  bool argumentBits(const Step &, size_t index, const uint64_t *values, const int64_t *slots, uint64_t &out,
                    std::string &why) const;
  bool evaluate(uint32_t expression, const int64_t *slots, int64_t &out, std::string &why) const;
  bool checkExtents(const LaunchPlan &own, const uint64_t *values, const int64_t *slots,
                    const std::vector<int64_t> &bufferBytes, const Instance &, std::string &why) const;
  std::string describeBuffer(const Buffer &, const int64_t *slots) const;

  std::vector<IndexExpr> expressions_;
  std::vector<std::string> expressionTexts_;
  std::vector<Buffer> buffers_;
  std::vector<Check> checks_;
  std::vector<Lifetime> lifetimes_;
  std::vector<Step> steps_;
  std::vector<uint32_t> key_;      // parameters that an Instance depends on
  std::vector<Tensor> tensors_;    // of the parameters
  std::vector<std::string> names_; // of the parameters
  size_t largestStep_ = 0;

  mutable std::mutex mutex_; // guards the cache
  mutable std::vector<std::shared_ptr<const Instance>> cache_;
  mutable size_t nextReplaced_ = 0;
};

} // namespace tessera
