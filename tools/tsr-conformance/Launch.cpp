// Checks of modules, kernels and launches. Results are compared with those of the same function when the kit
// itself calls it.
#include "tools/tsr-conformance/Groups.h"
#include "tools/tsr-conformance/Guarded.h"
#include "tools/tsr-conformance/Image.h"
#include "tools/tsr-conformance/Kernels.h"
#include <array>
#include <atomic>

namespace tessera::kit {
namespace {

using thunk::Text;

template <class T> std::vector<T> readAs(Stream &stream, const Memory &memory, size_t count) {
  std::vector<T> out(count);
  stream.copy(out.data(), memory, count * sizeof(T), true);
  return out;
}

void grid(Subject &s) {
  const Kernel kernel(s, "count", countKernel, 1);
  Stream stream(s);
  for (auto [x, y, z] : {std::array{1, 1, 1},
                         {7, 1, 1},
                         {1, 9, 1},
                         {1, 1, 11},
                         {3, 5, 2},
                         {1000, 1, 1},
                         {64, 64, 4},
                         {100003, 1, 1}}) {
    const auto programs = static_cast<size_t>(x) * static_cast<size_t>(y) * static_cast<size_t>(z);
    const Memory cells(s, programs * 4);
    const std::vector<uint32_t> zero(programs, 0);
    stream.copy(cells, zero.data(), programs * 4);
    const uint64_t values[] = {word(cells)};
    stream.launch(kernel, values, x, y, z);
    const auto found = readAs<uint32_t>(stream, cells, programs);
    for (size_t p = 0; p < programs; ++p)
      expect(found[p] == 1, "each program of a grid once",
             "program " + std::to_string(p) + " of " + std::to_string(programs) + " " +
                 std::to_string(found[p]) + " times");
  }
}

void valuesAreRead(Subject &s) {
  const Kernel kernel(s, "sum", sumKernel, 40);
  Stream stream(s);
  const Memory out(s, 8);
  for (int i = 0; i < 50; ++i) {
    uint64_t values[40] = {word(out)}, wanted = 0;
    for (uint64_t k = 1; k < 40; ++k)
      wanted += (values[k] = k * 1000003 + static_cast<uint64_t>(i)) * k;
    stream.launch(kernel, values, 1);
    std::fill_n(values, 40, word(out)); // must have been read during the call
    expect(readAs<uint64_t>(stream, out, 1)[0] == wanted, "40 launch values as they were during the call",
           "others", "copy them before stream_launch returns");
  }
}

void launchOrder(Subject &s) {
  const Kernel kernel(s, "step", stepKernel, 2);
  Stream stream(s);
  constexpr size_t kCount = 3000;
  const Memory a(s, kCount * 4), b(s, kCount * 4);
  std::vector<uint32_t> start(kCount), wanted;
  for (size_t i = 0; i < kCount; ++i)
    start[i] = static_cast<uint32_t>(i);
  wanted = start;
  stream.copy(a, start.data(), kCount * 4);
  for (int i = 0; i < 20; ++i) {
    const uint64_t there[] = {word(a), word(b)};
    stream.launch(kernel, there, kCount);
    stream.copy(a, b, kCount * 4);
    for (uint32_t &w : wanted)
      w = w * 3 + 1;
  }
  expect(readAs<uint32_t>(stream, a, kCount) == wanted, "launches and copies in their order",
         "another result");
}

void numerics(Subject &s) {
  const Kernel kernel(s, "arithmetic", arithmeticKernel, 1);
  Stream stream(s);
  constexpr size_t kCount = 20000;
  const Memory to(s, kCount * 8);
  const uint64_t values[] = {word(to)};
  stream.launch(kernel, values, kCount);
  const auto found = readAs<double>(stream, to, kCount);
  std::vector<double> wanted(kCount);
  const uint64_t own[] = {word(wanted.data())};
  arithmeticKernel(own, 0, kCount, nullptr);
  for (size_t i = 0; i < kCount; ++i)
    if (std::memcmp(&found[i], &wanted[i], 8) != 0)
      throw Failure{"element " + std::to_string(i) + " as the CPU computes it, " + std::to_string(wanted[i]),
                    std::to_string(found[i]) + " with other bits",
                    "run kernels with rounding to nearest and with denormals"};
}

void scratch(Subject &s) {
  const Kernel kernel(s, "scratch", scratchKernel, 1, 4096);
  Stream stream(s);
  constexpr size_t kCount = 5000;
  const Memory cells(s, kCount * 4);
  const uint64_t values[] = {word(cells)};
  stream.launch(kernel, values, kCount);
  const auto found = readAs<uint32_t>(stream, cells, kCount);
  for (size_t i = 0; i < kCount; ++i)
    expect(found[i] == (i & 0x7F) * 4096, "scratch memory of its own, aligned to 64 bytes, for each program",
           "program " + std::to_string(i) + " found another's bytes");
}

void released(Subject &s) {
  Stream stream(s);
  constexpr size_t kCount = 50000;
  const Memory cells(s, kCount * 4);
  stream.copy(cells, Bytes(kCount * 4, 0).data(), kCount * 4, true);
  constexpr uint32_t kLaunches = 10;
  {
    Kernel kernel(s, "count", countKernel, 1);
    const uint64_t values[] = {word(cells)};
    for (uint32_t i = 0; i < kLaunches; ++i)
      stream.launch(kernel, values, kCount);
  }
  for (uint32_t found : readAs<uint32_t>(stream, cells, kCount))
    expectEqual(found, kLaunches, "launches of a kernel released while they were queued:");
}

/// Counts how often the owner was released.
struct Owner {
  std::atomic<int> releases{0};
  tsr_be_keep_t keep() {
    return {this, [](void *self) { ++static_cast<Owner *>(self)->releases; }};
  }
};

void launchKeep(Subject &s) {
  Owner owner, refused;
  {
    Stream stream(s);
    const Memory cells(s, 4);
    const tsr_be_host_kernel_t row = {"count", reinterpret_cast<const void *>(countKernel)};
    tsr_be_image_t image = imageOf(row);
    image.keep = owner.keep();
    tsr_be_module_t *module = loadHostKernels(s, image);
    const tsr_be_kernel_desc_t desc = descriptor("count", 1);
    tsr_be_kernel_t *kernel = nullptr;
    Text why;
    s.must("kernel_get", s.api().kernel_get(module, &desc, &kernel, why), why);
    s.api().module_unload(module);
    expectEqual(owner.releases.load(), 0, "releases of what the code needs while a kernel lives:");
    const uint64_t values[] = {word(cells)};
    stream.launch(kernel, values, 1);
    s.api().kernel_release(kernel);
    stream.synchronize();
  }
  expectEqual(owner.releases.load(), 1, "releases of what the code needs, once nothing uses it:");
  tsr_be_image_t bad{};
  bad.struct_size = sizeof bad;
  bad.format = 0x7777;
  bad.name = "no format";
  bad.keep = refused.keep();
  tsr_be_module_t *module = nullptr;
  Text why;
  if (s.api().module_load(s.context(), &bad, &module, why) == TSR_SUCCESS) s.api().module_unload(module);
  expectEqual(refused.releases.load(), 1, "releases when module_load has failed:");
}

void unknownKernel(Subject &s) {
  const tsr_be_host_kernel_t row = {"count", reinterpret_cast<const void *>(countKernel)};
  tsr_be_module_t *module = loadHostKernels(s, imageOf(row));
  const tsr_be_kernel_desc_t desc = descriptor("no_such_kernel", 1);
  tsr_be_kernel_t *kernel = nullptr;
  Text why;
  const int32_t status = s.api().kernel_get(module, &desc, &kernel, why);
  s.api().module_unload(module);
  s.mustFail("kernel_get of a name the module has not", status, why);
}

/// A 1.0 host ends its descriptor after `block`; a future host has more fields.
void descriptorSizes(Subject &s) {
  const tsr_be_host_kernel_t row = {"count", reinterpret_cast<const void *>(countKernel)};
  tsr_be_argument_t argument = {TSR_ARGUMENT_POINTER, 8, 0};
  tsr_be_kernel_desc_t whole = descriptor("count", 1);
  whole.arguments = &argument;
  Stream stream(s);
  for (size_t size : {offsetof(tsr_be_kernel_desc_t, cluster), sizeof whole, sizeof whole + 64}) {
    Guarded desc(size);
    desc.put(whole, std::min(size, sizeof whole));
    desc.as<tsr_be_kernel_desc_t>().struct_size = size;
    tsr_be_module_t *module = loadHostKernels(s, imageOf(row));
    tsr_be_kernel_t *kernel = nullptr;
    Text why;
    const int32_t status = s.api().kernel_get(module, &desc.as<tsr_be_kernel_desc_t>(), &kernel, why);
    s.api().module_unload(module);
    s.must("kernel_get", status, why);
    const Memory cell(s, 4);
    stream.write(cell, Bytes(4, 0));
    const uint64_t values[] = {word(cell)};
    stream.launch(kernel, values, 1);
    s.api().kernel_release(kernel);
    expectEqual(readAs<uint32_t>(stream, cell, 1)[0], 1u,
                "runs of a kernel whose descriptor has " + std::to_string(size) + " bytes:");
  }
}

void unknownFormat(Subject &s) {
  const unsigned char data[64] = {};
  tsr_be_image_t image{};
  image.struct_size = sizeof image;
  image.format = 0x7777;
  image.data = data;
  image.bytes = sizeof data;
  image.name = "no format";
  tsr_be_module_t *module = nullptr;
  Text why;
  s.mustFail("module_load of format 0x7777", s.api().module_load(s.context(), &image, &module, why), why);
}

void launchThreads(Subject &s) {
  const Kernel kernel(s, "count", countKernel, 1);
  onThreads(8, [&](int) {
    Stream stream(s);
    const Memory cells(s, 4000);
    stream.copy(cells, Bytes(4000, 0).data(), 4000, true);
    const uint64_t values[] = {word(cells)};
    for (int i = 0; i < 50; ++i)
      stream.launch(kernel, values, 1000);
    for (uint32_t found : readAs<uint32_t>(stream, cells, 1000))
      expectEqual(found, 50, "launches of each thread:");
  });
}

constexpr Check kLaunchChecks[] = {
    {"launch.grid",
     "Every program of a grid runs once, whatever its shape.",
     grid,
     Needs::Context,
     {},
     {},
     30},
    {"launch.values", "Launch values are read during the call.", valuesAreRead, Needs::Context},
    {"launch.order", "Launches keep their place among copies.", launchOrder, Needs::Context},
    {"launch.numerics", "Kernels compute what the CPU computes, bit for bit: rounding to nearest, denormals.",
     numerics, Needs::Context},
    {"launch.scratch", "A program's scratch is its own and aligned to 64 bytes.", scratch, Needs::Context},
    {"launch.released", "A kernel may be released while launches of it are queued.", released,
     Needs::Context},
    {"launch.keep", "What the code needs is released once: after its last use, or when loading failed.",
     launchKeep, Needs::Context},
    {"launch.descriptor_sizes", "A kernel's descriptor is read as far as its struct_size goes.",
     descriptorSizes, Needs::Context},
    {"launch.unknown_kernel", "A kernel the module has not is refused with a text.", unknownKernel,
     Needs::Context},
    {"launch.unknown_format", "Code of a format it does not know is refused with a text.", unknownFormat,
     Needs::Context},
    {"launch.threads",
     "Several threads launch one kernel at once.",
     launchThreads,
     Needs::Context,
     {},
     {},
     30},
    {"launch.image",
     "The kernel of --image computes what the CPU computes.",
     launchImage,
     Needs::Context,
     {},
     {},
     30},
};

} // namespace

extern const Group kLaunch = {"launch", TSR_PLUGIN_BACKEND, false, kLaunchChecks};

} // namespace tessera::kit
