// saxpy against the stream limit: arrays larger than every cache, 12 bytes per element.
#include "bench/Benchmarks.h"
#include "bench/Check.h"
#include "bench/Data.h"
#include "bench/Machine.h"
#include "bench/Timing.h"
#include "tools/host/Host.h"
#include <cmath>
#include <fmt/format.h>

namespace tessera::bench {

Table benchSaxpy(const Settings &settings) {
  Table table;
  const double stream = measureStream(settings.cores);
  table.title = fmt::format("saxpy, {} core{}", settings.cores, settings.cores == 1 ? "" : "s");
  table.notes = {fmt::format("GB/s of the median call, x read, y read and written; stream limit {:.1f} GB/s.",
                             stream * 1e-9)};
  table.columns = {"elements", "GB/s", "of limit"};
  host::Device device("cpu");
  const std::string file = settings.samples + "/saxpy/saxpy.py", source = host::readText(file);
  host::Kernel kernel(device, source, {.fileName = file});
  for (size_t n : {size_t(1) << 24, (size_t(1) << 25) + 3}) {
    const std::vector<float> x = randomFloats(n, 1), y = randomFloats(n, 2);
    host::Buffer bufferX(device, x), bufferY(device, y);
    host::Launch launch(kernel);
    launch.set("x", bufferX).set("y", bufferY).setScalar("alpha", 0.5).setDims({{"n", int64_t(n)}});
    launch.run();
    const std::vector<float> got = bufferY.as<float>();
    Check check;
    for (size_t i = 0; i < n; ++i)
      check.add(got[i], 0.5 * x[i] + y[i], 0x1p-23 * (std::abs(0.5 * x[i]) + std::abs(y[i])));
    table.ok = table.ok && check.ok();
    const Timing t = measure([&] { launch.run(); }, 0.5);
    const double rate = 12.0 * double(n) / t.median;
    table.rows.push_back({std::to_string(n), check.ok() ? fmt::format("{:.1f}", rate * 1e-9) : "WRONG",
                          fmt::format("{:.0f}%", 100 * rate / stream)});
  }
  return table;
}

} // namespace tessera::bench
