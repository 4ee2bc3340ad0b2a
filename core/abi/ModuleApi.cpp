// Modules, their kernels, and the kernels' arguments.
#include "core/abi/Structs.h"
#include "core/objects/Modules.h"
#include <algorithm>
#include <charconv>

using namespace tessera;

namespace {

tsr_status_t findArgument(tsr_kernel_t handle, size_t index, KernelObject *&kernel,
                          const MetadataParam *&out) {
  if (tsr_status_t status = resolve(handle, kernel)) return status;
  const auto &params = kernel->metadata.params;
  if (index >= params.size())
    return fail(TSR_ENOTFOUND, kernel->describe() + " takes " + std::to_string(params.size()) + " arguments");
  out = &params[index];
  return TSR_SUCCESS;
}

/// What the text of an extent or a stride stands for, in the terms of tsr_dim_info_t.
struct Symbol {
  int32_t kind = TSR_DIM_EXPRESSION;
  int32_t argument = -1;
  int64_t value = -1;
};

Symbol describe(const KernelMetadata &m, const std::string &text) {
  const char *end = text.data() + text.size();
  int64_t number = 0;
  if (auto [last, error] = std::from_chars(text.data(), end, number); error == std::errc{} && last == end)
    return {TSR_DIM_CONSTANT, -1, number};
  Symbol known;
  if (auto named = std::ranges::find(m.params, text, &MetadataParam::name); named != m.params.end()) {
    known.kind = TSR_DIM_NAMED;
    known.argument = static_cast<int32_t>(named - m.params.begin());
    for (const auto &[dim, value] : m.specialized)
      if (dim == text) known.value = value;
  }
  return known;
}

} // namespace

tsr_status_t tsrUnloadModule(tsr_module_t handle) {
  return guarded([&] {
    ModuleObject *module;
    if (tsr_status_t status = resolveToDestroy(handle, module)) return status;
    if (!module) return TSR_SUCCESS;
    module->context->remove(module);
    return TSR_SUCCESS;
  });
}

tsr_status_t tsrGetKernel(tsr_module_t handle, const char *name, tsr_kernel_t *kernel) {
  return guarded([&] {
    ModuleObject *module;
    if (tsr_status_t status = resolve(handle, module)) return status;
    if (tsr_status_t status = requireOut(kernel, "kernel")) return status;
    auto isGenerated = [](auto &k) { return k->isGenerated(); };
    const auto &all = module->kernels;
    bool one = std::count_if(all.begin(), all.end(), isGenerated) + 1 == std::ssize(all);
    std::string names;
    for (auto &k : all) {
      if (name ? k->metadata.name == name : one && !isGenerated(k)) {
        *kernel = k->handle();
        return TSR_SUCCESS;
      }
      if (!isGenerated(k)) names += (names.empty() ? "" : ", ") + k->metadata.name;
    }
    return fail(TSR_ENOTFOUND, (name ? "no kernel '" + std::string(name) + "' in the module"
                                     : std::string("the module has more than one kernel, or none")) +
                                   "; it has: " + names);
  });
}

tsr_status_t tsrGetModuleKernel(tsr_module_t handle, size_t index, tsr_kernel_t *kernel) {
  return guarded([&] {
    ModuleObject *module;
    if (tsr_status_t status = resolve(handle, module)) return status;
    if (tsr_status_t status = requireOut(kernel, "kernel")) return status;
    if (index >= module->kernels.size())
      return fail(TSR_ENOTFOUND, "the module has " + std::to_string(module->kernels.size()) + " kernels");
    *kernel = module->kernels[index]->handle();
    return TSR_SUCCESS;
  });
}

tsr_status_t tsrGetKernelInfo(tsr_kernel_t handle, tsr_kernel_info_t *info) {
  return guarded([&] {
    KernelObject *kernel;
    if (tsr_status_t status = resolve(handle, kernel)) return status;
    const KernelMetadata &m = kernel->metadata;
    tsr_kernel_info_t known{};
    known.name = m.name.c_str();
    known.target = m.target.c_str();
    known.numerics = m.numerics.c_str();
    known.is_function = kernel->function != nullptr;
    known.is_generated = kernel->isGenerated();
    known.arg_count = static_cast<uint32_t>(m.params.size());
    known.result_count = static_cast<uint32_t>(
        std::ranges::count(m.params, MetadataParam::Kind::Result, &MetadataParam::kind));
    return writeInfo(known, info);
  });
}

tsr_status_t tsrKernelMetadata(tsr_kernel_t handle, const char **yaml) {
  return guarded([&] {
    KernelObject *kernel;
    if (tsr_status_t status = resolve(handle, kernel)) return status;
    if (tsr_status_t status = requireOut(yaml, "yaml")) return status;
    *yaml = kernel->yaml.c_str();
    return TSR_SUCCESS;
  });
}

tsr_status_t tsrKernelArgInfo(tsr_kernel_t handle, size_t index, tsr_arg_info_t *info) {
  return guarded([&] {
    KernelObject *kernel;
    const MetadataParam *p;
    if (tsr_status_t status = findArgument(handle, index, kernel, p)) return status;
    static_assert(int(MetadataParam::Kind::Dim) == TSR_ARG_DIM &&
                  int(MetadataParam::Kind::Result) == TSR_ARG_RESULT);
    const bool isTensor = p->kind == MetadataParam::Kind::Tensor || p->kind == MetadataParam::Kind::Result;
    tsr_arg_info_t known{};
    known.name = p->name.c_str();
    known.dtype = name(p->dtype);
    known.kind = static_cast<int32_t>(p->kind);
    known.bytes = static_cast<uint32_t>(storageBytes(p->dtype));
    known.rank = isTensor ? static_cast<uint32_t>(p->dims.size()) : 0;
    known.is_read = !isTensor || p->reads;
    known.is_written = isTensor && p->writes;
    known.has_default = p->defaultValue.has_value();
    known.default_bits = p->defaultValue ? fromNumber(*p->defaultValue, p->dtype) : 0;
    return writeInfo(known, info);
  });
}

tsr_status_t tsrKernelArgDim(tsr_kernel_t handle, size_t index, size_t axis, tsr_dim_info_t *info) {
  return guarded([&] {
    KernelObject *kernel;
    const MetadataParam *p;
    if (tsr_status_t status = findArgument(handle, index, kernel, p)) return status;
    if (axis >= p->dims.size())
      return fail(TSR_ENOTFOUND, kernel->describe() + ": argument " + std::to_string(index) + " (" + p->name +
                                     ") has rank " + std::to_string(p->dims.size()));
    const Symbol extent = describe(kernel->metadata, p->dims[axis]);
    tsr_dim_info_t known{};
    known.text = p->dims[axis].c_str();
    known.kind = extent.kind;
    known.argument = extent.argument;
    known.value = extent.value;
    known.stride_kind = TSR_DIM_CONTIGUOUS;
    known.stride_argument = -1;
    known.stride_value = -1;
    if (!p->strides.empty()) {
      const Symbol stride = describe(kernel->metadata, p->strides[axis]);
      known.stride_text = p->strides[axis].c_str();
      known.stride_kind = stride.kind;
      known.stride_argument = stride.argument;
      known.stride_value = stride.value;
    }
    return writeInfo(known, info);
  });
}
