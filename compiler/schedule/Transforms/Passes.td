// The passes of Schedule IR, in the order of the pipeline.
#ifndef TESSERA_SCHEDULE_PASSES
#define TESSERA_SCHEDULE_PASSES
include "mlir/Pass/PassBase.td"

def ScheduleDropFills : Pass<"schedule-drop-fills", "::mlir::ModuleOp"> {
  let summary = "Leaves out the elements of tensors that a launch overwrites";
  let description = [{
    An operand that a launch only writes becomes `graph.empty` if the kernel's programs store every element of it.
  }];
  let dependentDialects = ["::tessera::graph::GraphDialect"];
}

def ScheduleChooseVariants : Pass<"schedule-choose-variants", "::tessera::graph::FuncOp"> {
  let summary = "Attaches the decisions of a mapper to the operations they are about";
  let description = [{
    A function with the attribute `schedule.variants` gets its matmuls numbered (`schedule.choice`), and the ones that
    the attribute, a dictionary by number, has an entry for get it as their `schedule.decision`. The default is no entry.
  }];
}

def ScheduleSpecializeLongVectors : Pass<"schedule-specialize-long-vectors", "::mlir::ModuleOp"> {
  let summary = "Gives functions that reduce vectors of unknown length a variant for long ones";
  let description = [{
    A vector has parts if it is known to be long; short ones are not worth the second launch. Where only a call knows the
    length, the function gets a variant for long vectors, with a hint by which they have parts. For targets whose programs are
    threads; those of blocks always have parts. Functions with hints or variants of their own stay as they are.
  }];
  let options = [Option<"target", "target", "std::string", "\"cpu\"", "what is compiled for">];
}

def ScheduleSplitReductions : Pass<"schedule-split-reductions", "::tessera::graph::FuncOp"> {
  let summary = "Reduces adjacent axes as one, in parts";
  let description = [{
    A reduction of adjacent axes becomes one of their product, in parts of as many elements as the target asks for, and one of
    the parts. What is reduced may be elementwise operations on tensors of that shape. A reduction of a vector that
    `schedule.hints` say to be long has parts, too. On GPUs so do reductions of vectors and along outer axes that are not known to be
    short, also searches for positions: the lowest position of the parts that have the extreme of all is the result. For targets that collapse axes.
  }];
  let dependentDialects = ["::tessera::graph::GraphDialect"];
  let options = [Option<"target", "target", "std::string", "\"cpu\"", "what is compiled for">];
}

def ScheduleUnrollReductions : Pass<"schedule-unroll-reductions", "::tessera::graph::FuncOp"> {
  let summary = "Reduces short axes by operations on slices";
  let description = [{
    A reduction of up to 16 elements, along axes whose extents are numbers, becomes as many slices, which are added, multiplied or
    compared: `mean(x, axis=(1, 3))` of `[H, 2, W, 2]` is one elementwise group. Elementwise operations before it are computed of each
    slice. Sums have the order of a profile with `fixed_reductions`. A last axis has at most 6 elements (4 of a byte); one axis that is
    kept must be the last, and the target one without threads. Functions with `schedule.fusion = "none"` stay as they are.
  }];
  let options = [Option<"target", "target", "std::string", "\"cpu\"", "what is compiled for">];
  let dependentDialects = ["::tessera::graph::GraphDialect", "::mlir::arith::ArithDialect"];
}

def ScheduleSplitScans : Pass<"schedule-split-scans", "::tessera::graph::FuncOp"> {
  let summary = "Scans long axes in parts";
  let description = [{
    A scan whose result does not depend on the order, of integers or of extremes, becomes a reduction of parts, a scan of their
    results, and a scan in parts that goes on from these. On GPUs, where one program would have all the work: of vectors and
    along outer axes that are not known to be short, and of long rows that are known to be few.
  }];
  let dependentDialects = ["::tessera::graph::GraphDialect"];
  let options = [Option<"target", "target", "std::string", "\"cpu\"", "what is compiled for">];
}

def ScheduleFormGroups : Pass<"schedule-form-groups", "::tessera::graph::FuncOp"> {
  let summary = "Puts the operations of a graph function into fusion groups and chooses their tiles";
  let description = [{
    Every operation on whole tensors ends up in a `schedule.group`, which will be one kernel: chains of elementwise
    operations, reductions with what surrounds them, a matmul with its epilogue. `schedule.fusion = "none"` on the
    function gives each its own. A matmul whose `schedule.decision` is a library's gets a group of its own. `schedule.hints` on the function are likely values of its dims, for the tiles.
  }];
  let dependentDialects = ["::tessera::schedule::ScheduleDialect"];
  let options = [Option<"target", "target", "std::string", "\"cpu\"", "proposes the tiles">];
}

def ScheduleOutline : Pass<"schedule-outline", "::mlir::ModuleOp"> {
  let summary = "Makes a kernel of every fusion group and a launch of the group";
  let description = [{
    The kernel is the tile program a user would have written for the group: a grid over the group's space, whose programs
    load, compute and store tiles. That they store every element of the results is checked. A group whose `variant` is a library's becomes a call of it. The graph function is left with launches and reshapes: the order of the host's work.
  }];
  let dependentDialects = ["::tessera::schedule::ScheduleDialect", "::tessera::tile::TileDialect",
                           "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [Option<"target", "target", "std::string", "\"cpu\"", "what is compiled for">];
}

def ScheduleDecide : Pass<"schedule-decide", "::tessera::schedule::KernelOp"> {
  let summary = "Fills the open decisions of a schedule";
  let description = [{
    Gives `schedule.grid` its `placement` and `order`, that of a product on a target with `units` also its `group_rows` and on one with
    `chiplets` these, `schedule.lanes` its `lanes_per_program`, loops their
    `schedule.stages`, and the kernel its `schedule.fusion`: "auto" lets `tile-fuse` compute a value inside the loop of
    the op that uses it, "none" gives every value memory of its own. `schedule.fuse = false` on a single op ends a
    fusion group there. On GPUs a kernel gets `warps`: the tunable `num_warps`, or a number that follows
    from the tile of its product by matrix instructions, or one that leaves no lane without an element of its largest tile. A decision that is already there is kept, so that a mapper, a tuner or a person can take
    any of them first.
  }];
  let options = [
    Option<"lanesPerProgram", "lanes-per-program", "int64_t", "4096",
           "lanes one program of a linear_id kernel runs">,
    Option<"pipelines", "pipelines", "bool", "false",
           "the target pipelines loops, and chooses `schedule.stages` of those that leave it open">,
    Option<"warps", "warps", "int64_t", "0", "of a program of the target by default; 0: a program has one thread">,
    Option<"mostWarps", "most-warps", "int64_t", "0", "that a program may have">,
    Option<"lanes", "lanes", "int64_t", "32", "of a warp of the target">,
    Option<"units", "units", "int64_t", "0", "of the target, which run programs at the same time; 0: unknown">,
    Option<"chiplets", "chiplets", "int64_t", "1", "of the target, on which consecutive programs start in turn">,
    ListOption<"factors", "factors", "std::string", "dtypes that matrix instructions multiply">,
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
  let options = [Option<"warpSize", "warp-size", "int64_t", "0", "threads of a warp of the target">];
}

#endif
