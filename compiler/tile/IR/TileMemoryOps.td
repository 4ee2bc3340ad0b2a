// Global tensors: loads, stores, atomics.
//
// `starts` holds one index per dim of the tensor; `extents[d]` is the extent of the tile along dim d, or -1 when
// the dim is indexed by an integer and dropped from the tile's shape.
#ifndef TESSERA_TILE_MEMORY_OPS
#define TESSERA_TILE_MEMORY_OPS
include "compiler/tile/IR/TileBase.td"

def Tile_LoadOp : Tile_Op<"load", [MemoryEffects<[MemRead<Tile_GlobalMemory>]>]> {
  let summary = "loads a tile from a global tensor";
  let description = [{
    ```mlir
    %t = tile.load %A[%i, %j] extents [64, 32] : !tile.view<?x?xbf16> -> tensor<64x32xbf16>
    %r = tile.load %A[%b, %j] extents [-1, 32] : !tile.view<?x?xbf16> -> tensor<32xbf16>
    ```
    Elements past the tensor's edge, or below 0, are out of bounds; what that means to the users is made explicit by
    `tile-legalize-bounds`. `in_bounds` promises that there are none.
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Index>:$starts, DenseI64ArrayAttr:$extents, UnitAttr:$in_bounds);
  let results = (outs Tile_AnyTile:$result);
  let assemblyFormat = "$view `[` $starts `]` `extents` $extents attr-dict `:` qualified(type($view)) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_Op<"store", [AttrSizedOperandSegments, MemoryEffects<[MemWrite<Tile_GlobalMemory>]>]> {
  let summary = "stores a tile to a global tensor";
  let description = [{
    ```mlir
    tile.store %t, %C[%i, %j] extents [64, 64] bounds(%lo0 to %hi0, %lo1 to %hi1)
        where %flags : tensor<64x64xi1> : tensor<64x64xf32>, !tile.view<?x?xf32>
    ```
    With `bounds`, only the elements of the tile at positions inside [lo, hi) of every tile axis are stored; with
    `where`, only those whose flag, of a tile of i1 of the same shape, is set. The tensor's own edge is respected in
    any case, unless `in_bounds` promises that nothing reaches past it.
  }];
  let arguments = (ins Tile_AnyTile:$value, Tile_ViewType:$view, Variadic<Index>:$starts, Variadic<Index>:$lower,
                       Variadic<Index>:$upper, Optional<Tile_FlagTile>:$flags, DenseI64ArrayAttr:$extents, UnitAttr:$in_bounds);
  let assemblyFormat = [{
    $value `,` $view `[` $starts `]` `extents` $extents (`bounds` `` custom<Bounds>($lower, $upper)^)?
    (`where` $flags^ `:` type($flags))? attr-dict
    `:` type($value) `,` qualified(type($view))
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$value, "::mlir::Value":$view, "::mlir::ValueRange":$starts,
                                 "::llvm::ArrayRef<int64_t>":$extents), [{
    build($_builder, $_state, value, view, starts, {}, {}, {}, extents, false);
  }]>];
}

def Tile_GatherOp : Tile_Op<"gather", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "loads elements whose indices along some dims are in tiles";
  let description = [{
    ```mlir
    %t = tile.gather %A[%rows, %j] extents [-1, 64] : !tile.view<?x?xf32>, tensor<16xi64>, index -> tensor<16x64xf32>
    ```
    A dim is indexed by an integer or a slice, as in `tile.load`, or by a tile of i64. The tiles have one shape. Its axes are
    in the result in place of the first dim with a tile. Elements whose index is outside the tensor are out of bounds; they
    are 0. The memory may be a shared buffer.
  }];
  let arguments = (ins Tile_Memory:$memory, Variadic<Tile_AccessIndex>:$indices, DenseI64ArrayAttr:$extents);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{
    $memory `[` $indices `]` `extents` $extents attr-dict `:` qualified(type($memory)) `,` type($indices) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_ScatterOp : Tile_Op<"scatter", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "stores elements whose indices along some dims are in tiles";
  let description = [{
    ```mlir
    tile.scatter %t, %A[%rows, %j] extents [-1, 64] where %flags : tensor<16x64xi1>
        : tensor<16x64xf32>, !tile.view<?x?xf32>, tensor<16xi64>, index
    ```
    The memory and the indices are those of `tile.gather`. Elements outside the tensor are dropped, as are those whose flag is not set. Of
    several elements with the same place one is stored.
  }];
  let arguments = (ins Tile_Tile:$value, Tile_Memory:$memory, Variadic<Tile_AccessIndex>:$indices,
                       Optional<Tile_FlagTile>:$flags, DenseI64ArrayAttr:$extents);
  let assemblyFormat = [{
    $value `,` $memory `[` $indices `]` `extents` $extents (`where` $flags^ `:` type($flags))? attr-dict
    `:` type($value) `,` qualified(type($memory)) `,` type($indices)
  }];
  let hasVerifier = 1;
}

def Tile_LoadElemOp : Tile_Op<"load_elem", [MemoryEffects<[MemRead<Tile_GlobalMemory>]>]> {
  let summary = "reads one element; 0 when out of range";
  let arguments = (ins Tile_ViewType:$view, Variadic<Index>:$indices, UnitAttr:$in_bounds);
  let results = (outs Tile_Scalar:$result);
  let assemblyFormat = "$view `[` $indices `]` attr-dict `:` qualified(type($view)) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_StoreElemOp : Tile_Op<"store_elem", [MemoryEffects<[MemWrite<Tile_GlobalMemory>]>]> {
  let summary = "writes one element; dropped when out of range";
  let arguments = (ins Tile_Scalar:$value, Tile_ViewType:$view, Variadic<Index>:$indices, UnitAttr:$in_bounds);
  let assemblyFormat = "$value `,` $view `[` $indices `]` attr-dict `:` type($value) `,` qualified(type($view))";
  let hasVerifier = 1;
}

def Tile_PrefetchOp : Tile_Op<"prefetch", [MemoryEffects<[MemRead<Tile_GlobalMemory>, MemWrite<Tile_GlobalMemory>]>]> {
  let summary = "asks for a tile to be brought near; no value, no fault";
  // The write effect only keeps the operation from being taken for dead.
  let arguments = (ins Tile_ViewType:$view, Variadic<Index>:$starts, DenseI64ArrayAttr:$extents);
  let assemblyFormat = "$view `[` $starts `]` `extents` $extents attr-dict `:` qualified(type($view))";
  let hasVerifier = 1;
}

def Tile_AtomicOp : Tile_Op<"atomic", [
    AllTypesMatch<["value", "result"]>, MemoryEffects<[MemRead<Tile_GlobalMemory>, MemWrite<Tile_GlobalMemory>]>]> {
  let summary = "atomic update of elements; gives the old values";
  let description = [{
    ```mlir
    %old = tile.atomic add relaxed device %v, %A[%i] : f32, !tile.view<?xf32> -> f32
    ```
    Value and indices are scalars, or tiles of one shape (one index tile per dim). Out of range the update is
    dropped and the old value is 0.
  }];
  let arguments = (ins Tile_AtomicKind:$kind, Tile_MemoryOrder:$order, Tile_MemoryScope:$scope, Tile_Value:$value,
                       Tile_ViewType:$view, Variadic<Tile_IndexValue>:$indices, UnitAttr:$is_unsigned);
  let results = (outs Tile_Value:$result);
  let assemblyFormat = [{
    $kind $order $scope $value `,` $view `[` $indices `]` (`unsigned` $is_unsigned^)? attr-dict `:`
    custom<AtomicTypes>(ref($indices), type($value), type($view), type($indices), type($result))
  }];
  let hasVerifier = 1;
}

def Tile_AtomicCasOp : Tile_Op<"atomic_cas", [
    AllTypesMatch<["compare", "value", "result"]>,
    MemoryEffects<[MemRead<Tile_GlobalMemory>, MemWrite<Tile_GlobalMemory>]>]> {
  let summary = "atomic compare and swap of elements; gives the old values";
  let description = [{ As `tile.atomic`; stores the value where the old bits equal those of `compare`. }];
  let arguments = (ins Tile_MemoryOrder:$order, Tile_MemoryScope:$scope, Tile_Value:$compare, Tile_Value:$value,
                       Tile_ViewType:$view, Variadic<Tile_IndexValue>:$indices);
  let results = (outs Tile_Value:$result);
  let assemblyFormat = [{
    $order $scope $compare `,` $value `,` $view `[` $indices `]` attr-dict `:`
    custom<AtomicTypes>(ref($indices), type($value), type($view), type($indices), type($result))
  }];
  let hasVerifier = 1;
}

#endif
