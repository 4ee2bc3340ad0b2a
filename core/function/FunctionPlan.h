// A host plan (core/metadata/HostPlan.h) bound to the kernels of its module: what one call of a function puts
// on a stream.
#pragma once
#include "core/launch/LaunchPlan.h"
#include "core/launch/VariantChooser.h"
#include "core/metadata/KernelMetadata.h"
#include "core/metadata/PlanMemory.h"
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tessera {

/// What a step runs: a kernel of the module, or a library call wrapped as a kernel (core/library).
struct StepKernel {
  const KernelMetadata *metadata = nullptr; // null: the module has no such kernel
  const LaunchPlan *plan = nullptr;
  std::shared_ptr<DeviceKernel> device;
  int64_t maxDim = INT64_MAX;                             // the largest extent the code supports
  const VariantChooser *chooser = nullptr;                // null: it has one body
  std::vector<std::shared_ptr<DeviceKernel>> bodies = {}; // of the chooser's variants
};

/// Thread-safe. Immutable except for a cache that a mutex guards.
class FunctionPlan {
public:
  /// The plan for one set of dims (and of the integer scalars that sizes depend on).
  struct Instance {
    struct Step {
      LaunchGrid grid;
      std::vector<uint64_t> values;  // of a buffer: its offset; of a parameter: filled in by each call
      VariantChooser::Choice choice; // of a kernel with variants
    };
    std::vector<uint64_t> key;
    std::vector<Step> steps;
    std::vector<int64_t> tensorBytes; // by parameter; -1: not a tensor
    uint64_t workspaceBytes = 0;      // the planned peak
  };

  /// Checks each step against its kernel: the kernel exists, its arguments match in number, kind and dtype,
  /// everything it reads has been written, and everything it writes may be written. On failure `why` names
  /// the step and the kernel.
  [[nodiscard]] static bool make(const KernelMetadata &function,
                                 const std::function<StepKernel(const PlanStep &)> &find,
                                 std::unique_ptr<FunctionPlan> &out, std::string &why);

  /// Returns the instance for these launch values, which `own`, the function's LaunchPlan, has bound. Returns
  /// null and fills `why` when a size overflows or a step's dims do not fit its kernel or its tensors. Does
  /// not allocate when the dims are among the last kCached sets.
  std::shared_ptr<const Instance> prepare(const LaunchPlan &own, const uint64_t *values,
                                          std::string &why) const;

  /// Returns false and fills `why` when a tensor that the function writes shares memory with another argument
  /// of the call. A plan does not record the order in which elements are read and written, so no overlap is
  /// safe.
  [[nodiscard]] bool checkOverlap(const Instance &, const uint64_t *values, std::string &why) const;

  bool hasBuffers() const { return !buffers_.empty(); }
  size_t stepCount() const { return steps_.size(); }
  /// What the step runs: the kernel of the plan or one of its variants.
  const std::shared_ptr<DeviceKernel> &kernel(size_t step, const Instance &) const;
  /// "step 1 (kernel mlp.g1)"
  std::string describeStep(size_t step) const;
  /// Writes the launch values of a step for a call with `values` and a workspace at `base`.
  void fill(size_t step, const Instance &, const uint64_t *values, uint64_t base, uint64_t *out) const;
  size_t largestStep() const { return largestStep_; } // values of the step that has the most

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
    DType dtype;
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
  std::vector<uint32_t> key_;                            // parameters that an Instance depends on
  std::vector<std::pair<uint32_t, int64_t>> alignments_; // and the addresses among them, with bytes
  std::vector<Tensor> tensors_;                          // of the parameters
  std::vector<std::string> names_;                       // of the parameters
  size_t largestStep_ = 0;

  mutable std::mutex mutex_; // guards the cache
  mutable std::vector<std::shared_ptr<const Instance>> cache_;
  mutable size_t nextReplaced_ = 0;
};

} // namespace tessera
