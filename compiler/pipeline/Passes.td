// Every pass of the project, in the order of the pipeline.
#ifndef TESSERA_PASSES
#define TESSERA_PASSES
include "mlir/Pass/PassBase.td"

def ScheduleDecide : Pass<"schedule-decide", "::tessera::schedule::KernelOp"> {
  let summary = "Fills the open decisions of a schedule";
  let description = [{
    Gives `schedule.grid` its `placement` and `order`, `schedule.lanes` its `lanes_per_program`, and loops their
    `schedule.stages`. A decision that is already there is kept, so that a mapper, a tuner or a person can take
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

#endif
