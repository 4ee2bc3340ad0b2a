#include "compiler/schedule/IR/GroupVariants.h"
#include "compiler/schedule/IR/GroupSpace.h"
#include "compiler/schedule/IR/LibraryVariant.h"
#include "compiler/support/DiagnosticCode.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/Profiles.h"
#include "core/metadata/Variants.h"

using namespace mlir;

namespace tessera::schedule {
namespace {

using Tensor = graph::TensorType;

/// The parameters of the group's kernel, as its metadata will have them.
std::vector<MetadataParam> kernelParams(GroupOp group, const KernelNames &names) {
  std::vector<MetadataParam> params;
  auto add = [&](std::string name, MetadataParam::Kind kind, DType dtype) {
    MetadataParam &p = params.emplace_back();
    p.name = std::move(name);
    p.kind = kind;
    p.dtype = dtype;
  };
  Block &body = group.getBody().front();
  size_t tensors = 0;
  for (BlockArgument arg : body.getArguments())
    if (auto type = dyn_cast<Tensor>(arg.getType()))
      add("in" + std::to_string(tensors++), MetadataParam::Kind::Tensor,
          *dtypeOfMemory(type.getElementType()));
  for (size_t i = 0; i < group.getNumResults(); ++i)
    add("out" + std::to_string(i), MetadataParam::Kind::Result,
        *dtypeOfMemory(cast<Tensor>(group.getResult(i).getType()).getElementType()));
  for (BlockArgument arg : body.getArguments())
    if (!isa<Tensor>(arg.getType()))
      add("scalar" + std::to_string(arg.getArgNumber()), MetadataParam::Kind::Scalar,
          scalarDType(group, arg));
  for (const IndexExpr &name : names.names)
    if (!StringRef(name.text()).starts_with("scalar")) add(name.text(), MetadataParam::Kind::Dim, DType::I64);
  return params;
}

/// Says the variant's condition that the reduced axis, which is the last one, fits its tile?
bool fitsTile(GroupOp group, VariantAttr variant) {
  GroupSpace space;
  for (Operation &op : group.getBody().front().without_terminator())
    if (!op.hasTrait<OpTrait::ConstantLike>() && space.add(&op))
      return true; // the verifier of groups reports it
  const int64_t last = space.space().getRank() - 1, most = tileOf(group, variant).back();
  if (space.reducedAxis() != last || space.parts()) return false;
  const IndexExpr extent = space.space().getExtent(last);
  if (auto known = extent.asConstant()) return *known <= most;
  return llvm::any_of(variant.getWhen().guards, [&](const Guard &guard) {
    const std::string text = guard.text();
    StringRef longest = text;
    int64_t number = 0;
    return longest.consume_front(extent.text()) && longest.consume_front(" <= ") &&
           !longest.getAsInteger(10, number) && number <= most;
  });
}

} // namespace

DType scalarDType(GroupOp group, BlockArgument arg) {
  auto given = dyn_cast<BlockArgument>(group.getInputs()[arg.getArgNumber()]);
  auto function = group->getParentOfType<graph::FuncOp>();
  if (given && function && function.getParamsAttr() && given.getOwner() == &function.getBody().front()) {
    const auto before = function.getArguments().take_front(given.getArgNumber());
    auto scalars = llvm::make_filter_range(function.getParamsAttr().getAsRange<tile::ParamAttr>(),
                                           [](tile::ParamAttr param) { return param.isScalar(); });
    auto skipped = llvm::count_if(before, [](BlockArgument a) { return !isa<Tensor>(a.getType()); });
    return *(*std::next(scalars.begin(), skipped)).getDtype();
  }
  return *dtypeOfMemory(arg.getType());
}

KernelNames kernelNames(GroupOp group) {
  KernelNames out;
  auto addTensor = [&](Type type) {
    auto tensor = dyn_cast<Tensor>(type);
    if (!tensor) return;
    for (Attribute dim : tensor.getDims()) {
      auto expr = dyn_cast<tile::IndexExprAttr>(dim);
      if (!expr || llvm::is_contained(out.values, expr.getExpr())) continue;
      const std::string_view symbol = expr.getExpr().asSymbol();
      out.names.push_back(IndexExpr::symbol(symbol.empty() ? "dim" + std::to_string(out.values.size())
                                                           : std::string(symbol)));
      out.values.push_back(expr.getExpr());
    }
  };
  for (BlockArgument arg : group.getBody().front().getArguments())
    addTensor(arg.getType());
  for (Type type : group.getResultTypes())
    addTensor(type);
  for (auto [arg, input] : llvm::zip(group.getBody().front().getArguments(), group.getInputs()))
    if (auto dim = input.getDefiningOp<graph::DimOp>();
        dim && !isa<Tensor>(input.getType()) &&
        !llvm::is_contained(out.values, dim.getExpression().getExpr())) {
      out.values.push_back(dim.getExpression().getExpr());
      out.names.push_back(IndexExpr::symbol("scalar" + std::to_string(arg.getArgNumber())));
    }
  return out;
}

SmallVector<int64_t> tileOf(GroupOp group, VariantAttr variant) {
  if (variant.getParams().empty()) return SmallVector<int64_t>(group.getTile());
  const std::optional<VariantBody> body = findBody(kTileBody, group.getKind());
  SmallVector<int64_t> tile;
  for (const BodyParameter &p : body->parameters)
    tile.push_back(*variant.getParams().getAs<tile::IndexExprAttr>(p.name).getExpr().asConstant());
  return tile;
}

tessera::Expected<std::vector<MetadataVariant>> launchVariants(GroupOp group, StringRef kernel) {
  std::vector<MetadataVariant> out;
  ArrayAttr variants = group.getVariantsAttr();
  if (!variants) return out;
  const KernelNames names = kernelNames(group);
  auto text = [&](const IndexExpr &expr, const std::string &what, std::string &to) -> MaybeError {
    tessera::Expected<IndexExpr> named = replace(expr, names.values, names.names);
    if (!named) return Error{"", describeUnbound(named.error(), namesOf(names.values), what)};
    to = named->text();
    return std::nullopt;
  };
  const StringRef pinned = group.getVariant().value_or(kTile);
  for (auto v : variants.getAsRange<VariantAttr>()) {
    const bool isLast = v == variants.getValue().back();
    if (pinned != kTile && v.getName() != pinned && !isLast) continue;
    MetadataVariant m;
    m.name = v.getName().str();
    m.body = v.getBody().str();
    m.isPinned = !isLast && v.getName() == pinned;
    if (!isLast) m.entry = kernel.str() + "." + m.name;
    OrderClass order = v.getOrder();
    if (order.count) {
      tessera::Expected<IndexExpr> count = replace(*order.count, names.values, names.names);
      if (!count)
        return Error{"", m.name + ": " + describeUnbound(count.error(), namesOf(names.values), "its order")};
      order.count = std::move(*count);
    }
    m.order = order.text();
    for (const Guard &guard : v.getWhen().guards) {
      tessera::Expected<Guard> named = guard.replace(names.values, names.names);
      if (!named) return Error{"", m.name + ": " + named.error().message};
      m.when.push_back(named->text());
    }
    if (v.getCost())
      if (MaybeError error = text(v.getCost().getExpr(), "its cost", m.cost))
        return Error{"", m.name + ": " + error->message};
    if (!isTileProgram(v.getBody()) && !isLast)
      for (const std::optional<VariantBody> of = findBody(v.getBody(), group.getKind());
           const BodyParameter &p : of->parameters)
        if (MaybeError error =
                text(v.getParams().getAs<tile::IndexExprAttr>(p.name).getExpr(),
                     "its parameter " + p.name.str(), m.params.emplace_back(p.name.str(), "").second))
          return Error{"", m.name + ": " + error->message};
    out.push_back(std::move(m));
  }
  // Where there is nothing to choose from, the list only predicts the time.
  if (out.size() < 2 && out.back().cost.empty()) out.clear();
  return out;
}

LogicalResult verifyVariants(GroupOp group) {
  ArrayAttr variants = group.getVariantsAttr();
  if (!variants) return success();
  auto refuse = [&](const Twine &text) {
    InFlightDiagnostic diagnostic = group.emitOpError()
                                    << "has variants that cannot be chosen from: " << text;
    setCode(diagnostic, "E_VARIANT");
    return diagnostic;
  };
  if (variants.empty()) return refuse("there are none");
  llvm::SmallDenseSet<StringRef> seen;
  for (auto v : variants.getAsRange<VariantAttr>()) {
    const StringRef name = v.getName();
    const bool isLast = v == variants.getValue().back();
    const bool isName = !name.empty() &&
                        llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; }) &&
                        !llvm::isDigit(name[0]);
    if (!isName) return refuse("\"" + name + "\" is not a name");
    if (name == kTile || name == kBlas) return refuse("\"" + name + "\" is not the name of a variant");
    if (!seen.insert(name).second) return refuse("the name \"" + name + "\" occurs twice");
    if (v.getWhen().guards.empty() != isLast)
      return isLast ? refuse("the last one, \"" + name +
                             "\", has a condition, so that sizes are left without a variant")
                    : refuse("\"" + name + "\" has no condition and is not the last");
    std::optional<VariantBody> body = findBody(v.getBody(), group.getKind());
    if (!body)
      return refuse("\"" + name + "\" has the body " + v.getBody().getValue() + "; the bodies of kind " +
                    stringifyGroupKind(group.getKind()) + " are " + bodyNames(group.getKind()));
    const bool isTile = isTileProgram(body->name);
    for (NamedAttribute given : v.getParams())
      if (llvm::none_of(body->parameters, [&](const BodyParameter &p) { return p.name == given.getName(); }))
        return refuse("body " + body->name + " of \"" + name + "\" has no parameter " +
                      given.getName().getValue());
    for (const BodyParameter &p : body->parameters) {
      auto value = v.getParams().getAs<tile::IndexExprAttr>(p.name);
      if (!value && isTile && v.getParams().empty()) continue; // the tile of the group
      if (!value)
        return refuse("\"" + name + "\" gives parameter " + p.name + " of body " + body->name + " no value");
      const std::optional<int64_t> number = value.getExpr().asConstant();
      if (isTile && !number)
        return refuse("parameter " + p.name + " of \"" + name +
                      "\" is an extent of a tile, which is a number");
      if (number && (*number < p.least || *number > p.most))
        return refuse("parameter " + p.name + " of \"" + name + "\" is " + Twine(*number) +
                      ", the body takes " + Twine(p.least) + " to " + Twine(p.most));
    }
    if (isTile && failed(verifyTile(group, tileOf(group, v)))) return failure();
    if (body->name == kRowBody && !fitsTile(group, v))
      return refuse("\"" + name +
                    "\" has the body row, whose tile holds a whole row, and no condition that the reduced "
                    "axis, the last one, has at most " +
                    Twine(tileOf(group, v).back()) + " elements");
  }
  if (StringRef pinned = group.getVariant().value_or(kTile);
      pinned != kTile && pinned != kBlas && !seen.contains(pinned))
    return success();    // GroupOp::verify reports it
  KernelMetadata kernel; // what a launch would read
  tessera::Expected<std::vector<MetadataVariant>> chosen = launchVariants(group, "kernel");
  if (!chosen) return refuse(chosen.error().message);
  kernel.params = kernelParams(group, kernelNames(group));
  kernel.variants = std::move(*chosen);
  auto function = group->getParentOfType<graph::FuncOp>();
  kernel.numerics = function.getNumerics().str();
  kernel.permits = permitsOf(function);
  if (auto table = VariantTable::of(kernel); !table) return refuse(table.error().message);
  return success();
}

} // namespace tessera::schedule
