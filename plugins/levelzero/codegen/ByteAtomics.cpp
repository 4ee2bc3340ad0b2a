#include "plugins/levelzero/codegen/ByteAtomics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"

namespace tessera::levelzero {
namespace {

void widen(llvm::AtomicRMWInst &update) {
  llvm::IRBuilder<> b(&update);
  llvm::Type *word = b.getInt32Ty();
  llvm::Value *pointer = update.getPointerOperand();
  llvm::Value *address = b.CreatePtrToInt(pointer, b.getInt64Ty());
  llvm::Value *shift = b.CreateTrunc(b.CreateShl(b.CreateAnd(address, 3), 3), word);
  llvm::Value *aligned = b.CreateIntToPtr(b.CreateAnd(address, ~uint64_t(3)), pointer->getType());
  llvm::Value *value = b.CreateShl(b.CreateZExt(update.getValOperand(), word), shift);
  if (update.getOperation() == llvm::AtomicRMWInst::And)
    value = b.CreateOr(value, b.CreateNot(b.CreateShl(b.getInt32(0xff), shift)));
  llvm::Value *old = b.CreateAtomicRMW(update.getOperation(), aligned, value, llvm::Align(4),
                                       update.getOrdering(), update.getSyncScopeID());
  update.replaceAllUsesWith(b.CreateTrunc(b.CreateLShr(old, shift), update.getType()));
  update.eraseFromParent();
}

} // namespace

void widenByteAtomics(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      auto *update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction);
      if (update && update->getType()->isIntegerTy(8)) widen(*update);
    }
}

} // namespace tessera::levelzero
