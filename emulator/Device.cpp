#include "emulator/Device.h"
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstring>

namespace tessera::emulator {
namespace {

/// Work is done before a call returns: every event has completed and every stream is idle.
class Event final : public DeviceEvent {
public:
  bool isDone() override { return true; }
  void wait() override {}
  tsr_status_t timestamp(int64_t &nanoseconds) override {
    nanoseconds = time;
    return nanoseconds ? TSR_SUCCESS : TSR_EINVAL;
  }
  std::atomic<int64_t> time{0}; // 0: never recorded
};

class Stream final : public DeviceStream {
public:
  Stream(Runner &runner, Memory &memory) : runner_(runner), memory_(memory) {}

  tsr_status_t copy(void *dst, const void *src, size_t bytes, bool, std::string &) override {
    if (bytes) std::memmove(dst, src, bytes);
    return TSR_SUCCESS;
  }
  tsr_status_t fill(void *dst, uint8_t value, size_t bytes, bool, std::string &) override {
    if (bytes) std::memset(dst, value, bytes);
    return TSR_SUCCESS;
  }
  tsr_status_t launch(const std::shared_ptr<DeviceKernel> &kernel, const uint64_t *values,
                      const LaunchGrid &grid, std::string &why) override {
    return runner_.run(static_cast<const Kernel &>(*kernel), values, grid, memory_, why);
  }
  tsr_status_t record(const std::shared_ptr<DeviceEvent> &event, std::string &) override {
    static_cast<Event &>(*event).time = std::chrono::steady_clock::now().time_since_epoch().count();
    return TSR_SUCCESS;
  }
  tsr_status_t wait(const std::shared_ptr<DeviceEvent> &, std::string &) override { return TSR_SUCCESS; }
  tsr_status_t callHost(HostCall call, std::string &why) override { return call(why); }
  tsr_status_t synchronize(uint64_t, std::string &) override { return TSR_SUCCESS; }
  tsr_status_t query(std::string &) override { return TSR_SUCCESS; }
  void drain() override {}
  bool isIdle() override { return true; }

private:
  Runner &runner_;
  Memory &memory_;
};

class Module final : public DeviceModule {
public:
  Module(std::shared_ptr<const Image> image, const DeviceRow &row) : image_(std::move(image)), row_(row) {}

  std::shared_ptr<DeviceKernel> getKernel(const KernelSpec &spec, std::string &why) override {
    const Image::Entry entry = image_->find(spec.name);
    if (!entry) {
      why = "the image has no kernel " + spec.name;
      return nullptr;
    }
    const auto refuse = [&](uint64_t needed, const char *what, uint64_t most) {
      why = "kernel " + kernelName(spec.name) + " needs " + std::to_string(needed) + what + ", " +
            row_.info.arch + " has " + std::to_string(most);
      return nullptr;
    };
    if (spec.sharedBytes > row_.info.maxSharedBytes)
      return refuse(spec.sharedBytes, " bytes of shared memory", row_.info.maxSharedBytes);
    const uint64_t inCluster = uint64_t{spec.cluster[0]} * spec.cluster[1] * spec.cluster[2];
    if (inCluster > uint64_t(row_.mostInCluster))
      return refuse(inCluster, " blocks in a cluster", uint64_t(row_.mostInCluster));
    const uint64_t threads = uint64_t{spec.block[0]} * spec.block[1] * spec.block[2];
    if (threads > uint64_t(row_.maxThreads))
      return refuse(threads, " threads in a block", uint64_t(row_.maxThreads));
    return std::make_shared<Kernel>(spec, image_, entry);
  }

private:
  const std::shared_ptr<const Image> image_;
  const DeviceRow &row_;
};

class Context final : public DeviceContext {
public:
  Context(const DeviceRow &row, Log log, const tsr_allocator_t *allocator)
      : row_(row), memory_(row.info.memoryBytes, allocator),
        runner_(row.warpSize, row.registers, row.options.check, row.options.schedule, log) {}

  const DeviceInfo &info() const override { return row_.info; }
  tsr_status_t alloc(size_t bytes, uint32_t, void **dptr, std::string &why) override {
    if ((*dptr = memory_.allocate(bytes))) return TSR_SUCCESS;
    why = "cannot get " + std::to_string(bytes) + " bytes";
    return TSR_EOOM;
  }
  tsr_status_t free(void *dptr, std::string &why) override {
    if (memory_.release(dptr)) return TSR_SUCCESS;
    why = "the pointer is not a live allocation of this context";
    return TSR_EINVAL;
  }
  std::optional<size_t> available(const void *dptr) override {
    const auto address = reinterpret_cast<uint64_t>(dptr);
    const std::optional<Allocation> in = memory_.find(address);
    if (!in || (address == in->begin + in->bytes && in->bytes)) return std::nullopt;
    return static_cast<size_t>(in->bytes - (address - in->begin));
  }
  MemoryUse memoryUse() override { return memory_.use(); }
  void trim() override {}
  std::unique_ptr<DeviceStream> createStream(std::string &) override {
    return std::make_unique<Stream>(runner_, memory_);
  }
  std::unique_ptr<DeviceEvent> createEvent(std::string &) override { return std::make_unique<Event>(); }
  std::shared_ptr<DeviceModule> loadModule(const ModuleImage &image, std::string &why) override {
    if (image.format != TSR_IMAGE_EMULATED) {
      why = "the image is not of format emulated, the only one that the emulator executes";
      return nullptr;
    }
    auto loaded = Image::load({static_cast<const char *>(image.data), image.bytes}, why);
    return loaded ? std::make_shared<Module>(std::move(loaded), row_) : nullptr;
  }

private:
  const DeviceRow row_;
  Memory memory_;
  Runner runner_;
};

} // namespace

bool readOptions(const std::string &variant, Options &out, std::string &why) {
  std::string_view rest(variant);
  rest.remove_prefix(std::min(rest.size(), std::string_view("emulated").size()));
  if (rest.starts_with(':')) rest.remove_prefix(1);
  out.arch = rest.substr(0, rest.find('+'));
  rest.remove_prefix(out.arch.size());
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view word = rest.substr(0, rest.find('+'));
    rest.remove_prefix(word.size());
    constexpr std::string_view random = "random=";
    const std::string_view seed = word.starts_with(random) ? word.substr(random.size()) : std::string_view();
    const char *end = seed.data() + seed.size();
    if (word == "check")
      out.check = true;
    else if (word == "late" || word == "early")
      out.schedule.isEarly = word == "early";
    else if (word == "ascending" || word == "descending")
      out.schedule.order = word == "ascending" ? Order::Ascending : Order::Descending;
    else if (auto [stop, error] = std::from_chars(seed.data(), end, out.schedule.seed);
             !seed.empty() && error == std::errc() && stop == end)
      out.schedule.order = Order::Random;
    else
      return why = "unknown option '" + std::string(word) +
                   "' of an emulated device; there are check, ascending, descending, random=SEED, late and "
                   "early",
             false;
  }
  return true;
}

std::unique_ptr<DeviceContext> makeContext(const DeviceRow &row, Log log, const tsr_allocator_t *allocator) {
  return std::make_unique<Context>(row, log, allocator);
}

} // namespace tessera::emulator
