// tile-vectorize (normative phase 3): chooses the target's vector width and the register block of every mma.
//
// A block of m rows and n columns keeps m * n/lanes accumulators, one vector per column group of B and one
// broadcast of A in registers. Of the blocks that fit, it takes the widest that the product's own columns
// fill: with 32 registers of 16 lanes 6x64, 9x48, 14x32; with 16 registers of 8 lanes 6x16. It takes somewhat
// fewer rows if they divide the product's. If threads share a product, each has a block of scalars of its
// own.
#include "compiler/tile/Transforms/Passes.h"
#include "compiler/tile/Transforms/TileUtils.h"
#include "llvm/Support/MathExtras.h"

namespace tessera {
#define GEN_PASS_DEF_TILEVECTORIZE
#include "compiler/tile/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::tile;

namespace {

class Vectorize : public impl::TileVectorizeBase<Vectorize> {
public:
  using impl::TileVectorizeBase<Vectorize>::TileVectorizeBase;

private:
  int64_t threadCount() { return getOperation().getThreads().value_or(threads); }

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    Builder b(&getContext());
    kernel.setVectorBytesAttr(b.getI64IntegerAttr(vectorBytes));
    kernel.walk([&](MmaOp mma) {
      if (!mma.getFragment()) mma.setFragmentAttr(choose(mma));
    });
  }

  FragmentAttr choose(MmaOp mma) {
    auto type = tileType(mma.getAcc());
    int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
    if (threadCount()) return perThread(rows, columns);
    int64_t lanes = vectorBytes / (type.getElementTypeBitWidth() / 8);
    int64_t widest = vectorRegisters >= 32 ? 4 : 2;
    int64_t groups = std::clamp<int64_t>(llvm::divideCeil(columns, lanes), 1, widest);
    int64_t m = std::clamp<int64_t>((vectorRegisters - groups - 1) / groups, 1, 14);
    m = std::min(m, rows);
    // Fewer rows that divide the tile's, if they still hide the latency of an FMA: this avoids a second
    // kernel for the remaining rows.
    int64_t enough = vectorRegisters >= 32 ? 16 : 8;
    for (int64_t less = m; rows % m && less * groups >= enough; --less)
      if (rows % less == 0) m = less;
    return FragmentAttr::get(&getContext(), m, groups * lanes, 1);
  }

  /// Returns the largest block that divides the tile and leaves no thread without a block; among equal ones
  /// the most nearly square.
  FragmentAttr perThread(int64_t rows, int64_t columns) {
    int64_t m = 1, n = 1;
    for (int64_t i : {1, 2, 4, 8})
      for (int64_t j : {1, 2, 4, 8}) {
        bool fits = rows % i == 0 && columns % j == 0 && rows * columns / (i * j) >= threadCount();
        bool better = i * j > m * n || (i * j == m * n && std::abs(i - j) < std::abs(m - n));
        if (fits && better) m = i, n = j;
      }
    return FragmentAttr::get(&getContext(), m, n, 1);
  }
};

} // namespace
} // namespace tessera
