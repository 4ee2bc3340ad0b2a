// The order in which a variant adds the terms of its sums. Variants of one order class compute equal bits.
// Part of the static library tessera-metadata.
#pragma once
#include "core/metadata/IndexExpr.h"
#include "core/support/Expected.h"
#include <optional>
#include <string>
#include <string_view>

namespace tessera {

struct OrderClass {
  /// Exact: no rounding depends on an order (integers, moves, elementwise operations). Chain: one chain over
  /// rising k for each element. Leaves and Lanes64: the trees that fixed_reductions defines. Dot: lanes along
  /// k. Split: chains of `count` parts of k. Tiles: tiles of `count` elements of the reduced axis one after
  /// another, lanes within. Extents: one of these, which extents alone choose.
  enum class Kind : uint8_t { Exact, Chain, Leaves, Lanes64, Dot, Split, Tiles, Extents };
  Kind kind = Kind::Exact;
  std::optional<IndexExpr> count; // of Split and Tiles

  /// Parses "chain", "split(ceildiv(K, 4096))" or "tiles(128)".
  static Expected<OrderClass> parse(std::string_view text);
  std::string text() const;
  static std::optional<Kind> kindOf(std::string_view name);
  static std::string_view nameOf(Kind);
  static bool hasCount(Kind kind) { return kind == Kind::Split || kind == Kind::Tiles; }
  /// Is it an order that a profile with fixed_reductions defines?
  bool isFixed() const { return kind == Kind::Exact || kind == Kind::Leaves || kind == Kind::Lanes64; }

  bool operator==(const OrderClass &) const = default;
};

} // namespace tessera
