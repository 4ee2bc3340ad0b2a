// RUN: tsr-opt %s | tsr-opt | FileCheck %s

// CHECK-LABEL: target.module @gemm attributes
// CHECK-SAME: cpu = "skylake-avx512"
// CHECK-SAME: triple = "x86_64-unknown-linux-gnu"
// CHECK-SAME: vector_bytes = 64 : i64
target.module @gemm attributes {triple = "x86_64-unknown-linux-gnu", cpu = "skylake-avx512", vector_bytes = 64} {
  llvm.func @gemm() {
    llvm.return
  }
  // CHECK: target.kernel_info "gemm" entry @gemm metadata "name: gemm\0A"
  target.kernel_info "gemm" entry @gemm metadata "name: gemm\n"
}
