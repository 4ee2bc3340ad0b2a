// RUN: not tsr compile %s --emit target --target ptx:sm_90a 2>&1 | FileCheck %s
// RUN: sed 's/64, 64/32, 64/' %s > %t.mlir && tsr compile %t.mlir --emit target --target ptx:sm_90a | FileCheck %s --check-prefix=FEW

// CHECK: do not fit in the 232448 bytes of shared memory of ptx:sm_90a with the other tiles of the program; take smaller tiles, for instance of 32 rows, which another instruction multiplies
// FEW: nvvm.mma.sync
module attributes {tessera.numerics = {standard = ["contraction", "unordered_atomics"]}} {
  graph.func @f(%arg0: !graph.tensor<["H", "S", 512], f16>, %arg1: !graph.tensor<["H", "T", 512], f16>, %arg2: !graph.tensor<["H", "T", 512], f16>) -> !graph.tensor<["H", "S", 512], f16> attributes {numerics = "standard", params = [#tile.param<name = "q", kind = tensor, dtype = f16, access = read, dims = ["H", "S", "512"]>, #tile.param<name = "k", kind = tensor, dtype = f16, access = read, dims = ["H", "T", "512"]>, #tile.param<name = "v", kind = tensor, dtype = f16, access = read, dims = ["H", "T", "512"]>, #tile.param<name = "result", kind = result, dtype = f16, access = write, dims = ["H", "S", "512"]>, #tile.param<name = "H", kind = dim>, #tile.param<name = "S", kind = dim>, #tile.param<name = "T", kind = dim>], returns = ["result"]} {
    %0 = schedule.group attention(%arg0, %arg1, %arg2) attributes {tile = array<i64: 64, 64>} : (!graph.tensor<["H", "S", 512], f16>, !graph.tensor<["H", "T", 512], f16>, !graph.tensor<["H", "T", 512], f16>) -> !graph.tensor<["H", "S", 512], f16> {
    ^bb0(%arg3: !graph.tensor<["H", "S", 512], f16>, %arg4: !graph.tensor<["H", "T", 512], f16>, %arg5: !graph.tensor<["H", "T", 512], f16>):
      %1 = graph.attention %arg3, %arg4, %arg5 : (!graph.tensor<["H", "S", 512], f16>, !graph.tensor<["H", "T", 512], f16>, !graph.tensor<["H", "T", 512], f16>) -> !graph.tensor<["H", "S", 512], f16>
      schedule.yield %1 : !graph.tensor<["H", "S", 512], f16>
    }
    graph.return %0 : !graph.tensor<["H", "S", 512], f16>
  }
}

