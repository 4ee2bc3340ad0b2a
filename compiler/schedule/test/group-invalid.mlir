// RUN: tsr-opt %s -split-input-file -verify-diagnostics

!mn = !graph.tensor<["M", "N"], f32>
graph.func @tile(%x: !mn) -> !mn {
  // expected-error @+1 {{of kind map needs tile to have 2 extents, found 3}}
  %0 = schedule.group map(%x) attributes {tile = array<i64: 8, 64, 64>} : (!mn) -> !mn {
  ^bb0(%a: !mn):
    %1 = graph.unary exp %a : (!mn) -> !mn
    schedule.yield %1 : !mn
  }
  graph.return %0 : !mn
}

// -----

!mn = !graph.tensor<["M", "N"], f32>
graph.func @extent(%x: !mn) -> !mn {
  // expected-error @+1 {{has 0 as extent 1 of its tile; extents are 1 to 262144}}
  %0 = schedule.group map(%x) attributes {tile = array<i64: 8, 0>} : (!mn) -> !mn {
  ^bb0(%a: !mn):
    %1 = graph.unary exp %a : (!mn) -> !mn
    schedule.yield %1 : !mn
  }
  graph.return %0 : !mn
}

// -----

!mn = !graph.tensor<["M", "N"], f32>
graph.func @large(%x: !mn) -> !mn {
  // expected-error @+1 {{has a tile of 4096x4096 elements; at most 262144 fit a program}}
  %0 = schedule.group map(%x) attributes {tile = array<i64: 4096, 4096>} : (!mn) -> !mn {
  ^bb0(%a: !mn):
    %1 = graph.unary exp %a : (!mn) -> !mn
    schedule.yield %1 : !mn
  }
  graph.return %0 : !mn
}

// -----

!mn = !graph.tensor<["M", "N"], f32>
graph.func @kind(%x: !mn) -> !mn {
  // expected-error @+1 {{says matmul but its operations make it map}}
  %0 = schedule.group matmul(%x) attributes {tile = array<i64: 8, 8, 8>} : (!mn) -> !mn {
  ^bb0(%a: !mn):
    %1 = graph.unary exp %a : (!mn) -> !mn
    schedule.yield %1 : !mn
  }
  graph.return %0 : !mn
}

// -----

!mn = !graph.tensor<["M", "N"], f32>
graph.func @axes(%x: !mn) -> !graph.tensor<["M"], f32> {
  %0:2 = schedule.group reduce(%x) attributes {tile = array<i64: 8, 64>} : (!mn) -> (!graph.tensor<["M"], f32>, !graph.tensor<["N"], f32>) {
  ^bb0(%a: !mn):
    %1 = graph.reduce sum %a axes [1] : (!mn) -> !graph.tensor<["M"], f32>
    // expected-error @+1 {{does not fit its group: the group reduces along axis 1, this operation along axis 0}}
    %2 = graph.reduce sum %a axes [0] : (!mn) -> !graph.tensor<["N"], f32>
    schedule.yield %1, %2 : !graph.tensor<["M"], f32>, !graph.tensor<["N"], f32>
  }
  graph.return %0#0 : !graph.tensor<["M"], f32>
}

// -----

!mn = !graph.tensor<["M", "N"], f32>
graph.func @shape(%x: !mn, %y: !graph.tensor<["K"], f32>) -> !mn {
  %0:2 = schedule.group map(%x, %y) attributes {tile = array<i64: 8, 64>} : (!mn, !graph.tensor<["K"], f32>) -> (!mn, !graph.tensor<["K"], f32>) {
  ^bb0(%a: !mn, %b: !graph.tensor<["K"], f32>):
    %1 = graph.unary exp %a : (!mn) -> !mn
    // expected-error @+1 {{does not fit its group: its shape ["K"] is not the group's ["M", "N"]}}
    %2 = graph.unary exp %b : (!graph.tensor<["K"], f32>) -> !graph.tensor<["K"], f32>
    schedule.yield %1, %2 : !mn, !graph.tensor<["K"], f32>
  }
  graph.return %0#0 : !mn
}

// -----

!mn = !graph.tensor<["M", "N"], f32>
graph.func @variant(%x: !mn) -> !mn {
  // expected-error @+1 {{has the variant "spectral"; the variants are "tile" and "blas"}}
  %0 = schedule.group map(%x) attributes {tile = array<i64: 8, 64>, variant = "spectral"} : (!mn) -> !mn {
  ^bb0(%a: !mn):
    %1 = graph.unary exp %a : (!mn) -> !mn
    schedule.yield %1 : !mn
  }
  graph.return %0 : !mn
}

// -----

!mn = !graph.tensor<["M", "N"], f32>
graph.func @no_product(%x: !mn) -> !mn {
  // expected-error @+1 {{of kind map has no variant "blas", which computes matrix products}}
  %0 = schedule.group map(%x) attributes {tile = array<i64: 8, 64>, variant = "blas"} : (!mn) -> !mn {
  ^bb0(%a: !mn):
    %1 = graph.unary exp %a : (!mn) -> !mn
    schedule.yield %1 : !mn
  }
  graph.return %0 : !mn
}

// -----

!nn = !graph.tensor<["N", "N"], f32>
graph.func @epilogue(%x: !nn) -> !nn {
  %0 = schedule.group matmul(%x) attributes {tile = array<i64: 8, 64, 64>, variant = "blas"} : (!nn) -> !nn {
  ^bb0(%a: !nn):
    %1 = graph.matmul %a, %a : (!nn, !nn) -> !nn
    // expected-error @+1 {{is in a group of variant "blas", which holds one graph.matmul: give it a group of its own}}
    %2 = graph.unary exp %1 : (!nn) -> !nn
    schedule.yield %2 : !nn
  }
  graph.return %0 : !nn
}

// -----

!nn = !graph.tensor<["N", "N"], bf16>
graph.func @dtype(%x: !nn) -> !nn {
  %0 = schedule.group matmul(%x) attributes {tile = array<i64: 8, 64, 64>, variant = "blas"} : (!nn) -> !nn {
  ^bb0(%a: !nn):
    // expected-error @+1 {{has no variant "blas": a BLAS multiplies f32 by f32 into f32 and f64 by f64 into f64, not bf16 by bf16 into bf16}}
    %1 = graph.matmul %a, %a : (!nn, !nn) -> !nn
    schedule.yield %1 : !nn
  }
  graph.return %0 : !nn
}

// -----

!b = !graph.tensor<[1, 5, "N", "N"], f32>
!c = !graph.tensor<[3, 1, "N", "N"], f32>
!r = !graph.tensor<[3, 5, "N", "N"], f32>
graph.func @broadcast(%x: !b, %y: !c) -> !r {
  %0 = schedule.group matmul(%x, %y) attributes {tile = array<i64: 8, 64, 64>, variant = "blas"} : (!b, !c) -> !r {
  ^bb0(%a: !b, %p: !c):
    // expected-error @+1 {{has no variant "blas": its leading axes broadcast, which no BLAS call does}}
    %1 = graph.matmul %a, %p : (!b, !c) -> !r
    schedule.yield %1 : !r
  }
  graph.return %0 : !r
}

// -----

!nn = !graph.tensor<["N", "N"], f32>
graph.func @order(%x: !nn, %y: !nn) -> !nn {
  %0 = schedule.group matmul(%x, %y) attributes {tile = array<i64: 8, 64, 64>, variant = "blas"} : (!nn, !nn) -> !nn {
  ^bb0(%a: !nn, %b: !nn):
    // expected-error @+1 {{of a group of variant "blas" multiplies the group's inputs, in their order}}
    %1 = graph.matmul %b, %a : (!nn, !nn) -> !nn
    schedule.yield %1 : !nn
  }
  graph.return %0 : !nn
}

// -----

!n = !graph.tensor<["N"], f32>
!p = !graph.tensor<["ceildiv(N, 100)"], f32>
graph.func @parts(%x: !n) -> !p {
  // expected-error @+1 {{reduces parts of 100 elements by tiles of 64, which do not divide them}}
  %0 = schedule.group reduce(%x) attributes {tile = array<i64: 1, 64>} : (!n) -> !p {
  ^bb0(%a: !n):
    %1 = graph.reduce sum %a axes [0] parts 100 : (!n) -> !p
    schedule.yield %1 : !p
  }
  graph.return %0 : !p
}

// -----

!n = !graph.tensor<["N"], f32>
!p = !graph.tensor<["ceildiv(N, 64)"], f32>
graph.func @used(%x: !n) -> !p {
  %0 = schedule.group reduce(%x) attributes {tile = array<i64: 1, 64>} : (!n) -> !p {
  ^bb0(%a: !n):
    %1 = graph.reduce sum %a axes [0] parts 64 : (!n) -> !p
    // expected-error @+1 {{does not fit its group: the parts of an axis are reduced by another group}}
    %2 = graph.unary neg %1 : (!p) -> !p
    schedule.yield %2 : !p
  }
  graph.return %0 : !p
}

// -----

!n = !graph.tensor<["N"], f32>
!h = !graph.tensor<[2], f32>
!m = !graph.tensor<["N + 2"], f32>
graph.func @part(%x: !n) -> (!m, !h) {
  %0, %1 = schedule.group concat(%x) attributes {tile = array<i64: 1, 64>} : (!n) -> (!m, !h) {
  ^bb0(%a: !n):
    %2 = graph.slice %a starts ["0"] : (!n) -> !h
    %3 = graph.concat %2, %a axis 0 : (!h, !n) -> !m
    // expected-error @+1 {{gives a slice that a concat joins}}
    schedule.yield %3, %2 : !m, !h
  }
  graph.return %0, %1 : !m, !h
}

// -----

!n = !graph.tensor<["N"], f32>
!m = !graph.tensor<["2*N"], f32>
graph.func @computed(%x: !n) -> !m {
  %0 = schedule.group concat(%x) attributes {tile = array<i64: 1, 64>} : (!n) -> !m {
  ^bb0(%a: !n):
    %1 = graph.unary neg %a : (!n) -> !n
    // expected-error @+1 {{does not fit its group: a concat is in a group of slices that it joins, and alone there}}
    %2 = graph.concat %1, %a axis 0 : (!n, !n) -> !m
    schedule.yield %2 : !m
  }
  graph.return %0 : !m
}
