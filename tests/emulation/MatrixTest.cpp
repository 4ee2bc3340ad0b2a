// Matrix instructions of Target IR against the definition of a product. The position of each element that a
// lane holds is written as in the vendor's document. Operands are random, so that no two elements are alike.
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "numerics/Casts.h"
#include "tests/emulation/BlockReads.h"
#include "tests/emulation/Emulate.h"
#include "tests/emulation/MatrixInstructions.h"
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;

namespace tessera::emulation {
namespace {

/// Runs one warp. `body` may use %lane (i32), %x (the words, in device memory) and %s (2048 bytes of shared
/// memory). Returns the words after the launch, which must not fail unless
/// `error` is given.
std::vector<uint32_t> run(const std::string &backend, int lanes, const std::string &body,
                          std::vector<uint32_t> words, std::string *error = nullptr) {
  const bool isPtx = backend.starts_with("ptx");
  std::string declaration; // of the built-in function that the body calls
  if (const size_t call = body.find("llvm.call spir_funccc"); call != body.npos) {
    const size_t name = body.find('@', call), types = body.find(" : ", name) + 3;
    declaration = "llvm.func spir_funccc " + body.substr(name, body.find('(', name) - name) +
                  body.substr(types, body.find('\n', types) - types) + "\n";
  }
  const std::string program =
      std::string("target.module @image attributes {cpu = \"\", triple = \"\"} {\n"
                  "llvm.mlir.global internal @shared() {addr_space = 3 : i32, alignment = 128 : i64} : "
                  "!llvm.array<2048 x i8>\n") +
      declaration + std::string("llvm.func @tsr_kernel_k(%x: !llvm.ptr<1>, %n: i64) {\n") +
      "%lane = " + (isPtx ? "nvvm.read.ptx.sreg.tid.x" : "rocdl.workitem.id.x") + " : i32\n" +
      "%s = llvm.mlir.addressof @shared : !llvm.ptr<3>\n" + body +
      "llvm.return\n}\n"
      "target.kernel_info \"k\" entry @tsr_kernel_k metadata \"name: k\\0Atarget: " +
      backend.substr(0, backend.find(':')) + backend.substr(backend.rfind(':')) +
      "\\0Anumerics: standard\\0Aparams:\\0A  - {name: x, kind: tensor, dtype: i32, dims: [n], access: "
      "readwrite}"
      "\\0A  - {name: n, kind: dim}\\0Aresources: {smem_per_cta: 2048, scratch_bytes: 0, vector_bytes: 0}"
      "\\0Alaunch:\\0A  axes: [\\\"1\\\"]\\0A  block: [" +
      std::to_string(lanes) + ", 1, 1]\\0A\"\n}";
  DialectRegistry registry;
  registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect, ROCDL::ROCDLDialect, target::TargetDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(program, &context);
  EXPECT_TRUE(module) << program;
  if (!module) return {};
  std::string why;
  const std::string bundle = bundleOf(*module, backend + "+check", why);
  EXPECT_EQ(why, "");
  Device device(backend + "+check");
  const size_t bytes = words.size() * sizeof words[0];
  void *x = nullptr;
  EXPECT_EQ(tsrAlloc(device.handle, bytes, TSR_MEM_DEVICE, &x), TSR_SUCCESS);
  EXPECT_EQ(tsrMemcpyH2D(device.handle, x, words.data(), bytes), TSR_SUCCESS);
  const std::string found = launch(device, bundle, {reinterpret_cast<uint64_t>(x), words.size()});
  if (error)
    *error = found;
  else
    EXPECT_EQ(found, "");
  EXPECT_EQ(tsrMemcpyD2H(device.handle, words.data(), x, bytes), TSR_SUCCESS);
  EXPECT_EQ(tsrFree(device.handle, x), TSR_SUCCESS);
  return words;
}

class Products : public testing::TestWithParam<Product> {};

TEST_P(Products, EqualTheDefinition) {
  const Product &p = GetParam();
  const int countA = p.m * p.k * p.copies / p.lanes, countB = p.k * p.n * p.copies / p.lanes,
            countC = p.m * p.n / p.lanes;
  auto wordsOf = [](int count, DType dtype) { return count * info(dtype).storageBytes / 4; };
  const int wordsA = wordsOf(countA, p.dtype), wordsB = wordsOf(countB, p.dtype),
            wordsC = wordsOf(countC, p.sum);
  const int wordsOfLane = wordsA + wordsB + wordsC;

  std::minstd_rand random(11);
  std::normal_distribution<double> normal;
  auto valueOf = [](uint32_t bits, DType dtype) -> int64_t { // all of its values
    return dtype == DType::I8   ? int8_t(bits >> 8)
           : dtype == DType::U8 ? uint8_t(bits >> 8)
                                : int32_t(bits << 1);
  };
  auto matrix = [&](int rows, int columns, DType dtype) {
    std::vector<std::vector<double>> out(rows, std::vector<double>(columns));
    for (auto &row : out)
      for (double &v : row)
        v = isFloat(dtype) ? toDouble(fromDouble(normal(random), dtype), dtype) + 0.0 // no -0
                           : double(valueOf(random(), dtype));
    return out;
  };
  const auto a = matrix(p.m, p.k, p.dtype), b = matrix(p.k, p.n, p.dtype), c = matrix(p.m, p.n, p.sum);
  std::vector<uint32_t> words(p.lanes * wordsOfLane);
  for (int lane = 0; lane < p.lanes; ++lane) {
    auto *at = reinterpret_cast<char *>(words.data() + lane * wordsOfLane);
    auto put = [&](const auto &from, At (*position)(int, int), int count, DType dtype) {
      for (int i = 0; i < count; ++i) {
        const auto [row, column] = position(i, lane);
        const double value = from[row][column];
        storeBits(at, dtype, isFloat(dtype) ? fromDouble(value, dtype) : uint64_t(int64_t(value)));
        at += info(dtype).storageBytes;
      }
    };
    put(a, p.atA, countA, p.dtype);
    put(b, p.atB, countB, p.dtype);
    put(c, p.atC, countC, p.sum);
  }

  std::string body = "%per = llvm.mlir.constant(" + std::to_string(wordsOfLane) +
                     " : i32) : i32\n%first = llvm.mul %lane, %per : i32\n"
                     "%own = llvm.getelementptr %x[%first] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32\n";
  auto address = [&](const std::string &name, int word) {
    body += "%p" + name + " = llvm.getelementptr %own[" + std::to_string(word) +
            "] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32\n";
  };
  auto load = [&](const char *letter, Values values, int word, int count) {
    for (int i = 0; i < values.count; ++i) {
      const std::string name = letter + std::to_string(i);
      address(name, word + i * count / values.count);
      body += "%" + name + " = llvm.load %p" + name + " {alignment = 4 : i64} : !llvm.ptr<1> -> " +
              values.type + "\n";
    }
  };
  load("a", p.a, 0, wordsA);
  load("b", p.b, wordsA, wordsB);
  load("c", p.c, wordsA + wordsB, wordsC);
  body += std::string(p.operation) + "\n";
  for (int i = 0; i < p.c.count; ++i) {
    const std::string value = p.c.count == 1 ? "d" : "d" + std::to_string(i);
    if (p.c.count > 1)
      body += "%" + value + " = llvm.extractvalue %d[" + std::to_string(i) + "] : " + p.result + "\n";
    body += "llvm.store %" + value + ", %pc" + std::to_string(i) + " {alignment = 4 : i64} : " + p.c.type +
            ", !llvm.ptr<1>\n";
  }
  words = run(p.backend, p.lanes, body, words);
  ASSERT_EQ(words.size(), size_t(p.lanes * wordsOfLane));

  for (int lane = 0; lane < p.lanes; ++lane)
    for (int i = 0; i < countC; ++i) {
      const auto [row, column] = p.atC(i, lane);
      double sum = c[row][column], magnitude = std::abs(sum);
      for (int k = 0; k < p.k; ++k) {
        const double product = p.scale * a[row][k] * p.scale * b[k][column];
        sum += product, magnitude += std::abs(product);
      }
      const char *at = reinterpret_cast<const char *>(&words[lane * wordsOfLane + wordsA + wordsB]) +
                       i * info(p.sum).storageBytes;
      const uint64_t bits = loadBits(at, p.sum);
      if (p.sum == DType::I32) // wraps
        EXPECT_EQ(uint32_t(bits), uint32_t(int64_t(sum))) << row << ", " << column;
      else
        EXPECT_NEAR(toDouble(bits, p.sum), sum, magnitude * (p.sum == DType::F64 ? 0x1p-50 : 0x1p-24))
            << row << ", " << column;
    }
}

INSTANTIATE_TEST_SUITE_P(Instructions, Products, testing::ValuesIn(kProducts),
                         [](const auto &info) { return std::string(info.param.name); });

/// AMD CDNA 3 ISA, FNUZ: the bits of -0 are the only NaN, and those of OCP's NaNs are +-240.
TEST(Mfma, OfFnuzHasOneNan) {
  auto product = [](uint64_t bits) {
    const std::string body = R"(
%z = llvm.mlir.constant(0 : i32) : i32
%one = llvm.mlir.constant(4629771061636907072 : i64) : i64
%a = llvm.mlir.constant()" + std::to_string(bits) +
                             R"( : i64) : i64
%c = llvm.mlir.constant(dense<0.0> : vector<4xf32>) : vector<4xf32>
%d = rocdl.mfma.f32.16x16x32.fp8.fp8 %a, %one, %c, %z, %z, %z : (i64, i64, vector<4xf32>, i32, i32, i32) -> vector<4xf32>
%first = llvm.extractelement %d[%z : i32] : vector<4xf32>
%own = llvm.getelementptr %x[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
llvm.store %first, %own {alignment = 4 : i64} : f32, !llvm.ptr<1>
)"; // 0x40 is 1
    return std::bit_cast<float>(run("rocm:emulated:gfx942", 64, body, std::vector<uint32_t>(64))[0]);
  };
  EXPECT_TRUE(std::isnan(product(0x80)));
  EXPECT_EQ(product(0x00), 0);
  EXPECT_EQ(product(0x7f), 4 * 240); // in each of the four groups of lanes
  EXPECT_EQ(product(0xff), -4 * 240);
  EXPECT_EQ(product(0x01), 4 * 0x1p-10);
}

/// Lanes 16 to 31 of a wave hold the elements of lanes 0 to 15.
TEST(Wmma, HalvesThatDifferAreFound) {
  const std::string body = R"(
%c15 = llvm.mlir.constant(15 : i32) : i32
%zero = llvm.mlir.constant(dense<0> : vector<16xi16>) : vector<16xi16>
%sums = llvm.mlir.constant(dense<0.0> : vector<8xf32>) : vector<8xf32>
%own = llvm.trunc %lane : i32 to i16
%a = llvm.insertelement %own, %zero[%c15 : i32] : vector<16xi16>
%d = rocdl.wmma.f32.16x16x16.bf16 %a, %zero, %sums : (vector<16xi16>, vector<16xi16>, vector<8xf32>) -> vector<8xf32>
)";
  std::string found;
  run("rocm:emulated:gfx1100", 32, body, {0}, &found);
  EXPECT_NE(found.find("[E_EMU_OPERANDS] "), std::string::npos) << found;
}

/// PTX ISA, "ldmatrix": threads 8 i to 8 i + 7 give the addresses of the rows of matrix i; thread T gets the
/// elements 2 (T % 4) and 2 (T % 4) + 1 of row T / 4 of each matrix, or of its transpose.
TEST(LoadMatrix, EqualsTheDefinition) {
  constexpr int kLanes = 32;
  for (const auto [count, isTransposed] :
       {std::pair(1, false), {2, false}, {4, false}, {1, true}, {2, true}, {4, true}}) {
    // Each lane stores a row of eight elements to shared memory, and names the row of another lane.
    std::vector<uint32_t> words(kLanes * 4);
    for (size_t i = 0; i < words.size(); ++i)
      words[i] = uint32_t(2 * i) | uint32_t(2 * i + 1) << 16;
    auto namedBy = [](int lane) { return lane * 5 % kLanes; };
    std::string body = R"(
%c2 = llvm.mlir.constant(2 : i32) : i32
%c4 = llvm.mlir.constant(4 : i32) : i32
%c5 = llvm.mlir.constant(5 : i32) : i32
%c31 = llvm.mlir.constant(31 : i32) : i32
%word = llvm.shl %lane, %c2 : i32
%own = llvm.getelementptr %x[%word] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
%row = llvm.load %own : !llvm.ptr<1> -> vector<4xi32>
%to = llvm.getelementptr %s[%word] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
llvm.store %row, %to : vector<4xi32>, !llvm.ptr<3>
nvvm.barrier
%times = llvm.mul %lane, %c5 : i32
%other = llvm.and %times, %c31 : i32
%offset = llvm.shl %other, %c4 : i32
%from = llvm.getelementptr %s[%offset] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
)";
    const std::string type = count == 1   ? "i32"
                             : count == 2 ? "!llvm.struct<(i32, i32)>"
                                          : "!llvm.struct<(i32, i32, i32, i32)>";
    body +=
        "%d = nvvm.ldmatrix %from {num = " + std::to_string(count) + " : i32, layout = #nvvm.mma_layout<" +
        (isTransposed ? "col" : "row") +
        ">, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : "
        "(!llvm.ptr<3>) -> " +
        type + "\n";
    for (int i = 0; i < count; ++i) {
      const std::string n = std::to_string(i);
      if (count > 1) body += "%d" + n + " = llvm.extractvalue %d[" + n + "] : " + type + "\n";
      body += "%p" + n + " = llvm.getelementptr %own[" + n + "] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32\n" +
              "llvm.store %d" + (count > 1 ? n : "") + ", %p" + n + " : i32, !llvm.ptr<1>\n";
    }
    words = run("ptx:emulated:sm_80", kLanes, body, words);
    ASSERT_EQ(words.size(), size_t(kLanes * 4));
    for (int lane = 0; lane < kLanes; ++lane)
      for (int matrix = 0; matrix < count; ++matrix)
        for (int half = 0; half < 2; ++half) {
          int row = lane / 4, column = 2 * (lane % 4) + half;
          if (isTransposed) std::swap(row, column);
          const int expected = namedBy(8 * matrix + row) * 8 + column;
          EXPECT_EQ(words[lane * 4 + matrix] >> (16 * half) & 0xffff, uint32_t(expected))
              << count << isTransposed << ": " << lane << ", " << matrix << ", " << half;
        }
  }
}

/// Inside of the matrix, past its ends and before its beginning; and matrices that the device refuses.
TEST(BlockReads, EqualTheDefinition) {
  constexpr int kLanes = 16;
  for (const Block &block : kBlocks)
    for (const Surface &m : kSurfaces) {
      std::minstd_rand random(5);
      const int bytes = m.offset + m.pitch * m.height, wordsOfLane = 8 * block.wordBits / 32;
      std::vector<uint32_t> words(bytes / 4 + kLanes * wordsOfLane);
      for (uint32_t &word : words)
        word = uint32_t(random()) * 2654435761u;
      auto constant = [](const char *name, int value, const char *type = "i32") {
        return std::string("%") + name + " = llvm.mlir.constant(" + std::to_string(value) + " : " + type +
               ") : " + type + "\n";
      };
      const std::string result = "vector<8xi" + std::to_string(block.wordBits) + ">";
      const std::string body =
          constant("zero", 0) + constant("one", 1) + constant("offset", m.offset, "i64") +
          constant("w", m.width - 1) + constant("h", m.height - 1) + constant("p", m.pitch - 1) +
          constant("column", m.column) + constant("row", m.row) + constant("per", wordsOfLane) +
          constant("results", bytes / 4) + "%first = llvm.ptrtoint %x : !llvm.ptr<1> to i64\n" +
          "%address = llvm.add %first, %offset : i64\n%none = llvm.mlir.undef : vector<2xi32>\n" +
          "%half = llvm.insertelement %column, %none[%zero : i32] : vector<2xi32>\n" +
          (m.isDivergent ? "%y = llvm.add %row, %lane : i32\n" : "%y = llvm.add %row, %zero : i32\n") +
          "%at = llvm.insertelement %y, %half[%one : i32] : vector<2xi32>\n" +
          "%d = llvm.call spir_funccc @__builtin_IB_subgroup_block_read_flat_" + block.name +
          "(%address, %w, %h, %p, %at) : (i64, i32, i32, i32, vector<2xi32>) -> " + result + "\n" +
          "%mine = llvm.mul %lane, %per : i32\n%to = llvm.add %mine, %results : i32\n" +
          "%own = llvm.getelementptr %x[%to] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32\n" +
          "llvm.store %d, %own {alignment = 4 : i64} : " + result + ", !llvm.ptr<1>\n";
      const std::string what = std::string(block.name) + " of " + std::to_string(m.width) + " x " +
                               std::to_string(m.height) + " at " + std::to_string(m.column) + ", " +
                               std::to_string(m.row);
      std::string found;
      const std::vector<uint32_t> after = run("levelzero:emulated:pvc", kLanes, body, words, &found);
      if (*m.code) {
        EXPECT_NE(found.find("[" + std::string(m.code) + "] "), std::string::npos) << what << ": " << found;
        continue;
      }
      ASSERT_EQ(found, "") << what;
      const auto *matrix = reinterpret_cast<const char *>(words.data()) + m.offset;
      for (int lane = 0; lane < kLanes; ++lane)
        for (int i = 0; i < block.elements; ++i) {
          const At at = block.at(i, lane);
          const int row = m.row + at.row, column = m.column + at.column;
          uint32_t expected = 0, got = 0;
          if (row >= 0 && row < m.height && column >= 0 && column * block.elementBytes < m.width)
            std::memcpy(&expected, matrix + row * m.pitch + column * block.elementBytes, block.elementBytes);
          std::memcpy(&got,
                      reinterpret_cast<const char *>(&after[bytes / 4 + lane * wordsOfLane]) +
                          i * block.elementBytes,
                      block.elementBytes);
          ASSERT_EQ(got, expected) << what << ": lane " << lane << ", element " << i;
        }
    }
}

} // namespace
} // namespace tessera::emulation
