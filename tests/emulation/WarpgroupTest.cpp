// Products of warpgroups (wgmma) against the definition of a product, and with planted faults. The matrices
// are put into shared memory element by element, at the places that the layouts of PTX ISA 8.7, 9.7.15.5
// "Asynchronous Warpgroup Level Matrix Multiply-Accumulate" give them.
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "numerics/Casts.h"
#include "tests/emulation/Emulate.h"
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;

namespace tessera::emulation {
namespace {

constexpr int kLanes = 128, kHalf = 32 << 10; // bytes of shared memory for each operand

/// One product C (64 x n) = A * B, with 32 bytes of elements along k, or C += A * B, where C was 1. A row in
/// memory has `span` bytes of the swizzle.
struct Shape {
  int n, span;
  bool isAlongK[2]; // A, B
  DType dtype;
  bool adds = false;
  bool isHeld = false; // A is in registers
  int bytes() const { return info(dtype).storageBytes; }
  int depth() const { return 32 / bytes(); }
};

/// As PTX spells it.
std::string nameOf(DType dtype) {
  return dtype == DType::F8E4M3 ? "e4m3" : dtype == DType::F8E5M2 ? "e5m2" : name(dtype);
}

/// In spans of 128, 64 and 32 bytes, 16-byte units change places with those whose number differs by that of
/// the line of 128 bytes, modulo 8, 4 and 2.
int swizzled(int byte, int span) { return byte ^ (byte / 128 % (span / 16)) << 4; }

/// The byte of an operand's element: rows of `span` bytes, eight of them in a group, and further parts of
/// long rows `panel` bytes on.
int byteOf(bool isAlongK, int bytes, int span, int panel, int mn, int k) {
  const int row = isAlongK ? mn : k, column = (isAlongK ? k : mn) * bytes;
  return column / span * panel + swizzled(row * span + column % span, span);
}

uint64_t descriptorOf(int start, int leading, int stride, int span) {
  const uint64_t mode = span == 128 ? 1 : span == 64 ? 2 : 3;
  return uint64_t(start) >> 4 | uint64_t(leading >> 4) << 16 | uint64_t(stride >> 4) << 32 | mode << 62;
}

/// The text of wgmma that takes A from four words of each lane.
std::string heldProduct(const Shape &s, int perLane, const std::string &type) {
  std::string body = "%four = llvm.mlir.constant(4 : i32) : i32\n%fa = llvm.mul %t, %four : i32\n%fx = "
                     "llvm.getelementptr %x[%fa] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32\n";
  std::string sums, words, inputs, types, outputs, tied;
  for (int i = 0; i < perLane; ++i) {
    const std::string n = std::to_string(i);
    body += "%y" + n + " = llvm.extractvalue %z" + std::to_string(perLane) + "[" + n + "] : " + type + "\n";
    sums += (i ? ", $" : "$") + n, inputs += "%y" + n + ", ", types += "f32, ";
    outputs += "=f,", tied += n + ",";
  }
  for (int i = 0; i < 4; ++i) {
    const std::string n = std::to_string(i);
    body += "%fp" + n + " = llvm.getelementptr %fx[" + n + "] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32\n%fw" +
            n + " = llvm.load %fp" + n + " : !llvm.ptr<1> -> i32\n";
    words += (i ? ", $" : "$") + std::to_string(2 * perLane + i), inputs += "%fw" + n + ", ",
        types += "i32, ";
  }
  const std::string name = nameOf(s.dtype);
  return body + "%d = llvm.inline_asm has_side_effects \"{\\0A.reg .pred p;\\0Asetp.ne.b32 p, " +
         std::to_string(int(s.adds)) + ", 0;\\0Awgmma.mma_async.sync.aligned.m64n" + std::to_string(s.n) +
         "k16.f32." + name + "." + name + " {" + sums + "}, {" + words + "}, $" +
         std::to_string(2 * perLane + 4) + ", p, 1, 1, " + (s.isAlongK[1] ? "0" : "1") + ";\\0A}\\0A\", \"" +
         outputs + tied + "r,r,r,r,l\" " + inputs + "%b : (" + types + "i64) -> " + type + "\n";
}

/// Faults of the program around the product.
enum class Fault { None, ProxyFence, Fence, Commit, Wait, Overwrite, Descriptor, Bounds };

struct Outcome {
  std::vector<float> sums; // by lane
  std::string error;
};

/// Runs one warpgroup: it copies `operands` into shared memory and multiplies.
Outcome run(const Shape &s, const std::vector<char> &operands, uint64_t a, uint64_t b, Fault fault) {
  const int perLane = s.n / 2;
  std::string type = "!llvm.struct<(f32", zero;
  for (int i = 1; i < perLane; ++i)
    type += ", f32";
  type += ")>";
  const std::string name = nameOf(s.dtype);
  auto constant = [](const std::string &n, int64_t value, const char *t) {
    return "%" + n + " = llvm.mlir.constant(" + std::to_string(value) + " : " + t + ") : " + t + "\n";
  };
  auto layout = [](bool isRow) { return std::string(isRow ? "<row>" : "<col>"); };
  std::string body = "%t = nvvm.read.ptx.sreg.tid.x : i32\n%s = llvm.mlir.addressof @shared : !llvm.ptr<3>\n";
  body += constant("words", 2 * kHalf / 4 / kLanes, "i32") + constant("one", 1, "i32") +
          constant("zero", 0, "i32") + constant("lanes", kLanes, "i32") + constant("a0", int64_t(a), "i64") +
          constant("b", int64_t(b), "i64");
  body += fault == Fault::Descriptor
              ? "%tl = llvm.zext %t : i32 to i64\n%a = llvm.add %a0, %tl : i64\n"
              : "%none = llvm.mlir.constant(0 : i64) : i64\n%a = llvm.add %a0, %none : i64\n";
  body += "llvm.br ^copy(%zero : i32)\n^copy(%i: i32):\n%row = llvm.mul %i, %lanes : i32\n%w = llvm.add "
          "%row, %t : i32\n"
          "%from = llvm.getelementptr %x[%w] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32\n"
          "%to = llvm.getelementptr %s[%w] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32\n"
          "%v = llvm.load %from : !llvm.ptr<1> -> i32\nllvm.store %v, %to : i32, !llvm.ptr<3>\n"
          "%next = llvm.add %i, %one : i32\n%more = llvm.icmp \"ult\" %next, %words : i32\n"
          "llvm.cond_br %more, ^copy(%next : i32), ^multiply\n^multiply:\n";
  if (fault != Fault::ProxyFence)
    body += "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}\n";
  body += "nvvm.barrier\n%z0 = llvm.mlir.undef : " + type + "\n%init = llvm.mlir.constant(1.0 : f32) : f32\n";
  for (int i = 0; i < perLane; ++i)
    body += "%z" + std::to_string(i + 1) + " = llvm.insertvalue %init, %z" + std::to_string(i) + "[" +
            std::to_string(i) + "] : " + type + "\n";
  if (fault != Fault::Fence) body += "nvvm.wgmma.fence.aligned\n";
  if (s.isHeld)
    body += heldProduct(s, perLane, type);
  else
    body += "%d = nvvm.wgmma.mma_async %a, %b, %z" + std::to_string(perLane) +
            ", <m = 64, n = " + std::to_string(s.n) + ", k = " + std::to_string(s.depth()) + ">, D[<f32>, <" +
            (s.adds ? "one" : "zero") + ">], A[<" + name + ">, <one>, " + layout(s.isAlongK[0]) + "], B[<" +
            name + ">, <one>, " + layout(!s.isAlongK[1]) + "] : " + type + " -> " + type + "\n";
  if (fault != Fault::Commit) body += "nvvm.wgmma.commit.group.sync.aligned\n";
  if (fault == Fault::Overwrite) body += "llvm.store %zero, %s : i32, !llvm.ptr<3>\n";
  if (fault != Fault::Wait) body += "nvvm.wgmma.wait.group.sync.aligned 0\n";
  body += constant("per", perLane, "i32") +
          "%first = llvm.mul %t, %per : i32\n"
          "%out = llvm.getelementptr %x[%first] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32\n";
  for (int i = 0; i < perLane; ++i) {
    const std::string n = std::to_string(i);
    body += "%e" + n + " = llvm.extractvalue %d[" + n + "] : " + type + "\n%p" + n +
            " = llvm.getelementptr %out[" + std::to_string(i + 2 * kHalf / 4) +
            "] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32\nllvm.store %e" + n + ", %p" + n +
            " : f32, !llvm.ptr<1>\n";
  }
  const std::string program =
      "target.module @image attributes {cpu = \"sm_90a\", triple = \"nvptx64-nvidia-cuda\"} {\n"
      "llvm.mlir.global internal @shared() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<" +
      std::to_string(2 * kHalf) + " x i8>\nllvm.func @tsr_kernel_k(%x: !llvm.ptr<1>, %n: i64) {\n" + body +
      "llvm.return\n}\ntarget.kernel_info \"k\" entry @tsr_kernel_k metadata \"name: k\\0Atarget: "
      "ptx:sm_90a\\0Anumerics: "
      "standard\\0Aparams:\\0A  - {name: x, kind: tensor, dtype: f32, dims: [n], access: readwrite}\\0A  - "
      "{name: n, kind: "
      "dim}\\0Aresources: {smem_per_cta: " +
      std::to_string(2 * kHalf) +
      ", scratch_bytes: 0, vector_bytes: 0}\\0Alaunch:\\0A  axes: [\\\"1\\\"]\\0A  block: [" +
      std::to_string(kLanes) + ", 1, 1]\\0A\"\n}";
  DialectRegistry registry;
  registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect, target::TargetDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(program, &context);
  Outcome outcome;
  if (!module) return outcome.error = "not parsed", outcome;
  const std::string target = "ptx:emulated:sm_90a+check", bundle = bundleOf(*module, target, outcome.error);
  if (!outcome.error.empty()) return outcome;
  Device device(target);
  std::vector<uint8_t> memory(2 * kHalf + size_t(kLanes) * perLane * 4);
  std::memcpy(memory.data(), operands.data(), operands.size());
  void *x = nullptr;
  EXPECT_EQ(tsrAlloc(device.handle, memory.size(), TSR_MEM_DEVICE, &x), TSR_SUCCESS);
  EXPECT_EQ(tsrMemcpyH2D(device.handle, x, memory.data(), memory.size()), TSR_SUCCESS);
  outcome.error = launch(device, bundle, {reinterpret_cast<uint64_t>(x), memory.size() / 4});
  EXPECT_EQ(tsrMemcpyD2H(device.handle, memory.data(), x, memory.size()), TSR_SUCCESS);
  EXPECT_EQ(tsrFree(device.handle, x), TSR_SUCCESS);
  outcome.sums.resize(size_t(kLanes) * perLane);
  std::memcpy(outcome.sums.data(), memory.data() + 2 * kHalf, outcome.sums.size() * 4);
  return outcome;
}

/// Random matrices in the layout of the shape; compares the sums with the definition.
std::string check(const Shape &s, Fault fault = Fault::None) {
  std::minstd_rand random(s.n + s.span);
  std::normal_distribution<double> normal;
  std::vector<std::vector<double>> factor[2];
  std::vector<char> memory(2 * kHalf);
  const int depth = s.depth(), bytes = s.bytes();
  uint64_t descriptors[2];
  for (int operand : {0, 1}) {
    const int extent = operand ? s.n : 64;
    // A row along mn is as long as the operand, one along k has `depth` elements.
    const int row = extent * bytes, span = s.isAlongK[operand] ? s.span : std::min(s.span, row & -row);
    const int panel = (s.isAlongK[operand] ? extent : depth) * span;
    factor[operand].assign(size_t(extent), std::vector<double>(size_t(depth)));
    for (int mn = 0; mn < extent; ++mn)
      for (int k = 0; k < depth; ++k) {
        const auto bits = fromDouble(normal(random), s.dtype);
        factor[operand][size_t(mn)][size_t(k)] = toDouble(bits, s.dtype);
        // PTX ISA 8.7, figure "WGMMA .m64nNk16 register fragment layout for matrix A": words of two elements.
        const int lane = 32 * (mn / 16) + 4 * (mn % 8) + k % 8 / 2,
                  word = (mn % 16 < 8 ? 0 : 1) + (k < 8 ? 0 : 2);
        const int byte = s.isHeld && operand == 0
                             ? lane * 16 + word * 4 + k % 2 * 2
                             : operand * kHalf + byteOf(s.isAlongK[operand], bytes, span, panel, mn, k);
        storeBits(memory.data() + byte, s.dtype, bits);
      }
    descriptors[operand] = descriptorOf(operand * kHalf, panel, 8 * span, span);
  }
  if (fault == Fault::Bounds) descriptors[1] += (200 << 10) >> 4;
  const Outcome outcome = run(s, memory, descriptors[0], descriptors[1], fault);
  if (fault != Fault::None || !outcome.error.empty()) return outcome.error;
  for (int lane = 0; lane < kLanes; ++lane)
    for (int i = 0; i < s.n / 2; ++i) {
      // PTX ISA 8.7, figure "WGMMA .m64nNk16 register fragment layout for accumulator matrix D".
      const int row = 16 * (lane / 32) + (lane % 32 >> 2) + 8 * (i >> 1 & 1),
                column = 8 * (i >> 2) + 2 * (lane & 3) + (i & 1);
      double want = s.adds;
      for (int k = 0; k < depth; ++k)
        want += factor[0][size_t(row)][size_t(k)] * factor[1][size_t(column)][size_t(k)];
      if (outcome.sums[size_t(lane * (s.n / 2) + i)] != float(want))
        return "lane " + std::to_string(lane) + " sum " + std::to_string(i);
    }
  return "";
}

TEST(Warpgroup, EqualsTheDefinition) {
  int cases = 0;
  for (bool alongA : {true, false})
    for (bool alongB : {true, false})
      for (int span : {32, 64, 128})
        for (int n : {8, 64, 176, 256}) {
          if (!alongB && n * 2 < 32) continue;
          const Shape shape{n, span, {alongA, alongB}, cases % 2 ? DType::F16 : DType::BF16};
          EXPECT_EQ(check(shape), "") << n << " " << span << " " << alongA << alongB;
          ++cases;
        }
  EXPECT_GT(cases, 40);
  for (bool alongB : {true, false})
    for (bool adds : {false, true})
      for (DType dtype : {DType::BF16, DType::F16})
        EXPECT_EQ(check({96, 64, {true, alongB}, dtype, adds, /*isHeld=*/true}), "") << alongB << adds;
  // Elements of other sizes are stored along k.
  for (DType dtype : {DType::F8E4M3, DType::F8E5M2, DType::TF32})
    for (int span : {32, 64, 128})
      for (bool adds : {false, true})
        EXPECT_EQ(check({span + 40, span, {true, true}, dtype, adds}), "") << name(dtype) << span << adds;
}

TEST(Warpgroup, PlantedFaultsAreFound) {
  auto has = [&](Fault fault, const char *code, bool isHeld = false) {
    const std::string error = check({64, 128, {true, false}, DType::BF16, false, isHeld}, fault);
    EXPECT_NE(error.find(code), std::string::npos) << code << ": " << error;
  };
  has(Fault::ProxyFence, "[E_EMU_FENCE] ");
  has(Fault::Fence, "[E_EMU_FENCE] ");
  has(Fault::Commit, "[E_EMU_NOT_AWAITED] ");
  has(Fault::Wait, "[E_EMU_NOT_AWAITED] ");
  has(Fault::Overwrite, "[E_EMU_NOT_AWAITED] ");
  has(Fault::Descriptor, "[E_EMU_OPERANDS] ");
  has(Fault::Bounds, "[E_EMU_BOUNDS] ");
  has(Fault::Fence, "[E_EMU_FENCE] ", /*isHeld=*/true);
  has(Fault::Wait, "[E_EMU_NOT_AWAITED] ", /*isHeld=*/true);
  has(Fault::Bounds, "[E_EMU_BOUNDS] ", /*isHeld=*/true);
}

} // namespace
} // namespace tessera::emulation
