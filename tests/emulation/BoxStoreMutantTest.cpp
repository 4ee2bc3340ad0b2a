// Mutants of stores by the engine: what orders a warp's writes of its boxes, their stores and its next
// writes, and each number of the addresses in shared memory and in the tensor. What the checker does not find
// is found by the result: sums of random integers, which are exact.
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "tests/emulation/Mutants.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <bit>
#include <gmock/gmock.h>
#include <map>
#include <random>

using namespace mlir;

namespace tessera::emulation {
namespace {

using StoreOp = NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp;
using WaitOp = NVVM::CpAsyncBulkWaitGroupOp;

/// A product of M x K and K x N in tiles of rows x columns.
struct Case {
  const char *name, *arch, *dtype; // of the result
  int64_t rows, columns, stages, m, n;
  const char *block = "";
  // Of the text of the kernel: stores, and waits before a box is written again. One more wait precedes the
  // end.
  int stores, waits;
};
constexpr int64_t kK = 40;

constexpr char kRoles[] =
    "#schedule.block<roles = [copy: 4 warps, 24 registers, math: 4 warps, 176 registers], persistent>";
constexpr char kRolesOfTensors[] =
    "#schedule.block<roles = [copy: 1 warps, multiply: 1 warps, math: 4 warps], sums = 2, persistent>";

// Tiles end outside of the results. Grids that are persistent have a program more than the four blocks that
// run.
const Case kCases[] = {
    {"Matrices", "sm_90a", "bf16", 64, 128, 4, 40, 120, "", 2, 0},
    {"Pairs", "sm_90a", "f32", 64, 128, 4, 40, 120, "", 4, 2},
    {"OneBox", "sm_90a", "f32", 64, 64, 13, 40, 56, "", 2, 1}, // of each warp: rings leave no room for two
    {"Persistent", "sm_90a", "bf16", 64, 128, 4, 300, 104, kRoles, 2, 2},
    {"PersistentPairs", "sm_90a", "f32", 64, 64, 4, 300, 40, kRoles, 2, 2},
    {"Rows", "sm_100a", "bf16", 128, 128, 3, 120, 120, "", 2, 0},
    {"RowsOfTwoSets", "sm_100a", "f32", 128, 64, 3, 600, 40, kRolesOfTensors, 2, 2},
};

/// Small integers, whose sums of kK products bf16 has, too.
std::vector<int> integers(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<int> out;
  for (int64_t i = 0; i < count; ++i)
    out.push_back(int(random() % 5) - 2);
  return out;
}

std::string bytesOf(const std::vector<int> &values, bool isNarrow) {
  std::string out;
  for (int value : values) {
    const uint32_t bits = std::bit_cast<uint32_t>(float(value));
    for (int byte = isNarrow ? 2 : 0; byte < 4; ++byte)
      out += char(bits >> 8 * byte);
  }
  return out;
}

class BoxStores : public testing::TestWithParam<Case> {
protected:
  static const Compiled &compiled() {
    static std::map<std::string, std::unique_ptr<Compiled>> all;
    auto &one = all[GetParam().name];
    if (!one) one = std::make_unique<Compiled>(sample());
    return *one;
  }

  static Sample sample() {
    const Case &c = GetParam();
    Sample s = {"gemm", "ptx", c.arch, {}, {uint64_t(c.m), uint64_t(kK), uint64_t(c.n)}, 0, "gemm.tma"};
    s.block = c.block;
    s.source = llvm::formatv(R"(import tessera as ts


@ts.kernel.autotune(space=dict(num_warps=[4]))
def gemm(A: ts.Tensor["M", "K", ts.bf16], B: ts.Tensor["K", "N", ts.bf16], C: ts.Tensor["M", "N", ts.{0}]):
    for m in ts.tile.parallel(0, M, {1}):
        for n in ts.tile.parallel(0, N, {2}):
            acc = ts.tile.zeros(({1}, {2}), ts.f32)
            for k in ts.tile.range(0, K, 32, stages={3}):
                acc = ts.tile.mma(A[m:m+{1}, k:k+32], B[k:k+32, n:n+{2}], acc)
            C[m:m+{1}, n:n+{2}] = ts.tile.cast(acc, ts.{0})
)",
                             c.dtype, c.rows, c.columns, c.stages);
    s.contents = {bytesOf(integers(c.m * kK, 1), true), bytesOf(integers(kK * c.n, 2), true),
                  std::string(size_t(c.m * c.n) * (isNarrow() ? 2 : 4), 'U')};
    for (const std::string &tensor : s.contents)
      s.tensors.push_back(tensor.size());
    return s;
  }

  static bool isNarrow() { return std::string(GetParam().dtype) == "bf16"; }

  static std::string product() {
    const Case &c = GetParam();
    const std::vector<int> a = integers(c.m * kK, 1), b = integers(kK * c.n, 2);
    std::vector<int> sums(size_t(c.m * c.n));
    for (int64_t i = 0; i < c.m; ++i)
      for (int64_t k = 0; k < kK; ++k)
        for (int64_t j = 0; j < c.n; ++j)
          sums[size_t(i * c.n + j)] += a[size_t(i * kK + k)] * b[size_t(k * c.n + j)];
    return bytesOf(sums, isNarrow());
  }

  /// The code of the checker's report; "VALUES" if it found nothing but the result is wrong, "" if it is
  /// right.
  static std::string found(llvm::function_ref<void(LLVM::LLVMFuncOp)> mutate) {
    const Outcome out = compiled().run([&](LLVM::LLVMFuncOp kernel, Outcome &) { mutate(kernel); });
    if (!out.error.empty()) {
      const StringRef error = out.error;
      EXPECT_TRUE(error.contains("] gemm.py:")) << out.error;
      return error.substr(error.find('[') + 1).split(']').first.str();
    }
    return out.tensors[2] == product() ? "" : "VALUES";
  }

  template <typename Op> static std::vector<Op> all(LLVM::LLVMFuncOp kernel) {
    std::vector<Op> ops;
    kernel.walk([&](Op op) { ops.push_back(op); });
    return ops;
  }
  /// The same of a mutant whose operation `number` of this kind is changed.
  template <typename Op> static std::string found(int number, llvm::function_ref<void(Op)> mutate) {
    return found([&](LLVM::LLVMFuncOp kernel) { mutate(all<Op>(kernel).at(size_t(number))); });
  }

  /// The branch on the lane that starts a store or waits.
  static LLVM::CondBrOp branchOf(Operation *op) {
    return cast<LLVM::CondBrOp>(op->getBlock()->getSinglePredecessor()->getTerminator());
  }
  /// The last such operation before `op` in its block.
  template <typename Op> static Op before(Operation *op) {
    do
      op = op->getPrevNode();
    while (!isa<Op>(op));
    return cast<Op>(op);
  }
};

TEST_P(BoxStores, TheKernelItselfIsRight) {
  int stores = 0, waits = 0, commits = 0;
  EXPECT_EQ(found([&](LLVM::LLVMFuncOp kernel) {
              stores = int(all<StoreOp>(kernel).size()), waits = int(all<WaitOp>(kernel).size());
              commits = int(all<NVVM::CpAsyncBulkCommitGroupOp>(kernel).size());
            }),
            "");
  EXPECT_EQ(stores, GetParam().stores);
  EXPECT_EQ(commits, GetParam().stores);
  EXPECT_EQ(waits, GetParam().waits + 1);
}

/// Elements that a lane writes are visible to the engine by a fence of this lane, and then to the lane that
/// starts the store.
TEST_P(BoxStores, EachStoreHasAFenceAndAMeeting) {
  for (int i = 0; i < GetParam().stores; ++i) {
    EXPECT_EQ(found<StoreOp>(i, [](StoreOp op) { before<NVVM::FenceProxyOp>(branchOf(op)).erase(); }),
              "E_EMU_FENCE")
        << i;
    EXPECT_THAT(found<StoreOp>(i, [](StoreOp op) { before<NVVM::SyncWarpOp>(branchOf(op)).erase(); }),
                testing::AnyOf("E_EMU_RACE", "E_EMU_UNINITIALIZED"))
        << i;
  }
}

/// Before a part of the buffer is written again, in the same program or in the next one, and before the end.
TEST_P(BoxStores, EachWaitIsNeeded) {
  const int waits = GetParam().waits;
  for (int i = 0; i <= waits; ++i) {
    EXPECT_EQ(found<WaitOp>(i, [](WaitOp op) { op.erase(); }), "E_EMU_NOT_AWAITED") << i;
    EXPECT_EQ(found<WaitOp>(i, [](WaitOp op) { op.setGroup(op.getGroup() + 1); }), "E_EMU_NOT_AWAITED") << i;
    // Another lane has no stores to wait for.
    bool isAlone = true; // not in the branch of a store
    const std::string error = found<WaitOp>(i, [&](WaitOp op) {
      isAlone = op->getBlock()->getOps<StoreOp>().empty();
      LLVM::CondBrOp branch = branchOf(op);
      OpBuilder b(branch);
      Value lane = branch.getCondition().getDefiningOp<LLVM::ICmpOp>().getLhs();
      if (isAlone)
        branch.getConditionMutable().assign(LLVM::ICmpOp::create(b, branch.getLoc(), LLVM::ICmpPredicate::eq,
                                                                 lane, constantBefore(branch, 1)));
    });
    EXPECT_EQ(error, isAlone ? "E_EMU_NOT_AWAITED" : "") << i;
    if (i == waits) continue; // nothing follows the last one
    // The other lanes must not write before lane 0 has waited.
    EXPECT_THAT(found<WaitOp>(i,
                              [](WaitOp op) {
                                Block *next = op->getBlock()->getTerminator()->getSuccessor(0);
                                cast<NVVM::SyncWarpOp>(next->front()).erase();
                              }),
                testing::AnyOf("E_EMU_NOT_AWAITED", "E_EMU_RACE"))
        << i;
  }
}

TEST_P(BoxStores, EachStoreIsAGroup) {
  for (int i = 0; i < GetParam().stores; ++i) {
    const std::string error =
        found<NVVM::CpAsyncBulkCommitGroupOp>(i, [](NVVM::CpAsyncBulkCommitGroupOp op) { op.erase(); });
    // Where only the end waits, for all stores, the first ones may be in the group of the last one.
    const bool isLast = i + 1 == GetParam().stores;
    EXPECT_EQ(error, GetParam().waits || isLast ? "E_EMU_NOT_AWAITED" : "") << i;
  }
}

TEST_P(BoxStores, OneLaneStores) {
  auto withCondition = [](int store, int64_t value) {
    return found<StoreOp>(store, [&](StoreOp op) {
      LLVM::CondBrOp branch = branchOf(op);
      OpBuilder b(branch);
      branch.getConditionMutable().assign(LLVM::ConstantOp::create(b, branch.getLoc(), b.getI1Type(), value));
    });
  };
  for (int i = 0; i < GetParam().stores; ++i) {
    EXPECT_EQ(withCondition(i, 1), "E_EMU_RACE") << i; // all lanes store the box
    EXPECT_NE(withCondition(i, 0), "") << i;           // none does, nor waits where a wait follows
  }
}

TEST_P(BoxStores, EachPlaceIsRight) {
  auto moved = [](int store, unsigned axis, int64_t elements) {
    return found<StoreOp>(store, [&](StoreOp op) {
      OpBuilder b(op);
      OpOperand &at = op.getCoordinatesMutable()[axis];
      at.assign(LLVM::AddOp::create(b, op.getLoc(), at.get(), constantBefore(op, elements)));
    });
  };
  for (int i = 0; i < GetParam().stores; ++i) {
    EXPECT_EQ(moved(i, 0, 8), "VALUES") << i;
    EXPECT_EQ(moved(i, 1, 8), "VALUES") << i;
    EXPECT_EQ(moved(i, 0, 1), "E_EMU_ALIGNMENT") << i; // of 16 bytes
    EXPECT_NE(found<StoreOp>(i,
                             [](StoreOp op) {
                               OpBuilder b(op);
                               Value from = op.getSrcMem();
                               op.getSrcMemMutable().assign(
                                   LLVM::GEPOp::create(b, op.getLoc(), from.getType(), b.getI8Type(), from,
                                                       ArrayRef<LLVM::GEPArg>{128}));
                             }),
              "")
        << i;
  }
}

/// What moves a lane's elements in the first box: the swizzle, its row and column, and of pairs the exchange
/// of columns between lanes. One of two operands of each is enough for no result.
TEST_P(BoxStores, EachBitOfAddressesIsRight) {
  auto bitsOf = [](LLVM::LLVMFuncOp kernel) {
    std::vector<Operation *> ops;
    bool isPast = false;
    kernel.walk([&](Operation *op) {
      if (isa<NVVM::WgmmaMmaAsyncOp, NVVM::Tcgen05LdOp>(op)) ops.clear();
      isPast |= isa<StoreOp>(op);
      const bool isExchange = isa<LLVM::SelectOp>(op) && isa<VectorType>(op->getResult(0).getType());
      if (!isPast && (isa<LLVM::XOrOp>(op) || isExchange)) ops.push_back(op);
    });
    return ops;
  };
  size_t count = 0;
  EXPECT_EQ(found([&](LLVM::LLVMFuncOp kernel) { count = bitsOf(kernel).size(); }), "");
  EXPECT_GE(count, 3u);
  for (size_t i = 0; i < count; ++i)
    for (unsigned kept : {0u, 1u}) {
      std::string text;
      EXPECT_NE(found([&](LLVM::LLVMFuncOp kernel) {
                  Operation *op = bitsOf(kernel)[i];
                  llvm::raw_string_ostream(text) << *op;
                  op->getResult(0).replaceAllUsesWith(op->getOperand(kept + isa<LLVM::SelectOp>(op)));
                }),
                "")
          << text << " becomes operand " << kept;
    }
}

INSTANTIATE_TEST_SUITE_P(Results, BoxStores, testing::ValuesIn(kCases),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace tessera::emulation
