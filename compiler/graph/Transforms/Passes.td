// The passes of Graph IR, in the order of the pipeline.
#ifndef TESSERA_GRAPH_PASSES
#define TESSERA_GRAPH_PASSES
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
    each; sums of narrow floats are taken in f32. Query heads of attention that share a key head become its queries, where no
    mask tells them apart. Slices of a converted input become converted slices, which fuse. Fusion then needs to know two kinds of
    operation only.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def GraphSinkReshapes : Pass<"graph-sink-reshapes", "::tessera::graph::FuncOp"> {
  let summary = "Elementwise operations come before the reshapes that drop axes of one element";
  let description = [{
    A reshape ends a group, and a column of a matrix is a slice and a reshape. What is computed from columns becomes one
    group if the reshapes come last. A reshape of a reshape becomes one.
  }];
}

def GraphOwnStorage : Pass<"graph-own-storage", "::tessera::graph::FuncOp"> {
  let summary = "Copies a tensor where two values would need its memory";
  let description = [{
    A function's results have memory of their own: returning a parameter, or one value twice, copies it. A kernel
    that updates a tensor in place gets a copy if the old value is read later, or is a parameter that is not returned.
  }];
}

#endif
