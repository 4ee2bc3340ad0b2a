// Executes the images that a driver shim is handed: finds the emulated image of the same kernel in the test's
// table, and runs it in the emulator.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <tessera/backend.hpp>
#include <tessera/emulated.hpp>

namespace tessera::shim {

/// A kernel as its own image describes it.
struct OwnKernel {
  std::string name;
  uint32_t block[3] = {0, 0, 0}; // 0: the image does not say
  uint32_t subGroup = 0;         // lanes; 0: the same
  uint32_t cluster[3] = {1, 1, 1};
  struct Parameter {
    uint64_t offset, bytes;
    bool isPointer;
  };
  std::vector<Parameter> parameters;
  uint64_t parameterBytes = 0, staticShared = 0;
  bool hasDynamicShared = false;
};

/// SHIM_TABLE names a folder with pairs of files, NAME.image and NAME.emulated. Returns the second whose
/// first has exactly these bytes; "" if there is none.
std::string emulatedImageOf(std::string_view image);

/// A loaded emulated image. Thread-safe.
class Emulated {
public:
  /// `backend` and `arch` name the emulated device. Returns null with `why` filled.
  static std::shared_ptr<Emulated> load(const char *backend, const GpuArchitecture &device,
                                        const std::string &image, std::string &why);
  /// Runs a launch; the parameters' pointers are real addresses.
  bool run(const OwnKernel &kernel, const uint32_t grid[3], uint64_t shared,
           const std::vector<uint64_t> &values, std::string &why);

private:
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<DeviceContext> context_;
  std::shared_ptr<DeviceModule> module_;
};

} // namespace tessera::shim
