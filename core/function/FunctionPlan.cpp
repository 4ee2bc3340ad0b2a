// Computes sizes, offsets and launch values of a function's calls from the dims. FunctionPlanBuilder.cpp does
// the checks at load time.
#include "core/function/FunctionPlan.h"
#include "core/metadata/PlanMemory.h"
#include <algorithm>

namespace tessera {
namespace {

std::string list(const std::vector<std::string> &texts) {
  std::string out;
  for (const std::string &t : texts)
    out += (out.empty() ? "" : ", ") + t;
  return "[" + out + "]";
}

bool fits(int64_t value, DType dtype) {
  int bits = 8 * storageBytes(dtype);
  if (bits == 64) return true;
  return isUnsigned(dtype) ? value >= 0 && value >> bits == 0 : value >> (bits - 1) == value >> 63;
}

} // namespace

std::string FunctionPlan::describeStep(size_t step) const {
  return "step " + std::to_string(step) + " (kernel " + steps_[step].kernel.metadata->name + ")";
}

/// "t0 [M, 4*D] = [3, 256]"; a dim that cannot be evaluated is "?".
std::string FunctionPlan::describeBuffer(const Buffer &b, const int64_t *slots) const {
  std::vector<std::string> texts, values;
  for (uint32_t dim : b.dims) {
    int64_t value;
    texts.push_back(expressionTexts_[dim]);
    values.push_back(expressions_[dim].evaluate(slots, value) ? std::to_string(value) : "?");
  }
  return b.name + " " + list(texts) + (texts == values ? "" : " = " + list(values));
}

bool FunctionPlan::evaluate(uint32_t expression, const int64_t *slots, int64_t &out, std::string &why) const {
  if (expressions_[expression].evaluate(slots, out)) return true;
  why = "'" + expressionTexts_[expression] + "' divides by zero or overflows";
  return false;
}

bool FunctionPlan::bufferBytes(const Buffer &b, const int64_t *slots, int64_t &out, std::string &why) const {
  auto reject = [&](const std::string &what) {
    why = "buffer " + describeBuffer(b, slots) + ": " + what;
    return false;
  };
  out = storageBytes(b.dtype);
  bool empty = false, fits = true; // an extent of 0 empties the buffer, whatever its other extents
  for (uint32_t dim : b.dims) {
    int64_t extent;
    if (!evaluate(dim, slots, extent, why)) return reject(why);
    if (extent < 0) return reject("a dim cannot be negative");
    empty |= extent == 0;
    fits = fits && !__builtin_mul_overflow(out, extent, &out);
  }
  if (empty) out = 0;
  if (isPacked(b.dtype)) out = tensorBytes(b.dtype, out);
  return empty || fits || reject("its dims make more than 2^63 bytes");
}

/// What LaunchPlan::bind passes in `source` for an argument that is not a tensor.
bool FunctionPlan::argumentBits(const Step &step, size_t index, const uint64_t *values, const int64_t *slots,
                                uint64_t &out, std::string &why) const {
  const Argument &a = step.arguments[index];
  const MetadataParam &p = step.kernel.metadata->params[index];
  int64_t value;
  switch (a.source) {
  case Argument::Source::Parameter:
    out = values[a.index];
    return true;
  case Argument::Source::Constant:
    out = a.constant;
    return true;
  case Argument::Source::Expression:
    if (!evaluate(a.index, slots, value, why)) return false;
    if (p.kind == MetadataParam::Kind::Scalar && !fits(value, p.dtype)) {
      why = "'" + expressionTexts_[a.index] + "' is " + std::to_string(value) + ", which " + name(p.dtype) +
            " cannot hold";
      return false;
    }
    out = static_cast<uint64_t>(value);
    return true;
  case Argument::Source::Buffer:
    break; // a tensor's
  }
  return false;
}

bool FunctionPlan::bindStep(const Step &step, const uint64_t *values, const int64_t *slots,
                            Instance::Step &out, std::string &why) const {
  size_t count = step.arguments.size();
  // For a buffer any aligned address will do, since each call has a workspace of its own. The addresses of
  // parameters may choose a variant.
  std::vector<uint64_t> bits(count, kPlanAlignment);
  std::vector<void *> args(count);
  for (size_t i = 0; i < count; ++i) {
    args[i] = &bits[i];
    if (step.kernel.plan->isTensor(i)) {
      if (const Argument &a = step.arguments[i]; a.source == Argument::Source::Parameter)
        bits[i] = values[a.index];
      continue;
    }
    if (!argumentBits(step, i, values, slots, bits[i], why)) {
      why = "argument " + std::to_string(i) + " (" + step.kernel.plan->name(i) + "): " + why;
      return false;
    }
  }
  for (size_t i = 0; i < count; ++i)
    if (step.kernel.metadata->params[i].kind == MetadataParam::Kind::Dim &&
        static_cast<int64_t>(bits[i]) > step.kernel.maxDim) {
      why = "argument " + std::to_string(i) + " (" + step.kernel.plan->name(i) +
            "): the library takes at most " + std::to_string(step.kernel.maxDim) + ", found " +
            std::to_string(static_cast<int64_t>(bits[i]));
      return false;
    }
  out.values.resize(count);
  if (!step.kernel.plan->bind(tsr_launch_t{}, args.data(), count, out.values.data(), out.grid, why))
    return false;
  if (!step.kernel.chooser) return true;
  if (MaybeError error = step.kernel.chooser->evaluate(out.values.data(), out.choice))
    return why = error->message, false;
  out.grid = out.choice.grid;
  return true;
}

/// The tensor a step works on must fit into what the function holds at that address.
bool FunctionPlan::checkExtents(const LaunchPlan &own, const uint64_t *values, const int64_t *slots,
                                const std::vector<int64_t> &bufferBytes, const Instance &instance,
                                std::string &why) const {
  for (size_t s = 0; s < steps_.size(); ++s)
    for (size_t i = 0; i < steps_[s].arguments.size(); ++i) {
      const LaunchPlan &kernel = *steps_[s].kernel.plan;
      if (!kernel.isTensor(i)) continue;
      const Argument &a = steps_[s].arguments[i];
      bool isBuffer = a.source == Argument::Source::Buffer;
      int64_t needed = kernel.tensorBytes(i, instance.steps[s].values.data());
      int64_t has = isBuffer ? bufferBytes[a.index] : instance.tensorBytes[a.index];
      if (needed <= has) continue;
      why = describeStep(s) + ": argument " + std::to_string(i) + ", " +
            kernel.describe(i, instance.steps[s].values.data()) + ", needs " + std::to_string(needed) +
            " bytes; " +
            (isBuffer ? describeBuffer(buffers_[a.index], slots) : own.describe(a.index, values)) + " has " +
            std::to_string(has);
      return false;
    }
  return true;
}

std::shared_ptr<FunctionPlan::Instance> FunctionPlan::build(const LaunchPlan &own, const uint64_t *values,
                                                            std::string &why) const {
  auto instance = std::make_shared<Instance>();
  for (uint32_t parameter : key_)
    instance->key.push_back(values[parameter]);
  for (const auto &[parameter, bytes] : alignments_)
    instance->key.push_back(values[parameter] % static_cast<uint64_t>(bytes) == 0);
  std::vector<int64_t> slots(own.argumentCount());
  own.slots(values, slots.data());
  for (size_t i = 0; i < own.argumentCount(); ++i)
    instance->tensorBytes.push_back(own.tensorBytes(i, values));

  for (const Check &c : checks_) {
    int64_t value;
    if (!evaluate(c.expression, slots.data(), value, why)) return nullptr;
    if (value >= 0) continue;
    why = c.says + ": '" + expressionTexts_[c.expression] + "' is " + std::to_string(value);
    return nullptr;
  }
  std::vector<int64_t> bytes(buffers_.size());
  for (size_t i = 0; i < buffers_.size(); ++i)
    if (!bufferBytes(buffers_[i], slots.data(), bytes[i], why)) return nullptr;
  instance->steps.resize(steps_.size());
  for (size_t i = 0; i < steps_.size(); ++i)
    if (!bindStep(steps_[i], values, slots.data(), instance->steps[i], why)) {
      why = describeStep(i) + ": " + why;
      return nullptr;
    }
  if (!checkExtents(own, values, slots.data(), bytes, *instance, why)) return nullptr;

  PlacedBuffers placed;
  if (!placeBuffers(bytes, lifetimes_, placed)) {
    size_t largest = static_cast<size_t>(std::max_element(bytes.begin(), bytes.end()) - bytes.begin());
    why = "the temporaries make more than 2^63 bytes; the largest is " +
          describeBuffer(buffers_[largest], slots.data());
    return nullptr;
  }
  instance->workspaceBytes = static_cast<uint64_t>(placed.peakBytes);
  for (size_t s = 0; s < steps_.size(); ++s)
    for (size_t i = 0; i < steps_[s].arguments.size(); ++i)
      if (const Argument &a = steps_[s].arguments[i]; a.source == Argument::Source::Buffer)
        instance->steps[s].values[i] = static_cast<uint64_t>(placed.offsets[a.index]);
  return instance;
}

std::shared_ptr<const FunctionPlan::Instance> FunctionPlan::find(const uint64_t *values) const {
  std::lock_guard lock(mutex_);
  for (auto &instance : cache_) {
    bool same = true;
    for (size_t i = 0; i < key_.size() && same; ++i)
      same = instance->key[i] == values[key_[i]];
    for (size_t i = 0; i < alignments_.size() && same; ++i)
      same = instance->key[key_.size() + i] ==
             (values[alignments_[i].first] % static_cast<uint64_t>(alignments_[i].second) == 0);
    if (same) return instance;
  }
  return nullptr;
}

std::shared_ptr<const FunctionPlan::Instance>
FunctionPlan::prepare(const LaunchPlan &own, const uint64_t *values, std::string &why) const {
  if (auto known = find(values)) return known;
  std::shared_ptr<const Instance> made = build(own, values, why);
  if (!made) return nullptr;
  std::lock_guard lock(mutex_);
  if (cache_.size() < kCached)
    cache_.push_back(made);
  else
    cache_[nextReplaced_++ % kCached] = made;
  return made;
}

bool FunctionPlan::checkOverlap(const Instance &instance, const uint64_t *values, std::string &why) const {
  struct Range {
    uint64_t begin, end;
    const Tensor *tensor;
  };
  Range small[LaunchPlan::kSmall];
  std::vector<Range> large;
  if (tensors_.size() > LaunchPlan::kSmall) large.resize(tensors_.size());
  Range *ranges = large.empty() ? small : large.data(), *last = ranges;
  for (const Tensor &t : tensors_)
    if (int64_t bytes = instance.tensorBytes[t.index]; bytes > 0)
      *last++ = {values[t.index], values[t.index] + static_cast<uint64_t>(bytes), &t};
  std::sort(ranges, last, [](const Range &a, const Range &b) {
    return a.begin != b.begin ? a.begin < b.begin : a.tensor->index < b.tensor->index;
  });

  // Among the ranges that begin earlier, the one with the furthest end overlaps if any of them does.
  const Range *reaches = nullptr, *writtenReaches = nullptr;
  for (const Range *r = ranges; r != last; ++r) {
    const Range *before = r->tensor->written ? reaches : writtenReaches;
    if (before && before->end > r->begin) {
      auto [written, other] = r->tensor->written ? std::pair{r, before} : std::pair{before, r};
      auto argument = [&](const Range &range) {
        return "argument " + std::to_string(range.tensor->index) + " (" + names_[range.tensor->index] + ")";
      };
      why = argument(*written) + ", which the function writes, and " + argument(*other) + " share " +
            std::to_string(std::min(r->end, before->end) - r->begin) + " bytes; " +
            names_[written->tensor->index] + " needs memory of its own";
      return false;
    }
    if (!reaches || r->end > reaches->end) reaches = r;
    if (r->tensor->written && (!writtenReaches || r->end > writtenReaches->end)) writtenReaches = r;
  }
  return true;
}

const std::shared_ptr<DeviceKernel> &FunctionPlan::kernel(size_t step, const Instance &instance) const {
  const StepKernel &kernel = steps_[step].kernel;
  const size_t variant = instance.steps[step].choice.variant;
  return kernel.chooser && variant < kernel.bodies.size() ? kernel.bodies[variant] : kernel.device;
}

void FunctionPlan::fill(size_t step, const Instance &instance, const uint64_t *values, uint64_t base,
                        uint64_t *out) const {
  const std::vector<Argument> &arguments = steps_[step].arguments;
  const Instance::Step &prepared = instance.steps[step];
  const VariantChooser *chooser = steps_[step].kernel.chooser;
  const size_t parameters = chooser ? chooser->parameterCount(prepared.choice) : 0;
  const size_t beforeDims = chooser ? chooser->beforeDims() : arguments.size();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (i == beforeDims)
      for (size_t p = 0; p < parameters; ++p)
        *out++ = static_cast<uint64_t>(prepared.choice.parameters[p]);
    const Argument &a = arguments[i];
    *out++ = a.source == Argument::Source::Parameter ? values[a.index]
             : a.source == Argument::Source::Buffer  ? base + prepared.values[i]
                                                     : prepared.values[i];
  }
}

} // namespace tessera
