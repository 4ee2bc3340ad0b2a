#include "plugins/cpu/runtime/Stream.h"
#include "numerics/FloatEnvironment.h"
#include "plugins/cpu/runtime/Parallelism.h"
#include "plugins/cpu/runtime/SignalMask.h"
#include <algorithm>
#include <cfenv>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <system_error>
#include <unordered_map>
#include <utility>

namespace tessera::cpu {
namespace {

using Clock = Gate::Clock;
using std::chrono::microseconds;

// Long enough to catch the next launch of a loop, and short enough to leave the core to other threads.
constexpr auto kIdleSpin = microseconds(20);
constexpr auto kHostSpin = microseconds(10);
// A thread that has nothing to do is ended: a program of short calls has none.
constexpr auto kIdleThread = std::chrono::seconds(1);
// The largest amount of the calling thread's time that a call may use.
constexpr int64_t kHerePs = 25'000'000;
// A launch that is expected to take at most so long need not look at the clock, which takes 50 ns of it, and
// how much work goes by between two looks, with the calls around it (docs/decisions/0147).
constexpr int64_t kBriefPs = 2'000'000, kUntimedPs = 12'000'000, kCallPs = 500'000;
constexpr int64_t kPsPerByte = 125; // of a copy or fill: 8 GB/s
constexpr int64_t kNotHere = INT64_MAX;

bool mayUseCallers() {
  const char *setting = std::getenv("TESSERA_CPU_INLINE");
  return !setting || std::strcmp(setting, "off") != 0;
}

int64_t bytesPs(size_t bytes) {
  return bytes > kHerePs / kPsPerByte ? kNotHere : static_cast<int64_t>(bytes) * kPsPerByte;
}

Clock::time_point deadlineAfter(uint64_t ns) {
  auto now = Clock::now();
  auto longest = static_cast<uint64_t>((Clock::time_point::max() - now).count());
  return ns >= longest ? Clock::time_point::max() : now + std::chrono::nanoseconds(ns);
}

} // namespace

// ---- Event ----

void EventPoint::reach() {
  nanoseconds = Clock::now().time_since_epoch().count();
  done.store(true, std::memory_order_seq_cst);
  gate.notify();
}

void EventPoint::await(microseconds spin) {
  gate.wait([&] { return done.load(std::memory_order_seq_cst); }, spin);
}

std::shared_ptr<EventPoint> Event::point() const {
  std::lock_guard lock(mutex_);
  return point_;
}

void Event::setPoint(std::shared_ptr<EventPoint> p) {
  std::lock_guard lock(mutex_);
  point_ = std::move(p);
}

bool Event::isDone() {
  auto p = point();
  return !p || p->done.load(std::memory_order_acquire);
}

void Event::wait() {
  if (auto p = point()) p->await(kHostSpin);
}

tsr_status_t Event::timestamp(int64_t &nanoseconds) {
  auto p = point();
  if (!p) return TSR_EINVAL;
  if (!p->done.load(std::memory_order_acquire)) return TSR_NOT_READY;
  nanoseconds = p->nanoseconds;
  return TSR_SUCCESS;
}

// ---- The writing end ----

void Command::release() {
  ran = nullptr;
  isAlone = false;
  isTimed = true;
  begun = {};
  kernel.reset();
  point.reset();
  moreValues.clear();
  graph.reset();
  graphPoints.clear();
  call = nullptr;
  tag = {};
}

Stream::Stream(Activities &activities)
    : activities_(activities), number_(activities.nextStream()), usesCallers_(mayUseCallers()),
      tail_(new Chunk), head_(tail_) {}

Stream::~Stream() {
  executor_.stop();
  if (thread_.joinable()) thread_.join();
  delete head_; // the queue is empty, so both ends share one chunk
  delete spare_.load();
}

void Stream::startThread() {
  const SignalMask mask;
  if (thread_.joinable()) thread_.join(); // it ended because nothing was queued
  thread_ = std::thread([this] { run(); });
  isServed_ = true;
}

template <class Fill> void Stream::fillIn(Command &command, Fill fill) {
  fill(command);
  if (activities_.areOn()) [[unlikely]]
    command.tag = activities_.tag();
}

/// `count` receives the number of appended commands, including this one.
template <class Fill> tsr_status_t Stream::push(std::string &why, Fill fill, uint64_t *count) {
  {
    std::lock_guard lock(mutex_);
    if (failure_ != TSR_SUCCESS) return takeFailureLocked(why);
    if (!isServed_) {
      try {
        startThread();
      } catch (const std::system_error &e) {
        why = std::string("cannot start a thread for the stream: ") + e.what();
        return TSR_EDEVICE;
      }
    }
    if (tailUsed_ == kChunkCommands) appendChunk();
    fillIn(tail_->commands[tailUsed_], fill);
    ++tailUsed_;
    const uint64_t published = executor_.publishQueued();
    if (count) *count = published;
  }
  executor_.wakeThread();
  return TSR_SUCCESS;
}

/// Runs a command in the calling thread if the stream is idle and the command is brief, or if the caller
/// `waits` for it anyway. Returns false, without calling `fill`, when the caller must queue the command.
template <class Fill> bool Stream::runHere(int64_t predictedPs, bool waits, bool maySkipClock, Fill fill) {
  if (!usesCallers_ || predictedPs > kHerePs) return false;
  auto fits = [&] { return spentPs_.load(std::memory_order_relaxed) + predictedPs <= kHerePs; };
  Clock::time_point start;
  bool isTimed = true;
  {
    std::lock_guard lock(mutex_);
    if (failure_ != TSR_SUCCESS || !executor_.isIdle()) return false;
    isTimed = !maySkipClock || untimedPs_ + predictedPs + kCallPs > kUntimedPs || !fits();
    if (isTimed) {
      start = Clock::now();
      if (start - lastHere_ > std::chrono::nanoseconds(kHerePs / 1000))
        spentPs_.store(0, std::memory_order_relaxed);
      if (!waits && !fits()) return false;
    }
    if (!executor_.beginHere()) return false;
    try {
      fillIn(here_, fill);
    } catch (...) {
      here_.release();
      executor_.giveBack();
      throw;
    }
    here_.begun = start;
    here_.isTimed = isTimed;
    executor_.publishHere();
  }
  {
    std::optional<DefaultFloats> floats; // copies and events do not compute
    if (here_.kind == Command::Kind::Launch || here_.kind == Command::Kind::Replay) floats.emplace();
    execute(here_, /*drop=*/false);
  }
  const bool wasLaunch = here_.kind == Command::Kind::Launch && !activities_.areOn();
  here_.release();
  int64_t spent = predictedPs;
  if (isTimed) {
    lastHere_ = wasLaunch ? launcher_.lastEnd() : Clock::now();
    spent = std::chrono::nanoseconds(lastHere_ - start).count() * 1000;
    untimedPs_ = 0;
  } else {
    untimedPs_ += predictedPs + kCallPs;
  }
  if (waits)
    spentPs_.store(0, std::memory_order_relaxed);
  else
    spentPs_.fetch_add(spent, std::memory_order_relaxed);
  executor_.complete();
  executor_.giveBack();
  return true;
}

template <class Fill>
tsr_status_t Stream::submit(std::string &why, int64_t predictedPs, Fill fill, bool maySkipClock) {
  return runHere(predictedPs, /*waits=*/false, maySkipClock, fill) ? TSR_SUCCESS : push(why, fill);
}

template <class Fill> tsr_status_t Stream::submitAndWait(std::string &why, Fill fill) {
  if (runHere(0, /*waits=*/true, /*maySkipClock=*/false, fill)) return TSR_SUCCESS;
  bool ran = false;
  uint64_t count = 0;
  auto fillWithFlag = [&](Command &c) {
    fill(c);
    c.ran = &ran;
  };
  if (tsr_status_t status = push(why, fillWithFlag, &count)) return status;
  help(count);
  executor_.waitFor(count, kHostSpin);
  if (ran) return TSR_SUCCESS;
  std::lock_guard lock(mutex_);
  if (tsr_status_t status = takeFailureLocked(why)) return status;
  why = "dropped behind an earlier failure of the stream: " + lastFailureText_;
  return lastFailure_;
}

/// Runs, on a host that waits for the first `target` commands, those that have not begun. Stops at the first
/// command that may wait for another thread or needs much scratch memory; the stream's thread runs that one.
void Stream::help(uint64_t target) {
  auto isForAnyThread = [](const Command &c) {
    return c.kind == Command::Kind::Copy || c.kind == Command::Kind::Fill ||
           c.kind == Command::Kind::Record || (c.kind == Command::Kind::Launch && c.kernel->runsAnywhere);
  };
  if (!usesCallers_ || executor_.passed(target)) return;
  DefaultFloats floats;
  executor_.help(target, [&] { return isForAnyThread(next()); }, [&] { executeNext(); });
}

void Stream::appendChunk() {
  Chunk *chunk = spare_.exchange(nullptr, std::memory_order_acquire);
  if (!chunk) chunk = new Chunk;
  chunk->next = nullptr;
  tail_->next = chunk; // published together with the first command in it
  tail_ = chunk;
  tailUsed_ = 0;
}

void Stream::recycle(Chunk *chunk) { delete spare_.exchange(chunk, std::memory_order_acq_rel); }

tsr_status_t Stream::copy(void *dst, const void *src, size_t bytes, bool wait, std::string &why) {
  auto command = [=](Command &c) {
    c.kind = Command::Kind::Copy;
    c.dst = dst;
    c.src = src;
    c.bytes = bytes;
  };
  return wait ? submitAndWait(why, command) : submit(why, bytesPs(bytes), command);
}

tsr_status_t Stream::fill(void *dst, uint8_t value, size_t bytes, bool wait, std::string &why) {
  auto command = [=](Command &c) {
    c.kind = Command::Kind::Fill;
    c.dst = dst;
    c.byte = value;
    c.bytes = bytes;
  };
  return wait ? submitAndWait(why, command) : submit(why, bytesPs(bytes), command);
}

tsr_status_t Stream::launch(const std::shared_ptr<DeviceKernel> &kernel, const uint64_t *values,
                            const LaunchGrid &grid, std::string &why) {
  auto &own = static_cast<Kernel &>(*kernel);
  const int64_t predicted = own.predict(values, grid.programs());
  const bool maySkipClock = predicted <= kBriefPs && own.maySkipClock();
  const bool isAlone = grid.programs() > 1 && isInParallelRegion();
  return submit(
      why, predicted,
      [&](Command &c) {
        c.kind = Command::Kind::Launch;
        c.kernel = std::static_pointer_cast<Kernel>(kernel);
        c.grid = grid;
        c.isAlone = isAlone;
        size_t count = c.kernel->valueCount;
        if (count <= Command::kInlineValues)
          std::copy_n(values, count, c.inlineValues);
        else
          c.moreValues.assign(values, values + count);
      },
      maySkipClock);
}

tsr_status_t Stream::record(const std::shared_ptr<DeviceEvent> &event, std::string &why) {
  auto point = std::make_shared<EventPoint>();
  tsr_status_t status = submit(why, 0, [&](Command &c) {
    c.kind = Command::Kind::Record;
    c.point = point;
  });
  if (status == TSR_SUCCESS) static_cast<Event &>(*event).setPoint(std::move(point));
  return status;
}

tsr_status_t Stream::wait(const std::shared_ptr<DeviceEvent> &event, std::string &why) {
  auto point = static_cast<Event &>(*event).point();
  if (!point) return takeFailure(why);
  return submit(why, point->done.load(std::memory_order_acquire) ? 0 : kNotHere, [&](Command &c) {
    c.kind = Command::Kind::Wait;
    c.point = std::move(point);
  });
}

/// Returns how long a replay is expected to take; kNotHere if one of its nodes must be queued.
int64_t Stream::predict(const DeviceGraph &graph, const std::vector<std::shared_ptr<EventPoint>> &points) {
  int64_t sum = 0;
  auto point = points.begin();
  for (const GraphNode &node : graph.work().nodes) {
    int64_t one = 0;
    if (node.kind == GraphNode::Kind::Copy || node.kind == GraphNode::Kind::Fill)
      one = bytesPs(node.bytes);
    else if (node.kind == GraphNode::Kind::Launch)
      one = static_cast<Kernel &>(*node.kernel).predict(node.values.data(), node.grid.programs());
    else if (const auto &p = *point++; node.kind == GraphNode::Kind::Wait && p)
      one = p->done.load(std::memory_order_acquire) ? 0 : kNotHere;
    if (one > kHerePs - sum) return kNotHere;
    sum += one;
  }
  return sum;
}

/// Queues one command for the whole graph. Two replays differ only in the points of their events: a record
/// creates a new point, and the later waits in the graph wait for it.
tsr_status_t Stream::replay(const std::shared_ptr<const DeviceGraph> &graph, std::string &why) {
  std::vector<std::shared_ptr<EventPoint>> points;
  std::unordered_map<Event *, std::shared_ptr<EventPoint>> recorded;
  for (const GraphNode &node : graph->work().nodes) {
    auto *event = static_cast<Event *>(node.event.get());
    if (node.kind == GraphNode::Kind::Record) {
      points.push_back(recorded[event] = std::make_shared<EventPoint>());
    } else if (node.kind == GraphNode::Kind::Wait) {
      auto own = recorded.find(event);
      points.push_back(own != recorded.end() ? own->second : event->point());
    }
  }
  tsr_status_t status = submit(why, predict(*graph, points), [&](Command &c) {
    c.kind = Command::Kind::Replay;
    c.graph = graph;
    c.isAlone = isInParallelRegion();
    c.graphPoints = std::move(points);
  });
  if (status == TSR_SUCCESS)
    for (auto &[event, point] : recorded)
      event->setPoint(std::move(point));
  return status;
}

/// Never in the calling thread, which it may wait for.
tsr_status_t Stream::callHost(HostCall call, std::string &why) {
  return push(why, [&](Command &c) {
    c.kind = Command::Kind::Call;
    c.call = std::move(call);
  });
}

tsr_status_t Stream::synchronize(uint64_t timeoutNs, std::string &why) {
  const uint64_t target = executor_.published();
  spentPs_.store(0, std::memory_order_relaxed);
  if (timeoutNs == UINT64_MAX) help(target);
  if (!executor_.waitFor(target, kHostSpin,
                         timeoutNs == UINT64_MAX ? Clock::time_point::max() : deadlineAfter(timeoutNs))) {
    why = "the stream is still busy";
    return TSR_ETIMEOUT;
  }
  return takeFailure(why);
}

void Stream::drain() {
  const uint64_t target = executor_.published();
  help(target);
  executor_.waitFor(target, kHostSpin);
}

tsr_status_t Stream::query(std::string &why) {
  tsr_status_t status = takeFailure(why);
  if (status != TSR_SUCCESS) return status;
  return isIdle() ? TSR_SUCCESS : TSR_NOT_READY;
}

tsr_status_t Stream::takeFailure(std::string &why) {
  if (!failed_.load(std::memory_order_seq_cst)) return TSR_SUCCESS;
  std::lock_guard lock(mutex_);
  return takeFailureLocked(why);
}

tsr_status_t Stream::takeFailureLocked(std::string &why) {
  if (failure_ == TSR_SUCCESS) return TSR_SUCCESS;
  why = lastFailureText_ = std::move(failureText_);
  lastFailure_ = failure_;
  dropBelow_.store(executor_.published(), std::memory_order_seq_cst);
  failed_.store(false, std::memory_order_seq_cst);
  return std::exchange(failure_, TSR_SUCCESS);
}

// ---- The holder of the token ----

void Stream::run() {
  std::fesetenv(FE_DFL_ENV); // not the modes of the thread that started this one
  SignalMask::isInherited = true;
  for (;;) {
    executor_.serve([this] { executeNext(); }, kIdleSpin, kIdleThread);
    std::lock_guard lock(mutex_);
    if (executor_.hasQueued()) continue; // appended since
    isServed_ = false;
    return;
  }
}

/// Returns the first command. Precondition: the queue is not empty.
Command &Stream::next() {
  if (headUsed_ == kChunkCommands) {
    recycle(std::exchange(head_, head_->next));
    headUsed_ = 0;
  }
  return head_->commands[headUsed_];
}

void Stream::executeNext() {
  Command &command = next();
  ++headUsed_;
  const uint64_t count = executor_.completed();
  // failed_ is read first: once it is cleared, dropBelow_ covers the commands queued after the failure.
  bool drop = failed_.load(std::memory_order_seq_cst) || count < dropBelow_.load(std::memory_order_seq_cst);
  execute(command, drop);
  if (command.ran && !drop) *command.ran = true;
  command.release();
  executor_.tookQueued();
  executor_.complete();
}

/// Returns false when the launch failed.
bool Stream::launch(Kernel &kernel, const uint64_t *values, const LaunchGrid &grid, const Command &command) {
  try {
    const bool ran =
        command.isTimed
            ? launcher_.run(kernel, values, grid, command.isAlone,
                            command.kind == Command::Kind::Launch ? command.begun : Clock::time_point{})
            : Launcher::runBriefly(kernel, values, grid.programs());
    if (ran) return true;
    fail(TSR_EOOM, "kernel " + kernel.name + ": cannot get " + std::to_string(kernel.scratchBytes) +
                       " bytes of scratch memory per thread");
  } catch (const std::exception &e) {   // before any program has run
    std::string text = "out of memory"; // short enough to need no allocation
    try {
      text = std::string("cannot launch: ") + e.what();
    } catch (const std::bad_alloc &) {
    }
    fail(TSR_EOOM, std::move(text));
  }
  return false;
}

// The kinds of work that activity records report.

tsr_be_activity_t Stream::activity(uint32_t kind, uint64_t bytes, int64_t programs) const {
  tsr_be_activity_t out{};
  out.kind = kind, out.bytes = bytes, out.programs = programs, out.stream = number_;
  std::ranges::copy(tag_, out.tag);
  return out;
}

void Stream::copyNow(void *dst, const void *src, size_t bytes) {
  // either pointer may be null if there are no bytes
  auto work = [&] { return bytes && std::memmove(dst, src, bytes), true; };
  if (!activities_.areOn()) [[likely]]
    work();
  else
    activities_.time(activity(TSR_ACTIVITY_COPY, bytes, 0), "", work);
}

void Stream::fillNow(void *dst, uint8_t byte, size_t bytes) {
  auto work = [&] { return bytes && std::memset(dst, byte, bytes), true; };
  if (!activities_.areOn()) [[likely]]
    work();
  else
    activities_.time(activity(TSR_ACTIVITY_FILL, bytes, 0), "", work);
}

bool Stream::launchNow(Kernel &kernel, const uint64_t *values, const LaunchGrid &grid,
                       const Command &command) {
  if (!activities_.areOn()) [[likely]]
    return launch(kernel, values, grid, command);
  return activities_.time(activity(TSR_ACTIVITY_LAUNCH, 0, grid.programs()), kernel.name.c_str(),
                          [&] { return launch(kernel, values, grid, command); });
}

/// With `drop`, performs only records and waits, which must happen even after a failure.
void Stream::execute(Command &c, bool drop) {
  tag_ = c.tag;
  switch (c.kind) {
  case Command::Kind::Copy:
    if (!drop) copyNow(c.dst, c.src, c.bytes);
    break;
  case Command::Kind::Fill:
    if (!drop) fillNow(c.dst, c.byte, c.bytes);
    break;
  case Command::Kind::Launch:
    if (!drop) launchNow(*c.kernel, c.moreValues.empty() ? c.inlineValues : c.moreValues.data(), c.grid, c);
    break;
  case Command::Kind::Record:
    c.point->reach();
    break;
  case Command::Kind::Wait:
    c.point->await(kIdleSpin);
    break;
  case Command::Kind::Replay:
    replay(c, drop);
    break;
  case Command::Kind::Call:
    if (!drop) callNow(c.call);
    break;
  }
}

void Stream::callNow(const HostCall &call) {
  std::string why;
  tsr_status_t status = TSR_EINTERNAL;
  try {
    status = call(why);
  } catch (const std::exception &e) {
    why = e.what();
  }
  if (status != TSR_SUCCESS) fail(status, std::move(why));
}

void Stream::replay(const Command &c, bool drop) {
  auto point = c.graphPoints.begin();
  for (const GraphNode &node : c.graph->work().nodes) {
    switch (node.kind) {
    case GraphNode::Kind::Copy:
      if (!drop) copyNow(node.dst, node.src, node.bytes);
      break;
    case GraphNode::Kind::Fill:
      if (!drop) fillNow(node.dst, node.byte, node.bytes);
      break;
    case GraphNode::Kind::Launch:
      if (!drop) drop = !launchNow(static_cast<Kernel &>(*node.kernel), node.values.data(), node.grid, c);
      break;
    case GraphNode::Kind::Record:
      (*point++)->reach();
      break;
    case GraphNode::Kind::Wait:
      if (*point) (*point)->await(kIdleSpin);
      ++point;
      break;
    }
  }
}

void Stream::fail(tsr_status_t status, std::string text) {
  std::lock_guard lock(mutex_);
  failure_ = status;
  failureText_ = std::move(text);
  failed_.store(true, std::memory_order_seq_cst);
}

} // namespace tessera::cpu
