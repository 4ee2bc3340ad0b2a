// RUN: tsr-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{holds 0 parallel constructs; it needs one schedule.grid or schedule.lanes}}
schedule.kernel @k() attributes {params = []} {
}

// -----

// expected-error @+1 {{has 1 arguments but 0 params}}
schedule.kernel @k(%n: index) attributes {params = []} {
}

// -----

schedule.kernel @k() attributes {params = []} {
  // expected-error @+1 {{has 1 variables but not as many bounds, steps and names}}
  schedule.grid (%i) = ("0") to ("4") step ("1") names [] {
  }
}

// -----

schedule.kernel @k(%b: i1) attributes {params = [#tile.param<name = "b", kind = scalar, dtype = bool>]} {
  // expected-error @+1 {{"b + 1" is no index expression: unknown name 'b' at column 1}}
  schedule.grid (%i) = ("0") to ("b + 1") step ("1") names ["i"] {
  }
}

// -----

schedule.kernel @k() attributes {params = []} {
  // expected-error @+1 {{batch needs one entry per axis}}
  schedule.grid (%i) = ("0") to ("4") step ("1") names ["i"] attributes {batch = array<i1>} {
  }
}

// -----

schedule.kernel @k() attributes {params = []} {
  // expected-error @+1 {{group_rows groups rows of two axes; the grid has 1}}
  schedule.grid (%i) = ("0") to ("4") step ("1") names ["i"] attributes {group_rows = 2 : i64} {
  }
}

// -----

schedule.kernel @k() attributes {params = []} {
  // expected-error @+1 {{order must name each of the 1 axes once}}
  schedule.grid (%i) = ("0") to ("4") step ("1") names ["i"] attributes {order = array<i64: 1>} {
  }
}

// -----

schedule.kernel @k() attributes {params = []} {
  // expected-error @+1 {{"n" is no index expression: unknown name 'n' at column 1}}
  schedule.lanes %i to "n" {
  }
}

// -----

schedule.kernel @k() attributes {params = []} {
  // expected-error @+1 {{has one variable, the lane}}
  "schedule.lanes"() <{count = #tile.index<"4">}> ({
    "schedule.yield"() : () -> ()
  }) : () -> ()
}

// -----

schedule.kernel @k(%n: index) attributes {params = [#tile.param<name = "n", kind = dim>]} {
  // expected-error @+1 {{has placement "gpu"; a launch chooses its device, so that only "any" is built}}
  schedule.grid (%i) = ("0") to ("n") step ("1") names ["i"] attributes {placement = "gpu"} {
  }
}

// -----

schedule.kernel @k(%n: index) attributes {params = [#tile.param<name = "n", kind = dim>]} {
  // expected-error @+1 {{has placement "cpu"; a launch chooses its device, so that only "any" is built}}
  schedule.lanes %i to "n" {
  } {placement = "cpu"}
}
