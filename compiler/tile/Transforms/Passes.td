// The passes of Tile IR, in the order of the pipeline.
#ifndef TESSERA_TILE_PASSES
#define TESSERA_TILE_PASSES
include "mlir/Pass/PassBase.td"

def TileSimplify : Pass<"tile-simplify"> {
  let summary = "Canonicalizes without dropping operands that masks depend on";
  let description = [{
    Until `tile-legalize-absence` has run, an elementwise operation on tiles is out of bounds wherever an operand is, and a
    loop keeps the elements of its variables that its body leaves out. Such operations do not fold and loops are not
    inlined; everything else is canonicalized. Arithmetic on fp8, fp6 and fp4 never folds here: upstream's folding does not
    saturate.
  }];
  let options = [
    Option<"explicitMasks", "explicit-masks", "bool", "false",
           "masks are explicit, so that operations on tiles fold and loops are inlined">,
  ];
}

def TileLegalizeAbsence : Pass<"tile-legalize-absence", "::tessera::tile::KernelOp"> {
  let summary = "Makes the absence of elements past a tensor's edge explicit";
  let description = [{
    Loads leave 0 in absent elements. Where absence would be seen, by a reduction, a product, a store, an atomic or a
    loop-carried variable, it becomes a `tile.mask` or the bounds of a `tile.store`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TileNarrowComparisons : Pass<"tile-narrow-comparisons", "::tessera::tile::KernelOp"> {
  let summary = "Compares positions with 64-bit bounds in lanes of 32 bits";
  let description = [{
    A position is a scalar plus something that is known to stay small within a tile, such as an iota. Compared with a bound
    that is the same for many elements, it needs 64 bits once per bound: the comparison is mapped to 32 bits in a way that
    keeps its result for all values, wrapped sums included.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TileHoistInvariants : Pass<"tile-hoist-invariants", "::tessera::tile::KernelOp"> {
  let summary = "Computes integer arithmetic that does not change within a loop before it";
  let description = [{
    Hoists scalar integer arithmetic, divisions included whose divisor is guarded as the importer guards it. Tiles stay
    where they are.
  }];
}

def TileVectorize : Pass<"tile-vectorize", "::tessera::tile::KernelOp"> {
  let summary = "Chooses the vector width and the register block (fragment) of every mma";
  let options = [
    Option<"vectorBytes", "vector-bytes", "int64_t", "64", "bytes of the target's vector registers">,
    Option<"vectorRegisters", "vector-registers", "int64_t", "32", "number of vector registers">,
    Option<"threads", "threads", "int64_t", "0", "threads that share the tiles of a program; 0: one, with vectors">
  ];
}

def TileFuse : Pass<"tile-fuse", "::tessera::tile::KernelOp"> {
  let summary = "Decides which tile values get memory of their own; the others are computed where they are used";
  let description = [{
    Marks with `tile.materialize` every elementwise value, load or shape change that has several users, is read from a
    region it was not computed in, is stretched by a broadcast, or would otherwise read memory that has been
    overwritten. Reductions, products and what regions carry always have memory. Obeys `schedule.fusion` of the kernel and
    `schedule.fuse` of single ops.
  }];
}

def TileLegalizeNumerics : Pass<"tile-legalize-numerics", "::tessera::tile::KernelOp"> {
  let summary = "Expresses arithmetic on narrow floats and 8-bit products in types the backend computes in";
  let description = [{
    bf16, f16, fp8, fp6 and fp4 compute in f32 and round after every operation; 8- and 16-bit integer products widen to i32.
    Each change is recorded in the kernel's `fallbacks`.
  }];
  let options = [
    Option<"backend", "backend", "std::string", "\"cpu\"", "name of the backend in the fallbacks">
  ];
}

def TilePlanMemory : Pass<"tile-plan-memory", "::tessera::tile::KernelOp"> {
  let summary = "Places shared buffers and tiles in the program's scratch by their lifetimes";
}

#endif
