#include "tools/host/Host.h"
#include "core/service/CompilerLoader.h"
#include "core/service/CompilerService.h"
#include "numerics/Casts.h"
#include <bit>
#include <fstream>
#include <sstream>

namespace tessera::host {

void check(tsr_status_t status, const char *doing) {
  if (status != TSR_SUCCESS)
    throw Failure(status, "", std::string(doing) + ": " + tsrStatusName(status) + ": " + tsrLastError());
}

Device::Device(const char *backend) {
  tsr_context_options_t options = {};
  options.struct_size = sizeof options;
  options.backend = backend;
  check(tsrCreateContextEx(&options, &context_), "tsrCreateContextEx");
  info_.struct_size = sizeof info_;
  if (tsr_status_t status = tsrGetDeviceInfo(context_, &info_); status != TSR_SUCCESS) {
    (void)tsrDestroyContext(context_);
    check(status, "tsrGetDeviceInfo");
  }
}

Device::~Device() { (void)tsrDestroyContext(context_); }

Buffer::Buffer(Device &device, size_t bytes) : context_(device.handle()), size_(bytes) {
  check(tsrAlloc(context_, bytes, TSR_MEM_DEVICE, &data_), "tsrAlloc");
}

Buffer &Buffer::operator=(Buffer &&o) noexcept {
  std::swap(context_, o.context_);
  std::swap(data_, o.data_);
  std::swap(size_, o.size_);
  return *this;
}

Buffer::~Buffer() {
  if (context_) (void)tsrFree(context_, data_);
}

void Buffer::upload(std::span<const std::byte> bytes) {
  if (!bytes.empty()) check(tsrMemcpyH2D(context_, data_, bytes.data(), bytes.size()), "tsrMemcpyH2D");
}

void Buffer::download(std::span<std::byte> bytes) const {
  if (!bytes.empty()) check(tsrMemcpyD2H(context_, bytes.data(), data_, bytes.size()), "tsrMemcpyD2H");
}

void Buffer::zero() {
  if (size_ > 0) check(tsrMemset(context_, data_, 0, size_), "tsrMemset");
}

namespace {

struct Log {
  std::string firstCode, text;
};

void collect(void *user, tsr_log_level_t level, const char *code, const char *text) {
  Log &log = *static_cast<Log *>(user);
  if (level == TSR_LOG_ERROR && log.firstCode.empty()) log.firstCode = code;
  log.text += text;
}

KernelMetadata metadataOf(tsr_kernel_t kernel) {
  const char *yaml = nullptr;
  check(tsrKernelMetadata(kernel, &yaml), "tsrKernelMetadata");
  KernelMetadata out;
  std::string why;
  if (!KernelMetadata::fromYaml(yaml, out, why))
    throw Failure(TSR_EINTERNAL, "", "the kernel's metadata: " + why);
  return out;
}

std::vector<tsr_named_int_t> named(const NamedInts &values) {
  std::vector<tsr_named_int_t> out;
  for (const auto &[name, value] : values)
    out.push_back({name.c_str(), value});
  return out;
}

} // namespace

Kernel::Kernel(Device &device, std::string_view source, const BuildOptions &o) : device_(device) {
  // The C ABI has no option for the other passes.
  o.fuse && !o.isIr ? load(source, o) : loadThroughBundle(source, o);
  try {
    check(tsrGetKernel(module_, o.kernel.empty() ? nullptr : o.kernel.c_str(), &kernel_), "tsrGetKernel");
    metadata_ = metadataOf(kernel_);
  } catch (...) {
    (void)tsrUnloadModule(module_);
    throw;
  }
}

void Kernel::load(std::string_view source, const BuildOptions &o) {
  Log log;
  const std::vector<tsr_named_int_t> dims = named(o.dims), tunables = named(o.tunables);
  tsr_source_options_t options = {};
  options.struct_size = sizeof options;
  options.file_name = o.fileName.c_str();
  options.kernel = o.kernel.empty() || o.whole ? nullptr : o.kernel.c_str();
  options.target = o.target.empty() ? nullptr : o.target.c_str();
  options.numerics = o.numerics.c_str();
  options.dims = dims.data();
  options.dim_count = dims.size();
  options.tunables = tunables.data();
  options.tunable_count = tunables.size();
  options.log = collect;
  options.log_user = &log;
  tsr_status_t status =
      tsrLoadModuleFromSource(device_.handle(), source.data(), source.size(), &options, &module_);
  if (status != TSR_SUCCESS)
    throw Failure(status, log.firstCode, log.text.empty() ? tsrLastError() : log.text);
}

void Kernel::loadThroughBundle(std::string_view source, const BuildOptions &o) {
  std::string bundle;
  auto compiler = loadCompiler();
  if (!compiler) throw Failure(TSR_ENOTFOUND, compiler.error().code, compiler.error().message);
  CompileOptions options;
  options.fileName = o.fileName;
  if (!o.kernel.empty() && !o.whole) options.kernels = {o.kernel};
  options.targets = {o.target.empty() ? std::string(device_.info().backend) : o.target};
  options.numerics = o.numerics;
  options.dims = o.dims;
  options.tunables = o.tunables;
  options.fuse = o.fuse;
  options.isIr = o.isIr;
  std::vector<Diagnostic> diags;
  CompileStatus status = (*compiler)->compile(source, options, bundle, diags);
  if (status != CompileStatus::Ok)
    throw Failure(status == CompileStatus::Unimplemented ? TSR_UNIMPLEMENTED : TSR_ECOMPILE,
                  diags.empty() ? "" : diags.front().code, diags.empty() ? "" : diags.front().message);
  check(tsrLoadModule(device_.handle(), bundle.data(), bundle.size(), &module_), "tsrLoadModule");
}

KernelMetadata Kernel::metadata(const char *entry) const {
  tsr_kernel_t kernel = nullptr;
  check(tsrGetKernel(module_, entry, &kernel), "tsrGetKernel");
  return metadataOf(kernel);
}

Kernel::~Kernel() { (void)tsrUnloadModule(module_); }

Launch::Launch(Kernel &kernel) : kernel_(kernel), values_(kernel.metadata().params.size()) {
  static_assert(std::endian::native == std::endian::little,
                "a narrow scalar is in the first bytes of its slot");
  for (size_t i = 0; i < values_.size(); ++i) {
    const MetadataParam &p = kernel.metadata().params[i];
    if (p.kind == MetadataParam::Kind::Scalar && p.defaultValue)
      values_[i] = fromNumber(*p.defaultValue, p.dtype);
    arguments_.push_back(&values_[i]);
  }
}

uint64_t &Launch::slot(std::string_view name) {
  const std::vector<MetadataParam> &params = kernel_.metadata().params;
  for (size_t i = 0; i < params.size(); ++i)
    if (params[i].name == name) return values_[i];
  throw Failure(TSR_EINVAL, "", "the kernel has no parameter " + std::string(name));
}

Launch &Launch::set(std::string_view tensor, void *devicePointer) {
  slot(tensor) = reinterpret_cast<uint64_t>(devicePointer);
  return *this;
}

Launch &Launch::setScalar(std::string_view scalar, double value) {
  for (const MetadataParam &p : kernel_.metadata().params)
    if (p.name == scalar) slot(scalar) = fromDouble(value, p.dtype);
  return *this;
}

Launch &Launch::setDims(const NamedInts &dims) {
  for (const auto &[name, value] : dims)
    for (const MetadataParam &p : kernel_.metadata().params)
      if (p.kind == MetadataParam::Kind::Dim && p.name == name) slot(name) = uint64_t(value);
  return *this;
}

void Launch::start() const {
  check(tsrLaunch(kernel_.handle(), nullptr, tsr_launch_t{}, arguments_.data(), arguments_.size()),
        "tsrLaunch");
}

std::string readText(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw Failure(TSR_EIO, "", path + ": cannot be read");
  return text.str();
}

} // namespace tessera::host
