// RUN: tsr-opt %s -verify-diagnostics -pass-pipeline='builtin.module(gpu-lower-tile{target=rocm:gfx942})'

// expected-error @+1 {{has clusters of 2 programs; rocm:gfx942 has at most 1}}
tile.kernel @pairs(%n: index) grid ["n", "n"] attributes {cluster = array<i64: 1, 2>, params = [#tile.param<name = "n", kind = dim>]} {
  tile.return
}
