// RUN: tsr-opt %s --tile-narrow-comparisons --canonicalize | FileCheck %s

// s + iota < n: scalars in 64 bits, lanes in 32, no sum of 64 bits per element.
// CHECK-LABEL: tile.kernel @line
// CHECK-DAG: %[[MIN:.*]] = arith.constant -9223372036854775808 : i64
// CHECK-DAG: %[[MIN32:.*]] = arith.constant -2147483648 : i32
// CHECK-DAG: %[[W1:.*]] = arith.constant 256 : i64
// CHECK-DAG: %[[W2:.*]] = arith.constant 257 : i64
// CHECK: %[[P:.*]] = arith.subi %[[MIN]], %s : i64
// CHECK: %[[Q:.*]] = arith.subi %n, %s : i64
// CHECK: %[[AFTER:.*]] = arith.cmpi uge, %[[Q]], %[[P]] : i64
// CHECK: %[[ONE:.*]] = arith.extui %[[AFTER]] : i1 to i64
// CHECK: %[[OUT:.*]] = arith.addi %[[ONE]], %[[W1]] : i64
// CHECK: %[[CUT:.*]] = arith.minui %[[Q]], %[[OUT]] : i64
// CHECK: %[[Q32:.*]] = arith.trunci %[[CUT]] : i64 to i32
// CHECK: %[[START:.*]] = arith.minui %[[P]], %[[W2]] : i64
// CHECK: %[[P32:.*]] = arith.trunci %[[START]] : i64 to i32
// CHECK: %[[FIRST:.*]] = arith.subi %[[MIN32]], %[[P32]] : i32
// CHECK: %[[LANES:.*]] = tile.iota %[[FIRST]] : i32 -> tensor<256xi32>
// CHECK: %[[END:.*]] = arith.addi %[[Q32]], %[[FIRST]] : i32
// CHECK: %[[ENDS:.*]] = tile.broadcast %[[END]] : i32 -> tensor<256xi32>
// CHECK: arith.cmpi slt, %[[LANES]], %[[ENDS]] : tensor<256xi32>
tile.kernel @line(%y: !tile.view<?xi1>, %s: i64, %n: i64, %N: index) grid ["1"] attributes {params = [
    #tile.param<access = write, dims = ["N"], dtype = bool, kind = tensor, name = "y">,
    #tile.param<dtype = i64, kind = scalar, name = "s">, #tile.param<dtype = i64, kind = scalar, name = "n">, #tile.param<kind = dim, name = "N">]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0 : i32
  %i = tile.iota %z : i32 -> tensor<256xi32>
  %w = tile.cast %i from i32 to i64 : tensor<256xi32> -> tensor<256xi64>
  %b = tile.broadcast %s : i64 -> tensor<256xi64>
  %v = arith.addi %b, %w : tensor<256xi64>
  %m = tile.broadcast %n : i64 -> tensor<256xi64>
  %lt = arith.cmpi slt, %v, %m : tensor<256xi64>
  tile.store %lt, %y[%c0] extents [256] : tensor<256xi1>, !tile.view<?xi1>
  tile.return
}

// The operands in the other order: the predicate turns around. Equality stays.
// CHECK-LABEL: tile.kernel @swapped
// CHECK: arith.cmpi sle, %{{.*}}, %{{.*}} : tensor<256xi32>
// CHECK: arith.cmpi ne, %{{.*}}, %{{.*}} : tensor<256xi32>
tile.kernel @swapped(%y: !tile.view<?xi1>, %n: i64, %N: index) grid ["1"] attributes {params = [
    #tile.param<access = write, dims = ["N"], dtype = bool, kind = tensor, name = "y">,
    #tile.param<dtype = i64, kind = scalar, name = "n">, #tile.param<kind = dim, name = "N">]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0 : i32
  %i = tile.iota %z : i32 -> tensor<256xi32>
  %w = tile.cast %i from i32 to i64 : tensor<256xi32> -> tensor<256xi64>
  %m = tile.broadcast %n : i64 -> tensor<256xi64>
  %ge = arith.cmpi sge, %m, %w : tensor<256xi64>
  %ne = arith.cmpi ne, %m, %w : tensor<256xi64>
  %both = arith.andi %ge, %ne : tensor<256xi1>
  tile.store %both, %y[%c0] extents [256] : tensor<256xi1>, !tile.view<?xi1>
  tile.return
}

// row >= col: the longer axis is the lanes', and 64 bits are needed once per row.
// CHECK-LABEL: tile.kernel @plane
// CHECK: arith.minui %{{.*}} : tensor<8x1xi64>
// CHECK: arith.trunci %{{.*}} : tensor<8x1xi64> to tensor<8x1xi32>
// CHECK: %[[COL:.*]] = tile.expand_dims %{{.*}} axis 0 : tensor<64xi32> -> tensor<1x64xi32>
// CHECK: %[[COLS:.*]] = tile.broadcast %[[COL]] : tensor<1x64xi32> -> tensor<8x64xi32>
// CHECK: %[[ROWS:.*]] = tile.broadcast %{{.*}} : tensor<8x1xi32> -> tensor<8x64xi32>
// CHECK: arith.cmpi sle, %[[COLS]], %[[ROWS]] : tensor<8x64xi32>
tile.kernel @plane(%y: !tile.view<?x?xi1>, %r: i64, %c: i64, %N: index) grid ["1"] attributes {params = [
    #tile.param<access = write, dims = ["N", "N"], dtype = bool, kind = tensor, name = "y">,
    #tile.param<dtype = i64, kind = scalar, name = "r">, #tile.param<dtype = i64, kind = scalar, name = "c">, #tile.param<kind = dim, name = "N">]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0 : i32
  %i = tile.iota %z : i32 -> tensor<8xi32>
  %iw = tile.cast %i from i32 to i64 : tensor<8xi32> -> tensor<8xi64>
  %rb = tile.broadcast %r : i64 -> tensor<8xi64>
  %row = arith.addi %rb, %iw : tensor<8xi64>
  %j = tile.iota %z : i32 -> tensor<64xi32>
  %jw = tile.cast %j from i32 to i64 : tensor<64xi32> -> tensor<64xi64>
  %cb = tile.broadcast %c : i64 -> tensor<64xi64>
  %col = arith.addi %cb, %jw : tensor<64xi64>
  %re = tile.expand_dims %row axis 1 : tensor<8xi64> -> tensor<8x1xi64>
  %ce = tile.expand_dims %col axis 0 : tensor<64xi64> -> tensor<1x64xi64>
  %rows = tile.broadcast %re : tensor<8x1xi64> -> tensor<8x64xi64>
  %cols = tile.broadcast %ce : tensor<1x64xi64> -> tensor<8x64xi64>
  %ge = arith.cmpi sge, %rows, %cols : tensor<8x64xi64>
  tile.store %ge, %y[%c0, %c0] extents [8, 64] : tensor<8x64xi1>, !tile.view<?x?xi1>
  tile.return
}

// Multiples and differences: lanes are 3 * iota - 2 * (loaded i8), from -254 to 445.
// CHECK-LABEL: tile.kernel @multiples
// CHECK-DAG: arith.constant 700 : i64
// CHECK-DAG: arith.constant 701 : i64
// CHECK: arith.cmpi slt, %{{.*}}, %{{.*}} : tensor<64xi32>
// CHECK-NOT: tensor<64xi64>
tile.kernel @multiples(%x: !tile.view<?xi8>, %y: !tile.view<?xi1>, %s: i64, %n: i64, %N: index) grid ["1"] attributes {params = [
    #tile.param<access = read, dims = ["N"], dtype = i8, kind = tensor, name = "x">,
    #tile.param<access = write, dims = ["N"], dtype = bool, kind = tensor, name = "y">,
    #tile.param<dtype = i64, kind = scalar, name = "s">, #tile.param<dtype = i64, kind = scalar, name = "n">, #tile.param<kind = dim, name = "N">]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0 : i32
  %two = arith.constant dense<2> : tensor<64xi64>
  %three = arith.constant dense<3> : tensor<64xi32>
  %i = tile.iota %z : i32 -> tensor<64xi32>
  %i3 = arith.muli %i, %three : tensor<64xi32>
  %w = tile.cast %i3 from i32 to i64 : tensor<64xi32> -> tensor<64xi64>
  %t = tile.load %x[%c0] extents [64] : !tile.view<?xi8> -> tensor<64xi8>
  %tw = tile.cast %t from i8 to i64 : tensor<64xi8> -> tensor<64xi64>
  %t2 = arith.muli %tw, %two : tensor<64xi64>
  %b = tile.broadcast %s : i64 -> tensor<64xi64>
  %v0 = arith.addi %b, %w : tensor<64xi64>
  %v = arith.subi %v0, %t2 : tensor<64xi64>
  %m = tile.broadcast %n : i64 -> tensor<64xi64>
  %lt = arith.cmpi slt, %v, %m : tensor<64xi64>
  tile.store %lt, %y[%c0] extents [64] : tensor<64xi1>, !tile.view<?xi1>
  tile.return
}

// What stays: i32 of unknown values, a bound per element, a position that is stored as well, an unsigned
// comparison, and tiles that are too small.
// CHECK-LABEL: tile.kernel @kept
// CHECK: arith.cmpi slt, %{{.*}} : tensor<64xi64>
// CHECK: arith.cmpi slt, %{{.*}} : tensor<64xi64>
// CHECK: arith.cmpi sgt, %{{.*}} : tensor<64xi64>
// CHECK: arith.cmpi ult, %{{.*}} : tensor<64xi64>
// CHECK: arith.cmpi slt, %{{.*}} : tensor<8xi64>
tile.kernel @kept(%x: !tile.view<?xi32>, %l: !tile.view<?xi64>, %y: !tile.view<?xi1>, %n: i64, %N: index) grid ["1"] attributes {params = [
    #tile.param<access = read, dims = ["N"], dtype = i32, kind = tensor, name = "x">,
    #tile.param<access = readwrite, dims = ["N"], dtype = i64, kind = tensor, name = "l">,
    #tile.param<access = write, dims = ["N"], dtype = bool, kind = tensor, name = "y">,
    #tile.param<dtype = i64, kind = scalar, name = "n">, #tile.param<kind = dim, name = "N">]} {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0 : i32
  %m = tile.broadcast %n : i64 -> tensor<64xi64>
  %t = tile.load %x[%c0] extents [64] : !tile.view<?xi32> -> tensor<64xi32>
  %tw = tile.cast %t from i32 to i64 : tensor<64xi32> -> tensor<64xi64>
  %a = arith.cmpi slt, %tw, %m : tensor<64xi64>
  %i = tile.iota %z : i32 -> tensor<64xi32>
  %w = tile.cast %i from i32 to i64 : tensor<64xi32> -> tensor<64xi64>
  %bounds = tile.load %l[%c0] extents [64] : !tile.view<?xi64> -> tensor<64xi64>
  %b = arith.cmpi slt, %w, %bounds : tensor<64xi64>
  %v = arith.addi %w, %m : tensor<64xi64>
  tile.store %v, %l[%c0] extents [64] : tensor<64xi64>, !tile.view<?xi64>
  %c = arith.cmpi sgt, %v, %m : tensor<64xi64>
  %d = arith.cmpi ult, %w, %m : tensor<64xi64>
  %i8 = tile.iota %z : i32 -> tensor<8xi32>
  %w8 = tile.cast %i8 from i32 to i64 : tensor<8xi32> -> tensor<8xi64>
  %m8 = tile.broadcast %n : i64 -> tensor<8xi64>
  %e = arith.cmpi slt, %w8, %m8 : tensor<8xi64>
  tile.store %e, %y[%c0] extents [8] : tensor<8xi1>, !tile.view<?xi1>
  %ab = arith.andi %a, %b : tensor<64xi1>
  %cd = arith.andi %c, %d : tensor<64xi1>
  %all = arith.andi %ab, %cd : tensor<64xi1>
  tile.store %all, %y[%c0] extents [64] : tensor<64xi1>, !tile.view<?xi1>
  tile.return
}
