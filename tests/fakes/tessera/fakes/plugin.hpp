// A plugin of mocks, registered with the runtime during its lifetime. The runtime calls the mocks through the
// same C tables that plugin.hpp makes for any plugin, so a test observes the behaviour of a shared object.
//
//   NiceMock<MockBackend> backend;
//   FakePlugin plugin("fake", backend);
//   tessera::Context context("fake");
//
// A mock must outlive its plugin, and the plugin must outlive what the runtime made of it: declare them in
// that order.
#pragma once
#include <array>
#include <chrono>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <tessera/collective.hpp>
#include <tessera/fakes/backend.hpp>
#include <tessera/fakes/codegen.hpp>
#include <tessera/fakes/mapper.hpp>
#include <tessera/fakes/numerics.hpp>
#include <tessera/plugin.hpp>
#include <tessera/tessera.hpp>
#include <thread>
#include <utility>
#include <vector>

namespace tessera::fakes {

/// The largest number of fakes at one time.
inline constexpr size_t kFakePlugins = 8;

namespace detail {

/// The data of a fake that the runtime can reach while the plugin is registered.
struct Plugin {
  std::string name;
  Backend *backend = nullptr;
  MockMapper *mapper = nullptr;
  Collective *collective = nullptr;
  std::vector<NumericsProfile *> profiles;
  Codegen *codegen = nullptr;
  std::function<void()> onShutdown;
  tsr_plugin_info_t info{};
  tsr_backend_api_t backendTable{};
  tsr_mapper_api_t mapperTable{};
  tsr_collective_api_t collectiveTable{};
  tsr_numerics_api_t numericsTable{};
  tsr_codegen_api_t codegenTable{};
};

/// The functions of a table identify their plugin by a number, because a query has no user argument.
inline std::array<Plugin *, kFakePlugins> &plugins() {
  static std::array<Plugin *, kFakePlugins> all{};
  return all;
}
inline std::mutex &pluginsMutex() {
  static std::mutex mutex;
  return mutex;
}

/// Returns the object of plugin N that a member refers to; throws when the fake has none.
template <size_t N, class T> T &of(T *Plugin::*member) {
  std::lock_guard lock(pluginsMutex());
  if (Plugin *plugin = plugins()[N]; plugin && plugin->*member) return *(plugin->*member);
  throw std::logic_error("the fake is gone");
}

/// The runtime makes and deletes these objects, one for the probe and one for create; the mock belongs to the
/// test.
template <size_t N> struct ForwardedBackend final : Backend {
  Backend &to() const { return of<N>(&Plugin::backend); }
  int deviceCount() const override { return to().deviceCount(); }
  tsr_status_t probe(tsr_probe_t &out, std::string &why) override { return to().probe(out, why); }
  const DeviceInfo *deviceInfo(int device, std::string &why) override { return to().deviceInfo(device, why); }
  std::unique_ptr<DeviceContext> createContext(int device, const tsr_allocator_t *allocator,
                                               std::string &why) override {
    return to().createContext(device, allocator, why);
  }
};

template <size_t N> struct ForwardedMapper final : Mapper {
  explicit ForwardedMapper(std::string_view arguments) { to().create(std::string(arguments)); }
  MockMapper &to() const { return of<N>(&Plugin::mapper); }
  Choice place(const Region &r, const Mesh &m) override { return to().place(r, m); }
  Choice chooseCollective(const CollectiveCall &c) override { return to().chooseCollective(c); }
  Choice chooseVariant(const VariantCall &c) override { return to().chooseVariant(c); }
};

template <size_t N> struct ForwardedCollective final : Collective {
  Collective &to() const { return of<N>(&Plugin::collective); }
  std::unique_ptr<Communicator> create(const tsr_cl_options_t &options, tsr_status_t &status,
                                       std::string &why) override {
    return to().create(options, status, why);
  }
  const char *algorithms(uint32_t kind) const override { return to().algorithms(kind); }
  const char *topology() const override { return ""; } // the table contains the mock's
};

/// Implements tsr_backend_api_t::create for a mock that may refuse.
template <size_t N>
int32_t createBackend(const tsr_host_info_t *host, tsr_be_backend_t **out, tsr_text_t *why) {
  const int32_t status = thunk::guard(why, [&](std::string &text) -> int32_t {
    auto *mock = dynamic_cast<MockBackend *>(&of<N>(&Plugin::backend));
    return mock ? mock->create(text) : TSR_SUCCESS;
  });
  return status == TSR_SUCCESS ? thunk::backendApi<ForwardedBackend<N>>()->create(host, out, why) : status;
}

/// Implements tsr_numerics_api_t::profile.
template <size_t N> int32_t profile(uint32_t index, tsr_numerics_profile_t *out) {
  return thunk::guard(nullptr, [&](std::string &) -> int32_t {
    const NumericsProfile *row = nullptr;
    {
      std::lock_guard lock(pluginsMutex());
      if (Plugin *plugin = plugins()[N]; plugin && index < plugin->profiles.size())
        row = plugin->profiles[index];
    }
    if (!row) return TSR_ENOTFOUND;
    thunk::copyOut(out, thunk::numericsRow(*row));
    return TSR_SUCCESS;
  });
}

/// Implements tsr_codegen_api_t::target and ::compile.
template <size_t N> int32_t codegenTarget(uint32_t index, tsr_cg_target_t *out) {
  return thunk::guard(
      nullptr, [&](std::string &) { return thunk::codegenTarget(of<N>(&Plugin::codegen), index, out); });
}
template <size_t N>
int32_t codegenCompile(const tsr_cg_input_t *in, const tsr_cg_sink_t *image, const tsr_cg_sink_t *messages,
                       tsr_text_t *why) {
  return thunk::guard(why, [&](std::string &) {
    return thunk::codegenCompile(of<N>(&Plugin::codegen), in, image, messages);
  });
}

template <size_t N> int32_t query(const tsr_host_info_t *host, tsr_plugin_info_t *info) {
  tsr_plugin_info_t answer = plugins()[N]->info;
  if ((answer.kinds & TSR_PLUGIN_CODEGEN) && !*answer.compiler_abi) answer.compiler_abi = host->compiler_abi;
  thunk::copyOut(info, answer);
  return TSR_SUCCESS;
}
template <size_t N> void shutdown() {
  if (plugins()[N]->onShutdown) plugins()[N]->onShutdown();
}

/// The tables and functions of one plugin, by its number.
struct Functions {
  tsr_plugin_query_fn query;
  void (*shutdown)();
  int32_t (*probe)(tsr_probe_t *, tsr_text_t *);
  const tsr_backend_api_t *(*backend)();
  const tsr_mapper_api_t *(*mapper)();
  const tsr_collective_api_t *(*collective)();
  int32_t (*create)(const tsr_host_info_t *, tsr_be_backend_t **, tsr_text_t *);
  int32_t (*profile)(uint32_t, tsr_numerics_profile_t *);
  decltype(tsr_codegen_api_t::target) target;
  decltype(tsr_codegen_api_t::compile) compile;
};
template <size_t... N> constexpr std::array<Functions, kFakePlugins> functions(std::index_sequence<N...>) {
  return {Functions{query<N>, shutdown<N>, thunk::probeOf<ForwardedBackend<N>>,
                    thunk::backendApi<ForwardedBackend<N>>, mapperTable<ForwardedMapper<N>>,
                    thunk::collectiveTable<thunk::onlyOne<ForwardedCollective<N>>>, createBackend<N>,
                    profile<N>, codegenTarget<N>, codegenCompile<N>}...};
}
inline constexpr auto kFunctions = functions(std::make_index_sequence<kFakePlugins>());

} // namespace detail

/// Must be used by one thread; any thread may use what it registers.
class FakePlugin {
public:
  /// Makes a plugin that serves nothing yet and is not registered: call serve(), modify its tables, then call
  /// add().
  explicit FakePlugin(std::string name) : plugin_(std::make_unique<detail::Plugin>()) {
    plugin_->name = std::move(name);
    std::lock_guard lock(detail::pluginsMutex());
    while (number_ < kFakePlugins && detail::plugins()[number_])
      ++number_;
    if (number_ == kFakePlugins) throw std::runtime_error("there are 8 fake plugins already");
    detail::plugins()[number_] = plugin_.get();
    tsr_plugin_info_t &i = plugin_->info;
    i.struct_size = sizeof i;
    i.abi_major = TSR_PLUGIN_ABI_MAJOR;
    i.built_minor = TSR_PLUGIN_ABI_MINOR;
    i.name = plugin_->name.c_str();
    i.version = "1.0";
    i.description = "a fake";
    i.features_required = i.features_optional = i.compiler_abi = "";
    i.shutdown = own().shutdown;
  }
  /// Registers a plugin that serves one kind; the test fails when it is refused.
  template <class Mock> FakePlugin(std::string name, Mock &mock) : FakePlugin(std::move(name)) {
    serve(mock);
    EXPECT_EQ(add(), TSR_SUCCESS) << tsrLastError();
  }
  FakePlugin(const FakePlugin &) = delete;
  FakePlugin &operator=(const FakePlugin &) = delete;
  /// Unregisters it; the test fails when objects of it still exist.
  ~FakePlugin() {
    if (remove() == TSR_SUCCESS) {
      std::lock_guard lock(detail::pluginsMutex());
      detail::plugins()[number_] = nullptr;
      return;
    }
    ADD_FAILURE() << "fake plugin " << plugin_->name << ": " << tsrLastError();
    (void)plugin_.release(); // the runtime still has its tables
  }

  void serve(Backend &backend) {
    plugin_->backend = &backend;
    plugin_->backendTable = *own().backend();
    plugin_->backendTable.create = own().create;
    plugin_->info.backend = &plugin_->backendTable;
    plugin_->info.probe = own().probe;
    plugin_->info.kinds |= TSR_PLUGIN_BACKEND;
  }
  void serve(MockMapper &mapper) {
    plugin_->mapper = &mapper;
    plugin_->mapperTable = *own().mapper();
    plugin_->info.mapper = &plugin_->mapperTable;
    plugin_->info.kinds |= TSR_PLUGIN_MAPPER;
  }
  void serve(Collective &collective) {
    plugin_->collective = &collective;
    plugin_->collectiveTable = *own().collective();
    plugin_->collectiveTable.topology = collective.topology();
    plugin_->info.collective = &plugin_->collectiveTable;
    plugin_->info.kinds |= TSR_PLUGIN_COLLECTIVE;
  }
  /// Each call adds a profile.
  void serve(NumericsProfile &profile) {
    plugin_->profiles.push_back(&profile);
    plugin_->numericsTable = {sizeof(tsr_numerics_api_t), TSR_NUMERICS_API_MAJOR, TSR_NUMERICS_API_MINOR,
                              own().profile};
    plugin_->info.numerics = &plugin_->numericsTable;
    plugin_->info.kinds |= TSR_PLUGIN_NUMERICS;
  }
  /// Its targets are named NAME:ARCHITECTURE with the fake's own name.
  void serve(Codegen &codegen) {
    plugin_->codegen = &codegen;
    plugin_->codegenTable = {sizeof(tsr_codegen_api_t), TSR_CODEGEN_API_MAJOR, TSR_CODEGEN_API_MINOR,
                             own().target, own().compile};
    plugin_->info.codegen = &plugin_->codegenTable;
    plugin_->info.kinds |= TSR_PLUGIN_CODEGEN;
  }
  /// Called when the plugin is unregistered, or when the process ends.
  void onShutdown(std::function<void()> call) { plugin_->onShutdown = std::move(call); }

  /// The answer to the runtime's query. Modify it before add(): a slot set to null is missing from the
  /// plugin.
  tsr_plugin_info_t &info() { return plugin_->info; }
  tsr_backend_api_t &backendTable() { return plugin_->backendTable; }
  tsr_mapper_api_t &mapperTable() { return plugin_->mapperTable; }
  tsr_collective_api_t &collectiveTable() { return plugin_->collectiveTable; }
  tsr_numerics_api_t &numericsTable() { return plugin_->numericsTable; }
  tsr_codegen_api_t &codegenTable() { return plugin_->codegenTable; }

  /// Calls tsrRegisterPlugin; tsrLastError() describes a refusal.
  tsr_status_t add() {
    tsr_status_t status = tsrRegisterPlugin(own().query);
    isAdded_ |= status == TSR_SUCCESS;
    return status;
  }
  /// Calls tsrUnregisterPlugin. Threads of the runtime that have just answered may hold the plugin for a
  /// moment.
  tsr_status_t remove() {
    using namespace std::chrono;
    if (!isAdded_) return TSR_SUCCESS;
    const auto end = steady_clock::now() + seconds(2);
    tsr_status_t status;
    while ((status = tsrUnregisterPlugin(plugin_->name.c_str())) == TSR_EINVAL && steady_clock::now() < end)
      std::this_thread::sleep_for(milliseconds(1));
    isAdded_ &= status != TSR_SUCCESS;
    return status;
  }

private:
  const detail::Functions &own() const { return detail::kFunctions[number_]; }

  std::unique_ptr<detail::Plugin> plugin_;
  size_t number_ = 0;
  bool isAdded_ = false;
};

} // namespace tessera::fakes
