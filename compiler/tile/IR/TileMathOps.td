// Casts, functions, reductions and matrix products.
#ifndef TESSERA_TILE_MATH_OPS
#define TESSERA_TILE_MATH_OPS
include "compiler/tile/IR/TileBase.td"

def Tile_CastOp : Tile_PureOp<"cast"> {
  let summary = "the language's cast between dtypes";
  let description = [{
    ```mlir
    %q = tile.cast %x from f32 to fp8_e4m3 : tensor<8xf32> -> tensor<8xf8E4M3FN>
    ```
    `from` and `to` are dtypes of the language, since element types alone do not tell u8 from i8 or tf32 from f32.
    Rounds to nearest even; to fp8, fp6 and fp4 overflow and infinities become the largest finite value and NaN
    stays NaN where the format has one. Float to integer truncates and saturates, NaN gives 0.
  }];
  let arguments = (ins Tile_AnyValue:$input, StrAttr:$from, StrAttr:$to);
  let results = (outs Tile_AnyValue:$result);
  let assemblyFormat = [{
    $input `from` custom<DTypeName>($from) `to` custom<DTypeName>($to) attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_SigmoidOp : Tile_PureOp<"sigmoid", [AllTypesMatch<["input", "result"]>, ElementwiseMappable]> {
  let summary = "1 / (1 + exp(-x))";
  let arguments = (ins Tile_FloatValue:$input);
  let results = (outs Tile_FloatValue:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

def Tile_ReduceOp : Tile_PureOp<"reduce", [DeclareOpInterfaceMethods<Tile_BoundsOpInterface, ["neutralElement", "combinedAxis"]>]> {
  let summary = "reduction along an axis, which goes away; of rank 1 it gives a scalar";
  let description = [{
    ```mlir
    %s = tile.reduce sum %x axis 1 order <lanes = 8, chains = [4, 1]> : tensor<4x512xf32> -> tensor<4xf32>
    ```
    `order` decides the bits of a sum or product of floats. Without it the elements are combined in the order of their
    indices. `tile-order-reductions` gives one to every reduction of a tile in memory that has none. The order of a tile in
    registers follows from its layout: the registers of a lane, then lanes that differ in one bit, the lowest first.
  }];
  let arguments = (ins Tile_ReduceKind:$kind, Tile_AnyTile:$input, ConfinedAttr<I64Attr, [IntNonNegative]>:$axis,
                       UnitAttr:$is_unsigned, OptionalAttr<Tile_OrderAttr>:$order);
  let results = (outs Tile_AnyValue:$result);
  let assemblyFormat = [{
    $kind $input `axis` $axis (`unsigned` $is_unsigned^)? (`order` $order^)? attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_ArgReduceOp : Tile_PureOp<"arg_reduce", [DeclareOpInterfaceMethods<Tile_BoundsOpInterface, ["neutralElement", "combinedAxis"]>]> {
  let summary = "i32 position of the extreme: the lowest on ties, the first NaN wins";
  let arguments = (ins Tile_ArgKind:$kind, Tile_Tile:$input, ConfinedAttr<I64Attr, [IntNonNegative]>:$axis,
                       UnitAttr:$is_unsigned);
  let results = (outs AnyTypeOf<[I32, StaticShapeTensorOf<[I32]>]>:$result);
  let assemblyFormat = [{
    $kind $input `axis` $axis (`unsigned` $is_unsigned^)? attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_ScanOp : Tile_PureOp<"scan", [AllTypesMatch<["input", "result"]>, DeclareOpInterfaceMethods<Tile_BoundsOpInterface, ["neutralElement"]>]> {
  let summary = "inclusive scan along an axis, in index order";
  let arguments = (ins Tile_ScanKind:$kind, Tile_Tile:$input, ConfinedAttr<I64Attr, [IntNonNegative]>:$axis,
                       UnitAttr:$is_unsigned);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$kind $input `axis` $axis (`unsigned` $is_unsigned^)? attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Tile_SortOp : Tile_PureOp<"sort", [DeclareOpInterfaceMethods<Tile_BoundsOpInterface, ["neutralElement"]>]> {
  let summary = "sorts signed integers along an axis, ascending";
  let description = [{
    ```mlir
    %s = tile.sort %x axis 1 : tensor<4x1000xi32> -> tensor<4x1024xi32>
    ```
    The axis of the result is the next power of two. Elements that are out of bounds, and those past the end of `x`,
    are the largest integer, come last, and are out of bounds in the result.
  }];
  let arguments = (ins StaticShapeTensorOf<[I8, I16, I32, I64]>:$input, ConfinedAttr<I64Attr, [IntNonNegative]>:$axis);
  let results = (outs StaticShapeTensorOf<[I8, I16, I32, I64]>:$result);
  let assemblyFormat = "$input `axis` $axis attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_MmaOp : Tile_Op<"mma", [AllTypesMatch<["acc", "result"]>, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
                                 DeclareOpInterfaceMethods<Tile_BoundsOpInterface, ["neutralElement", "combinedAxis"]>,
                                 AlwaysSpeculatable]> {
  let summary = "matrix product added to an accumulator";
  let description = [{
    ```mlir
    %c = tile.mma %a, %b, %acc {trans_b} : tensor<64x32xbf16>, !tile.buffer<128x32xbf16, xor>, tensor<64x128xf32>
    ```
    `a` is MxK and `b` KxN after the transposes that the flags ask for. Operands share a dtype and may be whole
    shared buffers. Floats accumulate in floats, integers in i32. `fragment` is the register block chosen for it.
    `limits(%m, %n, %k)` promises that rows of `a` from m on, columns of `b` from n on, and both from k on along the
    contraction hold zeros, or that nothing uses what they give, so that a lowering may leave them out.

    ```mlir
    %c = tile.mma %a, %b, %acc {fragment = #tile.fragment<16x8x16, "mma.m16n8k16", warps = [2, 4]>}
        : tensor<64x32xbf16, #a>, tensor<32x64xbf16>, tensor<64x64xf32, #c>
    ```
    A product of bf16 whose left operand is read one by one (`tile.strided`) may have `tile.pair_rows` as its right operand.

    If the fragment names an instruction, the accumulator has the layout that the instruction and the warps give it. An
    operand has its layout, too, or is in memory.

    A product that is `in_flight` adds to a sum that its loop carries and uses for nothing else. It runs beside what
    follows it until that of the next step has started, or until the end of the loop.
  }];
  let arguments = (ins Tile_MmaOperand:$a, Tile_MmaOperand:$b, Tile_AnyTile:$acc, Variadic<Index>:$limits, UnitAttr:$trans_a, UnitAttr:$trans_b,
                       UnitAttr:$is_unsigned, OptionalAttr<Tile_FragmentAttr>:$fragment, UnitAttr:$in_flight);
  let results = (outs Tile_AnyTile:$result);
  let assemblyFormat = [{
    $a `,` $b `,` $acc (`limits` `(` $limits^ `)`)? (`unsigned` $is_unsigned^)? attr-dict `:` qualified(type($a)) `,` qualified(type($b)) `,` type($acc)
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// The elements of the product that are in bounds, whatever the accumulator's are.
    ::tessera::tile::Bounds boundsOfProduct(::mlir::OpBuilder &b, ::tessera::tile::BoundsOf of);
  }];
}

def Tile_RandOp : Tile_PureOp<"rand"> {
  let summary = "random bits, or a uniform f32 in [0, 1), by Philox4x32-10";
  let description = [{
    The counter is (offset low, offset high, 0, 0), the key the two words of the seed; `word` (0 unless it is given)
    chooses one of the four words of output. An i32 is the word itself; an f32 is the word shifted right by 8, times
    2^-24.
  }];
  let arguments = (ins I64:$seed, AnyTypeOf<[I64, StaticShapeTensorOf<[I64]>]>:$offset,
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntMinValue<0>, IntMaxValue<3>]>, "0">:$word);
  let results = (outs AnyTypeOf<[F32, I32, StaticShapeTensorOf<[F32, I32]>]>:$result);
  let assemblyFormat = [{
    $seed `,` $offset (`word` $word^)? attr-dict `:` type($seed) `,` type($offset) `->` type($result)
  }];
  let hasVerifier = 1;
}

#endif
