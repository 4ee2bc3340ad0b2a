// The CPU backend with one slot or behaviour replaced.
#include "tests/kit/Broken.h"
#include <cfenv>
#include <chrono>
#include <clocale>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <set>
#include <sys/stat.h>
#include <tessera/thunk.hpp>
#include <thread>
#include <unistd.h>
#include <vector>
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

namespace tessera {
int32_t cpuPluginQuery(const tsr_host_info_t *, tsr_plugin_info_t *);
}

namespace {
using namespace tessera;
using kit::is;

tsr_backend_api_t sound, api; // the slots below replace some of `api`
tsr_plugin_info_t soundInfo;

void say(tsr_text_t *why, const char *text) { thunk::put(why, text); }

// ---- probe ----

int32_t probe(tsr_probe_t *out, tsr_text_t *why) {
  if (is("thread")) std::thread([] { pause(); }).detach();
  if (is("descriptor")) (void)!open("/dev/null", O_RDONLY);
  if (is("environment")) setenv("KIT_WAS_HERE", "1", 1);
  if (is("signal")) std::signal(SIGUSR1, [](int) {});
  if (is("locale")) std::setlocale(LC_ALL, "C.UTF-8");
  if (is("rounding")) std::fesetround(FE_UPWARD);
  if (is("directory")) (void)!chdir("/");
  if (is("umask")) umask(0);
  if (is("mask")) {
    sigset_t one;
    sigemptyset(&one), sigaddset(&one, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &one, nullptr);
  }
  if (is("slow")) std::this_thread::sleep_for(std::chrono::milliseconds(2300));
  if (is("exits")) _exit(0);
  if (is("crashes")) std::abort();
  if (is("hangs"))
    for (;;)
      pause();
  if (is("mumbles")) return TSR_ENOTFOUND;
  if (is("silent")) return say(why, "the cable is not plugged in"), TSR_ENOTFOUND;
  if (is("probe_past")) {
    tsr_probe_t whole{};
    whole.device_count = 1;
    whole.struct_size = out->struct_size;
    std::memcpy(out, &whole, sizeof whole);
    return TSR_SUCCESS;
  }
  const int32_t status = soundInfo.probe(out, why);
  static int calls = 0;
  if (!TSR_HAS(out, tsr_probe_t, score)) return status;
  if (is("boasts")) out->score = 1000000;
  if (is("differs") && ++calls == 2) out->score = 7;
  return status;
}

// ---- backend and contexts ----

int32_t create(const tsr_host_info_t *host, tsr_be_backend_t **out, tsr_text_t *why) {
  static int calls = 0;
  if (is("silent")) return TSR_EDEVICE;
  if (is("refuses") || (is("once") && ++calls > 1)) return say(why, "not today"), TSR_EDEVICE;
  if (is("stays")) std::thread([] { pause(); }).detach();
  return sound.create(host, out, why);
}

int32_t deviceInfo(tsr_be_backend_t *b, int32_t device, tsr_be_device_t *out, tsr_text_t *why) {
  if (is("any_device") || (is("counts") && device == 1)) device = 0;
  if (is("device_past")) {
    tsr_be_device_t whole{};
    whole.struct_size = sizeof whole;
    const int32_t status = sound.device_info(b, device, &whole, why);
    if (status == TSR_SUCCESS) std::memcpy(out, &whole, sizeof whole);
    return status;
  }
  const int32_t status = sound.device_info(b, device, out, why);
  if (is("nameless") && status == TSR_SUCCESS && TSR_HAS(out, tsr_be_device_t, arch)) out->arch = "";
  if (is("text_past") && status != TSR_SUCCESS && why && why->data)
    std::strcpy(why->data, "no such device, as far as can be seen");
  return status;
}

std::mutex mutex;
std::set<tsr_be_context_t *> lent;

int32_t contextCreate(tsr_be_backend_t *b, int32_t device, const tsr_be_allocator_t *allocator,
                      tsr_be_context_t **out, tsr_text_t *why) {
  if (is("leaks")) (void)!open("/dev/null", O_RDONLY);
  const int32_t status = sound.context_create(b, device, allocator, out, why);
  std::lock_guard lock(mutex);
  if (status == TSR_SUCCESS && allocator) lent.insert(*out);
  return status;
}
void contextDestroy(tsr_be_context_t *c) {
  {
    std::lock_guard lock(mutex);
    if (lent.erase(c)) return;
  }
  sound.context_destroy(c);
}

// ---- memory ----

char zero[64];
void *lastSmall, *lastLarge;

int32_t alloc(tsr_be_context_t *c, uint64_t bytes, uint32_t flags, void **out, tsr_text_t *why) {
  if (is("zero") && bytes == 0) return *out = zero, TSR_SUCCESS;
  if (is("overlaps") && bytes == 75) return *out = lastSmall, TSR_SUCCESS;
  if (is("claims") && flags == TSR_BE_MEM_MANAGED) return say(why, "no managed memory"), TSR_UNIMPLEMENTED;
  if (is("hardy") && bytes > uint64_t{1} << 50) return say(why, "too much"), TSR_EINVAL;
  if (is("touches") && bytes > uint64_t{1} << 50) *out = nullptr;
  const int32_t status =
      sound.mem_alloc(c, bytes + (is("misaligned") && bytes < 1000 ? 8 : 0), flags, out, why);
  if (status != TSR_SUCCESS) return status;
  if (is("misaligned") && bytes < 1000) *out = static_cast<char *>(*out) + 8;
  if (bytes == 38) lastSmall = *out;
  if (bytes == 100000) lastLarge = *out;
  return status;
}
int32_t release(tsr_be_context_t *c, void *p, tsr_text_t *why) {
  if (p == zero) return TSR_SUCCESS;
  if (is("misaligned") && reinterpret_cast<uintptr_t>(p) % 64 == 8) p = static_cast<char *>(p) - 8;
  static void *shared = nullptr;
  if (is("overlaps") && p == lastSmall && shared != p) return shared = p, TSR_SUCCESS;
  return sound.mem_free(c, p, why);
}
int32_t available(tsr_be_context_t *c, const void *p, uint64_t *bytes) {
  const int32_t status = sound.mem_available(c, p, bytes);
  return status == TSR_SUCCESS ? *bytes += 64, status : status;
}
int32_t memInfo(tsr_be_context_t *c, tsr_be_memory_t *out, tsr_text_t *why) {
  const int32_t status = sound.mem_info(c, out, why);
  if (TSR_HAS(out, tsr_be_memory_t, in_use)) out->in_use = 0;
  return status;
}
void trim(tsr_be_context_t *c) {
  if (lastLarge) std::memset(lastLarge, 0, 1000);
  sound.mem_trim(c);
}

// ---- streams, events, copies ----

int32_t copy(tsr_be_stream_t *s, void *dst, const void *src, uint64_t bytes, int32_t wait, tsr_text_t *why) {
  const auto *from = static_cast<const char *>(src);
  auto *to = static_cast<char *>(dst);
  if (is("forwards") && from < to && to < from + bytes) {
    sound.stream_synchronize(s, UINT64_MAX, why);
    for (uint64_t i = 0; i < bytes; ++i)
      to[i] = *const_cast<const volatile char *>(from + i);
    return TSR_SUCCESS;
  }
  if (is("truncates") && bytes == 4194301) --bytes;
  if (is("aligned_only") && reinterpret_cast<uintptr_t>(src) % 64 == 3) --bytes;
  return sound.stream_copy(s, dst, src, bytes, is("hasty") ? 0 : wait, why);
}
int32_t fill(tsr_be_stream_t *s, void *dst, uint32_t byte, uint64_t bytes, int32_t wait, tsr_text_t *why) {
  if (is("fills_past") && bytes == 8191) ++bytes;
  return sound.stream_fill(s, dst, is("signed") && byte == 0x80 ? 0x7F : byte, bytes, wait, why);
}
int32_t synchronize(tsr_be_stream_t *s, uint64_t timeout, tsr_text_t *why) {
  if (timeout < 10000) return say(why, "too short"), TSR_EINVAL;
  return sound.stream_synchronize(s, timeout, why);
}
int32_t eventQuery(tsr_be_event_t *e) {
  int64_t time = 0;
  return sound.event_timestamp(e, &time) == TSR_EINVAL ? TSR_NOT_READY : sound.event_query(e);
}
int32_t timestamp(tsr_be_event_t *e, int64_t *time) {
  const int32_t status = sound.event_timestamp(e, time);
  return status == TSR_SUCCESS ? *time = -*time, status : status;
}

// ---- modules, launches, graphs ----

using Function = void (*)(const uint64_t *, int64_t, int64_t, uint8_t *);
Function original;

int32_t moduleLoad(tsr_be_context_t *c, const tsr_be_image_t *image, tsr_be_module_t **out, tsr_text_t *why) {
  tsr_be_image_t changed = thunk::copyIn(image);
  tsr_be_host_kernel_t row{};
  if (is("keeps") && changed.format == TSR_IMAGE_HOST_KERNELS) changed.keep = {};
  if (is("formats") && changed.format == 0x7777) changed.format = TSR_IMAGE_HOST_KERNELS, changed.bytes = 0;
  if (is("flushes") && changed.format == TSR_IMAGE_HOST_KERNELS && changed.bytes == sizeof row) {
    row = *static_cast<const tsr_be_host_kernel_t *>(changed.data);
    original = reinterpret_cast<Function>(const_cast<void *>(row.entry));
    row.entry =
        reinterpret_cast<const void *>(+[](const uint64_t *v, int64_t begin, int64_t end, uint8_t *scratch) {
#ifdef __x86_64__
          const unsigned before = _mm_getcsr();
          _mm_setcsr(before | 0x8040); // flush to zero, denormals are zero
          original(v, begin, end, scratch);
          _mm_setcsr(before);
#endif
        });
    changed.data = &row;
  }
  return sound.module_load(c, &changed, out, why);
}
int32_t kernelGet(tsr_be_module_t *m, const tsr_be_kernel_desc_t *desc, tsr_be_kernel_t **out,
                  tsr_text_t *why) {
  tsr_be_kernel_desc_t changed = thunk::copyIn(desc);
  if (is("desc_past")) {
    std::memcpy(&changed, desc, sizeof changed);
    changed.struct_size = sizeof changed;
    return sound.kernel_get(m, &changed, out, why);
  }
  if (std::strcmp(changed.name, "no_such_kernel") == 0) changed.name = "count";
  return sound.kernel_get(m, &changed, out, why);
}
int32_t launch(tsr_be_stream_t *s, tsr_be_kernel_t *k, const uint64_t *values, const int64_t grid[3],
               tsr_text_t *why) {
  const int64_t flat[3] = {grid[0], grid[1], 1};
  return sound.stream_launch(s, k, values, flat, why);
}
int32_t graphCreate(tsr_be_context_t *c, const tsr_be_node_t *nodes, uint64_t count, tsr_be_keep_t keep,
                    tsr_be_graph_t **out, tsr_text_t *why) {
  if (is("graph_keeps")) keep = {};
  if (is("not_empty") && !count) return say(why, "a graph of nothing"), TSR_EINVAL;
  std::vector<tsr_be_node_t> rest;
  for (uint64_t i = 0; i < count; ++i)
    if (!is("graph_fills") || nodes[i].kind != TSR_NODE_FILL) rest.push_back(nodes[i]);
  return sound.graph_create(c, rest.data(), rest.size(), keep, out, why);
}

int32_t streamCall(tsr_be_stream_t *s, const tsr_be_call_t *call, tsr_text_t *why) {
  if (is("calls_early")) {
    call->run(call->keep.owner, why);
    call->keep.release(call->keep.owner);
    return TSR_SUCCESS;
  }
  static decltype(call->run) host;
  host = call->run;
  tsr_be_call_t deaf = *call;
  deaf.run = [](void *owner, tsr_text_t *text) -> int32_t { return host(owner, text), TSR_SUCCESS; };
  return sound.stream_call(s, is("calls_deaf") ? &deaf : call, why);
}
uint64_t lastTag = 0;
void activityTag(tsr_be_context_t *c, uint64_t first, uint64_t second) {
  lastTag = first;
  sound.activity_tag(c, first, second);
}
int32_t activityReport(tsr_be_context_t *c, const tsr_be_activity_sink_t *sink, tsr_text_t *why) {
  if (!sink && is("reports_on")) return TSR_SUCCESS;
  static tsr_be_activity_sink_t host;
  if (!sink) return sound.activity_report(c, nullptr, why);
  host = *sink;
  const tsr_be_activity_sink_t between = {sizeof between, nullptr,
                                          [](void *, const tsr_be_activity_t *activity) {
                                            tsr_be_activity_t changed = *activity;
                                            if (is("unnumbered") && changed.stream) changed.stream = 1;
                                            if (is("other_clock")) changed.begin_ns = 0, changed.end_ns = 1;
                                            if (is("tags_late")) changed.tag[0] = lastTag;
                                            if (is("nameless_launch") && changed.kind == TSR_ACTIVITY_LAUNCH)
                                              changed.name = "";
                                            if (is("swallows_ranges") && changed.kind == TSR_ACTIVITY_RANGE)
                                              return;
                                            host.report(host.user, &changed);
                                          }};
  return sound.activity_report(c, &between, why);
}

void change() {
  api = sound;
  api.create = create, api.device_info = deviceInfo;
  if (is("counts"))
    api.device_count = [](tsr_be_backend_t *, int32_t *count, tsr_text_t *) -> int32_t {
      return *count = 2, TSR_SUCCESS;
    };
  if (is("leaks") || is("hoards")) api.context_create = contextCreate;
  if (is("hoards")) api.context_destroy = contextDestroy;
  api.mem_alloc = alloc, api.mem_free = release;
  if (is("available")) api.mem_available = available;
  if (is("uncounted")) api.mem_info = memInfo;
  if (is("trims")) api.mem_trim = trim;
  api.stream_copy = copy, api.stream_fill = fill;
  if (is("impatient")) api.stream_synchronize = synchronize;
  if (is("never_idle")) api.stream_is_idle = [](tsr_be_stream_t *) -> int32_t { return 0; };
  if (is("never_done"))
    api.stream_query = [](tsr_be_stream_t *, tsr_text_t *) -> int32_t { return TSR_NOT_READY; };
  if (is("unrecorded")) api.event_query = eventQuery;
  if (is("backwards")) api.event_timestamp = timestamp;
  api.module_load = moduleLoad;
  if (is("guesses") || is("desc_past")) api.kernel_get = kernelGet;
  if (is("flat")) api.stream_launch = launch;
  api.graph_create = graphCreate;
  if (is("claims"))
    api.mem_flags = [](tsr_be_context_t *) -> uint32_t {
      return TSR_BE_MEM_PINNED_HOST | TSR_BE_MEM_MANAGED;
    };
  api.activity_report = activityReport, api.activity_tag = activityTag;
  api.stream_call = streamCall;
  if (is("renews"))
    api.stream_native = [](tsr_be_stream_t *, const char **name, void **handle, tsr_text_t *) -> int32_t {
      static char handles[64];
      static size_t next = 0;
      *name = "broken", *handle = &handles[next++ % sizeof handles];
      return TSR_SUCCESS;
    };
  if (is("half")) api.event_timestamp = nullptr;
  if (is("no_fill")) api.stream_fill = nullptr;
  if (is("odd_size")) api.struct_size = sizeof api + 3;
}

} // namespace

extern "C" __attribute__((visibility("default"))) int32_t tsrPluginQuery(const tsr_host_info_t *host,
                                                                         tsr_plugin_info_t *info) {
  if (is("too_new") && host->abi_minor > TSR_PLUGIN_ABI_MINOR) return TSR_EINVAL;
  if (is("trusts_host") && host->log) host->log(host->log_user, 0, "", "");
  if (is("output")) (void)!write(1, "hello\n", 6);
  tsr_plugin_info_t out{};
  out.struct_size = sizeof out;
  static std::mutex once;
  std::lock_guard lock(once);
  if (!soundInfo.struct_size) {
    cpuPluginQuery(host, &out);
    soundInfo = out;
    sound = thunk::copyIn(out.backend);
    change();
  }
  out = soundInfo;
  static int queries = 0;
  out.name = "broken", out.version = is("fickle") && ++queries > 100 ? "2.0" : "1.0";
  out.description = is("wordless") ? nullptr : "broken on purpose";
  out.probe = probe;
  out.backend = &api;
  if (is("whole")) {
    out.struct_size = info->struct_size;
    std::memcpy(info, &out, sizeof out);
  } else {
    thunk::copyOut(info, out);
  }
  if (is("sizeless")) info->struct_size = 0;
  if (is("past")) std::memset(reinterpret_cast<char *>(info) + info->struct_size, 0, 8);
  return TSR_SUCCESS;
}
