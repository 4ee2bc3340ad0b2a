// Matrix instructions of Target IR against the definition of a product. The position of each element that a
// lane holds is written as in the vendor's document. Operands are random, so that no two elements are alike.
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "numerics/Casts.h"
#include "tests/emulation/Emulate.h"
#include <array>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;

namespace tessera::emulation {
namespace {

/// Runs one warp. `body` may use %lane (i32), %x (the words, in device memory) and %s (2048 bytes of shared
/// memory). Returns the words after the launch, which must not fail unless
/// `error` is given.
std::vector<uint32_t> run(const std::string &backend, int lanes, const std::string &body,
                          std::vector<uint32_t> words, std::string *error = nullptr) {
  const bool isPtx = backend.starts_with("ptx");
  const std::string program =
      std::string("target.module @image attributes {cpu = \"\", triple = \"\"} {\n"
                  "llvm.mlir.global internal @shared() {addr_space = 3 : i32, alignment = 128 : i64} : "
                  "!llvm.array<2048 x i8>\n"
                  "llvm.func @tsr_kernel_k(%x: !llvm.ptr<1>, %n: i64) {\n") +
      "%lane = " + (isPtx ? "nvvm.read.ptx.sreg.tid.x" : "rocdl.workitem.id.x") + " : i32\n" +
      "%s = llvm.mlir.addressof @shared : !llvm.ptr<3>\n" + body +
      "llvm.return\n}\n"
      "target.kernel_info \"k\" entry @tsr_kernel_k metadata \"name: k\\0Atarget: " +
      backend.substr(0, backend.find(':')) + backend.substr(backend.rfind(':')) +
      "\\0Anumerics: standard\\0Aparams:\\0A  - {name: x, kind: tensor, dtype: i32, dims: [n], access: "
      "readwrite}"
      "\\0A  - {name: n, kind: dim}\\0Aresources: {smem_per_cta: 2048, scratch_bytes: 0, vector_bytes: 0}"
      "\\0Alaunch:\\0A  axes: [\\\"1\\\"]\\0A  block: [" +
      std::to_string(lanes) + ", 1, 1]\\0A\"\n}";
  DialectRegistry registry;
  registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect, ROCDL::ROCDLDialect, target::TargetDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(program, &context);
  EXPECT_TRUE(module) << program;
  if (!module) return {};
  std::string why;
  const std::string bundle = bundleOf(*module, backend + "+check", why);
  EXPECT_EQ(why, "");
  Device device(backend + "+check");
  const size_t bytes = words.size() * sizeof words[0];
  void *x = nullptr;
  EXPECT_EQ(tsrAlloc(device.handle, bytes, TSR_MEM_DEVICE, &x), TSR_SUCCESS);
  EXPECT_EQ(tsrMemcpyH2D(device.handle, x, words.data(), bytes), TSR_SUCCESS);
  const std::string found = launch(device, bundle, {reinterpret_cast<uint64_t>(x), words.size()});
  if (error)
    *error = found;
  else
    EXPECT_EQ(found, "");
  EXPECT_EQ(tsrMemcpyD2H(device.handle, words.data(), x, bytes), TSR_SUCCESS);
  EXPECT_EQ(tsrFree(device.handle, x), TSR_SUCCESS);
  return words;
}

struct At {
  int row, column;
};

/// A warp's C += A * B. A lane holds each operand in `count` values of type `type`.
struct Values {
  int count;
  const char *type;
};
struct Product {
  const char *name, *backend;
  const char *operation; // computes %d from %a0, ..., %b0, ..., %c0, ...
  const char *result;    // its type
  DType dtype;
  int m, n, k, lanes;
  Values a, b, c;
  At (*atA)(int i, int lane), (*atB)(int i, int lane), (*atC)(int i, int lane);
  int copies = 1; // of elements of A and B
};

// PTX ISA 8.7, 9.7.14.5.8 "Matrix Fragments for mma.m16n8k16 with floating point type": groupID = lane >> 2,
// threadID_in_group = lane % 4.
At mmaA(int i, int lane) {
  const int groupID = lane >> 2, threadID_in_group = lane % 4;
  const int row = (0 <= i && i < 2) || (4 <= i && i < 6) ? groupID : groupID + 8;
  return {row, i < 4 ? threadID_in_group * 2 + (i & 1) : threadID_in_group * 2 + (i & 1) + 8};
}
At mmaB(int i, int lane) {
  const int groupID = lane >> 2, threadID_in_group = lane % 4;
  return {i < 2 ? threadID_in_group * 2 + (i & 1) : threadID_in_group * 2 + (i & 1) + 8, groupID};
}
At mmaC(int i, int lane) {
  const int groupID = lane >> 2, threadID_in_group = lane % 4;
  return {i < 2 ? groupID : groupID + 8, threadID_in_group * 2 + (i & 1)};
}

// AMD's matrix instruction calculator (github.com/ROCm/amd_matrix_instruction_calculator) for CDNA 3, blocks
// of 4 elements: A[i][k] is in lane i + 32 * (k / 4), element k % 4; D[i][j] in lane j + 32 * ((i / 4) % 2),
// element 4 * (i / 8) + i % 4. With 16 rows: lanes i + 16 * (k / 4) and j + 16 * (i / 4), element i % 4.
At inverse(int rows, int columns, int i, int lane, std::pair<int, int> (*place)(int row, int column)) {
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column)
      if (place(row, column) == std::pair(lane, i)) return {row, column};
  ADD_FAILURE() << "lane " << lane << " has no element " << i;
  return {0, 0};
}
At mfma32A(int i, int lane) {
  return inverse(32, 8, i, lane, [](int row, int k) { return std::pair(row + 32 * (k / 4), k % 4); });
}
At mfma32B(int i, int lane) {
  return inverse(8, 32, i, lane, [](int k, int column) { return std::pair(column + 32 * (k / 4), k % 4); });
}
At mfma32C(int i, int lane) {
  return inverse(32, 32, i, lane, [](int row, int column) {
    return std::pair(column + 32 * (row / 4 % 2), 4 * (row / 8) + row % 4);
  });
}
At mfma16A(int i, int lane) {
  return inverse(16, 16, i, lane, [](int row, int k) { return std::pair(row + 16 * (k / 4), k % 4); });
}
At mfma16B(int i, int lane) {
  return inverse(16, 16, i, lane, [](int k, int column) { return std::pair(column + 16 * (k / 4), k % 4); });
}
At mfma16C(int i, int lane) {
  return inverse(16, 16, i, lane,
                 [](int row, int column) { return std::pair(column + 16 * (row / 4), row % 4); });
}
// RDNA 3 ISA, 7.9: lane l and lane l + 16 hold row l of A and column l of B; D[i][j] is in lane j + 16 * (i %
// 2), element i / 2.
At wmmaA(int i, int lane) { return {lane % 16, i}; }
At wmmaB(int i, int lane) { return {i, lane % 16}; }
At wmmaC(int i, int lane) {
  return inverse(16, 16, i, lane,
                 [](int row, int column) { return std::pair(column + 16 * (row % 2), row / 2); });
}

#define MFMA(name, factor, sums)                                                                             \
  "%z = llvm.mlir.constant(0 : i32) : i32\n%d = rocdl.mfma.f32." name " %a0, %b0, %c0, %z, %z, %z : ("       \
  "vector<4x" factor ">, vector<4x" factor ">, vector<" sums "xf32>, i32, i32, i32) -> vector<" sums "xf32>"
#define WMMA(type, factor)                                                                                   \
  "%d = rocdl.wmma.f32.16x16x16." type " %a0, %b0, %c0 : (vector<16x" factor ">, vector<16x" factor          \
  ">, vector<8xf32>) -> vector<8xf32>"
#define MMA(type, register)                                                                                  \
  "%d = nvvm.mma.sync A[%a0, %a1, %a2, %a3] B[%b0, %b1] C[%c0, %c1, %c2, %c3] {layoutA = "                   \
  "#nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<" type      \
  ">, multiplicandBPtxType = #nvvm.mma_type<" type                                                           \
  ">, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (" register ", " register ", f32) -> "                   \
                                                                              "!llvm.struct<(f32, f32, "     \
                                                                              "f32, f32)>"
constexpr char kFourFloats[] = "!llvm.struct<(f32, f32, f32, f32)>";

const Product kProducts[] = {
    {"mma_m16n8k16_bf16",
     "ptx:emulated:sm_80",
     MMA("bf16", "i32"),
     kFourFloats,
     DType::BF16,
     16,
     8,
     16,
     32,
     {4, "i32"},
     {2, "i32"},
     {4, "f32"},
     mmaA,
     mmaB,
     mmaC},
    {"mma_m16n8k16_f16",
     "ptx:emulated:sm_80",
     MMA("f16", "vector<2xf16>"),
     kFourFloats,
     DType::F16,
     16,
     8,
     16,
     32,
     {4, "vector<2xf16>"},
     {2, "vector<2xf16>"},
     {4, "f32"},
     mmaA,
     mmaB,
     mmaC},
    {"mfma_32x32x8_bf16",
     "rocm:emulated:gfx942",
     MFMA("32x32x8bf16.1k", "i16", "16"),
     "",
     DType::BF16,
     32,
     32,
     8,
     64,
     {1, "vector<4xi16>"},
     {1, "vector<4xi16>"},
     {1, "vector<16xf32>"},
     mfma32A,
     mfma32B,
     mfma32C},
    {"mfma_32x32x8_f16",
     "rocm:emulated:gfx90a",
     MFMA("32x32x8f16", "f16", "16"),
     "",
     DType::F16,
     32,
     32,
     8,
     64,
     {1, "vector<4xf16>"},
     {1, "vector<4xf16>"},
     {1, "vector<16xf32>"},
     mfma32A,
     mfma32B,
     mfma32C},
    {"mfma_16x16x16_bf16",
     "rocm:emulated:gfx90a",
     MFMA("16x16x16bf16.1k", "i16", "4"),
     "",
     DType::BF16,
     16,
     16,
     16,
     64,
     {1, "vector<4xi16>"},
     {1, "vector<4xi16>"},
     {1, "vector<4xf32>"},
     mfma16A,
     mfma16B,
     mfma16C},
    {"mfma_16x16x16_f16",
     "rocm:emulated:gfx942",
     MFMA("16x16x16f16", "f16", "4"),
     "",
     DType::F16,
     16,
     16,
     16,
     64,
     {1, "vector<4xf16>"},
     {1, "vector<4xf16>"},
     {1, "vector<4xf32>"},
     mfma16A,
     mfma16B,
     mfma16C},
    {"wmma_16x16x16_bf16",
     "rocm:emulated:gfx1100",
     WMMA("bf16", "i16"),
     "",
     DType::BF16,
     16,
     16,
     16,
     32,
     {1, "vector<16xi16>"},
     {1, "vector<16xi16>"},
     {1, "vector<8xf32>"},
     wmmaA,
     wmmaB,
     wmmaC,
     2},
    {"wmma_16x16x16_f16",
     "rocm:emulated:gfx1100",
     WMMA("f16", "f16"),
     "",
     DType::F16,
     16,
     16,
     16,
     32,
     {1, "vector<16xf16>"},
     {1, "vector<16xf16>"},
     {1, "vector<8xf32>"},
     wmmaA,
     wmmaB,
     wmmaC,
     2},
};

class Products : public testing::TestWithParam<Product> {};

TEST_P(Products, EqualTheDefinition) {
  const Product &p = GetParam();
  const int wordsA = p.m * p.k * p.copies / p.lanes / 2, wordsB = p.k * p.n * p.copies / p.lanes / 2,
            wordsC = p.m * p.n / p.lanes;
  const int wordsOfLane = wordsA + wordsB + wordsC;

  std::minstd_rand random(11);
  std::normal_distribution<double> normal;
  auto matrix = [&](int rows, int columns, DType dtype) {
    std::vector<std::vector<double>> out(rows, std::vector<double>(columns));
    for (auto &row : out)
      for (double &v : row)
        v = toDouble(fromDouble(normal(random), dtype), dtype);
    return out;
  };
  const auto a = matrix(p.m, p.k, p.dtype), b = matrix(p.k, p.n, p.dtype), c = matrix(p.m, p.n, DType::F32);
  std::vector<uint32_t> words(p.lanes * wordsOfLane);
  for (int lane = 0; lane < p.lanes; ++lane) {
    auto *at = reinterpret_cast<char *>(words.data() + lane * wordsOfLane);
    auto put = [&](const auto &from, At (*position)(int, int), int count, DType dtype) {
      for (int i = 0; i < count; ++i) {
        const auto [row, column] = position(i, lane);
        storeBits(at, dtype, fromDouble(from[row][column], dtype));
        at += dtype == DType::F32 ? 4 : 2;
      }
    };
    put(a, p.atA, wordsA * 2, p.dtype);
    put(b, p.atB, wordsB * 2, p.dtype);
    put(c, p.atC, wordsC, DType::F32);
  }

  std::string body = "%per = llvm.mlir.constant(" + std::to_string(wordsOfLane) +
                     " : i32) : i32\n%first = llvm.mul %lane, %per : i32\n"
                     "%own = llvm.getelementptr %x[%first] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32\n";
  auto address = [&](const std::string &name, int word) {
    body += "%p" + name + " = llvm.getelementptr %own[" + std::to_string(word) +
            "] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32\n";
  };
  auto load = [&](const char *letter, Values values, int word, int count) {
    for (int i = 0; i < values.count; ++i) {
      const std::string name = letter + std::to_string(i);
      address(name, word + i * count / values.count);
      body += "%" + name + " = llvm.load %p" + name + " {alignment = 4 : i64} : !llvm.ptr<1> -> " +
              values.type + "\n";
    }
  };
  load("a", p.a, 0, wordsA);
  load("b", p.b, wordsA, wordsB);
  load("c", p.c, wordsA + wordsB, wordsC);
  body += std::string(p.operation) + "\n";
  for (int i = 0; i < p.c.count; ++i) {
    const std::string value = p.c.count == 1 ? "d" : "d" + std::to_string(i);
    if (p.c.count > 1)
      body += "%" + value + " = llvm.extractvalue %d[" + std::to_string(i) + "] : " + p.result + "\n";
    body += "llvm.store %" + value + ", %pc" + std::to_string(i) + " {alignment = 4 : i64} : " + p.c.type +
            ", !llvm.ptr<1>\n";
  }
  words = run(p.backend, p.lanes, body, words);
  ASSERT_EQ(words.size(), size_t(p.lanes * wordsOfLane));

  for (int lane = 0; lane < p.lanes; ++lane)
    for (int i = 0; i < wordsC; ++i) {
      const auto [row, column] = p.atC(i, lane);
      double sum = c[row][column], magnitude = std::abs(sum);
      for (int k = 0; k < p.k; ++k)
        sum += a[row][k] * b[k][column], magnitude += std::abs(a[row][k] * b[k][column]);
      float found;
      std::memcpy(&found, &words[lane * wordsOfLane + wordsA + wordsB + i], sizeof found);
      EXPECT_NEAR(found, sum, magnitude * 0x1p-24) << row << ", " << column;
    }
}

INSTANTIATE_TEST_SUITE_P(Instructions, Products, testing::ValuesIn(kProducts),
                         [](const auto &info) { return std::string(info.param.name); });

/// Lanes 16 to 31 of a wave hold the elements of lanes 0 to 15.
TEST(Wmma, HalvesThatDifferAreFound) {
  const std::string body = R"(
%c15 = llvm.mlir.constant(15 : i32) : i32
%zero = llvm.mlir.constant(dense<0> : vector<16xi16>) : vector<16xi16>
%sums = llvm.mlir.constant(dense<0.0> : vector<8xf32>) : vector<8xf32>
%own = llvm.trunc %lane : i32 to i16
%a = llvm.insertelement %own, %zero[%c15 : i32] : vector<16xi16>
%d = rocdl.wmma.f32.16x16x16.bf16 %a, %zero, %sums : (vector<16xi16>, vector<16xi16>, vector<8xf32>) -> vector<8xf32>
)";
  std::string found;
  run("rocm:emulated:gfx1100", 32, body, {0}, &found);
  EXPECT_NE(found.find("[E_EMU_OPERANDS] "), std::string::npos) << found;
}

/// PTX ISA, "ldmatrix": threads 8 i to 8 i + 7 give the addresses of the rows of matrix i; thread T gets the
/// elements 2 (T % 4) and 2 (T % 4) + 1 of row T / 4 of each matrix, or of its transpose.
TEST(LoadMatrix, EqualsTheDefinition) {
  constexpr int kLanes = 32;
  for (const auto [count, isTransposed] :
       {std::pair(1, false), {2, false}, {4, false}, {1, true}, {2, true}, {4, true}}) {
    // Each lane stores a row of eight elements to shared memory, and names the row of another lane.
    std::vector<uint32_t> words(kLanes * 4);
    for (size_t i = 0; i < words.size(); ++i)
      words[i] = uint32_t(2 * i) | uint32_t(2 * i + 1) << 16;
    auto namedBy = [](int lane) { return lane * 5 % kLanes; };
    std::string body = R"(
%c2 = llvm.mlir.constant(2 : i32) : i32
%c4 = llvm.mlir.constant(4 : i32) : i32
%c5 = llvm.mlir.constant(5 : i32) : i32
%c31 = llvm.mlir.constant(31 : i32) : i32
%word = llvm.shl %lane, %c2 : i32
%own = llvm.getelementptr %x[%word] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
%row = llvm.load %own : !llvm.ptr<1> -> vector<4xi32>
%to = llvm.getelementptr %s[%word] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
llvm.store %row, %to : vector<4xi32>, !llvm.ptr<3>
nvvm.barrier
%times = llvm.mul %lane, %c5 : i32
%other = llvm.and %times, %c31 : i32
%offset = llvm.shl %other, %c4 : i32
%from = llvm.getelementptr %s[%offset] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
)";
    const std::string type = count == 1   ? "i32"
                             : count == 2 ? "!llvm.struct<(i32, i32)>"
                                          : "!llvm.struct<(i32, i32, i32, i32)>";
    body +=
        "%d = nvvm.ldmatrix %from {num = " + std::to_string(count) + " : i32, layout = #nvvm.mma_layout<" +
        (isTransposed ? "col" : "row") +
        ">, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : "
        "(!llvm.ptr<3>) -> " +
        type + "\n";
    for (int i = 0; i < count; ++i) {
      const std::string n = std::to_string(i);
      if (count > 1) body += "%d" + n + " = llvm.extractvalue %d[" + n + "] : " + type + "\n";
      body += "%p" + n + " = llvm.getelementptr %own[" + n + "] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32\n" +
              "llvm.store %d" + (count > 1 ? n : "") + ", %p" + n + " : i32, !llvm.ptr<1>\n";
    }
    words = run("ptx:emulated:sm_80", kLanes, body, words);
    ASSERT_EQ(words.size(), size_t(kLanes * 4));
    for (int lane = 0; lane < kLanes; ++lane)
      for (int matrix = 0; matrix < count; ++matrix)
        for (int half = 0; half < 2; ++half) {
          int row = lane / 4, column = 2 * (lane % 4) + half;
          if (isTransposed) std::swap(row, column);
          const int expected = namedBy(8 * matrix + row) * 8 + column;
          EXPECT_EQ(words[lane * 4 + matrix] >> (16 * half) & 0xffff, uint32_t(expected))
              << count << isTransposed << ": " << lane << ", " << matrix << ", " << half;
        }
  }
}

} // namespace
} // namespace tessera::emulation
