// Devices that do not exist: the emulator (libtessera-emulator.so) executes a vendor's kernels on the CPU.
// A vendor's plugin offers them as its variant "emulated" and loads the emulator only when they are asked
// for.
#pragma once
#include <cstdint>
#include <dlfcn.h>
#include <memory>
#include <span>
#include <string>
#include <tessera/backend.hpp>
#include <tessera/driver.hpp>
#include <tessera/gpu_architecture.hpp>
#include <tessera/plugin.h>
#include <tessera/tensor_map.hpp>

namespace tessera {

// The contract between emulated images, which compiler/codegen/emulate makes, and the emulator.

/// What `tsr_emu_coordinate` returns; those along y and z follow the one along x. A rank is that of a block
/// in its cluster.
enum class Coordinate : int32_t {
  Thread = 0,
  Block = 3,
  Grid = 6,
  BlockSize = 9,
  Lane = 12,
  Warp = 13,
  Rank = 14
};

/// The operand `which` of `tsr_emu_approximate`: instructions of the vendors that approximate a function of
/// f32.
enum class Approximated : int32_t { Exp2, Log2, Sqrt, InverseSqrt, Tanh };

/// Bits of the operand `flags` of `tsr_emu_access`, `tsr_emu_atomic` and `tsr_emu_fence`. The address space
/// is that of the pointer: 1 is global, 3 shared memory. kInBlock: the operation orders and is atomic to
/// threads of its block only. The alignment that the operation promises is 1 << (flags >> 8).
namespace access_flags {
inline constexpr int32_t kWrite = 1, kShared = 2, kAcquire = 4, kRelease = 8, kInBlock = 16, kAlignShift = 8;
}

/// The operand `instruction` of `tsr_emu_multiply` and `tsr_emu_shared_product`: its shape, m x n x k, and
/// the dtype of A and B.
enum class MatrixInstruction : int32_t {
  Mma16x8x16Bf16,
  Mma16x8x16F16,
  Mma16x8x8F16,
  Mma16x8x8Tf32,
  Mma16x8x32E4M3,
  Mma16x8x32E5M2,
  Mma16x8x32I8,
  Mma16x8x32U8,
  Mma8x8x16I8,
  Mma8x8x16U8,
  Mma8x8x4F64,
  Mfma32x32x8Bf16,
  Mfma32x32x8F16,
  Mfma16x16x16Bf16,
  Mfma16x16x16F16,
  Mfma16x16x32E4M3Fnuz,
  Mfma32x32x8I8,
  Mfma16x16x16I8,
  Mfma32x32x16I8,
  Mfma16x16x32I8,
  Mfma16x16x4F64,
  Wmma16x16x16Bf16,
  Wmma16x16x16F16,
  Wmma16x16x16I8,
  Wmma16x16x16U8,
  Dpas8x16x16Bf16,
  Dpas8x16x16F16,
  Dpas8x16x32I8,
  Dpas8x16x32U8,
  Dpas8x8x16Bf16,
  Dpas8x8x16F16,
  Dpas8x8x32I8,
  Dpas8x8x32U8,
  Dpas8x16x8Tf32,
  Wgmma64xNx16Bf16,
  Wgmma64xNx16F16,
  Wgmma64xNx32E4M3,
  Wgmma64xNx32E5M2,
  Wgmma64xNx8Tf32,
  Tcgen05MxNx16Bf16,
  Tcgen05MxNx16F16,
  Tcgen05MxNx32E4M3,
  Tcgen05MxNx32E5M2,
  Tcgen05MxNx8Tf32,
  Tcgen05MxNx32I8,
  Tcgen05MxNx32U8
};

/// The operand `read` of `tsr_emu_read_block`: 2D block reads of sub-groups of 16 lanes, by the names that
/// Intel's compiler has for them.
enum class EmulatedBlockRead : int32_t { U16M8K16, U8M8K32, TransformU16K16, TransformU8K32, TransposeU32K8 };

/// What the parameter of an emulated kernel for a tensor map points to.
struct alignas(64) EmulatedTensorMap {
  TensorMapSizes sizes;
  uint32_t swizzle = 0; // bytes; 0: none
};
static_assert(sizeof(EmulatedTensorMap) == 128);

// The interface of the emulator to plugins.

/// The emulator's only entry point for plugins; the arguments are those of openEmulator. Plugin and emulator
/// come from one build.
using CreateEmulatedFn = Backend *(const char *backend, std::span<const GpuArchitecture> devices,
                                   const std::string &variant, const tsr_host_info_t *host, std::string &why);
inline constexpr char kCreateEmulated[] = "tesseraCreateEmulated_0";

/// Creates the backend `backend`:emulated. `variant` is "emulated" or "emulated:ARCH[+OPTION...]"; without an
/// architecture the devices are those of the whole table. Each launch logs to `host` what it executed
/// (N_EMULATED). Returns null with `why` filled on failure.
inline std::unique_ptr<Backend> openEmulator(const char *backend, std::span<const GpuArchitecture> devices,
                                             const std::string &variant, const tsr_host_info_t *host,
                                             std::string &why) {
  Dl_info own{}; // the plugin's file; the emulator is in the folder above, or where the linker looks
  std::string beside;
  if (dladdr(reinterpret_cast<const void *>(devices.data()), &own) && own.dli_fname) beside = own.dli_fname;
  beside = beside.substr(0, beside.rfind('/') + 1) + "../libtessera-emulator.so";
  Driver emulator({beside.c_str(), "libtessera-emulator.so"});
  CreateEmulatedFn *create = nullptr;
  if (!emulator || !emulator.find(create, kCreateEmulated)) {
    why = emulator.why();
    return nullptr;
  }
  return std::unique_ptr<Backend>(create(backend, devices, variant, host, why));
}

} // namespace tessera
