// RUN: tsr-opt %s -pass-pipeline='builtin.module(gpu-lower-tile{target=ptx:sm_90a})' | FileCheck %s

// A launch checks that clusters divide its grid.
// CHECK: gpu.func @tsr_kernel_pairs
// CHECK-SAME: {value: \220 - ceildiv(n, 8) % 2\22, says: \22ceildiv(n, 8) % 2 == 0\22}
tile.kernel @pairs(%n: index) grid ["n", "ceildiv(n, 8)"] attributes {cluster = array<i64: 1, 2>, params = [#tile.param<name = "n", kind = dim>]} {
  tile.return
}

// A constant one needs no check.
// CHECK: gpu.func @tsr_kernel_constant
// CHECK-NOT: checks
tile.kernel @constant(%n: index) grid ["n", "4"] attributes {cluster = array<i64: 1, 2>, params = [#tile.param<name = "n", kind = dim>]} {
  tile.return
}
