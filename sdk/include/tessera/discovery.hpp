// A backend that finds and describes its devices but cannot run anything: createContext fails with
// TSR_UNIMPLEMENTED.
#pragma once
#include <span>
#include <tessera/emulated.hpp>
#include <tessera/plugin.hpp>
#include <vector>

namespace tessera {

/// One device reported by the driver.
struct FoundDevice {
  DeviceInfo info;
  std::string pci; // "0000:65:00.0", or ""
};

struct FoundDevices {
  std::vector<FoundDevice> devices;
  std::string driver; // version of the driver
  std::string why;    // why there are no devices
};

/// Gives a backend the variant "emulated" if `Emulated` names the vendor's table of architectures that the
/// emulator executes, and no variant without it.
template <const auto &...Emulated> struct WithEmulator {
  static std::unique_ptr<Backend> createVariant(const tsr_host_info_t *host, const std::string &variant,
                                                std::string &why)
    requires(sizeof...(Emulated) == 1)
  {
    return openEmulator(TSR_MANIFEST_NAME, Emulated..., variant, host, why);
  }
};

/// A backend without execution. `Find` is the vendor's function that returns FoundDevices. It may be called
/// from any thread and must not crash if there is no driver or device.
template <FoundDevices (*Find)(), const auto &...Emulated>
class ShellBackend final : public Backend, public WithEmulator<Emulated...> {
public:
  tsr_status_t probe(tsr_probe_t &out, std::string &why) override {
    if (found_.devices.empty()) {
      why = found_.why.empty() ? "the driver reports no device" : found_.why;
      return TSR_ENOTFOUND;
    }
    out.device_count = deviceCount();
    out.score = 0; // never selected automatically, since it runs nothing
    found_.driver.copy(out.driver, sizeof out.driver - 1);
    for (size_t i = 0; i < found_.devices.size() && i < TSR_PROBE_DEVICES; ++i)
      found_.devices[i].pci.copy(out.pci[i], sizeof out.pci[i] - 1);
    return TSR_SUCCESS;
  }
  int deviceCount() const override { return static_cast<int>(found_.devices.size()); }
  const DeviceInfo *deviceInfo(int device, std::string &) override {
    return &found_.devices[static_cast<size_t>(device)].info;
  }
  std::unique_ptr<DeviceContext> createContext(int device, const tsr_allocator_t *, std::string &) override {
    throw StatusError(TSR_UNIMPLEMENTED, "TSR_UNIMPLEMENTED: this release compiles for " +
                                             found_.devices[static_cast<size_t>(device)].info.arch +
                                             " and does not launch on it");
  }

private:
  const FoundDevices found_ = Find();
};

} // namespace tessera
