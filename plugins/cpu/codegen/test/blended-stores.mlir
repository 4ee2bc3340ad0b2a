// Accumulators in scratch are blended and stored whole. LLVM would combine that into a masked store, which is microcoded on
// AMD's processors without AVX-512 (docs/decisions/0015, 0180).
// RUN: tsr compile %s --emit asm --target cpu:x86-64-v3 | FileCheck %s
// RUN: tsr compile %s --emit asm --target cpu:znver3 | FileCheck %s

// CHECK-NOT: vmaskmovps{{[[:space:]]+}}%ymm{{[0-9]+}}, %ymm{{[0-9]+}}, {{.*}}(
// CHECK: vfmadd{{[0-9]+}}ps
// CHECK-NOT: vmaskmovps{{[[:space:]]+}}%ymm{{[0-9]+}}, %ymm{{[0-9]+}}, {{.*}}(
// CHECK: vblendvps
// CHECK-NOT: vmaskmovps{{[[:space:]]+}}%ymm{{[0-9]+}}, %ymm{{[0-9]+}}, {{.*}}(
module attributes {tessera.numerics = {standard = ["contraction", "unordered_atomics"]}} {
  graph.func @f(%arg0: !graph.tensor<["H", "S", 64], f32>, %arg1: !graph.tensor<["H", "T", 64], f32>, %arg2: !graph.tensor<["H", "T", 64], f32>) -> !graph.tensor<["H", "S", 64], f32> attributes {numerics = "standard", params = [
      #tile.param<name = "q", kind = tensor, dtype = f32, access = read, dims = ["H", "S", "64"]>,
      #tile.param<name = "k", kind = tensor, dtype = f32, access = read, dims = ["H", "T", "64"]>,
      #tile.param<name = "v", kind = tensor, dtype = f32, access = read, dims = ["H", "T", "64"]>,
      #tile.param<name = "result", kind = result, dtype = f32, access = write, dims = ["H", "S", "64"]>,
      #tile.param<name = "H", kind = dim>, #tile.param<name = "S", kind = dim>, #tile.param<name = "T", kind = dim>], returns = ["result"]} {
    %0 = graph.attention %arg0, %arg1, %arg2 : (!graph.tensor<["H", "S", 64], f32>, !graph.tensor<["H", "T", 64], f32>, !graph.tensor<["H", "T", 64], f32>) -> !graph.tensor<["H", "S", 64], f32>
    graph.return %0 : !graph.tensor<["H", "S", 64], f32>
  }
}
