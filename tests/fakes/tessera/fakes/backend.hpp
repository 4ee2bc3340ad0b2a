// A mock of Backend. By default it has one device of host memory (device.hpp) and is used only when it is
// requested by name.
#pragma once
#include <tessera/fakes/device.hpp>

namespace tessera::fakes {

struct FakeDevice {
  DeviceInfo info = {"fake device", "fake:host", R"({"fake": true})", 1ull << 30, 48 << 10, 4, 32};
  std::string pci = {}; // "0000:65:00.0", or ""
};

class MockBackend : public Backend {
public:
  /// Without devices, the probe reports that there are none. `score` as in tsr_probe_t: 300 discrete GPU, 200
  /// integrated GPU, 100 CPU, 0 never chosen automatically.
  explicit MockBackend(std::vector<FakeDevice> d = {{}}, int score = 0) : devices(std::move(d)) {
    ON_CALL(*this, deviceCount).WillByDefault([this] { return static_cast<int>(devices.size()); });
    ON_CALL(*this, probe).WillByDefault([this, score](tsr_probe_t &out, std::string &why) {
      if (devices.empty()) {
        why = "the fake has no device";
        return TSR_ENOTFOUND;
      }
      out.device_count = static_cast<int32_t>(devices.size());
      out.score = score;
      for (size_t i = 0; i < devices.size() && i < TSR_PROBE_DEVICES; ++i)
        devices[i].pci.copy(out.pci[i], sizeof out.pci[i] - 1);
      return TSR_SUCCESS;
    });
    ON_CALL(*this, deviceInfo).WillByDefault([this](int device, std::string &) {
      return &devices.at(static_cast<size_t>(device)).info;
    });
    ON_CALL(*this, createContext)
        .WillByDefault([this](int device, const tsr_allocator_t *allocator, std::string &) {
          return make(made->context, devices.at(static_cast<size_t>(device)).info, allocator, made);
        });
  }
  /// Called when the runtime creates the backend: after a successful probe, and once until the plugin is
  /// unregistered. Returning a status or throwing refuses the creation.
  MOCK_METHOD(tsr_status_t, create, (std::string & why));
  MOCK_METHOD(int, deviceCount, (), (const, override));
  MOCK_METHOD(tsr_status_t, probe, (tsr_probe_t &, std::string &), (override));
  MOCK_METHOD(const DeviceInfo *, deviceInfo, (int, std::string &), (override));
  MOCK_METHOD(std::unique_ptr<DeviceContext>, createContext, (int, const tsr_allocator_t *, std::string &),
              (override));

  const std::vector<FakeDevice> devices;
  /// Set its functions to access the objects that the default actions make.
  const std::shared_ptr<Made> made = std::make_shared<Made>();
};

} // namespace tessera::fakes
