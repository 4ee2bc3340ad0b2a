// Every pass of the project, in the order of the pipeline.
#ifndef TESSERA_PASSES
#define TESSERA_PASSES
include "mlir/Pass/PassBase.td"

def GraphSinkIndexCasts : Pass<"graph-sink-index-casts", "::tessera::schedule::KernelOp"> {
  let summary = "Turns address arithmetic on i64 into arithmetic on index";
  let description = [{
    The project's part of canonicalization: the language's integers are i64, memory operations take index. A cast to
    index moves up through integer arithmetic until it meets a loop or grid variable and cancels.
  }];
}

def GraphDecompose : Pass<"graph-decompose", "::tessera::graph::FuncOp"> {
  let summary = "Formulas become elementwise operations and reductions along one axis";
  let description = [{
    softmax, layer_norm and rms_norm become what they are defined as; a reduction along several axes becomes one along
    each; sums of narrow floats are taken in f32. Fusion then needs to know two kinds of operation only.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def GraphOwnStorage : Pass<"graph-own-storage", "::tessera::graph::FuncOp"> {
  let summary = "Copies a tensor where two values would need its memory";
  let description = [{
    What a function returns lies in a result of its own: returning a parameter, or one value twice, copies it. A kernel
    that updates a tensor in place gets a copy if the old value is read later, or is a parameter that is not returned.
  }];
}

def ScheduleChooseVariants : Pass<"schedule-choose-variants", "::tessera::graph::FuncOp"> {
  let summary = "Attaches the decisions of a mapper to the operations they are about";
  let description = [{
    A function with the attribute `schedule.variants` gets its matmuls numbered (`schedule.choice`), and the ones that
    the attribute, a dictionary by number, has an entry for get it as their `schedule.decision`. The default is no entry.
  }];
}

def ScheduleFormGroups : Pass<"schedule-form-groups", "::tessera::graph::FuncOp"> {
  let summary = "Puts the operations of a graph function into fusion groups and chooses their tiles";
  let description = [{
    Every operation on whole tensors ends up in a `schedule.group`, which will be one kernel: chains of elementwise
    operations, reductions with what surrounds them, a matmul with its epilogue. `schedule.fusion = "none"` on the
    function gives each its own. A matmul whose `schedule.decision` is a library's stands alone. `schedule.hints` on the function are likely values of its dims, for the tiles.
  }];
  let dependentDialects = ["::tessera::schedule::ScheduleDialect"];
  let options = [Option<"target", "target", "std::string", "\"cpu\"", "proposes the tiles">];
}

def ScheduleOutline : Pass<"schedule-outline", "::mlir::ModuleOp"> {
  let summary = "Makes a kernel of every fusion group and a launch of the group";
  let description = [{
    The kernel is the tile program a user would have written for the group: it is built as the frontend's typed program
    and imported as such. A group whose `variant` is a library's becomes a call of it. The graph function is left with launches and reshapes: the order of the host's work.
  }];
  let dependentDialects = ["::tessera::schedule::ScheduleDialect", "::tessera::tile::TileDialect",
                           "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [Option<"target", "target", "std::string", "\"cpu\"", "what is compiled for">];
}

def ScheduleDecide : Pass<"schedule-decide", "::tessera::schedule::KernelOp"> {
  let summary = "Fills the open decisions of a schedule";
  let description = [{
    Gives `schedule.grid` its `placement` and `order`, `schedule.lanes` its `lanes_per_program`, loops their
    `schedule.stages`, and the kernel its `schedule.fusion`: "auto" lets `tile-fuse` compute a value inside the loop of
    the op that uses it, "none" gives every value memory of its own. `schedule.fuse = false` on a single op ends a
    fusion group there. A decision that is already there is kept, so that a mapper, a tuner or a person can take
    any of them first.
  }];
  let options = [
    Option<"lanesPerProgram", "lanes-per-program", "int64_t", "4096",
           "lanes one program of a linear_id kernel runs">
  ];
}

def ScheduleExpand : Pass<"schedule-expand", "::mlir::ModuleOp"> {
  let summary = "Carries out the schedule: schedule.kernel becomes tile.kernel";
  let description = [{
    A grid axis becomes an axis of `tile.kernel`'s grid and its variable `from + program_id * step`. The lanes of a
    program become an `scf.for` marked `tile.lanes` over its share of them. All decisions must have been taken.
    The graph functions stay beside the kernels.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::tessera::tile::TileDialect"];
}

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

def TargetLimitSize : Pass<"target-limit-size", "::mlir::ModuleOp"> {
  let summary = "Refuses programs that would become too much code";
  let description = [{
    What follows, LLVM above all, takes time and memory that grow with the code, and faster than it. A function of mathematics
    counts as the fifty operations it expands to. The error is E_IR_SIZE, at the kernel with the largest share.
  }];
  let options = [Option<"limit", "limit", "int64_t", "500000", "operations a module may have">];
}

def TargetDescribeFunctions : Pass<"target-describe-functions", "::mlir::ModuleOp"> {
  let summary = "Makes metadata with a host plan of every graph function";
  let dependentDialects = ["::tessera::target::TargetDialect"];
  let options = [Option<"targetName", "target", "std::string", "\"cpu\"", "the target's name in the metadata">];
}

#endif
