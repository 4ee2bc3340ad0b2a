// RUN: tsr-opt %s -verify-diagnostics -pass-pipeline='builtin.module(cpu-lower-tile)'

// expected-error @+1 {{has clusters of 2 programs; cpu has none}}
tile.kernel @pairs(%n: index) grid ["n", "n"] attributes {cluster = array<i64: 1, 2>, vector_bytes = 64 : i64, params = [#tile.param<name = "n", kind = dim>]} {
  tile.return
}
