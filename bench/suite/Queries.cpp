// Attention of many queries (prefill) and of one (decode), beside oneDNN's products and softmax.
#include "bench/Data.h"
#include "bench/suite/Products.h"
#include "bench/suite/Suites.h"
#include <cmath>
#include <fmt/format.h>

namespace tessera::bench {
namespace {

std::string attentionSource(const AttentionShape &s) {
  auto tensor = [&](const char *length) {
    return fmt::format("ts.Tensor[\"H\", \"{}\", {}, ts.{}]", length, s.depth, name(s.dtype));
  };
  return fmt::format("import tessera as ts\n\n\n@ts.jit\ndef f(q: {}, k: {}, v: {}):\n"
                     "    return ts.flash_attention(q, k, v, is_causal={})\n",
                     tensor("Sq"), tensor("Sk"), tensor("Sk"), s.causal ? "True" : "False");
}

/// Up to 64 query rows, spread over the heads, and the last one are compared.
struct AttentionReference {
  AttentionShape s;
  std::vector<double> q, k, v;

  Check operator()(const void *result) const {
    Check check;
    const double tolerance =
        s.dtype == DType::F32 ? 2e-5 : 2e-2; // of values in [-1, 1]; narrow ones round P and results
    const std::vector<double> got = toDoubles(s.dtype, result, size_t(s.heads * s.queries * s.depth));
    const int64_t rows = s.heads * s.queries, step = std::max<int64_t>(1, rows / 64);
    std::vector<double> p(size_t(s.keys)), want(size_t(s.depth));
    auto compare = [&](int64_t r) {
      const int64_t head = r / s.queries, last = s.causal ? r % s.queries + s.keys - s.queries : s.keys - 1;
      double total = 0;
      for (int64_t j = 0; j <= last; ++j) {
        double dot = 0;
        for (int64_t d = 0; d < s.depth; ++d)
          dot += q[size_t(r * s.depth + d)] * k[size_t((head * s.keys + j) * s.depth + d)];
        total += p[size_t(j)] = std::exp(dot / std::sqrt(double(s.depth)));
      }
      std::fill(want.begin(), want.end(), 0);
      for (int64_t j = 0; j <= last; ++j)
        for (int64_t d = 0; d < s.depth; ++d)
          want[size_t(d)] += p[size_t(j)] / total * v[size_t((head * s.keys + j) * s.depth + d)];
      for (int64_t d = 0; d < s.depth; ++d)
        check.add(got[size_t(r * s.depth + d)], want[size_t(d)], tolerance);
    };
    for (int64_t r = 0; r < rows; r += step)
      compare(r);
    compare(rows - 1);
    return check;
  }
};

/// "prefill f32 H8 S512 D64 causal"
std::string titleOf(const std::string &family, const AttentionShape &s) {
  return fmt::format("{} H{} S{}{} D{}{}", family, s.heads, s.queries,
                     s.keys == s.queries ? "" : fmt::format(" of {}", s.keys), s.depth,
                     s.causal ? " causal" : "");
}

} // namespace

Case attentionCase(const std::string &family, std::string title, const AttentionShape &s) {
  const double pairs = s.causal ? double(s.queries) * (double(s.keys) - double(s.queries - 1) / 2)
                                : double(s.queries) * double(s.keys);
  const double bytes = storageBytes(s.dtype), one = double(s.heads * s.depth) * bytes;
  Work work{4.0 * double(s.heads) * double(s.depth) * pairs, s.dtype == DType::BF16 ? Unit::Bf16 : Unit::F32,
            one * double(s.queries + 2 * s.keys), one * double(s.queries)};
  return {family, title, work, [=](Trial &trial) {
            const size_t countQ = size_t(s.heads * s.queries * s.depth),
                         countK = size_t(s.heads * s.keys * s.depth);
            const void *q = trial.store(randomValues(s.dtype, countQ, title + " q")),
                       *k = trial.store(randomValues(s.dtype, countK, title + " k")),
                       *v = trial.store(randomValues(s.dtype, countK, title + " v"));
            const size_t result = countQ * size_t(storageBytes(s.dtype));
            trial.addTessera(trial.lab.kernel(attentionSource(s), "f"), {{"q", q}, {"k", k}, {"v", v}},
                             {{"H", s.heads}, {"Sq", s.queries}, {"Sk", s.keys}}, result);
            trial.addPeer("oneDNN", result, [=](void *out) { return dnnlAttention(s, q, k, v, out); });
            trial.check = AttentionReference{s, toDoubles(s.dtype, q, countQ), toDoubles(s.dtype, k, countK),
                                             toDoubles(s.dtype, v, countK)};
          }};
}

Suite attentionSuite() {
  Suite out{"attention",
            "Attention",
            {"H heads, S queries and keys, D depth; D is known when compiling. oneDNN: product, softmax, "
             "product; causal: its products compute the masked half, too, and a loop on one core masks."},
            {},
            {{"prefill f32", 1.30, 0.97},
             {"prefill f32", 0, 0, 0.70, "S(512|1024) D\\d+$", "of all keys, from 512 on"},
             {"prefill bf16", 1.20, 0.95},
             {"decode f32", 1.30, 0.97},
             {"decode f32", 0, 0, 0.90, "H32", "from memory"},
             {"decode bf16", 1.20, 0.95},
             {"decode bf16", 0, 0, 0.90, "H32", "from memory"}}};
  out.causes = {{"^decode bf16 H8 S2 ", "dots widen each element and fold their lanes",
                 "rows of pairs by vdpbf16ps, 290 us instead of 275 (decision 144)", "not known"},
                {"^decode bf16 H8 S(4|8|12|16) ",
                 "packing K, a third of the time of 8 queries, half of it shuffles",
                 "blocks of keys that are transposed in registers, 90 us instead of 230 (decision 144)",
                 "a packing of fewer shuffles"},
                {"^decode f32 H8 S(8|9|12|16) ", "scores are dots, whose lanes are folded for each result",
                 "dots instead of vectors along the queries, up to 24 queries (decision 144)",
                 "a body that multiplies several rows of f32, as bf16 has one"},
                {"^decode .* H32 S1 ", "one core awaits few lines from pages of 4 KB",
                 "fetching into the second cache, 0.81 of the limit instead of 0.65 (decision 145)",
                 "pages of 2 MB, which whoever allocates the tensors decides"}};
  const AttentionShape shapes[] = {{8, 128, 128, 64},       {8, 512, 512, 64},         {8, 1024, 1024, 64},
                                   {8, 512, 512, 64, true}, {8, 1024, 1024, 64, true}, {4, 512, 512, 128},
                                   {12, 197, 197, 64}};
  for (DType t : {DType::F32, DType::BF16})
    for (AttentionShape s : shapes) {
      s.dtype = t;
      const std::string family = fmt::format("prefill {}", name(t));
      out.cases.push_back(attentionCase(family, titleOf(family, s), s));
    }
  for (const AttentionShape &s : {AttentionShape{8, 1, 2048, 64},
                                  {8, 1, 2048, 128},
                                  {32, 1, 4096, 128},
                                  {8, 2, 2048, 64},
                                  {8, 4, 2048, 64},
                                  {8, 4, 2048, 128},
                                  {8, 8, 2048, 64},
                                  {8, 9, 2048, 64},
                                  {8, 12, 2048, 64},
                                  {8, 16, 2048, 64},
                                  {8, 16, 2048, 128}})
    out.cases.push_back(attentionCase("decode f32", titleOf("decode f32", s), s));
  for (AttentionShape s : {AttentionShape{8, 1, 2048, 64},
                           {32, 1, 8192, 128},
                           {8, 2, 2048, 64},
                           {8, 4, 2048, 64},
                           {8, 8, 2048, 64},
                           {8, 12, 2048, 64},
                           {8, 16, 2048, 64}}) {
    s.dtype = DType::BF16;
    out.cases.push_back(attentionCase("decode bf16", titleOf("decode bf16", s), s));
  }
  return out;
}

} // namespace tessera::bench
