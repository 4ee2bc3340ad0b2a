// Every kind, op and dtype at awkward sizes, by both algorithms, on one to eight ranks.
#include "plugins/inprocess/test/Ranks.h"
#include "tools/tsr-conformance/CollectiveReference.h"

using namespace tessera;
using namespace tessera::test;

namespace {

struct Case {
  int kind, op;
  DType dtype;
  size_t count;
};

std::string name(const Case &c) {
  return "kind " + std::to_string(c.kind) + " op " + std::to_string(c.op) + " " + tessera::name(c.dtype) +
         " " + std::to_string(c.count);
}

size_t sourceParts(const Case &c, int size) {
  return c.kind == TSR_REDUCE_SCATTER || c.kind == TSR_ALL_TO_ALL ? static_cast<size_t>(size) : 1;
}
size_t targetParts(const Case &c, int size) {
  return c.kind == TSR_ALL_GATHER || c.kind == TSR_ALL_TO_ALL ? static_cast<size_t>(size) : 1;
}

/// Is `got`, of `rank`, right? The index of the first wrong element, or -1.
int64_t firstWrong(const Case &c, const Bytes &got, const std::vector<Bytes> &inputs, int rank, int root) {
  const auto bytes = static_cast<size_t>(storageBytes(c.dtype));
  if (c.kind == TSR_BROADCAST) return got == inputs[static_cast<size_t>(root)] ? -1 : 0;
  if (c.kind == TSR_ALL_GATHER || c.kind == TSR_ALL_TO_ALL) {
    const size_t part = c.count * bytes,
                 from = c.kind == TSR_ALL_TO_ALL ? static_cast<size_t>(rank) * part : 0;
    Bytes all;
    for (const Bytes &b : inputs)
      all.insert(all.end(), b.data() + from, b.data() + from + part);
    return got == all ? -1 : 0;
  }
  const size_t part = c.kind == TSR_REDUCE_SCATTER ? static_cast<size_t>(rank) * c.count : 0;
  const size_t step = c.count > 10000 ? 97 : 1; // the reference is slow
  for (size_t i = 0; i < got.size() / bytes; i += step)
    if (!agrees(got, i, inputs, part + i, c.dtype, c.op)) return static_cast<int64_t>(i);
  return -1;
}

void checkAll(int size, const std::vector<Case> &cases) {
  std::vector<Bytes> inputs(static_cast<size_t>(size)), results(inputs.size());
  std::barrier gate(size);
  onRanks(size, [&](Comm &comm, int rank) {
    uint64_t seed = 0;
    for (const Case &c : cases) {
      const int root = static_cast<int>(++seed % static_cast<uint64_t>(size));
      const auto self = static_cast<size_t>(rank);
      inputs[self] = data(c.dtype, c.count * sourceParts(c, size), rank, seed);
      gate.arrive_and_wait();
      Bytes last;
      for (const char *algorithm : {"", "direct", "staged", "in place"}) {
        const bool inPlace = std::string(algorithm) == "in place";
        if (inPlace && c.kind != TSR_ALL_REDUCE && c.kind != TSR_BROADCAST) continue;
        const Bytes &mine = inputs[self];
        Bytes dst(c.count * static_cast<size_t>(storageBytes(c.dtype)) * targetParts(c, size), 0xEE);
        if (inPlace) dst = mine;
        tsr_collective_call_t call{};
        call.struct_size = sizeof call;
        call.kind = c.kind;
        call.dtype = static_cast<int32_t>(c.dtype);
        call.op = c.op;
        call.root = root;
        call.count = c.count;
        call.src = inPlace ? dst.data() : mine.data();
        call.dst = dst.data();
        call.algorithm = inPlace ? "direct" : algorithm;
        ASSERT_EQ(failure(tsrCollective(comm.handle(), &call)), "") << name(c);
        ASSERT_EQ(firstWrong(c, dst, inputs, rank, root), -1)
            << name(c) << " " << algorithm << " rank " << rank;
        if (*algorithm) ASSERT_EQ(dst, last) << name(c) << ": " << algorithm << " gives other bits";
        last = std::move(dst);
      }
      results[self] = last;
      gate.arrive_and_wait();
      if (c.kind == TSR_ALL_REDUCE) EXPECT_EQ(results[0], last) << name(c) << ": ranks have different bits";
      gate.arrive_and_wait();
    }
  });
}

class Results : public testing::TestWithParam<int> {};

/// Collectives have no packed dtypes. A data race does not depend on the dtype but for its size: under the
/// thread sanitizer one of each size stands for all.
bool isTested(DType t) {
  if (isPacked(t)) return false;
#if __has_feature(thread_sanitizer)
  return t == DType::I8 || t == DType::BF16 || t == DType::F32 || t == DType::I64;
#else
  return true;
#endif
}

TEST_P(Results, EveryKindOpAndDType) {
  std::vector<Case> cases;
  for (const DTypeInfo &d : allDTypes()) {
    if (!isTested(d.dtype)) continue;
    for (size_t count : {size_t{0}, size_t{1}, size_t{61}, size_t{1031}}) {
      for (int op = TSR_REDUCE_SUM; op <= TSR_REDUCE_PROD; ++op) {
        cases.push_back({TSR_ALL_REDUCE, op, d.dtype, count});
        cases.push_back({TSR_REDUCE_SCATTER, op, d.dtype, count});
      }
      cases.push_back({TSR_BROADCAST, 0, d.dtype, count});
      cases.push_back({TSR_ALL_GATHER, 0, d.dtype, count});
      cases.push_back({TSR_ALL_TO_ALL, 0, d.dtype, count});
    }
  }
  checkAll(GetParam(), cases);
}

TEST_P(Results, LargeAndOdd) {
  std::vector<Case> cases;
  for (DType t : {DType::F32, DType::BF16, DType::I8})
    for (size_t count : {size_t{40009}, size_t{1100003}})
      for (int kind : {TSR_ALL_REDUCE, TSR_BROADCAST, TSR_ALL_GATHER, TSR_REDUCE_SCATTER, TSR_ALL_TO_ALL})
        // The larger one is longer than what is streamed past the caches.
        if (count < 100000 ||
            (GetParam() < 8 && t == DType::F32 && (kind == TSR_ALL_REDUCE || kind == TSR_ALL_TO_ALL)))
          cases.push_back({kind, TSR_REDUCE_SUM, t, count});
  checkAll(GetParam(), cases);
}

#if __has_feature(thread_sanitizer) // one rank, an odd number of them, a power of two
INSTANTIATE_TEST_SUITE_P(Sizes, Results, testing::Values(1, 3, 8));
#else
INSTANTIATE_TEST_SUITE_P(Sizes, Results, testing::Values(1, 2, 3, 5, 8));
#endif

/// The op over ranks of one f32 each, as every rank gets it.
std::vector<float> reduceScalars(const std::vector<float> &values, tsr_reduce_op_t op) {
  std::vector<float> out(values.size());
  onRanks(static_cast<int>(values.size()), [&](Comm &comm, int rank) {
    const auto r = static_cast<size_t>(rank);
    comm.allReduce(&values[r], &out[r], 1, op);
  });
  return out;
}

TEST(Values, NaNAndZeros) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  for (tsr_reduce_op_t op : {TSR_REDUCE_SUM, TSR_REDUCE_MAX, TSR_REDUCE_MIN, TSR_REDUCE_PROD})
    for (std::vector<float> v : {std::vector<float>{nan, 1, 2}, {1, nan, inf}, {-inf, 3, nan}})
      for (float got : reduceScalars(v, op))
        EXPECT_TRUE(std::isnan(got)) << op;
  for (float got : reduceScalars({-0.0f, 0.0f}, TSR_REDUCE_MAX))
    EXPECT_FALSE(std::signbit(got));
  for (float got : reduceScalars({0.0f, -0.0f}, TSR_REDUCE_MIN))
    EXPECT_TRUE(std::signbit(got));
  EXPECT_EQ(reduceScalars({-inf, inf, 0}, TSR_REDUCE_MAX)[1], inf);
}

TEST(Values, TheOrderIsPairwiseByRank) {
  // Left to right, (1e8 + 1) + ... would lose each 1; by pairs 1 + 1 survives.
  EXPECT_EQ(reduceScalars({1e8f, -1e8f, 3, 1}, TSR_REDUCE_SUM), std::vector<float>(4, 4.0f));
  EXPECT_EQ(reduceScalars({1e8f, 1, -1e8f, 1}, TSR_REDUCE_SUM), std::vector<float>(4, 0.0f));
  EXPECT_EQ(reduceScalars({1, 1e8f, -1e8f, 1, 5}, TSR_REDUCE_SUM), std::vector<float>(5, 5.0f));
}

TEST(Values, SubnormalsStayWhateverTheThreadsModes) {
  onRanks(2, [](Comm &comm, int rank) {
#if defined(__x86_64__)
    const unsigned before = __builtin_ia32_stmxcsr();
    if (rank) __builtin_ia32_ldmxcsr(before | 0x8040); // flushes to zero
#endif
    float in = 0x1p-140f, out = 0;
    comm.allReduce(&in, &out, 1, TSR_REDUCE_SUM);
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(before);
#endif
    EXPECT_EQ(out, 0x1p-139f) << rank;
  });
}

TEST(Values, LowPrecisionIsRoundedOnce) {
  // bf16 has 8 bits: 256 + 1 rounds to 256 each time, the f32 sum of all does not.
  onRanks(5, [](Comm &comm, int rank) {
    const auto in = static_cast<uint16_t>(fromDouble(rank ? 1 : 256, DType::BF16));
    uint16_t out = 0;
    tessera::check(tsrAllReduce(comm.handle(), &in, &out, 1, TSR_DTYPE_BF16, TSR_REDUCE_SUM));
    EXPECT_EQ(toDouble(out, DType::BF16), 260);
  });
}

TEST(Values, TwoCommunicatorsAtOnce) {
  onRanks(3, [](Comm &first, int rank) {
    Comm second("second", 2 - rank, 3);
    for (int i = 0; i < 200; ++i) {
      int32_t a = rank, b = 2 - rank, sum = 0, from = 0;
      first.allReduce(&a, &sum, 1, TSR_REDUCE_SUM);
      second.broadcast(&b, &from, 1, 2);
      ASSERT_EQ(sum, 3);
      ASSERT_EQ(from, 2);
    }
  });
}

TEST(Values, UnsignedIntegersAreNotSigned) {
  onRanks(2, [](Comm &comm, int rank) {
    auto check = [&]<class T>(T high, T low) {
      const T in = rank ? low : high;
      T most = 0, least = 0, sum = 0;
      comm.allReduce(&in, &most, 1, TSR_REDUCE_MAX);
      comm.allReduce(&in, &least, 1, TSR_REDUCE_MIN);
      comm.allReduce(&in, &sum, 1, TSR_REDUCE_SUM);
      EXPECT_EQ(most, high);
      EXPECT_EQ(least, low);
      EXPECT_EQ(sum, static_cast<T>(high + low)); // wraps
    };
    check(uint8_t{250}, uint8_t{9});
    check(uint16_t{65000}, uint16_t{900});
    check(uint32_t{4000000000}, uint32_t{1000000000});
    check(uint64_t{1} << 63, (uint64_t{1} << 63) - 1);
  });
}

TEST(Values, ManyCallsOfChangingSizes) {
  onRanks(2, [](Comm &comm, int rank) {
    for (size_t n : {size_t{1}, size_t{20000}, size_t{3}, size_t{8192}, size_t{0}, size_t{5000}})
      for (int i = 0; i < 50; ++i) {
        std::vector<int32_t> in(n, i + rank), out(n, -1);
        comm.allReduce(in.data(), out.data(), n, TSR_REDUCE_SUM);
        ASSERT_EQ(std::count(out.begin(), out.end(), 2 * i + 1), static_cast<ptrdiff_t>(n));
      }
  });
}

} // namespace
