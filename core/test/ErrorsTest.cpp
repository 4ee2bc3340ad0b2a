// Produces every error that the header documents: one row per function and status. The test parses the
// header, so a function without its row, or a row that the header does not document, fails.
#include "core/plugin/Builtins.h"
#include "core/test/Fixture.h"
#include "core/test/Functions.h"
#include "core/test/Support.h"
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sys/wait.h>
#include <tessera/plugin.h>
#include <thread>
#include <unistd.h>

using namespace tessera;
using namespace tessera::test;

namespace {

/// What every row may use. It is rebuilt for each row.
struct World : RuntimeTest {
  void SetUp() override {
    RuntimeTest::SetUp();
    s = stream();
    e = event();
    m = module({compiled(kDigitYaml, digit), compiled(kSaxpyYaml, saxpy)});
    EXPECT_OK(tsrGetKernel(m, "digit", &k));
    word = alloc<int64_t>(1);
  }
  void TestBody() override {}
  using RuntimeTest::context;
  using RuntimeTest::launch;
  using RuntimeTest::TearDown;

  tsr_graph_t graph() {
    tsr_graph_t g = nullptr;
    EXPECT_OK(tsrStreamBeginCapture(s));
    EXPECT_OK(launch(k, s, word, int32_t{1}));
    EXPECT_OK(tsrStreamEndCapture(s, &g));
    return g;
  }
  tsr_status_t source(const char *text) {
    tsr_module_t out = nullptr;
    return tsrLoadModuleFromSource(context, text, std::strlen(text), nullptr, &out);
  }
  tsr_status_t compile(std::string_view source) {
    const void *bundle;
    size_t size;
    return tsrCompile(source.data(), source.size(), nullptr, &bundle, &size);
  }
  static tsr_status_t compileToFile(std::string_view source, const char *path = "/dev/null") {
    return tsrCompileToFile(source.data(), source.size(), nullptr, path);
  }
  static tsr_status_t read(std::string_view text) {
    tsr_definition_info_t info = {};
    info.struct_size = sizeof info;
    return tsrReadDefinition(text.data(), text.size(), nullptr, &info);
  }
  tsr_status_t inspect(std::string_view source, int32_t level = TSR_IR_TILE) {
    return tsrInspectIr(source.data(), source.size(), nullptr, level, &text);
  }
  /// Returns a bundle with one image that this machine could load, except for the given change.
  static std::string bundle(const char *target, uint32_t abiMajor = TSR_ABI_MAJOR) {
    Bundle b;
    b.images = {fixtureImage(target, {"first"})};
    b.abiMajor = abiMajor;
    std::string out;
    BundleError error;
    EXPECT_TRUE(writeBundle(b, out, error)) << error.text();
    return out;
  }
  tsr_status_t load(const std::string &bytes) {
    tsr_module_t out = nullptr;
    return tsrLoadModule(context, bytes.data(), bytes.size(), &out);
  }
  tsr_status_t loadFile(const std::string &path) {
    tsr_module_t out = nullptr;
    return tsrLoadModuleFromFile(context, path.c_str(), nullptr, &out);
  }
  tsr_status_t loadFromFile(const std::string &bytes) {
    const std::string path = testing::TempDir() + "/tessera-errors-" + std::to_string(getpid()) + ".tsrb";
    std::ofstream(path, std::ios::binary) << bytes;
    tsr_status_t status = loadFile(path);
    unlink(path.c_str());
    return status;
  }
  tsr_status_t loadImage(const std::string &data) {
    const std::string metadata = fixtureMetadata("first");
    const char *documents[] = {metadata.c_str()};
    tsr_image_t image = {sizeof image, data.data(), data.size(), documents, 1};
    tsr_module_t out = nullptr;
    return tsrLoadModuleEx(context, &image, &out);
  }
  /// Returns the result of `call` in the child of a fork, which has none of the streams' threads.
  template <class Call> tsr_status_t inChild(Call call) { return inChild(call, s); }
  template <class Call> tsr_status_t onDefaultInChild(Call call) {
    tsr_stream_t standard = nullptr;
    EXPECT_OK(tsrGetDefaultStream(context, &standard));
    return inChild(call, standard);
  }
  template <class Call> tsr_status_t inChild(Call call, tsr_stream_t busy) {
    auto *gate = holdStream(busy);
    pid_t child = fork();
    if (child == 0) _exit(call());
    int status = 0;
    waitpid(child, &status, 0);
    open(gate);
    EXPECT_OK(tsrStreamSynchronize(busy));
    return WIFEXITED(status) ? static_cast<tsr_status_t>(WEXITSTATUS(status)) : TSR_EINTERNAL;
  }
  /// Returns the result of `call` while the stream is blocked.
  template <class Call> tsr_status_t whileBusy(Call call) {
    auto *gate = holdStream(s);
    tsr_status_t status = call();
    open(gate);
    EXPECT_OK(tsrStreamSynchronize(s));
    return status;
  }

  /// Returns one rank's handle, alone or in a group of two whose second rank has been created.
  tsr_comm_t comm(int32_t size = 1) {
    auto meet = [&](int32_t rank, tsr_comm_t *out) {
      tsr_comm_options_t o = {sizeof o, nullptr, "errors", rank, size, 1000000};
      if (size > 1) o.timeout_ns = 5000000000;
      EXPECT_OK(tsrCreateComm(&o, out));
    };
    tsr_comm_t out = nullptr, other = nullptr;
    std::thread second;
    if (size > 1) second = std::thread([&] { meet(1, &other); });
    meet(0, &out);
    if (size > 1) second.join();
    return out;
  }
  tsr_status_t createComm(const char *implementation, int32_t size) {
    tsr_comm_options_t o = {sizeof o, implementation, "errors", 0, size, 1000000};
    tsr_comm_t out = nullptr;
    return tsrCreateComm(&o, &out);
  }
  /// Makes a call that the other rank never makes.
  tsr_status_t alone(int32_t kind) {
    tsr_collective_call_t c = {sizeof c, kind,    TSR_DTYPE_U8, 0,       0, 1, &number,
                               &pointer, nullptr, 1000000,      nullptr, 0, 0};
    return tsrCollective(comm(2), &c);
  }
  /// Returns the result of `call` on a broken communicator.
  template <class Call> tsr_status_t broken(Call call) {
    tsr_comm_t c = comm(2);
    tsr_collective_call_t first = {sizeof first, TSR_BROADCAST, TSR_DTYPE_U8, 0,       0, 1, &number,
                                   &number,      nullptr,       1000000,      nullptr, 0, 0};
    EXPECT_EQ(tsrCollective(c, &first), TSR_ETIMEOUT);
    return call(c);
  }

  /// Returns the result of `call` for a function whose temporaries exceed any machine's memory.
  template <class Call> tsr_status_t withoutRoom(Call call) {
    tsr_kernel_t f = nullptr;
    EXPECT_OK(tsrGetKernel(module(withKernels({functionYaml(
                               "{name: x, kind: tensor, dtype: f32, dims: ['1'], access: readwrite}, "
                               "{name: size, kind: scalar, dtype: i64}",
                               "buffers: [{name: t, dtype: f32, dims: [size]}], "
                               "steps: [{kernel: f.affine, args: [x, t, 1, 0, 1]}, "
                               "{kernel: f.affine, args: [t, x, 1, 0, 1]}]")})),
                           nullptr, &f));
    int64_t size = int64_t{1} << 50;
    void *args[] = {&word, &size};
    return call(f, args);
  }

  /// Returns the result of `call` with a communicator whose plugin's table has version 1.0.
  template <class Call> static tsr_status_t onOldCollectives(Call call) {
    EXPECT_OK(tsrRegisterPlugin([](const tsr_host_info_t *host, tsr_plugin_info_t *info) -> int32_t {
      for (const Builtin &part : builtinPlugins())
        if (part.name == std::string("inprocess")) part.query(host, info);
      static tsr_collective_api_t table = *info->collective;
      table.struct_size = offsetof(tsr_collective_api_t, comm_split);
      table.version_minor = 0;
      info->name = "old", info->collective = &table;
      return TSR_SUCCESS;
    }));
    const tsr_comm_options_t options = {sizeof options, "old", "old", 0, 1, 0};
    tsr_comm_t comm = nullptr;
    EXPECT_OK(tsrCreateComm(&options, &comm));
    const tsr_status_t status = call(comm);
    EXPECT_OK(tsrDestroyComm(comm));
    EXPECT_OK(tsrUnregisterPlugin("old"));
    return status;
  }

  /// Returns the result of `call` with a context on a backend without the slots of plugin ABI 1.1.
  template <class Call> static tsr_status_t onOldBackend(Call call) {
    EXPECT_OK(tsrRegisterPlugin([](const tsr_host_info_t *host, tsr_plugin_info_t *info) -> int32_t {
      for (const Builtin &part : builtinPlugins())
        if (part.name == std::string("cpu")) part.query(host, info);
      static tsr_backend_api_t table = *info->backend;
      table.struct_size = offsetof(tsr_backend_api_t, mem_flags);
      info->name = "old", info->backend = &table;
      return TSR_SUCCESS;
    }));
    const tsr_context_options_t options = {sizeof options, "old", 0, nullptr};
    tsr_context_t context = nullptr;
    EXPECT_OK(tsrCreateContextEx(&options, &context));
    const tsr_status_t status = call(context);
    EXPECT_OK(tsrDestroyContext(context));
    EXPECT_OK(tsrUnregisterPlugin("old"));
    return status;
  }

  /// A message that no machine has memory for.
  tsr_collective_call_t hugeSend() {
    tsr_collective_call_t c{};
    c.struct_size = sizeof c;
    c.kind = TSR_SEND;
    c.dtype = TSR_DTYPE_U8;
    c.count = size_t{1} << 58;
    c.src = &number;
    return c;
  }

  tsr_stream_t s = nullptr;
  tsr_event_t e = nullptr;
  tsr_module_t m = nullptr;
  tsr_kernel_t k = nullptr;
  int64_t *word = nullptr;
  // Buffers for results.
  void *pointer = nullptr;
  const char *text = nullptr;
  int32_t number = 0;
};

struct Row {
  const char *function;
  tsr_status_t status;
  std::function<tsr_status_t(World &)> call;
};

#define ROW(function, status, ...)                                                                           \
  {#function, status, [](World &w) -> tsr_status_t {                                                         \
     (void)w;                                                                                                \
     return __VA_ARGS__;                                                                                     \
   }}
#define BLOCK(function, status, ...)                                                                         \
  {                                                                                                          \
    #function, status, [](World &w) -> tsr_status_t { __VA_ARGS__ }                                          \
  }

/// A mapper that never answers in time. It is set during the lifetime of this object.
struct LateMapper {
  LateMapper() {
    static const tsr_mapper_api_t table = {sizeof table,
                                           TSR_MAPPER_API_MAJOR,
                                           0,
                                           nullptr,
                                           [](tsr_mp_mapper_t *) {},
                                           nullptr,
                                           nullptr,
                                           [](tsr_mp_mapper_t *, const tsr_mp_variant_t *, tsr_mp_answer_t *,
                                              tsr_text_t *) -> int32_t { return TSR_ETIMEOUT; }};
    EXPECT_OK(tsrSetMapperTable(&table, reinterpret_cast<tsr_mp_mapper *>(this), "late"));
  }
  ~LateMapper() { EXPECT_OK(tsrSetMapper(nullptr)); }
};

const Row kRows[] = {
    ROW(tsrSetLogCallback, TSR_EINVAL, tsrSetLogCallback(nullptr, nullptr, static_cast<tsr_log_level_t>(9))),
    ROW(tsrGetBackendInfo, TSR_EINVAL, tsrGetBackendInfo(0, nullptr)),
    BLOCK(tsrGetBackendInfo, TSR_ENOTFOUND, tsr_backend_info_t info{}; info.struct_size = sizeof info;
          return tsrGetBackendInfo(99, &info);),
    ROW(tsrSelectBackend, TSR_ENOTFOUND, tsrSelectBackend("cuda")),
    ROW(tsrSelectBackend, TSR_UNIMPLEMENTED, tsrSelectBackend("rocm")),
    ROW(tsrGetConfig, TSR_EINVAL, tsrGetConfig(nullptr)),
    ROW(tsrGetLoadReport, TSR_EINVAL, tsrGetLoadReport(0, nullptr)),
    ROW(tsrResetQuarantine, TSR_EINVAL, tsrResetQuarantine(nullptr)),
    ROW(tsrRegisterPlugin, TSR_EINVAL, tsrRegisterPlugin(nullptr)),
    ROW(tsrRegisterPlugin, TSR_UNIMPLEMENTED,
        tsrRegisterPlugin([](const tsr_host_info_t *, tsr_plugin_info_t *info) -> int32_t {
          info->abi_major = TSR_PLUGIN_ABI_MAJOR + 1;
          info->kinds = TSR_PLUGIN_BACKEND;
          info->name = "from-the-future", info->version = "1";
          return TSR_SUCCESS;
        })),
    ROW(tsrUnregisterPlugin, TSR_EINVAL, tsrUnregisterPlugin(nullptr)),
    ROW(tsrUnregisterPlugin, TSR_ENOTFOUND, tsrUnregisterPlugin("nobody")),
    ROW(tsrGetDeviceCount, TSR_EINVAL, tsrGetDeviceCount("cpu", nullptr)),
    ROW(tsrGetDeviceCount, TSR_ENOTFOUND, tsrGetDeviceCount("cuda", &w.number)),
    ROW(tsrGetDeviceCount, TSR_UNIMPLEMENTED, tsrGetDeviceCount("rocm", &w.number)),
    ROW(tsrGetBackendDeviceInfo, TSR_EINVAL, tsrGetBackendDeviceInfo("cpu", 0, nullptr)),
    ROW(tsrGetBackendDeviceInfo, TSR_ENOTFOUND, tsrGetBackendDeviceInfo("cpu", 1, nullptr)),
    ROW(tsrGetBackendDeviceInfo, TSR_UNIMPLEMENTED, tsrGetBackendDeviceInfo("rocm", 0, nullptr)),
    ROW(tsrGetBackendDeviceCapabilities, TSR_EINVAL, tsrGetBackendDeviceCapabilities("cpu", 0, nullptr)),
    ROW(tsrGetBackendDeviceCapabilities, TSR_ENOTFOUND, tsrGetBackendDeviceCapabilities("cpu", -1, &w.text)),
    ROW(tsrGetBackendDeviceCapabilities, TSR_UNIMPLEMENTED,
        tsrGetBackendDeviceCapabilities("rocm", 0, &w.text)),
    ROW(tsrCreateContext, TSR_EINVAL, tsrCreateContext(nullptr)),
    BLOCK(tsrCreateContext, TSR_ENOTFOUND, setenv("TESSERA_BACKEND", "cuda", 1); tsr_context_t c;
          tsr_status_t status = tsrCreateContext(&c); unsetenv("TESSERA_BACKEND"); return status;),
    BLOCK(tsrCreateContext, TSR_UNIMPLEMENTED, setenv("TESSERA_BACKEND", "rocm", 1); tsr_context_t c;
          tsr_status_t status = tsrCreateContext(&c); unsetenv("TESSERA_BACKEND"); return status;),
    ROW(tsrCreateContextEx, TSR_EINVAL, tsrCreateContextEx(nullptr, nullptr)),
    BLOCK(tsrCreateContextEx, TSR_ENOTFOUND, tsr_context_options_t o{}; o.struct_size = sizeof o;
          o.device = 1; tsr_context_t c; return tsrCreateContextEx(&o, &c);),
    BLOCK(tsrCreateContextEx, TSR_UNIMPLEMENTED, tsr_context_options_t o{}; o.struct_size = sizeof o;
          o.backend = "rocm"; tsr_context_t c; return tsrCreateContextEx(&o, &c);),
    ROW(tsrDestroyContext, TSR_EINVAL, tsrDestroyContext(nullptr)),
    ROW(tsrGetDeviceInfo, TSR_EINVAL, tsrGetDeviceInfo(w.context, nullptr)),
    ROW(tsrGetDeviceCapabilities, TSR_EINVAL, tsrGetDeviceCapabilities(w.context, nullptr)),
    ROW(tsrGetDeviceCapability, TSR_EINVAL, tsrGetDeviceCapability(w.context, nullptr, &w.text)),
    ROW(tsrGetDeviceCapability, TSR_ENOTFOUND, tsrGetDeviceCapability(w.context, "tensorcores", &w.text)),
    ROW(tsrAlloc, TSR_EINVAL, tsrAlloc(w.context, 64, 77, &w.pointer)),
    ROW(tsrAlloc, TSR_EOOM, tsrAlloc(w.context, SIZE_MAX, TSR_MEM_DEVICE, &w.pointer)),
    ROW(tsrFree, TSR_EINVAL, tsrFree(w.context, &w)),
    ROW(tsrGetMemoryInfo, TSR_EINVAL, tsrGetMemoryInfo(w.context, nullptr)),
    ROW(tsrTrimMemory, TSR_EINVAL, tsrTrimMemory(nullptr)),
    ROW(tsrMemcpyH2D, TSR_EINVAL, tsrMemcpyH2D(w.context, w.word, nullptr, 8)),
    ROW(tsrMemcpyD2H, TSR_EINVAL, tsrMemcpyD2H(w.context, nullptr, w.word, 8)),
    ROW(tsrMemcpyD2D, TSR_EINVAL, tsrMemcpyD2D(w.context, w.word, w.word, 9)),
    ROW(tsrMemcpyH2DAsync, TSR_EINVAL, tsrMemcpyH2DAsync(w.context, &w, w.word, 8, w.s)),
    ROW(tsrMemcpyD2HAsync, TSR_EINVAL, tsrMemcpyD2HAsync(w.context, w.word, &w, 8, w.s)),
    ROW(tsrMemcpyD2DAsync, TSR_EINVAL, tsrMemcpyD2DAsync(nullptr, w.word, w.word, 8, w.s)),
    ROW(tsrMemset, TSR_EINVAL, tsrMemset(w.context, w.word, 256, 8)),
    ROW(tsrMemsetAsync, TSR_EINVAL, tsrMemsetAsync(w.context, w.word, 0, 9, w.s)),
    ROW(tsrCreateStream, TSR_EINVAL, tsrCreateStream(w.context, nullptr)),
    BLOCK(tsrDestroyStream, TSR_EINVAL, tsr_stream_t s; EXPECT_OK(tsrGetDefaultStream(w.context, &s));
          return tsrDestroyStream(s);),
    ROW(tsrGetDefaultStream, TSR_EINVAL, tsrGetDefaultStream(w.context, nullptr)),
    ROW(tsrStreamSynchronize, TSR_EINVAL, tsrStreamSynchronize(nullptr)),
    ROW(tsrStreamSynchronizeFor, TSR_EINVAL, tsrStreamSynchronizeFor(nullptr, 1)),
    ROW(tsrStreamSynchronizeFor, TSR_ETIMEOUT, w.whileBusy([&] { return tsrStreamSynchronizeFor(w.s, 1); })),
    ROW(tsrStreamQuery, TSR_EINVAL, tsrStreamQuery(nullptr)),
    ROW(tsrStreamQuery, TSR_NOT_READY, w.whileBusy([&] { return tsrStreamQuery(w.s); })),
    BLOCK(tsrStreamNative, TSR_EINVAL, tsr_native_stream_t n{}; n.struct_size = sizeof n;
          return tsrStreamNative(nullptr, &n);),
    BLOCK(tsrStreamNative, TSR_EINVAL, tsr_native_stream_t n{}; n.struct_size = sizeof n;
          EXPECT_OK(tsrStreamBeginCapture(w.s)); return tsrStreamNative(w.s, &n);),
    BLOCK(tsrStreamNative, TSR_UNIMPLEMENTED, tsr_native_stream_t n{}; n.struct_size = sizeof n;
          return tsrStreamNative(w.s, &n);),
    ROW(tsrStreamWaitNative, TSR_EINVAL, tsrStreamWaitNative(w.s, nullptr)),
    BLOCK(tsrStreamWaitNative, TSR_EINVAL, const tsr_native_stream_t n = {sizeof n, nullptr, nullptr};
          return tsrStreamWaitNative(w.s, &n);),
    BLOCK(tsrStreamWaitNative, TSR_EINVAL, const tsr_native_stream_t n = {sizeof n, "cuda", nullptr};
          EXPECT_OK(tsrStreamBeginCapture(w.s)); return tsrStreamWaitNative(w.s, &n);),
    BLOCK(tsrStreamWaitNative, TSR_UNIMPLEMENTED, const tsr_native_stream_t n = {sizeof n, "cuda", nullptr};
          return tsrStreamWaitNative(w.s, &n);),
    ROW(tsrNativeWaitStream, TSR_EINVAL, tsrNativeWaitStream(nullptr, w.s)),
    BLOCK(tsrNativeWaitStream, TSR_EINVAL, const tsr_native_stream_t n = {sizeof n, "cuda", nullptr};
          EXPECT_OK(tsrStreamBeginCapture(w.s)); return tsrNativeWaitStream(&n, w.s);),
    BLOCK(tsrNativeWaitStream, TSR_UNIMPLEMENTED, const tsr_native_stream_t n = {sizeof n, "cuda", nullptr};
          return tsrNativeWaitStream(&n, w.s);),
    ROW(tsrSynchronize, TSR_EINVAL, tsrSynchronize(nullptr)),
    ROW(tsrCreateEvent, TSR_EINVAL, tsrCreateEvent(w.context, nullptr)),
    ROW(tsrDestroyEvent, TSR_EINVAL, tsrDestroyEvent(nullptr)),
    ROW(tsrEventRecord, TSR_EINVAL, tsrEventRecord(nullptr, w.s)),
    ROW(tsrStreamWaitEvent, TSR_EINVAL, tsrStreamWaitEvent(w.s, nullptr)),
    ROW(tsrEventSynchronize, TSR_EINVAL, tsrEventSynchronize(nullptr)),
    ROW(tsrEventQuery, TSR_EINVAL, tsrEventQuery(nullptr)),
    ROW(tsrEventQuery, TSR_NOT_READY, w.whileBusy([&] {
      EXPECT_OK(tsrEventRecord(w.e, w.s));
      return tsrEventQuery(w.e);
    })),
    BLOCK(tsrEventElapsedMs, TSR_EINVAL, double ms; return tsrEventElapsedMs(w.e, w.e, &ms);), // not recorded
    ROW(tsrEventElapsedMs, TSR_NOT_READY, w.whileBusy([&] {
      double ms;
      EXPECT_OK(tsrEventRecord(w.e, w.s));
      return tsrEventElapsedMs(w.e, w.e, &ms);
    })),
    // The first rows that need the compiler. The next row loads it again after these failures.
    BLOCK(tsrReadDefinition, TSR_ENOTFOUND, setenv("FAKE_COMPILER_REFUSES", "1", 1);
          tsr_status_t status = w.read("good"); unsetenv("FAKE_COMPILER_REFUSES"); return status;),
    BLOCK(tsrLoadModuleFromSource, TSR_ENOTFOUND, setenv("FAKE_COMPILER_REFUSES", "1", 1);
          tsr_status_t status = w.source("good"); unsetenv("FAKE_COMPILER_REFUSES"); return status;),
    ROW(tsrLoadModuleFromSource, TSR_EINVAL, tsrLoadModuleFromSource(w.context, "", 0, nullptr, nullptr)),
    ROW(tsrLoadModuleFromSource, TSR_ECOMPILE, w.source("syntax")),
    ROW(tsrLoadModuleFromSource, TSR_UNIMPLEMENTED, w.source("missing")),
    BLOCK(tsrLoadModuleFromSource, TSR_ETIMEOUT, LateMapper mapper; return w.source("choose");),
    BLOCK(tsrCompile, TSR_ENOTFOUND, setenv("TESSERA_BACKEND", "cuda", 1);
          tsr_status_t status = w.compile("good"); unsetenv("TESSERA_BACKEND"); return status;),
    ROW(tsrCompile, TSR_EINVAL, tsrCompile("", 0, nullptr, nullptr, nullptr)),
    ROW(tsrCompile, TSR_ECOMPILE, w.compile("syntax")),
    ROW(tsrCompile, TSR_UNIMPLEMENTED, w.compile("missing")),
    BLOCK(tsrCompile, TSR_ETIMEOUT, LateMapper mapper; return w.compile("choose");),
    BLOCK(tsrCompileToFile, TSR_ENOTFOUND, setenv("TESSERA_BACKEND", "cuda", 1);
          tsr_status_t status = w.compileToFile("good"); unsetenv("TESSERA_BACKEND"); return status;),
    ROW(tsrCompileToFile, TSR_EINVAL, tsrCompileToFile("", 0, nullptr, nullptr)),
    ROW(tsrCompileToFile, TSR_EIO, w.compileToFile("good", "/nonexistent/good.tsrb")),
    ROW(tsrCompileToFile, TSR_ECOMPILE, w.compileToFile("syntax")),
    ROW(tsrCompileToFile, TSR_UNIMPLEMENTED, w.compileToFile("missing")),
    BLOCK(tsrCompileToFile, TSR_ETIMEOUT, LateMapper mapper; return w.compileToFile("choose");),
    BLOCK(tsrInspectIr, TSR_ENOTFOUND, setenv("TESSERA_BACKEND", "cuda", 1);
          tsr_status_t status = w.inspect("good"); unsetenv("TESSERA_BACKEND"); return status;),
    ROW(tsrKernelSolveDims, TSR_EINVAL, tsrKernelSolveDims(w.k, nullptr, 0, nullptr, 0)),
    ROW(tsrReadDefinition, TSR_EINVAL, tsrReadDefinition("f", 1, nullptr, nullptr)),
    ROW(tsrReadDefinition, TSR_ECOMPILE, w.read("syntax")),
    ROW(tsrInspectIr, TSR_EINVAL, w.inspect("good", 5)),
    ROW(tsrInspectIr, TSR_ECOMPILE, w.inspect("syntax")),
    ROW(tsrInspectIr, TSR_UNIMPLEMENTED, w.inspect("missing")),
    BLOCK(tsrInspectIr, TSR_ETIMEOUT, LateMapper mapper; return w.inspect("choose");),
    ROW(tsrSetMapper, TSR_EINVAL, tsrSetMapper("random")),
    ROW(tsrSetMapper, TSR_ENOTFOUND, tsrSetMapper("nobody")),
    ROW(tsrSetMapper, TSR_EIO, tsrSetMapper("replay(/nonexistent/decisions.yaml)")),
    ROW(tsrSetMapperTable, TSR_EINVAL, tsrSetMapperTable(nullptr, nullptr, "none")),
    ROW(tsrLoadModule, TSR_EINVAL, w.load("no bundle")),
    ROW(tsrLoadModule, TSR_ENOTFOUND, w.load(World::bundle("ptx:sm_90"))),
    ROW(tsrLoadModule, TSR_UNIMPLEMENTED, w.load(World::bundle("cpu:x86-64", 9))),
    ROW(tsrLoadModuleFromFile, TSR_EINVAL, tsrLoadModuleFromFile(w.context, nullptr, nullptr, nullptr)),
    ROW(tsrLoadModuleFromFile, TSR_EIO, w.loadFile("/nowhere/at/all.tsrb")),
    ROW(tsrLoadModuleFromFile, TSR_ENOTFOUND, w.loadFromFile(World::bundle("ptx:sm_90"))),
    ROW(tsrLoadModuleFromFile, TSR_UNIMPLEMENTED, w.loadFromFile(World::bundle("cpu:x86-64", 9))),
    ROW(tsrLoadModuleEx, TSR_EINVAL, w.loadImage("no image")),
    ROW(tsrLoadModuleEx, TSR_UNIMPLEMENTED, w.loadImage("//\n.version 8.0\n.target sm_90\n")),
    ROW(tsrUnloadModule, TSR_EINVAL, tsrUnloadModule(nullptr)),
    ROW(tsrGetKernel, TSR_EINVAL, tsrGetKernel(w.m, "digit", nullptr)),
    ROW(tsrGetKernel, TSR_ENOTFOUND, tsrGetKernel(w.m, nullptr, &w.k)), // there are two kernels
    ROW(tsrKernelMetadata, TSR_EINVAL, tsrKernelMetadata(w.k, nullptr)),
    ROW(tsrGetModuleKernel, TSR_EINVAL, tsrGetModuleKernel(w.m, 0, nullptr)),
    BLOCK(tsrGetModuleKernel, TSR_ENOTFOUND, tsr_kernel_t k; return tsrGetModuleKernel(w.m, 2, &k);),
    ROW(tsrGetKernelInfo, TSR_EINVAL, tsrGetKernelInfo(w.k, nullptr)),
    ROW(tsrKernelArgDim, TSR_EINVAL, tsrKernelArgDim(w.k, 0, 0, nullptr)),
    BLOCK(tsrKernelArgDim, TSR_ENOTFOUND, tsr_dim_info_t info{}; info.struct_size = sizeof info;
          return tsrKernelArgDim(w.k, 1, 0, &info);),
    ROW(tsrKernelArgInfo, TSR_EINVAL, tsrKernelArgInfo(w.k, 0, nullptr)),
    BLOCK(tsrKernelArgInfo, TSR_ENOTFOUND, tsr_arg_info_t info{}; info.struct_size = sizeof info;
          return tsrKernelArgInfo(w.k, 2, &info);),
    ROW(tsrLaunch, TSR_EINVAL, tsrLaunch(w.k, w.s, kFromMetadata, nullptr, 0)),
    ROW(tsrLaunch, TSR_EOOM, w.withoutRoom([&](tsr_kernel_t f, void **args) {
      return tsrLaunch(f, w.s, kFromMetadata, args, 2);
    })),
    ROW(tsrKernelWorkspace, TSR_EINVAL, tsrKernelWorkspace(w.k, nullptr, 0, nullptr)),
    ROW(tsrLaunchEx, TSR_EOOM, w.withoutRoom([&](tsr_kernel_t f, void **args) {
      tsr_launch_ex_t l{};
      l.struct_size = sizeof l;
      l.args = args;
      l.nargs = 2;
      return tsrLaunchEx(f, w.s, &l);
    })),
    ROW(tsrLaunchEx, TSR_EINVAL, tsrLaunchEx(w.k, w.s, nullptr)),
    BLOCK(tsrLaunchEx, TSR_UNIMPLEMENTED, tsr_launch_ex_t l{}; l.struct_size = sizeof l; l.flags = 1;
          return tsrLaunchEx(w.k, w.s, &l);),
    BLOCK(tsrStreamBeginCapture, TSR_EINVAL, EXPECT_OK(tsrStreamBeginCapture(w.s));
          return tsrStreamBeginCapture(w.s);),
    BLOCK(tsrStreamEndCapture, TSR_EINVAL, tsr_graph_t g; return tsrStreamEndCapture(w.s, &g);),
    ROW(tsrStreamIsCapturing, TSR_EINVAL, tsrStreamIsCapturing(w.s, nullptr)),
    ROW(tsrGraphLaunch, TSR_EINVAL, tsrGraphLaunch(nullptr, w.s)),
    ROW(tsrGraphInfo, TSR_EINVAL, tsrGraphInfo(w.graph(), nullptr)),
    ROW(tsrDestroyGraph, TSR_EINVAL, tsrDestroyGraph(nullptr)),
    ROW(tsrContextEnablePeer, TSR_EINVAL, tsrContextEnablePeer(w.context, w.context)),
    BLOCK(tsrContextEnablePeer, TSR_UNIMPLEMENTED, tsr_context_t other; EXPECT_OK(tsrCreateContext(&other));
          tsr_status_t status = tsrContextEnablePeer(w.context, other); EXPECT_OK(tsrDestroyContext(other));
          return status;),
    ROW(tsrTraceStart, TSR_EINVAL, tsrTraceStart(nullptr)),
    ROW(tsrTraceStart, TSR_UNIMPLEMENTED, World::onOldBackend([](tsr_context_t) {
          const tsr_trace_options_t trace = {sizeof trace, [](void *, const tsr_trace_record_t *) {}, nullptr,
                                             0};
          return tsrTraceStart(&trace);
        })),
    ROW(tsrTraceStop, TSR_EINVAL, tsrTraceStop()),
    ROW(tsrRangePush, TSR_EINVAL, tsrRangePush(w.context, nullptr)),
    ROW(tsrRangePop, TSR_EINVAL, tsrRangePop(w.context)),
    ROW(tsrCreateComm, TSR_EINVAL, tsrCreateComm(nullptr, nullptr)),
    ROW(tsrCreateComm, TSR_ENOTFOUND, w.createComm("carrier pigeons", 1)),
    ROW(tsrCreateComm, TSR_ETIMEOUT, w.createComm(nullptr, 2)),
    ROW(tsrDestroyComm, TSR_EINVAL, tsrDestroyComm(nullptr)),
    ROW(tsrCommInfo, TSR_EINVAL, tsrCommInfo(w.comm(), nullptr)),
    ROW(tsrCommDecisions, TSR_EINVAL, tsrCommDecisions(w.comm(), nullptr)),
    ROW(tsrAllReduce, TSR_EINVAL, tsrAllReduce(w.comm(), nullptr, nullptr, 1, TSR_DTYPE_F32, TSR_REDUCE_SUM)),
    ROW(tsrAllReduce, TSR_ETIMEOUT, w.broken([&](tsr_comm_t c) {
      return tsrAllReduce(c, w.word, w.word, 1, TSR_DTYPE_I64, TSR_REDUCE_SUM);
    })),
    ROW(tsrBroadcast, TSR_EINVAL, tsrBroadcast(w.comm(), w.word, w.word, 1, TSR_DTYPE_I64, 1)),
    ROW(tsrBroadcast, TSR_ETIMEOUT,
        w.broken([&](tsr_comm_t c) { return tsrBroadcast(c, w.word, w.word, 1, TSR_DTYPE_I64, 0); })),
    ROW(tsrAllGather, TSR_EINVAL, tsrAllGather(w.comm(), w.word, w.word, 1, TSR_DTYPE_I64)),
    ROW(tsrAllGather, TSR_ETIMEOUT,
        w.broken([&](tsr_comm_t c) { return tsrAllGather(c, &w.number, w.word, 1, TSR_DTYPE_I32); })),
    ROW(tsrReduceScatter, TSR_EINVAL,
        tsrReduceScatter(w.comm(), w.word, w.word, 1, TSR_DTYPE_I64, TSR_REDUCE_SUM)),
    ROW(tsrReduceScatter, TSR_ETIMEOUT, w.broken([&](tsr_comm_t c) {
      return tsrReduceScatter(c, w.word, &w.number, 1, TSR_DTYPE_I32, TSR_REDUCE_SUM);
    })),
    ROW(tsrCommSplit, TSR_EINVAL, tsrCommSplit(w.comm(), 0, 0, nullptr)),
    BLOCK(tsrCommSplit, TSR_ETIMEOUT, tsr_comm_t out;
          return w.broken([&](tsr_comm_t c) { return tsrCommSplit(c, 0, 0, &out); });),
    BLOCK(tsrCommSplit, TSR_UNIMPLEMENTED, tsr_comm_t out;
          return World::onOldCollectives([&](tsr_comm_t c) { return tsrCommSplit(c, 0, 0, &out); });),
    ROW(tsrCommAbort, TSR_EINVAL, tsrCommAbort(nullptr, "")),
    ROW(tsrCommAbort, TSR_UNIMPLEMENTED,
        World::onOldCollectives([](tsr_comm_t c) { return tsrCommAbort(c, ""); })),
    ROW(tsrAllToAll, TSR_EINVAL, tsrAllToAll(w.comm(), w.word, w.word, 1, TSR_DTYPE_I64)),
    ROW(tsrAllToAll, TSR_ETIMEOUT,
        w.broken([&](tsr_comm_t c) { return tsrAllToAll(c, &w.number, w.word, 1, TSR_DTYPE_I32); })),
    ROW(tsrAllToAll, TSR_UNIMPLEMENTED, World::onOldCollectives([&](tsr_comm_t c) {
          return tsrAllToAll(c, &w.number, w.word, 1, TSR_DTYPE_I32);
        })),
    ROW(tsrSend, TSR_EINVAL, tsrSend(w.comm(), w.word, 1, TSR_DTYPE_I64, 1, 0)),
    ROW(tsrSend, TSR_EOOM, tsrSend(w.comm(), w.word, w.hugeSend().count, TSR_DTYPE_U8, 0, 0)),
    ROW(tsrSend, TSR_UNIMPLEMENTED,
        World::onOldCollectives([&](tsr_comm_t c) { return tsrSend(c, w.word, 1, TSR_DTYPE_I64, 0, 0); })),
    ROW(tsrRecv, TSR_EINVAL, tsrRecv(w.comm(), w.word, 1, TSR_DTYPE_I64, 0, 8192)),
    ROW(tsrRecv, TSR_ETIMEOUT, tsrRecv(w.comm(), w.word, 1, TSR_DTYPE_I64, 0, 0)),
    ROW(tsrRecv, TSR_UNIMPLEMENTED,
        World::onOldCollectives([&](tsr_comm_t c) { return tsrRecv(c, w.word, 1, TSR_DTYPE_I64, 0, 0); })),
    ROW(tsrCollective, TSR_EINVAL, tsrCollective(w.comm(), nullptr)),
    BLOCK(tsrCollective, TSR_EOOM, const auto call = w.hugeSend(); return tsrCollective(w.comm(), &call);),
    BLOCK(tsrCollective, TSR_UNIMPLEMENTED, const auto call = w.hugeSend();
          return World::onOldCollectives([&](tsr_comm_t c) { return tsrCollective(c, &call); });),
    ROW(tsrCollectiveAsync, TSR_EINVAL, tsrCollectiveAsync(w.comm(), nullptr, w.s)),
    ROW(tsrCollectiveAsync, TSR_UNIMPLEMENTED, World::onOldBackend([&](tsr_context_t context) {
          tsr_stream_t s = nullptr;
          EXPECT_OK(tsrGetDefaultStream(context, &s));
          const tsr_collective_call_t call = {sizeof call,
                                              TSR_BROADCAST,
                                              TSR_DTYPE_U8,
                                              0,
                                              0,
                                              1,
                                              &w.number,
                                              &w.number,
                                              nullptr,
                                              0,
                                              nullptr,
                                              0,
                                              0};
          return tsrCollectiveAsync(w.comm(), &call, s);
        })),
    ROW(tsrCollective, TSR_ETIMEOUT, w.alone(TSR_ALL_REDUCE)),
#if !defined(__has_feature) || !__has_feature(thread_sanitizer) // tsan cannot start threads after a fork
    ROW(tsrMemcpyH2D, TSR_EDEVICE,
        w.onDefaultInChild([&] { return tsrMemcpyH2D(w.context, w.word, &w, 8); })),
    ROW(tsrMemcpyD2H, TSR_EDEVICE,
        w.onDefaultInChild([&] { return tsrMemcpyD2H(w.context, &w.pointer, w.word, 8); })),
    ROW(tsrMemcpyD2D, TSR_EDEVICE,
        w.onDefaultInChild([&] { return tsrMemcpyD2D(w.context, w.word, w.word, 8); })),
    ROW(tsrMemset, TSR_EDEVICE, w.onDefaultInChild([&] { return tsrMemset(w.context, w.word, 0, 8); })),
    ROW(tsrMemcpyH2DAsync, TSR_EDEVICE,
        w.inChild([&] { return tsrMemcpyH2DAsync(w.context, w.word, &w, 8, w.s); })),
    ROW(tsrMemcpyD2HAsync, TSR_EDEVICE,
        w.inChild([&] { return tsrMemcpyD2HAsync(w.context, &w.pointer, w.word, 8, w.s); })),
    ROW(tsrMemcpyD2DAsync, TSR_EDEVICE,
        w.inChild([&] { return tsrMemcpyD2DAsync(w.context, w.word, w.word, 8, w.s); })),
    ROW(tsrMemsetAsync, TSR_EDEVICE, w.inChild([&] { return tsrMemsetAsync(w.context, w.word, 0, 8, w.s); })),
    ROW(tsrStreamSynchronize, TSR_EDEVICE, w.inChild([&] { return tsrStreamSynchronize(w.s); })),
    ROW(tsrStreamSynchronizeFor, TSR_EDEVICE, w.inChild([&] { return tsrStreamSynchronizeFor(w.s, 1); })),
    ROW(tsrStreamQuery, TSR_EDEVICE, w.inChild([&] { return tsrStreamQuery(w.s); })),
    ROW(tsrSynchronize, TSR_EDEVICE, w.inChild([&] { return tsrSynchronize(w.context); })),
    ROW(tsrEventRecord, TSR_EDEVICE, w.inChild([&] { return tsrEventRecord(w.e, w.s); })),
    BLOCK(tsrStreamWaitEvent, TSR_EDEVICE, EXPECT_OK(tsrEventRecord(w.e, w.s));
          return w.inChild([&] { return tsrStreamWaitEvent(w.s, w.e); });),
    ROW(tsrLaunch, TSR_EDEVICE, w.inChild([&] { return w.launch(w.k, w.s, w.word, int32_t{1}); })),
    BLOCK(tsrLaunchEx, TSR_EDEVICE, int32_t one = 1; void *args[] = {&w.word, &one}; tsr_launch_ex_t l{};
          l.struct_size = sizeof l; l.args = args; l.nargs = 2;
          return w.inChild([&] { return tsrLaunchEx(w.k, w.s, &l); });),
    BLOCK(tsrGraphLaunch, TSR_EDEVICE, tsr_graph_t g = w.graph();
          return w.inChild([&] { return tsrGraphLaunch(g, w.s); });),
#endif
};

/// Maps each function to the statuses after "Errors:" in the comment before it, or before the first of its
/// group.
std::map<std::string, std::set<std::string>> promises() {
  std::ifstream file(TESSERA_HEADER);
  std::string header(std::istreambuf_iterator<char>(file), {});
  EXPECT_FALSE(header.empty()) << TESSERA_HEADER;
  std::map<std::string, std::set<std::string>> out;
  std::set<std::string> current;
  // Matches a comment at the start of a line, or a declaration.
  const std::regex piece(R"(\n/\*([^*]|\*[^/])*\*/|\nTSR_API ([a-z_]+ [*]?|const char [*])(tsr\w+)\()");
  const std::regex errors(R"(Errors:((\s|\*|,|TSR_\w+)+)\.)"), status(R"(TSR_\w+)");
  for (std::sregex_iterator i(header.begin(), header.end(), piece), end; i != end; ++i) {
    const std::string text = i->str();
    if (text[1] == '/') {
      current.clear();
      std::smatch list;
      if (!std::regex_search(text, list, errors)) continue;
      const std::string names = list[1];
      for (std::sregex_iterator s(names.begin(), names.end(), status); s != end; ++s)
        current.insert(s->str());
    } else if ((*i)[2] == "tsr_status_t ") {
      out[(*i)[3]] = current;
    }
  }
  return out;
}

TEST(Errors, EachPromiseHasItsRow) {
  std::map<std::string, std::set<std::string>> rows;
  for (const Row &row : kRows)
    rows[row.function].insert(tsrStatusName(row.status));
  auto promised = promises();
  EXPECT_GE(promised.size(), 50u); // otherwise the header was not parsed correctly
  for (auto &[function, statuses] : promised)
    EXPECT_FALSE(statuses.empty()) << function << ": the header does not say its errors";
#if !defined(__has_feature) || !__has_feature(thread_sanitizer)
  for (auto &[function, statuses] : promised)
    EXPECT_EQ(rows[function], statuses) << function << ": rows of this file beside the header's Errors:";
#endif
  for (auto &[function, statuses] : rows)
    EXPECT_TRUE(promised.count(function)) << function << " is not in the header";
}

TEST(Errors, EachRowAppears) {
  for (const Row &row : kRows) {
    SCOPED_TRACE(std::string(row.function) + " " + tsrStatusName(row.status));
    World world;
    world.SetUp();
    EXPECT_EQ(row.call(world), row.status) << tsrLastError();
    if (row.status != TSR_NOT_READY) EXPECT_STRNE(tsrLastError(), "");
    world.TearDown();
  }
}

} // namespace
