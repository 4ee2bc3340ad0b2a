// Products: f32, transposed, f64, in batches, narrow, and with bias and gelu.
#include "bench/suite/Products.h"
#include "bench/suite/Suites.h"
#include <fmt/format.h>

namespace tessera::bench {

Suite gemmSuite() {
  Suite out{"gemm",
            "Products of f32 and f64",
            {"M x N x K, row-major, one compilation for all extents. n, t: whether A and B are transposed."},
            {},
            {{"f32", 1.00, 0.93, 0, "^f32 (?!8x)", "but for 8 rows"},
             {"f32", 0, 0.90, 0, "^f32 8x", "of 8 rows"},
             {"f32", 0, 0, 0.92, "^f32 (1024x1024x1024|2048x2048x2048)$", "at 1024 and 2048"},
             {"f32 transposed", 1.02, 0.93}}};
  const Product shapes[] = {{64, 64, 64},       {128, 128, 128},    {256, 256, 256},   {512, 512, 512},
                            {1024, 1024, 1024}, {2048, 2048, 2048}, {2048, 512, 2048}, {128, 3072, 768},
                            {197, 768, 768},    {1, 4096, 4096},    {8, 4096, 4096},   {32, 11008, 4096},
                            {32, 1024, 1024}};
  for (const Product &p : shapes)
    out.cases.push_back(productCase("f32", "f32 " + extentsOf(p), p));
  const Product transposed[] = {{512, 512, 512}, {1024, 1024, 1024}, {128, 3072, 768}, {32, 1024, 1024}};
  for (Product p : transposed)
    for (const char *which : {"tn", "nt", "tt"}) {
      p.transposeA = which[0] == 't', p.transposeB = which[1] == 't';
      out.cases.push_back(productCase("f32 transposed", fmt::format("f32 {} {}", extentsOf(p), which), p));
    }
  for (Product p : {Product{64, 64, 64}, {256, 256, 256}, {1024, 1024, 1024}, {32, 1024, 1024}}) {
    p.input = p.output = DType::F64;
    out.cases.push_back(productCase("f64", "f64 " + extentsOf(p), p));
  }
  return out;
}

Suite batchedSuite() {
  Suite out{
      "batched",
      "Batches of small f32 products",
      {"Batch of M x N x K, row-major, one compilation for all extents. libxsmm generates code for each "
       "shape."},
      {},
      {{"f32", 1.00, 0.95}}};
  for (auto [batch, n] :
       {std::pair<int64_t, int64_t>{4096, 8}, {2048, 16}, {512, 32}, {128, 64}, {32, 128}}) {
    Product p{n, n, n};
    p.batch = batch;
    out.cases.push_back(productCase("f32", fmt::format("{} of {}", batch, extentsOf(p)), p));
  }
  return out;
}

Suite narrowSuite() {
  Suite out{"narrow",
            "Products of bf16 and i8",
            {"M x N x K, row-major, one compilation for all extents; bf16 gives bf16, i8 gives i32."},
            {},
            {{"bf16", 1.10, 0.97}, {"i8", 1.00, 0.97}}};
  const Product shapes[] = {{64, 64, 64},     {256, 256, 256}, {512, 512, 512},  {1024, 1024, 1024},
                            {128, 3072, 768}, {197, 768, 768}, {32, 4096, 4096}, {1, 4096, 4096}};
  for (auto [input, output] : {std::pair{DType::BF16, DType::BF16}, {DType::I8, DType::I32}})
    for (Product p : shapes) {
      p.input = input, p.output = output;
      out.cases.push_back(productCase(name(input), fmt::format("{} {}", name(input), extentsOf(p)), p));
    }
  return out;
}

Suite fusedSuite() {
  Suite out{"fused",
            "gelu(a @ b + bias) in f32",
            {"M x N x K, row-major, one compilation for all extents; gelu by erf; oneDNN with a post-op."},
            {},
            {{"f32", 1.05, 0.95}}};
  for (const Product &p :
       {Product{128, 3072, 768}, {512, 512, 512}, {1024, 1024, 1024}, {197, 3072, 768}, {32, 4096, 1024}})
    out.cases.push_back(productCase("f32", extentsOf(p), p, /*gelu=*/true));
  return out;
}

} // namespace tessera::bench
