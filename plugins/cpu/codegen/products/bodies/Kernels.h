// TESSERA_KERNELS(TABLE, FAMILY) declares all micro-kernels tsr.mk.FAMILY.ROWSxVECTORS and a table of them,
// TESSERA_TILE_KERNELS those of tiles. T is the type of their sums.
#pragma once
#include "plugins/cpu/codegen/products/bodies/Context.h"

#define TESSERA_TEXT_(x) #x
#define TESSERA_TEXT(x) TESSERA_TEXT_(x)
/// The symbol of a body of the operands' layouts.
#define TESSERA_SYMBOL(DTYPE) "tsr.p." TESSERA_TEXT(DTYPE) "." TESSERA_TEXT(TESSERA_A) TESSERA_TEXT(TESSERA_B)
#define TESSERA_KERNEL(TABLE, FAMILY, ROWS, VECTORS)                                                         \
  extern "C" [[gnu::visibility("hidden")]] void TABLE##ROWS##x##VECTORS(                                     \
      int64_t, const T *, int64_t, const T *, int64_t, T *, int64_t, int64_t,                                \
      int64_t) __asm__("tsr.mk." FAMILY "." #ROWS "x" #VECTORS);
#define TESSERA_NAME(TABLE, FAMILY, ROWS, VECTORS) TABLE##ROWS##x##VECTORS,
#define TESSERA_ROWS_TO_6(X, TABLE, FAMILY, VECTORS)                                                         \
  X(TABLE, FAMILY, 1, VECTORS)                                                                               \
  X(TABLE, FAMILY, 2, VECTORS)                                                                               \
  X(TABLE, FAMILY, 3, VECTORS)                                                                               \
  X(TABLE, FAMILY, 4, VECTORS) X(TABLE, FAMILY, 5, VECTORS) X(TABLE, FAMILY, 6, VECTORS)
#define TESSERA_ROWS_TO_8(X, TABLE, FAMILY, VECTORS)                                                         \
  TESSERA_ROWS_TO_6(X, TABLE, FAMILY, VECTORS) X(TABLE, FAMILY, 7, VECTORS) X(TABLE, FAMILY, 8, VECTORS)
#define TESSERA_ROWS_TO_10(X, TABLE, FAMILY, VECTORS)                                                        \
  TESSERA_ROWS_TO_8(X, TABLE, FAMILY, VECTORS)                                                               \
  X(TABLE, FAMILY, 9, VECTORS) X(TABLE, FAMILY, 10, VECTORS)
#define TESSERA_ROWS_TO_16(X, TABLE, FAMILY, VECTORS)                                                        \
  TESSERA_ROWS_TO_10(X, TABLE, FAMILY, VECTORS)                                                              \
  X(TABLE, FAMILY, 11, VECTORS)                                                                              \
  X(TABLE, FAMILY, 12, VECTORS)                                                                              \
  X(TABLE, FAMILY, 13, VECTORS)                                                                              \
  X(TABLE, FAMILY, 14, VECTORS) X(TABLE, FAMILY, 15, VECTORS) X(TABLE, FAMILY, 16, VECTORS)

#ifdef __AVX512F__
#define TESSERA_KERNELS(TABLE, FAMILY)                                                                       \
  TESSERA_ROWS_TO_16(TESSERA_KERNEL, TABLE, FAMILY, 1)                                                       \
  TESSERA_ROWS_TO_8(TESSERA_KERNEL, TABLE, FAMILY, 2)                                                        \
  TESSERA_ROWS_TO_6(TESSERA_KERNEL, TABLE, FAMILY, 3)                                                        \
  TESSERA_ROWS_TO_6(TESSERA_KERNEL, TABLE, FAMILY, 4)                                                        \
  constexpr MicroKernels<T> TABLE = {{TESSERA_ROWS_TO_16(TESSERA_NAME, TABLE, FAMILY, 1)},                   \
                                     {TESSERA_ROWS_TO_8(TESSERA_NAME, TABLE, FAMILY, 2)},                    \
                                     {TESSERA_ROWS_TO_6(TESSERA_NAME, TABLE, FAMILY, 3)},                    \
                                     {TESSERA_ROWS_TO_6(TESSERA_NAME, TABLE, FAMILY, 4)}};
#else
#define TESSERA_KERNELS(TABLE, FAMILY)                                                                       \
  TESSERA_ROWS_TO_10(TESSERA_KERNEL, TABLE, FAMILY, 1)                                                       \
  TESSERA_ROWS_TO_6(TESSERA_KERNEL, TABLE, FAMILY, 2)                                                        \
  constexpr MicroKernels<T> TABLE = {{TESSERA_ROWS_TO_10(TESSERA_NAME, TABLE, FAMILY, 1)},                   \
                                     {TESSERA_ROWS_TO_6(TESSERA_NAME, TABLE, FAMILY, 2)}};
#endif

#define TESSERA_TILE_KERNELS(TABLE, FAMILY)                                                                  \
  TESSERA_KERNEL(TABLE, FAMILY, 1, 1)                                                                        \
  TESSERA_KERNEL(TABLE, FAMILY, 1, 2)                                                                        \
  TESSERA_KERNEL(TABLE, FAMILY, 2, 1)                                                                        \
  TESSERA_KERNEL(TABLE, FAMILY, 2, 2)                                                                        \
  constexpr TileKernels<T> TABLE = {{TABLE##1x1, TABLE##1x2}, {TABLE##2x1, TABLE##2x2}};
