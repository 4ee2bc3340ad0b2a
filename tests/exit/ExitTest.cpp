// A program may call exit() while its threads compile: the static objects of the compiler and of LLVM are
// destroyed only after these compilations have ended.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <tessera/tessera.h>
#include <thread>
#include <unistd.h>

namespace {

constexpr int kRuns = 20, kThreads = 8;
constexpr unsigned kLimitSeconds = 120; // a process that hangs dies of SIGALRM
constexpr useconds_t kStepUs = 3000;    // between the exit() moments of two runs

constexpr const char *kSource = R"(import tessera as ts

@ts.kernel
def saxpy(X: ts.Tensor["n", ts.f32], Y: ts.Tensor["n", ts.f32], alpha: ts.f32):
    i = ts.tile.linear_id()
    if i < n:
        Y[i] = alpha * X[i] + Y[i]
)";

tsr_status_t compile(tsr_context_t context) {
  tsr_module_t module = nullptr;
  const tsr_status_t status =
      tsrLoadModuleFromSource(context, kSource, std::strlen(kSource), nullptr, &module);
  if (status == TSR_SUCCESS) tsrUnloadModule(module);
  return status;
}

/// Threads compile until exit() has ended the process, `run` steps after all of them have started.
[[noreturn]] void endWhileOthersCompile(int run) {
  alarm(kLimitSeconds);
  setenv("TESSERA_CACHE_DIR", "off", 1); // so that every call compiles
  tsr_context_t context = nullptr;
  if (tsrCreateContext(&context) != TSR_SUCCESS || compile(context) != TSR_SUCCESS) {
    std::fprintf(stderr, "%s\n", tsrLastError());
    _exit(1);
  }
  std::atomic<int> begun{0};
  for (int t = 0; t < kThreads; ++t)
    std::thread([&begun, context] {
      ++begun;
      while (compile(context) == TSR_SUCCESS) {
      }
      pause(); // the compiler now refuses, and the process is about to end
    }).detach();
  while (begun < kThreads)
    std::this_thread::yield();
  usleep(static_cast<useconds_t>(run) * kStepUs);
  std::exit(0);
}

TEST(Exit, WhileEightThreadsCompile) {
  for (int run = 0; run < kRuns; ++run) {
    const pid_t child = fork();
    if (child == 0) endWhileOthersCompile(run);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_FALSE(WIFSIGNALED(status)) << "run " << run << ": " << strsignal(WTERMSIG(status));
    ASSERT_EQ(WEXITSTATUS(status), 0) << "run " << run;
  }
}

} // namespace
