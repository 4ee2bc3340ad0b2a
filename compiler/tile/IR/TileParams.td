// Constraints on attributes that kernels of three dialects share. Only constraints: a definition would be generated
// again by each dialect that includes this file.
#ifndef TESSERA_TILE_PARAMS
#define TESSERA_TILE_PARAMS
include "mlir/IR/OpBase.td"

def Tile_ParamArray : TypedArrayAttrBase<
    Attr<CPred<"::llvm::isa<::tessera::tile::ParamAttr>($_self)">, "#tile.param">, "array of #tile.param">;
def Tile_IndexExpr : Attr<CPred<"::llvm::isa<::tessera::tile::IndexExprAttr>($_self)">, "#tile.index"> {
  let storageType = "::tessera::tile::IndexExprAttr";
  let returnType = "::tessera::tile::IndexExprAttr";
  let convertFromStorage = "$_self";
}
def Tile_IndexExprArray : TypedArrayAttrBase<Tile_IndexExpr, "array of #tile.index">;
def Tile_AccessArray : TypedArrayAttrBase<
    Attr<CPred<"::llvm::isa<::tessera::tile::AccessAttr>($_self)">, "#tile.access">, "array of #tile.access">;

#endif
