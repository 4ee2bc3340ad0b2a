// Making and reshaping tiles.
#ifndef TESSERA_TILE_SHAPE_OPS
#define TESSERA_TILE_SHAPE_OPS
include "compiler/tile/IR/TileBase.td"

def Tile_IotaOp : Tile_PureOp<"iota"> {
  let summary = "start, start + 1, ... along the only axis";
  let arguments = (ins I32:$start);
  let results = (outs 1DTensorOf<[I32]>:$result);
  let assemblyFormat = "$start attr-dict `:` type($start) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_BroadcastOp : Tile_PureOp<"broadcast", [DeclareOpInterfaceMethods<Tile_BoundsOpInterface>]> {
  let summary = "repeats a scalar, or a tile along its axes of extent 1";
  let arguments = (ins Tile_AnyValue:$input);
  let results = (outs Tile_AnyTile:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Tile_ExpandDimsOp : Tile_PureOp<"expand_dims", [DeclareOpInterfaceMethods<Tile_BoundsOpInterface>]> {
  let summary = "inserts an axis of extent 1";
  let arguments = (ins Tile_AnyTile:$input, ConfinedAttr<I64Attr, [IntNonNegative]>:$axis);
  let results = (outs Tile_AnyTile:$result);
  let assemblyFormat = "$input `axis` $axis attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_SliceOp : Tile_PureOp<"slice", [DeclareOpInterfaceMethods<Tile_BoundsOpInterface>]> {
  let summary = "a part of a tile";
  let description = [{
    ```mlir
    %r = tile.slice %x [0, 16] : tensor<8x64xf32> -> tensor<8x32xf32>
    ```
    The elements from the offsets on, one per axis.
  }];
  let arguments = (ins Tile_Tile:$input, DenseI64ArrayAttr:$offsets);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input $offsets attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_ReshapeOp : Tile_PureOp<"reshape", [DeclareOpInterfaceMethods<Tile_BoundsOpInterface>]> {
  let summary = "the same elements in row-major order under another shape";
  let arguments = (ins Tile_Tile:$input);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_TransposeOp : Tile_PureOp<"transpose", [DeclareOpInterfaceMethods<Tile_BoundsOpInterface>]> {
  let summary = "swaps the last two axes";
  let arguments = (ins Tile_Tile:$input);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_PairRowsOp : Tile_PureOp<"pair_rows"> {
  let summary = "words of two rows of bf16";
  let description = [{
    ```mlir
    %w = tile.pair_rows %x : tensor<64x48xbf16> -> tensor<32x48xi32>
    ```
    The upper half of a word is an element of an even row, the lower half the one below it. `tile-legalize-numerics` makes
    it of the right operand of a strided product.
  }];
  let arguments = (ins Tile_Tile:$input);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_FlipOp : Tile_PureOp<"flip", [DeclareOpInterfaceMethods<Tile_BoundsOpInterface>, AllTypesMatch<["input", "result"]>]> {
  let summary = "the elements along an axis in the opposite order";
  let arguments = (ins Tile_Tile:$input, ConfinedAttr<I64Attr, [IntNonNegative]>:$axis);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input `axis` $axis attr-dict `:` type($input)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_ConcatOp : Tile_PureOp<"concat", [DeclareOpInterfaceMethods<Tile_BoundsOpInterface>]> {
  let summary = "joins tiles along an axis";
  let arguments = (ins Variadic<Tile_Tile>:$inputs, ConfinedAttr<I64Attr, [IntNonNegative]>:$axis);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$inputs `axis` $axis attr-dict `:` type($inputs) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_WhereOp : Tile_PureOp<"where", [DeclareOpInterfaceMethods<Tile_BoundsOpInterface>, AllTypesMatch<["x", "y", "result"]>]> {
  let summary = "elements of one tile or another";
  let description = [{
    ```mlir
    %r = tile.where %c, %x, %y : tensor<8xi1>, tensor<8xf32>
    ```
    An element of `x` where the condition holds, else one of `y`. Unlike `arith.select`, which is elementwise, the result
    is in bounds where the condition and the chosen element are, whatever the other one. `tile-legalize-bounds` turns it
    into `arith.select`.
  }];
  let arguments = (ins Tile_FlagTile:$condition, Tile_Tile:$x, Tile_Tile:$y);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$condition `,` $x `,` $y attr-dict `:` type($condition) `,` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_FillMaskedOp : Tile_PureOp<"fill_masked", [
    DeclareOpInterfaceMethods<Tile_BoundsOpInterface>, AllTypesMatch<["input", "result"]>,
    TypesMatchWith<"fill has the tile's element type", "input", "fill",
                   "::llvm::cast<::mlir::RankedTensorType>($_self).getElementType()">]> {
  let summary = "replaces the elements that are out of bounds";
  let description = [{
    ```mlir
    %r = tile.fill_masked %x, %fill : tensor<8xf32>
    ```
    `fill` takes the place of the elements of `x` that are out of bounds; every element of the result is in bounds.
    `tile-legalize-bounds` turns it into `tile.mask`, or into nothing where `x` is in bounds.
  }];
  let arguments = (ins Tile_Tile:$input, Tile_Scalar:$fill);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input `,` $fill attr-dict `:` type($input)";
}

def Tile_KeepOp : Tile_PureOp<"keep", [
    DeclareOpInterfaceMethods<Tile_BoundsOpInterface>, AllTypesMatch<["input", "result"]>,
    TypesMatchWith<"flags have the tile's shape", "input", "flags",
                   "::llvm::cast<::mlir::RankedTensorType>($_self).clone(::mlir::IntegerType::get($_ctxt, 1))">]> {
  let summary = "puts the elements whose flag is not set out of bounds";
  let description = [{
    ```mlir
    %r = tile.keep %x where %flags : tensor<8xf32>
    ```
    In bounds where `x` and the flags are and the flag is set. `tile-legalize-bounds` turns it into `x`.
  }];
  let arguments = (ins Tile_Tile:$input, Tile_FlagTile:$flags);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input `where` $flags attr-dict `:` type($input)";
}

def Tile_MaskOp : Tile_PureOp<"mask", [
    AllTypesMatch<["input", "result"]>, AttrSizedOperandSegments,
    TypesMatchWith<"fill has the tile's element type", "input", "fill",
                   "::llvm::cast<::mlir::RankedTensorType>($_self).getElementType()">]> {
  let summary = "replaces the elements outside the bounds";
  let description = [{
    ```mlir
    %m = tile.mask %x, %fill bounds(%lo0 to %hi0, %lo1 to %hi1) : tensor<64x32xf32>
    ```
    An element at a position outside [lo, hi) of any axis becomes `fill`. `tile-legalize-bounds` puts a reduction's
    neutral element in the place of elements that are out of bounds with it.
  }];
  let arguments = (ins Tile_AnyTile:$input, Tile_Scalar:$fill, Variadic<Index>:$lower, Variadic<Index>:$upper);
  let results = (outs Tile_AnyTile:$result);
  let assemblyFormat = "$input `,` $fill (`bounds` `` custom<Bounds>($lower, $upper)^)? attr-dict `:` type($input)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif
