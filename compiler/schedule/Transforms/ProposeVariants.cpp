#include "compiler/schedule/Transforms/ProposeVariants.h"
#include "compiler/schedule/IR/GroupVariants.h"
#include "compiler/schedule/IR/LibraryVariant.h"
#include "compiler/schedule/Transforms/TileSizes.h"
#include "compiler/tile/IR/Profiles.h"
#include "core/metadata/MachineConstants.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tessera::schedule {
namespace {

using Tensor = graph::TensorType;

/// Does a dim of the group have the name of a machine constant? In an expression the name means the dim.
bool hidesConstant(GroupOp group) {
  auto hides = [](Value v) {
    auto type = dyn_cast<Tensor>(v.getType());
    for (int64_t axis = 0; type && axis < type.getRank(); ++axis) {
      const IndexExpr extent = type.getExtent(axis);
      for (const std::string &symbol : extent.symbols()) // may be a product, "B*cores"
        for (StringRef name : llvm::split(symbol, '*'))
          if (llvm::is_contained(kMachineConstants, std::string_view(name))) return true;
    }
    return false;
  };
  return llvm::any_of(group.getInputs(), hides) || llvm::any_of(group.getResults(), hides);
}

/// Turns the proposals for one group into attributes; lives for one group.
class Proposals {
public:
  Proposals(GroupOp group, graph::FuncOp function)
      : group_(group), function_(function), hidesConstant_(hidesConstant(group)), b_(group.getContext()) {}

  codegen::VariantRequest request() {
    codegen::VariantRequest out{group_, permitsOf(function_).value_or(NumericsPermissions{}), {}};
    out.isForCall = function_->hasAttr(kHints);
    GroupSpace space;
    for (Operation &op : group_.getBody().front().without_terminator())
      if (!op.hasTrait<OpTrait::ConstantLike>()) (void)space.add(&op);
    out.finds = space.finds();
    out.readsNarrow = space.readsNarrow();
    out.readsAgain = space.readsAgain();
    Tensor type = space.space();
    auto [rows, columns] = space.tileAxes();
    if (group_.getKind() == GroupKind::Matmul) {
      auto product = *group_.getBody().front().getOps<graph::MatmulOp>().begin();
      Tensor a = product.getA().getType();
      name("K", a, a.getRank() - (product.getTransA() ? 2 : 1), out);
      rows = type.getRank() - 2;
      columns = type.getRank() - 1;
      name("M", type, rows, out);
      name("N", type, columns, out);
    } else {
      if (auto reduced = space.reducedAxis(); reduced && *reduced != columns) {
        out.reducesOuterAxis = true;
        rows = *reduced;
      }
      name("rows", type, rows, out);
      name("columns", type, type.getRank() == 0 ? -1 : columns, out);
      if (auto reduced = space.reducedAxis()) name("reduced", type, *reduced, out);
    }
    std::vector<IndexExpr> others;
    for (int64_t axis = 0; axis < type.getRank(); ++axis)
      if (axis != rows && axis != columns && axis != space.reducedAxis())
        others.push_back(type.getExtent(axis));
    from_.push_back(IndexExpr::symbol("B"));
    to_.push_back(IndexExpr::product(others).value_or(IndexExpr::constant(1)));
    out.extents.emplace_back("B", to_.back().asConstant());
    return out;
  }

  /// The attributes; null: the group has one body.
  tessera::Expected<ArrayAttr> attributes(const std::vector<codegen::VariantProposal> &proposals) const {
    SmallVector<Attribute> out;
    for (const codegen::VariantProposal &p : proposals) {
      Condition when;
      bool isPossible = true;
      if (!p.when.empty()) {
        tessera::Expected<std::vector<Guard>> guards = Guard::parseAll(p.when);
        if (!guards) return guards.error();
        for (const Guard &guard : *guards) {
          tessera::Expected<Guard> named = guard.replace(from_, to_);
          if (!named) return named.error();
          const std::optional<bool> known = named->asConstant();
          if (!known) when.guards.push_back(std::move(*named));
          isPossible &= known.value_or(true);
        }
      }
      if (!isPossible) continue;
      tessera::Expected<VariantAttr> variant = attribute(p, std::move(when));
      if (!variant) return variant.error();
      out.push_back(*variant);
      if (variant->getWhen().guards.empty()) break; // the others never run
    }
    return out.empty() ? ArrayAttr() : b_.getArrayAttr(out);
  }

private:
  void name(StringRef name, Tensor type, int64_t axis, codegen::VariantRequest &out) {
    const bool exists = axis >= 0 && axis < type.getRank();
    from_.push_back(IndexExpr::symbol({name.data(), name.size()}));
    to_.push_back(exists ? type.getExtent(axis) : IndexExpr::constant(1));
    out.extents.emplace_back(name.str(),
                             exists ? likelyExtent(type, axis, function_) : std::optional<int64_t>(1));
  }

  tessera::Expected<IndexExpr> named(const std::string &text) const {
    tessera::Expected<IndexExpr> expr = IndexExpr::parse(text);
    return expr ? replace(*expr, from_, to_) : expr;
  }

  tessera::Expected<VariantAttr> attribute(const codegen::VariantProposal &p, Condition when) const {
    tessera::Expected<OrderClass> order = OrderClass::parse(p.order);
    if (!order) return order.error();
    if (order->count) {
      tessera::Expected<IndexExpr> count = replace(*order->count, from_, to_);
      if (!count) return count.error();
      order->count = std::move(*count);
    }
    NamedAttrList params;
    for (const auto &[name, text] : p.params) {
      tessera::Expected<IndexExpr> value = named(text);
      if (!value) return value.error();
      params.append(name, tile::IndexExprAttr::get(b_.getContext(), *value));
    }
    tile::IndexExprAttr cost;
    if (!p.cost.empty() && !hidesConstant_) {
      tessera::Expected<IndexExpr> value = named(p.cost);
      if (!value) return value.error();
      cost = tile::IndexExprAttr::get(b_.getContext(), *value);
    }
    Builder b = b_;
    return VariantAttr::get(b.getContext(), b.getStringAttr(p.name), when, b.getStringAttr(p.body), *order,
                            params.getDictionary(b.getContext()), cost);
  }

  GroupOp group_;
  graph::FuncOp function_;
  const bool hidesConstant_; // costs would read dims as constants of the machine
  mutable Builder b_;
  std::vector<IndexExpr> from_, to_; // the names of a request, and what they are
};

} // namespace

static bool keepsFixedOrder(const codegen::VariantProposal &p) {
  tessera::Expected<OrderClass> order = OrderClass::parse(p.order);
  return order && order->isFixed();
}

LogicalResult proposeVariants(GroupOp group, graph::FuncOp function, const codegen::Target &target) {
  if (group.getVariant() == kBlas) return success();
  Proposals proposals(group, function);
  const codegen::VariantRequest request = proposals.request();
  const std::vector<codegen::VariantProposal> proposed = target.proposeVariants(request);
  // Tiles that fixed reductions do not allow; the group's own one has been fitted to their blocks.
  if (request.permits.fixedReductions && !llvm::all_of(proposed, keepsFixedOrder)) return success();
  tessera::Expected<ArrayAttr> variants = proposals.attributes(proposed);
  if (!variants)
    return group.emitOpError() << "gets a variant from its target that cannot be read: "
                               << variants.error().message;
  if (*variants) group.setVariantsAttr(*variants);
  return success();
}

} // namespace tessera::schedule
