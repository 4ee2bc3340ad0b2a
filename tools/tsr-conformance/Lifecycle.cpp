// Checks that create and destroy a backend and its objects.
#include "tools/tsr-conformance/Groups.h"
#include "tools/tsr-conformance/Guarded.h"
#include "tools/tsr-conformance/Objects.h"
#include "tools/tsr-conformance/State.h"
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace tessera::kit {
namespace {

using thunk::Text;

/// Also runs without a device: create may then fail with a text, or make a backend without devices.
void createBehaves(Subject &s) {
  Text why;
  tsr_be_backend_t *backend = nullptr;
  const int32_t status = s.api().create(&kitHost(), &backend, why);
  if (status != TSR_SUCCESS) {
    s.mustFail("create", status, why);
    expect(!backend, "an out parameter that a failure leaves alone", "a write to it");
    return;
  }
  expect(backend, "an object from create, which succeeded", "NULL");
  int32_t count = -1;
  s.must("device_count", s.api().device_count(backend, &count, why), why);
  expect(count >= 0, "a number of devices", std::to_string(count));
  s.api().destroy(backend);
}

void lifecycleCreate(Subject &s) { (void)s.backend(); }

void createAgain(Subject &s) {
  for (int i = 0; i < 10; ++i) {
    tsr_be_backend_t *backend = nullptr;
    Text why;
    s.must("create", s.api().create(&kitHost(), &backend, why), why);
    s.api().destroy(backend);
  }
}

int deviceCount(Subject &s) {
  int32_t count = 0;
  Text why;
  s.must("device_count", s.api().device_count(s.backend(), &count, why), why);
  return count;
}

void devices(Subject &s) {
  tsr_probe_t found{};
  found.struct_size = sizeof found;
  Text why;
  s.must("probe", s.info().probe(&found, why), why);
  expectEqual(deviceCount(s), found.device_count, "as many devices as probe says,");
}

void deviceInfo(Subject &s) {
  for (int32_t i = 0; i < deviceCount(s); ++i) {
    tsr_be_device_t d{};
    d.struct_size = sizeof d;
    Text why;
    s.must("device_info", s.api().device_info(s.backend(), i, &d, why), why);
    expect(d.name && *d.name, "a device's name", "none");
    expect(d.arch && *d.arch, "a device's arch, as the compiler spells it", "none");
    const auto json = nlohmann::json::parse(d.capabilities ? d.capabilities : "", nullptr, false);
    expect(json.is_object(), "capabilities that are a JSON object", d.capabilities ? d.capabilities : "NULL");
    expect(d.memory_bytes > 0, "a device with memory", "memory_bytes 0");
  }
}

void badDevice(Subject &s) {
  const int count = deviceCount(s);
  for (int32_t device : {-1, count, INT32_MAX}) {
    tsr_be_device_t d{};
    d.struct_size = sizeof d;
    Text why, whyContext;
    const int32_t status = s.api().device_info(s.backend(), device, &d, why);
    s.mustFail(("device_info of device " + std::to_string(device)).c_str(), status, why);
    tsr_be_context_t *context = nullptr;
    s.mustFail(("context_create of device " + std::to_string(device)).c_str(),
               s.api().context_create(s.backend(), device, nullptr, &context, whyContext), whyContext);
  }
}

void deviceInfoBounds(Subject &s) {
  for (size_t size : {size_t{8}, offsetof(tsr_be_device_t, memory_bytes), sizeof(tsr_be_device_t) + 64}) {
    Guarded out(size);
    out.as<tsr_be_device_t>().struct_size = size;
    Text why;
    (void)s.api().device_info(s.backend(), 0, &out.as<tsr_be_device_t>(), why);
    out.expectUntouched("device_info", "write with tessera::thunk::copyOut");
  }
}

/// A text is cut at the caller's capacity, and its whole length is reported.
void texts(Subject &s) {
  tsr_be_device_t d{};
  d.struct_size = sizeof d;
  uint64_t length = 0;
  for (uint64_t capacity : {256, 0, 1, 2, 8}) {
    char buffer[320];
    std::memset(buffer, 0x5A, sizeof buffer);
    tsr_text_t text = {capacity ? buffer : nullptr, capacity, 0};
    // lifecycle.bad_device reports it
    if (s.api().device_info(s.backend(), INT32_MAX, &d, &text) == TSR_SUCCESS) return;
    for (size_t i = capacity; i < sizeof buffer; ++i)
      expect(buffer[i] == 0x5A, "no write past the text's capacity of " + std::to_string(capacity),
             "a write at byte " + std::to_string(i), "write with tessera::thunk::put");
    expect(!capacity || memchr(buffer, 0, capacity),
           "a NUL within the text's capacity of " + std::to_string(capacity), "none",
           "write with tessera::thunk::put");
    if (capacity == 256) length = text.length;
    expect(text.length == length, "the same length whatever the capacity, " + std::to_string(length),
           std::to_string(text.length), "tsr_text_t::length is the length without the cut");
  }
}

void context(Subject &s) { (void)s.context(); }

void contexts(Subject &s) {
  Context first(s);
  for (int i = 0; i < 15; ++i) {
    Context c(s), d(s);
    Memory m(s, 1000, 0, c);
    Stream stream(s, c);
    stream.write(m, pattern(1000, static_cast<unsigned>(i)));
  }
}

void contextsOnThreads(Subject &s) {
  (void)s.backend();
  onThreads(8, [&](int i) {
    for (int k = 0; k < 5; ++k) {
      Context c(s);
      Memory m(s, 4096, 0, c);
      Stream stream(s, c);
      const Bytes sent = pattern(4096, static_cast<unsigned>(i));
      stream.write(m, sent);
      expectBytes(stream.read(m, 4096), sent, "memory of a thread's own context");
    }
  });
}

void leaks(Subject &s) {
  auto round = [&] {
    Context c(s);
    Stream a(s, c), b(s, c);
    Memory m(s, 1 << 16, 0, c);
    a.write(m, pattern(1 << 16, 1));
  };
  for (int i = 0; i < 5; ++i)
    round();
  const int threads = threadCount(), files = fileCount();
  for (int i = 0; i < 60; ++i)
    round();
  expect(threadCount() <= threads + 2, "about " + std::to_string(threads) + " threads after 60 more contexts",
         std::to_string(threadCount()), "end a context's threads in context_destroy");
  expect(fileCount() <= files + 2, "about " + std::to_string(files) + " descriptors after 60 more contexts",
         std::to_string(fileCount()), "close them in context_destroy");
}

/// An allocator that counts what a context borrows.
struct Lender {
  std::atomic<int64_t> blocks{0}, bytes{0};
  bool isEmpty = false;
  tsr_be_allocator_t table{sizeof table, this,
                           [](void *self, uint64_t bytes, uint64_t alignment) -> void * {
                             auto *l = static_cast<Lender *>(self);
                             if (l->isEmpty) return nullptr;
                             const uint64_t align = std::max<uint64_t>(alignment, 16);
                             void *p = std::aligned_alloc(align, (bytes + align - 1) / align * align + align);
                             l->blocks += p != nullptr;
                             l->bytes += p ? static_cast<int64_t>(bytes) : 0;
                             return p;
                           },
                           [](void *self, void *p, uint64_t bytes) {
                             auto *l = static_cast<Lender *>(self);
                             --l->blocks;
                             l->bytes -= static_cast<int64_t>(bytes);
                             std::free(p);
                           }};
};

void allocator(Subject &s) {
  Lender lender;
  Context c(s, &lender.table);
  Text why;
  void *kept = nullptr;
  s.must("mem_alloc", s.api().mem_alloc(c, 10000, 0, &kept, why), why);
  expect(lender.blocks > 0, "device memory from the allocator the context was given", "from elsewhere");
  {
    const Memory m(s, 100, 0, c);
  }
  lender.isEmpty = true;
  void *none = nullptr;
  Text full;
  // A pool may still have free memory.
  for (int i = 0; i < 64; ++i) {
    const int32_t status = s.api().mem_alloc(c, 32 << 20, 0, &none, full);
    if (status == TSR_SUCCESS) continue;
    s.mustFail("mem_alloc of an empty allocator", status, full, {TSR_EOOM});
    break;
  }
  lender.isEmpty = false;
  c.destroy();
  expectEqual(lender.blocks.load(), 0, "blocks not given back after context_destroy:");
  expectEqual(lender.bytes.load(), 0, "bytes not given back after context_destroy, by the sizes passed:");
}

/// Runs in a child, whose exit status is the result: 7 is the status the program intended.
void exits(Subject &s) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      {
        Context c(s);
        Stream stream(s, c);
        Memory m(s, 4096, 0, c);
        stream.write(m, pattern(4096, 3));
      }
      s.finish(true);
      // The system lists a thread for a moment after it has been joined.
      auto isAlone = [] { return threadCount() <= 1 + kSanitizerThreads; };
      for (int i = 0; i < 100 && !isAlone(); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      if (!isAlone()) _exit(8);
    } catch (...) {
      _exit(9);
    }
    std::exit(7);
  }
  int status = 0;
  waitpid(child, &status, 0);
  expect(!WIFSIGNALED(status), "a process that ends well after shutdown",
         "signal " + std::to_string(WTERMSIG(status)));
  expect(WEXITSTATUS(status) != 8, "no thread of the plugin after shutdown", "some are left",
         "join them in tsr_plugin_info_t::shutdown");
  expectEqual(WEXITSTATUS(status), 7, "the program's own exit status");
}

constexpr Check kLifecycleChecks[] = {
    {"lifecycle.create_behaves", "create works or fails with a text, device or not.", createBehaves,
     Needs::Probed},
    {"lifecycle.create", "create makes the backend where a device is.", lifecycleCreate, Needs::Device},
    {"lifecycle.create_again", "The backend can be destroyed and made again.", createAgain, Needs::Created},
    {"lifecycle.device_count", "There are as many devices as probe found.", devices, Needs::Created},
    {"lifecycle.device_info", "Each device has a name, an arch, memory and capabilities in JSON.", deviceInfo,
     Needs::Created},
    {"lifecycle.bad_device", "A device that is not there is refused with a text.", badDevice, Needs::Created},
    {"lifecycle.device_info_bounds", "device_info writes no byte past a struct of another size.",
     deviceInfoBounds, Needs::Created},
    {"lifecycle.texts", "Texts keep to the caller's capacity and say their length.", texts, Needs::Created},
    {"lifecycle.context", "context_create makes a context of device 0.", context, Needs::Created},
    {"lifecycle.contexts",
     "Contexts are made, used and destroyed many times, several at once.",
     contexts,
     Needs::Context,
     {},
     {},
     30},
    {"lifecycle.threads",
     "Contexts may be made and used by several threads at once.",
     contextsOnThreads,
     Needs::Context,
     {},
     {},
     30},
    {"lifecycle.leaks",
     "Destroyed contexts leave no thread and no descriptor.",
     leaks,
     Needs::Context,
     {},
     {},
     60},
    {"lifecycle.allocator",
     "A context takes memory from the allocator it was lent, and gives all of it back.", allocator,
     Needs::Context},
    {"lifecycle.exit",
     "After shutdown no thread is left and the process ends well.",
     exits,
     Needs::Context,
     {},
     {},
     30},
};

} // namespace

extern const Group kLifecycle = {"lifecycle", TSR_PLUGIN_BACKEND, true, kLifecycleChecks};

} // namespace tessera::kit
