// The bodies that a variant of a group may have, and the limits of their parameters.
#pragma once
#include "compiler/schedule/IR/ScheduleDialect.h"
#include <optional>

namespace tessera::schedule {

/// A value that a body takes. Those of a tile program are extents of its tile, known when it is compiled;
/// every other body receives its parameters with each launch, as i64 scalars in front of the dims.
struct BodyParameter {
  llvm::StringRef name;
  int64_t least, most; // both included
};

struct VariantBody {
  llvm::StringRef name; // "product.row"
  GroupKind kind;       // of the groups it computes
  llvm::ArrayRef<BodyParameter> parameters;
};

/// The name of the body that GroupProgram emits.
inline constexpr llvm::StringLiteral kTileBody = "tile";

/// The same program for rows that fit its tile, which is then loaded once, without a loop. The condition of
/// the variant says that they do.
inline constexpr llvm::StringLiteral kRowBody = "row";

/// Is the body emitted by GroupProgram, with a tile that is known when it is compiled?
inline bool isTileProgram(llvm::StringRef body) { return body == kTileBody || body == kRowBody; }

/// The prefix of the bodies of products.
inline constexpr llvm::StringLiteral kProductBody = "product.";

/// The body `name` of a group of this kind; nullopt if there is none.
std::optional<VariantBody> findBody(llvm::StringRef name, GroupKind kind);
/// The names of the bodies of a kind, for messages: "tile, product.row".
std::string bodyNames(GroupKind kind);

} // namespace tessera::schedule
