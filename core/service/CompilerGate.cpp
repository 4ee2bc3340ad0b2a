#include "core/service/CompilerGate.h"
#include "core/config/Names.h"
#include "core/support/AddressSpace.h"
#include "core/support/Fork.h"
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <utility>

namespace tessera {
namespace {

/// What a fork locks: the gate, while no other thread is in a call. The child would wait for ever for a lock
/// of LLVM that such a thread holds, or for a static object that it is making.
class QuietGate {
public:
  bool try_lock();
  void unlock();

private:
  /// A call that lasts longer, perhaps because it waits for the thread that forks, does not hold up the fork.
  static constexpr std::chrono::seconds kLongestWait{10};
  /// fork() tries again within microseconds: what follows the last try by more is another fork.
  static constexpr std::chrono::seconds kLongestPause{1};
  std::optional<std::chrono::steady_clock::time_point> since_; // the first try in vain
  std::chrono::steady_clock::time_point last_;                 // both are guarded by the gate's mutex
};

struct Gate {
  std::mutex mutex;
  QuietGate quiet;
  HeldAcrossFork heldAcrossFork{quiet};
  std::condition_variable changed;
  bool isEnding = false;
  size_t inside = 0;    // calls in progress
  uint64_t process = 0; // fork count for which `inside` is valid; a forked child starts from its own calls
};

Gate &gate() {
  static Gate &g = *new Gate; // never destroyed: calls may outlive static destructors
  return g;
}
[[maybe_unused]] const Gate &madeGate = gate(); // when the library is loaded: see HeldAcrossFork

thread_local size_t insideHere = 0; // calls in progress on this thread

bool QuietGate::try_lock() {
  Gate &g = gate();
  if (!g.mutex.try_lock()) return false;
  const auto now = std::chrono::steady_clock::now();
  if (g.process != forkCount() || g.inside <= insideHere) {
    since_.reset();
    return true;
  }
  if (!since_ || now - last_ > kLongestPause) since_ = now;
  last_ = now;
  // The time stays: another mutex may be locked, and then the fork tries all of them again.
  if (now - *since_ >= kLongestWait) return true;
  g.mutex.unlock();
  return false;
}

void QuietGate::unlock() { gate().mutex.unlock(); }

/// Waits for the calls of other threads. The calling thread's own calls cannot return, since it is in exit().
void waitForCalls() {
  Gate &g = gate();
  std::unique_lock lock(g.mutex);
  g.isEnding = true;
  if (g.process != forkCount()) return;
  g.changed.wait(lock, [&] { return g.inside <= insideHere; });
}

class Call {
public:
  Call() {
    Gate &g = gate();
    std::lock_guard lock(g.mutex);
    if (std::exchange(g.process, forkCount()) != forkCount()) g.inside = insideHere;
    isAllowed_ = !g.isEnding;
    g.inside += isAllowed_;
    insideHere += isAllowed_;
  }
  ~Call() {
    if (!isAllowed_) return;
    Gate &g = gate();
    std::lock_guard lock(g.mutex);
    --insideHere;
    --g.inside;
    if (g.isEnding)
      g.changed.notify_all();
    else // atexit handlers run in reverse order: the wait precedes the destructors of statics this call made
      std::atexit(waitForCalls);
  }
  Call(const Call &) = delete;
  Call &operator=(const Call &) = delete;
  explicit operator bool() const { return isAllowed_; }

private:
  bool isAllowed_;
};

class GatedCompiler final : public CompilerService {
public:
  explicit GatedCompiler(CompilerService &below) : below_(below) {}

  CompileStatus signatures(std::string_view source, const std::string &fileName, std::vector<Signature> &out,
                           std::vector<Diagnostic> &diags, const Supplied &supplied) noexcept override {
    const Call call;
    return mayCompile(call, diags) ? below_.signatures(source, fileName, out, diags, supplied)
                                   : CompileStatus::BackendFailure;
  }
  CompileStatus definition(std::string_view source, const CompileOptions &options, Definition &out,
                           std::vector<Diagnostic> &diags) noexcept override {
    const Call call;
    return mayCompile(call, diags) ? below_.definition(source, options, out, diags)
                                   : CompileStatus::BackendFailure;
  }
  CompileStatus compile(std::string_view source, const CompileOptions &options, std::string &bundle,
                        std::vector<Diagnostic> &diags) noexcept override {
    const Call call;
    std::optional<CompileOptions> own;
    return mayCompile(call, diags) ? below_.compile(source, withDebug(options, own), bundle, diags)
                                   : CompileStatus::BackendFailure;
  }
  CompileStatus emit(std::string_view source, const CompileOptions &options, Emit what, std::string &out,
                     std::vector<Diagnostic> &diags) noexcept override {
    const Call call;
    std::optional<CompileOptions> own;
    return mayCompile(call, diags) ? below_.emit(source, withDebug(options, own), what, out, diags)
                                   : CompileStatus::BackendFailure;
  }
  CompileStatus choices(std::string_view source, const CompileOptions &options,
                        std::vector<VariantChoice> &out, std::vector<Diagnostic> &diags) noexcept override {
    const Call call;
    std::optional<CompileOptions> own;
    return mayCompile(call, diags) ? below_.choices(source, withDebug(options, own), out, diags)
                                   : CompileStatus::BackendFailure;
  }
  std::vector<std::string> targets() noexcept override {
    const Call call;
    return call ? below_.targets() : std::vector<std::string>();
  }
  std::string explain(std::string_view code) noexcept override {
    const Call call;
    return call ? below_.explain(code) : "";
  }
  std::string version() noexcept override { return below_.version(); }

private:
  static bool mayCompile(const Call &call, std::vector<Diagnostic> &diags) {
    Diagnostic d;
    if (!call) {
      d.code = "E_ENDING";
      d.message = "the process is ending: nothing more is compiled";
    } else if (!canMap(kCompilationBytes)) {
      d.code = "E_OUT_OF_MEMORY";
      d.message = "the process has too little memory left to compile: a compilation needs " +
                  std::to_string(kCompilationBytes >> 20) + " MB of address space (ulimit -v)";
    } else {
      return true;
    }
    diags.push_back(std::move(d));
    return false;
  }
  CompilerService &below_;
};

} // namespace

CompilerService *gatedCompiler(CompilerService *compiler) {
  static GatedCompiler &gated = *new GatedCompiler(*compiler);
  [[maybe_unused]] static const int registered = std::atexit(waitForCalls); // waits for the first calls
  return &gated;
}

const CompileOptions &withDebug(const CompileOptions &given, std::optional<CompileOptions> &own) {
  const auto &constants = given.supplied.constants;
  if (given.isIr || environment("TESSERA_DEBUG") != "on" ||
      std::ranges::any_of(constants, [](const auto &c) { return c.first == "__debug__"; }))
    return given;
  own = given;
  own->supplied.constants.emplace_back("__debug__", "True");
  return *own;
}

} // namespace tessera
