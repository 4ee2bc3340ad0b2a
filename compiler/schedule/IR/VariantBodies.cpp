#include "compiler/schedule/IR/VariantBodies.h"

using namespace mlir;

namespace tessera::schedule {
namespace {

constexpr int64_t kMostExtent = 1 << 18; // of a tile

constexpr BodyParameter kProductTile[] = {
    {"m", 1, kMostExtent}, {"n", 1, kMostExtent}, {"k", 1, kMostExtent}};
constexpr BodyParameter kAttentionTile[] = {{"queries", 1, kMostExtent}, {"keys", 1, kMostExtent}};
constexpr BodyParameter kTile[] = {{"rows", 1, kMostExtent}, {"columns", 1, kMostExtent}};

/// The bodies that a target has for one kind of group, beside the tile program. A target that proposes one of
/// them can lower it. Those of products compute them in one of the ways between which the product's own body
/// chooses by extents (plugins/cpu/codegen/products/Problem.h).
constexpr VariantBody kBodies[] = {
    {kTileBody, GroupKind::Matmul, kProductTile},
    {kTileBody, GroupKind::Attention, kAttentionTile},
    {kTileBody, GroupKind::Map, kTile},
    {kTileBody, GroupKind::Reduce, kTile},
    {kTileBody, GroupKind::Scan, kTile},
    {kTileBody, GroupKind::Concat, kTile},
    {kRowBody, GroupKind::Reduce, kTile},
    {"product.dot", GroupKind::Matmul, {}},
    {"product.row", GroupKind::Matmul, {}},
    {"product.columns", GroupKind::Matmul, {}},
    {"product.two_by_two", GroupKind::Matmul, {}},
    {"product.shared", GroupKind::Matmul, {}},
    {"product.flat", GroupKind::Matmul, {}},
    {"product.small", GroupKind::Matmul, {}},
    {"product.skinny", GroupKind::Matmul, {}},
    {"product.panels", GroupKind::Matmul, {}},
};

} // namespace

std::optional<VariantBody> findBody(StringRef name, GroupKind kind) {
  for (const VariantBody &body : kBodies)
    if (body.name == name && body.kind == kind) return body;
  return std::nullopt;
}

std::string bodyNames(GroupKind kind) {
  std::string names;
  for (const VariantBody &body : kBodies)
    if (body.kind == kind) names += (names.empty() ? "" : ", ") + body.name.str();
  return names;
}

} // namespace tessera::schedule
