#include "plugins/levelzero/codegen/ByteAtomics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"

namespace tessera::levelzero {
namespace {

/// The aligned word that a byte is in, and the place of the byte's lowest bit in it.
struct Word {
  llvm::Value *pointer, *shift;
};

Word wordOf(llvm::IRBuilder<> &b, llvm::Value *byte) {
  llvm::Value *address = b.CreatePtrToInt(byte, b.getInt64Ty());
  llvm::Value *shift = b.CreateTrunc(b.CreateShl(b.CreateAnd(address, 3), 3), b.getInt32Ty());
  return {b.CreateIntToPtr(b.CreateAnd(address, ~uint64_t(3)), byte->getType()), shift};
}

void widen(llvm::AtomicRMWInst &update) {
  llvm::IRBuilder<> b(&update);
  const Word word = wordOf(b, update.getPointerOperand());
  llvm::Value *value = b.CreateShl(b.CreateZExt(update.getValOperand(), b.getInt32Ty()), word.shift);
  if (update.getOperation() == llvm::AtomicRMWInst::And)
    value = b.CreateOr(value, b.CreateNot(b.CreateShl(b.getInt32(0xff), word.shift)));
  llvm::Value *old = b.CreateAtomicRMW(update.getOperation(), word.pointer, value, llvm::Align(4),
                                       update.getOrdering(), update.getSyncScopeID());
  update.replaceAllUsesWith(b.CreateTrunc(b.CreateLShr(old, word.shift), update.getType()));
  update.eraseFromParent();
}

void widen(llvm::LoadInst &load) {
  llvm::IRBuilder<> b(&load);
  const Word word = wordOf(b, load.getPointerOperand());
  llvm::LoadInst *whole = b.CreateAlignedLoad(b.getInt32Ty(), word.pointer, llvm::Align(4));
  whole->setAtomic(load.getOrdering(), load.getSyncScopeID());
  load.replaceAllUsesWith(b.CreateTrunc(b.CreateLShr(whole, word.shift), load.getType()));
  load.eraseFromParent();
}

} // namespace

void widenByteAtomics(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      if (!instruction.isAtomic() || !instruction.getType()->isIntegerTy(8)) continue;
      if (auto *update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) widen(*update);
      if (auto *load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) widen(*load);
    }
}

} // namespace tessera::levelzero
