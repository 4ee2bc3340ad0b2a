#include "tools/tsr/Bind.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// gemm-like: A[M, K] and B[K, N] in f32 are read, C[M, N] is written, S["B*H", 4] of i32 is read and
/// written.
Signature signature() {
  Signature s;
  s.kernel = "k";
  auto tensor = [](const char *name, const char *dtype, std::vector<std::string> dims, bool reads,
                   bool writes) {
    SignatureParam p;
    p.name = name;
    p.isTensor = true;
    p.dtype = dtype;
    p.dims = std::move(dims);
    p.reads = reads;
    p.writes = writes;
    return p;
  };
  s.params = {tensor("A", "f32", {"M", "K"}, true, false), tensor("B", "f32", {"K", "N"}, true, false),
              tensor("C", "f32", {"M", "N"}, false, true)};
  SignatureParam alpha;
  alpha.name = "alpha";
  alpha.dtype = "f32";
  s.params.push_back(alpha);
  alpha.name = "flag";
  alpha.dtype = "bool";
  alpha.defaultValue = 1.0;
  s.params.push_back(alpha);
  s.dims = {"M", "K", "N"};
  s.tunables = {{"BLOCK", {64, 128}}};
  return s;
}

class BindTest : public ::testing::Test {
protected:
  void SetUp() override {
    char name[] = "/tmp/tsr-bind-XXXXXX";
    ASSERT_TRUE(mkdtemp(name));
    folder_ = name;
    request_.in = {{"A", file("a", {'f', 4}, {2, 3})}, {"B", file("b", {'f', 4}, {3, 4})}};
    request_.scalars = {{"alpha", "2"}};
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string file(const std::string &name, npy::ElementType type, std::vector<int64_t> shape) {
    size_t bytes = type.bytes;
    for (int64_t n : shape)
      bytes *= size_t(n);
    std::string path = folder_ / (name + ".npy");
    std::ofstream(path, std::ios::binary) << npy::makeHeader(type, shape) << std::string(bytes, '\0');
    return path;
  }

  /// The only error of binding, as "CODE: message".
  std::string error() {
    Binding b;
    Errors errors = bind(signature_, request_, b);
    return errors.size() == 1 ? errors[0].code + ": " + errors[0].message
                              : std::to_string(errors.size()) + " errors";
  }

  fs::path folder_;
  Signature signature_ = signature();
  Request request_;
};

TEST_F(BindTest, GivesEverythingAValue) {
  Binding b;
  ASSERT_TRUE(bind(signature_, request_, b).empty());
  EXPECT_EQ(b.dims, (std::vector<std::pair<std::string, int64_t>>{{"M", 2}, {"K", 3}, {"N", 4}}));
  EXPECT_EQ(b.params[2].shape, (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(b.params[2].bytes, 32u);
  EXPECT_FALSE(b.params[2].hasInput);
  EXPECT_EQ(b.params[3].scalarBits, 0x40000000u);
  EXPECT_EQ(b.params[4].scalarBits, 1u);
}

TEST_F(BindTest, NamesBothSidesOfAClash) {
  request_.in[1].second = file("b2", {'f', 4}, {5, 4});
  EXPECT_EQ(error(), "E_DIM_CLASH: dim K is 3 by dim 1 of A but 5 by dim 0 of B");
  request_.in[1].second = file("b", {'f', 4}, {3, 4});
  request_.dims = {{"M", "7"}};
  EXPECT_EQ(error(), "E_DIM_CLASH: dim M is 7 by --dim but 2 by dim 0 of A");
}

TEST_F(BindTest, RefusesWrongFiles) {
  request_.in[0].second = file("a8", {'f', 8}, {2, 3});
  EXPECT_THAT(error(), HasSubstr("E_ARG_DTYPE: A is f32 and reads f4 files, but"));
  request_.in[0].second = file("a3", {'f', 4}, {2, 3, 1});
  EXPECT_THAT(error(), HasSubstr("E_ARG_RANK: A has 2 dims (M, K), but"));
  request_.in[0].second = folder_ / "none.npy";
  EXPECT_THAT(error(), HasSubstr("E_FILE_READ"));
  std::ofstream(folder_ / "junk.npy") << "junk";
  request_.in[0].second = folder_ / "junk.npy";
  EXPECT_THAT(error(), HasSubstr("E_NPY_FORMAT"));
  signature_.params[0].dims = {"M", "8"};
  signature_.params[1].dims = {"8", "N"};
  signature_.dims = {"M", "N"};
  request_.in = {{"A", file("a", {'f', 4}, {2, 8})}, {"B", file("b", {'f', 4}, {9, 4})}};
  EXPECT_THAT(error(), HasSubstr("E_ARG_SHAPE: dim 0 of B is 8"));
}

TEST_F(BindTest, RefusesWrongNames) {
  auto in = request_.in;
  request_.in.pop_back();
  EXPECT_EQ(error(), "E_ARG_MISSING: B has no value");
  request_.in = in;
  request_.in.emplace_back("A", "again.npy");
  EXPECT_EQ(error(), "E_ARG_DUPLICATE: --in names A twice");
  request_.in = in;
  request_.in.emplace_back("D", "d.npy");
  EXPECT_EQ(error(), "E_ARG_UNKNOWN: --in D: kernel k has no parameter D");
  request_.in = in;
  request_.in.emplace_back("alpha", "d.npy");
  EXPECT_EQ(error(), "E_ARG_UNKNOWN: --in alpha: alpha is a scalar");
  request_.in = in;
  request_.out = {{"A", "a.npy"}};
  EXPECT_EQ(error(), "E_ARG_UNKNOWN: --out A: A is a tensor the kernel does not write");
  request_.out.clear();
  request_.scalars.emplace_back("A", "1");
  EXPECT_EQ(error(), "E_ARG_UNKNOWN: --scalar A: A is a tensor the kernel does not write");
}

TEST_F(BindTest, ChecksScalarsTunablesAndDims) {
  request_.scalars = {};
  EXPECT_EQ(error(), "E_ARG_MISSING: scalar alpha has no value and no default");
  request_.scalars = {{"alpha", "two"}};
  EXPECT_THAT(error(), HasSubstr("E_SCALAR_VALUE"));
  request_.scalars = {{"alpha", "2"}};
  request_.tunables = {{"BLOCK", "96"}};
  EXPECT_EQ(error(), "E_TUNABLE_VALUE: BLOCK=96 is outside the declared space");
  request_.tunables = {{"BLOKC", "64"}};
  EXPECT_THAT(error(), HasSubstr("E_TUNABLE_UNKNOWN"));
  request_.tunables = {};
  request_.dims = {{"Q", "1"}};
  EXPECT_THAT(error(), HasSubstr("E_DIM_UNKNOWN"));
  request_.dims = {{"M", "-1"}};
  EXPECT_THAT(error(), HasSubstr("E_OPTION_VALUE"));
}

TEST_F(BindTest, AsksForDimsThatNoInputDetermines) {
  signature_.params[1].reads = false;
  request_.in.pop_back();
  EXPECT_EQ(error(), "E_DIM_MISSING: dim N has no value: no input carries it");
  request_.dims = {{"N", "5"}};
  EXPECT_EQ(error(), "0 errors");
}

TEST_F(BindTest, ADimOfAResultMayNotBeNegative) {
  signature_.params[2].dims = {"N - 100"};
  EXPECT_THAT(error(), HasSubstr("E_DIM_NEGATIVE: a dim of "));
}

TEST_F(BindTest, AResultIsSizedByAProductWithoutFactors) {
  signature_.params[0].dims[0] = "B*H";
  signature_.dims[0] = "B*H";
  signature_.params[2].dims = {"3*B*H"};
  Binding b;
  EXPECT_TRUE(bind(signature_, request_, b).empty());
}

TEST_F(BindTest, ProductsFollowFromTheirFactors) {
  signature_.params[2].dims = {"M*N", "2*K"};
  signature_.dims = {"M", "K", "N", "M*N"};
  Binding b;
  ASSERT_TRUE(bind(signature_, request_, b).empty());
  EXPECT_EQ(b.params[2].shape, (std::vector<int64_t>{8, 6}));
  EXPECT_EQ(b.dims.back(), (std::pair<std::string, int64_t>{"M*N", 8}));
  request_.dims = {{"M*N", "9"}};
  EXPECT_EQ(error(), "E_DIM_CLASH: dim M*N is 9 by --dim but 8 by the product of its factors");
}

TEST_F(BindTest, ExpressionsGiveDimsTheirValues) {
  auto valueOf = [&](const std::string &dim, int64_t extent) {
    signature_.params[0].dims = {dim, "K"};
    signature_.dims = {"n", "K", "N"};
    signature_.params[2].dims = {"n", "N"};
    request_.in[0].second = file("x", {'f', 4}, {extent, 3});
    Binding b;
    const Errors errors = bind(signature_, request_, b);
    return errors.empty() ? std::to_string(b.params[2].shape[0]) : errors[0].code + ": " + errors[0].message;
  };
  EXPECT_EQ(valueOf("n + 1", 1), "0");
  EXPECT_EQ(valueOf("n + 1", 8), "7");
  EXPECT_EQ(valueOf("n + 1", 0), "E_ARG_SHAPE: dim 0 of A is n + 1, but the array has 0 there");
  EXPECT_EQ(valueOf("2*n - K", 5), "4");
  EXPECT_EQ(valueOf("2*n", 5), "E_ARG_SHAPE: dim 0 of A is 2*n, but the array has 5 there");
  EXPECT_EQ(valueOf("K - n", 1), "2");
  EXPECT_EQ(valueOf("n + 9223372036854775807", 1),
            "E_ARG_SHAPE: dim 0 of A is n + 9223372036854775807, but the array has 1 there");
  EXPECT_EQ(valueOf("floordiv(n, 2)", 3),
            "E_DIM_MISSING: dim n has no value: floordiv(n, 2) does not determine it");
  request_.dims = {{"n", "7"}};
  EXPECT_EQ(valueOf("floordiv(n, 2)", 3), "7");
  EXPECT_EQ(valueOf("floordiv(n, 2)", 4),
            "E_ARG_SHAPE: dim 0 of A is floordiv(n, 2) = 3, but the array has 4 there");
  EXPECT_EQ(valueOf("n + 1", 4), "E_ARG_SHAPE: dim 0 of A is n + 1 = 8, but the array has 4 there");
}

TEST_F(BindTest, EmptyTensorsTakeNoBytes) {
  request_.in[0].second = file("a0", {'f', 4}, {0, 3});
  Binding b;
  ASSERT_TRUE(bind(signature_, request_, b).empty());
  EXPECT_EQ(b.params[0].bytes, 0u);
  EXPECT_EQ(b.params[2].bytes, 0u);
}

TEST_F(BindTest, RefusesShapesBeyondTheAddressSpace) {
  signature_.params[1].reads = false;
  signature_.params[1].dims = {"N", "N", "N", "N"};
  request_.in.pop_back();
  request_.dims = {{"N", "1000000000"}};
  EXPECT_THAT(error(), HasSubstr("E_OUT_OF_MEMORY"));
}

} // namespace
} // namespace tessera::cli
