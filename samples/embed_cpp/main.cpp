// saxpy from C++: read a tile program, compile it, run it on the device, check the answer.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <tessera/tessera.hpp>
#include <vector>

int main(int argc, char **argv) try {
  std::ifstream file(argc == 2 ? argv[1] : "");
  if (!file) {
    std::fprintf(stderr, "usage: %s saxpy/saxpy.py\n", argv[0]);
    return 1;
  }
  std::string source(std::istreambuf_iterator<char>(file), {});

  std::vector<float> x(1000), y(1000, 1.0f);
  std::iota(x.begin(), x.end(), 0.0f);
  const float alpha = 2.5f;

  tessera::Context context;
  tessera::Module module = context.load(source, {.fileName = argv[1]});
  tessera::Kernel saxpy = module.kernel("saxpy");
  tessera::Buffer<float> deviceX = context.upload<float>(x), deviceY = context.upload<float>(y);

  tessera::Stream stream = context.stream();
  tessera::Event start = context.event(), end = context.event();
  start.record(stream);
  // Buffers in parameter order, then scalars, then the symbolic dims.
  tessera::launch(saxpy, stream, deviceX, deviceY, alpha, tessera::Dim(x.size()));
  end.record(stream);
  stream.synchronize();
  deviceY.download(y);

  for (size_t i = 0; i < y.size(); ++i)
    if (y[i] != alpha * x[i] + 1.0f) {
      std::fprintf(stderr, "y[%zu] is %g\n", i, y[i]);
      return 1;
    }
  std::printf("saxpy: %zu elements right, y[%zu] = %g, %.3f ms\n", y.size(), y.size() - 1, y.back(),
              end.since(start));
  return 0;
} catch (const tessera::Error &e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
