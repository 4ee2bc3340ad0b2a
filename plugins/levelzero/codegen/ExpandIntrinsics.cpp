#include "plugins/levelzero/codegen/ExpandIntrinsics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

namespace tessera::levelzero {
namespace {

/// Exchanges neighbouring bits, then neighbouring pairs, and so on up to the halves of the next larger
/// integer type that SPIR-V has.
llvm::Value *reverseBits(llvm::IRBuilder<> &b, llvm::Value *v) {
  llvm::Type *type = v->getType();
  const unsigned bits = type->getScalarSizeInBits();
  const unsigned width = std::max(8u, static_cast<unsigned>(llvm::PowerOf2Ceil(bits)));
  llvm::Type *wide = type->getWithNewBitWidth(width);
  v = b.CreateZExt(v, wide);
  for (unsigned half = 1; half < width; half *= 2) {
    // 0101..., 0011..., 00001111...: the lower half of every group.
    llvm::APInt lower = llvm::APInt::getSplat(width, llvm::APInt::getLowBitsSet(2 * half, half));
    llvm::Constant *mask = llvm::ConstantInt::get(wide, lower);
    llvm::Value *up = b.CreateShl(b.CreateAnd(v, mask), half);
    llvm::Value *down = b.CreateAnd(b.CreateLShr(v, half), mask);
    v = b.CreateOr(up, down);
  }
  return b.CreateTrunc(b.CreateLShr(v, width - bits), type);
}

} // namespace

void expandIntrinsics(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      if (!call || call->getIntrinsicID() != llvm::Intrinsic::bitreverse) continue;
      llvm::IRBuilder<> b(call);
      call->replaceAllUsesWith(reverseBits(b, call->getArgOperand(0)));
      call->eraseFromParent();
    }
}

bool hasIntrinsic(unsigned id) {
  using llvm::Intrinsic::IndependentIntrinsics;
  constexpr IndependentIntrinsics lacking[] = {llvm::Intrinsic::canonicalize, llvm::Intrinsic::minimumnum,
                                               llvm::Intrinsic::maximumnum, llvm::Intrinsic::ldexp};
  return !llvm::is_contained(lacking, id);
}

} // namespace tessera::levelzero
