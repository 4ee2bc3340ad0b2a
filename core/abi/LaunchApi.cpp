// Launches kernels and calls functions.
#include "core/abi/Structs.h"
#include "core/log/Log.h"
#include "core/metadata/Reports.h"
#include "core/objects/Tracer.h"
#include <algorithm>
#include <cstdio>
#include <new>

using namespace tessera;

namespace {

/// The launch values of one call, stored on the stack if they are few.
class Values {
public:
  explicit Values(size_t count) {
    if (count > LaunchPlan::kSmall) large_.resize(count);
  }
  uint64_t *data() { return large_.empty() ? small_ : large_.data(); }

private:
  uint64_t small_[LaunchPlan::kSmall];
  std::vector<uint64_t> large_;
};

tsr_status_t bind(const KernelObject &kernel, const tsr_launch_t &launch, void *const *args, size_t nargs,
                  uint64_t *values, LaunchGrid &grid) {
  if (kernel.function && (launch.grid_x || launch.grid_y || launch.grid_z))
    return fail(TSR_EINVAL,
                kernel.describe() + ": its plan gives every step its grid, so that of a call is 0,0,0");
  std::string why;
  if (kernel.plan.bind(launch, args, nargs, values, grid, why)) return TSR_SUCCESS;
  return fail(TSR_EINVAL, kernel.describe() + ": " + why);
}

/// Checks that every tensor fits the allocation it points into. On the CPU, host memory that is not an
/// allocation of the context is also accepted, except in checked builds.
tsr_status_t checkExtents(const KernelObject &kernel, const uint64_t *values) {
  for (size_t i = 0; i < kernel.plan.argumentCount(); ++i) {
    int64_t needed = kernel.plan.tensorBytes(i, values);
    if (needed <= 0) continue;
    auto available = kernel.context->device->available(reinterpret_cast<const void *>(values[i]));
    if (available && static_cast<uint64_t>(needed) <= *available) continue;
#ifndef TESSERA_CHECKED
    if (!available) continue;
#endif
    std::string has = available ? "its allocation has " + std::to_string(*available) + " from the pointer on"
                                : "the pointer is in no live allocation";
    return fail(TSR_EINVAL,
                kernel.describe() + ": argument " + std::to_string(i) + " (" + kernel.plan.name(i) +
                    "): its dims " + (kernel.plan.hasStrides(i) ? "and strides " : "") + "need " +
                    std::to_string(needed) + " bytes, " + has + "; it is " + kernel.plan.describe(i, values));
  }
  return TSR_SUCCESS;
}

/// Adds where a launch failed to the reason. A code that the reason begins with stays in front, where callers
/// look for it.
std::string locate(const std::string &where, std::string why) {
  const size_t end = why.starts_with('[') ? why.find("] ") : why.npos;
  return why.insert(end == why.npos ? 0 : end + 2, where + ": ");
}

/// A checked call of a function.
struct Call {
  const KernelObject &kernel;
  const FunctionPlan &function;
  const FunctionPlan::Instance &instance;
  const uint64_t *values;
};

/// Records the call as nodes of a graph, with temporaries that belong to the graph.
tsr_status_t recordCall(const Call &call, GraphWork &out) {
  std::string why;
  std::shared_ptr<void> block;
  if (call.function.hasBuffers()) {
    if (tsr_status_t status =
            Workspace::allocate(*call.kernel.context->device, call.instance.workspaceBytes, block, why))
      return fail(status, call.kernel.describe() + ": " + why);
    out.kept.push_back(block);
  }
  out.nodes.resize(call.function.stepCount());
  for (size_t i = 0; i < out.nodes.size(); ++i) {
    GraphNode &node = out.nodes[i];
    node.kind = GraphNode::Kind::Launch;
    node.kernel = call.function.kernel(i, call.instance);
    node.values.resize(node.kernel->valueCount);
    node.grid = call.instance.steps[i].grid;
    call.function.fill(i, call.instance, call.values, reinterpret_cast<uint64_t>(block.get()),
                       node.values.data());
  }
  return TSR_SUCCESS;
}

/// Queues the steps. Precondition: the workspace's mutex is held.
tsr_status_t queueCall(const Call &call, StreamObject &stream) {
  const auto &[kernel, function, instance, values] = call;
  std::string why;
  void *base = nullptr;
  if (function.hasBuffers())
    if (tsr_status_t status = stream.workspace.reserve(*kernel.context->device, *stream.device,
                                                       instance.workspaceBytes, base, why))
      return fail(status, kernel.describe() + ": " + why);
  uint64_t *stepValues = stream.workspace.values(function.largestStep());
  for (size_t i = 0; i < function.stepCount(); ++i) {
    function.fill(i, instance, values, reinterpret_cast<uint64_t>(base), stepValues);
    tsr_status_t status;
    try {
      status = stream.device->launch(function.kernel(i, instance), stepValues, instance.steps[i].grid, why);
    } catch (const std::bad_alloc &) {
      status = TSR_EOOM;
      why = "out of host memory";
    }
    if (status != TSR_SUCCESS)
      return fail(status, locate(kernel.describe() + ": " + function.describeStep(i), why));
  }
  return TSR_SUCCESS;
}

/// Calls a function. Its steps are queued without steps of other calls between them, and no capture can begin
/// between them.
tsr_status_t callFunction(const KernelObject &kernel, StreamObject &stream, const uint64_t *values) {
  const FunctionPlan &function = *kernel.function;
  std::string why;
  auto instance = function.prepare(kernel.plan, values, why);
  if (!instance || !function.checkOverlap(*instance, values, why))
    return fail(TSR_EINVAL, kernel.describe() + ": " + why);

  Call call{kernel, function, *instance, values};
  LogLater later; // an emulated device logs within a launch
  std::lock_guard lock(stream.workspace.mutex());
  if (stream.device->isCapturing()) {
    GraphWork work;
    if (tsr_status_t status = recordCall(call, work)) return status;
    if (stream.device->append(std::move(work))) return TSR_SUCCESS;
  } // otherwise the capture has just ended
  return queueCall(call, stream);
}

/// Launches a kernel with print and assert_, waits for it and reports what it wrote. `values[0]` is free.
tsr_status_t launchReporting(const KernelObject &kernel, StreamObject &stream, uint64_t *values,
                             const LaunchGrid &grid) {
  auto refuse = [&](tsr_status_t status, const std::string &reason) {
    return fail(status, locate(kernel.describe(), reason));
  };
  CapturableStream &queue = *stream.device;
  if (queue.isCapturing())
    return refuse(TSR_UNIMPLEMENTED,
                  "a graph cannot have its print and assert_; compile it without __debug__");
  std::vector<int64_t> words(reports::kWords);
  const size_t bytes = words.size() * sizeof(int64_t);
  std::shared_ptr<void> memory;
  std::string why;
  tsr_status_t status = Workspace::allocate(*kernel.context->device, bytes, memory, why);
  auto then = [&](auto step) {
    if (status == TSR_SUCCESS) status = step();
  };
  then([&] { return queue.fill(memory.get(), reports::kUnwrittenByte, bytes, false, why); });
  then([&] { return queue.copy(memory.get(), words.data(), reports::kHeader * sizeof(int64_t), true, why); });
  values[0] = reinterpret_cast<uint64_t>(memory.get());
  then([&] { return queue.launch(kernel.device, values, grid, why); });
  then([&] { return queue.copy(words.data(), memory.get(), bytes, true, why); });
  if (status != TSR_SUCCESS) {
    queue.drain(); // the memory may be in use
    return refuse(status, why);
  }
  const reports::Text text = reports::read(kernel.metadata, words, kernel.plan.axisCounts(values + 1));
  std::string lines;
  for (const std::string &line : text.lines) {
    if (logs(TSR_LOG_NOTE))
      log(TSR_LOG_NOTE, "N_PRINT", line);
    else
      lines += line + "\n";
  }
  std::fputs(lines.c_str(), stderr);
  if (text.failure.empty()) return TSR_SUCCESS;
  return fail(TSR_EDEVICE, "[E_ASSERT] " + kernel.describe() + ": " + text.failure);
}

} // namespace

tsr_status_t tsrLaunch(tsr_kernel_t handle, tsr_stream_t streamHandle, tsr_launch_t launch, void **args,
                       size_t nargs) {
  return guarded([&] {
    KernelObject *kernel;
    StreamObject *stream;
    if (tsr_status_t status = resolve(handle, kernel, streamHandle, stream)) return status;

    const size_t hidden = kernel->metadata.hasReports();
    Values all(hidden + kernel->plan.argumentCount());
    uint64_t *values = all.data() + hidden;
    LaunchGrid grid;
    if (tsr_status_t status = bind(*kernel, launch, args, nargs, values, grid)) return status;
    if (tsr_status_t status = checkExtents(*kernel, values)) return status;
    const KernelObject *chosen = kernel;
    Values own(kernel->chooser ? kernel->plan.argumentCount() + kMaxVariantParameters : 0);
    if (kernel->chooser) {
      VariantChooser::Choice choice;
      if (MaybeError error = kernel->chooser->choose(values, choice))
        return fail(TSR_EINVAL, kernel->describe() + ": " + error->message);
      chosen = &kernel->body(choice);
      grid = choice.grid;
      kernel->chooser->fill(choice, values, own.data());
      values = own.data();
    }
    return TracedCall::run("tsrLaunch", *stream, [&]() -> tsr_status_t {
      if (hidden) [[unlikely]]
        return launchReporting(*kernel, *stream, all.data(), grid);
      if (chosen->function) return callFunction(*chosen, *stream, values);
      std::string why;
      tsr_status_t status = stream->device->launch(chosen->device, values, grid, why);
      return status == TSR_SUCCESS ? status : fail(status, why);
    });
  });
}

namespace {

/// Returns the workspace of a call of a function with these values.
tsr_status_t plannedWorkspace(const KernelObject &kernel, const uint64_t *values, uint64_t &bytes) {
  std::string why;
  VariantChooser::Choice choice;
  if (kernel.chooser)
    if (MaybeError error = kernel.chooser->evaluate(values, choice))
      return fail(TSR_EINVAL, kernel.describe() + ": " + error->message);
  const KernelObject &chosen = kernel.chooser ? kernel.body(choice) : kernel;
  auto instance = chosen.function->prepare(chosen.plan, values, why);
  if (!instance) return fail(TSR_EINVAL, chosen.describe() + ": " + why);
  bytes = instance->workspaceBytes;
  return TSR_SUCCESS;
}

} // namespace

tsr_status_t tsrKernelWorkspace(tsr_kernel_t handle, void **args, size_t nargs, uint64_t *bytes) {
  return guarded([&] {
    KernelObject *kernel;
    if (tsr_status_t status = resolve(handle, kernel)) return status;
    if (tsr_status_t status = requireOut(bytes, "bytes")) return status;
    // Tensors are ignored, so any pointer serves as one.
    uint64_t anywhere = kPlanAlignment;
    std::vector<void *> filled;
    for (size_t i = 0; args && i < nargs; ++i)
      filled.push_back(i < kernel->plan.argumentCount() && kernel->plan.isTensor(i) ? &anywhere : args[i]);
    Values values(kernel->plan.argumentCount());
    LaunchGrid grid;
    if (tsr_status_t status =
            bind(*kernel, tsr_launch_t{}, args ? filled.data() : nullptr, nargs, values.data(), grid))
      return status;
    uint64_t planned = 0;
    if (kernel->function) {
      // A variant may be for aligned tensors only. The launch may have either kind, so the larger size
      // counts.
      constexpr size_t most = 8; // alignments, each of which doubles the cases
      std::vector<std::pair<size_t, int64_t>> alignments;
      if (kernel->chooser) alignments = kernel->chooser->alignments();
      alignments.resize(std::min(alignments.size(), most));
      for (size_t aligned = 0; aligned < size_t{1} << alignments.size(); ++aligned) {
        constexpr uint64_t page = 4096; // the largest alignment of a condition
        for (const auto &[slot, wanted] : alignments)
          values.data()[slot] = page;
        for (size_t i = 0; i < alignments.size(); ++i)
          if (const auto &[slot, wanted] = alignments[i]; wanted > 1 && (aligned >> i & 1) == 0)
            values.data()[slot] = std::min(values.data()[slot], uint64_t(wanted) / 2);
        uint64_t one = 0;
        if (tsr_status_t status = plannedWorkspace(*kernel, values.data(), one)) return status;
        planned = std::max(planned, one);
      }
    }
    *bytes = planned;
    return TSR_SUCCESS;
  });
}

tsr_status_t tsrKernelSolveDims(tsr_kernel_t handle, int64_t *extents, size_t extentCount, int64_t *dims,
                                size_t dimCount) {
  return guarded([&] {
    KernelObject *kernel;
    if (tsr_status_t status = resolve(handle, kernel)) return status;
    const LaunchPlan &plan = kernel->plan;
    auto expect = [&](const char *what, size_t found, size_t wanted, const void *array) {
      if (found == wanted && (array || !wanted)) return TSR_SUCCESS;
      return fail(TSR_EINVAL, kernel->describe() + ": expected " + std::to_string(wanted) + " " + what +
                                  ", found " + (found == wanted ? "NULL" : std::to_string(found)));
    };
    const size_t count = plan.argumentCount(), known = plan.count(MetadataParam::Kind::Dim);
    size_t axes = 0;
    for (size_t i = 0; i < count; ++i)
      axes += plan.rank(i);
    if (tsr_status_t status = expect("extents", extentCount, axes, extents)) return status;
    if (tsr_status_t status = expect("dims", dimCount, known, dims)) return status;
    Values values(count);
    std::fill_n(values.data(), count - known, 0);
    std::copy_n(dims, known, values.data() + (count - known)); // the last arguments
    if (MaybeError error = plan.solveDims(values.data(), extents))
      return fail(TSR_EINVAL, kernel->describe() + ": " + error->message);
    std::copy_n(values.data() + (count - known), known, dims);
    return TSR_SUCCESS;
  });
}

tsr_status_t tsrLaunchEx(tsr_kernel_t kernel, tsr_stream_t stream, const tsr_launch_ex_t *launch) {
  return guarded([&] {
    if (tsr_status_t status = requireOut(launch, "launch")) return status;
    tsr_launch_ex_t l{};
    if (tsr_status_t status = readOptions(launch, l)) return status;
    if (l.flags)
      return fail(TSR_UNIMPLEMENTED, "launch: this version knows no flags, found " + std::to_string(l.flags));
    tsr_status_t status = tsrLaunch(kernel, stream, l.geometry, const_cast<void **>(l.args), l.nargs);
    if (status == TSR_SUCCESS || !l.label) return status;
    return fail(status, std::string(l.label) + ": " + std::string(lastError()));
  });
}
