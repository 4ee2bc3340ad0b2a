// Compares the f32 transformer block of samples/transformer with the same block composed of BLAS calls and
// loops.
#include "bench/Benchmarks.h"
#include "bench/BlasBlock.h"
#include "bench/Contender.h"
#include "bench/Machine.h"
#include "tools/host/Host.h"
#include <cblas.h>
#include <cmath>
#include <fmt/format.h>

namespace tessera::bench {
namespace {

std::vector<std::string> measureBlock(const BlockShape &s, host::Device &device, const std::string &source,
                                      const std::string &file, double peak, bool &ok) {
  const Block block = randomBlock(s, false, false);
  host::NamedInts dims = {
      {"D", int64_t(s.width)}, {"H", int64_t(s.heads)}, {"K", int64_t(s.depth)}, {"F", int64_t(s.hidden)}};
  host::Kernel kernel(device, source, {.fileName = file, .kernel = "block", .dims = dims});
  dims.push_back({"B", int64_t(s.batch)});
  dims.push_back({"S", int64_t(s.length)});
  host::Launch launch(kernel);
  std::map<std::string, host::Buffer> buffers;
  for (const auto &[name, values] : block.tensors) {
    buffers[name] = host::Buffer(device, values);
    launch.set(name, buffers[name]);
  }
  host::Buffer result(device, buffers["x"].size());
  result.zero();
  launch.set("result", result).setDims(dims);

  BlasBlock blas(block);
  auto &theirs = const_cast<std::vector<float> &>(blas.result());
  Contender contenders[] = {
      {"tessera", [&] { launch.run(); }, result.data(), result.size()},
      {"OpenBLAS and loops", [&] { blas.run(); }, theirs.data(), theirs.size() * sizeof(float)}};
  const BlockResult want = evaluate(block);
  for (Contender &c : contenders) {
    c.poison();
    c.run();
    const auto *got = static_cast<const float *>(c.output);
    c.ok = checkBlock(want, {got, got + c.bytes / sizeof(float)}, 0x1p-24 * std::sqrt(double(s.width))).ok();
    ok = ok && c.ok;
  }
  for (int round = 0; round < 3; ++round)
    for (Contender &c : contenders)
      turn(c, 0.3);
  std::vector<std::string> row = {
      fmt::format("{}x{}x{} H{} F{}", s.batch, s.length, s.width, s.heads, s.hidden)};
  for (const Contender &c : contenders)
    row.push_back(c.ok ? fmt::format("{:.2f} ms", c.best() * 1e3) : "WRONG");
  row.push_back(fmt::format("{:.0f}%", 100 * block.flops() / contenders[0].best() / peak));
  row.push_back(fmt::format("{:.2f}", contenders[1].best() / contenders[0].best()));
  return row;
}

} // namespace

Table benchTransformer(const Settings &settings) {
  Table table;
  const double peak = measureFmaPeak(settings.cores);
  table.title = fmt::format("Transformer block, {} core{}", settings.cores, settings.cores == 1 ? "" : "s");
  table.notes = {fmt::format("f32, batch x length x width; fastest call; FMA peak {:.0f} GF/s ({}).",
                             peak * 1e-9, vectorExtension()),
                 fmt::format("OpenBLAS and loops: cblas_sgemm ({} kernels) for every product; norms, softmax "
                             "and gelu (with the C library's exp and tanh) are plain loops, spread over the "
                             "cores by rows.",
                             openblas_get_corename()),
                 "Both results are checked against double precision first; they take turns in three rounds."};
  table.columns = {"shape", "tessera", "OpenBLAS and loops", "of peak", "times as fast"};
  openblas_set_num_threads(settings.cores);
  host::Device device("cpu");
  const std::string file = settings.samples + "/transformer/transformer.py", source = host::readText(file);
  std::vector<BlockShape> shapes = {{1, 64, 256, 4, 4, 64, 1024}, {2, 256, 512, 8, 8, 64, 2048}};
  if (settings.full) shapes.push_back({4, 512, 768, 12, 12, 64, 3072});
  for (const BlockShape &s : shapes)
    table.rows.push_back(measureBlock(s, device, source, file, peak, table.ok));
  return table;
}

} // namespace tessera::bench
