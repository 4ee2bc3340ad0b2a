#include "tools/tsr/Report.h"
#include <gtest/gtest.h>

namespace tessera::cli {
namespace {

TEST(Report, SuggestionsAreClose) {
  EXPECT_EQ(closest("BLOKC_M", {"BLOCK_N", "BLOCK_M", "stages"}), "BLOCK_M");
  EXPECT_FALSE(closest("zzz", {"alpha", "beta"}));
  EXPECT_EQ(suggest("zzz", {"alpha", "beta"}), "known: alpha, beta");
}

} // namespace
} // namespace tessera::cli
