// RUN: tsr-opt %s --gpu-to-target=target=ptx:sm_80 | FileCheck %s
// RUN: tsr-opt %s --gpu-to-target=target=rocm:gfx1100 | FileCheck %s
// RUN: tsr-opt %s --gpu-to-target=target=levelzero:pvc | FileCheck %s
// Storage narrower than the arithmetic: f16 as itself, bf16 as the upper half of an f32, i8 with wrapping, f64.

// CHECK: llvm.fpext %{{.*}} : f16 to f32
// CHECK: llvm.fptrunc %{{.*}} : f32 to f16
gpu.module @image {
  gpu.func @storage(%h: !llvm.ptr<1>, %w: !llvm.ptr<1>, %i: !llvm.ptr<1>, %d: !llvm.ptr<1>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpu.thread_id x
    %at = arith.index_cast %t : index to i64
    %ph = llvm.getelementptr %h[%at] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f16
    %vh = llvm.load %ph : !llvm.ptr<1> -> f16
    %eh = arith.extf %vh : f16 to f32
    %pw = llvm.getelementptr %w[%at] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i16
    %bits = llvm.load %pw : !llvm.ptr<1> -> i16
    %wide = arith.extui %bits : i16 to i32
    %c16 = arith.constant 16 : i32
    %up = arith.shli %wide, %c16 : i32
    %ew = arith.bitcast %up : i32 to f32
    %s = arith.addf %eh, %ew : f32
    %th = arith.truncf %s : f32 to f16
    llvm.store %th, %ph : f16, !llvm.ptr<1>
    %round = arith.constant 32767 : i32
    %sb = arith.bitcast %s : f32 to i32
    %rb = arith.addi %sb, %round : i32
    %lo = arith.shrui %rb, %c16 : i32
    %tw = arith.trunci %lo : i32 to i16
    llvm.store %tw, %pw : i16, !llvm.ptr<1>
    %pi = llvm.getelementptr %i[%at] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    %vi = llvm.load %pi : !llvm.ptr<1> -> i8
    %mi = arith.muli %vi, %vi : i8
    %minus = arith.constant -7 : i8
    %xi = arith.maxsi %mi, %minus : i8
    llvm.store %xi, %pi : i8, !llvm.ptr<1>
    %pd = llvm.getelementptr %d[%at] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f64
    %vd = llvm.load %pd : !llvm.ptr<1> -> f64
    %si = arith.sitofp %xi : i8 to f64
    %qd = arith.divf %si, %vd : f64
    llvm.store %qd, %pd : f64, !llvm.ptr<1>
    gpu.return
  }
}
