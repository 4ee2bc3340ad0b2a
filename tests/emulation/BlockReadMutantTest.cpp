// Mutants of a kernel whose factors are read as 2D blocks: the checker finds reads that the device forbids or
// that leave the tensors, and the sums show blocks of another place or another form.
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "tests/emulation/Mutants.h"
#include <bit>
#include <cstring>

using namespace mlir;

namespace tessera::emulation {
namespace {

constexpr int64_t kRows = 70, kDepth = 72, kColumns = 88; // past one tile, inside of the second one
constexpr uint64_t kUnit = 64;                            // bytes at which matrices begin

/// Small integers as bf16, whose sums of products are exact.
int valueOf(int64_t tensor, int64_t i) { return int((i * 7 + i / 13 + tensor * 5) % 15) - 7; }

std::string factor(int64_t tensor, int64_t count) {
  std::string bytes(size_t(count) * 2, '\0');
  for (int64_t i = 0; i < count; ++i) {
    const auto word = uint16_t(std::bit_cast<uint32_t>(float(valueOf(tensor, i))) >> 16);
    std::memcpy(&bytes[size_t(i) * 2], &word, sizeof word);
  }
  return bytes;
}

/// C = A * B.
std::string expected() {
  std::string bytes;
  for (int64_t m = 0; m < kRows; ++m)
    for (int64_t n = 0; n < kColumns; ++n) {
      int sum = 0;
      for (int64_t k = 0; k < kDepth; ++k)
        sum += valueOf(0, m * kDepth + k) * valueOf(1, k * kColumns + n);
      const auto value = float(sum);
      bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
    }
  return bytes;
}

Sample gemm() {
  Sample sample{"gemm",
                "levelzero",
                "pvc",
                {kRows * kDepth * 2, kDepth * kColumns * 2, kRows * kColumns * 4},
                {kRows, kDepth, kColumns},
                0,
                "gemm.block2d"};
  sample.contents = {factor(0, kRows * kDepth), factor(1, kDepth * kColumns)};
  return sample;
}

enum Argument : unsigned { Address, LastByte, LastRow, LastPitch, Place };
const char *const kLeft = "u16_m8k16v1", *const kRight = "transform_u16_k16";

/// Runs gemm after `mutate` has changed the block reads of this form.
Outcome mutant(const std::string &form, llvm::function_ref<void(OpBuilder &, LLVM::CallOp)> mutate) {
  int changed = 0;
  const Outcome out = run(gemm(), [&](LLVM::LLVMFuncOp kernel, Outcome &) {
    std::vector<LLVM::CallOp> reads;
    kernel.walk([&](LLVM::CallOp call) {
      if (call.getCallee().value_or("").ends_with("block_read_flat_" + form)) reads.push_back(call);
    });
    for (LLVM::CallOp read : reads) {
      OpBuilder b(read);
      mutate(b, read), ++changed;
    }
  });
  EXPECT_GT(changed, 0);
  return out;
}

void add(OpBuilder &b, LLVM::CallOp read, Argument which, int64_t number) {
  Value own = read.getArgOperands()[which];
  Value more = LLVM::ConstantOp::create(b, read.getLoc(), own.getType(), number);
  read.getArgOperandsMutable()[which].set(LLVM::AddOp::create(b, read.getLoc(), own, more));
}

/// Adds to the column (0) or the row (1) of the block's place.
void move(OpBuilder &b, LLVM::CallOp read, int axis, Value distance) {
  const Location loc = read.getLoc();
  Value place = read.getArgOperands()[Place], which = constantBefore(read, axis);
  Value own = LLVM::ExtractElementOp::create(b, loc, place, which);
  Value moved = LLVM::AddOp::create(b, loc, own, distance);
  read.getArgOperandsMutable()[Place].set(LLVM::InsertElementOp::create(b, loc, place, moved, which));
}

Value lane(OpBuilder &b, LLVM::CallOp read) {
  Value axis = constantBefore(read, 0);
  auto call = LLVM::CallOp::create(b, read.getLoc(), TypeRange{b.getI64Type()}, "_Z12get_local_idj",
                                   ValueRange{axis});
  call.setCConv(LLVM::CConv::SPIR_FUNC);
  return LLVM::TruncOp::create(b, read.getLoc(), b.getI32Type(), call.getResult());
}

TEST(BlockReadMutants, TheKernelItselfIsRight) {
  for (const char *form : {kLeft, kRight}) {
    const Outcome whole = mutant(form, [](OpBuilder &, LLVM::CallOp) {});
    EXPECT_EQ(whole.error, "");
    EXPECT_EQ(whole.tensors.back(), expected());
  }
}

/// A launch runs the variant only where all tensors begin at multiples of 64 bytes. Its blocks are of
/// another place here, which shows that it ran.
TEST(BlockReadMutants, LaunchesOfOtherAddressesRunTheKernel) {
  for (uint64_t skew : {0, 4, 16, 32, 64}) {
    Sample sample = gemm();
    sample.skew = skew;
    const Outcome own = run(sample, [](LLVM::LLVMFuncOp, Outcome &) {});
    if (skew % kUnit)
      EXPECT_FOUND("E_EMU_ALIGNMENT", own.error)
    else
      EXPECT_EQ(own.error, "") << skew;
    sample.kernel = "";
    const Outcome chosen = run(sample, [&](LLVM::LLVMFuncOp kernel, Outcome &) {
      auto module = kernel->getParentOp();
      module->walk([](LLVM::CallOp call) {
        if (call.getCallee().value_or("").ends_with(kRight)) {
          OpBuilder b(call);
          move(b, call, 1, constantBefore(call, 2));
        }
      });
    });
    EXPECT_EQ(chosen.error, "") << skew;
    EXPECT_EQ(chosen.tensors.back() == expected(), skew % kUnit != 0) << skew;
  }
}

TEST(BlockReadMutants, BytesPastTheTensorAreFound) {
  for (const char *form : {kLeft, kRight}) {
    auto rows = [](OpBuilder &b, LLVM::CallOp read) { add(b, read, LastRow, 64); };
    EXPECT_FOUND("E_EMU_BOUNDS", mutant(form, rows).error);
    auto address = [](OpBuilder &b, LLVM::CallOp read) { add(b, read, Address, -int64_t(kUnit)); };
    EXPECT_FOUND("E_EMU_BOUNDS", mutant(form, address).error);
  }
}

TEST(BlockReadMutants, WhatTheDeviceForbidsIsFound) {
  for (const char *form : {kLeft, kRight}) {
    auto address = [](OpBuilder &b, LLVM::CallOp read) { add(b, read, Address, kUnit / 2); };
    EXPECT_FOUND("E_EMU_ALIGNMENT", mutant(form, address).error);
    auto pitch = [](OpBuilder &b, LLVM::CallOp read) { add(b, read, LastPitch, 8); };
    EXPECT_FOUND("E_EMU_ALIGNMENT", mutant(form, pitch).error);
    auto width = [](OpBuilder &b, LLVM::CallOp read) { add(b, read, LastByte, 2); };
    EXPECT_FOUND("E_EMU_ALIGNMENT", mutant(form, width).error);
    auto column = [](OpBuilder &b, LLVM::CallOp read) { move(b, read, 0, constantBefore(read, 1)); };
    EXPECT_FOUND("E_EMU_ALIGNMENT", mutant(form, column).error);
    auto narrow = [](OpBuilder &b, LLVM::CallOp read) { add(b, read, LastPitch, -64); };
    EXPECT_FOUND("E_EMU_OPERANDS", mutant(form, narrow).error);
  }
}

TEST(BlockReadMutants, LanesThatDivergeAreFound) {
  for (const char *form : {kLeft, kRight}) {
    auto rows = [](OpBuilder &b, LLVM::CallOp read) { move(b, read, 1, lane(b, read)); };
    EXPECT_FOUND("E_EMU_OPERANDS", mutant(form, rows).error);
    auto oneLess = [](OpBuilder &b, LLVM::CallOp read) { // the last lane goes around it
      const Location loc = read.getLoc();
      Value last = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq,
                                        LLVM::AndOp::create(b, loc, lane(b, read), constantBefore(read, 15)),
                                        constantBefore(read, 15));
      Block *before = read->getBlock(), *own = before->splitBlock(read);
      Block *after = own->splitBlock(read->getNextNode());
      Value result = after->addArgument(read.getResult().getType(), loc);
      read.getResult().replaceAllUsesWith(result);
      b.setInsertionPointToEnd(own);
      LLVM::BrOp::create(b, loc, ValueRange{read.getResult()}, after);
      b.setInsertionPointToEnd(before);
      Value none = LLVM::ZeroOp::create(b, loc, read.getResult().getType());
      LLVM::CondBrOp::create(b, loc, last, after, ValueRange{none}, own, ValueRange{});
    };
    EXPECT_FOUND("E_EMU_DIVERGENCE", mutant(form, oneLess).error);
  }
}

TEST(BlockReadMutants, BlocksOfAnotherPlaceChangeTheSums) {
  for (const char *form : {kLeft, kRight})
    for (int axis : {0, 1})
      for (int distance : {-2, 2}) {
        const Outcome out = mutant(form, [&](OpBuilder &b, LLVM::CallOp read) {
          move(b, read, axis, constantBefore(read, distance));
        });
        EXPECT_EQ(out.error, "") << form << ", axis " << axis;
        EXPECT_NE(out.tensors.back(), expected()) << form << ", axis " << axis;
      }
}

/// The right factor has rows in the words of a lane as if it were the left one.
TEST(BlockReadMutants, ARightFactorThatIsNotTransformedChangesTheSums) {
  const Outcome out = mutant(kRight, [](OpBuilder &b, LLVM::CallOp read) {
    const Location loc = read.getLoc();
    const std::string name = "__builtin_IB_subgroup_block_read_flat_" + std::string(kLeft);
    const SmallVector<Value> lower(read.getArgOperands());
    move(b, read, 1, constantBefore(read, 8));
    const SmallVector<Value> upper(read.getArgOperands());
    auto half = [&](ArrayRef<Value> arguments) {
      auto call =
          LLVM::CallOp::create(b, loc, TypeRange{VectorType::get({8}, b.getI16Type())}, name, arguments);
      call.setCConv(LLVM::CConv::SPIR_FUNC);
      return call.getResult();
    };
    // Words of the rows r and r + 8, where the transformed block has rows r and r + 1.
    auto widened = [&](Value rows, bool isHigh) -> Value {
      auto type = VectorType::get({8}, b.getI32Type());
      Value words = LLVM::ZExtOp::create(b, loc, type, rows);
      if (!isHigh) return words;
      Value by = LLVM::ConstantOp::create(b, loc, type, DenseElementsAttr::get(type, int32_t(16)));
      return LLVM::ShlOp::create(b, loc, words, by);
    };
    Value low = widened(half(lower), false), high = widened(half(upper), true);
    read.getResult().replaceAllUsesWith(LLVM::OrOp::create(b, loc, low, high));
    read.erase();
  });
  EXPECT_EQ(out.error, "");
  EXPECT_NE(out.tensors.back(), expected());
}

} // namespace
} // namespace tessera::emulation
