// RUN: tsr-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{the bases reach 4 of the 8 elements of the unit}}
#l = #tile.layout<reg = [[1]], lane = [[4]], warp = [], repeat = [1]>

// -----

// expected-error @+1 {{repeat 2 is not odd and positive; powers of two belong to the bases}}
#l = #tile.layout<reg = [[1]], lane = [], warp = [], repeat = [2]>

// -----

// expected-error @+1 {{base [1] has 1 coordinates, 'repeat' has 2 axes}}
#l = #tile.layout<reg = [[1]], lane = [], warp = [], repeat = [1, 1]>

// -----

// expected-error @+1 {{3 offset bits of rank 2 do not number the 4 elements of the unit}}
#s = #tile.shared<offset = [[1], [2], [3]], repeat = [1]>

// -----

#l = #tile.layout<reg = [[1]], lane = [[2]], warp = [], repeat = [3]>
// expected-error @+1 {{a layout of 12 elements is on a tile of 16}}
func.func private @shape(tensor<16xf32, #l>)

// -----

// expected-error @+1 {{no matrix instruction "mma.m3n3k3" in docs/layouts.md}}
func.func private @f() attributes {f = #tile.fragment<3x3x3, "mma.m3n3k3", warps = [1, 1]>}

// -----

// expected-error @+1 {{"mma.m16n8k16" computes 16x8x16, not 16x16x16}}
func.func private @f() attributes {f = #tile.fragment<16x16x16, "mma.m16n8k16", warps = [1, 1]>}

// -----

// expected-error @+1 {{warps are two powers of two up to 128, along rows and columns}}
func.func private @f() attributes {f = #tile.fragment<16x8x16, "mma.m16n8k16", warps = [3, 1]>}

// -----

// expected-error @+1 {{"wgmma.m64n8k16" is executed by 4 warps along the rows, not 2}}
func.func private @f() attributes {f = #tile.fragment<64x176x16, "wgmma.m64n8k16", warps = [2, 1]>}

// -----

// expected-error @+1 {{"tcgen05.m128n16k16" of 16 columns is not shared by 4 warps, each of which holds a multiple of 8 columns}}
func.func private @f() attributes {f = #tile.fragment<128x16x16, "tcgen05.m128n16k16", warps = [4, 4]>}

// -----

#l = #tile.layout<reg = [[1]], lane = [[2]], warp = [], repeat = [1]>
func.func @reshape(%x: tensor<4xf32, #l>) -> tensor<1x4xf32> {
  // expected-error @+1 {{operand #0 must be tile, but got}}
  %0 = tile.reshape %x : tensor<4xf32, #l> -> tensor<1x4xf32>
  return %0 : tensor<1x4xf32>
}

// -----

#l = #tile.layout<reg = [[1]], lane = [[2]], warp = [], repeat = [1]>
func.func @expand(%x: tensor<4xf32, #l>) -> tensor<1x4xf32> {
  // expected-error @+1 {{gives 'tensor<1x4xf32, #tile.layout<reg = [[0,1]], lane = [[0,2]], warp = [], repeat = [1, 1]>>', not 'tensor<1x4xf32>'}}
  %0 = tile.expand_dims %x axis 0 : tensor<4xf32, #l> -> tensor<1x4xf32>
  return %0 : tensor<1x4xf32>
}

// -----

#m = #tile.layout<reg = [[0,1]], lane = [[1,0]], warp = [], repeat = [1, 1]>
func.func @reduce(%x: tensor<2x2xf32, #m>) -> tensor<2xf32> {
  // expected-error @+1 {{gives 'tensor<2xf32, #tile.layout<reg = [], lane = [[1]], warp = [], repeat = [1]>>', not 'tensor<2xf32>'}}
  %0 = tile.reduce sum %x axis 1 : tensor<2x2xf32, #m> -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

#l = #tile.layout<reg = [[1]], lane = [[2]], warp = [], repeat = [1]>
func.func @convert(%x: tensor<4xf32>) {
  // expected-error @+1 {{changes the layout only}}
  %0 = tile.convert %x : tensor<4xf32> -> tensor<4xf16, #l>
  return
}

// -----

func.func @convert(%x: tensor<4xf32>) {
  // expected-error @+1 {{knows no layout "blocked"}}
  %0 = tile.convert %x : tensor<4xf32> -> tensor<4xf32, "blocked">
  return
}

// -----

#l = #tile.layout<reg = [[1]], lane = [[2]], warp = [], repeat = [1]>
#m = #tile.layout<reg = [], lane = [[1], [2]], warp = [], repeat = [1]>
func.func @convert(%x: tensor<4xf32, #l>) {
  // expected-error @+1 {{converts between layouts of as many threads: 1 warps of 2 lanes to 1 of 4}}
  %0 = tile.convert %x : tensor<4xf32, #l> -> tensor<4xf32, #m>
  return
}

// -----

#l = #tile.layout<reg = [[1]], lane = [[2]], warp = [], repeat = [1]>
func.func @cast(%x: tensor<4xf32, #l>) {
  // expected-error @+1 {{keeps the layout}}
  %0 = tile.cast %x from f32 to f16 : tensor<4xf32, #l> -> tensor<4xf16>
  return
}

// -----

#c = #tile.layout<reg = [[0,1], [8,0]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [], repeat = [1, 1]>
func.func @mma(%a: tensor<16x16xbf16>, %b: tensor<16x8xbf16>, %c: tensor<16x8xf32, #c>) {
  // expected-error @+1 {{has layouts but no fragment with an instruction}}
  %0 = tile.mma %a, %b, %c : tensor<16x16xbf16>, tensor<16x8xbf16>, tensor<16x8xf32, #c>
  return
}

// -----

func.func @mma(%a: tensor<16x16xbf16>, %b: tensor<16x8xbf16>, %c: tensor<16x8xf32>) {
  // expected-error @+1 {{the accumulator has no layout, which mma.m16n8k16 needs}}
  %0 = tile.mma %a, %b, %c {fragment = #tile.fragment<16x8x16, "mma.m16n8k16", warps = [1, 1]>}
      : tensor<16x16xbf16>, tensor<16x8xbf16>, tensor<16x8xf32>
  return
}

// -----

func.func @mma(%a: tensor<16x16xf32>, %b: tensor<16x8xf32>, %c: tensor<16x8xf32>) {
  // expected-error @+1 {{is not what mma.m16n8k16 does: it multiplies f16 bf16 and adds in f32}}
  %0 = tile.mma %a, %b, %c {fragment = #tile.fragment<16x8x16, "mma.m16n8k16", warps = [1, 1]>}
      : tensor<16x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>
  return
}

// -----

func.func @mma(%a: tensor<16x16xbf16>, %b: tensor<16x24xbf16>, %c: tensor<16x24xf32>) {
  // expected-error @+1 {{of 16x24x16 is not padded to 16x32x16 for mma.m16n8k16 on 1x2 warps}}
  %0 = tile.mma %a, %b, %c {fragment = #tile.fragment<16x8x16, "mma.m16n8k16", warps = [1, 2]>}
      : tensor<16x16xbf16>, tensor<16x24xbf16>, tensor<16x24xf32>
  return
}

// -----

#c = #tile.layout<reg = [[0,1], [8,0]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [], repeat = [1, 1]>
#d = #tile.layout<reg = [[8,0], [0,1]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]], warp = [], repeat = [1, 1]>
func.func @mma(%a: tensor<16x16xbf16>, %b: tensor<16x8xbf16>, %c: tensor<16x8xf32, #d>) {
  // expected-error @+1 {{the accumulator has the layout #tile.layout<reg = [[8,0], [0,1]]}}
  %0 = tile.mma %a, %b, %c {fragment = #tile.fragment<16x8x16, "mma.m16n8k16", warps = [1, 1]>}
      : tensor<16x16xbf16>, tensor<16x8xbf16>, tensor<16x8xf32, #d>
  return
}
