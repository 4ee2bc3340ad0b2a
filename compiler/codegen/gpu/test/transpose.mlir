// RUN: tsr-opt %s --gpu-to-target=target=levelzero:pvc | FileCheck %s
// The transposed index of a tile of 2x2 is a reversal of two bits, which LLVM's optimizer finds.

// CHECK: target.kernel_info "transpose"
gpu.module @image {
  gpu.func @transpose(%x: !llvm.ptr<1> {llvm.noalias, llvm.readonly, llvm.align = 16 : i64},
                      %y: !llvm.ptr<1> {llvm.noalias, llvm.align = 16 : i64}) kernel
      attributes {known_block_size = array<i32: 256, 1, 1>, target.metadata = "name: transpose\0A"} {
    %t = gpu.thread_id x
    %i = arith.index_castui %t : index to i32
    %two = arith.constant 2 : i32
    %count = arith.constant 4 : i32
    %inside = arith.cmpi ult, %i, %count : i32
    scf.if %inside {
      %column = arith.remui %i, %two : i32
      %row = arith.divui %i, %two : i32
      %line = arith.muli %column, %two : i32
      %at = arith.addi %line, %row : i32
      %wide = arith.extui %at : i32 to i64
      %from = llvm.getelementptr %x[%wide] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f64
      %v = llvm.load %from : !llvm.ptr<1> -> f64
      %place = arith.extui %i : i32 to i64
      %to = llvm.getelementptr %y[%place] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f64
      llvm.store %v, %to : f64, !llvm.ptr<1>
    }
    gpu.return
  }
}
