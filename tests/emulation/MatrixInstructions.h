// The matrix instructions that the emulator executes, with the position of each element that a lane holds,
// written as in the vendor's document and not as in the compiler's table.
#pragma once
#include "numerics/DType.h"
#include <gtest/gtest.h>
#include <utility>

namespace tessera::emulation {

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
inline At mmaA(int i, int lane) {
  const int groupID = lane >> 2, threadID_in_group = lane % 4;
  const int row = (0 <= i && i < 2) || (4 <= i && i < 6) ? groupID : groupID + 8;
  return {row, i < 4 ? threadID_in_group * 2 + (i & 1) : threadID_in_group * 2 + (i & 1) + 8};
}
inline At mmaB(int i, int lane) {
  const int groupID = lane >> 2, threadID_in_group = lane % 4;
  return {i < 2 ? threadID_in_group * 2 + (i & 1) : threadID_in_group * 2 + (i & 1) + 8, groupID};
}
inline At mmaC(int i, int lane) {
  const int groupID = lane >> 2, threadID_in_group = lane % 4;
  return {i < 2 ? groupID : groupID + 8, threadID_in_group * 2 + (i & 1)};
}

// The same of m16n8k8, m16n8k8 (tf32), m16n8k32, m8n8k16 and m8n8k4 (f64), with PTX's names.
inline At mma8A(int i, int lane) {
  return {(lane >> 2) + (i == 0 || i == 1 ? 0 : 8), lane % 4 * 2 + (i & 1)};
}
inline At mma8B(int i, int lane) { return {lane % 4 * 2 + i, lane >> 2}; }
inline At tf32A(int i, int lane) {
  const int groupID = lane >> 2, threadID_in_group = lane % 4;
  return {i == 0 || i == 2 ? groupID : groupID + 8,
          i == 0 || i == 1 ? threadID_in_group : threadID_in_group + 4};
}
inline At tf32B(int i, int lane) { return {i == 0 ? lane % 4 : lane % 4 + 4, lane >> 2}; }
inline At mma32A(int i, int lane) {
  const int groupID = lane >> 2, threadID_in_group = lane % 4;
  const int row = (0 <= i && i < 4) || (8 <= i && i < 12) ? groupID : groupID + 8;
  return {row, i < 8 ? threadID_in_group * 4 + (i & 3) : threadID_in_group * 4 + (i & 3) + 16};
}
inline At mma32B(int i, int lane) {
  return {i < 4 ? lane % 4 * 4 + (i & 3) : lane % 4 * 4 + (i & 3) + 16, lane >> 2};
}
inline At small16A(int i, int lane) { return {lane >> 2, lane % 4 * 4 + i}; }
inline At small16B(int i, int lane) { return {lane % 4 * 4 + i, lane >> 2}; }
inline At small4A(int, int lane) { return {lane >> 2, lane % 4}; }
inline At small4B(int, int lane) { return {lane % 4, lane >> 2}; }
inline At smallC(int i, int lane) { return {lane >> 2, lane % 4 * 2 + i}; }

// AMD's matrix instruction calculator (github.com/ROCm/amd_matrix_instruction_calculator) for CDNA 3, blocks
// of 4 elements: A[i][k] is in lane i + 32 * (k / 4), element k % 4; D[i][j] in lane j + 32 * ((i / 4) % 2),
// element 4 * (i / 8) + i % 4. With 16 rows: lanes i + 16 * (k / 4) and j + 16 * (i / 4), element i % 4.
inline At inverse(int rows, int columns, int i, int lane, std::pair<int, int> (*place)(int row, int column)) {
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column)
      if (place(row, column) == std::pair(lane, i)) return {row, column};
  ADD_FAILURE() << "lane " << lane << " has no element " << i;
  return {0, 0};
}
inline At mfma32A(int i, int lane) {
  return inverse(32, 8, i, lane, [](int row, int k) { return std::pair(row + 32 * (k / 4), k % 4); });
}
inline At mfma32B(int i, int lane) {
  return inverse(8, 32, i, lane, [](int k, int column) { return std::pair(column + 32 * (k / 4), k % 4); });
}
inline At mfma32C(int i, int lane) {
  return inverse(32, 32, i, lane, [](int row, int column) {
    return std::pair(column + 32 * (row / 4 % 2), 4 * (row / 8) + row % 4);
  });
}
inline At mfma16A(int i, int lane) {
  return inverse(16, 16, i, lane, [](int row, int k) { return std::pair(row + 16 * (k / 4), k % 4); });
}
inline At mfma16B(int i, int lane) {
  return inverse(16, 16, i, lane, [](int k, int column) { return std::pair(column + 16 * (k / 4), k % 4); });
}
inline At mfma16C(int i, int lane) {
  return inverse(16, 16, i, lane,
                 [](int row, int column) { return std::pair(column + 16 * (row / 4), row % 4); });
}
// Blocks of 8 elements along k: A[i][k] is in lane i + 32 * (k / 8) or i + 16 * (k / 8), element k % 8.
inline At mfma32x16A(int i, int lane) {
  return inverse(32, 16, i, lane, [](int row, int k) { return std::pair(row + 32 * (k / 8), k % 8); });
}
inline At mfma32x16B(int i, int lane) {
  return inverse(16, 32, i, lane, [](int k, int column) { return std::pair(column + 32 * (k / 8), k % 8); });
}
inline At mfma16x32A(int i, int lane) {
  return inverse(16, 32, i, lane, [](int row, int k) { return std::pair(row + 16 * (k / 8), k % 8); });
}
inline At mfma16x32B(int i, int lane) {
  return inverse(32, 16, i, lane, [](int k, int column) { return std::pair(column + 16 * (k / 8), k % 8); });
}
// f64: A[i][k] is in lane i + 16 k; D[i][j] in lane j + 16 * (i % 4), element i / 4.
inline At mfmaF64A(int i, int lane) {
  return inverse(16, 4, i, lane, [](int row, int k) { return std::pair(row + 16 * k, 0); });
}
inline At mfmaF64B(int i, int lane) {
  return inverse(4, 16, i, lane, [](int k, int column) { return std::pair(column + 16 * k, 0); });
}
inline At mfmaF64C(int i, int lane) {
  return inverse(16, 16, i, lane,
                 [](int row, int column) { return std::pair(column + 16 * (row % 4), row / 4); });
}
// RDNA 3 ISA, 7.9: lane l and lane l + 16 hold row l of A and column l of B; D[i][j] is in lane j + 16 * (i %
// 2), element i / 2.
inline At wmmaA(int i, int lane) { return {lane % 16, i}; }
inline At wmmaB(int i, int lane) { return {i, lane % 16}; }
inline At wmmaC(int i, int lane) {
  return inverse(16, 16, i, lane,
                 [](int row, int column) { return std::pair(column + 16 * (row % 2), row / 2); });
}

// cl_intel_subgroup_matrix_multiply_accumulate: A[i][k] is in lane k, element i; of sub-groups of 8 lanes,
// and of elements of 8 bits, two are in lane k / 2; of both, four in lane k / 4. B[k][j] is in lane j,
// element k, and D[i][j] in lane j, element i.
inline At dpasA(int i, int lane) {
  return inverse(8, 16, i, lane, [](int row, int k) { return std::pair(k, row); });
}
inline At dpasA2(int i, int lane) {
  return inverse(8, 32, i, lane, [](int row, int k) { return std::pair(k / 2, 2 * row + k % 2); });
}
inline At dpasA4(int i, int lane) {
  return inverse(8, 32, i, lane, [](int row, int k) { return std::pair(k / 4, 4 * row + k % 4); });
}
inline At dpasBC(int i, int lane) { return {i, lane}; }
// cl_intel_subgroup_matrix_multiply_accumulate_tf32: A's rows follow each other through the lanes.
inline At dpasTf32A(int i, int lane) {
  return inverse(8, 8, i, lane,
                 [](int row, int k) { return std::pair((8 * row + k) % 16, (8 * row + k) / 16); });
}

#define DPAS(name, words, sums)                                                                              \
  "%d = llvm.call spir_funccc @" name "(%a0, %b0, %c0) : (" words ", vector<8xi32>, vector<8x" sums          \
  ">) -> vector<8x" sums ">"
constexpr Product dpas(const char *name, const char *operation, DType dtype, int n, int k,
                       At (*a)(int, int)) {
  const bool isFloat = k == 16;
  return {name,
          n == 16 ? "levelzero:emulated:pvc" : "levelzero:emulated:acm-g10",
          operation,
          "",
          dtype,
          8,
          n,
          k,
          n,
          {1, n == 16 ? "vector<8xi16>" : "vector<8xi32>"},
          {1, "vector<8xi32>"},
          {1, isFloat ? "vector<8xf32>" : "vector<8xi32>"},
          a,
          dpasBC,
          dpasBC,
          1,
          isFloat ? DType::F32 : DType::I32};
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

constexpr Product kMma32I8 = {"mma_m16n8k32_s8",
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
                              DType::I32};
constexpr Product kMma16I8 = {
    "mma_m8n8k16_s8",
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
    DType::I32};
constexpr Product kWmmaI8 = {
    "wmma_16x16x16_s8",
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
    DType::I32};
/// The row of an instruction that differs from `signedRow` in the sign of the factors.
constexpr Product ofU8(Product signedRow, const char *name, const char *operation) {
  signedRow.name = name, signedRow.operation = operation, signedRow.dtype = DType::U8;
  return signedRow;
}

inline const Product kProducts[] = {
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
    kMma32I8,
    kMma16I8,
    kWmmaI8,
    ofU8(kMma32I8, "mma_m16n8k32_u8",
         MMA_I8(FOUR("a"), TWO("b"), FOUR("c"), "m = 16, n = 8, k = 32", "u8",
                "!llvm.struct<(i32, i32, i32, i32)>")),
    ofU8(kMma16I8, "mma_m8n8k16_u8",
         MMA_I8("%a0", "%b0", TWO("c"), "m = 8, n = 8, k = 16", "u8", "!llvm.struct<(i32, i32)>")),
    ofU8(kWmmaI8, "wmma_16x16x16_u8",
         "%d = rocdl.wmma.i32.16x16x16.iu8 %a0, %b0, %c0 {signA = false, signB = false} : (vector<4xi32>, "
         "vector<4xi32>, vector<8xi32>) -> vector<8xi32>"),
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
    dpas("dpas_8x16x16_bf16",
         DPAS("_Z40intel_sub_group_bf16_bf16_matrix_mad_k16Dv8_sDv8_iDv8_f", "vector<8xi16>", "f32"),
         DType::BF16, 16, 16, dpasA),
    dpas("dpas_8x16x16_f16",
         DPAS("_Z38intel_sub_group_f16_f16_matrix_mad_k16Dv8_sDv8_iDv8_f", "vector<8xi16>", "f32"),
         DType::F16, 16, 16, dpasA),
    dpas("dpas_8x16x32_i8",
         DPAS("_Z36intel_sub_group_i8_i8_matrix_mad_k32Dv8_sDv8_iS0_", "vector<8xi16>", "i32"), DType::I8, 16,
         32, dpasA2),
    dpas("dpas_8x16x32_u8",
         DPAS("_Z36intel_sub_group_u8_u8_matrix_mad_k32Dv8_tDv8_jDv8_i", "vector<8xi16>", "i32"), DType::U8,
         16, 32, dpasA2),
    {"dpas_8x16x8_tf32",
     "levelzero:emulated:pvc",
     "%d = llvm.call spir_funccc @_Z39intel_sub_group_tf32_tf32_matrix_mad_k8Dv4_fDv8_fS0_(%a0, %b0, %c0) : "
     "(vector<4xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>",
     "",
     DType::TF32,
     8,
     16,
     8,
     16,
     {1, "vector<4xf32>"},
     {1, "vector<8xf32>"},
     {1, "vector<8xf32>"},
     dpasTf32A,
     dpasBC,
     dpasBC},
    dpas("dpas_8x8x16_bf16",
         DPAS("_Z40intel_sub_group_bf16_bf16_matrix_mad_k16Dv8_iS_Dv8_f", "vector<8xi32>", "f32"),
         DType::BF16, 8, 16, dpasA2),
    dpas("dpas_8x8x16_f16",
         DPAS("_Z38intel_sub_group_f16_f16_matrix_mad_k16Dv8_iS_Dv8_f", "vector<8xi32>", "f32"), DType::F16,
         8, 16, dpasA2),
    dpas("dpas_8x8x32_i8", DPAS("_Z36intel_sub_group_i8_i8_matrix_mad_k32Dv8_iS_S_", "vector<8xi32>", "i32"),
         DType::I8, 8, 32, dpasA4),
    dpas("dpas_8x8x32_u8",
         DPAS("_Z36intel_sub_group_u8_u8_matrix_mad_k32Dv8_jS_Dv8_i", "vector<8xi32>", "i32"), DType::U8, 8,
         32, dpasA4),
};

} // namespace tessera::emulation
