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
