// RUN: tsr-opt %s | tsr-opt | FileCheck %s --check-prefix=TEXT
// RUN: tsr-opt %s -schedule-outline | FileCheck %s

!mn = !graph.tensor<["M", "2*N"], f32>

// TEXT: schedule.group map
// TEXT-SAME: variants = [#schedule.variant<"short", when = "2*N <= 128 and aligned(in0, 64)", body = "tile", order = exact, params = {columns = 128, rows = 32}, cost = "M * 2*N // 4">,
// TEXT-SAME: #schedule.variant<"long", when = "cores >= 4", body = "tile", order = exact>,
// TEXT-SAME: #schedule.variant<"general", body = "tile", order = exact, params = {columns = 512, rows = 1}>]

// Conditions have the names of the kernel.
// CHECK-LABEL: schedule.kernel @f.g0(
// CHECK-SAME: tile.variants = [
// CHECK-SAME: {body = "tile", cost = "M * 2*N // 4", entry = "f.g0.short", name = "short", order = "exact", when = ["2*N <= 128", "aligned(in0, 64)"]}
// CHECK-SAME: {body = "tile", entry = "f.g0.long", name = "long", order = "exact", when = ["cores >= 4"]}
// CHECK-SAME: {body = "tile", name = "general", order = "exact"}
// CHECK: schedule.grid {{.*}} step ("1", "512")
// CHECK-LABEL: schedule.kernel @f.g0.short(
// CHECK: schedule.grid {{.*}} step ("32", "128")
// CHECK-LABEL: schedule.kernel @f.g0.long(
// CHECK: schedule.grid {{.*}} step ("8", "64")
// CHECK: graph.launch @f.g0(
graph.func @f(%x: !mn) -> !mn {
  %0 = schedule.group map(%x) attributes {tile = array<i64: 8, 64>, variants = [
      #schedule.variant<"short", when = "2*N <= 128 and aligned(in0, 64)", body = "tile", order = exact, params = {columns = 128, rows = 32}, cost = "M * 2*N // 4">,
      #schedule.variant<"long", when = "cores >= 4", body = "tile", order = exact>,
      #schedule.variant<"general", body = "tile", order = exact, params = {rows = 1, columns = 512}>]} : (!mn) -> !mn {
  ^bb0(%a: !mn):
    %1 = graph.unary exp %a : (!mn) -> !mn
    schedule.yield %1 : !mn
  }
  graph.return %0 : !mn
}

// A pinned variant and the general one remain.
// CHECK-LABEL: schedule.kernel @pinned.g0(
// CHECK-SAME: tile.variants = [{body = "tile", entry = "pinned.g0.long", name = "long", order = "exact", pinned, when = ["M >= 4"]}, {body = "tile", name = "general", order = "exact"}]
// CHECK-LABEL: schedule.kernel @pinned.g0.long(
// CHECK-NOT: @pinned.g0.short
// CHECK: graph.func @pinned
graph.func @pinned(%x: !mn) -> !mn {
  %0 = schedule.group map(%x) attributes {tile = array<i64: 8, 64>, variant = "long", variants = [
      #schedule.variant<"short", when = "M <= 3", body = "tile", order = exact, params = {rows = 1, columns = 512}>,
      #schedule.variant<"long", when = "M >= 4", body = "tile", order = exact, params = {rows = 4, columns = 512}>,
      #schedule.variant<"general", body = "tile", order = exact>]} : (!mn) -> !mn {
  ^bb0(%a: !mn):
    %1 = graph.unary exp %a : (!mn) -> !mn
    schedule.yield %1 : !mn
  }
  graph.return %0 : !mn
}

// The general one by itself is one body.
// CHECK-LABEL: schedule.kernel @general.g0(
// CHECK-NOT: tile.variants
// CHECK-NOT: @general.g0.
// CHECK: graph.func @general
graph.func @general(%x: !mn) -> !mn {
  %0 = schedule.group map(%x) attributes {tile = array<i64: 8, 64>, variant = "general", variants = [
      #schedule.variant<"short", when = "M <= 3", body = "tile", order = exact, params = {rows = 1, columns = 512}>,
      #schedule.variant<"general", body = "tile", order = exact>]} : (!mn) -> !mn {
  ^bb0(%a: !mn):
    %1 = graph.unary exp %a : (!mn) -> !mn
    schedule.yield %1 : !mn
  }
  graph.return %0 : !mn
}

// A body for rows that fit the tile has no loop along them. Positions are looked for once.
// CHECK-LABEL: schedule.kernel @rows.g0(
// CHECK: scf.for
// CHECK-LABEL: schedule.kernel @rows.g0.short(
// CHECK-NOT: scf.for
// CHECK: tile.reduce max
// CHECK-NOT: scf.for
// CHECK: tile.store
// CHECK-LABEL: schedule.kernel @places.g0.short(
// CHECK-NOT: scf.for
// CHECK-NOT: scf.if
// CHECK: tile.arg_reduce max
// CHECK: tile.store
!rows = !graph.tensor<["M", "N"], f32>
graph.func @rows(%x: !rows) -> !rows {
  %0 = schedule.group reduce(%x) attributes {tile = array<i64: 1, 512>, variants = [
      #schedule.variant<"short", when = "N <= 200", body = "row", order = tiles("256"), params = {rows = 4, columns = 256}>,
      #schedule.variant<"general", body = "tile", order = tiles("512")>]} : (!rows) -> !rows {
  ^bb0(%a: !rows):
    %1 = graph.reduce max %a axes [1] {keep_dims} : (!rows) -> !graph.tensor<["M", 1], f32>
    %2 = graph.binary sub %a, %1 : (!rows, !graph.tensor<["M", 1], f32>) -> !rows
    schedule.yield %2 : !rows
  }
  graph.return %0 : !rows
}
graph.func @places(%x: !rows) -> !graph.tensor<["M"], i32> {
  %0 = schedule.group reduce(%x) attributes {tile = array<i64: 1, 512>, variants = [
      #schedule.variant<"short", when = "N <= 512", body = "row", order = exact>,
      #schedule.variant<"general", body = "tile", order = exact>]} : (!rows) -> !graph.tensor<["M"], i32> {
  ^bb0(%a: !rows):
    %1 = graph.reduce argmax %a axes [1] : (!rows) -> !graph.tensor<["M"], i32>
    schedule.yield %1 : !graph.tensor<["M"], i32>
  }
  graph.return %0 : !graph.tensor<["M"], i32>
}
