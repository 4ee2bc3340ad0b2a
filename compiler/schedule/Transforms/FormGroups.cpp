// schedule-form-groups (normative phase 2, the decisions about whole tensors): decides which operations of a
// graph function share a kernel, and with which tiles.
//
//   %0 = graph.matmul %x, %w              %1 = schedule.group matmul(%x, %w, %b) {tile = [96, 256, 256]} {
//   %1 = graph.binary add %0, %b    ->      ... both operations ...
//                                         }
//
// A product that a library computes is a group by itself.
//
// An operation joins the latest group that computes one of its operands, if that group's space accepts it
// (GroupSpace) and everything else it reads has been computed before that group. Each group is therefore at
// the point where its last input is known. Elementwise groups that it joins to one are merged. An operation
// that only reductions read joins them rather than a product's epilogue, which would have to store it. A cast
// to a wider type and a slice are computed in each group that reads them: loading the narrow or larger tensor
// is cheaper than storing and loading another one. Then elementwise groups of whole tensors are collapsed to
// one axis, and the target proposes variants of each group but the products whose tile the program requests
// (@ts.op.specialize).
#include "compiler/schedule/IR/GroupSpace.h"
#include "compiler/schedule/Transforms/CollapseAxes.h"
#include "compiler/schedule/Transforms/EmitGroup.h"
#include "compiler/schedule/Transforms/Passes.h"
#include "compiler/schedule/Transforms/ProposeVariants.h"
#include "compiler/schedule/Transforms/TileSizes.h"
#include "compiler/schedule/Transforms/Variants.h"
#include "llvm/ADT/SetVector.h"

namespace tessera {
#define GEN_PASS_DEF_SCHEDULEFORMGROUPS
#include "compiler/schedule/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::schedule;

namespace {

/// A group being formed, or a single operation (a launch, a reshape, a constant).
struct Node {
  GroupSpace space;
  SmallVector<Operation *> ops;
  bool isGroup = false;
  llvm::SmallDenseMap<Operation *, Value> copies; // the group's own, of casts and slices that wait
};

class GroupFormation {
public:
  GroupFormation(graph::FuncOp function, const codegen::Target &target)
      : function_(function), b_(function.getContext()), target_(target) {
    auto fusion = function->getAttrOfType<StringAttr>(tile::kFusion);
    fuses_ = !fusion || fusion.getValue() != "none";
  }

  LogicalResult run() {
    Block &body = function_.getBody().front();
    for (auto launch : body.getOps<graph::LaunchOp>())
      for (OpOperand &operand : launch->getOpOperands())
        if (launch.writes(operand.getOperandNumber()))
          overwrittenBy_[graph::storageOf(operand.get())] = launch;
    for (Operation &op : llvm::make_early_inc_range(body.without_terminator()))
      if (failed(place(&op))) return failure();
    for (Operation *op : waiting_)
      if (op->use_empty()) op->erase();
    b_.setInsertionPoint(body.getTerminator());
    for (Operation *op : uniforms_)
      op->moveBefore(body.getTerminator()); // before the groups that clone them
    for (Node &node : nodes_) {
      if (node.isGroup)
        emitGroup(b_, {node.space, node.ops, uniforms_}, function_, target_);
      else
        node.ops.front()->moveBefore(body.getTerminator());
    }
    for (Operation *op : llvm::reverse(uniforms_))
      op->erase();
    return success();
  }

private:
  bool isUniform(Value v) const { return uniforms_.contains(v.getDefiningOp()); }

  /// Every group computes uniform values for itself. Only those that the host needs as a tensor get a kernel.
  bool placeUniform(Operation *op) {
    if (op->getNumResults() != 1 || !isa<graph::TensorType>(op->getResult(0).getType())) return false;
    if (!isUniformOp(op, [&](Value v) { return isUniform(v); })) return false;
    for (Operation *user : op->getUsers())
      if (isa<graph::ReturnOp, graph::LaunchOp, graph::ReshapeOp, GroupOp>(user)) return false;
    uniforms_.insert(op);
    return true;
  }

  static bool isTensorOp(Operation *op) {
    return op->getNumResults() == 1 && isa<graph::TensorType>(op->getResult(0).getType()) &&
           !isa<graph::ReshapeOp, graph::EmptyOp, graph::LaunchOp, GroupOp>(op);
  }

  /// Returns the cast or slice that computes an operand, if it is not part of a group yet.
  Operation *waitingOp(Value v) const {
    Operation *op = v.getDefiningOp();
    return op && waiting_.contains(op) && !nodeOf_.contains(v) ? op : nullptr;
  }

  static bool isWidening(Operation *op) {
    auto cast = dyn_cast<graph::CastOp>(op);
    auto input = cast ? dyn_cast<graph::TensorType>(cast.getInput().getType()) : graph::TensorType();
    return input && input.getElementType().getIntOrFloatBitWidth() <
                        cast.getType().getElementType().getIntOrFloatBitWidth();
  }

  /// Does a launch after `op` write to the memory of `v`?
  bool isOverwrittenAfter(Operation *op, Value v) const {
    Operation *launch = overwrittenBy_.lookup(graph::storageOf(v));
    return launch && op->isBeforeInBlock(launch);
  }

  /// A cast to a wider type and a slice are not placed until an operation reads them.
  bool placeLater(Operation *op) {
    if (!fuses_ || op->use_empty() || !(isWidening(op) || isa<graph::SliceOp>(op))) return false;
    if (waitingOp(op->getOperand(0)) || isOverwrittenAfter(op, op->getOperand(0))) return false;
    if (!llvm::all_of(op->getUsers(), isTensorOp)) return false;
    waiting_.insert(op);
    return true;
  }

  LogicalResult place(Operation *op) {
    if (placeUniform(op) || placeLater(op)) return success();
    const bool isGroup = isTensorOp(op);
    if (isGroup && fuses_ && join(op)) return success();
    Node node;
    node.isGroup = isGroup;
    bool waits = llvm::any_of(op->getOperands(), [&](Value v) { return waitingOp(v); });
    if (waits && add(node, op)) { // they get a group of their own
      for (Value operand : op->getOperands())
        if (Operation *read = waitingOp(operand))
          if (failed(begin(/*isGroup=*/true, read))) return failure();
      if (join(op)) return success();
      waits = false;
    }
    if (!waits) return begin(isGroup, op);
    finish(std::move(node));
    return success();
  }

  LogicalResult begin(bool isGroup, Operation *op) {
    Node node;
    node.isGroup = isGroup;
    if (!node.isGroup)
      node.ops.push_back(op);
    else if (GroupSpace::Refusal refusal = add(node, op))
      return op->emitOpError() << "has no schedule: " << *refusal;
    finish(std::move(node));
    return success();
  }

  void finish(Node node) {
    for (Operation *op : node.ops)
      for (Value result : op->getResults())
        nodeOf_[result] = nodes_.size();
    nodes_.push_back(std::move(node));
  }

  /// Adds the operation to the group, after copies of the casts and slices that it waits for. Changes nothing
  /// if it is refused.
  [[nodiscard]] GroupSpace::Refusal add(Node &node, Operation *op) {
    GroupSpace space = node.space;
    SmallVector<std::pair<OpOperand *, Value>> before;
    SmallVector<std::pair<Operation *, Operation *>> copies;
    auto undo = [&](GroupSpace::Refusal refusal) {
      for (auto [operand, value] : before)
        operand->set(value);
      for (auto [original, copy] : copies)
        copy->erase();
      return refusal;
    };
    for (OpOperand &operand : op->getOpOperands()) {
      Operation *original = waitingOp(operand.get());
      if (!original) continue;
      Value copy = node.copies.lookup(original);
      for (auto [other, made] : copies)
        if (other == original) copy = made->getResult(0);
      if (!copy) {
        Operation *made = OpBuilder(op).clone(*original);
        copies.emplace_back(original, made);
        copy = made->getResult(0);
      }
      before.emplace_back(&operand, operand.get());
      operand.set(copy);
    }
    for (auto [original, copy] : copies) // a slice may be a part of a concat: its reader is known
      if (auto refusal = space.add(copy)) return undo(std::move(refusal));
    if (auto refusal = space.add(op)) return undo(std::move(refusal));
    node.space = std::move(space);
    for (auto [original, copy] : copies) {
      node.copies[original] = copy->getResult(0);
      node.ops.push_back(copy);
    }
    node.ops.push_back(op);
    return std::nullopt;
  }

  /// Do only reductions read it? A group that cannot reduce would have to store it for them.
  static bool isForReductions(Operation *op) {
    return !op->use_empty() && llvm::all_of(op->getUsers(), [](Operation *user) {
      auto reduce = dyn_cast<graph::ReduceOp>(user);
      return reduce && reduce.getAxes().size() == 1;
    });
  }

  /// Does nothing but this concat, and what leads to it, read the groups of its operands? It is its group's
  /// only result.
  bool areForOnly(graph::ConcatOp op) const {
    llvm::SmallDenseSet<size_t> own;
    for (Value operand : op->getOperands())
      if (auto it = nodeOf_.find(operand); it != nodeOf_.end()) own.insert(it->second);
    return llvm::all_of(own, [&](size_t node) {
      return llvm::all_of(nodes_[node].ops, [&](Operation *inside) {
        return llvm::all_of(inside->getUsers(), [&](Operation *user) {
          if (user == op.getOperation()) return true;
          if (user->getNumResults() == 0) return false;
          auto it = nodeOf_.find(user->getResult(0));
          return it != nodeOf_.end() && own.contains(it->second);
        });
      });
    });
  }

  bool join(Operation *op) {
    auto concat = dyn_cast<graph::ConcatOp>(op);
    if (concat && !(GroupSpace::interleavesParts(concat) && areForOnly(concat))) return false;
    std::optional<size_t> latest;
    for (Value operand : op->getOperands()) {
      if (Operation *original = waitingOp(operand)) operand = original->getOperand(0);
      if (auto it = nodeOf_.find(operand); it != nodeOf_.end() && !isConstant(operand))
        latest = std::max(latest.value_or(0), it->second);
    }
    if (!latest) return false;
    if (concat) // only groups of the parts' extents are merged
      for (Value operand : op->getOperands())
        if (auto it = nodeOf_.find(operand); it != nodeOf_.end() && it->second != *latest)
          merge(it->second, *latest);
    Node &node = nodes_[*latest];
    if (!node.isGroup || isLibraryCall(node) || computedBy(node) >= kMaxGroupOperations) return false;
    if (node.space.kind() == GroupKind::Matmul && isForReductions(op)) return false;
    if (add(node, op)) return false;
    for (Operation *added : node.ops) // also the copies of what it reads
      nodeOf_[added->getResult(0)] = *latest;
    for (Value operand : op->getOperands())
      if (auto it = nodeOf_.find(operand); it != nodeOf_.end() && it->second != *latest)
        merge(it->second, *latest);
    return true;
  }

  /// Computes an elementwise group in a later one of the same extents that reads it: in a * b + c * d both
  /// products begin a group. Nothing between the two may read the first or write to what it reads.
  void merge(size_t first, size_t second) {
    Node &from = nodes_[first], &to = nodes_[second];
    auto isElementwise = [](Operation *op) { return isElementwiseOp(op) || isa<graph::SliceOp>(op); };
    if (!from.isGroup || computedBy(from) + computedBy(to) > kMaxGroupOperations) return;
    if (to.ops.front()->hasAttr(schedule::kDecision)) return; // a group's is that of its first operation
    for (const Node *node : {&from, &to})
      if (node->space.kind() != GroupKind::Map || !llvm::all_of(node->ops, isElementwise)) return;
    if (from.space.space().getDims() != to.space.space().getDims()) return;
    for (Operation *op : from.ops) {
      for (Value operand : op->getOperands())
        if (isa<graph::TensorType>(operand.getType()) && overwrittenBy_.contains(graph::storageOf(operand)))
          return;
      for (Operation *user : op->getUsers()) {
        // A kernel that only reads has no results, nor has the function's return.
        if (user->getNumResults() == 0) {
          if (user->isBeforeInBlock(to.ops.back())) return;
          continue;
        }
        auto it = nodeOf_.find(user->getResult(0));
        if (it != nodeOf_.end() && it->second > first && it->second < second) return;
      }
    }
    GroupSpace space = from.space;
    for (Operation *op : to.ops)
      if (space.add(op)) return;
    to.space = std::move(space);
    to.ops.insert(to.ops.begin(), from.ops.begin(), from.ops.end());
    to.copies.insert(from.copies.begin(), from.copies.end());
    for (Operation *op : from.ops)
      nodeOf_[op->getResult(0)] = second;
    from.ops.clear(); // and no longer creates a group
  }

  static int64_t computedBy(const Node &node) {
    return llvm::count_if(node.ops, [](Operation *op) { return !isa<graph::SliceOp>(op); });
  }

  static bool isLibraryCall(const Node &node) { return chosenVariant(node.ops.front()) == kBlas; }

  graph::FuncOp function_;
  OpBuilder b_;
  const codegen::Target &target_;
  bool fuses_ = true;
  std::vector<Node> nodes_; // in execution order
  DenseMap<Value, size_t> nodeOf_;
  llvm::SetVector<Operation *> uniforms_;
  llvm::SetVector<Operation *> waiting_;             // casts to wider types, and slices
  llvm::DenseMap<Value, Operation *> overwrittenBy_; // by the value whose memory it is: the last such launch
};

struct ScheduleFormGroups : impl::ScheduleFormGroupsBase<ScheduleFormGroups> {
  using ScheduleFormGroupsBase::ScheduleFormGroupsBase;

  void runOnOperation() override {
    auto found = codegen::findTarget(target);
    if (!found) {
      getOperation().emitError() << found.error().message;
      return signalPassFailure();
    }
    const codegen::Target &known = **found;
    Block &body = getOperation().getBody().front();
    // The groups of a text have the variants that are written there, or none.
    const llvm::DenseSet<Operation *> given = [&] {
      auto groups = body.getOps<GroupOp>();
      return llvm::DenseSet<Operation *>(groups.begin(), groups.end());
    }();
    if (failed(GroupFormation(getOperation(), known).run())) return signalPassFailure();
    if (known.capabilities().collapsesAxes)
      for (GroupOp group : llvm::to_vector(body.getOps<GroupOp>()))
        collapseAxes(group, getOperation(), known);
    for (auto group : body.getOps<GroupOp>())
      if (!given.contains(group) && !setRequestedTile(group, known) &&
          failed(proposeVariants(group, getOperation(), known)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace tessera
