// RUN: tsr-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{element type 'f80' is no dtype of the language}}
func.func private @view(!tile.view<4xf80>)

// -----

// expected-error @+1 {{a shared buffer has at least one axis}}
func.func private @buffer(!tile.buffer<f32, none>)

// -----

// expected-error @+1 {{extent 0 of a shared buffer is not positive}}
func.func private @buffer(!tile.buffer<0xf32, none>)

// -----

// expected-error @+1 {{expected 'none' or 'xor'}}
func.func private @buffer(!tile.buffer<4xf32, swirl>)

// -----

// expected-error @+1 {{expected rows x columns x depth}}
func.func private @fragment() attributes {f = #tile.fragment<4x4>}

// -----

// expected-error @+1 {{fragment extents must be positive}}
func.func private @fragment() attributes {f = #tile.fragment<4x0x1>}

// -----

// expected-error @+1 {{lanes must be a power of two up to 1024, found 6}}
func.func private @order() attributes {o = #tile.order<lanes = 6>}

// -----

// expected-error @+1 {{numbers of chains must be powers of two up to 1024}}
func.func private @order() attributes {o = #tile.order<lanes = 8, chains = [3, 1]>}

// -----

// expected-error @+1 {{numbers of chains must descend to 1}}
func.func private @order() attributes {o = #tile.order<lanes = 8, chains = [4]>}

// -----

// expected-error @+1 {{numbers of chains must descend to 1}}
func.func private @order() attributes {o = #tile.order<lanes = 8, chains = [4, 8, 1]>}
