// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-vectorize,tile-fuse,tile-legalize-numerics,tile-plan-memory),cpu-lower-tile,cse)' | FileCheck %s

// Tiles of one shape that are read from tensors and converted the same way share a function, which is told how much of
// the tile lies inside, and where its readers stop (these read all of it); inside there are no masks.
// CHECK: func.func private @read.bf16.f32.32x64(%[[TO:.*]]: !llvm.ptr {llvm.noalias}, %[[FROM:.*]]: !llvm.ptr {llvm.readonly}, %[[STRIDE:.*]]: index, %[[ROWS:.*]]: index, %[[COLUMNS:.*]]: index, %[[ROWEND:.*]]: index, %[[COLUMNEND:.*]]: index) attributes {llvm.linkage = #llvm.linkage<internal>}
// CHECK: scf.if
// CHECK: llvm.load
// CHECK: } else {
// CHECK: %[[STOP:.*]] = arith.minsi %[[ROWEND]], %c32
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %[[STOP]]
// CHECK: %[[STOP:.*]] = arith.minsi %[[COLUMNEND]], %c64
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %[[STOP]]
// CHECK: llvm.intr.masked.load
// CHECK: func.func private @mma.
// CHECK-LABEL: func.func @tsr_kernel_sum(
// CHECK: %[[LEFT:.*]] = arith.subi %[[M:[0-9]+]], %[[ROW:[0-9]+]] : index
// CHECK: %[[R:.*]] = arith.minsi %[[LEFT]], %c32
// CHECK: %[[BELOW:.*]] = arith.maxsi %[[R]], %c0
// CHECK: %[[IN:.*]] = arith.cmpi ult, %[[BATCH:[0-9]+]], %{{[0-9]+}} : index
// CHECK: %[[LIMIT:.*]] = arith.select %[[IN]], %[[BELOW]], %c0
// CHECK: call @read.bf16.f32.32x64(%{{.*}}, %{{.*}}, %{{.*}}, %[[LIMIT]], %{{.*}}, %c32{{.*}}, %c64{{.*}})
// CHECK-LABEL: func.func @tsr_kernel_again(
// CHECK: call @read.bf16.f32.32x64(
// A product's depth is cut to its operands' before it is rounded up to turns: a limit may be of any size.
// CHECK: func.func private @mma.{{.*}}.limits(%{{.*}}: index, %[[PROMISED:.*]]: index)
// CHECK: %[[DEPTH:.*]] = arith.minsi %[[PROMISED]], %c64
// CHECK: arith.ceildivsi %[[DEPTH]], %c4
// A product looks as far behind the limits as its register block and its unrolled turn reach, and not behind where its
// operands end, whatever limits it has.
// CHECK-LABEL: func.func @tsr_kernel_product(
// CHECK: %[[ROWS:.*]] = arith.maxsi
// CHECK: %[[DEPTH:.*]] = arith.maxsi
// CHECK: %[[BLOCK:.*]] = arith.addi %[[ROWS]], %c4
// CHECK: %[[ROWEND:.*]] = arith.minsi %[[BLOCK]], %c32
// CHECK: %[[TURN:.*]] = arith.addi %[[DEPTH]], %c4
// CHECK: %[[DEPTHEND:.*]] = arith.minsi %[[TURN]], %c64
// CHECK: call @read.bf16.f32.32x64(%{{.*}}, %{{.*}}, %{{.*}}, %[[ROWS]], %[[DEPTH]], %[[ROWEND]], %[[DEPTHEND]])
// CHECK: call @read.bf16.f32.64x64(
// CHECK: %[[LIMIT:.*]] = arith.minsi %{{.*}}, %[[ROWS]]
// CHECK: call @mma{{.*}}.limits(%{{.*}}, %{{.*}}, %{{.*}}, %[[LIMIT]],
// A start that may be negative, and a tile too small for a call.
// CHECK-LABEL: func.func @tsr_kernel_own(
// CHECK-NOT: call @read
// CHECK-NOT: func.func private @read
tile.kernel @sum(%a: !tile.view<?x?x?xbf16>, %c: !tile.view<32x32xf32>, %L: index, %M: index, %K: index) grid ["L", "ceildiv(M, 32)"] attributes {params = [
    #tile.param<name = "a", kind = tensor, dtype = bf16, dims = ["L", "M", "K"], access = read>,
    #tile.param<name = "c", kind = tensor, dtype = f32, dims = ["32", "32"], access = write>,
    #tile.param<name = "L", kind = dim>, #tile.param<name = "M", kind = dim>, #tile.param<name = "K", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %l = tile.program_id 0 : index
  %m = tile.program_id 1 : index
  %row = arith.muli %m, %c32 : index
  %ta = tile.load %a[%l, %row, %c0] extents [-1, 32, 64] : !tile.view<?x?x?xbf16> -> tensor<32x64xbf16>
  %wide = tile.cast %ta from bf16 to f32 : tensor<32x64xbf16> -> tensor<32x64xf32>
  %turned = tile.transpose %wide : tensor<32x64xf32> -> tensor<64x32xf32>
  %zero = arith.constant dense<0.0> : tensor<32x32xf32>
  %sum = tile.mma %wide, %turned, %zero : tensor<32x64xf32>, tensor<64x32xf32>, tensor<32x32xf32>
  tile.store %sum, %c[%c0, %c0] extents [32, 32] : tensor<32x32xf32>, !tile.view<32x32xf32>
  tile.return
}
tile.kernel @again(%a: !tile.view<?x?xbf16>, %c: !tile.view<32x32xf32>, %M: index, %K: index) grid ["ceildiv(M, 32)"] attributes {params = [
    #tile.param<name = "a", kind = tensor, dtype = bf16, dims = ["M", "K"], access = read>,
    #tile.param<name = "c", kind = tensor, dtype = f32, dims = ["32", "32"], access = write>,
    #tile.param<name = "M", kind = dim>, #tile.param<name = "K", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %m = tile.program_id 0 : index
  %row = arith.muli %m, %c32 : index
  %ta = tile.load %a[%row, %c0] extents [32, 64] : !tile.view<?x?xbf16> -> tensor<32x64xbf16>
  %wide = tile.cast %ta from bf16 to f32 : tensor<32x64xbf16> -> tensor<32x64xf32>
  %turned = tile.transpose %wide : tensor<32x64xf32> -> tensor<64x32xf32>
  %zero = arith.constant dense<0.0> : tensor<32x32xf32>
  %sum = tile.mma %wide, %turned, %zero : tensor<32x64xf32>, tensor<64x32xf32>, tensor<32x32xf32>
  tile.store %sum, %c[%c0, %c0] extents [32, 32] : tensor<32x32xf32>, !tile.view<32x32xf32>
  tile.return
}
tile.kernel @product(%a: !tile.view<?x?xbf16>, %b: !tile.view<?x?xbf16>, %c: !tile.view<32x64xf32>, %M: index, %K: index) grid ["ceildiv(M, 32)"] attributes {params = [
    #tile.param<name = "a", kind = tensor, dtype = bf16, dims = ["M", "K"], access = read>,
    #tile.param<name = "b", kind = tensor, dtype = bf16, dims = ["K", "M"], access = read>,
    #tile.param<name = "c", kind = tensor, dtype = f32, dims = ["32", "64"], access = write>,
    #tile.param<name = "M", kind = dim>, #tile.param<name = "K", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %m = tile.program_id 0 : index
  %row = arith.muli %m, %c32 : index
  %ta = tile.load %a[%row, %c0] extents [32, 64] : !tile.view<?x?xbf16> -> tensor<32x64xbf16>
  %wa = tile.cast %ta from bf16 to f32 : tensor<32x64xbf16> -> tensor<32x64xf32>
  %tb = tile.load %b[%c0, %c0] extents [64, 64] : !tile.view<?x?xbf16> -> tensor<64x64xbf16>
  %wb = tile.cast %tb from bf16 to f32 : tensor<64x64xbf16> -> tensor<64x64xf32>
  %zero = arith.constant dense<0.0> : tensor<32x64xf32>
  %sum = tile.mma %wa, %wb, %zero limits(%M, %M, %K) : tensor<32x64xf32>, tensor<64x64xf32>, tensor<32x64xf32>
  tile.store %sum, %c[%c0, %c0] extents [32, 64] : tensor<32x64xf32>, !tile.view<32x64xf32>
  tile.return
}
tile.kernel @own(%a: !tile.view<?x?xbf16>, %c: !tile.view<32x32xf32>, %at: i32, %M: index, %K: index) grid ["ceildiv(M, 32)"] attributes {params = [
    #tile.param<name = "a", kind = tensor, dtype = bf16, dims = ["M", "K"], access = read>,
    #tile.param<name = "c", kind = tensor, dtype = f32, dims = ["32", "32"], access = write>,
    #tile.param<name = "at", kind = scalar, dtype = i32>, #tile.param<name = "M", kind = dim>, #tile.param<name = "K", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %row = arith.index_cast %at : i32 to index
  %ta = tile.load %a[%row, %c0] extents [32, 64] : !tile.view<?x?xbf16> -> tensor<32x64xbf16>
  %wide = tile.cast %ta from bf16 to f32 : tensor<32x64xbf16> -> tensor<32x64xf32>
  %tb = tile.load %a[%c0, %c0] extents [64, 8] : !tile.view<?x?xbf16> -> tensor<64x8xbf16>
  %small = tile.cast %tb from bf16 to f32 : tensor<64x8xbf16> -> tensor<64x8xf32>
  %zero = arith.constant dense<0.0> : tensor<32x8xf32>
  %sum = tile.mma %wide, %small, %zero : tensor<32x64xf32>, tensor<64x8xf32>, tensor<32x8xf32>
  tile.store %sum, %c[%c0, %c0] extents [32, 8] : tensor<32x8xf32>, !tile.view<32x32xf32>
  tile.return
}
