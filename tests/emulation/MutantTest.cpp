// The compiler's own kernels with one barrier removed: the checker finds each of those that separate
// accesses of different lanes.
#include "compiler/pipeline/Compilation.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "tests/emulation/Emulate.h"
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace mlir;

namespace tessera::emulation {
namespace {

bool isBarrier(Operation *op) {
  const StringRef name = op->getName().getStringRef();
  if (auto call = dyn_cast<LLVM::CallOp>(op)) return call.getCallee() == "_Z7barrierj";
  return name == "nvvm.barrier" || name == "rocdl.s.barrier";
}

struct Outcome {
  int barriers = 0;
  std::string error;
};

/// A sample's kernel with the arguments of a launch.
struct Sample {
  std::string name, vendor, arch;
  std::vector<uint64_t> tensors; // bytes of each
  std::vector<uint64_t> dims;
};

/// Runs the sample without barrier `without` (-1: all are there).
Outcome run(const Sample &sample, int without) {
  std::ifstream file(std::string(TESSERA_SAMPLES_DIR) + "/" + sample.name + "/" + sample.name + ".py");
  std::stringstream source;
  source << file.rdbuf();
  CompileOptions options;
  options.fileName = sample.name + ".py";
  options.targets = {sample.vendor + ":" + sample.arch};
  std::vector<Diagnostic> diags;
  Compilation compilation(options, diags);
  Outcome out;
  if (compilation.begin(source.str()) != CompileStatus::Ok ||
      compilation.advance(Level::Target) != CompileStatus::Ok)
    return out.error = diags.empty() ? "not compiled" : diags.front().message, out;
  std::vector<Operation *> barriers;
  compilation.module().walk([&](Operation *op) {
    if (isBarrier(op)) barriers.push_back(op);
  });
  out.barriers = int(barriers.size());
  if (without >= 0) barriers[size_t(without)]->erase();
  const std::string name = sample.vendor + ":emulated:" + sample.arch + "+check";
  const std::string bundle = bundleOf(compilation.module(), name, out.error);
  if (!out.error.empty()) return out;
  Device device(name);
  std::vector<uint64_t> arguments;
  for (uint64_t bytes : sample.tensors) {
    void *tensor = nullptr;
    EXPECT_EQ(tsrAlloc(device.handle, bytes, TSR_MEM_DEVICE, &tensor), TSR_SUCCESS);
    EXPECT_EQ(tsrMemset(device.handle, tensor, 0, bytes), TSR_SUCCESS);
    arguments.push_back(reinterpret_cast<uint64_t>(tensor));
  }
  arguments.insert(arguments.end(), sample.dims.begin(), sample.dims.end());
  out.error = launch(device, bundle, arguments);
  for (size_t i = 0; i < sample.tensors.size(); ++i)
    EXPECT_EQ(tsrFree(device.handle, reinterpret_cast<void *>(arguments[i])), TSR_SUCCESS);
  return out;
}

class Mutants : public testing::TestWithParam<Sample> {};

TEST_P(Mutants, AMissingBarrierIsARace) {
  const Sample &sample = GetParam();
  const Outcome whole = run(sample, -1);
  ASSERT_EQ(whole.error, "");
  ASSERT_GE(whole.barriers, 3);
  int found = 0;
  for (int i = 0; i < whole.barriers; ++i) {
    const Outcome mutant = run(sample, i);
    if (mutant.error.empty()) continue;
    ++found;
    EXPECT_NE(mutant.error.find("[E_EMU_RACE] " + sample.name + ".py:"), std::string::npos) << mutant.error;
  }
  // What a barrier separates is sometimes separated by its neighbour, too, or is of one lane.
  EXPECT_GE(found * 2, whole.barriers) << found << " of " << whole.barriers;
  RecordProperty("barriers", whole.barriers);
  RecordProperty("found", found);
  std::printf("%s on %s: %d of %d\n", sample.name.c_str(), sample.vendor.c_str(), found, whole.barriers);
}

Sample softmax(const char *vendor, const char *arch) { // 20 rows of 70 columns
  return {"softmax", vendor, arch, {20 * 70 * 4, 20 * 70 * 4}, {20, 70}};
}
Sample gemm(const char *vendor, const char *arch) { // C (70 x 65) += A (70 x 40) * B (40 x 65)
  return {"gemm", vendor, arch, {70 * 40 * 2, 40 * 65 * 2, 70 * 65 * 4}, {70, 40, 65}};
}

INSTANTIATE_TEST_SUITE_P(Samples, Mutants,
                         testing::Values(softmax("ptx", "sm_80"), softmax("rocm", "gfx90a"),
                                         softmax("levelzero", "pvc"), gemm("ptx", "sm_80"),
                                         gemm("ptx", "sm_90a"), gemm("rocm", "gfx1100")),
                         [](const auto &info) { return info.param.name + "_" + info.param.arch; });

} // namespace
} // namespace tessera::emulation
