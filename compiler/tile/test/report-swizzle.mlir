// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-report-hints{backend=ptx swizzles=true}))' | FileCheck %s

// A buffer that is a factor of a matrix instruction, and is read and written as a whole, is swizzled.
// CHECK-LABEL: tile.kernel @factor
// CHECK-NOT: fallbacks
tile.kernel @factor() grid [] attributes {params = []} {
  %b = tile.alloc_shared : !tile.buffer<64x32xbf16, xor>
  %z = arith.constant dense<0.0> : tensor<64x64xf32, #tile.layout<reg = [[0,1], [8,0], [0,32], [32,0]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [0,8], [0,16]], repeat = [1, 1]>>
  %p = tile.mma %b, %b, %z {trans_b, fragment = #tile.fragment<16x8x16, "mma.m16n8k16", warps = [2, 4]>} : !tile.buffer<64x32xbf16, xor>, !tile.buffer<64x32xbf16, xor>, tensor<64x64xf32, #tile.layout<reg = [[0,1], [8,0], [0,32], [32,0]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [[16,0], [0,8], [0,16]], repeat = [1, 1]>>
  tile.return
}

// This one has no use.
// CHECK-LABEL: tile.kernel @other
// CHECK-SAME: fallbacks = ["ptx: swizzle=\22xor\22 has no effect: rows that are no whole factor of a matrix instruction are stored in order"]
tile.kernel @other() grid [] attributes {params = []} {
  %b = tile.alloc_shared : !tile.buffer<64x32xbf16, xor>
  tile.return
}
