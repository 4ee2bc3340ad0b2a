// target-emulate: a GPU's Target IR -> host functions that call the emulator.
//
// Before: llvm.func @k(%x: !llvm.ptr<1>, %n: i64) attributes {nvvm.kernel} { %t = nvvm.read.ptx.sreg.tid.x
// ... nvvm.barrier ... } After:  llvm.func @k(%values: !llvm.ptr) { %x = load %values[0] ... %t = llvm.call
// @tsr_emu_coordinate(0) ... llvm.call @tsr_emu_barrier(7) }
//
// It comes after gpu-wrap-target: vendor instructions are still named operations with source locations, and
// this is the last form that all vendors share. Address spaces stay; on the host they all are one memory.
#include "compiler/codegen/emulate/Arithmetic.h"
#include "compiler/codegen/emulate/Emulate.h"
#include "compiler/codegen/emulate/Sites.h"
#include "compiler/codegen/emulate/VendorOps.h"
#include "compiler/target/IR/SourceFiles.h"
#include "compiler/target/IR/TargetDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <tessera/emulated.hpp>

using namespace mlir;

namespace tessera::emulate {
#define GEN_PASS_DEF_TARGETEMULATE
#include "compiler/codegen/emulate/Passes.h.inc"

namespace {

constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3; // in the Target IR of every vendor
constexpr unsigned kClusterSpace = 7;                  // shared memory of a cluster's blocks, of NVIDIA

/// The contents of one image.
class Image {
public:
  Image(target::ModuleOp image, bool check)
      : image_(image), check_(check), layout_(DataLayout::closest(image)),
        b_(image.getLoc(), image.getContext()), sites_(target::sourceFilesOf(image)) {}

  LogicalResult rewrite() {
    llvm::SmallSet<StringRef, 4> kernels;
    for (auto info : image_.getOps<target::KernelInfoOp>())
      kernels.insert(info.getEntry());
    for (auto function : llvm::make_early_inc_range(image_.getOps<LLVM::LLVMFuncOp>())) {
      if (function.isExternal()) continue;
      placeShared(function);
      SmallVector<Operation *> ops;
      function.walk([&](Operation *op) { ops.push_back(op); });
      guardSums(function);
      for (Operation *op : ops)
        if (op != function && failed(rewriteOp(op))) return failure();
      if (check_) countMultiplyAdds(function);
      removeVendorAttributes(function);
      if (kernels.contains(function.getName())) makeEntry(function);
    }
    for (Operation &op : llvm::make_early_inc_range(image_.getBody().front())) {
      auto global = dyn_cast<LLVM::GlobalOp>(op);
      auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
      const bool isShared = global && global.getAddrSpace() == kSharedSpace;
      if (isShared || (function && function.isExternal() && SymbolTable::symbolKnownUseEmpty(&op, image_)))
        op.erase();
    }
    b_.setInsertionPointToEnd(&image_.getBody().front());
    sites_.emit(b_, image_.getLoc());
    return success();
  }

private:
  /// Chooses the place of each shared variable of the function in the block's shared memory: those of known
  /// size first, then the one whose size the launch sets.
  void placeShared(LLVM::LLVMFuncOp function) {
    offsets_.clear();
    int64_t end = 0;
    auto place = [&](bool sized) {
      function.walk([&](LLVM::AddressOfOp op) {
        auto global = SymbolTable::lookupNearestSymbolFrom<LLVM::GlobalOp>(op, op.getGlobalNameAttr());
        if (!global || global.getAddrSpace() != kSharedSpace || offsets_.contains(global.getName())) return;
        const int64_t bytes = int64_t(layout_.getTypeSize(global.getType()));
        if ((bytes > 0) != sized) return;
        end = int64_t(llvm::alignTo(end, global.getAlignment().value_or(16)));
        offsets_[global.getName()] = end;
        end += bytes;
      });
    };
    place(true);
    place(false);
  }

  /// Numbers the products, and the loads of tensor memory, that run beside other work. In checked code each
  /// use of their sums, but for a further product, is announced.
  void guardSums(LLVM::LLVMFuncOp function) {
    SmallVector<Operation *> started;
    function.walk([&](Operation *op) {
      if (!isa<NVVM::WgmmaMmaAsyncOp, NVVM::Tcgen05LdOp, LLVM::InlineAsmOp>(op) || !op->getNumResults())
        return;
      op->setAttr(kProductNumber, b_.getI32IntegerAttr(products_++));
      started.push_back(op);
    });
    if (!check_) return;
    for (Operation *op : started)
      for (Operation *use : firstUses(op)) {
        b_.setInsertionPoint(use);
        b_.setLoc(use->getLoc());
        call("tsr_emu_use_sums", nullptr,
             {constant(int32_t(op->getAttrOfType<IntegerAttr>(kProductNumber).getInt())),
              constant(sites_.number(use))},
             false);
      }
  }

  /// wgmma with a factor in registers is inline PTX, whose first operands are its sums.
  static bool isSumOfHeldProduct(OpOperand &use) {
    auto product = dyn_cast<LLVM::InlineAsmOp>(use.getOwner());
    auto sums = product && product->getNumResults()
                    ? dyn_cast<LLVM::LLVMStructType>(product->getResult(0).getType())
                    : LLVM::LLVMStructType();
    return sums && use.getOperandNumber() < sums.getBody().size();
  }

  /// Returns the first operation of each block that computes with sums of the product. What only renames
  /// registers does not count, nor does a further product.
  static SmallVector<Operation *> firstUses(Operation *product) {
    llvm::MapVector<Block *, Operation *> first;
    llvm::SmallSetVector<Value, 8> values;
    values.insert(product->getResult(0));
    for (size_t i = 0; i < values.size(); ++i)
      for (OpOperand &use : Value(values[i]).getUses()) {
        Operation *op = use.getOwner();
        if (isa<LLVM::ExtractValueOp, LLVM::InsertValueOp, LLVM::ExtractElementOp, LLVM::InsertElementOp,
                LLVM::ShuffleVectorOp>(op)) {
          values.insert(op->getResult(0));
        } else if (auto branch = dyn_cast<BranchOpInterface>(op)) {
          if (auto argument = branch.getSuccessorBlockArgument(use.getOperandNumber()))
            values.insert(*argument);
        } else if (!isa<NVVM::WgmmaMmaAsyncOp>(op) && !isSumOfHeldProduct(use)) {
          Operation *&found = first[op->getBlock()];
          if (!found || op->isBeforeInBlock(found)) found = op;
        }
      }
    SmallVector<Operation *> uses;
    for (const auto &[block, use] : first)
      uses.push_back(use);
    return uses;
  }

  LogicalResult rewriteOp(Operation *op) {
    b_.setLoc(op->getLoc());
    b_.setInsertionPoint(op);
    scope_ = 0;
    llvm::TypeSwitch<Operation *>(op) // the host has no such scopes
        .Case<LLVM::LoadOp, LLVM::StoreOp, LLVM::AtomicRMWOp, LLVM::AtomicCmpXchgOp, LLVM::FenceOp>(
            [&](auto scoped) {
              scope_ = scopeFlag(scoped.getSyncscope().value_or(""));
              scoped.removeSyncscopeAttr();
            });
    if (auto address = dyn_cast<LLVM::AddressOfOp>(op)) return rewriteAddress(address), success();
    if (auto load = dyn_cast<LLVM::LoadOp>(op)) {
      if (load.getOrdering() != LLVM::AtomicOrdering::not_atomic)
        return atomic(op, load.getAddr(), load.getType(), load.getOrdering(), false), success();
      return access(op, load.getAddr(), load.getType(), load.getAlignment(), 0), success();
    }
    if (auto store = dyn_cast<LLVM::StoreOp>(op)) {
      Type type = store.getValue().getType();
      if (store.getOrdering() != LLVM::AtomicOrdering::not_atomic)
        return atomic(op, store.getAddr(), type, store.getOrdering(), true), success();
      return access(op, store.getAddr(), type, store.getAlignment(), access_flags::kWrite), success();
    }
    if (auto trunc = dyn_cast<LLVM::FPTruncOp>(op); trunc && getElementTypeOrSelf(trunc.getType()).isBF16())
      return trunc.replaceAllUsesWith(roundToBf16(b_, trunc.getArg())), op->erase(), success();
    if (isa<LLVM::MinimumOp, LLVM::MaximumOp>(op) &&
        getElementTypeOrSelf(op->getResult(0).getType()).isF32()) {
      Value extreme = extremeOf(b_, isa<LLVM::MaximumOp>(op), op->getOperand(0), op->getOperand(1));
      return op->replaceAllUsesWith(ValueRange{extreme}), op->erase(), success();
    }
    if (auto rmw = dyn_cast<LLVM::AtomicRMWOp>(op))
      return atomic(op, rmw.getPtr(), rmw.getVal().getType(), rmw.getOrdering(), true), success();
    if (auto cas = dyn_cast<LLVM::AtomicCmpXchgOp>(op))
      return atomic(op, cas.getPtr(), cas.getVal().getType(), cas.getSuccessOrdering(), true), success();
    if (auto fence = dyn_cast<LLVM::FenceOp>(op)) {
      if (check_) call("tsr_emu_fence", nullptr, constant(orderFlags(fence.getOrdering()) | scope_), false);
      return success();
    }
    auto calls = [&](StringRef name, Type result, ValueRange operands, bool pure) {
      return call(name, result, operands, pure);
    };
    auto site = [&] { return constant(sites_.number(op)); };
    const StringRef name = op->getName().getStringRef();
    if (isa<LLVM::CallOp, LLVM::CallIntrinsicOp, LLVM::InlineAsmOp, LLVM::TanhOp>(op) ||
        !isa<LLVM::LLVMDialect>(op->getDialect())) {
      if (auto inner = dyn_cast<LLVM::CallOp>(op); inner && isDefined(inner)) return success();
      if (rewriteVendorOp(b_, op, calls, site)) return success();
      std::string what = name.str();
      if (auto inner = dyn_cast<LLVM::CallOp>(op))
        what = inner.getCallee().value_or("an indirect call").str();
      if (auto inner = dyn_cast<LLVM::CallIntrinsicOp>(op)) what = inner.getIntrin().str();
      if (auto inner = dyn_cast<LLVM::InlineAsmOp>(op)) what = "'" + inner.getAsmString().str() + "'";
      return op->emitError() << "the emulator does not execute " << what << " (TSR_UNIMPLEMENTED)";
    }
    return success();
  }

  /// Emits a call that counts the fused multiply-adds of each block of the function.
  void countMultiplyAdds(LLVM::LLVMFuncOp function) {
    for (Block &block : function.getBody()) {
      int64_t number = 0;
      for (auto fma : block.getOps<LLVM::FMAOp>()) {
        auto vector = dyn_cast<VectorType>(fma.getType());
        number += vector ? vector.getNumElements() : 1;
      }
      if (!number) continue;
      b_.setInsertionPoint(block.getTerminator());
      call("tsr_emu_count", nullptr, LLVM::ConstantOp::create(b_, b_.getI64Type(), number).getResult(),
           false);
    }
  }

  bool isDefined(LLVM::CallOp call) {
    auto callee = call.getCallee()
                      ? SymbolTable::lookupNearestSymbolFrom<LLVM::LLVMFuncOp>(call, call.getCalleeAttr())
                      : LLVM::LLVMFuncOp();
    return callee && !callee.isExternal();
  }

  void rewriteAddress(LLVM::AddressOfOp op) {
    auto found = offsets_.find(op.getGlobalName());
    if (found == offsets_.end()) return;
    Value offset = LLVM::ConstantOp::create(b_, b_.getI64Type(), found->second);
    op.replaceAllUsesWith(call("tsr_emu_shared", op.getType(), offset, true));
    op.erase();
  }

  static unsigned spaceOf(Value pointer) {
    return cast<LLVM::LLVMPointerType>(pointer.getType()).getAddressSpace();
  }
  static bool isShared(Value pointer) {
    return spaceOf(pointer) == kSharedSpace || spaceOf(pointer) == kClusterSpace;
  }
  static bool isChecked(Value pointer) { return spaceOf(pointer) == kGlobalSpace || isShared(pointer); }
  /// The operands of tsr_emu_access and tsr_emu_atomic: address, bytes, flags, site.
  SmallVector<Value> describe(Operation *op, Value pointer, Type type, uint64_t align, int32_t flags) {
    if (isShared(pointer)) flags |= access_flags::kShared;
    flags |= int32_t(llvm::Log2_64(std::max<uint64_t>(align, 1))) << access_flags::kAlignShift;
    Value plain = LLVM::AddrSpaceCastOp::create(b_, LLVM::LLVMPointerType::get(b_.getContext()), pointer);
    return {plain, constant(int32_t(layout_.getTypeSize(type))), constant(flags),
            constant(sites_.number(op))};
  }
  void access(Operation *op, Value pointer, Type type, std::optional<uint64_t> align, int32_t flags) {
    if (!check_ || !isChecked(pointer)) return;
    const uint64_t natural = layout_.getTypeABIAlignment(type);
    call("tsr_emu_access", nullptr, describe(op, pointer, type, align.value_or(natural), flags), false);
  }
  /// Atomics are executed by the host; the call before lets other lanes run, so that a lane may wait for
  /// another one in a loop.
  void atomic(Operation *op, Value pointer, Type type, LLVM::AtomicOrdering order, bool writes) {
    const int32_t flags = orderFlags(order) | scope_ | (writes ? access_flags::kWrite : 0);
    call("tsr_emu_atomic", nullptr, describe(op, pointer, type, layout_.getTypeSize(type), flags), false);
  }
  static int32_t orderFlags(LLVM::AtomicOrdering order) {
    using O = LLVM::AtomicOrdering;
    const bool both = order == O::acq_rel || order == O::seq_cst;
    return (both || order == O::acquire ? access_flags::kAcquire : 0) |
           (both || order == O::release ? access_flags::kRelease : 0);
  }

  /// By the vendors' names of scopes. What is narrower than a block counts as a block.
  static int32_t scopeFlag(StringRef scope) {
    const bool isInBlock = llvm::StringSwitch<bool>(scope)
                               .Cases({"block", "workgroup", "wavefront", "subgroup", "singlethread"}, true)
                               .Default(false);
    return isInBlock ? access_flags::kInBlock : 0;
  }

  Value constant(int32_t value) { return LLVM::ConstantOp::create(b_, b_.getI32Type(), value); }

  Value call(StringRef name, Type result, ValueRange operands, bool pure) {
    Type type = result ? result : LLVM::LLVMVoidType::get(b_.getContext());
    auto function = dyn_cast_or_null<LLVM::LLVMFuncOp>(SymbolTable::lookupSymbolIn(image_, name));
    if (!function) {
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPointToStart(&image_.getBody().front());
      SmallVector<Type> types(operands.getTypes());
      function = LLVM::LLVMFuncOp::create(b_, name, LLVM::LLVMFunctionType::get(type, types));
      function.setNoUnwind(true);
      using Effect = LLVM::ModRefInfo;
      if (pure) {
        function.setWillReturn(true);
        function.setMemoryEffectsAttr(
            LLVM::MemoryEffectsAttr::get(b_.getContext(), SmallVector<Effect>(6, Effect::NoModRef)));
      }
    }
    auto made = LLVM::CallOp::create(b_, function, operands);
    return result ? made.getResult() : Value();
  }

  /// What other vendors' translations to LLVM IR would read.
  static void removeVendorAttributes(LLVM::LLVMFuncOp function) {
    SmallVector<StringAttr> names;
    for (NamedAttribute attribute : function->getDiscardableAttrs())
      names.push_back(attribute.getName());
    for (StringAttr name : names)
      function->removeDiscardableAttr(name);
    function.setCConv(LLVM::CConv::C);
    function.removeReqdWorkGroupSizeAttr();
    function.removeIntelReqdSubGroupSizeAttr();
  }

  /// The kernel as a function of one pointer to its arguments, 8 bytes each.
  void makeEntry(LLVM::LLVMFuncOp kernel) {
    b_.setLoc(kernel.getLoc());
    b_.setInsertionPoint(kernel);
    auto pointer = LLVM::LLVMPointerType::get(b_.getContext());
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b_.getContext()), {pointer});
    auto entry = LLVM::LLVMFuncOp::create(b_, kernel.getName(), type);
    entry.getBody().takeBody(kernel.getBody());
    kernel.erase();
    Block &first = entry.getBody().front();
    b_.setInsertionPointToStart(&first);
    Value values = first.insertArgument(0u, pointer, entry.getLoc());
    while (first.getNumArguments() > 1) {
      BlockArgument last = first.getArguments().back();
      Value slot = LLVM::GEPOp::create(b_, pointer, b_.getI64Type(), values,
                                       ArrayRef<LLVM::GEPArg>{int32_t(last.getArgNumber()) - 1});
      last.replaceAllUsesWith(LLVM::LoadOp::create(b_, last.getType(), slot));
      first.eraseArgument(last.getArgNumber());
    }
  }

  target::ModuleOp image_;
  const bool check_;
  DataLayout layout_;
  ImplicitLocOpBuilder b_;
  Sites sites_;
  int32_t products_ = 0;
  int32_t scope_ = 0;                // of the operation that is rewritten, a bit of access_flags
  llvm::StringMap<int64_t> offsets_; // of the shared variables of one function
};

struct TargetEmulatePass : impl::TargetEmulateBase<TargetEmulatePass> {
  using TargetEmulateBase::TargetEmulateBase;

  void runOnOperation() final {
    for (auto image : getOperation().getOps<target::ModuleOp>())
      if (failed(Image(image, check).rewrite())) return signalPassFailure();
  }
};

} // namespace
} // namespace tessera::emulate
