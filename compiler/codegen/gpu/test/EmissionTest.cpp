// Thread programs to PTX, HSACO and SPIR-V: the .mlir files beside this, for every target. What the vendors'
// own tools say of the results is asked where the tools are there.
#include "compiler/codegen/gpu/ConvertToLlvm.h"
#include "compiler/target/IR/TargetDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "plugins/levelzero/codegen/ExpandIntrinsics.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace mlir;

namespace tessera {
namespace {

enum class Form { Assembly, Object };

/// One target's code of a program; or why there is none.
struct Code {
  std::string bytes, why;
  bool ok = false;
};

Code compile(const std::string &program, const gpu::GpuTarget &target, Form form) {
  DialectRegistry registry;
  registry.insert<mlir::gpu::GPUDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect,
                  vector::VectorDialect, LLVM::LLVMDialect, target::TargetDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  Code code;
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    code.why += d.str() + "\n";
    return success();
  });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(program, &context);
  if (!module) return code;
  PassManager passes(&context);
  gpu::addLlvmPasses(passes, target);
  if (failed(passes.run(*module))) return code;
  OwningOpRef<ModuleOp> image = ModuleOp::create(UnknownLoc::get(&context));
  OpBuilder b = OpBuilder::atBlockEnd(image->getBody());
  module->walk([&](target::ModuleOp m) {
    for (Operation &op : m.getBody().front())
      if (!isa<target::KernelInfoOp>(op)) b.clone(op);
  });
  const gpu::Vendor &vendor = target.vendor();
  Expected<std::string> made = form == Form::Assembly
                                   ? vendor.emitAssembly(*image, target.architecture())
                                   : vendor.emitObject(std::move(image), target.architecture());
  code.ok = bool(made);
  (made ? code.bytes : code.why) = made ? *made : made.error().message;
  return code;
}

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

/// The text of NAME.mlir; its "device" is the target's scope of that meaning.
std::string read(const std::string &name, const gpu::GpuTarget &target) {
  std::ifstream file(std::string(TESSERA_GPU_PROGRAMS) + "/" + name + ".mlir");
  return replaced({std::istreambuf_iterator<char>(file), {}}, "\"device\"",
                  "\"" + std::string(target.architecture().deviceSync) + "\"");
}

const gpu::GpuTarget &named(const std::string &name) {
  auto target = gpu::findGpuTarget(name);
  EXPECT_TRUE(bool(target)) << target.error().message;
  return **target;
}

std::string assembly(const std::string &program, const std::string &target) {
  Code code = compile(read(program, named(target)), named(target), Form::Assembly);
  EXPECT_TRUE(code.ok) << code.why;
  return code.bytes;
}

bool isThere(const std::string &tool) {
  return std::system(("command -v " + tool + " >/dev/null").c_str()) == 0;
}

/// What the vendor's own tool is called with; %f is the file, %d an empty folder, %a the architecture. SPIR-V
/// is held against the general rules: those of OpenCL's profiles leave out extensions every device here has
/// (16-bit floats, 64-bit atomics).
struct Checker {
  const char *kind, *tool, *command;
};
constexpr Checker kCheckers[] = {
    {"ptx", "ptxas", "ptxas -arch=%a -o %d/out %f"},
    {"rocm", "/usr/lib/llvm-22/bin/llvm-readelf",
     "/usr/lib/llvm-22/bin/llvm-readelf -h --notes %f >/dev/null"},
    {"levelzero", "spirv-val", "spirv-val --target-env spv1.2 %f"},
    {"levelzero", "ocloc",
     "cd %d && ocloc compile -q -spirv_input -device %a -file %f -output_no_suffix -output out"},
};

using ProgramAndTarget = std::tuple<const char *, const char *>;
class EveryTarget : public testing::TestWithParam<ProgramAndTarget> {};

/// LLVM 22 keeps ids of one SPIR-V module for the next: often wrong before the tenth.
TEST(LevelZero, ModulesOfOneProcessAreTheSame) {
  const gpu::GpuTarget &target = named("levelzero:pvc");
  const std::string program = read("storage", target);
  const Code first = compile(program, target, Form::Object);
  for (int i = 0; i < 30; ++i) {
    Code next = compile(program, target, Form::Object);
    ASSERT_TRUE(next.ok) << next.why;
    ASSERT_EQ(next.bytes, first.bytes) << i;
  }
}

/// Of constants, so that what replaces the intrinsic folds to its value.
TEST(LevelZero, BitReversalsAreExpanded) {
  llvm::LLVMContext context;
  for (unsigned width = 1; width <= 64; ++width) {
    llvm::Module module("bits", context);
    llvm::Type *type = llvm::IntegerType::get(context, width);
    const llvm::APInt bits(64, 0x9e3779b97f4a7c15);
    auto *function = llvm::Function::Create(llvm::FunctionType::get(type, false),
                                            llvm::GlobalValue::ExternalLinkage, "f", module);
    llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "", function));
    llvm::Function *reverse =
        llvm::Intrinsic::getOrInsertDeclaration(&module, llvm::Intrinsic::bitreverse, {type});
    auto *end = b.CreateRet(b.CreateCall(reverse, {llvm::ConstantInt::get(type, bits.trunc(width))}));
    levelzero::expandIntrinsics(module);
    EXPECT_TRUE(reverse->use_empty());
    auto *value = llvm::dyn_cast<llvm::ConstantInt>(end->getReturnValue());
    ASSERT_NE(value, nullptr) << width;
    EXPECT_EQ(value->getValue(), bits.trunc(width).reverseBits()) << width;
  }
}

TEST_P(EveryTarget, TakesTheProgram) {
  auto [program, name] = GetParam();
  const gpu::GpuTarget &target = named(name);
  Code code = compile(read(program, target), target, Form::Object);
  ASSERT_TRUE(code.ok) << code.why;
  Code again = compile(read(program, target), target, Form::Object);
  EXPECT_EQ(code.bytes, again.bytes) << "two compilations differ";
  if (target.vendor().name() == "ptx")
    EXPECT_NE(code.bytes.find(".target " + std::string(target.architecture().name)), std::string::npos);
  if (target.vendor().name() == "rocm")
    EXPECT_EQ(code.bytes.substr(0, 4), "\x7f"
                                       "ELF");
  if (target.vendor().name() == "levelzero")
    EXPECT_EQ(code.bytes.substr(0, 8), std::string("\x03\x02\x23\x07\x00\x02\x01\x00", 8));

  std::filesystem::path folder = std::filesystem::path(testing::TempDir()) /
                                 (std::string("tessera-") + program + "-" + target.vendor().name().str() +
                                  "-" + std::string(target.architecture().name));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "code", std::ios::binary) << code.bytes;
  for (const Checker &checker : kCheckers) {
    if (target.vendor().name() != checker.kind) continue;
    if (!isThere(checker.tool)) {
      std::printf("%s is not here: not asked\n", checker.tool);
      continue;
    }
    std::string command = replaced(checker.command, "%f", folder / "code");
    command = replaced(replaced(command, "%d", folder), "%a", std::string(target.architecture().name));
    EXPECT_EQ(std::system(("(" + command + ") >&2").c_str()), 0) << command;
  }
  if (!HasFailure()) std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Gpu, EveryTarget,
                         testing::Combine(testing::Values("elementwise", "reduction", "product", "storage",
                                                          "atomics", "transpose"),
                                          testing::Values("ptx:sm_80", "ptx:sm_90", "rocm:gfx90a",
                                                          "rocm:gfx1100", "levelzero:pvc")),
                         [](const auto &info) {
                           std::string name =
                               std::string(std::get<0>(info.param)) + "_" + std::get<1>(info.param);
                           std::replace(name.begin(), name.end(), ':', '_');
                           return name;
                         });

TEST(Ptx, ArithmeticIsNotContracted) {
  std::string text = assembly("reduction", "ptx:sm_90");
  EXPECT_NE(text.find("mul.rn.f32"), std::string::npos) << text;
  EXPECT_NE(text.find("add.rn.f32"), std::string::npos) << text;
  EXPECT_EQ(text.find("fma"), std::string::npos) << text;
}

TEST(Ptx, DivisionAndRootAreCorrectlyRounded) {
  std::string text = assembly("elementwise", "ptx:sm_80");
  EXPECT_NE(text.find("div.rn.f32"), std::string::npos) << text;
  EXPECT_NE(text.find("sqrt.rn.f32"), std::string::npos) << text;
  EXPECT_EQ(text.find(".ftz"), std::string::npos) << text;
}

TEST(Ptx, KernelsSayTheirBlockAndUseGlobalMemory) {
  std::string text = assembly("elementwise", "ptx:sm_90");
  EXPECT_NE(text.find(".visible .entry elementwise("), std::string::npos) << text;
  EXPECT_NE(text.find(".reqntid 256"), std::string::npos) << text;
  EXPECT_NE(text.find("ld.global.nc"), std::string::npos) << "a read-only tensor's load";
}

TEST(Ptx, MuchSharedMemoryIsSizedAtLaunch) {
  std::string text = assembly("product", "ptx:sm_90");
  EXPECT_NE(text.find(".extern .shared .align 16 .b8 dynamic_shared[]"), std::string::npos) << text;
  EXPECT_NE(text.find("ld.shared.v4"), std::string::npos) << text;
  EXPECT_EQ(assembly("reduction", "ptx:sm_90").find(".extern"), std::string::npos)
      << "1024 bytes are declared";
}

TEST(Rocm, TheKernelDescriptorSaysBlockAndSharedMemory) {
  std::string text = assembly("reduction", "rocm:gfx90a");
  EXPECT_NE(text.find(".amdhsa_code_object_version 5"), std::string::npos);
  EXPECT_NE(text.find(".amdhsa_group_segment_fixed_size 1024"), std::string::npos);
  EXPECT_NE(text.find(".max_flat_workgroup_size: 256"), std::string::npos);
  EXPECT_NE(text.find("s_barrier"), std::string::npos);
  EXPECT_NE(text.find("global_load"), std::string::npos) << "flat loads mean that the address space is lost";
}

TEST(Rocm, ArithmeticIsNotContractedAndKeepsDenormals) {
  std::string text = assembly("reduction", "rocm:gfx1100");
  EXPECT_EQ(text.find("v_fma"), std::string::npos) << text;
  EXPECT_EQ(text.find("v_mac"), std::string::npos) << text;
  EXPECT_NE(text.find(".amdhsa_float_denorm_mode_32 3"), std::string::npos) << text;
}

TEST(LevelZero, TheEntryPointSaysItsBlockAndForbidsContraction) {
  std::string text = assembly("reduction", "levelzero:pvc");
  EXPECT_NE(text.find("LocalSize 256 1 1"), std::string::npos) << text;
  EXPECT_NE(text.find("ContractionOff"), std::string::npos) << text;
  EXPECT_NE(text.find("SubgroupSize"), std::string::npos) << text;
}

TEST(Emission, AFunctionThatExistsNowhereIsNamed) {
  std::string program = R"(gpu.module @image {
    llvm.func @expf(f32) -> f32
    gpu.func @k(%p: !llvm.ptr<1>, %x: f32) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
      %0 = llvm.call @expf(%x) : (f32) -> f32
      llvm.store %0, %p : f32, !llvm.ptr<1>
      gpu.return
    } })";
  for (const gpu::GpuTarget *known : gpu::gpuTargets()) {
    const gpu::GpuTarget &target = *known;
    Code code = compile(program, target, Form::Object);
    EXPECT_FALSE(code.ok) << target.name();
    EXPECT_NE(code.why.find("'expf'"), std::string::npos) << target.name() << ": " << code.why;
  }
}

TEST(LevelZero, AtomicsWithoutAnInstructionAreRefusedByName) {
  auto program = [](const std::string &operation, const std::string &type) {
    return "gpu.module @image { gpu.func @k(%p: !llvm.ptr<1>, %v: " + type +
           ") kernel attributes {known_block_size = array<i32: 32, 1, 1>} { " + operation +
           " : !llvm.ptr<1>, " + type + " gpu.return } }";
  };
  const std::tuple<const char *, const char *, const char *> cases[] = {
      {"%0 = llvm.atomicrmw fadd %p, %v monotonic", "f32", "atomic fadd of 'f32'"},
      {"%0 = llvm.atomicrmw fmaximum %p, %v monotonic", "f64", "atomic fmaximum of 'f64'"},
      {"%0 = llvm.atomicrmw add %p, %v monotonic", "i8", "atomic add of 'i8'"},
      {"%0 = llvm.cmpxchg %p, %v, %v monotonic monotonic", "i16", "atomic compare-and-swap of 'i16'"}};
  for (auto [operation, type, message] : cases) {
    Code code = compile(program(operation, type), named("levelzero:pvc"), Form::Object);
    EXPECT_FALSE(code.ok);
    EXPECT_NE(
        code.why.find(std::string("TSR_UNIMPLEMENTED: ") + message + " is not built for backend levelzero"),
        std::string::npos)
        << code.why;
    for (const char *other : {"ptx:sm_80", "rocm:gfx90a"}) {
      Code fine = compile(program(operation, type), named(other), Form::Object);
      EXPECT_TRUE(fine.ok) << other << ": " << fine.why;
    }
  }
}

TEST(Conversion, RefusesWhatHasNoBlockSize) {
  Code code =
      compile("gpu.module @image { gpu.func @k() kernel { gpu.return } }", named("ptx:sm_90"), Form::Object);
  EXPECT_FALSE(code.ok);
  EXPECT_NE(code.why.find("has no known_block_size"), std::string::npos) << code.why;
}

TEST(Conversion, RefusesMemoryAttributions) {
  Code code = compile("gpu.module @image { gpu.func @k() workgroup(%m: memref<4xf32, 3>) kernel attributes "
                      "{known_block_size = array<i32: 32, 1, 1>} { gpu.return } }",
                      named("rocm:gfx90a"), Form::Object);
  EXPECT_FALSE(code.ok);
  EXPECT_NE(code.why.find("has memory attributions"), std::string::npos) << code.why;
}

} // namespace
} // namespace tessera
