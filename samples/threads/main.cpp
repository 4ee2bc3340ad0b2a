// Several contexts in threads: each thread has a context of its own, compiles the program, records a sequence
// of launches once and replays it. Contexts share nothing, so the threads need no locks between them.
#include <atomic>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <tessera/tessera.hpp>
#include <thread>
#include <vector>

namespace {

constexpr int kThreads = 4, kSteps = 10, kReplays = 100;
constexpr size_t kElements = 1000;

/// Computes y += alpha * x, kSteps * kReplays times. Returns the number of wrong elements.
size_t work(const std::string &source, const char *file, float alpha) {
  tessera::Context context;
  tessera::Module module = context.load(source, {.fileName = file});
  tessera::Kernel saxpy = module.kernel("saxpy");
  std::vector<float> ones(kElements, 1.0f);
  tessera::Buffer<float> x = context.upload<float>(ones), y = context.upload<float>(ones);

  tessera::Stream stream = context.stream();
  stream.beginCapture(); // from here on launches are recorded, not run
  for (int i = 0; i < kSteps; ++i)
    tessera::launch(saxpy, stream, x, y, alpha, tessera::Dim(kElements));
  tessera::Graph steps = stream.endCapture();

  for (int i = 0; i < kReplays; ++i)
    stream.launch(steps);
  stream.synchronize();

  size_t wrong = 0;
  for (float value : y.download()) // small whole numbers: exact in f32
    wrong += value != 1.0f + alpha * kSteps * kReplays;
  return wrong;
}

} // namespace

int main(int argc, char **argv) {
  std::ifstream file(argc == 2 ? argv[1] : "");
  if (!file) {
    std::fprintf(stderr, "usage: %s saxpy/saxpy.py\n", argv[0]);
    return 1;
  }
  std::string source(std::istreambuf_iterator<char>(file), {});

  // Prints warnings of the library, from any thread: a misspelt TESSERA_BACKEND, for example.
  tsrSetLogCallback([](void *, tsr_log_level_t, const char *code,
                       const char *text) { std::fprintf(stderr, "[%s] %s\n", code, text); },
                    nullptr, TSR_LOG_WARNING);

  std::atomic<size_t> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 1; t <= kThreads; ++t)
    threads.emplace_back([&, t] {
      try {
        wrong += work(source, argv[1], static_cast<float>(t));
      } catch (const tessera::Error &e) { // no exception may leave a thread
        std::fprintf(stderr, "thread %d: %s\n", t, e.what());
        wrong += kElements;
      }
    });
  for (std::thread &t : threads)
    t.join();
  if (wrong) {
    std::fprintf(stderr, "%zu elements wrong\n", wrong.load());
    return 1;
  }
  std::printf("threads: %d contexts, %d launches each, all right\n", kThreads, kSteps * kReplays);
  return 0;
}
