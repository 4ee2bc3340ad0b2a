// The passes of Tile IR, in the order of the pipeline.
#ifndef TESSERA_TILE_PASSES
#define TESSERA_TILE_PASSES
include "mlir/Pass/PassBase.td"

def TileSimplify : Pass<"tile-simplify"> {
  let summary = "Canonicalizes without dropping operands that masks depend on";
  let description = [{
    Until `tile-legalize-bounds` has run, an elementwise operation on tiles is out of bounds wherever an operand is, and a
    loop keeps the elements of its variables that its body leaves out. Such operations do not fold and loops are not
    inlined; everything else is canonicalized. Arithmetic on fp8, fp6 and fp4 never folds here: upstream's folding does not
    saturate.
  }];
  let options = [
    Option<"explicitMasks", "explicit-masks", "bool", "false",
           "masks are explicit, so that operations on tiles fold and loops are inlined">,
  ];
}

def TileFixReductions : Pass<"tile-fix-reductions", "::tessera::tile::KernelOp"> {
  let summary = "Gives sums of floats the order of fixed_reductions";
  let description = [{
    In kernels whose profile has `fixed_reductions`, sets the `order` of every `tile.reduce` that adds or multiplies floats
    and has none, and adds +0 to products where their result is used, since a sum of underflowed terms may be -0.
  }];
}

def TileCanonicalizeNans : Pass<"tile-canonicalize-nans", "::tessera::tile::KernelOp"> {
  let summary = "Gives NaNs that arithmetic has produced the bits of the quiet NaN";
  let description = [{
    In kernels whose profile has `fixed_reductions`, inserts a comparison and a choice of bits where a float that an operation has
    computed is stored or reinterpreted, or moved to where it is. What is only moved keeps its bits.
  }];
}

def TileExtractProduct : Pass<"tile-extract-product", "::tessera::tile::KernelOp"> {
  let summary = "Leaves whole matrix products to a body of the target";
  let description = [{
    For targets that have bodies for products of `dtypes`. A loop that accumulates the product of two tensors, over all of
    the contraction and in the blocks of the grid, becomes a read of the product (`tile.product`). Its factors may be loaded, or
    copied to shared buffers that nothing else uses. A kernel with several such loops keeps them.
  }];
  let options = [Option<"backend", "backend", "std::string", "\"\"", "named in the fallbacks">,
                 ListOption<"dtypes", "dtypes", "std::string", "dtypes of products that the target has bodies for">];
}

def TileLegalizeBounds : Pass<"tile-legalize-bounds", "::tessera::tile::KernelOp"> {
  let summary = "Masks elements past a tensor's edge where they would be seen";
  let description = [{
    Loads leave 0 in elements that are out of bounds. Where these would be seen, by a reduction, a product, a store, an
    atomic or a loop-carried variable, they become a `tile.mask` or the bounds of a `tile.store`. How they pass through an
    operation is asked of its `BoundsOpInterface`.
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

def TileSimplifyIndices : Pass<"tile-simplify-indices", "::tessera::tile::KernelOp"> {
  let summary = "Simplifies scalar arithmetic on indices by what is known about them";
  let description = [{
    The language rounds quotients down, and guards divisors of 0 and -1. Where operands are known not to be negative, as
    positions and dims are, a division is one of unsigned numbers, and comparisons of the guard that the sign decides are
    constants. Arithmetic on i64 values that were indices becomes arithmetic on indices. Elements whose indices are then known
    to be inside their tensor, because loops and dims bound them, are marked `in_bounds`.
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

def TileRelaxArithmetic : Pass<"tile-relax-arithmetic", "::tessera::tile::KernelOp"> {
  let summary = "Marks float arithmetic with what the numerics profile permits beyond `standard`";
  let description = [{
    A profile that permits `reassociation` gets fast-math flags on the program's additions, multiplications and
    divisions, `contract` among them where it permits `contraction`. One that permits `approximate` divides by a
    broadcast value as a multiplication by its reciprocal; tile-expand-math approximates functions later, where the target
    has instructions for it. Where a permission has no effect, `fallbacks` says so.
  }];
  let options = [
    Option<"backend", "backend", "std::string", "\"cpu\"", "name of the backend in the fallbacks">,
    Option<"approximates", "approximates", "bool", "false", "has the target instructions that approximate functions?">,
    ListOption<"shortSums", "short-sums", "std::string",
               "dtypes whose products the target adds with fewer bits than their sums have where the profile permits reduced_multiply">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TileReadBlocks : Pass<"tile-read-blocks", "::mlir::ModuleOp"> {
  let summary = "Makes a variant whose products read their factors from tensors to registers, by 2D block reads";
  let description = [{
    For targets whose instructions can have factors in registers that the device fills by block reads. Factors are loads that
    one product uses, and shared buffers that a copy fills for one product; those copies, and barriers that nothing else needs,
    are left out. The variant is called `block2d` and is for launches whose tensors have the addresses, rows and
    distances between rows that the device demands; the kernel itself is the variant `shared`. A kernel with reports, or with
    variants of its own, has none. `schedule.copy` = "async" of a loop keeps its copies.
  }];
  let options = [
    ListOption<"instructions", "instructions", "std::string", "the target's matrix instructions, as for tile-assign-layouts">,
    Option<"warps", "warps", "int64_t", "0", "that share a program, where the kernel does not say">
  ];
  let dependentDialects = ["::tessera::schedule::ScheduleDialect"];
}

def TileAssignLayouts : Pass<"tile-assign-layouts", "::tessera::tile::KernelOp"> {
  let summary = "Chooses matrix instructions for products, and keeps their sums in registers";
  let description = [{
    A product gets the first of the target's instructions that multiplies its dtype, into the dtype of its sums, and divides its tile among
    the warps, with at most 128 registers of a lane for the sums. An instruction that reads shared memory and adds with too few bits for the
    profile needs registers for its own sums, too. Operands of f32 are multiplied as tf32 in profiles that permit
    `reduced_multiply`. If no instruction multiplies the dtype, the operands are cast to the narrowest dtype that has
    all of its values and an instruction. Its accumulator, and the variable of a loop that only this product adds to, get the instruction's layout;
    `tile.convert` connects them with tiles in memory. Operands stay in memory. `fallbacks` lists the casts, and products whose dtype has an
    instruction that does not divide the tile. Sums of a profile with fixed reductions
    (`strict`) have an order that instructions do not keep; those products are left to multiply-adds.
  }];
  let options = [
    Option<"backend", "backend", "std::string", "\"\"", "backend that fallbacks are reported for">,
    ListOption<"instructions", "instructions", "std::string",
               "the target's, by their names in docs/layouts.md, preferred first; NAME:DTYPE:... only for these dtypes, NAME:DTYPE:...:short adds with fewer bits than its sums have">,
    Option<"unused", "unused", "std::string", "\"\"", "faster instructions of the target, which products do not use">,
    Option<"warps", "warps", "int64_t", "0", "that share a program">,
    Option<"registers", "registers", "int64_t", "0", "of a unit, of 32 bits, if they limit a block's sums; 0: not known">,
  ];
}

def TileAssignRowLayouts : Pass<"tile-assign-row-layouts", "::tessera::tile::KernelOp"> {
  let summary = "Spreads rows that are reduced over the registers of a program's threads";
  let description = [{
    For kernels that reduce tiles of one shape along their rows, and all of whose tiles can be in registers: loads, stores,
    elementwise operations, broadcasts, loops and branches. Each load of such a tile gets a layout in which a lane has up to
    16 bytes of a row, and a row is in as few warps as possible. `fallbacks` lists tiles that are too large for a thread's
    registers. They stay in memory, as do tiles with fewer elements than threads.
  }];
  let options = [
    Option<"backend", "backend", "std::string", "\"\"", "backend that fallbacks are reported for">,
    Option<"lanes", "lanes", "int64_t", "32", "of a warp">,
    Option<"warps", "warps", "int64_t", "0", "that share a program">,
  ];
}

def TileSkipHidden : Pass<"tile-skip-hidden", "::tessera::tile::KernelOp"> {
  let summary = "Ends products, masks and reductions where a causal mask hides all that follows";
  let description = [{
    Where elements become -inf because their column is more than a limit after their row, as in a causal attention, no
    element from the column `limit + rows` on is visible. The product that computes them, masks of them and of their exp, and
    products of that exp end there.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TileScaleExponents : Pass<"tile-scale-exponents", "::tessera::tile::KernelOp"> {
  let summary = "Computes the weights of a softmax of scaled scores as powers of 2";
  let description = [{
    exp(scale * x - m) becomes exp2((scale * log2(e)) * x - log2(e) * m), whose multiplication is contracted with the
    subtraction, in profiles that permit `approximate`. Masks and maxima are computed of x itself. The scale is a constant of
    at most 0.99 / log2(e), so that nothing overflows that did not.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TileKeepInRegisters : Pass<"tile-keep-in-registers", "::tessera::tile::KernelOp"> {
  let summary = "Computes what follows from tiles in registers there";
  let description = [{
    Moves the conversions of sums to memory below the elementwise operations, row reductions, stores, branches and loop
    variables that use them. A tile whose lanes and warps hold what the left factor of the next product needs is that
    factor, as the weights of attention are. Other operands of these operations are computed in the layout: constants,
    positions, loads, broadcast rows and columns. What has another use goes through memory. Before a store of which the lanes
    of a warp would write parts of sectors of 32 bytes, they exchange elements, so that each stores up to 16 bytes of a row.
  }];
  let options = [Option<"shuffles", "shuffles", "bool", "false", "lanes of a warp exchange values">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def TileTransposeProducts : Pass<"tile-transpose-products", "::tessera::tile::KernelOp"> {
  let summary = "Computes products of products with their transposes, lanes along the rows of the first";
  let description = [{
    A loop that multiplies rows by the rows of one tile after the other, and what it computes of that product by another
    tile, as attention does, becomes a loop over transposed tiles. Neither tile needs a transpose then, and reductions along
    the columns of the first product combine vectors. A loop whose tensor has at most `few-rows` rows stays as it is.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
  let options = [
    Option<"vectorBytes", "vector-bytes", "int64_t", "64", "bytes of the target's vector registers">,
    Option<"fewRows", "few-rows", "int64_t", "24", "as many rows are computed as they are">,
  ];
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
    Marks with `tile.materialize` every elementwise value, load or shape change that several nests or several positions of
    one nest use, that is read from a region it was not computed in, is stretched by a broadcast, or would otherwise read memory
    that has been overwritten. A store or a reduction computes a value that it uses several times once per position. Reductions, products and what regions carry always have memory. Obeys `schedule.fusion` of the kernel and
    `schedule.fuse` of single ops.
  }];
}

def TileLegalizeNumerics : Pass<"tile-legalize-numerics", "::tessera::tile::KernelOp"> {
  let summary = "Expresses arithmetic on narrow floats and narrow products in types that the target computes in";
  let description = [{
    bf16, f16, fp8, fp6 and fp4 compute in f32 and round after every operation. The operands of a product stay as they
    are if the target multiplies their dtype. Else they are widened to the narrowest dtype that it multiplies and that has
    all their values, which may be f32 or i32. Each change is recorded in the kernel's `fallbacks`, and each product of f32 that
    is not rounded to tf32 although the profile permits it.
  }];
  let options = [
    Option<"backend", "backend", "std::string", "\"cpu\"", "name of the backend in the fallbacks">,
    ListOption<"products", "products", "std::string", "dtypes below 32 bits that the target's products multiply">,
    Option<"pairsOfBf16", "pairs-of-bf16", "bool", "false", "strided products multiply words of two rows of bf16">
  ];
}

def TileOrderReductions : Pass<"tile-order-reductions", "::tessera::tile::KernelOp"> {
  let summary = "Decides the order in which each reduction combines its elements";
  let description = [{
    Sets the `order` of every `tile.reduce` that has none, from the target's vectors or threads and the numerics profile:
    `reassociation` permits more chains. Runs when it is known which tiles are in memory. Nothing after it may change the
    order.
  }];
  let options = [
    Option<"threads", "threads", "int64_t", "0", "threads that share the tiles of a program; 0: one, with vectors">
  ];
}

def TilePipelineLoops : Pass<"tile-pipeline-loops", "::mlir::ModuleOp"> {
  let summary = "Copies the factors of products some steps of a loop ahead, into rings of shared buffers";
  let description = [{
    For loops that copy into shared buffers by `tile.cp_async`, or that load tiles which only matrix instructions read. With
    S stages each such buffer becomes a ring of S. S - 1 steps are copied before the loop; step i waits for its own copies,
    starts those of step i + S - 1, and computes. The wait is the only barrier of a step. `schedule.stages` of the loop is
    obeyed, or refused if the rings do not fit into shared memory. `schedule.most_stages`, and the target's default, are
    reduced to what fits. The kernel's `decisions` get the number, and its `fallbacks` what was asked for in vain.

    Where the target copies boxes of tensors by an engine, and the tensors' form permits it, the kernel gets the variant
    `tma`, which fills the rings so; the kernel itself runs where addresses or strides are no multiples of 16 bytes. With
    `schedule.copy` = "async" a loop has no such copies; "tma" is refused where the loop cannot have them.

    In these variants a `tile.store` of a whole tile in registers becomes `tile.store_box`, which stores it by the engine: if
    nothing but the tensor's extents limits it, the kernel does not access the tensor afterwards and has no fences or atomics,
    the result begins at a multiple of 16 bytes, and a buffer of a box of each warp, or two, fits beside the rings. `decisions`
    get the number as `box_stores`. If rows of the result may have another length than those of the factors, the kernel gets
    the variant `tma_store`, which has both, and `tma`, which only copies boxes.

    If the loop only adds products to sums, warps of their own may start its copies (`tile.roles`): those that
    `schedule.block` names, and by default four where a lane has more than 64 sums and at least eight warps compute,
    so that a unit has one block. By default the grid is persistent then (`tile.block_programs`), so that the copies of a
    program start before the one before it has ended. Where `schedule.block` asks for clusters, the variant `cluster` runs if
    they divide the grid: what their programs have in common is copied once. With `pingpong`, and by default
    in such a kernel whose loop has them, groups of warps take turns between two products of a step. Where sums are in tensor memory, `schedule.block` may give warps of their own to the products,
    too, and several sets of sums.
  }];
  let options = [
    Option<"backend", "backend", "std::string", "\"\"", "backend that fallbacks are reported for">,
    Option<"target", "target", "std::string", "\"\"", "name of the target in refusals">,
    Option<"stages", "stages", "int64_t", "1", "of loops that leave them open">,
    Option<"threads", "threads", "int64_t", "0", "that share a program">,
    Option<"sharedBytes", "shared-bytes", "int64_t", "0", "of shared memory that a program may have">,
    Option<"boxes", "boxes", "bool", "false", "the target copies boxes of tensors">,
    Option<"registers", "registers", "int64_t", "0", "of a unit, which warps with roles divide; 0: there are no roles">
  ];
  let dependentDialects = ["::tessera::schedule::ScheduleDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def TileReportHints : Pass<"tile-report-hints", "::tessera::tile::KernelOp"> {
  let summary = "Records in `fallbacks` which hints of the program have no effect on the target";
  let options = [
    Option<"backend", "backend", "std::string", "\"cpu\"", "name of the backend in the fallbacks">,
    Option<"prefetches", "prefetches", "bool", "true", "the target prefetches where it is asked to">,
    Option<"swizzles", "swizzles", "bool", "false", "factors of matrix instructions may be stored in another order">,
    Option<"pipelines", "pipelines", "bool", "false", "tile-pipeline-loops reports `stages`">
  ];
}

def TilePlanMemory : Pass<"tile-plan-memory", "::tessera::tile::KernelOp"> {
  let summary = "Places shared buffers and tiles in the program's scratch by their lifetimes";
}

def TileExpandMath : Pass<"tile-expand-math"> {
  let summary = "Replaces elementary functions by fixed sequences of arithmetic";
  let description = [{
    Replaces the functions of the tile dialect and `math.ipowi` on scalars and vectors by the sequences of
    numerics/functions, in every profile and on every target, so that results do not depend on a vendor's library. f16 and
    bf16 are computed in f32. `math.sqrt`, fma, floor and absf stay: they are instructions. Runs after tiles have become
    vectors and before scf is lowered (sin and cos of f64 contain an `scf.if` for huge arguments, ipowi a loop). A code
    generator must not contract or reassociate across the whole module afterwards.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def TileExpandMinMax : Pass<"tile-expand-min-max"> {
  let summary = "Replaces minimum and maximum of floats by compares, selects and bit operations";
  let description = [{
    For scalars and vectors of f32 and f64, by IEEE 754-2019: -0 is less than +0, and a NaN in either operand gives a NaN.
    Runs before `arith-expand`, which lets the order of the operands decide between zeros. LLVM's own expansion takes five
    to ten instructions where this takes three (minimum) or five (maximum) on x86.
  }];
}

def TileExpandHalf : Pass<"tile-expand-half"> {
  let summary = "Replaces conversions of f16 by integer arithmetic";
  let description = [{
    For processors without instructions for them (x86-64-v2 has no F16C), where each would be a call of a compiler's
    run-time library. Replaces `arith.extf` of f16 to f32 or f64 and `arith.truncf` of f32 to f16, of scalars and vectors,
    with the results of the hardware's conversions: signalling NaNs become quiet; denormals and rounding to nearest even
    are IEEE 754's. Nothing else computes in f16: `tile-legalize-numerics` has widened it.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TilePrintLayouts : Pass<"tile-print-layouts"> {
  let summary = "Prints a drawing of each layout that occurs";
  let description = [{
    Grids of `lane:register` for layouts of registers, of offsets for those of shared memory, in the order of their first
    use. For people and tests; the module is not changed.
  }];
}

#endif
