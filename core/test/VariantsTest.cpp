// Conditions of variants, and the choice between them.
#include "core/metadata/Variants.h"
#include "core/metadata/KernelMetadata.h"
#include "core/metadata/MachineConstants.h"
#include <gtest/gtest.h>

using namespace tessera;

namespace {

const std::vector<std::string> kNames = {"N", "", "k"};

bool holds(const std::string &text, int64_t N, int64_t k = 0) {
  Expected<Guard> guard = Guard::parse(text, kNames);
  EXPECT_TRUE(guard) << text;
  const int64_t slots[] = {N, 0, k};
  return guard && guard->holds(slots);
}

std::string errorOf(const std::string &text) {
  Expected<Guard> guard = Guard::parse(text, kNames);
  EXPECT_FALSE(guard) << text;
  return guard ? "" : guard.error().message;
}

TEST(Guard, Compares) {
  EXPECT_TRUE(holds("N == 1000", 1000));
  EXPECT_FALSE(holds("N == 1000", 1001));
  EXPECT_TRUE(holds("N != 1", 2));
  EXPECT_FALSE(holds("N != 1", 1));
  EXPECT_TRUE(holds("N <= 64", 64));
  EXPECT_FALSE(holds("N <= 64", 65));
  EXPECT_TRUE(holds("N >= 64", 64));
  EXPECT_FALSE(holds("N >= 64", 63));
  EXPECT_TRUE(holds("N < 64", 63));
  EXPECT_FALSE(holds("N < 64", 64));
  EXPECT_TRUE(holds("N > 64", 65));
  EXPECT_FALSE(holds("N > 64", 64));
  EXPECT_TRUE(holds("N % 4 == 0", 8));
  EXPECT_FALSE(holds("N % 4 == 0", 9));
  EXPECT_TRUE(holds("2*N + k >= ceildiv(N, 2) - 3", 1, -4));
}

TEST(Guard, ASideWithoutAValueDoesNotHold) {
  for (const char *comparison : {"==", "!=", "<=", ">=", "<", ">"}) {
    EXPECT_FALSE(holds(std::string("N // k ") + comparison + " 0", 1, 0)) << comparison;
    EXPECT_FALSE(holds(std::string("0 ") + comparison + " N * k", INT64_MAX, 2)) << comparison;
  }
}

TEST(Guard, RefusesOtherTexts) {
  EXPECT_EQ(errorOf("N"), "'N': expected a comparison such as N == 64");
  EXPECT_EQ(errorOf(""), "'': expected a comparison such as N == 64");
  EXPECT_NE(errorOf("N == 1 == 1"), "");
  EXPECT_NE(errorOf("N == "), "");
  EXPECT_NE(errorOf("N = 1"), "");
  EXPECT_EQ(errorOf("M == 1"), "unknown name 'M' at column 1; the names are N, k; in 'M == 1'");
  EXPECT_EQ(errorOf("N <= M"), "unknown name 'M' at column 6; the names are N, k; in 'N <= M'");
}

TEST(Guard, IsTheValueOfAName) {
  auto valueOf = [](const char *text) {
    Expected<Guard> guard = Guard::parse(text, kNames);
    EXPECT_TRUE(static_cast<bool>(guard)) << text;
    return guard->asValue();
  };
  EXPECT_EQ(valueOf("k == 7"), std::pair(size_t{2}, int64_t{7}));
  for (const char *text : {"k <= 7", "k + 0 == 7", "7 == k", "k == N"})
    EXPECT_EQ(valueOf(text), std::nullopt) << text;
}

TEST(Guard, ReadsAddressesAndStrides) {
  VariantScope scope{{"M", "", ""}, {{"A", 1, "1"}, {"B", 2, "M"}}, 3};
  auto holds = [&](const char *text, int64_t M, int64_t a) {
    Expected<Guard> guard = Guard::parse(text);
    EXPECT_TRUE(guard) << text;
    Expected<Guard> bound = guard->bind(scope);
    EXPECT_TRUE(bound) << text;
    const int64_t slots[] = {M, a, 0};
    return bound && bound->holds(slots);
  };
  EXPECT_TRUE(holds("aligned(A, 64)", 0, 128));
  EXPECT_FALSE(holds("aligned(A, 64)", 0, 96));
  EXPECT_TRUE(holds("aligned( A , 32 )", 0, 96));
  EXPECT_TRUE(holds("aligned(A, 1)", 0, -1)); // an address of the upper half
  EXPECT_TRUE(holds("unit_stride(A)", 7, 0));
  EXPECT_FALSE(holds("unit_stride(B)", 7, 0));
  EXPECT_TRUE(holds("unit_stride(B)", 1, 0));

  Expected<Guard> guard = Guard::parse("aligned(C, 64)");
  ASSERT_TRUE(guard);
  EXPECT_EQ(guard->bind(scope).error().message, "'aligned(C, 64)': unknown tensor 'C'");
  for (const char *text : {"aligned(A, 48)", "aligned(A, 0)", "aligned(A)", "aligned(A, M)",
                           "aligned(A, 8192)", "aligned(2, 64)", "unit_stride(A, 1)", "unit_stride()"})
    EXPECT_FALSE(Guard::parse(text)) << text;
}

TEST(Guard, PrintsWhatItParses) {
  for (const char *text : {"M <= 64", "ceildiv(M, 4) % 2 != -1", "aligned(A, 64)", "unit_stride(A)"}) {
    Expected<Guard> guard = Guard::parse(text);
    ASSERT_TRUE(guard) << text;
    EXPECT_EQ(guard->text(), text);
  }
  Expected<std::vector<Guard>> all = Guard::parseAll("M <= 64 and aligned(A, 16) and band == 1");
  ASSERT_TRUE(all);
  EXPECT_EQ(all->size(), 3u);
  EXPECT_EQ(textOf(*all), "M <= 64 and aligned(A, 16) and band == 1");
  EXPECT_FALSE(Guard::parseAll("M <= 64 and "));
  EXPECT_FALSE(Guard::parseAll("M <= 64 or N <= 64"));
}

TEST(Guard, RefusesADivisionByTheConstantZero) {
  EXPECT_EQ(errorOf("N // 0 == 1"), "'N // 0 == 1': divides by zero");
  EXPECT_EQ(errorOf("N == mod(N, 0)"), "'N == mod(N, 0)': divides by zero");
  EXPECT_EQ(errorOf("ceildiv(N, 0) == 1"), "'ceildiv(N, 0) == 1': divides by zero");
}

TEST(Replace, PutsExpressionsInThePlaceOfNames) {
  auto parsed = [](const char *text) { return *IndexExpr::parse(text); };
  auto replaced = [&](const char *text) {
    Expected<IndexExpr> out = replace(parsed(text), {IndexExpr::symbol("M"), IndexExpr::symbol("K")},
                                      {parsed("S + T"), IndexExpr::constant(64)});
    return out ? out->text() : out.error().message;
  };
  EXPECT_EQ(replaced("2 * M * K"), "2 * (S + T) * 64");
  EXPECT_EQ(replaced("K // 8 + 1"), "9");
  EXPECT_EQ(replaced("min(K, l2 // 1024)"), "min(64, l2 // 1024)");
  EXPECT_EQ(replaced("-K"), "-64");
  EXPECT_EQ(replaced("X"), "unknown name 'X' at column 1");
}

/// x [N], N, cores: 2, l2: 1 MiB.
KernelMetadata twoParams(const char *numerics = "standard") {
  KernelMetadata m;
  m.numerics = numerics;
  m.params.resize(2);
  m.params[0].name = "x";
  m.params[0].dims = {"N"};
  m.params[1].name = "N";
  m.params[1].kind = MetadataParam::Kind::Dim;
  return m;
}

std::vector<int64_t> slotsFor(int64_t N) {
  std::vector<int64_t> slots = {64, N};
  for (std::string_view name : kMachineConstants)
    slots.push_back(name == "cores" ? 2 : name == "l2" ? 1 << 20 : 0);
  return slots;
}

std::string faultOf(const KernelMetadata &m) {
  Expected<VariantTable> table = VariantTable::of(m);
  if (table) return "";
  EXPECT_EQ(table.error().code, "E_VARIANT");
  return table.error().message;
}

TEST(VariantTable, AnUnknownNameComesBeforeTheLongCost) {
  KernelMetadata m = twoParams();
  m.variants = {{"f.a", {"N <= 8"}, "a"}, {"", {}, "b"}};
  m.variants[0].cost =
      "90000 // (2 * fma_f32) + max(N * (2800 + N * 99) // (2 * fma_f23), N * 12) // max(1, cores)";
  EXPECT_EQ(faultOf(m),
            "variant a: unknown name 'fma_f23' at column 58; the names are N, cores, l1, l2, l3, fma_f32, "
            "fma_f64, fma_bf16, fma_i8, bw2, bw3, bwm, wake; in its cost: write fma_f32");
}

TEST(VariantTable, ExtentsChooseDifferentlyInTwoBodies) {
  KernelMetadata m = twoParams("deterministic");
  m.variants = {
      {.entry = "f.a", .when = {"cores == 2"}, .name = "a", .body = "product.dot", .order = "extents"},
      {.entry = "", .when = {}, .name = "b", .body = "tile", .order = "extents"}};
  EXPECT_EQ(faultOf(m),
            "numerics profile deterministic: condition 1 depends on the machine or an address and chooses "
            "between order classes");
  m.variants[0].body = "tile";
  EXPECT_EQ(faultOf(m), "");
}

TEST(VariantTable, TheFirstThatHoldsIsChosen) {
  KernelMetadata m = twoParams();
  m.variants = {{"f.v0", {"N == 8"}}, {"f.v1", {"N % 4 == 0", "N <= 64"}}};
  Expected<VariantTable> table = VariantTable::of(m);
  ASSERT_TRUE(table);
  auto choose = [&](int64_t N) -> std::optional<size_t> {
    auto choice = table->choose(slotsFor(N).data());
    return choice ? std::optional(choice->variant) : std::nullopt;
  };
  EXPECT_EQ(choose(8), 0u);
  EXPECT_EQ(choose(12), 1u);
  EXPECT_EQ(choose(0), 1u);
  EXPECT_EQ(choose(64), 1u);
  EXPECT_EQ(choose(68), std::nullopt);
  EXPECT_EQ(choose(9), std::nullopt);
  EXPECT_TRUE(table->fixes(0, 1, 8));
  EXPECT_FALSE(table->fixes(0, 1, 9));
  EXPECT_FALSE(table->fixes(1, 1, 8));
  EXPECT_TRUE(table->reads(1));
  EXPECT_FALSE(table->reads(0));
  m.variants[1].when = {"x == 1"}; // no integer
  EXPECT_EQ(faultOf(m), "variant f.v1: unknown name 'x' at column 1; the names are N, cores, l1, l2, l3, "
                        "fma_f32, fma_f64, fma_bf16, fma_i8, bw2, bw3, bwm, wake; in 'x == 1'");
  m.variants.assign(kMaxVariants + 1, {"f.v0", {"N == 8"}});
  m.variants.back().when.clear();
  EXPECT_EQ(faultOf(m), "there are 17 variants; at most 16 are chosen from");
}

TEST(VariantTable, OlderListsHaveAnyNumberOfVariants) {
  KernelMetadata m = twoParams();
  for (int64_t n = 0; n < 100; ++n)
    m.variants.push_back({"f.v" + std::to_string(n), {"N == " + std::to_string(n)}});
  Expected<VariantTable> table = VariantTable::of(m);
  ASSERT_TRUE(table);
  EXPECT_EQ(table->choose(slotsFor(99).data())->variant, 99u);
  EXPECT_FALSE(table->choose(slotsFor(100).data()));
}

TEST(VariantTable, CostsRankTheVariantsThatHold) {
  KernelMetadata m = twoParams();
  m.variants = {{"k.a", {"N <= 1000"}, "a"}, {"k.b", {"N >= 10"}, "b"}, {"", {}, "c"}};
  m.variants[0].cost = "2 * N";
  m.variants[1].cost = "500";
  m.variants[2].cost = "N + 200";
  auto choose = [&](int64_t N) {
    Expected<VariantTable> table = VariantTable::of(m);
    EXPECT_TRUE(table);
    const auto choice = table->choose(slotsFor(N).data());
    return choice ? m.variants[choice->variant].name + " " + std::to_string(choice->predictedNs) : "none";
  };
  EXPECT_EQ(choose(9), "a 18");
  EXPECT_EQ(choose(200), "a 400"); // of equal costs the first
  EXPECT_EQ(choose(201), "c 401");
  EXPECT_EQ(choose(301), "b 500");
  EXPECT_EQ(choose(INT64_MAX), "b 500"); // the cost of c overflows: it has none, so that the first is chosen
  m.variants[2].cost = "";
  EXPECT_EQ(choose(900), "a 1800"); // c has no cost
  m.variants[0].cost = "N // bw3";  // an unknown constant
  EXPECT_EQ(choose(900), "a -1");
  m.variants[0].cost = "N // 0";
  EXPECT_EQ(faultOf(m), "variant a: divides by zero; in its cost");
}

TEST(VariantTable, OnlyDimsDecideBetweenOrderClassesOfReproducibleProfiles) {
  KernelMetadata m = twoParams();
  m.variants = {{"k.a", {"N <= 64", "cores >= 2"}, "a"}, {"", {}, "b"}};
  m.variants[0].order = "dot";
  m.variants[1].order = "chain";
  EXPECT_EQ(faultOf(m), "");
  m.numerics = "deterministic";
  EXPECT_EQ(faultOf(m),
            "numerics profile deterministic: condition 1 depends on the machine or an address and "
            "chooses between order classes");
  m.variants[0].when[1] = "aligned(x, 64)";
  EXPECT_NE(faultOf(m), "");
  m.variants[0].when[1] = "N >= 1";
  EXPECT_EQ(faultOf(m), "");
  // within a class the machine may decide
  m.variants = {{"k.a", {"N <= 64", "cores >= 2"}, "a"}, {"k.b", {"N <= 64"}, "b"}, {"", {}, "c"}};
  m.variants[0].order = m.variants[1].order = "dot";
  m.variants[2].order = "chain";
  EXPECT_EQ(faultOf(m), "");
  m.variants[1].when = {"N <= 32"}; // for N = 33 the cores would decide
  EXPECT_NE(faultOf(m), "");
  // where a pinned variant does not apply, the last one runs
  m.variants = {{"k.a", {"N <= 64", "cores >= 2"}, "a"}, {"k.b", {"N <= 64"}, "b"}, {"", {}, "c"}};
  m.variants[0].order = m.variants[1].order = "dot";
  m.variants[2].order = "chain";
  EXPECT_EQ(faultOf(m), "");
  m.variants[0].isPinned = true;
  EXPECT_NE(faultOf(m), "");
  m.variants[2].order = "dot";
  EXPECT_EQ(faultOf(m), "");
  // costs rank one class only
  m.variants = {{"k.a", {"N <= 64"}, "a"}, {"", {}, "b"}};
  m.variants[0].order = "tiles(64)";
  m.variants[1].order = "tiles(512)";
  m.variants[0].cost = "10";
  m.variants[1].cost = "1";
  auto chosen = [&] { return VariantTable::of(m)->choose(slotsFor(8).data())->variant; };
  EXPECT_EQ(chosen(), 0u);
  m.variants[1].order = "tiles(64)";
  EXPECT_EQ(chosen(), 1u);
  m.variants[1].order = "tiles(512)";
  m.numerics = "standard";
  EXPECT_EQ(chosen(), 1u);

  m.numerics = "strict";
  EXPECT_EQ(faultOf(m),
            "numerics profile strict: order tiles(64) is not permitted; the orders are exact, leaves "
            "and lanes64");
  m.variants[0].order = "leaves";
  m.variants[1].order = "lanes64";
  EXPECT_EQ(faultOf(m),
            "numerics profile strict: variants of the orders leaves and lanes64 exclude each other");
  m.variants[1].order = "leaves";
  EXPECT_EQ(faultOf(m), "");
  m.variants[1].order = "split(cores)";
  EXPECT_EQ(faultOf(m), "variant b: order 'split(cores)' depends on the machine");
  m.variants[1].order = "sorted";
  EXPECT_EQ(faultOf(m), "variant b: order 'sorted': expected exact, chain, leaves, lanes64, dot, extents, "
                        "split(N) or tiles(N)");
}

TEST(VariantTable, ParametersStayWithinTheLimitsOfTheBody) {
  KernelMetadata m = twoParams(), body = twoParams();
  MetadataParam kc;
  kc.name = "kc";
  kc.kind = MetadataParam::Kind::Scalar;
  kc.limits = {1, 1024};
  body.params.insert(body.params.begin() + 1, kc);
  m.variants = {{"k.a", {"N >= 0"}, "a"}, {"", {}, "b"}};
  m.variants[0].params = {{"kc", "min(N, l2 // 1024)"}};
  auto bind = [&]() -> std::string {
    Expected<VariantTable> table = VariantTable::of(m);
    EXPECT_TRUE(table);
    MaybeError error = table->bindBody(0, m, body);
    return error ? error->message : "";
  };
  EXPECT_EQ(bind(), "");
  auto choose = [&](int64_t N) {
    Expected<VariantTable> table = VariantTable::of(m);
    (void)table->bindBody(0, m, body);
    const auto choice = table->choose(slotsFor(N).data());
    return std::pair(choice->variant, choice->parameters[0]);
  };
  EXPECT_EQ(choose(8), std::pair(size_t{0}, int64_t{8}));
  EXPECT_EQ(choose(5000), std::pair(size_t{0}, int64_t{1024}));
  EXPECT_EQ(choose(0).first, 1u); // 0 is outside: the variant does not apply
  m.variants[0].params = {{"kc", "2048"}};
  EXPECT_EQ(bind(), "parameter kc: found 2048, the body takes 1 to 1024");
  m.variants[0].params = {{"mc", "1"}, {"kc", "1"}};
  EXPECT_EQ(bind(), "the body has no parameter mc");
  m.variants[0].params = {};
  EXPECT_EQ(bind(), "parameter kc: the variant gives it no value");
  m.variants[0].params = {{"kc", "N // 0"}};
  EXPECT_EQ(faultOf(m), "variant a: divides by zero; in its parameter kc");
}

TEST(VariantTable, LimitsDoNotChooseBetweenOrderClassesOfReproducibleProfiles) {
  KernelMetadata m = twoParams("deterministic"), body = twoParams();
  MetadataParam kc;
  kc.name = "kc";
  kc.kind = MetadataParam::Kind::Scalar;
  kc.limits = {1, 1024};
  body.params.insert(body.params.begin() + 1, kc);
  m.variants = {{"k.a", {"N >= 8"}, "a"}, {"", {}, "b"}};
  m.variants[0].order = "dot";
  m.variants[1].order = "chain";
  auto bind = [&](const char *value) -> std::string {
    m.variants[0].params = {{"kc", value}};
    Expected<VariantTable> table = VariantTable::of(m);
    EXPECT_TRUE(table);
    MaybeError error = table->bindBody(0, m, body);
    return error ? error->message : "";
  };
  EXPECT_EQ(bind("min(N, 512)"), "");
  EXPECT_EQ(bind("l2 // 1024"),
            "parameter kc: its value depends on the machine and its limits choose between order classes");
  m.variants[1].order = "dot";
  EXPECT_EQ(bind("l2 // 1024"), "");
  m.variants[1].order = "chain";
  m.numerics = "standard";
  EXPECT_EQ(bind("l2 // 1024"), "");
}

TEST(VariantTable, APinnedVariantRunsWhereItsConditionHolds) {
  KernelMetadata m = twoParams();
  m.variants = {{"k.a", {"N <= 64"}, "a"}, {"k.b", {"N <= 128"}, "b"}, {"", {}, "c"}};
  m.variants[1].isPinned = true;
  Expected<VariantTable> table = VariantTable::of(m);
  ASSERT_TRUE(table);
  auto choose = [&](int64_t N) { return *table->choose(slotsFor(N).data()); };
  EXPECT_EQ(choose(8).variant, 1u);
  EXPECT_FALSE(choose(8).missesPin);
  EXPECT_EQ(choose(129).variant, 2u);
  EXPECT_TRUE(choose(129).missesPin);
}

TEST(VariantTable, AParameterHidesAMachineConstant) {
  KernelMetadata m = twoParams();
  m.params[0].dims = {"cores"};
  m.params[1].name = "cores";
  m.variants = {{"k.a", {"cores == 7"}, "a"}, {"", {}, "b"}};
  Expected<VariantTable> table = VariantTable::of(m);
  ASSERT_TRUE(table);
  EXPECT_EQ(table->choose(slotsFor(7).data())->variant, 0u);
  EXPECT_EQ(table->choose(slotsFor(2).data())->variant, 1u);
}

} // namespace
