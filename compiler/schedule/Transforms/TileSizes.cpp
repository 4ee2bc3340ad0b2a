#include "compiler/schedule/Transforms/TileSizes.h"
#include "compiler/schedule/IR/LibraryVariant.h"
#include "compiler/tile/IR/DTypes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tessera::schedule {

std::optional<int64_t> likelyExtent(graph::TensorType type, int64_t d, graph::FuncOp function) {
  if (auto known = dyn_cast<IntegerAttr>(type.getDims()[d])) return known.getInt();
  auto hints = function->getAttrOfType<DictionaryAttr>(schedule::kHints);
  if (!hints) return std::nullopt;
  std::vector<std::string> names;
  std::vector<int64_t> values;
  for (NamedAttribute hint : hints) {
    names.push_back(hint.getName().str());
    values.push_back(cast<IntegerAttr>(hint.getValue()).getInt());
  }
  tessera::Expected<IndexExpr> bound = type.getExtent(d).bind(names);
  int64_t extent = 0;
  if (!bound || !bound->evaluate(values.data(), extent)) return std::nullopt;
  return extent;
}

SmallVector<int64_t> chooseTile(const GroupSpace &group, graph::FuncOp function,
                                const codegen::Target &target) {
  GroupSpace::Tensor space = group.space();
  auto [rows, columns] = group.tileAxes();
  int64_t rank = rows == GroupSpace::kFixed ? std::min<int64_t>(space.getRank(), 1) : space.getRank();
  auto extent = [&](int64_t d) {
    return d < 0 ? std::optional<int64_t>(1) : likelyExtent(space, d, function);
  };
  codegen::TileRequest request{group.kind(), rank, extent(rows), extent(columns)};
  request.transposes = group.transposes();
  request.elements = 1;
  for (int64_t axis = 0; axis < space.getRank() && request.elements; ++axis) {
    const std::optional<int64_t> known = extent(axis);
    int64_t product = 0;
    if (known && !llvm::MulOverflow(*request.elements, *known, product))
      request.elements = product;
    else
      request.elements.reset();
  }
  if (group.productType()) request.product = dtypeOfMemory(group.productType());
  if (group.interleaves()) {
    // The tensors' tiles, what is computed from them and the joined tile are kept in scratch, which should
    // fit the first cache: together they are a fourth of another group's tile.
    SmallVector<int64_t> tile = target.proposeTile({GroupKind::Map, 1, 1, request.columns});
    const auto joined = cast<IntegerAttr>(space.getDims().getValue().back()).getInt();
    const auto parts = static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(joined)));
    return {1, std::max<int64_t>(tile.back() / (4 * parts), 16)};
  }
  if (auto walked = group.reducedAxis()) {
    request.reducesOuterAxis = *walked != space.getRank() - 1;
    request.reduced = extent(*walked);
  }
  request.part = group.parts();
  request.finds = group.finds();
  request.scansExactly = group.scansExactly();
  request.readsNarrow = group.readsNarrow();
  request.readsAgain = group.readsAgain();
  request.readsRows = group.readsRows();
  SmallVector<int64_t> tile = target.proposeTile(request);
  if (group.finds() && !request.reducesOuterAxis && request.columns) {
    // An axis that fits a tile is looked at once: the same elements, as long a row as there is.
    const int64_t elements = tile[0] * tile[1];
    const auto row = static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(*request.columns)));
    if (row > tile[1] && row <= elements) tile = {elements / row, row};
  }
  return tile;
}

namespace {

StringRef nameIn(DictionaryAttr request, StringRef key) {
  auto name = request.getAs<StringAttr>(key);
  return name ? name.getValue() : StringRef();
}

/// Is there a target that the request could be for?
bool isOfTarget(DictionaryAttr request) {
  const StringRef backend = nameIn(request, "backend"), arch = nameIn(request, "arch");
  for (const codegen::TargetBackend *known : codegen::targetBackends())
    if ((backend.empty() || backend == known->name()) && (arch.empty() || known->parse(arch))) return true;
  return !backend.empty() && codegen::findTarget(arch.empty() ? backend.str() : (backend + ":" + arch).str());
}

/// Adds a line to the fallbacks of the function.
void reportUnknownTarget(graph::FuncOp function, DictionaryAttr request) {
  const StringRef backend = nameIn(request, "backend"), arch = nameIn(request, "arch");
  Builder b(function.getContext());
  SmallVector<Attribute> lines;
  if (ArrayAttr had = function.getFallbacksAttr()) llvm::append_range(lines, had);
  Attribute line =
      b.getStringAttr("@ts.op.specialize for '" + backend + (backend.empty() || arch.empty() ? "" : ":") +
                      arch + "' has no effect: there is no such target");
  if (!llvm::is_contained(lines, line)) lines.push_back(line);
  function.setFallbacksAttr(b.getArrayAttr(lines));
}

} // namespace

bool setRequestedTile(GroupOp group, const codegen::Target &target) {
  if (group.getKind() != GroupKind::Matmul || group.getVariant()) return false; // a mapper chose already
  auto product = *group.getBody().front().getOps<graph::MatmulOp>().begin();
  if (!product.getSpecializeAttr()) return false;
  const std::string name = target.imageName();
  const auto [backend, arch] = StringRef(name).split(':');
  for (auto request : product.getSpecializeAttr().getAsRange<DictionaryAttr>()) {
    auto isFor = [&](StringRef key, StringRef own) {
      const StringRef wanted = nameIn(request, key);
      return wanted.empty() || wanted == own;
    };
    if (!isFor("backend", backend) || !isFor("arch", arch)) {
      if (!isOfTarget(request)) reportUnknownTarget(group->getParentOfType<graph::FuncOp>(), request);
      continue;
    }
    group.setTile(request.getAs<DenseI64ArrayAttr>("tile_sizes").asArrayRef());
    group.setVariant(kTile);
    Builder b(group.getContext());
    group->setAttr(kDecision, b.getDictionaryAttr({b.getNamedAttr("by", b.getStringAttr("@ts.op.specialize")),
                                                   b.getNamedAttr("choice", b.getStringAttr(kTile))}));
    return true;
  }
  return false;
}

} // namespace tessera::schedule
