// The order and the number of a launch's blocks, decisions of the schedule: results do not depend on them.
#include "compiler/pipeline/Compilation.h"
#include "compiler/schedule/IR/ScheduleDialect.h"
#include "mlir/AsmParser/AsmParser.h"
#include "tests/emulation/Emulate.h"
#include <bit>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace mlir;

namespace tessera::emulation {
namespace {

constexpr int64_t kM = 330, kN = 200,
                  kK = 136; // 6 x 4 programs of 64 x 64, of 5 steps; an emulated device has 4 units

struct Decisions {
  int64_t groupRows = 0; // 0: none
  bool hasRoles = false, isPersistent = false;
};

/// The bundle of the sample gemm with these decisions in its schedule.
std::string compile(const Decisions &decisions) {
  std::ifstream file(TESSERA_SAMPLES_DIR "/gemm/gemm.py");
  std::stringstream source;
  source << file.rdbuf();
  CompileOptions options;
  options.fileName = "gemm.py";
  options.targets = {"ptx:sm_90a"};
  std::vector<Diagnostic> diags;
  Compilation compilation(options, diags);
  EXPECT_EQ(compilation.begin(source.str()), CompileStatus::Ok);
  EXPECT_EQ(compilation.advance(Level::Schedule), CompileStatus::Ok);
  compilation.module().walk([&](schedule::KernelOp kernel) {
    const std::string block =
        std::string("#schedule.block<roles = [copy: 4 warps, 24 registers, math: 4 warps, "
                    "104 registers]") +
        (decisions.isPersistent ? ", persistent>" : ">");
    if (decisions.hasRoles) kernel->setAttr(schedule::kBlock, parseAttribute(block, kernel->getContext()));
    kernel.walk([&](schedule::GridOp grid) {
      EXPECT_EQ(grid.getGroupRows(), 16); // nearest to the root of 132 units
      if (decisions.groupRows)
        grid.setGroupRows(decisions.groupRows);
      else
        grid.removeGroupRowsAttr();
    });
  });
  EXPECT_EQ(compilation.advance(Level::Target), CompileStatus::Ok)
      << (diags.empty() ? "" : diags.front().message);
  std::string why, bundle = bundleOf(compilation.module(), "ptx:emulated:sm_90a", why);
  EXPECT_EQ(why, "");
  return bundle;
}

int64_t element(int64_t i, int64_t j, int64_t by) { return (i * 7 + j * by) % 9 - 4; }

/// C += A @ B of small integers, so that every order of the sums has the same bits. Returns the elements of C
/// that are wrong.
int64_t countWrong(const std::string &bundle) {
  std::vector<uint16_t> a, b;
  std::vector<float> c(kM * kN), expected(kM * kN);
  auto fill = [](std::vector<uint16_t> &out, int64_t rows, int64_t columns, int64_t by) {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        out.push_back(static_cast<uint16_t>(std::bit_cast<uint32_t>(float(element(i, j, by))) >> 16));
  };
  fill(a, kM, kK, 5), fill(b, kK, kN, 4);
  for (int64_t i = 0; i < kM; ++i)
    for (int64_t j = 0; j < kN; ++j) {
      c[size_t(i * kN + j)] = float(i - j);
      int64_t sum = i - j;
      for (int64_t k = 0; k < kK; ++k)
        sum += element(i, k, 5) * element(k, j, 4);
      expected[size_t(i * kN + j)] = float(sum);
    }
  Device device("ptx:emulated:sm_90a");
  std::vector<uint64_t> arguments;
  for (auto [data, bytes] : {std::pair<void *, size_t>(a.data(), a.size() * 2),
                             {b.data(), b.size() * 2},
                             {c.data(), c.size() * 4}}) {
    void *tensor = nullptr;
    EXPECT_EQ(tsrAlloc(device.handle, bytes, TSR_MEM_DEVICE, &tensor), TSR_SUCCESS);
    EXPECT_EQ(tsrMemcpyH2D(device.handle, tensor, data, bytes), TSR_SUCCESS);
    arguments.push_back(reinterpret_cast<uint64_t>(tensor));
  }
  for (int64_t dim : {kM, kK, kN})
    arguments.push_back(uint64_t(dim));
  EXPECT_EQ(launch(device, bundle, arguments, "gemm"), "");
  EXPECT_EQ(tsrMemcpyD2H(device.handle, c.data(), reinterpret_cast<void *>(arguments[2]), c.size() * 4),
            TSR_SUCCESS);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(tsrFree(device.handle, reinterpret_cast<void *>(arguments[i])), TSR_SUCCESS);
  int64_t wrong = 0;
  for (size_t i = 0; i < c.size(); ++i)
    wrong += c[i] != expected[i];
  return wrong;
}

TEST(Programs, AreInAnyOrder) {
  EXPECT_EQ(countWrong(compile({})), 0);
  EXPECT_EQ(countWrong(compile({.groupRows = 4})), 0); // 4 rows, then 2
}

TEST(Programs, OfAPersistentGridAreAllRun) {
  EXPECT_EQ(countWrong(compile({.groupRows = 4, .hasRoles = true})), 0);
  EXPECT_EQ(countWrong(compile({.groupRows = 4, .hasRoles = true, .isPersistent = true})), 0);
}

} // namespace
} // namespace tessera::emulation
