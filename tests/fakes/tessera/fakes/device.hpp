// Mocks of the objects of a backend: contexts, streams, events, modules, kernels, graphs. By default, each
// behaves like a device whose memory is host memory and whose work is complete before the call returns.
//
// The runtime creates them when it needs them, so a test accesses one through the functions of Made:
//
//   NiceMock<MockBackend> backend;
//   backend.made->stream = [](MockDeviceStream &s) {
//     EXPECT_CALL(s, copy).WillOnce(Fail(TSR_EDEVICE, "the bus is gone"));
//   };
//
// The objects are NiceMocks. To get a strict one, create it in an action of the method that creates the
// object.
#pragma once
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <gmock/gmock.h>
#include <tessera/backend.hpp>
#include <tessera/fakes/actions.hpp>
#include <tessera/fakes/host_memory.hpp>

namespace tessera::fakes {

class MockDeviceContext;
class MockDeviceStream;
class MockDeviceEvent;
class MockDeviceModule;
class MockDeviceKernel;

/// Called with each object that a default action makes, before the runtime receives it, on the thread that
/// requested it.
struct Made {
  std::function<void(MockDeviceContext &)> context;
  std::function<void(MockDeviceStream &)> stream;
  std::function<void(MockDeviceEvent &)> event;
  std::function<void(MockDeviceModule &)> module;
  std::function<void(MockDeviceKernel &)> kernel;
};

/// Makes a NiceMock<T> and passes it to `hook` first.
template <class T, class... Args>
std::unique_ptr<T> make(const std::function<void(T &)> &hook, Args &&...args) {
  auto out = std::make_unique<testing::NiceMock<T>>(std::forward<Args>(args)...);
  if (hook) hook(*out);
  return out;
}

class MockDeviceKernel : public DeviceKernel {
public:
  explicit MockDeviceKernel(const KernelSpec &s) : DeviceKernel(s.valueCount), spec(s) {}
  ~MockDeviceKernel() override {
    if (onDestroy) onDestroy();
  }
  /// Called by MockDeviceStream's launch. Does nothing by default.
  MOCK_METHOD(void, run, (const uint64_t *values, const LaunchGrid &grid));
  const KernelSpec spec;
  std::function<void()> onDestroy;
};

class MockDeviceModule : public DeviceModule {
public:
  explicit MockDeviceModule(std::shared_ptr<Made> made) : made(std::move(made)) {
    ON_CALL(*this, getKernel).WillByDefault([this](const KernelSpec &spec, std::string &) {
      return std::shared_ptr<DeviceKernel>(make(this->made->kernel, spec));
    });
  }
  MOCK_METHOD(std::shared_ptr<DeviceKernel>, getKernel, (const KernelSpec &, std::string &), (override));
  const std::shared_ptr<Made> made;
};

class MockDeviceEvent : public DeviceEvent {
public:
  MockDeviceEvent() {
    ON_CALL(*this, isDone).WillByDefault(testing::Return(true));
    ON_CALL(*this, timestamp).WillByDefault([this](int64_t &nanoseconds) {
      if (!point) return TSR_EINVAL;
      nanoseconds = point;
      return TSR_SUCCESS;
    });
  }
  MOCK_METHOD(bool, isDone, (), (override));
  MOCK_METHOD(void, wait, (), (override));
  MOCK_METHOD(tsr_status_t, timestamp, (int64_t &), (override));
  /// Set by MockDeviceStream's record; 0: never recorded.
  std::atomic<int64_t> point{0};
};

class MockDeviceStream : public DeviceStream {
public:
  MockDeviceStream() {
    ON_CALL(*this, copy).WillByDefault([](void *dst, const void *src, size_t bytes, bool, std::string &) {
      if (bytes) std::memmove(dst, src, bytes);
      return TSR_SUCCESS;
    });
    ON_CALL(*this, fill).WillByDefault([](void *dst, uint8_t value, size_t bytes, bool, std::string &) {
      if (bytes) std::memset(dst, value, bytes);
      return TSR_SUCCESS;
    });
    ON_CALL(*this, launch)
        .WillByDefault([](const std::shared_ptr<DeviceKernel> &kernel, const uint64_t *values,
                          const LaunchGrid &grid, std::string &) {
          if (auto *mock = dynamic_cast<MockDeviceKernel *>(kernel.get())) mock->run(values, grid);
          return TSR_SUCCESS;
        });
    ON_CALL(*this, record).WillByDefault([](const std::shared_ptr<DeviceEvent> &event, std::string &) {
      if (auto *mock = dynamic_cast<MockDeviceEvent *>(event.get()))
        mock->point = std::chrono::steady_clock::now().time_since_epoch().count();
      return TSR_SUCCESS;
    });
    ON_CALL(*this, replay)
        .WillByDefault([this](const std::shared_ptr<const DeviceGraph> &graph, std::string &why) {
          return DeviceStream::replay(graph, why); // node by node
        });
    ON_CALL(*this, callHost).WillByDefault([](HostCall call, std::string &why) { return call(why); });
    ON_CALL(*this, native).WillByDefault([this](const char *&api, void *&handle, std::string &) {
      api = "fake", handle = this;
      return TSR_SUCCESS;
    });
    ON_CALL(*this, isIdle).WillByDefault(testing::Return(true));
  }
  MOCK_METHOD(tsr_status_t, copy, (void *, const void *, size_t, bool, std::string &), (override));
  MOCK_METHOD(tsr_status_t, fill, (void *, uint8_t, size_t, bool, std::string &), (override));
  MOCK_METHOD(tsr_status_t, launch,
              (const std::shared_ptr<DeviceKernel> &, const uint64_t *, const LaunchGrid &, std::string &),
              (override));
  MOCK_METHOD(tsr_status_t, record, (const std::shared_ptr<DeviceEvent> &, std::string &), (override));
  MOCK_METHOD(tsr_status_t, wait, (const std::shared_ptr<DeviceEvent> &, std::string &), (override));
  MOCK_METHOD(tsr_status_t, replay, (const std::shared_ptr<const DeviceGraph> &, std::string &), (override));
  MOCK_METHOD(tsr_status_t, callHost, (HostCall, std::string &), (override));
  MOCK_METHOD(tsr_status_t, native, (const char *&, void *&, std::string &), (override));
  MOCK_METHOD(tsr_status_t, waitNative, (const char *, void *, std::string &), (override));
  MOCK_METHOD(tsr_status_t, nativeWaits, (const char *, void *, std::string &), (override));
  MOCK_METHOD(tsr_status_t, synchronize, (uint64_t, std::string &), (override));
  MOCK_METHOD(void, drain, (), (override));
  MOCK_METHOD(tsr_status_t, query, (std::string &), (override));
  MOCK_METHOD(bool, isIdle, (), (override));
};

class MockDeviceContext : public DeviceContext {
public:
  MockDeviceContext(const DeviceInfo &info, const tsr_allocator_t *allocator, std::shared_ptr<Made> made)
      : device(info), made(std::move(made)), memory(info.memoryBytes, allocator) {
    ON_CALL(*this, info).WillByDefault(testing::ReturnRef(device));
    ON_CALL(*this, alloc).WillByDefault([this](size_t bytes, uint32_t, void **out, std::string &why) {
      return memory.alloc(bytes, out, why);
    });
    ON_CALL(*this, free).WillByDefault([this](void *pointer, std::string &why) {
      return memory.free(pointer, why);
    });
    ON_CALL(*this, available).WillByDefault([this](const void *p) { return memory.available(p); });
    ON_CALL(*this, memoryUse).WillByDefault([this] { return memory.use(); });
    ON_CALL(*this, createStream).WillByDefault([this](std::string &) { return make(this->made->stream); });
    ON_CALL(*this, createEvent).WillByDefault([this](std::string &) { return make(this->made->event); });
    ON_CALL(*this, loadModule).WillByDefault([this](const ModuleImage &, std::string &) {
      return std::shared_ptr<DeviceModule>(make(this->made->module, this->made));
    });
    ON_CALL(*this, memoryFlags).WillByDefault(testing::Return(TSR_BE_MEM_PINNED_HOST | TSR_BE_MEM_MANAGED));
    ON_CALL(*this, reportActivities).WillByDefault([this](ActivitySink sink, std::string &) {
      activities = std::move(sink);
      return TSR_SUCCESS;
    });
    ON_CALL(*this, createGraph).WillByDefault([this](GraphWork work, std::string &why) {
      return DeviceContext::createGraph(std::move(work), why);
    });
  }
  MOCK_METHOD(const DeviceInfo &, info, (), (const, override));
  MOCK_METHOD(tsr_status_t, alloc, (size_t, uint32_t, void **, std::string &), (override));
  MOCK_METHOD(tsr_status_t, free, (void *, std::string &), (override));
  MOCK_METHOD(std::optional<size_t>, available, (const void *), (override));
  MOCK_METHOD(MemoryUse, memoryUse, (), (override));
  MOCK_METHOD(void, trim, (), (override));
  MOCK_METHOD(std::unique_ptr<DeviceStream>, createStream, (std::string &), (override));
  MOCK_METHOD(std::unique_ptr<DeviceEvent>, createEvent, (std::string &), (override));
  MOCK_METHOD(std::shared_ptr<DeviceModule>, loadModule, (const ModuleImage &, std::string &), (override));
  MOCK_METHOD(std::shared_ptr<DeviceGraph>, createGraph, (GraphWork, std::string &), (override));
  MOCK_METHOD(uint32_t, memoryFlags, (), (override));
  MOCK_METHOD(tsr_status_t, reportActivities, (ActivitySink, std::string &), (override));
  MOCK_METHOD(void, tagActivities, (const ActivityTag &), (override));

  const DeviceInfo device;
  const std::shared_ptr<Made> made;
  HostMemory memory;
  ActivitySink activities; // the runtime's sink; a test calls it with the work that the device is to report
};

} // namespace tessera::fakes
