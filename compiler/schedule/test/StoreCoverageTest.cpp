// Programs that write every element of their results, and programs that leave a gap.
#include "compiler/schedule/Transforms/StoreCoverage.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

namespace tessera::schedule {
namespace {

using namespace mlir;

/// What the check says about a kernel with the result `out0`, whose `dims` are in the list and whose type has
/// the `shape`, and a body in `construct`.
std::string whyNot(const std::string &dims, const std::string &shape, const std::string &construct,
                   const std::string &body, const std::optional<KnownLength> &known = std::nullopt) {
  static MLIRContext context;
  context.loadDialect<ScheduleDialect, graph::GraphDialect, tile::TileDialect, arith::ArithDialect,
                      scf::SCFDialect>();
  std::string text =
      "schedule.kernel @k(%out0: !tile.view<" + shape +
      "xf32>, %n: index, %m: index) attributes {params = [#tile.param<name = \"out0\", kind = "
      "result, dtype = f32, access = write, dims = [" +
      dims + "]>, #tile.param<name = \"n\", kind = dim>, #tile.param<name = \"m\", kind = dim>]} {\n" +
      construct + " {\n" +
      "%zero = arith.constant 0 : index\n%one = arith.constant 1 : index\n"
      "%element = arith.constant 1.0 : f32\n" +
      body + "}\n}\n";
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
  if (!module) return "does not parse: " + text;
  return whyNotCovered(*module->getOps<KernelOp>().begin(), known);
}

std::string grid(int64_t step) {
  return "schedule.grid (%i) = (\"0\") to (\"n\") step (\"" + std::to_string(step) + "\") names [\"i\"]";
}

std::string tileAt(const std::string &start, int64_t extent) {
  std::string length = std::to_string(extent), type = "tensor<" + length + "xf32>";
  return "%tile = arith.constant dense<1.0> : " + type + "\ntile.store %tile, %out0[" + start +
         "] extents [" + length + "] : " + type + ", !tile.view<?xf32>\n";
}

std::string loop(const std::string &end, int64_t step, const std::string &body) {
  return "%end = arith.constant 64 : index\n%step = arith.constant " + std::to_string(step) +
         " : index\nscf.for %k = %zero to " + end + " step %step {\n" + body + "}\n";
}

const std::string kElement = "tile.store_elem %element, %out0[%i] : f32, !tile.view<?xf32>\n";

TEST(StoreCoverage, TilesAsFarApartAsTheyAreLong) {
  EXPECT_EQ(whyNot("\"n\"", "?", grid(512), tileAt("%i", 512)), "");
  EXPECT_EQ(whyNot("\"n\"", "?", grid(256), tileAt("%i", 512)), "");
  EXPECT_EQ(whyNot("\"n\"", "?", grid(512), tileAt("%i", 511)),
            "'out0' is stored in tiles of 511 elements along dim 0, in steps of 512");
}

TEST(StoreCoverage, GridsFromTheBeginningToTheEnd) {
  auto bounds = [](const char *from, const char *to) {
    return "schedule.grid (%i) = (\"" + std::string(from) + "\") to (\"" + to +
           "\") step (\"64\") names [\"i\"]";
  };
  const char *gap = "'out0' is not stored from its beginning to its end along dim 0";
  EXPECT_EQ(whyNot("\"n\"", "?", bounds("0", "m"), tileAt("%i", 64)), gap);
  EXPECT_EQ(whyNot("\"n\"", "?", bounds("1", "n"), tileAt("%i", 64)), gap);
}

TEST(StoreCoverage, OneElementOfEachTile) {
  EXPECT_EQ(whyNot("\"n\"", "?", grid(1), kElement), "");
  EXPECT_EQ(whyNot("\"n\"", "?", grid(512), kElement),
            "'out0' is stored in tiles of 1 elements along dim 0, in steps of 512");
}

TEST(StoreCoverage, LoopsOfAProgram) {
  auto walked = [](const char *end, int64_t step) {
    return whyNot("\"n\"", "?", grid(1), loop(end, step, tileAt("%k", 64)));
  };
  EXPECT_EQ(walked("%n", 64), "");
  EXPECT_EQ(walked("%n", 65), "'out0' is stored in tiles of 64 elements along dim 0, in steps of 65");
  EXPECT_EQ(walked("%m", 64), "'out0' is not stored from its beginning to its end along dim 0");
  EXPECT_EQ(walked("%end", 64), "'out0' is not stored from its beginning to its end along dim 0");
}

TEST(StoreCoverage, IndicesThroughIntegers) {
  std::string cast = "%w = arith.index_cast %k : index to i64\n%p = arith.index_cast %w : i64 to index\n";
  EXPECT_EQ(whyNot("\"n\"", "?", grid(1), loop("%n", 64, cast + tileAt("%p", 64))), "");
}

TEST(StoreCoverage, PartsOfJoinedTensors) {
  auto part = [](int64_t step) {
    std::string place = "%p = arith.addi %k, %m : index\n";
    return whyNot("\"n\"", "?", grid(1), loop("%m", step, place + tileAt("%p", 64)));
  };
  EXPECT_EQ(part(64), "");
  EXPECT_EQ(part(128), "'out0' is stored in tiles of 64 elements along dim 0, in steps of 128");
}

TEST(StoreCoverage, DimsThatFitTheTile) {
  auto once = [](const std::string &dim, int64_t most) {
    return whyNot("\"n\"", "?", grid(1), tileAt("%zero", 64), KnownLength{dim, most});
  };
  const std::string gap = "'out0' is stored once along dim 0, 64 elements of it";
  EXPECT_EQ(once("n", 64), "");
  EXPECT_EQ(once("n", 65), gap);
  EXPECT_EQ(once("m", 64), gap);
}

TEST(StoreCoverage, PartsOfAnAxis) {
  auto parts = [](const std::string &from, int64_t count, int64_t most, int64_t step) {
    return whyNot("\"n\"", "?",
                  "schedule.grid (%i) = (\"" + from + "\") to (\"m\") step (\"1\") names [\"i\"]",
                  "%count = arith.constant " + std::to_string(count) + " : index\n%most = arith.constant " +
                      std::to_string(most) +
                      " : index\n%first = arith.muli %i, %count : index\n"
                      "%rest = arith.subi %n, %first : index\n%last = arith.minsi %rest, %most : index\n" +
                      loop("%last", step, "%place = arith.addi %first, %k : index\n" + tileAt("%place", 16)));
  };
  const std::string nowhere = "'out0' is stored at no variable's place along dim 0";
  EXPECT_EQ(parts("0", 64, 64, 16), "");
  EXPECT_EQ(parts("1", 64, 64, 16), nowhere);
  EXPECT_EQ(parts("0", 64, 48, 16), nowhere);
  EXPECT_EQ(parts("0", 64, 64, 17), nowhere);
}

TEST(StoreCoverage, ConstantPlaces) {
  auto once = [](const char *dim, const char *shape, const char *start) {
    return whyNot(dim, shape, grid(1),
                  "%tile = arith.constant dense<1.0> : tensor<4xf32>\ntile.store %tile, %out0[" +
                      std::string(start) + "] extents [4] : tensor<4xf32>, !tile.view<" + shape + "xf32>\n");
  };
  EXPECT_EQ(once("\"4\"", "4", "%zero"), "");
  EXPECT_EQ(once("\"4\"", "4", "%one"), "'out0' is stored once along dim 0, 4 elements of it");
  EXPECT_EQ(once("\"5\"", "5", "%zero"), "'out0' is stored once along dim 0, 4 elements of it");
  EXPECT_EQ(once("\"n\"", "?", "%zero"), "'out0' is stored once along dim 0, 4 elements of it");
}

TEST(StoreCoverage, PlacesThatNothingWalks) {
  EXPECT_EQ(whyNot("\"n\"", "?", grid(1), "%p = arith.muli %i, %m : index\n" + tileAt("%p", 64)),
            "'out0' is stored at no variable's place along dim 0");
}

TEST(StoreCoverage, ALaneForEachElement) {
  auto lanes = [](const char *count) {
    return whyNot("\"n\", \"3\"", "?x3", "schedule.lanes %i to \"" + std::string(count) + "\"",
                  "tile.store_elem %element, %out0[%i, %zero] : f32, !tile.view<?x3xf32>\n");
  };
  EXPECT_EQ(lanes("3 * n"), "");
  EXPECT_EQ(lanes("n"), "'out0' does not have an element for each lane");
}

TEST(StoreCoverage, AResultWithoutAStore) {
  EXPECT_EQ(whyNot("\"n\"", "?", grid(1), "tile.barrier\n"), "'out0' is not stored");
}

} // namespace
} // namespace tessera::schedule
