// A backend that finds its devices and describes them, and does not run anything yet: its contexts say so.
#pragma once
#include <tessera/plugin.hpp>
#include <vector>

namespace tessera {

/// One device that the driver reported.
struct FoundDevice {
  DeviceInfo info;
  std::string pci; // "0000:65:00.0", or ""
};

struct FoundDevices {
  std::vector<FoundDevice> devices;
  std::string driver; // its version
  std::string why;    // why there are none
};

/// `Find` is a function of the vendor's: FoundDevices(). It may be called from any thread and never crashes
/// for want of a driver or a device.
template <FoundDevices (*Find)()> class ShellBackend final : public Backend {
public:
  tsr_status_t probe(tsr_probe_t &out, std::string &why) override {
    if (found_.devices.empty()) {
      why = found_.why.empty() ? "the driver reports no device" : found_.why;
      return TSR_ENOTFOUND;
    }
    out.device_count = deviceCount();
    out.score = 0; // not by choice, as long as it runs nothing
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
