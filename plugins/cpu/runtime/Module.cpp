#include "plugins/cpu/runtime/Module.h"
#include "plugins/cpu/runtime/Kernel.h"
#include "plugins/cpu/runtime/SharedObject.h"
#include <cstring>

namespace tessera::cpu {
namespace {

class ElfModule final : public DeviceModule {
public:
  explicit ElfModule(std::shared_ptr<void> code) : code_(std::move(code)) {}
  std::shared_ptr<DeviceKernel> getKernel(const KernelSpec &spec, std::string &why) override {
    const void *entry = findSymbol(code_, spec.name);
    if (entry) return std::make_shared<Kernel>(spec, entry, code_);
    why = "it exports no symbol " + spec.name;
    return nullptr;
  }

private:
  const std::shared_ptr<void> code_;
};

class HostModule final : public DeviceModule {
public:
  explicit HostModule(const ModuleImage &image) : keep_(image.keep) {
    auto *rows = static_cast<const tsr_be_host_kernel_t *>(image.data);
    for (size_t i = 0; i < image.bytes / sizeof *rows; ++i)
      rows_.emplace_back(rows[i].name, rows[i].entry);
  }
  std::shared_ptr<DeviceKernel> getKernel(const KernelSpec &spec, std::string &why) override {
    for (auto &[name, entry] : rows_)
      if (entry && name == spec.name) return std::make_shared<Kernel>(spec, entry, keep_);
    why = "kernel " + spec.name + " has no code for this CPU";
    return nullptr;
  }

private:
  std::vector<std::pair<std::string, const void *>> rows_;
  const std::shared_ptr<void> keep_;
};

std::atomic<const tsr_host_info_t *> theHost{nullptr};

} // namespace

void setHost(const tsr_host_info_t *host) { theHost.store(host, std::memory_order_release); }

void Kernel::runForced(const uint64_t *launchValues, int64_t begin, int64_t end, uint8_t *scratch) const {
  uint8_t *last = scratch + scratchBytes - sizeof(int64_t);
  int64_t isReplaced = 0;
  std::memcpy(last, &isReplaced, sizeof isReplaced);
  entry(launchValues, begin, end, scratch);
  std::memcpy(&isReplaced, last, sizeof isReplaced);
  const tsr_host_info_t *host = theHost.load(std::memory_order_acquire);
  if (!isReplaced || !host || hasReported_.exchange(true)) return;
  const std::string text = "kernel " + name + ": the schedule asks for " + forcedBody +
                           "; it does not apply to these operands, so that product.panels runs";
  host->log(host->log_user, TSR_LOG_WARNING, "W_VARIANT", text.c_str());
}

std::shared_ptr<DeviceModule> loadModule(const ModuleImage &image, std::string &why) {
  if (image.format == TSR_IMAGE_HOST_KERNELS) return std::make_shared<HostModule>(image);
  if (image.format != TSR_IMAGE_ELF) {
    why = "the CPU runs no code of image format " + std::to_string(image.format);
    return nullptr;
  }
  auto code = loadSharedObject({static_cast<const char *>(image.data), image.bytes}, why);
  return code ? std::make_shared<ElfModule>(std::move(code)) : nullptr;
}

} // namespace tessera::cpu
