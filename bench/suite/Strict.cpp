// What the profile `strict` costs (docs/strict.md): each program beside itself in `standard`.
#include "bench/Data.h"
#include "bench/suite/Products.h"
#include "bench/suite/Suites.h"
#include <cmath>
#include <fmt/format.h>

namespace tessera::bench {
namespace {

/// The same case in `strict`, whose only peer is its program in `standard`.
Case inStrict(Case c) {
  c.prepare = [prepare = std::move(c.prepare)](Trial &trial) {
    std::vector<Contender> own;
    for (const char *profile : {"strict", "standard"}) {
      trial.lab.numerics = profile;
      trial.contenders.clear();
      prepare(trial);
      own.push_back(trial.contenders.front());
    }
    own.back().name = "standard";
    trial.contenders = std::move(own);
  };
  return c;
}

Case sumsAlong(int64_t axis, int64_t rows, int64_t columns) {
  const std::string source =
      fmt::format("import tessera as ts\n\n\n@ts.jit\ndef f(x: ts.Tensor[\"R\", \"C\", "
                  "ts.f32]):\n    return ts.sum(x, axis={})\n",
                  axis);
  const std::string title = fmt::format("sums of {}x{} along axis {}", rows, columns, axis);
  const int64_t results = axis == 0 ? columns : rows;
  const Work work{0, Unit::None, 4.0 * double(rows * columns), 4.0 * double(results)};
  return {"sums", title, work, [=](Trial &trial) {
            const std::vector<float> values =
                randomFloats(size_t(rows * columns), std::hash<std::string>()(title));
            const size_t bytes = size_t(results) * sizeof(float);
            trial.addTessera(trial.lab.kernel(source, "f"), {{"x", trial.store(values)}},
                             {{"R", rows}, {"C", columns}}, bytes);
            trial.check = [=](const void *result) {
              std::vector<double> want(static_cast<size_t>(results));
              for (int64_t r = 0; r < rows; ++r)
                for (int64_t c = 0; c < columns; ++c)
                  want[size_t(axis == 0 ? c : r)] += values[size_t(r * columns + c)];
              Check check;
              for (size_t i = 0; i < want.size(); ++i)
                check.add(static_cast<const float *>(result)[i], want[i],
                          1e-6 * double(axis == 0 ? rows : columns));
              return check;
            };
          }};
}

} // namespace

Suite strictSuite() {
  Suite out{
      "strict",
      "The profile strict beside standard",
      {"Products are M x N x K, of f32 but for one; nt: B is transposed. One compilation for all extents."},
      {},
      {{"products", 0.95, 0.90}, {"sums", 0.90, 0}, {"rows", 0.90, 0}, {"attention", 0.95, 0}}};
  out.causes = {
      {"^attention of 8x512 ", "weights of hidden keys are multiplied, since infinite values give a NaN",
       "scores that end where no row sees a key (decision 192)", "a test of the values of a block"},
      {"^(softmax|layer_norm) of",
       "standard has a variant for short rows; here rows of one block have the loops of several",
       "one row as a tile (decision 192), slower below two blocks", "a variant for rows of one block"}};
  auto product = [&](const char *family, Product p, const char *suffix = "") {
    out.cases.push_back(inStrict(productCase(family, extentsOf(p) + suffix, p)));
  };
  for (const Product &p : {Product{64, 64, 64},
                           {256, 256, 256},
                           {512, 512, 512},
                           {1024, 1024, 1024},
                           {512, 2048, 2048},
                           {128, 3072, 768},
                           {1, 4096, 4096},
                           {4, 2048, 2048},
                           {8, 2048, 2048},
                           {16, 2048, 2048},
                           {32, 2048, 2048}})
    product("products", p);
  for (Product p : {Product{1, 4096, 4096}, {8, 2048, 2048}, {32, 2048, 2048}, {512, 512, 512}}) {
    p.transposeB = true;
    product("transposed", p, " nt");
  }
  Product narrow{256, 256, 1024};
  narrow.input = narrow.output = DType::BF16;
  product("products", narrow, " bf16");
  for (auto [rows, columns] :
       {std::pair<int64_t, int64_t>{4096, 256}, {1024, 1024}, {1000, 4096}, {100, 30000}}) {
    for (int64_t axis : {1, 0})
      out.cases.push_back(inStrict(sumsAlong(axis, rows, columns)));
    for (const char *name : {"softmax", "layer_norm"})
      out.cases.push_back(
          inStrict(rowCase("rows", fmt::format("{} of {}x{}", name, rows, columns), rows, columns)));
  }
  for (const AttentionShape &s : {AttentionShape{8, 512, 512, 64, true}, {8, 1, 4096, 64}})
    out.cases.push_back(inStrict(attentionCase(
        "attention", fmt::format("attention of {}x{} queries, {} keys", s.heads, s.queries, s.keys), s)));
  return out;
}

} // namespace tessera::bench
