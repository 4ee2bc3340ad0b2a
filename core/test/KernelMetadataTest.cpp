#include "core/metadata/KernelMetadata.h"
#include "core/metadata/DescribeKernel.h"
#include <cmath>
#include <gtest/gtest.h>
#include <locale>

using namespace tessera;

namespace {

const std::string kGemm = R"yaml(name: gemm
target: cpu
numerics: standard
params:
  - {name: A, kind: tensor, dtype: bf16, dims: [M, K], access: read}
  - {name: B, kind: tensor, dtype: bf16, dims: [K, "64"], access: readwrite}
  - {name: result, kind: result, dtype: f32, dims: [M, "B*H"], access: write}
  - {name: alpha, kind: scalar, dtype: f32, default: 1.5}
  - {name: flag, kind: scalar, dtype: bool}
  - {name: steps, kind: scalar, dtype: i32}
  - {name: M, kind: dim}
  - {name: K, kind: dim}
  - {name: "B*H", kind: dim}
tile: {BLOCK_M: 64, stages: 2}
specialized: {K: 64}
products: [{instruction: mma.m16n8k16, in: bf16, acc: f32, at: "gemm.py:14"}, {instruction: fma.m6n64k1, in: f32, acc: f32}]
resources: {smem_per_cta: 8192, scratch_bytes: 65536, vector_bytes: 64}
launch:
  axes: ["ceildiv(M, 64)", "B*H", "steps + 1"]
  block: [1, 2, 3]
  lanes_per_program: 4096
epilogue: [bias, gelu]
fallbacks: ["fp4 -> fp6: no fp4 here"]
)yaml";

KernelMetadata parsed(const std::string &text) {
  KernelMetadata m;
  std::string why;
  EXPECT_TRUE(KernelMetadata::fromYaml(text, m, why)) << why;
  return m;
}

std::string errorOf(const std::string &text) {
  KernelMetadata m;
  std::string why;
  EXPECT_FALSE(KernelMetadata::fromYaml(text, m, why)) << text;
  return why;
}

/// Returns the valid document with one piece replaced.
std::string with(const std::string &from, const std::string &to) {
  std::string text = kGemm;
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

/// Groups digits like std::locale("de_DE").
struct Grouping : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(KernelMetadata, IsIndependentOfTheLocale) {
  std::string expected = parsed(kGemm).toYaml();
  std::locale before = std::locale::global(std::locale(std::locale(), new Grouping));
  std::string text = parsed(kGemm).toYaml();
  std::locale::global(before);
  EXPECT_EQ(text, expected);
  EXPECT_NE(text.find("lanes_per_program: 4096"), std::string::npos) << text;
}

TEST(KernelMetadata, ReadsEveryField) {
  KernelMetadata m = parsed(kGemm);
  EXPECT_EQ(m.name, "gemm");
  EXPECT_EQ(m.target, "cpu");
  EXPECT_EQ(m.numerics, "standard");
  ASSERT_EQ(m.params.size(), 9u);
  EXPECT_EQ(m.params[0].dtype, DType::BF16);
  EXPECT_EQ(m.params[0].dims, (std::vector<std::string>{"M", "K"}));
  EXPECT_TRUE(m.params[0].reads && !m.params[0].writes);
  EXPECT_TRUE(m.params[1].reads && m.params[1].writes);
  EXPECT_EQ(m.params[2].kind, MetadataParam::Kind::Result);
  EXPECT_EQ(m.params[3].defaultValue, Number(1.5));
  EXPECT_EQ(m.params[8].name, "B*H");
  EXPECT_EQ(m.tile, (std::vector<std::pair<std::string, int64_t>>{{"BLOCK_M", 64}, {"stages", 2}}));
  EXPECT_EQ(m.specialized, (std::vector<std::pair<std::string, int64_t>>{{"K", 64}}));
  const std::vector<MetadataProduct> products = {{"mma.m16n8k16", DType::BF16, DType::F32, "gemm.py:14"},
                                                 {"fma.m6n64k1", DType::F32, DType::F32}};
  EXPECT_EQ(m.products, products);
  EXPECT_EQ(parsed(m.toYaml()).products, products);
  EXPECT_EQ(m.sharedBytes, 8192);
  EXPECT_EQ(m.scratchBytes, 65536);
  EXPECT_EQ(m.vectorBytes, 64);
  EXPECT_EQ(m.axes.size(), 3u);
  EXPECT_EQ(m.block[2], 3);
  EXPECT_EQ(m.lanesPerProgram, 4096);
  EXPECT_EQ(m.epilogue, (std::vector<std::string>{"bias", "gelu"}));
  EXPECT_EQ(m.fallbacks.size(), 1u);
}

TEST(KernelMetadata, RoundTrips) {
  std::string once = parsed(kGemm).toYaml();
  EXPECT_EQ(parsed(once).toYaml(), once);
  EXPECT_EQ(parsed(once).params[8].name, "B*H");
  EXPECT_EQ(parsed(once).fallbacks[0], "fp4 -> fp6: no fp4 here");
}

TEST(KernelMetadata, DefaultsKeepTheirBits) {
  for (double value : {0.1, -0.0, 1e300, HUGE_VAL, -HUGE_VAL}) {
    KernelMetadata m = parsed(kGemm);
    m.params[3].defaultValue = value;
    EXPECT_EQ(parsed(m.toYaml()).params[3].defaultValue, Number(value));
  }
  KernelMetadata m = parsed(kGemm);
  m.params[3].defaultValue = NAN;
  EXPECT_TRUE(std::isnan(std::get<double>(*parsed(m.toYaml()).params[3].defaultValue)));
  m.params[3].dtype = DType::I64;
  for (int64_t value : {int64_t{0}, (int64_t{1} << 53) + 1, INT64_MAX, INT64_MIN}) {
    m.params[3].defaultValue = value;
    EXPECT_EQ(parsed(m.toYaml()).params[3].defaultValue, Number(value));
  }
}

TEST(KernelMetadata, IntegerDefaultsOfOlderDocuments) {
  auto read = [](const std::string &text) {
    return parsed("{name: f, target: cpu, numerics: strict, launch: {}, "
                  "params: [{name: a, kind: scalar, dtype: i64, default: " +
                  text + "}]}")
        .params[0]
        .defaultValue;
  };
  EXPECT_EQ(read("1e+05"), Number(int64_t{100000}));
  EXPECT_EQ(read("-3"), Number(int64_t{-3}));
}

TEST(KernelMetadata, SmallestDocument) {
  KernelMetadata m = parsed("{name: f, target: cpu, numerics: strict, params: [], launch: {}}");
  EXPECT_TRUE(m.params.empty());
  EXPECT_TRUE(m.axes.empty());
  EXPECT_EQ(m.block[0], 1);
  EXPECT_EQ(parsed(m.toYaml()).name, "f");
}

TEST(KernelMetadata, AGridMayBePersistent) {
  EXPECT_FALSE(parsed(kGemm).isPersistent);
  KernelMetadata m = parsed(with("4096", "4096\n  persistent: true"));
  EXPECT_TRUE(m.isPersistent);
  EXPECT_TRUE(parsed(m.toYaml()).isPersistent);
  EXPECT_EQ(errorOf(with("4096", "4096\n  persistent: 2")),
            "line 22: launch.persistent: expected true or false, found '2'");
}

TEST(KernelMetadata, ProgramsMayShareOperands) {
  EXPECT_FALSE(parsed(kGemm).sharesOperands);
  KernelMetadata m = parsed(with("4096", "4096\n  shares_operands: true"));
  EXPECT_TRUE(m.sharesOperands);
  EXPECT_TRUE(parsed(m.toYaml()).sharesOperands);
  EXPECT_EQ(errorOf(with("4096", "4096\n  shares_operands: some")),
            "line 22: launch.shares_operands: expected true or false, found 'some'");
}

TEST(KernelMetadata, ABodyMayBeForced) {
  EXPECT_EQ(parsed(kGemm).forcedBody, "");
  KernelMetadata m = parsed(with("4096", "4096\n  forced_body: product.row, which computes one row"));
  EXPECT_EQ(m.forcedBody, "product.row, which computes one row");
  EXPECT_EQ(parsed(m.toYaml()).forcedBody, m.forcedBody);
  const KernelSpec spec = describeKernel(m, "", 0);
  EXPECT_EQ(spec.forcedBody, m.forcedBody);
  m.scratchBytes = 7;
  EXPECT_EQ(errorOf(m.toYaml()).substr(errorOf(m.toYaml()).find("launch.")),
            "launch.forced_body: its entry needs 8 bytes of resources.scratch_bytes to report in");
}

TEST(KernelMetadata, KernelsMayWaitByDefault) {
  EXPECT_TRUE(parsed(kGemm).mayWait);
  EXPECT_TRUE(parsed(with("4096", "4096\n  may_wait: true")).mayWait);
  KernelMetadata m = parsed(with("4096", "4096\n  may_wait: false"));
  EXPECT_FALSE(m.mayWait);
  EXPECT_FALSE(parsed(m.toYaml()).mayWait);
  EXPECT_EQ(errorOf(with("4096", "4096\n  may_wait: 0")),
            "line 22: launch.may_wait: expected true or false, found '0'");
}

TEST(KernelMetadata, DimsMayBeExpressions) {
  auto document = [](const std::string &dims, const std::string &declared, const std::string &checks = "") {
    std::string text = "{name: f, target: cpu, numerics: strict, launch: {axes: []" + checks +
                       "}, params: [{name: a, kind: tensor, dtype: f32, access: read, dims: [" + dims + "]}";
    for (char dim : declared)
      text += std::string(", {name: ") + dim + ", kind: dim}";
    return text + "]}";
  };
  KernelMetadata m = parsed(document("n + 1, \"floordiv(K, 2)\", 2*K", "nK"));
  EXPECT_EQ(m.params[0].dims, (std::vector<std::string>{"n + 1", "floordiv(K, 2)", "2*K"}));
  EXPECT_EQ(parsed(m.toYaml()).params[0].dims, m.params[0].dims);
  EXPECT_NE(errorOf(document("n + 1, K", "Kn")).find("not in order of first appearance"), std::string::npos);
  EXPECT_NE(errorOf(document("n + q", "n")).find("'n + q' is not a dim: unknown name 'q' at column 5"),
            std::string::npos);
  EXPECT_NE(errorOf(document("n, -1", "n")).find("'-1' is not a dim"), std::string::npos);
  EXPECT_NE(errorOf(document("n, 1 + 1", "n")).find("'1 + 1' is not a dim"), std::string::npos);
  EXPECT_NE(errorOf(document("n, K", "n")).find("dim or stride K of a tensor has no entry"),
            std::string::npos);

  m = parsed(document("n", "n", ", checks: [{value: \"-mod(n, 4)\", says: n % 4 == 0}]"));
  ASSERT_EQ(m.checks.size(), 1u);
  EXPECT_EQ(parsed(m.toYaml()).checks[0].value, "-mod(n, 4)");
  EXPECT_EQ(parsed(m.toYaml()).checks[0].says, "n % 4 == 0");
  EXPECT_NE(errorOf(document("n", "n", ", checks: [{value: q, says: x}]"))
                .find("launch.checks.value: 'q': unknown"),
            std::string::npos);
  EXPECT_NE(errorOf(document("n", "n", ", checks: [{value: n}]")).find("says is missing"), std::string::npos);
}

TEST(KernelMetadata, RejectsWhatIsNotADocument) {
  EXPECT_EQ(errorOf(""), "line 1: metadata: expected a map");
  EXPECT_EQ(errorOf("a: 1\n---\nb: 2\n"), "line 2: expected one YAML document without markers (---)");
  EXPECT_EQ(errorOf("[1, 2]"), "line 1: metadata: expected a map");
  EXPECT_NE(errorOf("{a: [1"), "");
  EXPECT_NE(errorOf("&a [*a, *a]"), "");
  EXPECT_EQ(errorOf(std::string(2 << 20, ' ')), "line 1: it has 2097152 bytes; expected at most 1048576");
  EXPECT_NE(errorOf(std::string(100000, '[')), "");
  EXPECT_NE(errorOf(std::string(100000, '{')), "");
}

TEST(KernelMetadata, RejectsKeys) {
  EXPECT_EQ(errorOf(with("epilogue:", "prologue:")), "line 22: metadata: unknown key 'prologue'");
  EXPECT_EQ(errorOf(with("target: cpu", "name: cpu")), "line 2: metadata: key 'name' occurs twice");
  EXPECT_EQ(errorOf(with("target: cpu\n", "")), "line 1: target: missing");
  EXPECT_EQ(errorOf(with("smem_per_cta", "smem")), "line 17: resources: unknown key 'smem'");
  EXPECT_EQ(errorOf(with("block:", "blocks:")), "line 20: launch: unknown key 'blocks'");
  EXPECT_EQ(errorOf(with("access: read}", "acces: read}")), "line 5: params: unknown key 'acces'");
}

TEST(KernelMetadata, RejectsHeaderValues) {
  EXPECT_EQ(errorOf(with("name: gemm", "name: 2gemm")), "line 1: name: '2gemm' is not a name");
  EXPECT_EQ(errorOf(with("name: gemm", "name: [gemm]")), "line 1: name: expected a text");
  EXPECT_EQ(errorOf(with("standard", "loose")), "line 3: numerics: unknown profile 'loose'");
  EXPECT_EQ(errorOf(with("standard", "'a b'\npermits: []")), "line 3: numerics: unknown profile 'a b'");
  EXPECT_EQ(errorOf(with("standard", "loose\npermits: [magic]")),
            "line 4: permits: unknown permission 'magic'");
  EXPECT_EQ(errorOf(with("standard", "standard\npermits: [contraction]")),
            "line 4: permits: profile standard is built in and permits something else");
}

TEST(KernelMetadata, KeepsAProfilesPermissions) {
  KernelMetadata m =
      parsed("{name: f, target: cpu, numerics: house, permits: [unordered_atomics], params: [], "
             "launch: {}}");
  EXPECT_EQ(m.numerics, "house");
  ASSERT_TRUE(m.permits);
  EXPECT_EQ(*m.permits, NumericsPermissions{.unorderedAtomics = true});
  EXPECT_EQ(parsed(m.toYaml()).permits, m.permits);
  EXPECT_FALSE(parsed("{name: f, target: cpu, numerics: fast, params: [], launch: {}}").permits);
}

TEST(KernelMetadata, RejectsParams) {
  EXPECT_EQ(errorOf(with("dtype: bf16, dims: [M, K]", "dtype: bf17, dims: [M, K]")),
            "line 5: params.A.dtype: unknown dtype 'bf17'");
  EXPECT_EQ(errorOf(with("kind: tensor", "kind: tensors")), "line 5: params.A: unknown kind 'tensors'");
  EXPECT_EQ(errorOf(with("kind: tensor, ", "")), "line 5: params.A: kind is missing");
  EXPECT_EQ(errorOf(with("name: A, ", "")), "line 5: params: an entry has no name");
  EXPECT_EQ(errorOf(with("name: A", "name: a-b")), "line 5: params.a-b: not a name");
  EXPECT_EQ(errorOf(with("name: B, ", "name: A, ")), "line 6: params.A: name occurs twice");
  EXPECT_EQ(errorOf(with("dtype: bf16, ", "")), "line 5: params.A: dtype is missing");
  EXPECT_EQ(errorOf(with(", dims: [M, K]", "")), "line 5: params.A: dims are missing");
  EXPECT_EQ(errorOf(with("dims: [M, K]", "dims: 3")), "line 5: params.A.dims: expected a list");
  EXPECT_EQ(errorOf(with("dims: [M, K]", "dims: [M, -3]")), "line 5: params.A.dims: '-3' is not a dim");
  EXPECT_EQ(errorOf(with("access: read}", "access: look}")),
            "line 5: params.A: access is read, write or readwrite");
  EXPECT_EQ(errorOf(with(", access: read}", "}")), "line 5: params.A: access is read, write or readwrite");
  EXPECT_EQ(errorOf(with("access: read}", "access: read, default: 1}")),
            "line 5: params.A: a tensor has no default");
  EXPECT_EQ(errorOf(with("kind: dim}", "kind: dim, dims: [M]}")), "line 11: params.M: a dim has no dims");
  EXPECT_EQ(errorOf(with("kind: dim}", "kind: dim, access: read}")),
            "line 11: params.M: a dim has no access");
  EXPECT_EQ(errorOf(with("kind: dim}", "kind: dim, dtype: f32}")), "line 11: params.M: a dim is i64");
  EXPECT_EQ(errorOf(with("default: 1.5", "default: x")),
            "line 8: params.alpha.default: expected a number, found 'x'");
}

TEST(KernelMetadata, Strides) {
  const auto dims = [](const std::string &strides) {
    return with("dims: [K, \"64\"], access", "dims: [K, \"64\"], strides: " + strides + ", access");
  };
  const std::string named = [&] {
    std::string text = dims("[ldb, 1]");
    return text.replace(text.find("  - {name: \"B*H\", kind"), 0, "  - {name: ldb, kind: dim}\n");
  }();
  const KernelMetadata m = parsed(named);
  EXPECT_TRUE(m.params[0].strides.empty());
  EXPECT_EQ(m.params[1].strides, (std::vector<std::string>{"ldb", "1"}));
  EXPECT_EQ(parsed(m.toYaml()).params[1].strides, m.params[1].strides);
  EXPECT_EQ(parsed(dims("[M, K]")).params[1].strides, (std::vector<std::string>{"M", "K"}));

  EXPECT_EQ(errorOf(dims("[1]")), "line 6: params.B.strides: expected one per dim (2), found 1");
  EXPECT_EQ(errorOf(dims("3")), "line 6: params.B.strides: expected a list");
  EXPECT_EQ(errorOf(dims("[1, -3]")), "line 6: params.B.strides: '-3' is not a dim");
  EXPECT_EQ(errorOf(dims("[ldb, 1]")),
            "line 5: params.B*H: dims are not in order of first appearance in the tensors");
  EXPECT_EQ(errorOf(with("kind: dim}", "kind: dim, strides: [1]}")),
            "line 11: params.M: a dim has no strides");
  EXPECT_EQ(
      errorOf("{name: f, target: cpu, numerics: standard, params: [{name: x, kind: tensor, dtype: f32, dims: "
              "[1,1,1,1,1,1,1,1,1], strides: [1,1,1,1,1,1,1,1,1], access: read}], launch: {}}"),
      "line 1: params.x.strides: a tensor with strides has at most 8 dims");
  EXPECT_EQ(errorOf("{name: f, target: cpu, numerics: standard, params: [{name: x, kind: tensor, dtype: f32, "
                    "dims: [4], "
                    "strides: [1], access: read}], plan: {buffers: [], steps: []}}"),
            "line 1: params.x.strides: a function's tensors have no strides");
}

TEST(KernelMetadata, RejectsOrder) {
  EXPECT_EQ(errorOf(with("{name: B, kind: tensor, dtype: bf16, dims: [K, \"64\"], access: readwrite}",
                         "{name: B, kind: scalar, dtype: f32}")),
            "line 7: params.result: out of order: tensors, results, scalars, dims");
  EXPECT_EQ(errorOf(with("  - {name: M, kind: dim}\n  - {name: K, kind: dim}",
                         "  - {name: K, kind: dim}\n  - {name: M, kind: dim}")),
            "line 5: params.K: dims are not in order of first appearance in the tensors");
  EXPECT_EQ(errorOf(with("  - {name: \"B*H\", kind: dim}\n", "")),
            "line 5: params: dim or stride B*H of a tensor has no entry");
  EXPECT_EQ(errorOf(with("  - {name: \"B*H\", kind: dim}\n",
                         "  - {name: \"B*H\", kind: dim}\n  - {name: Z, kind: dim}\n")),
            "line 5: params.Z: dims are not in order of first appearance in the tensors");
}

TEST(KernelMetadata, HasVariants) {
  const std::string two =
      "variants: [{entry: gemm.v0, when: [M == 8, 'K % 4 == 0']}, {entry: gemm.v1, when: [steps < 2]}]\n";
  auto withVariants = [](const std::string &variants) { return with("products:", variants + "products:"); };
  for (const KernelMetadata &m : {parsed(withVariants(two)), parsed(parsed(withVariants(two)).toYaml())}) {
    ASSERT_EQ(m.variants.size(), 2u);
    EXPECT_EQ(m.variants[0].entry, "gemm.v0");
    EXPECT_EQ(m.variants[0].when, (std::vector<std::string>{"M == 8", "K % 4 == 0"}));
    EXPECT_EQ(m.variants[1].when, std::vector<std::string>{"steps < 2"});
  }
  EXPECT_EQ(parsed(kGemm).toYaml().find("variants"), std::string::npos);
  auto error = [&](const std::string &variants) {
    return errorOf(withVariants("variants: [" + variants + "]\n"));
  };
  EXPECT_EQ(error("{when: [M == 1]}"), "line 16: variants: an entry has no entry");
  EXPECT_EQ(error("{entry: v}"), "line 16: variants: an entry has no when");
  EXPECT_EQ(error("{entry: 1v, when: [M == 1]}"), "line 16: variants.entry: '1v' is not a name");
  EXPECT_EQ(error("{entry: v, when: []}"), "line 16: variants.when: a variant has at least one condition");
  EXPECT_EQ(error("{entry: v, when: [M]}"),
            "line 16: variants.when: [E_VARIANT] variant v: 'M': expected a comparison such as N == 64");
  EXPECT_EQ(error("{entry: v, when: [alpha == 1]}"),
            "line 16: variants.when: [E_VARIANT] variant v: unknown name 'alpha' at column 1; the names are "
            "steps, M, K, B*H, cores, l1, l2, l3, fma_f32, fma_f64, fma_bf16, fma_i8, bw2, bw3, bwm, wake; "
            "in 'alpha == 1'");
  EXPECT_EQ(error("{entry: v, when: [M == 1], cost: 1}"), "line 16: variants: unknown key 'cost'");
}

TEST(KernelMetadata, TensorMapsAreOfTensorsThatBoxesFit) {
  auto withMaps = [](const std::string &maps) {
    return with("  lanes_per_program: 4096", "  lanes_per_program: 4096\n  tensor_maps: [" + maps + "]");
  };
  const KernelMetadata first = parsed(withMaps("{param: A, box: [64, 32], swizzle: 64}"));
  for (const KernelMetadata &m : {first, parsed(first.toYaml())}) {
    ASSERT_EQ(m.tensorMaps.size(), 1u);
    EXPECT_EQ(m.tensorMaps[0].param, "A");
    EXPECT_EQ(m.tensorMaps[0].box, (std::vector<int64_t>{64, 32}));
    EXPECT_EQ(m.tensorMaps[0].swizzle, 64);
  }
  auto error = [&](const std::string &map) {
    const std::string why = errorOf(withMaps(map)), key = "launch.tensor_maps";
    const size_t at = why.find(key); // after the line
    return at == std::string::npos ? why : why.substr(at + key.size());
  };
  EXPECT_EQ(error("{param: alpha, box: [1], swizzle: 64}"), ": alpha is no tensor");
  EXPECT_EQ(error("{param: X, box: [1], swizzle: 64}"), ": X is no tensor");
  EXPECT_EQ(error("{param: A, box: [64], swizzle: 64}"), ".box: it has not as many axes as A");
  EXPECT_EQ(error("{param: A, box: [64, 257], swizzle: 64}"),
            ".box: a box has at most 256 elements along an axis");
  EXPECT_EQ(error("{param: A, box: [64, 32], swizzle: 48}"), ".swizzle: expected 32, 64 or 128");
  EXPECT_EQ(error("{param: A, box: [64, 32], swizzle: 64, dtype: bf16}"), ": unknown key 'dtype'");
  EXPECT_NE(error("{param: A, box: [64, 0], swizzle: 64}"), "");
  EXPECT_NE(error("{param: A, swizzle: 64}"), "");
  auto ofA = [&](const std::string &dims) { // A with other dims or strides
    std::string text = withMaps("{param: A, box: [1, 32], swizzle: 64}");
    const std::string old = "dims: [M, K]";
    text.replace(text.find(old), old.size(), dims);
    const std::string why = errorOf(text), key = "launch.tensor_maps";
    const size_t at = why.find(key);
    return at == std::string::npos ? why : why.substr(at + key.size());
  };
  EXPECT_EQ(ofA("dims: [M, K, 1, 1, 1, 1]"), ": A has 6 axes, not 1 to 5");
  EXPECT_EQ(ofA("dims: [M, 2*K]"), ": A has an extent or stride that is neither a dim nor a number");
  EXPECT_EQ(ofA("dims: [M, K], strides: [1, M]"),
            ": neighbours along the last axis of A are no neighbours in memory");
}

TEST(KernelMetadata, TensorMapsReadDimsWhoseNamesBeginWithADigit) {
  std::string text = with("  lanes_per_program: 4096", "  lanes_per_program: 4096\n  tensor_maps: [{param: "
                                                       "result, box: [64, 32], swizzle: 128}]");
  for (size_t at; (at = text.find("B*H")) != std::string::npos;)
    text.replace(at, 3, "2*S"); // as of a graph function that joins axes
  const KernelSpec spec = describeKernel(parsed(text), text, 0);
  ASSERT_EQ(spec.tensorMaps.size(), 1u);
  EXPECT_EQ(spec.tensorMaps[0].value, 2u);
  EXPECT_EQ(spec.tensorMaps[0].extents[0].value, 6); // M
  EXPECT_EQ(spec.tensorMaps[0].extents[1].value, 8); // 2*S
}

TEST(KernelMetadata, ALaunchHasVariants) {
  auto withVariants = [](const std::string &variants) {
    return with("  lanes_per_program: 4096", "  lanes_per_program: 4096\n  variants: [" + variants + "]");
  };
  const std::string three =
      "{name: row, entry: gemm.row, when: {zero: ['mod(M, 8)', K - 64], aligned: {A: 16, B: 64}}, body: "
      "product.row,"
      " order: chain, cost: '2 * M * K // fma_f32', params: {rows: 4, kc: 'min(K, l2 // 1024)'}},"
      "{name: dot, entry: gemm.dot, when: [M <= 4, unit_stride(A)], order: 'split(ceildiv(K, 4096))', "
      "pinned: true},"
      "{name: tile, body: tile, order: chain}";
  const KernelMetadata first = parsed(withVariants(three));
  EXPECT_NE(first.toYaml().find("    - {name: tile, body: tile, order: chain}"), std::string::npos)
      << first.toYaml();
  for (const KernelMetadata &m : {first, parsed(first.toYaml())}) {
    ASSERT_EQ(m.variants.size(), 3u);
    const MetadataVariant &row = m.variants[0], &dot = m.variants[1], &tile = m.variants[2];
    EXPECT_EQ(row.name, "row");
    EXPECT_EQ(row.entry, "gemm.row");
    EXPECT_EQ(row.when, (std::vector<std::string>{"mod(M, 8) == 0", "K - 64 == 0", "aligned(A, 16)",
                                                  "aligned(B, 64)"}));
    EXPECT_EQ(row.body, "product.row");
    EXPECT_EQ(row.order, "chain");
    EXPECT_EQ(row.cost, "2 * M * K // fma_f32");
    EXPECT_EQ(row.params, (std::vector<std::pair<std::string, std::string>>{{"rows", "4"},
                                                                            {"kc", "min(K, l2 // 1024)"}}));
    EXPECT_FALSE(row.isPinned);
    EXPECT_EQ(dot.order, "split(ceildiv(K, 4096))");
    EXPECT_TRUE(dot.isPinned);
    EXPECT_EQ(tile.entry, "");
    EXPECT_TRUE(tile.when.empty());
  }
  auto error = [&](const std::string &variants) { return errorOf(withVariants(variants)); };
  const std::string where = "line 22: launch.variants";
  EXPECT_EQ(error("{name: a, entry: b, when: [M == 1]}"),
            where + ": [E_VARIANT] the last has a condition, so that sizes are left without a variant");
  EXPECT_EQ(error(""),
            where + ": [E_VARIANT] the last has a condition, so that sizes are left without a variant");
  EXPECT_EQ(error("{name: a}, {name: b}"), where + ": [E_VARIANT] it follows a, which has no condition");
  EXPECT_EQ(error("{name: a, when: [M == 1]}, {name: a}"), where + ": [E_VARIANT] the name a occurs twice");
  EXPECT_EQ(error("{entry: a}"), where + ": an entry has no name");
  EXPECT_EQ(error("{name: '1'}"), where + ".name: '1' is not a name");
  EXPECT_EQ(error("{name: a, entry: '-'}"), where + ".entry: '-' is not a name");
  EXPECT_EQ(error("{name: a, guard: 1}"), where + ": unknown key 'guard'");
  EXPECT_EQ(error("{name: a, when: {odd: [M]}}, {name: b}"), where + ".when: unknown key 'odd'");
  EXPECT_EQ(error("{name: a, pinned: true}"), where + ".pinned: it has no condition");
  EXPECT_EQ(error("{name: a, when: [M == 1], pinned: maybe}, {name: b}"),
            where + ".pinned: expected true or false");
  EXPECT_EQ(error("{name: a, when: [Z == 1]}, {name: b}"),
            where +
                ": [E_VARIANT] variant a: unknown name 'Z' at column 1; the names are steps, M, K, B*H, "
                "cores, l1, l2, l3, fma_f32, fma_f64, fma_bf16, fma_i8, bw2, bw3, bwm, wake; in 'Z == 1'");
  EXPECT_EQ(error("{name: a, when: [M // 0 == 1]}, {name: b}"),
            where + ": [E_VARIANT] variant a: 'M // 0 == 1': divides by zero");
  EXPECT_EQ(error("{name: a, when: {aligned: {A: 3}}}, {name: b}"),
            where +
                ": [E_VARIANT] variant a: 'aligned(A, 3)': expected a power of two of at most 4096 bytes");
  EXPECT_EQ(error("{name: a, when: {aligned: {alpha: 4}}}, {name: b}"),
            where + ": [E_VARIANT] variant a: 'aligned(alpha, 4)': unknown tensor 'alpha'");
  std::string both = withVariants("{name: a}");
  both.insert(both.find("tile: {"), "variants: [{entry: v, when: [M == 1]}]\n");
  EXPECT_EQ(errorOf(both),
            "line 23: launch.variants: [E_VARIANT] the document has variants outside of launch, too");
}

TEST(KernelMetadata, AParameterOfABodyHasLimits) {
  auto limited = [](const std::string &type, const std::string &limits) {
    return with("{name: steps, kind: scalar, dtype: i32}",
                "{name: steps, kind: scalar, dtype: " + type + ", limits: " + limits + "}");
  };
  for (const KernelMetadata &m :
       {parsed(limited("i64", "[-1, 512]")), parsed(parsed(limited("i64", "[-1, 512]")).toYaml())})
    EXPECT_EQ(m.params[5].limits, std::optional(std::pair(int64_t{-1}, int64_t{512})));
  EXPECT_EQ(errorOf(limited("i32", "[1, 2]")), "line 10: params.steps.limits: only an i64 has limits");
  EXPECT_EQ(errorOf(limited("i64", "[1]")), "line 10: params.steps.limits: expected [least, most]");
  EXPECT_EQ(errorOf(limited("i64", "[2, 1]")),
            "line 10: params.steps.limits: the least is greater than the most");
  EXPECT_EQ(errorOf(with("{name: M, kind: dim}", "{name: M, kind: dim, limits: [1, 2]}")),
            "line 11: params.M: a dim has no limits");
}

TEST(KernelMetadata, RejectsSections) {
  EXPECT_EQ(errorOf(with("BLOCK_M: 64", "BLOCK_M: 6x4")),
            "line 14: tile.BLOCK_M: expected an integer, found '6x4'");
  EXPECT_EQ(errorOf(with("{K: 64}", "{Q: 64}")), "line 15: specialized: 'Q' is not a dim of the kernel");
  EXPECT_EQ(errorOf(with("mma.m16n8k16", "6 x 64")), "line 16: products.instruction: '6 x 64' is not a name");
  EXPECT_EQ(errorOf(with(", acc: f32", "")), "line 16: products: an entry has no acc");
  EXPECT_EQ(errorOf(with("in: bf16", "in: bf17")), "line 16: products.in: unknown dtype 'bf17'");
  EXPECT_EQ(errorOf(with("8192", "48KB")),
            "line 17: resources.smem_per_cta: expected an integer, found '48KB'");
  EXPECT_EQ(errorOf(with("8192", "-1")), "line 17: resources.smem_per_cta: expected at least 0, found -1");
  EXPECT_EQ(errorOf(with("steps + 1", "alpha + 1")),
            "line 19: launch.axes: 'alpha + 1': unknown name 'alpha' at column 1");
  EXPECT_EQ(errorOf(with("[1, 2, 3]", "[1, 2]")), "line 20: launch.block: expected three integers");
  EXPECT_EQ(errorOf(with("[1, 2, 3]", "[1, 2, 0]")), "line 20: launch.block: expected at least 1, found 0");
  EXPECT_EQ(errorOf(with("lanes_per_program: 4096", "lanes_per_program: 0")),
            "line 21: launch.lanes_per_program: expected at least 1, found 0");
  EXPECT_EQ(errorOf(with("[bias, gelu]", "bias")), "line 22: epilogue: expected a list");
}

TEST(KernelMetadata, RejectsLongLists) {
  std::string axes = "[1";
  for (int i = 0; i < 2000; ++i)
    axes += ", 1";
  EXPECT_EQ(errorOf(with("[\"ceildiv(M, 64)\", \"B*H\", \"steps + 1\"]", axes + "]")),
            "line 19: launch.axes: list is too long");
}

} // namespace
