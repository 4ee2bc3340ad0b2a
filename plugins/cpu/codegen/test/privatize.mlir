// RUN: tsr-opt %s -pass-pipeline='builtin.module(tile.kernel(cpu-privatize))' | FileCheck %s

// The tables follow the scratch that is taken, each on its own cache lines. A tensor of unknown size has room for the
// largest, one of known size for its own; the offset that the text brought along is replaced.
// CHECK-LABEL: tile.kernel @counts
// CHECK-SAME: scratch_bytes = 65856
tile.kernel @counts(%h: !tile.view<?xi32>, %s: !tile.view<8x8xi32>, %n: index) grid [] attributes {numerics = "strict", scratch_bytes = 40 : i64, params = [
    #tile.param<name = "h", kind = tensor, dtype = i32, dims = ["n"], access = readwrite>,
    #tile.param<name = "s", kind = tensor, dtype = i32, dims = ["8", "8"], access = readwrite>, #tile.param<name = "n", kind = dim>]} {
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  // CHECK: tile.atomic add relaxed device {{.*}}, %h[{{.*}}] {tile.private = 64 : i64}
  %0 = tile.atomic add relaxed device %one, %h[%n] {tile.private = 123456 : i64} : i32, !tile.view<?xi32> -> i32
  // CHECK: tile.atomic add relaxed group {{.*}}, %h[{{.*}}] {tile.private = 64 : i64}
  %1 = tile.atomic add relaxed group %one, %h[%c1] : i32, !tile.view<?xi32> -> i32
  // CHECK: tile.atomic add relaxed system {{.*}}, %s[{{.*}}] {tile.private = 65600 : i64}
  %2 = tile.atomic add relaxed system %one, %s[%c1, %n] : i32, !tile.view<8x8xi32> -> i32
  tile.return
}

// Nothing of what could be seen to arrive late: old values, reads, other updates, other orders; nor large tensors.
// CHECK-LABEL: tile.kernel @seen
// CHECK-NOT: scratch_bytes
// CHECK-NOT: tile.private
// CHECK: tile.return
tile.kernel @seen(%a: !tile.view<8xi32>, %b: !tile.view<8xi32>, %c: !tile.view<8xi32>, %d: !tile.view<8xi32>, %e: !tile.view<16385xi32>, %f: !tile.view<8xi32>, %n: index) grid [] attributes {numerics = "standard", params = [
    #tile.param<name = "a", kind = tensor, dtype = i32, dims = ["8"], access = readwrite>,
    #tile.param<name = "b", kind = tensor, dtype = i32, dims = ["8"], access = readwrite>,
    #tile.param<name = "c", kind = tensor, dtype = i32, dims = ["8"], access = readwrite>,
    #tile.param<name = "d", kind = tensor, dtype = i32, dims = ["8"], access = readwrite>,
    #tile.param<name = "e", kind = tensor, dtype = i32, dims = ["16385"], access = readwrite>,
    #tile.param<name = "f", kind = tensor, dtype = i32, dims = ["8"], access = readwrite>, #tile.param<name = "n", kind = dim>]} {
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %0 = tile.atomic add relaxed device %one, %a[%c1] {tile.private = 0 : i64} : i32, !tile.view<8xi32> -> i32
  tile.store_elem %0, %f[%c1] : i32, !tile.view<8xi32>
  %1 = tile.atomic add relaxed device %one, %b[%c1] : i32, !tile.view<8xi32> -> i32
  %2 = tile.load_elem %b[%c1] : !tile.view<8xi32> -> i32
  %3 = tile.atomic add relaxed device %one, %c[%c1] : i32, !tile.view<8xi32> -> i32
  %4 = tile.atomic max relaxed device %2, %c[%c1] : i32, !tile.view<8xi32> -> i32
  %5 = tile.atomic add release device %one, %d[%c1] : i32, !tile.view<8xi32> -> i32
  %6 = tile.atomic add relaxed device %one, %e[%n] : i32, !tile.view<16385xi32> -> i32
  tile.return
}

// A fence promises what came before it.
// CHECK-LABEL: tile.kernel @fenced
// CHECK-NOT: tile.private
// CHECK: tile.return
tile.kernel @fenced(%a: !tile.view<8xi32>) grid [] attributes {numerics = "standard", params = [
    #tile.param<name = "a", kind = tensor, dtype = i32, dims = ["8"], access = readwrite>]} {
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %0 = tile.atomic add relaxed device %one, %a[%c1] : i32, !tile.view<8xi32> -> i32
  tile.fence release device
  tile.return
}

// Floats where the profile permits any order.
// CHECK-LABEL: tile.kernel @floats
// CHECK: tile.atomic add {{.*}} {tile.private = 0 : i64}
tile.kernel @floats(%a: !tile.view<8xf32>, %n: index) grid [] attributes {numerics = "standard", params = [
    #tile.param<name = "a", kind = tensor, dtype = f32, dims = ["8"], access = readwrite>, #tile.param<name = "n", kind = dim>]} {
  %one = arith.constant 1.0 : f32
  %0 = tile.atomic add relaxed device %one, %a[%n] : f32, !tile.view<8xf32> -> f32
  tile.return
}
// CHECK-LABEL: tile.kernel @ordered_floats
// CHECK-NOT: tile.private
// CHECK: tile.return
tile.kernel @ordered_floats(%a: !tile.view<8xf32>) grid [] attributes {numerics = "deterministic", params = [
    #tile.param<name = "a", kind = tensor, dtype = f32, dims = ["8"], access = readwrite>]} {
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %0 = tile.atomic add relaxed device %one, %a[%c1] : f32, !tile.view<8xf32> -> f32
  tile.return
}

// Elements with constant indices have a variable, whatever the updates are; of more than eight, or where an index is not
// known, the tensor has a table.
// CHECK-LABEL: tile.kernel @values
// CHECK-SAME: scratch_bytes = 64
tile.kernel @values(%a: !tile.view<2x2xf32>, %b: !tile.view<?xi32>, %c: !tile.view<9xi32>, %n: index) grid [] attributes {numerics = "standard", params = [
    #tile.param<name = "a", kind = tensor, dtype = f32, dims = ["2", "2"], access = readwrite>,
    #tile.param<name = "b", kind = tensor, dtype = i32, dims = ["n"], access = readwrite>,
    #tile.param<name = "c", kind = tensor, dtype = i32, dims = ["9"], access = readwrite>, #tile.param<name = "n", kind = dim>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %x = arith.constant 1.0 : f32
  // CHECK: tile.atomic add {{.*}} {tile.private_value} : f32
  %0 = tile.atomic add relaxed device %x, %a[%c0, %c1] {tile.private = 0 : i64} : f32, !tile.view<2x2xf32> -> f32
  // CHECK: tile.atomic add {{.*}} {tile.private_value} : f32
  %1 = tile.atomic add relaxed device %x, %a[%c1, %c1] : f32, !tile.view<2x2xf32> -> f32
  // CHECK: tile.atomic max {{.*}} {tile.private_value} : i32
  %2 = tile.atomic max relaxed device %one, %b[%c1] : i32, !tile.view<?xi32> -> i32
  // CHECK: tile.atomic add {{.*}} {tile.private = 0 : i64} : i32
  %3 = tile.atomic add relaxed device %one, %c[%c1] {tile.private_value} : i32, !tile.view<9xi32> -> i32
  // CHECK: tile.atomic add {{.*}} {tile.private = 0 : i64} : i32
  %4 = tile.atomic add relaxed device %one, %c[%n] : i32, !tile.view<9xi32> -> i32
  tile.return
}

// Updates of two kinds do not exchange places, and the largest of values in unknown places needs no table.
// CHECK-LABEL: tile.kernel @mixed
// CHECK-NOT: tile.private
// CHECK: tile.return
tile.kernel @mixed(%a: !tile.view<8xi32>, %b: !tile.view<8xi32>, %n: index) grid [] attributes {numerics = "standard", params = [
    #tile.param<name = "a", kind = tensor, dtype = i32, dims = ["8"], access = readwrite>,
    #tile.param<name = "b", kind = tensor, dtype = i32, dims = ["8"], access = readwrite>, #tile.param<name = "n", kind = dim>]} {
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %0 = tile.atomic add relaxed device %one, %a[%c1] : i32, !tile.view<8xi32> -> i32
  %1 = tile.atomic max relaxed device %one, %a[%c1] : i32, !tile.view<8xi32> -> i32
  %2 = tile.atomic max relaxed device %one, %b[%n] : i32, !tile.view<8xi32> -> i32
  tile.return
}
