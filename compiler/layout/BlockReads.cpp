#include "compiler/layout/BlockReads.h"
#include <array>
#include <cstdlib>
#include <sstream>

namespace tessera::layout {

namespace {

// Source: the OpenCL extension cl_intel_subgroup_2d_block_io, in sub-groups of 16 lanes. The names are those
// of the functions of Intel's compiler, __builtin_IB_subgroup_block_read_flat_*. A transformed block has the
// rows that share a word of DPAS' factor B in the words of one lane; a transposed one exchanges words of 32
// bits, which are two or four neighbours of a row.
constexpr BlockRead kBlockReads[] = {
    {"u16_m8k16v1", 2, 8, 16, "r1 r2 r4 | c1 c2 c4 c8"},
    {"u8_m8k32v1", 1, 8, 32, "c1 r1 r2 r4 | c2 c4 c8 c16"},
    {"transform_u16_k16", 2, 16, 16, "r1 r2 r4 r8 | c1 c2 c4 c8"},
    {"transform_u8_k32", 1, 32, 16, "r1 r2 r4 r8 r16 | c1 c2 c4 c8"},
    {"transpose_u32_k8", 2, 16, 16, "c1 c2 c4 c8 | r1 r2 r4 r8", 2},
    {"transpose_u32_k8", 1, 16, 32, "c1 c2 c4 c8 c16 | r1 r2 r4 r8", 4},
};

} // namespace

std::span<const BlockRead> allBlockReads() { return kBlockReads; }

TileLayout BlockRead::layout() const {
  TileLayout out;
  out.unit = Unit::ofShape(std::array<int64_t, 2>{rows, columns});
  BitsList *list = &out.reg;
  std::istringstream words(bases);
  for (std::string word; words >> word;) {
    if (word == "|") {
      list = &out.lane;
      continue;
    }
    const int64_t distance = std::atoll(word.c_str() + 1);
    list->push_back(out.unit.pack(word[0] == 'r' ? std::array<int64_t, 2>{distance, 0}
                                                 : std::array<int64_t, 2>{0, distance}));
  }
  return out;
}

const BlockRead *blockRead(const Fragment &f, Operand operand, int elementBytes, bool isStoredTransposed) {
  if (!f.isInRegisters(operand) || f.isPermuted()) return nullptr;
  TileLayout wanted = f.layout(operand);
  if (isStoredTransposed) { // in the coordinates of memory
    const TileLayout own = wanted;
    const std::array<int64_t, 2> shape = f.shape(operand);
    wanted.unit = Unit::ofShape(std::array<int64_t, 2>{shape[1], shape[0]});
    auto turn = [&](BitsList &images) {
      for (Bits &image : images)
        image =
            wanted.unit.pack(std::array<int64_t, 2>{own.unit.onAxis(image, 1), own.unit.onAxis(image, 0)});
    };
    turn(wanted.reg), turn(wanted.lane), turn(wanted.warp);
  }
  for (const BlockRead &read : kBlockReads)
    if (read.elementBytes == elementBytes && read.layout() == wanted) return &read;
  return nullptr;
}

} // namespace tessera::layout
