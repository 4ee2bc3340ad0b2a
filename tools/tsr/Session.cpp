#include "tools/tsr/Session.h"
#include "tools/tsr/Console.h"
#include "tools/tsr/Source.h"
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tessera::cli {
namespace {

struct LogState {
  std::string_view file;
  bool showNotes;
  bool sawError = false; // the compiler has printed an error
};

/// Prints one log message. Diagnostics arrive rendered, with a newline at the end; notes are plain sentences.
void showDiagnostic(void *user, tsr_log_level_t level, const char *, const char *text) {
  LogState &log = *static_cast<LogState *>(user);
  if (level == TSR_LOG_ERROR) log.sawError = true;
  if (std::string_view(text).ends_with('\n'))
    say(text);
  else if (log.showNotes)
    say(fmt::format("{}: note: {}\n", log.file, text));
}

std::vector<tsr_named_int_t> named(const std::vector<std::pair<std::string, int64_t>> &values) {
  std::vector<tsr_named_int_t> out;
  for (const auto &[name, value] : values)
    out.push_back({name.c_str(), value});
  return out;
}

} // namespace

Session::~Session() {
  if (context_) (void)tsrDestroyContext(context_);
}

MaybeFailure Session::check(tsr_status_t status, std::string_view doing) const {
  auto failure = [&](const char *code, int exitStatus) {
    return Failure{{code, fmt::format("{}: {}: {}", doing, tsrStatusName(status), tsrLastError()), ""},
                   exitStatus,
                   false};
  };
  switch (status) {
  case TSR_SUCCESS:
    return std::nullopt;
  case TSR_EOOM:
    return failure("E_OUT_OF_MEMORY", exitUser);
  case TSR_EINVAL:
    return failure("E_LAUNCH_REFUSED", exitUser);
  case TSR_UNIMPLEMENTED:
    return failure("E_UNIMPLEMENTED", exitUser);
  case TSR_ECOMPILE:
    return failure("E_PROGRAM", exitUser);
  case TSR_EDEVICE:
    if (Error error = lastError("E_INTERNAL"); error.code == "E_ASSERT" || error.code.starts_with("E_EMU_"))
      return Failure{std::move(error), exitUser, false};
    [[fallthrough]];
  default:
    return failure("E_INTERNAL", exitFailed);
  }
}

MaybeFailure Session::open(const std::string &backend) {
  tsr_context_options_t options = {};
  options.struct_size = sizeof options;
  options.backend = backend.empty() ? nullptr : backend.c_str();
  tsr_status_t status = tsrCreateContextEx(&options, &context_);
  if (status == TSR_ENOTFOUND)
    return Failure{{"E_BACKEND_UNKNOWN", tsrLastError(), "tsr backends lists what there is"}};
  if (status == TSR_UNIMPLEMENTED || status == TSR_EDEVICE)
    return Failure{{"E_BACKEND_UNUSABLE", tsrLastError(), "tsr backends lists what can be used"}};
  if (auto f = check(status, "making a context")) return f;
  device_.struct_size = sizeof device_;
  return check(tsrGetDeviceInfo(context_, &device_), "asking the device");
}

MaybeFailure Session::compile(std::string_view source, const CompileOptions &o, bool showNotes) {
  LogState log{.file = o.fileName, .showNotes = showNotes};
  const std::vector<tsr_named_int_t> dims = named(o.dims), tunables = named(o.tunables);
  tsr_source_options_t options = {};
  options.struct_size = sizeof options;
  options.file_name = o.fileName.c_str();
  options.kernel = o.kernels.at(0).c_str();
  options.numerics = o.numerics.c_str();
  options.dims = dims.data();
  options.dim_count = dims.size();
  options.exact_dims = o.exactDims;
  options.tunables = tunables.data();
  options.tunable_count = tunables.size();
  options.log = showDiagnostic;
  options.log_user = &log;
  const tsr_status_t status =
      tsrLoadModuleFromSource(context_, source.data(), source.size(), &options, &module_);
  if (auto f = check(status, "compiling")) {
    f->said = log.sawError;
    // These come from a mapper, which the user chose.
    if (f->said && (status == TSR_ENOTFOUND || status == TSR_ETIMEOUT)) f->exitStatus = exitUser;
    return f;
  }
  return check(tsrGetKernel(module_, o.kernels.at(0).c_str(), &kernel_), "finding the kernel");
}

MaybeFailure Session::load(const std::string &file, const std::string &bundle, const std::string &name) {
  const tsr_status_t loaded = tsrLoadModule(context_, bundle.data(), bundle.size(), &module_);
  if (loaded == TSR_EINVAL || loaded == TSR_ENOTFOUND || loaded == TSR_UNIMPLEMENTED) {
    Error error = lastError("E_BUNDLE_CORRUPT");
    error.message.insert(0, file + ": ");
    return Failure{std::move(error)};
  }
  if (auto f = check(loaded, "loading the bundle")) return f;
  const tsr_status_t status = tsrGetKernel(module_, name.empty() ? nullptr : name.c_str(), &kernel_);
  if (status == TSR_ENOTFOUND)
    return Failure{{"E_KERNEL_UNKNOWN", tsrLastError(), "choose one with --kernel"}};
  return check(status, "finding the kernel");
}

static Failure noMemory(const char *what, const BoundParam &p) {
  return {{"E_OUT_OF_MEMORY", fmt::format("no memory to {} {}", what, p.name), ""}};
}

/// Bytes of the tensor on the device.
static size_t deviceBytes(const BoundParam &p) {
  return isPacked(p.dtype) ? size_t(tensorBytes(p.dtype, int64_t(p.span))) : p.span;
}

/// Calls `move` with the byte offset of each element in a contiguous tensor and in the strided one, and its
/// size.
template <class Move> static void forEachElement(const BoundParam &p, Move move) {
  const size_t bytes = storageBytes(p.dtype);
  std::vector<int64_t> index(p.shape.size());
  int64_t place = 0;
  for (size_t element = 0; element < p.elements; ++element) {
    move(element * bytes, size_t(place) * bytes, bytes);
    for (size_t d = index.size(); d-- > 0;) {
      place += p.strides[d];
      if (++index[d] < p.shape[d]) break;
      place -= p.strides[d] * index[d];
      index[d] = 0;
    }
  }
}

/// Copies the elements of a tensor to the device. i4 and u4 take a byte each on this side.
MaybeFailure Session::upload(const BoundParam &p, void *target, const npy::Bytes &elements, size_t bytes) {
  if (!isPacked(p.dtype))
    return check(tsrMemcpyH2D(context_, target, elements.data(), bytes), "copying inputs");
  npy::Bytes packed;
  if (!packed.allocate(deviceBytes(p))) return noMemory("pack", p);
  packElements(elements.data(), packed.data(), bytes);
  return check(tsrMemcpyH2D(context_, target, packed.data(), packed.size()), "copying inputs");
}

MaybeFailure Session::download(const BoundParam &p, const void *source, npy::Bytes &elements, size_t bytes) {
  if (!isPacked(p.dtype))
    return check(tsrMemcpyD2H(context_, elements.data(), source, bytes), "copying results");
  npy::Bytes packed;
  if (!packed.allocate(deviceBytes(p))) return noMemory("copy back", p);
  if (auto f = check(tsrMemcpyD2H(context_, packed.data(), source, packed.size()), "copying results"))
    return f;
  unpackElements(packed.data(), p.dtype, elements.data(), bytes);
  return std::nullopt;
}

MaybeFailure Session::fill(const BoundParam &p, void *target) {
  if (p.bytes == 0) return std::nullopt;
  if (!p.strides.empty() && p.hasInput) {
    npy::Bytes image;
    if (!image.allocate(p.span)) return noMemory("place", p);
    forEachElement(p, [&](size_t packed, size_t placed, size_t bytes) {
      std::memcpy(image.data() + placed, p.initial.data() + packed, bytes);
    });
    bool isKept = true; // elements that share a place must be equal
    forEachElement(p, [&](size_t packed, size_t placed, size_t bytes) {
      isKept &= std::memcmp(image.data() + placed, p.initial.data() + packed, bytes) == 0;
    });
    if (!isKept)
      return Failure{{"E_ARG_SHAPE",
                      fmt::format("{}: with strides ({}) different elements of the file share memory", p.name,
                                  fmt::join(p.strides, ", ")),
                      "give other strides with --dim"}};
    return upload(p, target, image, p.span);
  }
  return p.hasInput ? upload(p, target, p.initial, p.bytes)
                    : check(tsrMemset(context_, target, 0, deviceBytes(p)), "clearing outputs");
}

MaybeFailure Session::place(const Binding &binding) {
  // Checks the free memory first: a system that overcommits would grant the allocation and kill the process
  // when the memory is touched.
  uint64_t wanted = 0;
  for (const BoundParam &p : binding.params)
    if (__builtin_add_overflow(wanted, deviceBytes(p), &wanted)) wanted = UINT64_MAX;
  tsr_memory_info_t memory = {};
  memory.struct_size = sizeof memory;
  if (auto f = check(tsrGetMemoryInfo(context_, &memory), "asking for memory")) return f;
  if (wanted > memory.free_bytes)
    return Failure{
        {"E_OUT_OF_MEMORY",
         fmt::format("the tensors take {} bytes, {} are free on {}", wanted, memory.free_bytes, device_.name),
         ""}};

  buffers_.assign(binding.params.size(), nullptr);
  for (size_t i = 0; i < binding.params.size(); ++i) {
    const BoundParam &p = binding.params[i];
    if (!p.isTensor) continue;
    if (auto f =
            check(tsrAlloc(context_, deviceBytes(p), TSR_MEM_DEVICE, &buffers_[i]), "taking device memory"))
      return f;
    if (auto f = fill(p, buffers_[i])) return f;
  }

  // Tensors and results, then scalars, then dims.
  values_.clear();
  for (const BoundParam &p : binding.params)
    if (!p.isTensor) values_.push_back(p.scalarBits);
  for (const auto &[name, value] : binding.dims)
    values_.push_back(uint64_t(value));
  arguments_.clear();
  for (size_t i = 0; i < buffers_.size(); ++i)
    if (binding.params[i].isTensor) arguments_.push_back(&buffers_[i]);
  for (uint64_t &v : values_)
    arguments_.push_back(&v);
  return std::nullopt;
}

MaybeFailure Session::restore(const Binding &binding) {
  for (size_t i = 0; i < binding.params.size(); ++i)
    if (const BoundParam &p = binding.params[i]; p.isTensor && p.writes && (p.reads || p.hasInput))
      if (auto f = fill(binding.params[i], buffers_[i])) return f;
  return std::nullopt;
}

MaybeFailure Session::run() {
  if (auto f = check(tsrLaunch(kernel_, nullptr, tsr_launch_t{}, arguments_.data(), arguments_.size()),
                     "launching"))
    return f;
  return check(tsrSynchronize(context_), "running");
}

MaybeFailure Session::fetch(const Binding &binding, size_t param, npy::Bytes &out) {
  const BoundParam &p = binding.params[param];
  if (!out.allocate(p.bytes)) return noMemory("copy back", p);
  if (p.bytes == 0) return std::nullopt;
  if (!p.strides.empty()) {
    npy::Bytes image;
    if (!image.allocate(p.span)) return noMemory("copy back", p);
    if (auto f = download(p, buffers_[param], image, p.span)) return f;
    forEachElement(p, [&](size_t packed, size_t placed, size_t bytes) {
      std::memcpy(out.data() + packed, image.data() + placed, bytes);
    });
    return std::nullopt;
  }
  return download(p, buffers_[param], out, p.bytes);
}

std::string Session::metadata(const std::string &entry) const {
  tsr_kernel_t kernel = nullptr;
  const char *yaml = nullptr;
  const bool ok = tsrGetKernel(module_, entry.c_str(), &kernel) == TSR_SUCCESS &&
                  tsrKernelMetadata(kernel, &yaml) == TSR_SUCCESS;
  return ok ? yaml : "";
}

std::string Session::metadata() const {
  const char *yaml = nullptr;
  return tsrKernelMetadata(kernel_, &yaml) == TSR_SUCCESS ? yaml : "";
}

} // namespace tessera::cli
