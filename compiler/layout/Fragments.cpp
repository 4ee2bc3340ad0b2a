#include "compiler/layout/Fragments.h"
#include <array>
#include <bit>
#include <cassert>
#include <cstdlib>
#include <sstream>

namespace tessera::layout {

namespace {

// Sources: PTX ISA "Matrix Fragments" of mma and wgmma, and "Data Movement Shape" of tcgen05 (32x32b
// of 128 rows, 16x256b of 64); AMD's matrix instruction calculator; the OpenCL
// extension cl_intel_subgroup_matrix_multiply_accumulate.
constexpr Fragment kFragments[] = {
    // ---- warps of 32 lanes
    {"mma.m16n8k8", 16, 8, 8, "f16 bf16", "f32", "k1 m8 | k2 k4 m1 m2 m4", "k1 | k2 k4 n1 n2 n4",
     "n1 m8 | n2 n4 m1 m2 m4"},
    {"mma.m16n8k16", 16, 8, 16, "f16 bf16", "f32", "k1 m8 k8 | k2 k4 m1 m2 m4", "k1 k8 | k2 k4 n1 n2 n4",
     "n1 m8 | n2 n4 m1 m2 m4"},
    {"mma.m16n8k32", 16, 8, 32, "fp8_e4m3 fp8_e5m2", "f32", "k1 k2 m8 k16 | k4 k8 m1 m2 m4",
     "k1 k2 k16 | k4 k8 n1 n2 n4", "n1 m8 | n2 n4 m1 m2 m4"},
    {"mma.m16n8k32.i8", 16, 8, 32, "i8 u8", "i32", "k1 k2 m8 k16 | k4 k8 m1 m2 m4",
     "k1 k2 k16 | k4 k8 n1 n2 n4", "n1 m8 | n2 n4 m1 m2 m4"},
    // Of bytes in another order a lane loads pairs of rows or columns, which are of one instruction of A, or
    // of two
    // of B. So they are next to each other in the sums, too.
    {"mma.m16n16k32.nn", 16, 16, 32, "fp8_e4m3 fp8_e5m2", "f32", "k1 k2 m8 k16 | k4 k8 m1 m2 m4",
     "k1 k2 k16 n1 | k4 k8 n2 n4 n8", "n1 n2 m8 | n4 n8 m1 m2 m4",
     "two instructions, of even and of odd columns", "nn", "mma.m16n8k32"},
    {"mma.m16n8k32.tt", 16, 8, 32, "fp8_e4m3 fp8_e5m2", "f32", "k1 k2 m1 k16 | k4 k8 m2 m4 m8",
     "k1 k2 k16 | k4 k8 n1 n2 n4", "n1 m1 | n2 n4 m2 m4 m8", "even rows are the instruction's first eight",
     "tt", "mma.m16n8k32"},
    {"mma.m16n16k32.tn", 16, 16, 32, "fp8_e4m3 fp8_e5m2", "f32", "k1 k2 m1 k16 | k4 k8 m2 m4 m8",
     "k1 k2 k16 n1 | k4 k8 n2 n4 n8", "n1 n2 m1 | n4 n8 m2 m4 m8", "both", "tn", "mma.m16n8k32"},
    {"mma.m16n16k32.i8.nn", 16, 16, 32, "i8 u8", "i32", "k1 k2 m8 k16 | k4 k8 m1 m2 m4",
     "k1 k2 k16 n1 | k4 k8 n2 n4 n8", "n1 n2 m8 | n4 n8 m1 m2 m4",
     "two instructions, of even and of odd columns", "nn", "mma.m16n8k32.i8"},
    {"mma.m16n8k32.i8.tt", 16, 8, 32, "i8 u8", "i32", "k1 k2 m1 k16 | k4 k8 m2 m4 m8",
     "k1 k2 k16 | k4 k8 n1 n2 n4", "n1 m1 | n2 n4 m2 m4 m8", "even rows are the instruction's first eight",
     "tt", "mma.m16n8k32.i8"},
    {"mma.m16n16k32.i8.tn", 16, 16, 32, "i8 u8", "i32", "k1 k2 m1 k16 | k4 k8 m2 m4 m8",
     "k1 k2 k16 n1 | k4 k8 n2 n4 n8", "n1 n2 m1 | n4 n8 m2 m4 m8", "both", "tn", "mma.m16n8k32.i8"},
    {"mma.m8n8k16.i8", 8, 8, 16, "i8 u8", "i32", "k1 k2 | k4 k8 m1 m2 m4", "k1 k2 | k4 k8 n1 n2 n4",
     "n1 | n2 n4 m1 m2 m4"},
    {"mma.m16n8k8.tf32", 16, 8, 8, "tf32", "f32", "m8 k4 | k1 k2 m1 m2 m4", "k4 | k1 k2 n1 n2 n4",
     "n1 m8 | n2 n4 m1 m2 m4", "operands are f32, rounded to tf32"},
    {"mma.m8n8k4", 8, 8, 4, "f64", "f64", "| k1 k2 m1 m2 m4", "| k1 k2 n1 n2 n4", "n1 | n2 n4 m1 m2 m4"},
    {"wgmma.m64n8k16", 64, 8, 16, "f16 bf16", "f32", "k1 m8 k8 | k2 k4 m1 m2 m4 | m16 m32", "",
     "n1 m8 | n2 n4 m1 m2 m4 | m16 m32", "n up to 256 in steps of 8: further columns are further registers"},
    {"wgmma.m64n8k32", 64, 8, 32, "fp8_e4m3 fp8_e5m2", "f32", "k1 k2 m8 k16 | k4 k8 m1 m2 m4 | m16 m32", "",
     "n1 m8 | n2 n4 m1 m2 m4 | m16 m32", "n as above; both factors are stored along k", "nt"},
    {"wgmma.m64n8k8.tf32", 64, 8, 8, "tf32", "f32", "m8 k4 | k1 k2 m1 m2 m4 | m16 m32", "",
     "n1 m8 | n2 n4 m1 m2 m4 | m16 m32", "as above; factors are f32, whose lower 13 bits are not read", "nt"},
    {"tcgen05.m128n16k16", 128, 16, 16, "f16 bf16", "f32", "", "", "| m1 m2 m4 m8 m16 | m32 m64",
     "sums are in tensor memory; n up to 256 in steps of 16, which the warps along n share"},
    {"tcgen05.m64n8k16", 64, 8, 16, "f16 bf16", "f32", "", "", "n1 m8 | n2 n4 m1 m2 m4 | m16 m32",
     "as above, in steps of 8"},
    {"tcgen05.m128n16k32", 128, 16, 32, "fp8_e4m3 fp8_e5m2", "f32", "", "", "| m1 m2 m4 m8 m16 | m32 m64",
     "n in steps of 16"},
    {"tcgen05.m64n8k32", 64, 8, 32, "fp8_e4m3 fp8_e5m2", "f32", "", "", "n1 m8 | n2 n4 m1 m2 m4 | m16 m32",
     "n in steps of 8"},
    {"tcgen05.m128n16k8.tf32", 128, 16, 8, "tf32", "f32", "", "", "| m1 m2 m4 m8 m16 | m32 m64",
     "n in steps of 16; both factors are stored along k, f32, whose lower 13 bits are not read", "nt"},
    {"tcgen05.m64n8k8.tf32", 64, 8, 8, "tf32", "f32", "", "", "n1 m8 | n2 n4 m1 m2 m4 | m16 m32",
     "as above, in steps of 8", "nt"},
    {"tcgen05.m128n16k32.i8", 128, 16, 32, "i8 u8", "i32", "", "", "| m1 m2 m4 m8 m16 | m32 m64",
     "n in steps of 16"},
    {"tcgen05.m64n16k32.i8", 64, 16, 32, "i8 u8", "i32", "", "", "n1 m8 | n2 n4 m1 m2 m4 | m16 m32",
     "as above"},
    {"wmma.16x16x16", 16, 16, 16, "f16 bf16", "f32", "k1 k2 k4 k8 | m1 m2 m4 m8 0",
     "k1 k2 k4 k8 | n1 n2 n4 n8 0", "m2 m4 m8 | n1 n2 n4 n8 m1", "gfx11: both halves of a warp hold A and B"},
    {"wmma.16x16x16.i8", 16, 16, 16, "i8 u8", "i32", "k1 k2 k4 k8 | m1 m2 m4 m8 0",
     "k1 k2 k4 k8 | n1 n2 n4 n8 0", "m2 m4 m8 | n1 n2 n4 n8 m1", "gfx11: as above"},
    // ---- wavefronts of 64 lanes
    {"mfma.32x32x8", 32, 32, 8, "f16 bf16", "f32", "k1 k2 | m1 m2 m4 m8 m16 k4", "k1 k2 | n1 n2 n4 n8 n16 k4",
     "m1 m2 m8 m16 | n1 n2 n4 n8 n16 m4"},
    {"mfma.16x16x16", 16, 16, 16, "f16 bf16", "f32", "k1 k2 | m1 m2 m4 m8 k4 k8", "k1 k2 | n1 n2 n4 n8 k4 k8",
     "m1 m2 | n1 n2 n4 n8 m4 m8"},
    {"mfma.16x16x32", 16, 16, 32, "fp8_e4m3 fp8_e5m2", "f32", "k1 k2 k4 | m1 m2 m4 m8 k8 k16",
     "k1 k2 k4 | n1 n2 n4 n8 k8 k16", "m1 m2 | n1 n2 n4 n8 m4 m8",
     "gfx942: operands are of the FNUZ kind, to which they are converted"},
    {"mfma.32x32x8.i8", 32, 32, 8, "i8 u8", "i32", "k1 k2 | m1 m2 m4 m8 m16 k4", "k1 k2 | n1 n2 n4 n8 n16 k4",
     "m1 m2 m8 m16 | n1 n2 n4 n8 n16 m4"},
    {"mfma.16x16x16.i8", 16, 16, 16, "i8 u8", "i32", "k1 k2 | m1 m2 m4 m8 k4 k8", "k1 k2 | n1 n2 n4 n8 k4 k8",
     "m1 m2 | n1 n2 n4 n8 m4 m8"},
    {"mfma.32x32x16.i8", 32, 32, 16, "i8 u8", "i32", "k1 k2 k4 | m1 m2 m4 m8 m16 k8",
     "k1 k2 k4 | n1 n2 n4 n8 n16 k8", "m1 m2 m8 m16 | n1 n2 n4 n8 n16 m4"},
    {"mfma.16x16x32.i8", 16, 16, 32, "i8 u8", "i32", "k1 k2 k4 | m1 m2 m4 m8 k8 k16",
     "k1 k2 k4 | n1 n2 n4 n8 k8 k16", "m1 m2 | n1 n2 n4 n8 m4 m8"},
    {"mfma.16x16x4", 16, 16, 4, "f64", "f64", "| m1 m2 m4 m8 k1 k2", "| n1 n2 n4 n8 k1 k2",
     "m4 m8 | n1 n2 n4 n8 m1 m2"},
    // ---- sub-groups of 16 and of 8 lanes
    {"dpas.8x16x16", 8, 16, 16, "f16 bf16", "f32", "m1 m2 m4 | k1 k2 k4 k8", "k1 k2 k4 k8 | n1 n2 n4 n8",
     "m1 m2 m4 | n1 n2 n4 n8", "16 lanes; two rows of B share a word"},
    {"dpas.8x16x8.tf32", 8, 16, 8, "tf32", "f32", "m2 m4 | k1 k2 k4 m1", "k1 k2 k4 | n1 n2 n4 n8",
     "m1 m2 m4 | n1 n2 n4 n8", "16 lanes; factors are f32, whose lower 13 bits are not read"},
    {"dpas.8x8x16", 8, 8, 16, "f16 bf16", "f32", "k1 m1 m2 m4 | k2 k4 k8", "k1 k2 k4 k8 | n1 n2 n4",
     "m1 m2 m4 | n1 n2 n4", "8 lanes; two rows of B share a word"},
    {"dpas.8x16x32", 8, 16, 32, "i8 u8", "i32", "k1 m1 m2 m4 | k2 k4 k8 k16", "k1 k2 k4 k8 k16 | n1 n2 n4 n8",
     "m1 m2 m4 | n1 n2 n4 n8", "16 lanes; four rows of B share a word"},
    {"dpas.8x8x32", 8, 8, 32, "i8 u8", "i32", "k1 k2 m1 m2 m4 | k4 k8 k16", "k1 k2 k4 k8 k16 | n1 n2 n4",
     "m1 m2 m4 | n1 n2 n4", "8 lanes; four rows of B share a word"},
};

constexpr std::array<char, 2> axesOf(Operand operand) {
  switch (operand) {
  case Operand::A:
    return {'m', 'k'};
  case Operand::B:
    return {'k', 'n'};
  case Operand::C:
    break;
  }
  return {'m', 'n'};
}

} // namespace

bool Fragment::multiplies(DType dtype) const {
  std::istringstream names(dtypes);
  for (std::string name; names >> name;)
    if (name == tessera::name(dtype)) return true;
  return false;
}

const char *Fragment::bases(Operand operand) const {
  return operand == Operand::A ? a : operand == Operand::B ? b : c;
}

std::array<int64_t, 2> Fragment::shape(Operand operand) const {
  auto extent = [&](char axis) { return axis == 'm' ? m : axis == 'n' ? n : k; };
  const auto [first, second] = axesOf(operand);
  return {extent(first), extent(second)};
}

TileLayout Fragment::layout(Operand operand) const {
  assert(isInRegisters(operand));
  const std::array<char, 2> axes = axesOf(operand);
  TileLayout layout;
  layout.unit = Unit::ofShape(shape(operand));
  BitsList *lists[] = {&layout.reg, &layout.lane, &layout.warp}, **list = lists;
  std::istringstream words(bases(operand));
  for (std::string word; words >> word;) {
    if (word == "|") {
      ++list;
      continue;
    }
    std::array<int64_t, 2> at = {0, 0};
    for (size_t d = 0; d < 2; ++d)
      if (word[0] == axes[d]) at[d] = std::atoll(word.c_str() + 1);
    (*list)->push_back(layout.unit.pack(at));
  }
  if (operand == Operand::C && readsShared()) {
    int64_t covered = 1;
    for (const BitsList *images : lists)
      for (Bits image : *images)
        if (layout.unit.onAxis(image, 1)) covered *= 2;
    for (; covered < int64_t(1) << layout.unit.axisBits[1]; covered *= 2)
      layout.reg.push_back(layout.unit.pack(std::array<int64_t, 2>{0, covered}));
  }
  return layout;
}

std::span<const Fragment> tableOfFragments() { return kFragments; }

std::array<int64_t, 3> paddedProduct(const Fragment &f, WarpGrid warps, std::array<int64_t, 3> mnk) {
  const int64_t own = f.warps();
  assert(warps.m % own == 0 && "the instruction's warps are along m");
  return {padded(mnk[0], f.m * (warps.m / own)), padded(mnk[1], f.columnsOfWarp(warps) * warps.n),
          padded(mnk[2], f.k)};
}

TileLayout operandLayout(const Fragment &f, Operand operand, WarpGrid warps, std::array<int64_t, 2> shape) {
  const TileLayout one = f.ofColumns(f.columnsOfWarp(warps)).layout(operand);
  const std::array<char, 2> axes = axesOf(operand);
  TileLayout all;
  all.unit = Unit::ofShape(shape);
  auto repack = [&](const BitsList &from, BitsList &to) {
    for (Bits b : from)
      to.push_back(all.unit.pack(std::array{one.unit.onAxis(b, 0), one.unit.onAxis(b, 1)}));
  };
  repack(one.reg, all.reg);
  repack(one.lane, all.lane);
  repack(one.warp, all.warp);
  std::array<int64_t, 2> covered = {one.unit.extent(0), one.unit.extent(1)};
  for (auto [axis, count] : {std::pair{'m', warps.m / f.warps()}, std::pair{'n', warps.n}})
    for (int64_t w = 1; w < count; w *= 2) {
      std::array<int64_t, 2> at = {0, 0};
      for (size_t d = 0; d < 2; ++d)
        if (axes[d] == axis) at[d] = covered[d], covered[d] *= 2;
      all.warp.push_back(all.unit.pack(at));
    }
  for (size_t d = 2; d-- > 0;) {
    assert(shape[d] % covered[d] == 0 && "the extents were not padded");
    for (; covered[d] < int64_t(1) << all.unit.axisBits[d]; covered[d] *= 2) {
      std::array<int64_t, 2> at = {0, 0};
      at[d] = covered[d];
      all.reg.push_back(all.unit.pack(at));
    }
  }
  return all;
}

} // namespace tessera::layout
