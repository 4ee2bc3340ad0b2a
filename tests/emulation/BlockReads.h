// The 2D block reads that the emulator executes, with the position of each element that a lane gets, written
// as in the vendor's document and not as in the compiler's table.
#pragma once
#include "tests/emulation/MatrixInstructions.h"

namespace tessera::emulation {

/// cl_intel_subgroup_2d_block_io: what a lane of 16 gets, element by element. Transformed blocks have columns
/// in lanes, transposed ones rows, in words.
struct Block {
  const char *name;
  int elementBytes, elements, wordBits; // of a lane's 8 words
  At (*at)(int i, int lane);
};
inline constexpr Block kBlocks[] = {
    {"u16_m8k16v1", 2, 8, 16, [](int i, int lane) { return At{i, lane}; }},
    {"u8_m8k32v1", 1, 16, 16, [](int i, int lane) { return At{i / 2, 2 * lane + i % 2}; }},
    {"transform_u16_k16", 2, 16, 32, [](int i, int lane) { return At{i, lane}; }},
    {"transform_u8_k32", 1, 32, 32, [](int i, int lane) { return At{i, lane}; }},
    {"transpose_u32_k8", 4, 8, 32, [](int i, int lane) { return At{lane, i}; }}};

/// A matrix and a block of it. The address is so many bytes past a multiple of 256.
struct Surface {
  int width, height, pitch, column, row, offset = 0;
  const char *code = ""; // of the report; "": none
  bool isDivergent = false;
};
inline constexpr Surface kSurfaces[] = {{64, 32, 64, 0, 0},
                                        {96, 9, 112, 16, 4},  // past the last row and the last column
                                        {68, 40, 80, -4, -3}, // before the first ones
                                        {64, 1, 64, 0, 0},
                                        {64, 5, 64, 0, 100}, // outside
                                        {64, 5, 64, 1024, 0},
                                        {128, 20, 256, 32, 7, 64},
                                        {64, 8, 64, 0, 0, 32, "E_EMU_ALIGNMENT"},
                                        {64, 8, 72, 0, 0, 0, "E_EMU_ALIGNMENT"},
                                        {66, 8, 80, 0, 0, 0, "E_EMU_ALIGNMENT"},
                                        {60, 8, 64, 0, 0, 0, "E_EMU_OPERANDS"},
                                        {80, 8, 64, 0, 0, 0, "E_EMU_OPERANDS"},
                                        {64, 8, 64, 0, 0, 0, "E_EMU_OPERANDS", /*isDivergent=*/true}};

} // namespace tessera::emulation
