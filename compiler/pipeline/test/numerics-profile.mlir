// What a profile permits stands at every level, whoever reads the text. This one is as standard, without contraction.
// RUN: tsr compile %s --emit graph | FileCheck %s --check-prefixes=CHECK,GRAPH
// RUN: tsr compile %s --emit schedule | FileCheck %s --check-prefixes=CHECK,SCHEDULE
// RUN: tsr compile %s --emit tile | FileCheck %s --check-prefixes=CHECK,TILE
// RUN: tsr compile %s --emit target | FileCheck %s --check-prefixes=CHECK,TARGET
// RUN: tsr compile %s --emit asm --target cpu:x86-64-v3 | FileCheck %s --check-prefix=ASM --implicit-check-not=vfm

// CHECK: module attributes {tessera.numerics = {house = ["unordered_atomics"]}}
// GRAPH: graph.func @f({{.*}} attributes {numerics = "house"
// SCHEDULE: graph.func @f({{.*}} attributes {numerics = "house"
// TILE: tile.kernel @f.g0({{.*}} attributes {{{.*}}numerics = "house"
// TARGET: numerics: house\0Apermits: [unordered_atomics]
// ASM: vmulps
module attributes {tessera.numerics = {house = ["unordered_atomics"]}} {
  graph.func @f(%x: !graph.tensor<["M"], f32>, %y: !graph.tensor<["M"], f32>) -> !graph.tensor<["M"], f32> attributes {
      numerics = "house", returns = ["result"], params = [
      #tile.param<access = read, dims = ["M"], dtype = f32, kind = tensor, name = "x">,
      #tile.param<access = read, dims = ["M"], dtype = f32, kind = tensor, name = "y">,
      #tile.param<access = write, dims = ["M"], dtype = f32, kind = result, name = "result">, #tile.param<kind = dim, name = "M">]} {
    %p = graph.binary mul %x, %y : (!graph.tensor<["M"], f32>, !graph.tensor<["M"], f32>) -> !graph.tensor<["M"], f32>
    %s = graph.binary add %p, %x : (!graph.tensor<["M"], f32>, !graph.tensor<["M"], f32>) -> !graph.tensor<["M"], f32>
    graph.return %s : !graph.tensor<["M"], f32>
  }
}
