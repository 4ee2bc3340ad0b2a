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
#include <bit>
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
  DType sum = DType::F32;
  double scale = 1; // of elements of A and B: FNUZ has half the value for the same bits
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

// The same of m16n8k8, m16n8k8 (tf32), m16n8k32, m8n8k16 and m8n8k4 (f64), with PTX's names.
At mma8A(int i, int lane) { return {(lane >> 2) + (i == 0 || i == 1 ? 0 : 8), lane % 4 * 2 + (i & 1)}; }
At mma8B(int i, int lane) { return {lane % 4 * 2 + i, lane >> 2}; }
At tf32A(int i, int lane) {
  const int groupID = lane >> 2, threadID_in_group = lane % 4;
  return {i == 0 || i == 2 ? groupID : groupID + 8,
          i == 0 || i == 1 ? threadID_in_group : threadID_in_group + 4};
}
At tf32B(int i, int lane) { return {i == 0 ? lane % 4 : lane % 4 + 4, lane >> 2}; }
At mma32A(int i, int lane) {
  const int groupID = lane >> 2, threadID_in_group = lane % 4;
  const int row = (0 <= i && i < 4) || (8 <= i && i < 12) ? groupID : groupID + 8;
  return {row, i < 8 ? threadID_in_group * 4 + (i & 3) : threadID_in_group * 4 + (i & 3) + 16};
}
At mma32B(int i, int lane) {
  return {i < 4 ? lane % 4 * 4 + (i & 3) : lane % 4 * 4 + (i & 3) + 16, lane >> 2};
}
At small16A(int i, int lane) { return {lane >> 2, lane % 4 * 4 + i}; }
At small16B(int i, int lane) { return {lane % 4 * 4 + i, lane >> 2}; }
At small4A(int, int lane) { return {lane >> 2, lane % 4}; }
At small4B(int, int lane) { return {lane % 4, lane >> 2}; }
At smallC(int i, int lane) { return {lane >> 2, lane % 4 * 2 + i}; }

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
// Blocks of 8 elements along k: A[i][k] is in lane i + 32 * (k / 8) or i + 16 * (k / 8), element k % 8.
At mfma32x16A(int i, int lane) {
  return inverse(32, 16, i, lane, [](int row, int k) { return std::pair(row + 32 * (k / 8), k % 8); });
}
At mfma32x16B(int i, int lane) {
  return inverse(16, 32, i, lane, [](int k, int column) { return std::pair(column + 32 * (k / 8), k % 8); });
}
At mfma16x32A(int i, int lane) {
  return inverse(16, 32, i, lane, [](int row, int k) { return std::pair(row + 16 * (k / 8), k % 8); });
}
At mfma16x32B(int i, int lane) {
  return inverse(32, 16, i, lane, [](int k, int column) { return std::pair(column + 16 * (k / 8), k % 8); });
}
// f64: A[i][k] is in lane i + 16 k; D[i][j] in lane j + 16 * (i % 4), element i / 4.
At mfmaF64A(int i, int lane) {
  return inverse(16, 4, i, lane, [](int row, int k) { return std::pair(row + 16 * k, 0); });
}
At mfmaF64B(int i, int lane) {
  return inverse(4, 16, i, lane, [](int k, int column) { return std::pair(column + 16 * k, 0); });
}
At mfmaF64C(int i, int lane) {
  return inverse(16, 16, i, lane,
                 [](int row, int column) { return std::pair(column + 16 * (row % 4), row / 4); });
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
#define MMA_OF(a, b, c, shape, overflow, type, types)                                                        \
  "%d = nvvm.mma.sync A[" a "] B[" b "] C[" c "] {" overflow "layoutA = #nvvm.mma_layout<row>, layoutB = "   \
  "#nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<" type                                       \
  ">, multiplicandBPtxType = #nvvm.mma_type<" type ">, shape = #nvvm.shape<" shape ">} : " types
#define FOUR(letter) "%" letter "0, %" letter "1, %" letter "2, %" letter "3"
#define TWO(letter) "%" letter "0, %" letter "1"
#define MMA(type, register)                                                                                  \
  MMA_OF(FOUR("a"), TWO("b"), FOUR("c"), "m = 16, n = 8, k = 16", "", type,                                  \
         "(" register ", " register ", f32) -> !llvm.struct<(f32, f32, f32, f32)>")
#define MMA_I8(a, b, c, k, type, result)                                                                     \
  MMA_OF(a, b, c, k, "intOverflowBehavior = #nvvm.mma_int_overflow<wrapped>, ", type,                        \
         "(i32, i32, i32) -> " result)
#define MMA_FP8(type)                                                                                        \
  "%d = llvm.call_intrinsic \"llvm.nvvm.mma.m16n8k32.row.col.f32." type "." type ".f32\"(" FOUR(             \
      "a") ", " TWO("b") ", " FOUR("c") ") : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> "         \
                                        "!llvm.struct<(f32, f32, f32, f32)>"
#define MFMA_I8(name, factor, sums)                                                                          \
  "%z = llvm.mlir.constant(0 : i32) : i32\n%d = rocdl.mfma.i32." name                                        \
  " %a0, %b0, %c0, %z, %z, %z : (" factor ", " factor ", vector<" sums                                       \
  "xi32>, i32, i32, i32) -> vector<" sums "xi32>"
constexpr char kFourWords[] = "!llvm.struct<(i32, i32, i32, i32)>", kTwoWords[] = "!llvm.struct<(i32, i32)>",
               kTwoDoubles[] = "!llvm.struct<(f64, f64)>";
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
    {"mma_m16n8k8_f16",
     "ptx:emulated:sm_75",
     MMA_OF(TWO("a"), "%b0", FOUR("c"), "m = 16, n = 8, k = 8", "", "f16",
            "(vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>"),
     kFourFloats,
     DType::F16,
     16,
     8,
     8,
     32,
     {2, "vector<2xf16>"},
     {1, "vector<2xf16>"},
     {4, "f32"},
     mma8A,
     mma8B,
     mmaC},
    {"mma_m16n8k8_tf32",
     "ptx:emulated:sm_80",
     MMA_OF(FOUR("a"), TWO("b"), FOUR("c"), "m = 16, n = 8, k = 8", "", "tf32",
            "(i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>"),
     kFourFloats,
     DType::TF32,
     16,
     8,
     8,
     32,
     {4, "i32"},
     {2, "i32"},
     {4, "f32"},
     tf32A,
     tf32B,
     mmaC},
    {"mma_m16n8k32_e4m3",
     "ptx:emulated:sm_89",
     MMA_FP8("e4m3"),
     kFourFloats,
     DType::F8E4M3,
     16,
     8,
     32,
     32,
     {4, "i32"},
     {2, "i32"},
     {4, "f32"},
     mma32A,
     mma32B,
     mmaC},
    {"mma_m16n8k32_e5m2",
     "ptx:emulated:sm_89",
     MMA_FP8("e5m2"),
     kFourFloats,
     DType::F8E5M2,
     16,
     8,
     32,
     32,
     {4, "i32"},
     {2, "i32"},
     {4, "f32"},
     mma32A,
     mma32B,
     mmaC},
    {"mma_m16n8k32_s8",
     "ptx:emulated:sm_80",
     MMA_I8(FOUR("a"), TWO("b"), FOUR("c"), "m = 16, n = 8, k = 32", "s8",
            "!llvm.struct<(i32, i32, i32, i32)>"),
     kFourWords,
     DType::I8,
     16,
     8,
     32,
     32,
     {4, "i32"},
     {2, "i32"},
     {4, "i32"},
     mma32A,
     mma32B,
     mmaC,
     1,
     DType::I32},
    {"mma_m8n8k16_s8",
     "ptx:emulated:sm_75",
     MMA_I8("%a0", "%b0", TWO("c"), "m = 8, n = 8, k = 16", "s8", "!llvm.struct<(i32, i32)>"),
     kTwoWords,
     DType::I8,
     8,
     8,
     16,
     32,
     {1, "i32"},
     {1, "i32"},
     {2, "i32"},
     small16A,
     small16B,
     smallC,
     1,
     DType::I32},
    {"wmma_16x16x16_s8",
     "rocm:emulated:gfx1100",
     "%d = rocdl.wmma.i32.16x16x16.iu8 %a0, %b0, %c0 {signA = true, signB = true} : (vector<4xi32>, "
     "vector<4xi32>, vector<8xi32>) -> vector<8xi32>",
     "",
     DType::I8,
     16,
     16,
     16,
     32,
     {1, "vector<4xi32>"},
     {1, "vector<4xi32>"},
     {1, "vector<8xi32>"},
     wmmaA,
     wmmaB,
     wmmaC,
     2,
     DType::I32},
    {"mma_m16n8k32_u8",
     "ptx:emulated:sm_80",
     MMA_I8(FOUR("a"), TWO("b"), FOUR("c"), "m = 16, n = 8, k = 32", "u8",
            "!llvm.struct<(i32, i32, i32, i32)>"),
     kFourWords,
     DType::U8,
     16,
     8,
     32,
     32,
     {4, "i32"},
     {2, "i32"},
     {4, "i32"},
     mma32A,
     mma32B,
     mmaC,
     1,
     DType::I32},
    {"mma_m8n8k16_u8",
     "ptx:emulated:sm_75",
     MMA_I8("%a0", "%b0", TWO("c"), "m = 8, n = 8, k = 16", "u8", "!llvm.struct<(i32, i32)>"),
     kTwoWords,
     DType::U8,
     8,
     8,
     16,
     32,
     {1, "i32"},
     {1, "i32"},
     {2, "i32"},
     small16A,
     small16B,
     smallC,
     1,
     DType::I32},
    {"wmma_16x16x16_u8",
     "rocm:emulated:gfx1100",
     "%d = rocdl.wmma.i32.16x16x16.iu8 %a0, %b0, %c0 {signA = false, signB = false} : (vector<4xi32>, "
     "vector<4xi32>, vector<8xi32>) -> vector<8xi32>",
     "",
     DType::U8,
     16,
     16,
     16,
     32,
     {1, "vector<4xi32>"},
     {1, "vector<4xi32>"},
     {1, "vector<8xi32>"},
     wmmaA,
     wmmaB,
     wmmaC,
     2,
     DType::I32},
    {"mma_m8n8k4_f64",
     "ptx:emulated:sm_80",
     MMA_OF("%a0", "%b0", TWO("c"), "m = 8, n = 8, k = 4", "", "f64",
            "(f64, f64, f64) -> !llvm.struct<(f64, f64)>"),
     kTwoDoubles,
     DType::F64,
     8,
     8,
     4,
     32,
     {1, "f64"},
     {1, "f64"},
     {2, "f64"},
     small4A,
     small4B,
     smallC,
     1,
     DType::F64},
    {"mfma_32x32x8i8",
     "rocm:emulated:gfx90a",
     MFMA_I8("32x32x8i8", "i32", "16"),
     "",
     DType::I8,
     32,
     32,
     8,
     64,
     {1, "i32"},
     {1, "i32"},
     {1, "vector<16xi32>"},
     mfma32A,
     mfma32B,
     mfma32C,
     1,
     DType::I32},
    {"mfma_16x16x16i8",
     "rocm:emulated:gfx90a",
     MFMA_I8("16x16x16i8", "i32", "4"),
     "",
     DType::I8,
     16,
     16,
     16,
     64,
     {1, "i32"},
     {1, "i32"},
     {1, "vector<4xi32>"},
     mfma16A,
     mfma16B,
     mfma16C,
     1,
     DType::I32},
    {"mfma_32x32x16_i8",
     "rocm:emulated:gfx942",
     MFMA_I8("32x32x16.i8", "i64", "16"),
     "",
     DType::I8,
     32,
     32,
     16,
     64,
     {1, "i64"},
     {1, "i64"},
     {1, "vector<16xi32>"},
     mfma32x16A,
     mfma32x16B,
     mfma32C,
     1,
     DType::I32},
    {"mfma_16x16x32_i8",
     "rocm:emulated:gfx942",
     MFMA_I8("16x16x32.i8", "i64", "4"),
     "",
     DType::I8,
     16,
     16,
     32,
     64,
     {1, "i64"},
     {1, "i64"},
     {1, "vector<4xi32>"},
     mfma16x32A,
     mfma16x32B,
     mfma16C,
     1,
     DType::I32},
    {"mfma_16x16x32_fp8",
     "rocm:emulated:gfx942",
     "%z = llvm.mlir.constant(0 : i32) : i32\n%d = rocdl.mfma.f32.16x16x32.fp8.fp8 %a0, %b0, %c0, %z, %z, %z "
     ": (i64, i64, vector<4xf32>, i32, i32, i32) -> vector<4xf32>",
     "",
     DType::F8E4M3,
     16,
     16,
     32,
     64,
     {1, "i64"},
     {1, "i64"},
     {1, "vector<4xf32>"},
     mfma16x32A,
     mfma16x32B,
     mfma16C,
     1,
     DType::F32,
     0.5},
    {"mfma_16x16x4_f64",
     "rocm:emulated:gfx942",
     "%z = llvm.mlir.constant(0 : i32) : i32\n%d = rocdl.mfma.f64.16x16x4f64 %a0, %b0, %c0, %z, %z, %z : "
     "(f64, f64, vector<4xf64>, i32, i32, i32) -> vector<4xf64>",
     "",
     DType::F64,
     16,
     16,
     4,
     64,
     {1, "f64"},
     {1, "f64"},
     {1, "vector<4xf64>"},
     mfmaF64A,
     mfmaF64B,
     mfmaF64C,
     1,
     DType::F64},
};

class Products : public testing::TestWithParam<Product> {};

TEST_P(Products, EqualTheDefinition) {
  const Product &p = GetParam();
  const int countA = p.m * p.k * p.copies / p.lanes, countB = p.k * p.n * p.copies / p.lanes,
            countC = p.m * p.n / p.lanes;
  auto wordsOf = [](int count, DType dtype) { return count * info(dtype).storageBytes / 4; };
  const int wordsA = wordsOf(countA, p.dtype), wordsB = wordsOf(countB, p.dtype),
            wordsC = wordsOf(countC, p.sum);
  const int wordsOfLane = wordsA + wordsB + wordsC;

  std::minstd_rand random(11);
  std::normal_distribution<double> normal;
  auto valueOf = [](uint32_t bits, DType dtype) -> int64_t { // all of its values
    return dtype == DType::I8   ? int8_t(bits >> 8)
           : dtype == DType::U8 ? uint8_t(bits >> 8)
                                : int32_t(bits << 1);
  };
  auto matrix = [&](int rows, int columns, DType dtype) {
    std::vector<std::vector<double>> out(rows, std::vector<double>(columns));
    for (auto &row : out)
      for (double &v : row)
        v = isFloat(dtype) ? toDouble(fromDouble(normal(random), dtype), dtype) + 0.0 // no -0
                           : double(valueOf(random(), dtype));
    return out;
  };
  const auto a = matrix(p.m, p.k, p.dtype), b = matrix(p.k, p.n, p.dtype), c = matrix(p.m, p.n, p.sum);
  std::vector<uint32_t> words(p.lanes * wordsOfLane);
  for (int lane = 0; lane < p.lanes; ++lane) {
    auto *at = reinterpret_cast<char *>(words.data() + lane * wordsOfLane);
    auto put = [&](const auto &from, At (*position)(int, int), int count, DType dtype) {
      for (int i = 0; i < count; ++i) {
        const auto [row, column] = position(i, lane);
        const double value = from[row][column];
        storeBits(at, dtype, isFloat(dtype) ? fromDouble(value, dtype) : uint64_t(int64_t(value)));
        at += info(dtype).storageBytes;
      }
    };
    put(a, p.atA, countA, p.dtype);
    put(b, p.atB, countB, p.dtype);
    put(c, p.atC, countC, p.sum);
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
    for (int i = 0; i < countC; ++i) {
      const auto [row, column] = p.atC(i, lane);
      double sum = c[row][column], magnitude = std::abs(sum);
      for (int k = 0; k < p.k; ++k) {
        const double product = p.scale * a[row][k] * p.scale * b[k][column];
        sum += product, magnitude += std::abs(product);
      }
      const char *at = reinterpret_cast<const char *>(&words[lane * wordsOfLane + wordsA + wordsB]) +
                       i * info(p.sum).storageBytes;
      const uint64_t bits = loadBits(at, p.sum);
      if (p.sum == DType::I32) // wraps
        EXPECT_EQ(uint32_t(bits), uint32_t(int64_t(sum))) << row << ", " << column;
      else
        EXPECT_NEAR(toDouble(bits, p.sum), sum, magnitude * (p.sum == DType::F64 ? 0x1p-50 : 0x1p-24))
            << row << ", " << column;
    }
}

INSTANTIATE_TEST_SUITE_P(Instructions, Products, testing::ValuesIn(kProducts),
                         [](const auto &info) { return std::string(info.param.name); });

/// AMD CDNA 3 ISA, FNUZ: the bits of -0 are the only NaN, and those of OCP's NaNs are +-240.
TEST(Mfma, OfFnuzHasOneNan) {
  auto product = [](uint64_t bits) {
    const std::string body = R"(
%z = llvm.mlir.constant(0 : i32) : i32
%one = llvm.mlir.constant(4629771061636907072 : i64) : i64
%a = llvm.mlir.constant()" + std::to_string(bits) +
                             R"( : i64) : i64
%c = llvm.mlir.constant(dense<0.0> : vector<4xf32>) : vector<4xf32>
%d = rocdl.mfma.f32.16x16x32.fp8.fp8 %a, %one, %c, %z, %z, %z : (i64, i64, vector<4xf32>, i32, i32, i32) -> vector<4xf32>
%first = llvm.extractelement %d[%z : i32] : vector<4xf32>
%own = llvm.getelementptr %x[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
llvm.store %first, %own {alignment = 4 : i64} : f32, !llvm.ptr<1>
)"; // 0x40 is 1
    return std::bit_cast<float>(run("rocm:emulated:gfx942", 64, body, std::vector<uint32_t>(64))[0]);
  };
  EXPECT_TRUE(std::isnan(product(0x80)));
  EXPECT_EQ(product(0x00), 0);
  EXPECT_EQ(product(0x7f), 4 * 240); // in each of the four groups of lanes
  EXPECT_EQ(product(0xff), -4 * 240);
  EXPECT_EQ(product(0x01), 4 * 0x1p-10);
}

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
