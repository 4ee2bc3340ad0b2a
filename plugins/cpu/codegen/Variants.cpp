#include "plugins/cpu/codegen/Variants.h"
#include "compiler/schedule/IR/GroupSpace.h"
#include "compiler/schedule/IR/VariantBodies.h"
#include "compiler/tile/IR/DTypes.h"
#include "numerics/NumericsProfile.h"
#include "plugins/cpu/codegen/Costs.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace tessera::cpu {
namespace {

using codegen::VariantProposal;
using codegen::VariantRequest;
using schedule::GroupKind;

/// A group with more operations is not compiled again for short rows. A layer norm has nine.
constexpr int64_t kMostOperations = 12;

/// Tiles of `rows` x `columns` for tensors with at most `longest` columns.
struct ShortTile {
  int64_t longest, rows, columns;
};

/// Few rows of many columns: a program reads each row from one cache line to the next, which processors
/// foresee, where tensors come from memory (docs/decisions/0195). With fewer columns there would be too few
/// programs.
constexpr int64_t kWideRows = 8, kWideColumns = 512, kLeastWide = 2048, kWideBytes = 24 << 20;

/// Returns the size of the widest element that a group reads.
int64_t bytesOfElement(schedule::GroupOp group) {
  int64_t bytes = 1;
  for (Value input : group.getInputs())
    if (auto type = dyn_cast<graph::TensorType>(input.getType()))
      bytes = std::max<int64_t>(bytes, type.getElementType().getIntOrFloatBitWidth() / 8);
  return bytes;
}

/// The tile of short rows of a group; nullopt: the general one is as good.
std::optional<ShortTile> shortTile(GroupKind kind, bool reducesOuterAxis, bool finds, int64_t vectorBytes) {
  if (kind == GroupKind::Scan && !reducesOuterAxis) return ShortTile{48, 128, 16};
  if (kind != GroupKind::Reduce) return std::nullopt;
  if (reducesOuterAxis) return ShortTile{48, 64, 16};
  // With vectors of 64 bytes two tiles are faster than a part of a wide one, with shorter ones they are not
  // (docs/decisions/0179); a search compares the positions of both.
  return ShortTile{finds || vectorBytes < 64 ? 64 : 112, 64, 64};
}

/// Sums and scans combine tile after tile, so that their order depends on the extent of the tile along the
/// axis, unless the profile fixes it.
std::string orderOf(const VariantRequest &request, int64_t reducedExtent) {
  return request.permits.fixedReductions ? "lanes64" : "tiles(" + std::to_string(reducedExtent) + ")";
}

/// A product has one variant, whose body chooses by extents; it states how long that takes.
std::vector<VariantProposal> proposeProduct(const VariantRequest &request,
                                            const codegen::Capabilities &capabilities) {
  auto product = *schedule::GroupOp(request.group).getBody().front().getOps<graph::MatmulOp>().begin();
  const std::optional<DType> operand = dtypeOfMemory(product.getA().getType().getElementType());
  if (!operand || !llvm::is_contained(capabilities.products, *operand)) return {};
  const bool isExact = !isFloat(*operand);
  return {{.name = "general",
           .when = "",
           .body = schedule::kTileBody.str(),
           .order = isExact                           ? "exact"
                    : request.permits.fixedReductions ? "leaves"
                                                      : "extents",
           .cost = costOfProduct(request, *operand, capabilities.pairsOfBf16),
           .params = {}}};
}

} // namespace

std::vector<VariantProposal> proposeVariants(const VariantRequest &request,
                                             const codegen::Capabilities &capabilities) {
  schedule::GroupOp group = request.group;
  if (group.getKind() == GroupKind::Matmul) return proposeProduct(request, capabilities);
  if (request.extent("columns")) return {}; // a known extent has chosen the tile of the group
  if (request.extent("rows") == 1 && request.extent("B") == 1) return {}; // one row
  const GroupKind kind = group.getKind();
  const size_t reduced = request.reducesOuterAxis ? 0 : 1;
  std::vector<VariantProposal> variants;
  auto propose = [&](const char *name, RowBody body, std::string when, int64_t rows, int64_t columns) {
    variants.push_back({.name = name,
                        .when = std::move(when),
                        .body = schedule::kTileBody.str(),
                        .order = orderOf(request, reduced == 0 ? rows : columns),
                        .cost = costOfRows(request, body, rows),
                        .params = {{"rows", std::to_string(rows)}, {"columns", std::to_string(columns)}}});
  };
  int64_t operations = 0;
  for (Operation &op : group.getBody().front().without_terminator())
    operations += !op.hasTrait<OpTrait::ConstantLike>();
  const std::optional<ShortTile> tile =
      shortTile(kind, request.reducesOuterAxis, request.finds, capabilities.vectorBytes);
  // Tiles of short rows are no blocks of an order that the profile fixes.
  if (tile && operations <= kMostOperations && !request.permits.fixedReductions &&
      !(request.reducesOuterAxis && group.getTile()[0] != tile->rows))
    propose("short", RowBody::Short, "columns <= " + std::to_string(tile->longest), tile->rows,
            tile->columns);
  if (kind == GroupKind::Reduce && request.reducesOuterAxis && !request.readsAgain && !request.readsNarrow &&
      group.getTile().size() == 2 && group.getTile()[0] > kWideRows && capabilities.vectorBytes < 64 &&
      !request.permits.fixedReductions) {
    const std::string count = request.extent("B") == 1 ? "rows * columns" : "B * rows * columns";
    const std::string when =
        llvm::formatv("columns >= {} and {} >= {}", kLeastWide, count, kWideBytes / bytesOfElement(group));
    propose("wide", RowBody::General, when, kWideRows, kWideColumns);
  }
  if (kind == GroupKind::Reduce && !request.reducesOuterAxis && group.getTile().size() == 2) {
    StreamedRows rows =
        StreamedRows::of(request.finds, request.readsNarrow, request.readsAgain, capabilities.vectorBytes);
    // Rows of one block: what a program does once is done for each of them (docs/decisions/0192).
    if (request.permits.fixedReductions) rows.least = 2 * kReductionBlock, rows.shorter = 0;
    const std::string count = request.extent("B") == 1 ? "rows * columns" : "B * rows * columns";
    std::string when = "columns";
    if (rows.shorter > 0)
      when += llvm::formatv(" + min({} // {}, {})", count, StreamedRows::kLarger, rows.shorter).str();
    when += llvm::formatv(" >= {}", rows.least).str();
    if (rows.readFromMemory != INT64_MAX)
      when += llvm::formatv(" and columns <= max({}, {} - {})", rows.most, count, rows.readFromMemory).str();
    else if (rows.most != INT64_MAX)
      when += llvm::formatv(" and columns <= {}", rows.most).str();
    if (rows.elements > 0) when += llvm::formatv(" and {} >= {}", count, rows.elements).str();
    propose("streamed", RowBody::Streamed, std::move(when), 1, group.getTile()[1]);
  }
  if (variants.empty()) return {};
  variants.push_back({.name = "general",
                      .when = "",
                      .body = schedule::kTileBody.str(),
                      .order = orderOf(request, group.getTile()[reduced]),
                      .cost = costOfRows(request, RowBody::General, group.getTile()[0]),
                      .params = {}});
  return variants;
}

} // namespace tessera::cpu
