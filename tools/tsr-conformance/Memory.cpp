// Checks of device memory: alignment, distinctness, exhaustion, and the reported sizes.
#include "tools/tsr-conformance/Groups.h"
#include "tools/tsr-conformance/Guarded.h"
#include "tools/tsr-conformance/Objects.h"
#include <algorithm>
#include <tessera/tessera.h>

namespace tessera::kit {
namespace {

using thunk::Text;

constexpr uint64_t kAllocationSizes[] = {1,    2,    63,   64,    65,      127,          1000,
                                         4095, 4096, 4097, 65537, 1 << 20, (8 << 20) + 1};

void alignment(Subject &s) {
  for (uint64_t bytes : kAllocationSizes) {
    const Memory m(s, bytes);
    const auto address = reinterpret_cast<uintptr_t>(m.get());
    expect(address % 64 == 0, std::to_string(bytes) + " bytes aligned to 64",
           "an address that is " + std::to_string(address % 64) + " past such a one");
  }
}

void zeroBytes(Subject &s) {
  const Memory a(s, 0), b(s, 0), c(s, 64);
  expect(a.get() != b.get() && a.get() != c.get() && b.get() != c.get(), "a pointer of its own for 0 bytes",
         "one that is another's too");
}

void distinct(Subject &s) {
  std::vector<Memory> all;
  std::vector<std::pair<uintptr_t, uint64_t>> ranges;
  for (int i = 0; i < 200; ++i) {
    const uint64_t bytes = static_cast<uint64_t>(i * 37 % 5000 + 1);
    all.emplace_back(s, bytes);
    ranges.emplace_back(reinterpret_cast<uintptr_t>(all.back().get()), bytes);
  }
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i)
    expect(ranges[i - 1].first + ranges[i - 1].second <= ranges[i].first,
           "live allocations that do not overlap",
           "two that do, of " + std::to_string(ranges[i - 1].second) + " and " +
               std::to_string(ranges[i].second) + " bytes");
}

void reuse(Subject &s) {
  for (int i = 0; i < 3000; ++i) {
    Memory m(s, static_cast<uint64_t>(i % 7) * 1000 + 1);
    m.free();
  }
}

void exhaustion(Subject &s) {
  for (uint64_t bytes : {uint64_t{1} << 60, uint64_t{1} << 63, UINT64_MAX - 63, UINT64_MAX}) {
    void *const mark = &s;
    void *out = mark;
    Text why;
    s.mustFail(("mem_alloc of " + std::to_string(bytes) + " bytes").c_str(),
               s.api().mem_alloc(s.context(), bytes, 0, &out, why), why, {TSR_EOOM});
    expect(out == mark, "an out parameter that a failure leaves alone", "a write to it",
           "write *out on success only");
  }
  const Memory after(s, 4096);
}

void flags(Subject &s) {
  constexpr uint32_t kKnown = TSR_BE_MEM_PINNED_HOST | TSR_BE_MEM_MANAGED | TSR_BE_MEM_PEER;
  const bool isListed = hasSlot(s.info(), TSR_PLUGIN_BACKEND, "mem_flags");
  const uint32_t listed = isListed ? s.api().mem_flags(s.context()) : 0;
  expect(!(listed & ~kKnown), "mem_flags of the bits TSR_BE_MEM_*", std::to_string(listed));
  for (uint32_t flag : {TSR_MEM_DEVICE, TSR_MEM_PINNED_HOST, TSR_MEM_MANAGED}) {
    void *out = nullptr;
    Text why;
    const int32_t status = s.api().mem_alloc(s.context(), 4096, flag, &out, why);
    if (status == TSR_UNIMPLEMENTED && flag != TSR_MEM_DEVICE && !(listed & flag)) {
      s.mustFail("mem_alloc", status, why);
      continue;
    }
    s.must("mem_alloc", status, why);
    if (flag != TSR_MEM_DEVICE) std::memset(out, 1, 4096); // the host may access this memory
    s.must("mem_free", s.api().mem_free(s.context(), out, why), why);
  }
}

void available(Subject &s) {
  auto at = [&](const void *p, uint64_t &bytes) { return s.api().mem_available(s.context(), p, &bytes); };
  for (uint64_t bytes : {uint64_t{1}, uint64_t{100}, uint64_t{4096}, uint64_t{1000001}}) {
    Memory m(s, bytes);
    unsigned char *p = m.get();
    for (uint64_t offset : {uint64_t{0}, bytes / 2, bytes - 1}) {
      uint64_t found = 0;
      const int32_t status = at(p + offset, found);
      expect(status == TSR_SUCCESS, "TSR_SUCCESS of mem_available within an allocation", statusName(status));
      expect(found == bytes - offset,
             std::to_string(bytes - offset) + " bytes from byte " + std::to_string(offset) + " of " +
                 std::to_string(bytes),
             std::to_string(found), "count to the end of what was asked for, not of what was reserved");
    }
    m.free();
    uint64_t found = 12345;
    const int32_t status = at(p, found);
    expect(status == TSR_ENOTFOUND, "TSR_ENOTFOUND of mem_available for memory that was freed",
           statusName(status));
    expectEqual(found, 12345, "an out parameter that a failure leaves at");
  }
  int local = 0;
  uint64_t found = 0;
  expect(at(&local, found) == TSR_ENOTFOUND, "TSR_ENOTFOUND of mem_available for memory of the host's",
         statusName(at(&local, found)));
}

tsr_be_memory_t use(Subject &s) {
  tsr_be_memory_t out{};
  out.struct_size = sizeof out;
  Text why;
  s.must("mem_info", s.api().mem_info(s.context(), &out, why), why);
  return out;
}

void memoryInfo(Subject &s) {
  constexpr uint64_t kBytes = 16 << 20;
  const tsr_be_memory_t before = use(s);
  expect(before.total > 0 && before.free <= before.total, "some memory, no more of it free than there is",
         std::to_string(before.free) + " of " + std::to_string(before.total));
  {
    const Memory m(s, kBytes);
    const tsr_be_memory_t during = use(s);
    expect(during.in_use >= before.in_use + kBytes,
           "in_use that counts the " + std::to_string(kBytes) + " bytes taken",
           std::to_string(before.in_use) + " before, " + std::to_string(during.in_use) + " with them");
  }
  expect(use(s).in_use < before.in_use + kBytes, "in_use that falls when memory is freed", "it stays");
  for (size_t size : {size_t{8}, size_t{16}, sizeof(tsr_be_memory_t) + 64}) {
    Guarded out(size);
    out.as<tsr_be_memory_t>().struct_size = size;
    Text why;
    (void)s.api().mem_info(s.context(), &out.as<tsr_be_memory_t>(), why);
    out.expectUntouched("mem_info", "write with tessera::thunk::copyOut");
  }
}

void trim(Subject &s) {
  const Bytes sent = pattern(100000, 9);
  Memory kept(s, sent.size());
  Stream stream(s);
  stream.write(kept, sent);
  {
    const Memory a(s, 4 << 20), b(s, 100), c(s, 1 << 16);
  }
  s.api().mem_trim(s.context());
  expectBytes(stream.read(kept, sent.size()), sent, "live memory after mem_trim");
  const Memory after(s, 4 << 20);
}

void memoryThreads(Subject &s) {
  (void)s.context();
  onThreads(8, [&](int t) {
    Stream stream(s);
    for (unsigned i = 0; i < 40; ++i) {
      const Bytes sent = pattern(1 + i * 531 % 9000, i + static_cast<unsigned>(t));
      Memory m(s, sent.size());
      stream.write(m, sent);
      expectBytes(stream.read(m, sent.size()), sent, "memory that only one thread has");
    }
  });
}

constexpr Check kMemoryChecks[] = {
    {"memory.alignment", "Memory is aligned to 64 bytes at least, whatever its size.", alignment,
     Needs::Context},
    {"memory.zero_bytes", "0 bytes give a pointer of their own.", zeroBytes, Needs::Context},
    {"memory.distinct", "Live allocations do not overlap.", distinct, Needs::Context},
    {"memory.reuse", "Memory is taken and freed thousands of times.", reuse, Needs::Context, {}, {}, 30},
    {"memory.exhaustion", "What no machine has is refused with TSR_EOOM and a text.", exhaustion,
     Needs::Context},
    {"memory.flags", "Each TSR_MEM_* flag gives memory, or TSR_UNIMPLEMENTED for kinds that mem_flags lacks.",
     flags, Needs::Context},
    {"memory.available", "mem_available counts to the end of the live allocation.", available, Needs::Context,
     "mem_available"},
    {"memory.info", "mem_info counts what is in use, within the struct it is given.", memoryInfo,
     Needs::Context, "mem_info"},
    {"memory.trim", "mem_trim leaves live memory alone.", trim, Needs::Context, "mem_trim"},
    {"memory.threads",
     "Several threads take and free memory at once.",
     memoryThreads,
     Needs::Context,
     {},
     {},
     30},
};

} // namespace

extern const Group kMemory = {"memory", TSR_PLUGIN_BACKEND, false, kMemoryChecks};

} // namespace tessera::kit
