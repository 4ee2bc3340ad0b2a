// Finding and describing Intel's devices.
#include "plugins/levelzero/runtime/ZeDriver.h"
#include <algorithm>
#include <cstdio>
#include <span>
#include <tessera/gpu_capabilities.hpp>

namespace tessera::levelzero {

namespace {

constexpr std::string_view kGeneric = "generic";

const GpuArchitecture &rowOf(std::string_view name) {
  return *std::ranges::find(kArchitectures, name, &GpuArchitecture::name);
}

} // namespace

const GpuArchitecture &architectureFor(uint32_t deviceId) {
  // Intel's lists of PCI ids. Data Center GPU Max ("Ponte Vecchio"):
  constexpr uint32_t kPonteVecchio[] = {0x0b69, 0x0b6e, 0x0bd4, 0x0bd5, 0x0bd6, 0x0bd7, 0x0bd8,
                                        0x0bd9, 0x0bda, 0x0bdb, 0x0be0, 0x0be1, 0x0be5};
  // Arc A and Data Center GPU Flex ("Alchemist"). G10, G11 and G12 differ in the number of their units.
  constexpr uint32_t kAlchemist[] = {
      0x5690, 0x5691, 0x5692, 0x56a0, 0x56a1, 0x56a2, 0x56be, 0x56bf, 0x56c0, 0x56c2,                 // G10
      0x5693, 0x5694, 0x5695, 0x56a5, 0x56a6, 0x56b0, 0x56b1, 0x56ba, 0x56bb, 0x56bc, 0x56bd, 0x56c1, // G11
      0x5696, 0x5697, 0x56a3, 0x56a4, 0x56b2, 0x56b3};                                                // G12
  auto isOneOf = [deviceId](const auto &ids) { return std::ranges::find(ids, deviceId) != std::end(ids); };
  return rowOf(isOneOf(kPonteVecchio) ? "pvc" : isOneOf(kAlchemist) ? "acm-g10" : kGeneric);
}

Outcome ZeDriver::describe(Handle driver, Handle device, bool isOld, GpuDevice &out) {
  constexpr uint32_t kOldestSpirv = 0x10002; // 1.2, which is compiled
  auto p = ofType<DeviceProperties>(isOld ? type::kDeviceProperties : type::kDeviceProperties12);
  auto compute = ofType<ComputeProperties>(type::kComputeProperties);
  auto code = ofType<ModuleProperties>(type::kModuleProperties);
  uint32_t groups = 0, memories = 0;
  Outcome o = call(calls_.deviceProperties, device, &p);
  if (!o.failed() && p.kind != flag::kTypeGpu) return {TSR_ENOTFOUND, "the device is no GPU"};
  if (!o.failed()) o = call(calls_.computeProperties, device, &compute);
  if (!o.failed()) o = call(calls_.moduleProperties, device, &code);
  if (!o.failed()) o = call(calls_.queueGroups, device, &groups, static_cast<QueueGroup *>(nullptr));
  std::vector<QueueGroup> queues(groups, ofType<QueueGroup>(type::kQueueGroup));
  if (!o.failed()) o = call(calls_.queueGroups, device, &groups, queues.data());
  if (!o.failed())
    o = call(calls_.memoryProperties, device, &memories, static_cast<MemoryProperties *>(nullptr));
  std::vector<MemoryProperties> memory(memories, ofType<MemoryProperties>(type::kMemoryProperties));
  if (!o.failed()) o = call(calls_.memoryProperties, device, &memories, memory.data());
  if (o.failed()) return o;
  p.name[sizeof p.name - 1] = 0;
  const auto queue =
      std::ranges::find_if(queues, [](const QueueGroup &q) { return q.flags & flag::kComputeQueue; });
  if (queue == queues.end()) return {TSR_ENOTFOUND, std::string(p.name) + " has no queue that takes kernels"};
  if (code.spirvVersion < kOldestSpirv)
    return {TSR_ENOTFOUND, std::string(p.name) + ": its driver reads SPIR-V older than 1.2 only"};

  ZeDevice own{driver, device};
  own.queueGroup = static_cast<uint32_t>(queue - queues.begin());
  own.largest = p.maxAllocation;
  own.largestGroup = compute.maxGroup;
  for (const MemoryProperties &m : memory)
    own.bytes += m.bytes;
  if (!own.bytes) own.bytes = p.maxAllocation; // shares the host's
  const auto resolution = static_cast<double>(p.timerResolution);
  own.nsPerTick = isOld ? resolution : 1e9 / resolution;
  own.timestampBits = p.kernelTimestampBits ? p.kernelTimestampBits : 64;

  GpuArchitecture row{};
  row.warpSize = 32, row.dtypes = "";
  char id[16];
  std::snprintf(id, sizeof id, "0x%04x", p.deviceId);
  std::string arch = std::string("device-") + id;
  const GpuArchitecture &known = architectureFor(p.deviceId);
  const std::span lanes(compute.subGroupSizes, std::min(compute.subGroupSizeCount, 8u));
  if (std::ranges::find(lanes, known.warpSize) != lanes.end()) row = known, arch = known.name;
  const GpuArchitecture &generic = rowOf(kGeneric);
  const bool runsGeneric = arch != kGeneric && compute.sharedBytes >= generic.maxShared &&
                           std::ranges::find(lanes, generic.warpSize) != lanes.end();
  row.maxShared = compute.sharedBytes;
  out.number = static_cast<int>(devices_.size());
  out.info.name = p.name;
  out.info.arch = "levelzero:" + arch;
  out.info.memoryBytes = own.bytes, out.info.maxSharedBytes = compute.sharedBytes;
  out.info.computeUnits = p.slices * p.subslicesPerSlice; // Xe cores
  out.info.vectorBytes = p.simdWidth * 4;
  out.info.capabilities = gpuCapabilities("levelzero", out.info, row,
                                          {.memoryFlags = "device pinned_host",
                                           .graphs = true,
                                           .peerAccess = true,
                                           .otherImages = runsGeneric ? "levelzero:generic" : ""});
  out.info.capabilities.pop_back();
  out.info.capabilities += ", \"device_id\": \"" + std::string(id) + "\"}";
  out.limits.threads = compute.maxGroup;
  out.limits.blocks = compute.maxCountX;
  out.limits.parameterBytes = code.argumentBytes;
  if (auto pci = ofType<PciProperties>(type::kPciProperties);
      calls_.pciProperties && calls_.pciProperties(device, &pci) == result::kSuccess) {
    char text[32];
    std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", pci.domain, pci.bus, pci.device, pci.function);
    out.pci = text;
  }
  devices_.push_back(own);
  return {};
}

GpuDevices ZeDriver::find() {
  GpuDevices out;
  Driver loader({"libze_loader.so.1"});
  if (!loader || !calls_.find(loader)) {
    out.why = loader.why();
    return out;
  }
  if (const Result r = calls_.init(flag::kGpuOnly); r != result::kSuccess) { // no other call may be made
    out.why = outcome(r, calls_.init.name()).text;
    if (r == result::kUninitialized) out.why += " (no Intel GPU, or no driver for it)";
    return out;
  }
  uint32_t count = 0;
  if (call(calls_.drivers, &count, static_cast<Handle *>(nullptr)).into(out.why)) return out;
  std::vector<Handle> drivers(count);
  if (call(calls_.drivers, &count, drivers.data()).into(out.why)) return out;
  for (Handle driver : drivers) {
    uint32_t version = 0, number = 0;
    if (call(calls_.apiVersion, driver, &version).into(out.why)) continue;
    if (call(calls_.devices, driver, &number, static_cast<Handle *>(nullptr)).into(out.why)) continue;
    std::vector<Handle> all(number);
    if (call(calls_.devices, driver, &number, all.data()).into(out.why)) continue;
    if (out.driver.empty())
      out.driver = std::to_string(version >> 16) + "." + std::to_string(version & 0xffff);
    for (Handle device : all)
      if (GpuDevice found; !describe(driver, device, version < flag::kVersion12, found).into(out.why))
        out.devices.push_back(std::move(found)); // the others may work where one does not
  }
  return out;
}

} // namespace tessera::levelzero
