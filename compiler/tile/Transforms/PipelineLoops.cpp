// tile-pipeline-loops (normative phase 4): copies what a loop multiplies some steps ahead, into rings of
// buffers.
//
//   %a = tile.alloc_shared                       %r = tile.alloc_shared : ring of 3 buffers
//   scf.for %k = %lo to %hi step %s {            copy step 0 to %r[0], commit; copy step 1 to %r[1], commit
//     tile.cp_async %A[%k] to %a                 scf.for %k = %lo to %hi step %s iter_args(%i = 0) {
//     tile.barrier                        ->       tile.wait_group 1
//     tile.mma %a, ...                             if (%k + 2 * %s < %hi) copy that step to %r[%i + 2 mod 3]
//     tile.barrier                                 tile.commit_group
//   }                                              tile.mma %r[%i], ...
//                                                  yield %i + 1 mod 3 }
//
// A step past the end copies nothing and ends its group, so that each wait has the same number. The wait is a
// barrier, too: what the step before has read may be overwritten after it. It runs after fusion, when it is
// known how much shared memory is free and which tiles are factors in memory, and before the last plan.
//
// If the target copies boxes of tensors, a kernel gets a variant whose rings are filled that way, for
// launches that allow it:
//
//   scf.for ... iter_args(%i = 0, %phase = 0) {
//     tile.await_bytes %full[%i] phase %phase
//     tile.mma %r[%i], ... {in_flight}
//     tile.barrier
//     if (%k + 2 * %s < %hi) { tile.expect_bytes in %full[%i - 1]; tile.copy_box that step to %r[%i - 1] }
//   }
//
// A step that does more than add to sums has the barrier before its product.
//
// Where a block has a unit for itself, warps of their own start the copies (tile.roles), in a loop of their
// own, into buffers that the others have released. The others then have no barrier:
//
//   copy: scf.for ... { await %free[%i]; expect bytes in %full[%i]; copy that step to %r[%i] }
//   math: scf.for ... { await %full[%i]; tile.mma %r[%i], ... {in_flight}; tile.arrive %free[%i - 1] }
//
// Programs of a cluster (schedule.block) that copy the same tile copy a part of it each, to all of them. A
// buffer is free when the warps of all programs have read theirs:
//
//   copy: ... tile.copy_box ... {multicast}      math: ... tile.arrive %free[%i - 1] {in_cluster}
//
// A step that does more than add to sums, as that of attention, has roles where schedule.block asks for them.
// It releases its own buffer, at its end.
//
// With `pingpong` its groups of four warps take turns: one has the turn from the product that uses the
// weights of a step to the one that computes the scores of the next, so that the others do their work between
// the two beside it:
//
//   math: tile.await_turn
//         scf.for ... { await %full[%i]; tile.mma; tile.pass_turn; ...; tile.await_turn; tile.mma;
//         tile.arrive %free[%i] } tile.pass_turn
//
// Products whose sums are in tensor memory are started by a warp of its own, and the others store the sums.
// With two sets of sums they do so while the products of the next program run:
//
//   multiply: await %unused[%s]; scf.for ... { await %full[%i]; tile.mma; tile.commit_products %free[%i] }
//             tile.commit_products %done[%s]
//   math: await %done[%s]; tile.take_sums[%s]; tile.arrive %unused[%s]; ...
//
// What such a kernel stores of whole tiles in registers is stored in boxes, too (tile.store_box), if a box of
// each warp fits beside the rings.
//
// If their grid is persistent, all parts are in a loop over the block's programs, which carries %i, %s
// and phases: the copies of a program start while the one before it is stored.
#include "compiler/support/DiagnosticCode.h"
#include "compiler/tile/IR/KernelChecks.h"
#include "compiler/tile/IR/KernelVariants.h"
#include "compiler/tile/Transforms/BoxCopies.h"
#include "compiler/tile/Transforms/BoxStores.h"
#include "compiler/tile/Transforms/LoopPipeline.h"
#include "compiler/tile/Transforms/MemoryPlan.h"
#include "compiler/tile/Transforms/Passes.h"
#include "compiler/tile/Transforms/TileUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/FormatVariadic.h"

namespace tessera {
#define GEN_PASS_DEF_TILEPIPELINELOOPS
#include "compiler/tile/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::tile;

namespace {

/// How the copies of a kernel's loops are to be done.
enum class Kind { Async, Boxes };

struct PipelineLoops : impl::TilePipelineLoopsBase<PipelineLoops> {
  using impl::TilePipelineLoopsBase<PipelineLoops>::TilePipelineLoopsBase;

  void runOnOperation() override {
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<KernelOp>())) {
      OwningOpRef<KernelOp> other, clustered;
      if (boxes && mayHaveVariants(kernel)) other = kernel.clone();
      // Only the variant can have roles.
      auto roles = dyn_cast_or_null<schedule::BlockAttr>(kernel->removeAttr(schedule::kBlock));
      if (roles && !other) {
        (void)refuseRoles(kernel, boxes ? "the kernel has reports, or variants of its own"
                                        : target + " does not copy boxes of tensors");
        return signalPassFailure();
      }
      if (roles && roles.programsOfCluster() > 1) { // the other variant is for grids that it does not divide
        clustered = other->clone();
        (*other)->setAttr(schedule::kBlock, roles.withoutCluster());
      }
      if (failed(pipeline(kernel, Kind::Async))) return signalPassFailure();
      if (!other) continue;
      SmallVector<StoreOp> ofCluster;
      if (clustered) {
        ofCluster = findBoxStores(*clustered);
        if (failed(pipeline(*clustered, Kind::Boxes))) return signalPassFailure();
      }
      const SmallVector<StoreOp> stores = findBoxStores(*other);
      if (failed(pipeline(*other, Kind::Boxes))) return signalPassFailure();
      if (views_.empty() && !whyNoBoxes_.empty())
        addFallbacks(kernel, {backend + ": no boxes of tensors are copied: " + whyNoBoxes_});
      if (!views_.empty()) addVariants(kernel, {std::move(clustered), ofCluster}, {std::move(other), stores});
    }
  }

private:
  /// Pipelines the kernel's loops. With Kind::Boxes, `views_` are the tensors that are copied so.
  LogicalResult pipeline(KernelOp kernel, Kind kind) {
    kind_ = kind;
    lines_.clear();
    views_.clear();
    columns_ = {};
    whyNoBoxes_.clear();
    demandedRoles_ = dyn_cast_or_null<schedule::BlockAttr>(kernel->removeAttr(schedule::kBlock));
    roles_ = {};
    whyNoRoles_.clear();
    int64_t deepest = 1;
    SmallVector<scf::ForOp> loops;
    kernel.walk([&](scf::ForOp loop) {
      if (!loop->hasAttr(kLanes)) loops.push_back(loop);
    });
    for (scf::ForOp loop : loops) {
      FailureOr<int64_t> depth = pipeline(kernel, loop);
      if (failed(depth)) return failure();
      deepest = std::max(deepest, *depth);
    }
    if (demandedRoles_ && !roles_)
      return refuseRoles(kernel, whyNoRoles_.empty() ? "no loop of the kernel copies boxes" : whyNoRoles_);
    Builder b(&getContext());
    NamedAttrList decisions(kernel.getDecisionsAttr());
    if (!loops.empty()) decisions.set("stages", b.getI64IntegerAttr(deepest));
    if (roles_) decisions.set("copy_warps", b.getI64IntegerAttr(roles_.getCopyWarps()));
    if (roles_ && roles_.getMultiplyWarps()) {
      decisions.set("multiply_warps", b.getI64IntegerAttr(roles_.getMultiplyWarps()));
      decisions.set("sets_of_sums", b.getI64IntegerAttr(roles_.getSums()));
    }
    if (roles_ && roles_.getPingpong())
      decisions.set("pingpong_groups", b.getI64IntegerAttr(roles_.mathGroups()));
    if (const int64_t programs = kernel.programsOfCluster(); programs > 1)
      decisions.set("cluster", b.getI64IntegerAttr(programs));
    if (!decisions.empty()) kernel.setDecisionsAttr(decisions.getDictionary(&getContext()));
    addFallbacks(kernel, lines_);
    return success();
  }

  /// A kernel that copies boxes, and what it may store so.
  struct Variant {
    OwningOpRef<KernelOp> kernel;
    SmallVector<StoreOp> stores;
  };

  /// Makes `boxes` a variant of `general`, for the launches in which its copies are possible, and `clustered`
  /// one for those of these whose grid its clusters divide. Where stores are possible in fewer launches than
  /// the copies, a variant with both comes before one that only copies boxes.
  void addVariants(KernelOp general, Variant clustered, Variant boxes) {
    std::vector<MetadataVariant> variants;
    auto add = [&](OwningOpRef<KernelOp> &owned, StringRef name, ArrayRef<Value> stored) {
      KernelOp kernel = owned.release();
      MetadataVariant &variant = variants.emplace_back();
      variant.name = variant.body = name.str();
      variant.entry = general.getSymName().str() + "." + variant.name;
      SmallVector<Value> views = llvm::to_vector(views_.getArrayRef());
      llvm::append_range(views, stored);
      variant.when = boxConditions(general, views);
      llvm::append_range(variant.when, columns_.list());
      kernel.setSymName(variant.entry);
      general->getBlock()->getOperations().insert(std::next(general->getIterator()), kernel);
      return kernel;
    };
    const bool isStricter = narrowsLaunches(general, boxes.stores);
    if (clustered.kernel) {
      SmallVector<Value> stored;
      if (!isStricter) stored = store(clustered);
      KernelOp kernel = add(clustered.kernel, kCluster, stored);
      for (const IndexExpr &rest : restsOfClusters(kernel))
        if (!rest.asConstant()) variants.back().when.push_back(rest.text() + " == 0");
    }
    OwningOpRef<KernelOp> copying;
    if (isStricter) copying = boxes.kernel->clone();
    const SmallVector<Value> stored = store(boxes);
    const bool hasBoth = copying && !stored.empty();
    add(boxes.kernel, hasBoth ? kStores : kBoxes, stored);
    if (hasBoth) add(copying, kBoxes, {});
    MetadataVariant &last = variants.emplace_back();
    last.name = last.body = "async";
    general->setAttr(kVariants, describeVariants(&getContext(), variants));
  }

  bool narrowsLaunches(KernelOp general, ArrayRef<StoreOp> stores) {
    SmallVector<Value> all = llvm::to_vector(views_.getArrayRef());
    for (StoreOp store : stores)
      all.push_back(store.getView());
    return areStricter(boxConditions(general, all), boxConditions(general, views_.getArrayRef()));
  }

  /// Stores what the variant can store by boxes beside its rings. Returns the tensors.
  SmallVector<Value> store(Variant &variant) {
    KernelOp kernel = *variant.kernel;
    const int64_t used =
        scratchBytesWithout(kernel, {}) + exchangeBytes(kernel, kernel.getThreads().value_or(threads));
    const bool hasRoles = !kernel.getBody().getOps<RolesOp>().empty();
    // Two blocks that share a unit keep doing so.
    const int64_t most = !hasRoles && 2 * used <= sharedBytes ? sharedBytes / 2 : int64_t(sharedBytes);
    SmallVector<Value> views = storeBoxes(kernel, variant.stores, most - used);
    if (views.empty()) return views;
    NamedAttrList decisions(kernel.getDecisionsAttr());
    decisions.set("box_stores", Builder(&getContext()).getI64IntegerAttr(std::ssize(views)));
    kernel.setDecisionsAttr(decisions.getDictionary(&getContext()));
    return views;
  }

  static InFlightDiagnostic refuse(Operation *op, const llvm::Twine &decision, const llvm::Twine &why,
                                   const llvm::Twine &how) {
    InFlightDiagnostic error = op->emitError() << decision << ": " << why;
    setCode(error, "E_IR_INVALID");
    setHint(error, how.str());
    return error;
  }
  static LogicalResult refuseRoles(KernelOp kernel, const llvm::Twine &why) {
    return refuse(kernel, "schedule.block", why, "without it the threads that compute start the copies");
  }

  /// Chooses the roles of the warps that execute the loop, whose copies are boxes.
  LogicalResult chooseRoles(KernelOp kernel, Pipelining &pipelining) {
    const bool inTensorMemory = pipelining.sumsInTensorMemory();
    whyNoRoles_ = registers || inTensorMemory ? pipelining.whyNotRoles()
                                              : target + " has no roles of warps for this loop";
    if (!whyNoRoles_.empty()) return success();
    const int64_t warps = int64_t(kernel.getThreads().value_or(threads)) / kWarpLanes;
    if (demandedRoles_) {
      roles_ = demandedRoles_;
      std::string why = inTensorMemory ? pipelining.whyNotTensorRoles(roles_, warps)
                        : roles_.getMultiplyWarps()
                            ? "role multiply is for products with sums in tensor memory"
                            : whyNotOnUnit(roles_, warps, pipelining.sumsOfLane(), registers);
      if (why.empty() && roles_.getPersistent()) why = pipelining.whyNotPersistent();
      if (why.empty() && roles_.getPingpong()) why = pipelining.whyNotPingpong();
      if (why.empty() && roles_.programsOfCluster() > 1) {
        why = pipelining.whyNotCluster(roles_);
        kernel.setCluster(ArrayRef<int64_t>{roles_.getClusterRows(), roles_.getClusterColumns()});
      }
      if (!why.empty()) return refuseRoles(kernel, why);
    } else if (!inTensorMemory && pipelining.sumsOfLane() > kSumsOfTwoBlocks) {
      // One block on a unit has nobody to wait for it. Groups of a loop such as attention's take turns.
      const bool onlyAdds = pipelining.onlyAddsToSums();
      if (onlyAdds || pipelining.whyNotPingpong().empty())
        roles_ = usualRoles(&getContext(), warps, pipelining.sumsOfLane(), registers,
                            /*isPingpong=*/!onlyAdds, onlyAdds && pipelining.whyNotPersistent().empty());
    }
    pipelining.useRoles(roles_);
    return success();
  }

  /// Bytes of shared memory that the kernel needs beside the rings of the loop.
  int64_t bytesBeside(KernelOp kernel, Pipelining &pipelining) {
    const int64_t scratch = scratchBytesWithout(kernel, pipelining.replaced());
    return (scratch ? scratch + kRingAlign : 0) + // a ring may begin at a further multiple
           exchangeBytes(kernel, kernel.getThreads().value_or(threads));
  }

  /// Returns the number of stages that the loop has then.
  FailureOr<int64_t> pipeline(KernelOp kernel, scf::ForOp loop) {
    auto decided = dyn_cast_or_null<IntegerAttr>(loop->removeAttr(schedule::kStages)),
         hint = dyn_cast_or_null<IntegerAttr>(loop->removeAttr(schedule::kMostStages));
    auto copy = dyn_cast_or_null<StringAttr>(loop->removeAttr(schedule::kCopy));
    const int64_t wanted = decided ? decided.getInt() : hint ? hint.getInt() : int64_t(stages);
    auto report = [&](const llvm::Twine &what) {
      if (decided || hint) lines_.insert(llvm::formatv("{0}: stages={1} {2}", backend, wanted, what.str()));
    };
    auto refuse = [&](const llvm::Twine &decision, const llvm::Twine &why, const llvm::Twine &how) {
      return PipelineLoops::refuse(loop, decision, why, how);
    };
    Pipelining pipelining(loop, kernel);
    const bool demandsBoxes = copy && copy.getValue() == kBoxes;
    std::string why = wanted < 2 ? "it has one stage" : pipelining.analyse(), whyNoBoxes = why;
    if (whyNoBoxes.empty() && !(copy && !demandsBoxes) && (kind_ == Kind::Boxes || demandsBoxes))
      whyNoBoxes = !boxes                     ? target + " does not copy boxes of tensors"
                   : !mayHaveVariants(kernel) ? "the kernel has reports, or variants of its own"
                   : !views_.empty()          ? "another loop of the kernel copies boxes"
                                              : pipelining.whyNotBoxes();
    if (demandsBoxes && !whyNoBoxes.empty())
      return refuse("schedule.copy = \"tma\"", whyNoBoxes,
                    "\"async\", or no decision, copies pieces of rows by every thread");
    if (wanted < 2) return 1;
    if (!why.empty()) return report("has no effect: " + why), 1;
    if (kind_ == Kind::Boxes && !copy && whyNoBoxes_.empty()) whyNoBoxes_ = whyNoBoxes;
    const bool usesBoxes = kind_ == Kind::Boxes && whyNoBoxes.empty() && (!copy || demandsBoxes);
    pipelining.useBoxes(usesBoxes);
    auto bytesOf = [&, beside = bytesBeside(kernel, pipelining)](int64_t depth) {
      return beside + pipelining.bytesOf(depth);
    };
    int64_t depth = wanted;
    while (depth > 1 && bytesOf(depth) > sharedBytes)
      --depth;
    if (depth < wanted) {
      const std::string amount = llvm::formatv("it needs {0} bytes of shared memory, {1} has {2}",
                                               bytesOf(wanted), backend, sharedBytes);
      if (usesBoxes && (depth < 2 || decided)) whyNoRoles_ = "a loop copies no boxes: " + amount;
      if (usesBoxes && decided && !demandsBoxes) return 1; // the other variant has them
      if (decided)
        return refuse("schedule.stages = " + llvm::Twine(wanted), amount,
                      llvm::formatv("at most {0} fit; smaller tiles leave room for more", depth).str());
      report(depth > 1 ? "is reduced to " + std::to_string(depth) + ": " + amount
                       : "has no effect: " + amount);
    }
    if (depth < 2 && demandsBoxes)
      return refuse("schedule.copy = \"tma\"", "two stages do not fit into shared memory",
                    "smaller tiles do");
    if (depth < 2) return 1;
    if (usesBoxes) {
      views_.insert_range(pipelining.views());
      columns_ = pipelining.columnConditions();
      if (failed(chooseRoles(kernel, pipelining))) return failure();
    }
    pipelining.apply(depth);
    return depth;
  }

  static constexpr llvm::StringLiteral kBoxes = "tma", kStores = "tma_store", kCluster = "cluster";
  Kind kind_ = Kind::Async;
  std::set<std::string> lines_;
  llvm::SmallSetVector<Value, 4> views_;
  LaunchConditions columns_; // of the boxes that are copied
  std::string whyNoBoxes_;   // a loop that copies without them
  schedule::BlockAttr demandedRoles_, roles_;
  std::string whyNoRoles_;
};

} // namespace
} // namespace tessera
