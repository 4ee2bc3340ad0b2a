// How elements that are out of bounds pass through an operation on tiles.
#ifndef TESSERA_TILE_BOUNDS
#define TESSERA_TILE_BOUNDS
include "mlir/IR/OpBase.td"

def Tile_BoundsOpInterface : OpInterface<"BoundsOpInterface"> {
  let cppNamespace = "::tessera::tile";
  let description = [{
    An operation that moves or combines elements of tiles says which elements of its result are in bounds, and what
    takes the place of those of an operand that are not. `tile-legalize-bounds` asks it. Elementwise operations need
    not implement it: their result is in bounds where every operand is.
  }];
  let methods = [
    InterfaceMethod<[{
      The elements of the tile result that are in bounds. `of` gives those of an operand, a tile or a shared buffer;
      `b` inserts what has to be computed.
    }], "::tessera::tile::Bounds", "boundsOfResult",
    (ins "::mlir::OpBuilder &":$b, "::tessera::tile::BoundsOf":$of)>,
    InterfaceMethod<[{
      The value that the operation must see in elements of the operand that are out of bounds; null where it may see
      anything.
    }], "::mlir::TypedAttr", "neutralElement", (ins "::mlir::OpOperand &":$operand), "",
    [{ return {}; }]>,
    InterfaceMethod<[{
      The axis of the operand along which its elements are combined; none if there is no such axis. A line along it that is
      masked as a whole needs no neutral elements, because the result is masked there.
    }], "::std::optional<unsigned>", "combinedAxis", (ins "::mlir::OpOperand &":$operand), "",
    [{ return ::std::nullopt; }]>,
  ];
}

#endif
