// Without AVX-512 a masked store follows a test whether all of its mask is set, and then is a plain store
// (docs/decisions/0181). Rows in the opposite order have one mask for each row.
// RUN: tsr compile %s --emit asm --target cpu:x86-64-v3 | FileCheck %s
// RUN: tsr compile %s --emit asm --target cpu:x86-64-v4 | FileCheck %s --check-prefix=WIDE

// CHECK: vptest
// CHECK-NEXT: ja
// CHECK-NEXT: vmovups{{[[:space:]]+}}%ymm{{[0-9]+}}, (
// WIDE-NOT: vptest
// WIDE: vmovups{{[[:space:]]+}}%zmm{{[0-9]+}}, {{.*}} {%k
// WIDE-NOT: vptest
module attributes {tessera.numerics = {standard = ["contraction", "unordered_atomics"]}} {
  graph.func @f(%arg0: !graph.tensor<["M", "N"], f32>) -> !graph.tensor<["M", "N"], f32> attributes {numerics = "standard", params = [
      #tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["M", "N"]>,
      #tile.param<name = "result", kind = result, dtype = f32, access = write, dims = ["M", "N"]>,
      #tile.param<name = "M", kind = dim>, #tile.param<name = "N", kind = dim>], returns = ["result"]} {
    %0 = graph.slice %arg0 starts ["M - 1", "0"] steps [-1, 1] : (!graph.tensor<["M", "N"], f32>) -> !graph.tensor<["M", "N"], f32>
    graph.return %0 : !graph.tensor<["M", "N"], f32>
  }
}
