// The cost of the plugin boundary: a call through a C table next to a virtual call, on an object that does
// the same either way; and the cost of finding plugins.
#include "bench/Benchmarks.h"
#include "bench/Timing.h"
#include "tools/host/Host.h"
#include <array>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <tessera/plugin.hpp>

namespace tessera::bench {
namespace {

constexpr int kCalls = 10000; // per timing

/// Does the same as plugins/null.
class Stream final : public DeviceStream {
public:
  tsr_status_t copy(void *dst, const void *src, size_t bytes, bool, std::string &) override {
    if (bytes) std::memmove(dst, src, bytes);
    return TSR_SUCCESS;
  }
  tsr_status_t query(std::string &) override { return TSR_SUCCESS; }
  tsr_status_t fill(void *, uint8_t, size_t, bool, std::string &) override { return TSR_UNIMPLEMENTED; }
  tsr_status_t launch(const std::shared_ptr<DeviceKernel> &, const uint64_t *, const LaunchGrid &,
                      std::string &) override {
    return TSR_UNIMPLEMENTED;
  }
  tsr_status_t record(const std::shared_ptr<DeviceEvent> &, std::string &) override {
    return TSR_UNIMPLEMENTED;
  }
  tsr_status_t wait(const std::shared_ptr<DeviceEvent> &, std::string &) override {
    return TSR_UNIMPLEMENTED;
  }
  tsr_status_t synchronize(uint64_t, std::string &) override { return TSR_SUCCESS; }
  void drain() override {}
};

const DeviceInfo kDevice = {"bench", "bench", "{}", 0, 0, 1, 0};

class Context final : public DeviceContext {
public:
  const DeviceInfo &info() const override { return kDevice; }
  tsr_status_t alloc(size_t, uint32_t, void **, std::string &) override { return TSR_UNIMPLEMENTED; }
  tsr_status_t free(void *, std::string &) override { return TSR_UNIMPLEMENTED; }
  std::optional<size_t> available(const void *) override { return std::nullopt; }
  MemoryUse memoryUse() override { return {}; }
  void trim() override {}
  std::unique_ptr<DeviceStream> createStream(std::string &) override { return std::make_unique<Stream>(); }
  std::unique_ptr<DeviceEvent> createEvent(std::string &) override { return nullptr; }
  std::shared_ptr<DeviceModule> loadModule(const ModuleImage &, std::string &) override { return nullptr; }
};

class BenchBackend final : public Backend {
public:
  int deviceCount() const override { return 1; }
  tsr_status_t probe(tsr_probe_t &, std::string &) override { return TSR_SUCCESS; }
  const DeviceInfo *deviceInfo(int, std::string &) override { return &kDevice; }
  std::unique_ptr<DeviceContext> createContext(int, const tsr_allocator_t *, std::string &) override {
    return std::make_unique<Context>();
  }
};

/// A stream reached through a table, created and destroyed as the runtime does.
class TableStream {
public:
  explicit TableStream(const tsr_backend_api_t *api) : api(api) {
    thunk::Text why;
    if (api->create(&kHost, &backend_, why) || api->context_create(backend_, 0, nullptr, &context_, why) ||
        api->stream_create(context_, &stream, why))
      throw std::runtime_error("a table gave no stream: " + why.str());
  }
  TableStream(const TableStream &) = delete;
  TableStream &operator=(const TableStream &) = delete;
  ~TableStream() {
    api->stream_destroy(stream);
    api->context_destroy(context_);
    api->destroy(backend_);
  }
  const tsr_backend_api_t *const api;
  tsr_be_stream_t *stream = nullptr;

private:
  static constexpr tsr_host_info_t kHost = {sizeof(tsr_host_info_t),
                                            TSR_PLUGIN_ABI_MAJOR,
                                            TSR_PLUGIN_ABI_MINOR,
                                            TSR_PLUGIN_ABI_FLOOR,
                                            0,
                                            "",
                                            "",
                                            nullptr,
                                            nullptr,
                                            ""};
  tsr_be_backend_t *backend_ = nullptr;
  tsr_be_context_t *context_ = nullptr;
};

std::filesystem::path beside(const char *relative) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / relative;
}

/// Returns the table of plugins/null, which stays loaded.
const tsr_backend_api_t *nullTable() {
  const std::string path = beside("../lib/tessera/libtessera-null.so").lexically_normal();
  void *object = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  auto query = object ? reinterpret_cast<tsr_plugin_query_fn>(dlsym(object, "tsrPluginQuery")) : nullptr;
  tsr_plugin_info_t info{};
  info.struct_size = sizeof info;
  if (!query || query(nullptr, &info) != TSR_SUCCESS)
    throw std::runtime_error(path + ": " + (object ? "no answer" : dlerror()));
  return info.backend;
}

/// Hides from the compiler which object it is.
template <class T> T *hidden(T *pointer) {
  asm volatile("" : "+r"(pointer));
  return pointer;
}

struct Way {
  const char *name;
  std::function<bool()> queries, copies; // each makes kCalls calls; false: a wrong result
};

/// Calls `call` to copy one word, kCalls times with changing values, and checks that each arrives.
template <class Call> bool copyAll(Call call) {
  uint64_t from = 0, to = ~uint64_t{0};
  for (int i = 0; i < kCalls; ++i) {
    from = uint64_t(i);
    if (call(&to, &from) != TSR_SUCCESS || *hidden(&to) != uint64_t(i)) return false;
  }
  return true;
}
template <class Call> bool queryAll(Call call) {
  for (int i = 0; i < kCalls; ++i)
    if (call() != TSR_SUCCESS) return false;
  return true;
}

Way virtualWay(DeviceStream &s) {
  return {"virtual call",
          [&] {
            return queryAll([&] {
              std::string why;
              return hidden(&s)->query(why);
            });
          },
          [&] {
            return copyAll([&](void *dst, const void *src) {
              std::string why;
              return hidden(&s)->copy(dst, src, 8, true, why);
            });
          }};
}

Way tableWay(const char *name, const TableStream &t) {
  return {name,
          [&] {
            return queryAll([&] {
              thunk::Text why;
              return hidden(t.api)->stream_query(t.stream, why);
            });
          },
          [&] {
            return copyAll([&](void *dst, const void *src) {
              thunk::Text why;
              return hidden(t.api)->stream_copy(t.stream, dst, src, 8, 1, why);
            });
          }};
}

/// The same calls through the C ABI, which adds handles, checks and the test for a capture.
Way libraryWay(tsr_context_t context, tsr_stream_t stream, void *word) {
  return {"C ABI over the same", [=] { return queryAll([=] { return tsrStreamQuery(stream); }); },
          [=] {
            return copyAll([=](void *dst, const void *src) {
              if (tsr_status_t status = tsrMemcpyH2D(context, word, src, 8)) return status;
              std::memcpy(dst, word, 8); // null's memory is host memory
              return TSR_SUCCESS;
            });
          }};
}

std::string nanoseconds(double seconds) { return fmt::format("{:.1f} ns", seconds * 1e9); }

} // namespace

Table benchPluginCalls(const Settings &) {
  Table table;
  table.title = "A call of a backend";
  table.notes = {
      "Medians over bursts of 10000 calls; query does nothing, copy moves 8 bytes, which are checked.",
      "ratio: to the virtual call. A call through a table consists of the stub that catches exceptions, the "
      "virtual call that it makes, and the caller's buffer for an error text."};
  table.columns = {"call", "query", "ratio", "copy of 8 B", "ratio"};
  Stream object;
  TableStream own(thunk::backendApi<BenchBackend>()), loaded(nullTable());
  host::Device device("null");
  tsr_stream_t stream = nullptr;
  host::check(tsrGetDefaultStream(device.handle(), &stream), "tsrGetDefaultStream");
  host::Buffer word(device, 8);
  const Way ways[] = {virtualWay(object), tableWay("table, same object", own),
                      tableWay("table, dlopen'd plugin", loaded),
                      libraryWay(device.handle(), stream, word.data())};
  double first[2] = {};
  for (const Way &way : ways) {
    table.rows.push_back({way.name});
    for (int column = 0; column < 2; ++column) {
      const auto &call = column ? way.copies : way.queries;
      table.ok = table.ok && call();
      const double seconds = measure([&] { table.ok = table.ok && call(); }).median / kCalls;
      if (first[column] == 0) first[column] = seconds;
      table.rows.back().push_back(nanoseconds(seconds));
      table.rows.back().push_back(fmt::format("{:.2f}", seconds / first[column]));
    }
  }
  return table;
}

namespace {

/// Returns the output of `tsr backends --json`, and the time from start to end.
nlohmann::json askTsr(double &seconds) {
  const std::string command = "'" + beside("tsr").string() + "' backends --json";
  std::string text;
  std::array<char, 4096> buffer;
  const auto start = Clock::now();
  FILE *pipe = ::popen(command.c_str(), "r");
  if (!pipe) throw std::runtime_error(command + ": cannot be started");
  while (size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe))
    text.append(buffer.data(), n);
  if (::pclose(pipe) != 0) throw std::runtime_error(command + " failed");
  seconds = secondsSince(start);
  return nlohmann::json::parse(text);
}

} // namespace

Table benchPluginFinding(const Settings &) {
  constexpr int kRuns = 21;
  Table table;
  table.title = "Finding plugins";
  table.notes = {
      fmt::format("Medians of {} runs of `tsr backends`. note: opening the file and reading its manifest. "
                  "probe: a process of its own that loads the plugin and asks for its devices. wall: the "
                  "whole program, shell included.",
                  kRuns)};
  table.columns = {"plugin", "note", "probe"};
  std::map<std::string, std::vector<double>> notes, probes;
  std::vector<double> walls;
  bool sawNull = false;
  for (int i = 0; i <= kRuns; ++i) {
    double seconds = 0;
    const nlohmann::json report = askTsr(seconds);
    if (i == 0) continue; // the first run warms up
    walls.push_back(seconds);
    for (const auto &row : report.at("plugins")) {
      const std::string name = row.at("name");
      if (row.contains("note_us")) notes[name].push_back(row["note_us"]);
      if (row.contains("probe_ms")) probes[name].push_back(row["probe_ms"]);
      sawNull |= name == "null" && row.value("devices", 0) == 1;
    }
  }
  table.ok = sawNull;
  for (auto &[name, values] : notes) {
    auto probe = probes.find(name);
    table.rows.push_back(
        {name, fmt::format("{:.1f} us", summarize(values).median),
         probe == probes.end() ? "-" : fmt::format("{:.1f} ms", summarize(probe->second).median)});
  }
  table.rows.push_back({"wall", "", fmt::format("{:.1f} ms", summarize(walls).median * 1e3)});
  return table;
}

} // namespace tessera::bench
