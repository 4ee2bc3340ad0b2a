#include "compiler/layout/Drawing.h"
#include <gtest/gtest.h>

namespace tessera::layout {
namespace {

using At = std::vector<int64_t>;

TEST(Drawing, ShowsLanesAndRegisters) {
  EXPECT_EQ(draw(blocked(At{2, 4}, 2, 2, 2)), "       0   1   2   3\n"
                                              "   0 0:0 0:1 1:0 1:1\n");
  EXPECT_EQ(draw(blocked(At{4}, 4, 2, 1)), "         0     1     2     3\n"
                                           "   0 0+1:0 0+1:1 0+1:2 0+1:3\n");
  TileLayout late; // the first warp holds the second row only
  late.unit = Unit::ofShape(At{2, 3});
  late.reg = {0};
  late.lane = {1};
  EXPECT_EQ(draw(late), "           0       1       2\n"
                        "   0 0:0 0:1 0:2 0:3 0:4 0:5\n"
                        "   1 1:0 1:1 1:2 1:3 1:4 1:5\n");
  EXPECT_EQ(draw(blocked(At{2, 2, 2}, 1, 2, 1)), "(of rank 3: not drawn)\n");
}

TEST(Drawing, ShowsOffsets) {
  EXPECT_EQ(draw(SharedLayout::rowMajor(At{2, 6})), "      0  1  2  3  4  5\n"
                                                    "   0  0  1  4  5  8  9\n"
                                                    "   1  2  3  6  7 10 11\n");
  const std::string large = draw(SharedLayout::rowMajor(At{64, 40}));
  EXPECT_NE(large.find("\n     (64 rows and 40 columns in all)\n"), std::string::npos);
}

TEST(Drawing, OfAllInstructionsIsComplete) {
  const std::string table = fragmentTable(), drawings = fragmentDrawings();
  for (const Fragment &f : allFragments()) {
    EXPECT_NE(table.find(std::string("| `") + f.name + "` |"), std::string::npos);
  }
  for (const Fragment &f : tableOfFragments())
    EXPECT_NE(drawings.find(std::string("### ") + f.name + "\n"), std::string::npos);
  EXPECT_NE(table.find("| reg k1 m8 k8 · lane k2 k4 m1 m2 m4 | reg k1 k8 · lane k2 k4 n1 n2 n4 |"),
            std::string::npos);
  EXPECT_NE(drawings.find(" 0+16:0 "), std::string::npos);
}

} // namespace
} // namespace tessera::layout
