// cpu-outline: cuts a large function into private ones of bounded size.
//
//   func @k { nest1; nest2; ... nest900 }   ->   func @k { call @k.part0(..); ... call @k.part28(..) }
//
// A program of thousands of tile statements is thousands of loop nests in one function, and much of LLVM's
// work on a function (loop analyses, register allocation, block placement) grows faster than the function.
// With functions of bounded size the total stays linear. Small kernels, which is nearly all of them, stay one
// function. The pass runs right after the tiles have become loops, so that every later pass sees the small
// functions too.
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "plugins/cpu/codegen/Lowering.h"
#include "plugins/cpu/codegen/Passes.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tessera::cpu {
#define GEN_PASS_DEF_CPUOUTLINE
#include "plugins/cpu/codegen/Passes.h.inc"

namespace {

int64_t sizeOf(Operation *op) {
  int64_t n = 0;
  op->walk([&](Operation *) { ++n; });
  return n;
}

/// Returns whether an operation is copied to its users. Addresses are: a part receives pointers only as the
/// function received or loaded them, so that "no alias" of the scratch stays true in it.
bool isCopied(Operation *op) { return op->hasTrait<OpTrait::ConstantLike>() || isa<LLVM::GEPOp>(op); }

class Outliner {
public:
  Outliner(func::FuncOp function, int64_t part) : function_(function), partSize_(part) {}

  void run() { cut(function_.getBody().front()); }

private:
  func::FuncOp function_;
  int64_t partSize_;
  int parts_ = 0;

  /// Consecutive operations of one block that may become a part. Pure operations that use no result of them
  /// stay in front of the part.
  struct Candidate {
    SmallVector<Operation *> ops;
    llvm::SmallPtrSet<Operation *, 32> members;
    int64_t size = 0;
    int64_t openUses = 0; // uses of results by operations that are not (yet) members

    bool needs(Operation *op) const {
      return op
          ->walk([&](Operation *inner) {
            bool found = llvm::any_of(inner->getOperands(), [&](Value v) { return isResult(v); });
            return found ? WalkResult::interrupt() : WalkResult::advance();
          })
          .wasInterrupted();
    }
    bool isResult(Value v) const { return v.getDefiningOp() && members.contains(v.getDefiningOp()); }

    void add(Operation *op, int64_t operations) {
      op->walk([&](Operation *inner) {
        openUses -= llvm::count_if(inner->getOperands(), [&](Value v) { return isResult(v); });
      });
      for (Value result : op->getResults())
        openUses += std::distance(result.use_begin(), result.use_end());
      ops.push_back(op);
      members.insert(op);
      size += operations;
    }
  };

  /// Cuts inner blocks first: their remaining operations count for the outer ones. Returns the number of
  /// operations left.
  int64_t cut(Block &block) {
    int64_t left = 0;
    Candidate part;
    auto finish = [&](int64_t least) {
      if (part.size >= least && part.openUses == 0) {
        outline(part.ops);
        ++left;
      } else {
        left += part.size;
      }
      part = {};
    };
    for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
      int64_t own = 1;
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          own += cut(inner);
      if (isPure(&op) && !part.needs(&op)) {
        left += own;
        continue;
      }
      part.add(&op, own);
      if (part.size >= partSize_ && part.openUses == 0) finish(partSize_);
    }
    finish(partSize_ / 4);
    return left + 1;
  }

  /// Moves `ops`, whose results have no other users, into a function of their own, which is called in the
  /// place of the last one.
  void outline(ArrayRef<Operation *> ops) {
    llvm::SetVector<Value> captured;
    llvm::SetVector<Operation *> copied; // operands before users
    llvm::SmallPtrSet<Operation *, 32> inside(ops.begin(), ops.end());
    auto isInside = [&](Value v) {
      Operation *at = v.getDefiningOp() ? v.getDefiningOp() : v.getParentBlock()->getParentOp();
      for (; at; at = at->getParentOp())
        if (inside.contains(at)) return true;
      return false;
    };
    std::function<void(Value)> capture = [&](Value v) {
      if (isInside(v)) return;
      Operation *from = v.getDefiningOp();
      if (!from || !isCopied(from)) return void(captured.insert(v));
      llvm::for_each(from->getOperands(), capture);
      copied.insert(from);
    };
    for (Operation *op : ops)
      op->walk([&](Operation *inner) { llvm::for_each(inner->getOperands(), capture); });

    OpBuilder b(function_);
    Location loc = ops.back()->getLoc();
    auto type = b.getFunctionType(
        llvm::to_vector(captured).empty() ? TypeRange() : TypeRange(ValueRange(captured.getArrayRef())),
        TypeRange());
    auto part = func::FuncOp::create(b, loc, (function_.getName() + ".part" + Twine(parts_++)).str(), type);
    part.setPrivate();
    Block *body = part.addEntryBlock();
    IRMapping map;
    for (auto [value, argument] : llvm::zip(captured, body->getArguments())) {
      map.map(value, argument);
      // The attributes of the function's own arguments also hold for the part.
      auto own = dyn_cast<BlockArgument>(value);
      if (own && own.getOwner() == &function_.getBody().front())
        part.setArgAttrs(argument.getArgNumber(), function_.getArgAttrDict(own.getArgNumber()));
    }
    b.setInsertionPointToStart(body);
    for (Operation *op : copied)
      b.clone(*op, map);
    OpBuilder at(ops.back()->getContext());
    at.setInsertionPointAfter(ops.back());
    func::CallOp::create(at, loc, part, captured.getArrayRef());
    for (Operation *op : ops) {
      op->moveBefore(body, body->end());
      op->walk([&](Operation *inner) {
        for (OpOperand &operand : inner->getOpOperands())
          if (Value here = map.lookupOrNull(operand.get())) operand.set(here);
      });
    }
    b.setInsertionPointToEnd(body);
    func::ReturnOp::create(b, loc);
  }
};

struct OutlinePass : impl::CpuOutlineBase<OutlinePass> {
  using CpuOutlineBase::CpuOutlineBase;
  void runOnOperation() final {
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (sizeOf(function) > large) Outliner(function, part).run();
  }
};

} // namespace

} // namespace tessera::cpu
