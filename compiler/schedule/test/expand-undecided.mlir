// RUN: tsr-opt %s -schedule-expand -split-input-file -verify-diagnostics

schedule.kernel @grid(%n: index) attributes {params = [#tile.param<name = "n", kind = dim>]} {
  // expected-error @+1 {{has no order yet; run schedule-decide first}}
  schedule.grid (%i) = ("0") to ("n") step ("1") names ["i"] {
  }
}

// -----

schedule.kernel @lanes(%n: index) attributes {params = [#tile.param<name = "n", kind = dim>]} {
  // expected-error @+1 {{has no lanes_per_program yet; run schedule-decide first}}
  schedule.lanes %i to "n" {
  }
}
