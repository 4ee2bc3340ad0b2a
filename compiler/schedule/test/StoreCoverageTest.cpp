// Programs that write every element of their results, and programs that leave a gap.
#include "compiler/schedule/Transforms/StoreCoverage.h"
#include "compiler/graph/test/ProgramBuilder.h"
#include <gtest/gtest.h>

namespace tessera::schedule {
namespace {

using namespace frontend;
using namespace frontend::testing;

constexpr SymbolId kGrid = 0, kLoop = 1;
const Type i64 = scalar(DType::I64);

ExprPtr at(SymbolId id) { return var(id, i64); }
ExprPtr plus(ExprPtr a, ExprPtr b) { return make(Op::Add, i64, std::move(a), std::move(b)); }

/// A kernel with the result `out0` of `dims`, a grid of `step` over the dim "n", and `body`.
Kernel kernel(std::vector<Dim> dims, int64_t step, Stmt body) {
  Kernel k;
  k.dims = {"n"};
  k.params.push_back(tensor("out0", DType::F32, std::move(dims), false, true));
  k.params.back().isResult = true;
  k.symbols = {{"i", i64, {}}, {"k", i64, {}}};
  GridAxis axis;
  axis.symbol = kGrid;
  axis.lo = integer(0), axis.hi = dim("n"), axis.step = integer(step);
  k.grid.push_back(std::move(axis));
  k.body.push_back(std::move(body));
  return k;
}

Stmt tileAt(ExprPtr start, int64_t extent) {
  return store(0, make(Op::Broadcast, tile(DType::F32, {extent}), real(1)), {extent}, list(std::move(start)));
}

Stmt loop(ExprPtr hi, int64_t step, Stmt body) {
  Stmt s = statement(Stmt::For, list(integer(0), std::move(hi), integer(step)));
  s.symbol = kLoop;
  s.body.push_back(std::move(body));
  return s;
}

TEST(StoreCoverage, TilesAsFarApartAsTheyAreLong) {
  EXPECT_EQ(whyNotCovered(kernel({{1, "n"}}, 512, tileAt(at(kGrid), 512))), "");
  EXPECT_EQ(whyNotCovered(kernel({{1, "n"}}, 256, tileAt(at(kGrid), 512))), "");
  EXPECT_EQ(whyNotCovered(kernel({{1, "n"}}, 512, tileAt(at(kGrid), 511))),
            "'out0' is stored in tiles of 511 elements along dim 0, in steps of 512");
}

TEST(StoreCoverage, OneElementOfEachTile) {
  EXPECT_EQ(whyNotCovered(kernel({{1, "n"}}, 1, store(0, real(1), {}, list(at(kGrid))))), "");
  EXPECT_EQ(whyNotCovered(kernel({{1, "n"}}, 512, store(0, real(1), {}, list(at(kGrid))))),
            "'out0' is stored in tiles of 1 elements along dim 0, in steps of 512");
}

TEST(StoreCoverage, LoopsOfAProgram) {
  auto walked = [](ExprPtr hi, int64_t step) {
    return whyNotCovered(kernel({{1, "n"}}, 1, loop(std::move(hi), step, tileAt(at(kLoop), 64))));
  };
  EXPECT_EQ(walked(dim("n"), 64), "");
  EXPECT_EQ(walked(dim("n"), 65), "'out0' is stored in tiles of 64 elements along dim 0, in steps of 65");
  EXPECT_EQ(walked(dim("m"), 64), "'out0' is not stored from its beginning to its end along dim 0");
  EXPECT_EQ(walked(integer(64), 64), "'out0' is not stored from its beginning to its end along dim 0");
}

TEST(StoreCoverage, PartsOfJoinedTensors) {
  auto part = [](int64_t step) {
    return whyNotCovered(kernel({{1, "n"}}, 1, loop(dim("m"), step, tileAt(plus(at(kLoop), dim("m")), 64))));
  };
  EXPECT_EQ(part(64), "");
  EXPECT_EQ(part(128), "'out0' is stored in tiles of 64 elements along dim 0, in steps of 128");
}

TEST(StoreCoverage, ConstantPlaces) {
  EXPECT_EQ(whyNotCovered(kernel({{4, ""}}, 1, tileAt(integer(0), 4))), "");
  EXPECT_EQ(whyNotCovered(kernel({{5, ""}}, 1, tileAt(integer(0), 4))),
            "'out0' is stored once along dim 0, 4 elements of it");
  EXPECT_EQ(whyNotCovered(kernel({{1, "n"}}, 1, tileAt(integer(0), 4))),
            "'out0' is stored once along dim 0, 4 elements of it");
}

TEST(StoreCoverage, ALaneForEachElement) {
  auto lanes = [](ExprPtr count) {
    Kernel k = kernel({{1, "n"}, {3, ""}}, 1, store(0, real(1), {}, list(at(kGrid), at(kLoop))));
    k.grid.clear();
    k.laneCount = std::move(count);
    return whyNotCovered(k);
  };
  EXPECT_EQ(lanes(make(Op::Mul, i64, integer(3), dim("n"))), "");
  EXPECT_EQ(lanes(dim("n")), "'out0' does not have an element for each lane");
}

TEST(StoreCoverage, AResultWithoutAStore) {
  EXPECT_EQ(whyNotCovered(kernel({{1, "n"}}, 1, statement(Stmt::Barrier))), "'out0' is not stored");
}

} // namespace
} // namespace tessera::schedule
