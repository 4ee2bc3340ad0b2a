// The tile dialect: types, attributes and operations. See TileBase.td for the conventions.
#pragma once
#include "compiler/layout/Fragments.h"
#include "compiler/tile/IR/TileBounds.h"
#include "core/metadata/IndexExpr.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "numerics/DType.h"
#include <optional>

namespace tessera {

/// For attributes that hold an expression.
inline llvm::hash_code hash_value(const IndexExpr &expr) { return llvm::hash_value(expr.text()); }

} // namespace tessera

namespace tessera::layout {

/// For attributes that hold a layout.
inline llvm::hash_code hash_value(const TileLayout &l) { return llvm::hash_value(l.text()); }
inline llvm::hash_code hash_value(const SharedLayout &l) { return llvm::hash_value(l.text()); }

} // namespace tessera::layout

namespace tessera::tile {

/// Memory that every program of the launch can access.
struct GlobalMemory : mlir::SideEffects::Resource::Base<GlobalMemory> {
  llvm::StringRef getName() final { return "GlobalMemory"; }
};
/// Memory of one program.
struct SharedMemory : mlir::SideEffects::Resource::Base<SharedMemory> {
  llvm::StringRef getName() final { return "SharedMemory"; }
};

} // namespace tessera::tile

#include "compiler/tile/IR/TileBoundsInterface.h.inc"
#include "compiler/tile/IR/TileDialect.h.inc"
#include "compiler/tile/IR/TileEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "compiler/tile/IR/TileAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "compiler/tile/IR/TileTypes.h.inc"
#define GET_OP_CLASSES
#include "compiler/tile/IR/TileOps.h.inc"

namespace tessera::tile {

// Names of the dialect's discardable attributes (TileBase.td).
inline constexpr llvm::StringLiteral kLanes = TileDialect::LanesAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral kMaterialize = TileDialect::MaterializeAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral kScratch = TileDialect::ScratchAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral kReadBlocks = TileDialect::ReadBlocksAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral kLeaf = TileDialect::LeafAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral kStrided = TileDialect::StridedAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral kPrivate = TileDialect::PrivateAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral kPrivateValue = TileDialect::PrivateValueAttrHelper::getNameStr();

// Two decisions of a schedule that Tile IR keeps; the schedule dialect verifies them.
inline constexpr llvm::StringLiteral kFusion = "schedule.fusion";
inline constexpr llvm::StringLiteral kFuse = "schedule.fuse";

/// The type of a value that is a tile.
inline mlir::RankedTensorType tensorOf(mlir::Value tile) {
  return mlir::cast<mlir::RankedTensorType>(tile.getType());
}

inline bool reads(Access access) { return access == Access::Read || access == Access::ReadWrite; }
inline bool writes(Access access) { return access == Access::Write || access == Access::ReadWrite; }

/// The operator of a scan as that of a reduction.
inline ReduceKind reduceKindOf(ScanKind kind) {
  switch (kind) {
  case ScanKind::Sum:
    return ReduceKind::Sum;
  case ScanKind::Prod:
    return ReduceKind::Prod;
  case ScanKind::Max:
    return ReduceKind::Max;
  case ScanKind::Min:
    return ReduceKind::Min;
  }
  llvm_unreachable("all kinds are listed");
}

/// Reports a discardable attribute whose name its dialect does not know, or that is on the wrong operation or
/// of the wrong type (`expected`: "an integer of at least 1 on scf.for").
mlir::LogicalResult refuseAttribute(mlir::Operation *, mlir::NamedAttribute, llvm::StringRef expected);

} // namespace tessera::tile
