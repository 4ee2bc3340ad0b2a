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

/// Runs softmax of 20 rows of 70 columns, without barrier `without` (-1: all are there).
Outcome runSoftmax(const std::string &vendor, const std::string &arch, int without) {
  std::ifstream file(std::string(TESSERA_SAMPLES_DIR) + "/softmax/softmax.py");
  std::stringstream source;
  source << file.rdbuf();
  CompileOptions options;
  options.fileName = "softmax.py";
  options.targets = {vendor + ":" + arch};
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
  const std::string name = vendor + ":emulated:" + arch + "+check";
  const std::string bundle = bundleOf(compilation.module(), name, out.error);
  if (!out.error.empty()) return out;
  Device device(name);
  constexpr uint64_t kRows = 20, kColumns = 70;
  void *tensors[2] = {};
  for (void *&tensor : tensors) {
    EXPECT_EQ(tsrAlloc(device.handle, kRows * kColumns * 4, TSR_MEM_DEVICE, &tensor), TSR_SUCCESS);
    EXPECT_EQ(tsrMemset(device.handle, tensor, 0, kRows * kColumns * 4), TSR_SUCCESS);
  }
  out.error = launch(
      device, bundle,
      {reinterpret_cast<uint64_t>(tensors[0]), reinterpret_cast<uint64_t>(tensors[1]), kRows, kColumns});
  for (void *tensor : tensors)
    EXPECT_EQ(tsrFree(device.handle, tensor), TSR_SUCCESS);
  return out;
}

class Mutants : public testing::TestWithParam<std::pair<const char *, const char *>> {};

TEST_P(Mutants, AMissingBarrierIsARace) {
  const auto [vendor, arch] = GetParam();
  const Outcome whole = runSoftmax(vendor, arch, -1);
  ASSERT_EQ(whole.error, "");
  ASSERT_GT(whole.barriers, 4);
  int found = 0;
  for (int i = 0; i < whole.barriers; ++i) {
    const Outcome mutant = runSoftmax(vendor, arch, i);
    if (mutant.error.empty()) continue;
    ++found;
    EXPECT_NE(mutant.error.find("[E_EMU_RACE] softmax.py:"), std::string::npos) << mutant.error;
  }
  // What a barrier separates is sometimes separated by its neighbour, too, or is of one lane.
  EXPECT_GE(found * 2, whole.barriers) << found << " of " << whole.barriers;
  RecordProperty("barriers", whole.barriers);
  RecordProperty("found", found);
  std::printf("%s: %d of %d\n", vendor, found, whole.barriers);
}

INSTANTIATE_TEST_SUITE_P(Vendors, Mutants,
                         testing::Values(std::pair("ptx", "sm_80"), std::pair("rocm", "gfx90a"),
                                         std::pair("levelzero", "pvc")),
                         [](const auto &info) { return std::string(info.param.first); });

} // namespace
} // namespace tessera::emulation
