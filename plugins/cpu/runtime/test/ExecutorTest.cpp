// Runs the executor's protocol with every order of its steps: two threads that push commands, the stream's
// thread, and a host that waits. A step is one access to a shared variable.
//
// Waiting and waking are one step each there; the gate that does them has an exploration of its own.
//
// The threads are fibers on one thread. At each step a fiber returns to the explorer, which continues every
// fiber that can, one after the other, from a copy of the whole state. States that were seen before are not
// continued again; a state is what the shared memory contains and what each fiber has read so far.
//
// The steps are explored as if memory were sequentially consistent; ThreadSanitizer and the stress tests of
// core/test/CallerTest.cpp look for the rest.
#include "plugins/cpu/runtime/Executor.h"
#include <algorithm>
#include <csetjmp>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <ucontext.h>
#include <unordered_set>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TESSERA_NO_FIBERS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define TESSERA_NO_FIBERS 1
#endif
#endif

#ifndef TESSERA_NO_FIBERS

namespace tessera::cpu {
namespace {

constexpr int kMost = 4; // fibers
constexpr size_t kStack = 8 << 10;

/// A thread of the model.
struct Fiber {
  jmp_buf context;
  uint64_t history = 0;           // a hash of all values it has read and written
  const void *waitsFor = nullptr; // the futex word or the lock it sleeps on
  bool isDone = false;
};

/// Everything a state consists of, in one place so that it can be copied.
struct World {
  Fiber fibers[kMost];
  alignas(64) unsigned char stacks[kMost][kStack];
  alignas(64) unsigned char shared[2048]; // the executor, the queue, and what the test observes
};

World world;
jmp_buf explorer;
int current = -1;
std::string violation;
/// A fault that is planted to show that the exploration notices it: the n-th wake-up is lost.
int lostWake = 0;

void mix(uint64_t &hash, uint64_t value) { hash = (hash ^ value) * 0x9E3779B97F4A7C15ull ^ hash >> 29; }

bool isOneStep = false; // while set, accesses are part of the step that set it

void step() {
  if (isOneStep) return;
  mix(world.fibers[current].history, 3); // it is one step further
  if (_setjmp(world.fibers[current].context) == 0) _longjmp(explorer, 1);
}

/// Called where nothing that the fiber has read matters any more, except what `position` tells.
void forget(uint64_t position) { world.fibers[current].history = position << 32; }

void sleepOn(const void *what) {
  world.fibers[current].waitsFor = what;
  step();
}

void wakeAll(const void *what) {
  for (Fiber &f : world.fibers)
    if (f.waitsFor == what) f.waitsFor = nullptr;
}

template <class T> class ModelAtomic {
public:
  constexpr ModelAtomic(T value) : value_(value) {}
  T load(std::memory_order order) const {
    // Relaxed loads are of variables that only their reader changes meanwhile.
    if (order != std::memory_order_relaxed) step();
    return saw(value_);
  }
  void store(T value, std::memory_order) {
    step();
    value_ = saw(value);
  }
  T exchange(T value, std::memory_order) {
    step();
    return saw(std::exchange(value_, value));
  }
  T fetch_add(T by, std::memory_order) {
    step();
    const T before = saw(value_);
    value_ = T(value_ + by);
    return before;
  }
  T fetch_sub(T by, std::memory_order order) { return fetch_add(T(-by), order); }
  T now() const { return value_; }

private:
  static T saw(T value) {
    mix(world.fibers[current].history, uint64_t(value) + 1);
    return value;
  }
  T value_;
};

/// The futex of the gate's own exploration.
struct FutexThreads {
  template <class T> using Atomic = ModelAtomic<T>;
  static void sleep(Atomic<uint32_t> &word, uint32_t seen, timespec *) {
    step();
    if (word.now() == seen) sleepOn(&word);
  }
  static void wake(Atomic<uint32_t> &word) {
    step();
    wakeAll(&word);
  }
};

/// A gate that looks at its condition and goes to sleep in one step, and wakes in one.
class IdealGate {
public:
  template <class Predicate>
  bool wait(Predicate done, std::chrono::nanoseconds,
            std::chrono::steady_clock::time_point = std::chrono::steady_clock::time_point::max()) {
    for (;;) {
      forget(reinterpret_cast<uint64_t>(this)); // each fiber waits at one place for each gate
      step();
      isOneStep = true;
      const bool isDone = done();
      isOneStep = false;
      if (isDone) return forget(reinterpret_cast<uint64_t>(this) + 1), true;
      world.fibers[current].waitsFor = this; // until the next notify()
    }
  }
  void notify();
};

struct ModelThreads {
  template <class T> using Atomic = ModelAtomic<T>;
  using Gate = IdealGate;
};

class ModelLock {
public:
  void lock() {
    for (;;) {
      step();
      if (!isHeld_) break;
      sleepOn(this);
    }
    isHeld_ = true;
    mix(world.fibers[current].history, 7);
  }
  void unlock() {
    step();
    isHeld_ = false;
    wakeAll(this);
  }

private:
  bool isHeld_ = false;
};

/// A stream whose commands are numbers, in the order in which they were published.
struct ModelStream {
  BasicExecutor<ModelThreads> executor;
  ModelLock lock;
  uint64_t queue[8] = {};
  int queued = 0, taken = 0;
  int executed = 0; // commands, so far
  bool isBusy = false;
  int wakes = 0, pushersLeft = 0;
};

ModelStream &stream() { return *reinterpret_cast<ModelStream *>(world.shared); }

void IdealGate::notify() {
  step();
  bool wakes = false;
  for (const Fiber &f : world.fibers)
    wakes |= f.waitsFor == this;
  if (wakes && ++stream().wakes != lostWake) wakeAll(this);
}

void expect(bool condition, const char *what) {
  if (!condition && violation.empty()) violation = what;
}

void execute(uint64_t number) {
  expect(!std::exchange(stream().isBusy, true), "two commands run at once");
  step();
  expect(stream().executed == int(number), "a command overtakes another");
  ++stream().executed;
  stream().isBusy = false;
}

void runNext(uint64_t position) {
  ModelStream &s = stream();
  const uint64_t number = s.queue[s.taken++];
  execute(number);
  s.executor.tookQueued();
  s.executor.complete();
  forget(10 + position);
}

void serveNext() { runNext(0); }

/// As Stream::submit: in the calling thread if the stream is idle and the command is brief, else queued.
void submit(uint64_t command, bool isBrief) {
  ModelStream &s = stream();
  s.lock.lock();
  forget(30 + command);
  if (isBrief && s.executor.isIdle() && s.executor.beginHere()) {
    const uint64_t count = s.executor.publishHere();
    s.lock.unlock();
    execute(count - 1);
    s.executor.complete();
    forget(40 + command);
    s.executor.giveBack();
    return;
  }
  s.queue[s.queued] = uint64_t(s.executor.publishQueued() - 1);
  ++s.queued;
  s.lock.unlock();
  forget(50 + command);
  s.executor.wakeThread();
}

void await(uint64_t target) {
  ModelStream &s = stream();
  s.executor.help(target, [] { return true; }, [=] { runNext(1 + target); });
  forget(20 + target);
  s.executor.waitFor(target, std::chrono::nanoseconds(0));
  expect(s.executed >= int(target), "a wait returns before the commands have run");
}

using Body = void (*)();

/// The two pushers' commands: bit i of `brief` is set if the i-th command is brief.
struct Scenario {
  int first, second; // commands of each pusher
  unsigned brief;
} scenario;

void pushSome(int from, int count) {
  for (int i = from; i < from + count; ++i) {
    forget(uint64_t(i) + 1);
    submit(uint64_t(i), scenario.brief >> i & 1);
  }
  forget(9);
  --stream().pushersLeft; // the last one lets the thread end
  if (stream().pushersLeft == 0) {
    await(stream().executor.published());
    stream().executor.stop();
  }
}

void finish() {
  world.fibers[current].isDone = true;
  if (_setjmp(world.fibers[current].context) == 0) _longjmp(explorer, 1);
}

/// Prepares fiber `index` to run `body` on its stack when it is first resumed.
void start(int index, void (*body)()) {
  static void (*entry)();
  static ucontext_t back, first;
  entry = body;
  current = index;
  getcontext(&first);
  first.uc_stack.ss_sp = world.stacks[index];
  first.uc_stack.ss_size = kStack;
  first.uc_link = nullptr;
  makecontext(
      &first,
      +[] {
        void (*own)() = entry;
        if (_setjmp(world.fibers[current].context) == 0) swapcontext(&first, &back);
        own();
        finish();
      },
      0);
  swapcontext(&back, &first);
  current = -1;
}

void resume(int index) {
  current = index;
  if (_setjmp(explorer) == 0) _longjmp(world.fibers[index].context, 1);
  current = -1;
}

/// The part of a world that can change: the used stacks and the rest.
class Copy {
public:
  void take() {
    std::memcpy(fibers_, world.fibers, sizeof fibers_);
    std::memcpy(shared_, world.shared, sizeof shared_);
    for (int i = 0; i < kMost; ++i) {
      const unsigned char *top = world.stacks[i] + kStack;
      while (std::any_of(top - used_[i] - kStep, top - used_[i], [](unsigned char c) { return c != 0; }))
        used_[i] += kStep; // what was never used is still zero
      stacks_[i].assign(top - used_[i], top);
    }
  }
  void restore() const {
    std::memcpy(world.fibers, fibers_, sizeof fibers_);
    std::memcpy(world.shared, shared_, sizeof shared_);
    for (int i = 0; i < kMost; ++i)
      std::memcpy(world.stacks[i] + kStack - stacks_[i].size(), stacks_[i].data(), stacks_[i].size());
  }

private:
  static constexpr size_t kStep = 512;
  static inline size_t used_[kMost] = {kStep, kStep, kStep, kStep};
  Fiber fibers_[kMost];
  unsigned char shared_[sizeof world.shared];
  std::vector<unsigned char> stacks_[kMost];
};

uint64_t stateHash() {
  uint64_t hash = 1;
  for (size_t i = 0; i < sizeof world.shared; i += 8) {
    uint64_t word;
    std::memcpy(&word, world.shared + i, 8);
    if (word) mix(hash, word + i * 0x10001);
  }
  for (const Fiber &f : world.fibers) {
    mix(hash, f.history);
    mix(hash, reinterpret_cast<uint64_t>(f.waitsFor) + f.isDone);
  }
  return hash;
}

/// Runs the bodies in every order, from the state that `prepare` sets, and `check` when all have ended.
/// Returns the number of states. The first violation ends it.
size_t explore(std::initializer_list<Body> bodies, void (*prepare)(), void (*check)()) {
  const int count = int(bodies.size());
  violation.clear();
  std::memset(static_cast<void *>(&world), 0, sizeof world);
  prepare();
  for (int i = 0; i < count; ++i)
    start(i, bodies.begin()[i]);
  std::unordered_set<uint64_t> seen{stateHash()};
  std::vector<std::pair<Copy, int>> path(1); // states, and the fiber that each continues next
  path[0].first.take();
  while (!path.empty() && violation.empty()) {
    auto &[state, next] = path.back();
    state.restore();
    auto canRun = [](const Fiber &f) { return !f.isDone && !f.waitsFor; };
    const auto *begin = world.fibers, *end = begin + count;
    if (next == 0 && std::none_of(begin, end, canRun)) {
      if (std::all_of(begin, end, [](const Fiber &f) { return f.isDone; }))
        check();
      else
        expect(false, "every thread sleeps");
    }
    while (next < count && !canRun(world.fibers[next]))
      ++next;
    if (next == count) {
      path.pop_back();
      continue;
    }
    resume(next++);
    if (!seen.insert(stateHash()).second) continue;
    path.emplace_back();
    path.back().first.take();
  }
  return seen.size();
}

size_t exploreStream() {
  return explore(
      {[] { pushSome(0, scenario.first); }, [] { pushSome(scenario.first, scenario.second); },
       [] {
         stream().executor.serve(serveNext, std::chrono::nanoseconds(0), std::chrono::nanoseconds::max());
       },
       [] { await(stream().executor.published()); }},
      [] {
        new (world.shared) ModelStream;
        stream().pushersLeft = 2;
      },
      [] { expect(stream().executed == scenario.first + scenario.second, "a command never runs"); });
}

TEST(ExecutorModel, EveryOrderRunsEachCommandOnceInOrder) {
  // Four commands take minutes: TESSERA_MODEL_COMMANDS=4.
  const char *setting = std::getenv("TESSERA_MODEL_COMMANDS");
  const int most = setting ? std::atoi(setting) : 2;
  size_t states = 0;
  for (int commands = 1; commands <= most; ++commands)
    for (int first = (commands + 1) / 2; first <= commands; ++first)
      for (unsigned brief : {0u, 0b0101u, 0b1111u}) {
        scenario = {first, commands - first, brief};
        states += exploreStream();
        ASSERT_EQ(violation, "") << first << " and " << commands - first << " commands, brief " << brief;
      }
  RecordProperty("states", std::to_string(states));
  EXPECT_GT(states, 10000u);
}

TEST(ExecutorModel, NoticesALostWakeUp) {
  scenario = {1, 1, 0b10};
  bool noticed = false;
  for (lostWake = 1; lostWake <= 4 && !noticed; ++lostWake) {
    (void)exploreStream();
    noticed = violation == "every thread sleeps";
  }
  lostWake = 0;
  EXPECT_TRUE(noticed);
}

/// Two threads set a flag each and notify; one waits for both.
struct Flags {
  BasicGate<FutexThreads> gate;
  ModelAtomic<bool> set[2] = {false, false};
};
Flags &flags() { return *reinterpret_cast<Flags *>(world.shared); }

template <int Which> void setFlag() {
  flags().set[Which].store(true, std::memory_order_seq_cst);
  flags().gate.notify();
}

TEST(GateModel, LosesNoWakeUpInAnyOrder) {
  const size_t states = explore(
      {setFlag<0>, setFlag<1>,
       [] {
         auto both = [] {
           return flags().set[0].load(std::memory_order_seq_cst) &&
                  flags().set[1].load(std::memory_order_seq_cst);
         };
         flags().gate.wait(both, std::chrono::nanoseconds(0));
       }},
      [] { new (world.shared) Flags; }, [] {});
  EXPECT_EQ(violation, "");
  EXPECT_GT(states, 100u);
}

} // namespace
} // namespace tessera::cpu

#endif
