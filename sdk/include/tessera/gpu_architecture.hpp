// What an architecture of GPUs can do, as far as this release uses it. Each vendor has one table of rows,
// plugins/*/Architectures.h. Code generation, the limits of emulated devices, the capabilities that they
// report and docs/support-matrix.md follow from it.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <tessera/require_cxx20.hpp>

namespace tessera {

/// Calls `visit(word)` for each word of a list that is separated by spaces, until it returns false.
template <typename Visit> constexpr void forEachWord(std::string_view list, Visit visit) {
  while (!list.empty()) {
    const std::string_view word = list.substr(0, list.find(' '));
    if (!word.empty() && !visit(word)) return;
    list.remove_prefix(word.size() < list.size() ? word.size() + 1 : list.size());
  }
}

constexpr bool hasWord(std::string_view list, std::string_view word) {
  bool found = false;
  forEachWord(list, [&](std::string_view one) { return !(found = one == word); });
  return found;
}

/// A matrix instruction, by its name in docs/layouts.md, and the dtypes of factors that it multiplies here.
struct MatrixProduct {
  std::string_view instruction, dtypes;
  // It adds with fewer bits than its sums have. In profiles without `reduced_multiply` its products therefore
  // start at zero again and again, and additions of their own add them to the sums.
  bool addsShort = false;
};

/// Preferred ones first; then empty rows.
using MatrixProducts = std::array<MatrixProduct, 13>;

/// One architecture. Constant, shared by all threads.
struct GpuArchitecture {
  std::string_view name;                  // "sm_90", "gfx90a", "pvc"
  std::string_view features;              // for LLVM, beyond what the name implies
  int64_t threads;                        // of a thread block by default; one program is one block
  int64_t warpSize;                       // threads that run in lock step
  int64_t staticShared;                   // bytes of shared memory that a kernel may declare statically
  int64_t maxShared;                      // bytes that it may use if the launch asks for them
  std::string_view groupSync, deviceSync; // LLVM's synchronisation scopes of a block and of the device
  bool floatAtomicAdd; // an instruction adds f32 atomically; otherwise code compares and swaps in a loop
  bool loadsMatrices = false; // a warp loads matrices of 16-bit elements from shared memory
  bool copiesAsync = false;   // copies from global into shared memory run beside computation
  bool copiesBoxes = false;   // an engine copies boxes of tensors into shared memory (TMA)
  int64_t wideAlign = 16;     // that the address of an access of 16 bytes to global memory is a multiple of
  int64_t stages = 1;         // steps of a loop whose copies are in shared memory at once, where it has room
  MatrixProducts products{};
  std::string_view unusedProducts{}; // faster instructions that some products, or all, do not use
  int64_t maxThreads = 1024;         // of a thread block
  int64_t registers = 0;             // of a unit, of 32 bits, if warps may have roles and divide them
  int64_t mostInCluster = 1;         // blocks of a cluster, which access each other's shared memory
  int64_t units = 0;                 // multiprocessors of a device that has all of them
  int64_t chiplets = 1;        // on which consecutive blocks start in turn, each with a cache of its own
  bool raisesPriority = false; // warps that multiply ask to be issued before those that load
  // Tiles of products (rows, columns, depth) of f16 and bf16, largest first. The first one of which a product
  // has enough for all units is chosen, else the last.
  std::array<std::array<int64_t, 3>, 4> productTiles{};
  std::string_view dtypes = "f64 f32 tf32 f16 bf16 fp8_e4m3 fp8_e5m2 fp6_e2m3 fp6_e3m2 fp4_e2m1 "
                            "i64 i32 i16 i8 u64 u32 u16 u8 bool"; // that tensors may have

  bool readsBlocks = false; // 2D blocks of tensors get to the registers of a sub-group as matrix operands
  // One instruction gives the minimum or maximum of f32, where a NaN wins and -0 is less than +0.
  bool propagatesNaN = false;

  /// Does a matrix instruction multiply factors of the dtype?
  constexpr bool multiplies(std::string_view dtype) const {
    for (const MatrixProduct &row : products)
      if (hasWord(row.dtypes, dtype)) return true;
    return false;
  }
};

} // namespace tessera
