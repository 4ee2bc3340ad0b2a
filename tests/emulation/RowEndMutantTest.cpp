// Rows that end inside of a tile, between two vectors: each vector has one condition. Without it the checker
// finds a load or a store outside of the tensor.
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "tests/emulation/Mutants.h"

using namespace mlir;

namespace tessera::emulation {
namespace {

constexpr uint64_t kRows = 5, kColumns = 100; // 25 vectors

const char *const kSum = R"(import tessera as ts

@ts.kernel
def f(X: ts.Tensor["R", "C", ts.f32], Y: ts.Tensor["R", ts.f32]):
    for r in ts.tile.parallel(0, R, 8):
        Y[r:r+8] = ts.tile.row_sum(X[r:r+8, 0:512])
)";

const char *const kMap = R"(import tessera as ts

@ts.kernel
def f(X: ts.Tensor["R", "C", ts.f32], B: ts.Tensor["C", ts.f32], Y: ts.Tensor["R", "C", ts.f32]):
    for r in ts.tile.parallel(0, R, 8):
        for c in ts.tile.parallel(0, C, 256):
            Y[r:r+8, c:c+256] = X[r:r+8, c:c+256] * 2.0 + B[c:c+256]
)";

Sample sample(const char *source, const char *vendor, const char *arch) {
  const bool isMap = source == kMap;
  std::vector<uint64_t> tensors = {kRows * kColumns * 4};
  if (isMap) tensors.push_back(kColumns * 4);
  tensors.push_back(isMap ? kRows * kColumns * 4 : kRows * 4);
  Sample out{"f", vendor, arch, tensors, {kRows, kColumns}};
  out.source = source;
  return out;
}
Sample softmax(const char *vendor, const char *arch) {
  return {"softmax", vendor, arch, {kRows * kColumns * 4, kRows * kColumns * 4}, {kRows, kColumns}};
}

/// The branches around one access of 16 bytes to a tensor.
std::vector<LLVM::CondBrOp> conditions(LLVM::LLVMFuncOp kernel) {
  auto isWide = [](Type type, Value address) {
    auto vector = dyn_cast<VectorType>(type);
    return vector && vector.getNumElements() == 4 &&
           cast<LLVM::LLVMPointerType>(address.getType()).getAddressSpace() == 1;
  };
  std::vector<LLVM::CondBrOp> found;
  kernel.walk([&](LLVM::CondBrOp branch) {
    int accesses = 0;
    for (Operation &op : *branch.getTrueDest()) {
      if (auto load = dyn_cast<LLVM::LoadOp>(op)) accesses += isWide(load.getType(), load.getAddr());
      if (auto store = dyn_cast<LLVM::StoreOp>(op))
        accesses += isWide(store.getValue().getType(), store.getAddr());
    }
    if (accesses == 1 && isa<LLVM::BrOp>(branch.getTrueDest()->getTerminator())) found.push_back(branch);
  });
  return found;
}

class RowEnds : public testing::TestWithParam<Sample> {};

TEST_P(RowEnds, EachVectorNeedsItsCondition) {
  const Compiled compiled(GetParam());
  size_t count = 0;
  const Outcome whole =
      compiled.run([&](LLVM::LLVMFuncOp kernel, Outcome &) { count = conditions(kernel).size(); });
  ASSERT_EQ(whole.error, "");
  ASSERT_GE(count, 1u);
  size_t found = 0;
  for (size_t i = 0; i < count; ++i) {
    const Outcome mutant = compiled.run([&](LLVM::LLVMFuncOp kernel, Outcome &) {
      LLVM::CondBrOp branch = conditions(kernel)[i];
      OpBuilder b(branch);
      branch.getConditionMutable().assign(
          LLVM::ConstantOp::create(b, branch.getLoc(), b.getI1Type(), b.getBoolAttr(true)));
    });
    found += mutant.error.find("[E_EMU_BOUNDS]") != std::string::npos;
  }
  EXPECT_EQ(found, count);
}

INSTANTIATE_TEST_SUITE_P(Kernels, RowEnds,
                         testing::Values(sample(kSum, "ptx", "sm_90a"), sample(kMap, "ptx", "sm_90a"),
                                         softmax("ptx", "sm_90a"), sample(kSum, "rocm", "gfx942"),
                                         sample(kMap, "levelzero", "pvc")),
                         [](const auto &info) { return std::to_string(info.index) + "_" + info.param.arch; });

} // namespace
} // namespace tessera::emulation
