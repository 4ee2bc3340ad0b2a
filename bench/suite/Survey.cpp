// Products of many extents and dtypes, and attention, beside every peer: the slowest are listed first.
#include "bench/suite/Products.h"
#include "bench/suite/Suites.h"
#include <algorithm>
#include <fmt/format.h>

namespace tessera::bench {
namespace {

/// Extents from 1 on, where bodies of products change, with two fixed ones on the other axes.
void addNarrowExtents(Suite &out) {
  for (int64_t i = 1; i <= 80; ++i)
    for (int64_t n : {64, 256, 1024})
      for (int64_t k : {64, 256, 1024})
        out.cases.push_back(productCase("M", fmt::format("M {}", extentsOf({i, n, k})), {i, n, k}));
  for (int64_t i = 1; i <= 40; ++i)
    for (auto [x, y] : {std::pair<int64_t, int64_t>{256, 256}, {1024, 256}, {1024, 1024}}) {
      out.cases.push_back(productCase("N", fmt::format("N {}", extentsOf({x, i, y})), {x, i, y}));
      out.cases.push_back(productCase("K", fmt::format("K {}", extentsOf({x, y, i})), {x, y, i}));
    }
}

void addBatches(Suite &out) {
  for (DType t : {DType::F32, DType::F64, DType::BF16, DType::F16, DType::I8})
    for (int64_t n : {4, 5, 8, 12, 16, 23, 32, 48, 64, 128})
      for (int64_t batch : {1, 16, 256, 4096}) {
        if (batch * n * n > int64_t{1} << 22) continue;
        Product p{n, n, n};
        p.batch = batch, p.input = t, p.output = t == DType::I8 ? DType::I32 : t;
        const std::string family = fmt::format("batch {}", name(t));
        out.cases.push_back(productCase(family, fmt::format("{} of {} {}", batch, extentsOf(p), name(t)), p));
      }
}

void addTransposes(Suite &out) {
  for (DType t : {DType::F32, DType::F64, DType::BF16, DType::I8})
    for (Product p :
         {Product{64, 64, 64}, {200, 200, 200}, {512, 512, 512}, {8, 1024, 1024}, {1024, 8, 1024}})
      for (const char *which : {"nn", "tn", "nt", "tt"}) {
        p.transposeA = which[0] == 't', p.transposeB = which[1] == 't';
        p.input = t, p.output = t == DType::I8 ? DType::I32 : t;
        const std::string family = fmt::format("transposed {}", name(t));
        out.cases.push_back(productCase(family, fmt::format("{} {} {}", extentsOf(p), which, name(t)), p));
      }
}

void addAttention(Suite &out) {
  for (DType t : {DType::F32, DType::BF16, DType::F16})
    for (AttentionShape s : {AttentionShape{8, 128, 128, 64},
                             {8, 197, 197, 64},
                             {8, 512, 512, 64},
                             {8, 512, 512, 64, true},
                             {4, 512, 512, 128},
                             {8, 1, 2048, 64},
                             {8, 1, 2048, 128},
                             {8, 8, 2048, 64}}) {
      s.dtype = t;
      const std::string family = fmt::format("attention {}", name(t));
      out.cases.push_back(attentionCase(family,
                                        fmt::format("{} H{} S{} of {} D{}{}", family, s.heads, s.queries,
                                                    s.keys, s.depth, s.causal ? " causal" : ""),
                                        s));
    }
}

/// A few queries, as one step of decoding has, or several heads that share keys: numbers around those at
/// which the code is another one, of short and long keys and of depths that vectors do not divide.
void addFewQueries(Suite &out) {
  const AttentionShape shapes[] = {{8, 1, 100, 64},  {8, 1, 300, 80},   {8, 1, 1000, 96},  {8, 1, 1000, 256},
                                   {8, 1, 5000, 32}, {8, 1, 5000, 128}, {1, 1, 50000, 64}, {4, 1, 300, 128}};
  for (DType t : {DType::F32, DType::BF16})
    for (AttentionShape s : shapes)
      for (int64_t queries : {1, 2, 3, 5, 8, 12, 13, 16, 17, 32}) {
        s.dtype = t, s.queries = queries;
        const std::string family = fmt::format("few queries {}", name(t));
        out.cases.push_back(attentionCase(
            family, fmt::format("{} H{} S{} of {} D{}", family, s.heads, queries, s.keys, s.depth), s));
      }
}

void addLarge(Suite &out) {
  for (DType t : {DType::F32, DType::F64, DType::BF16, DType::I8})
    for (int64_t n : {512, 1024, 2048}) {
      Product p{n, n, n};
      p.input = t, p.output = t == DType::I8 ? DType::I32 : t;
      out.cases.push_back(productCase("large", fmt::format("large {} {}", extentsOf(p), name(t)), p));
    }
}

} // namespace

Table benchSurvey(const Settings &settings) {
  Lab lab(settings);
  Suite suite{"survey",
              "Products of many extents, and attention",
              {"M x N x K, row-major, one compilation for all extents of a dtype."},
              {},
              {}};
  suite.rounds = 3;
  addNarrowExtents(suite);
  addBatches(suite);
  addTransposes(suite);
  addAttention(suite);
  addFewQueries(suite);
  addLarge(suite);
  Table table = runSuite(suite, lab);
  keepSlowest(table, settings.full ? table.rows.size() : 60);
  return table;
}

void keepSlowest(Table &table, size_t count) {
  std::sort(table.rows.begin(), table.rows.end(),
            [](const auto &a, const auto &b) { return std::stod(a[6]) < std::stod(b[6]); });
  if (table.rows.size() <= count) return;
  table.rows.resize(count);
  table.notes.push_back(fmt::format("The table lists the {} lowest scores.", count));
}

} // namespace tessera::bench
