// Level Zero and its shim, for tests that all vendors share.
#pragma once
#include "plugins/levelzero/runtime/ZeDriver.h"

namespace tessera::shim {

struct Vendor {
  using Driver = levelzero::ZeDriver;
  static constexpr const auto &kArchitectures = levelzero::kArchitectures;
  static constexpr const char *kLibrary = "libze_loader.so.1", *kArch = "levelzero:pvc",
                              *kImage = SHIM_TABLE "/levelzero.image", *kOfKernel = "",
                              *kOutOfMemory = "zeMemAllocDevice failed with ZE_RESULT_ERROR_UNSUPPORTED_SIZE",
                              *kLost = " failed with ZE_RESULT_ERROR_DEVICE_LOST",
                              *kReopenLost = "zeDeviceGetStatus failed with ZE_RESULT_ERROR_DEVICE_LOST";
  static constexpr uint32_t kFormat = TSR_IMAGE_SPIRV;
  static constexpr uint64_t kSharedBytes = 128 << 10, kParameterBytes = 2048;
};

} // namespace tessera::shim
