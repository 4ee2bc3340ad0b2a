// RUN: tsr-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{dim -1 : i64 is neither an index expression nor a non-negative integer}}
func.func private @f(!graph.tensor<[-1], f32>)

// -----

// expected-error @+1 {{element type 'f80' is no dtype of the language}}
func.func private @f(!graph.tensor<["M"], f80>)

// -----

// expected-error @+1 {{has no body}}
graph.func @f()

// -----

graph.func @f(%x: f32) -> f32 {
  // expected-error @+1 {{gives () in a function of ('f32')}}
  graph.return
}

// -----

func.func @f(%x: !graph.tensor<["M"], f32>) {
  // expected-error @+1 {{has 1 operands but 0 effects}}
  "graph.launch"(%x) {kernel = @k, effects = []} : (!graph.tensor<["M"], f32>) -> ()
  return
}

// -----

func.func @f(%x: !graph.tensor<["M"], f32>) {
  // expected-error @+1 {{expected SSA operand}}
  graph.launch @k(rw %x) : (!graph.tensor<["M"], f32>) -> ()
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{has an effect on a scalar of type 'f32'}}
  graph.launch @k(read %x) : (f32) -> ()
  return
}

// -----

func.func @f(%x: !graph.tensor<["M"], f32>) {
  // expected-error @+1 {{updates '!graph.tensor<["M"], f32>' but gives '!graph.tensor<["N"], f32>'}}
  %r = graph.launch @k(write %x) : (!graph.tensor<["M"], f32>) -> !graph.tensor<["N"], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<["M"], f32>) {
  // expected-error @+1 {{writes 1 operands but has 0 results}}
  graph.launch @k(write %x) : (!graph.tensor<["M"], f32>) -> ()
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{launches @k, which is no kernel}}
  graph.launch @k() : () -> ()
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{passes 1 operands to @k, which takes 0}}
  graph.launch @k(%x) : (f32) -> ()
  return
}

schedule.kernel @k() attributes {params = []} {
  schedule.grid () = () to () step () names [] {
  }
}

// -----

!t = !graph.tensor<["N", "N"], f32>
graph.func @two_tile_sizes(%x: !t) -> !t {
  // expected-error @+1 {{in 'specialize', whose elements have three positive 'tile_sizes'}}
  %0 = graph.matmul %x, %x {specialize = [{backend = "ptx", tile_sizes = array<i64: 8, 8>}]} : (!t, !t) -> !t
  graph.return %0 : !t
}

// -----

!t = !graph.tensor<["N", "N"], f32>
graph.func @request_for_what(%x: !t) -> !t {
  // expected-error @+1 {{may have the names 'backend' and 'arch'}}
  %0 = graph.matmul %x, %x {specialize = [{device = "ptx", tile_sizes = array<i64: 8, 8, 8>}]} : (!t, !t) -> !t
  graph.return %0 : !t
}

// -----

!t = !graph.tensor<["N", "N"], i1>
graph.func @logical_product(%x: !t) -> !t {
  // expected-error @+1 {{multiplies numbers, not bool}}
  %0 = graph.matmul %x, %x : (!t, !t) -> !t
  graph.return %0 : !t
}

// -----

!nn = !graph.tensor<["N", "N"], f32>
func.func @f(%x: !nn) {
  // expected-error @+1 {{there is no library call "blas.gemm.f8.nn"}}
  %0 = graph.library_call "blas.gemm.f8.nn"(%x, %x) dims ["N", "N", "N"] : (!nn, !nn) -> !nn
  return
}

// -----

!nn = !graph.tensor<["N", "N"], f32>
func.func @f(%x: !nn) {
  // expected-error @+1 {{takes 2 operands, found 1}}
  %0 = graph.library_call "blas.gemm.f32.nn"(%x) dims ["N", "N", "N"] : (!nn) -> !nn
  return
}

// -----

!nn = !graph.tensor<["N", "N"], f32>
func.func @f(%x: !nn) {
  // expected-error @+1 {{has 3 dims, found 2}}
  %0 = graph.library_call "blas.gemm.f32.nn"(%x, %x) dims ["N", "N"] : (!nn, !nn) -> !nn
  return
}

// -----

// expected-error @+1 {{attribute 'numerics' failed to satisfy constraint: string attribute}}
graph.func @f(%x: !graph.tensor<["M"], f32>) -> !graph.tensor<["M"], f32> attributes {numerics = 7} {
  graph.return %x : !graph.tensor<["M"], f32>
}

// -----

func.func @f(%x: !graph.tensor<["M"], f32>) {
  // expected-error @+1 {{has axis 1 of a tensor of rank 1}}
  %y = graph.softmax %x axis 1 : (!graph.tensor<["M"], f32>) -> !graph.tensor<["M"], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<["M"], f32>) {
  // expected-error @+1 {{gives '!graph.tensor<["N"], f32>' where '!graph.tensor<["M"], f32>' is expected}}
  %y = graph.softmax %x axis 0 : (!graph.tensor<["M"], f32>) -> !graph.tensor<["N"], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<["M", "N"], f32>, %i: !graph.tensor<["K", 1], i32>, %v: f32) {
  // expected-error @+1 {{needs one step per axis}}
  %a = graph.slice %x starts ["0", "0"] steps [1] : (!graph.tensor<["M", "N"], f32>) -> !graph.tensor<["M", "N"], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<["M", "N"], f32>, %i: !graph.tensor<["K", 1], i32>, %v: f32) {
  // expected-error @+1 {{needs one number of elements per axis}}
  %a = graph.pad %x, %v low ["1"] : (!graph.tensor<["M", "N"], f32>, f32) -> !graph.tensor<["M + 1", "N"], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<["M", "N"], f32>, %v: i32) {
  // expected-error @+1 {{pads 'f32' with 'i32'}}
  %a = graph.pad %x, %v low ["1", "0"] : (!graph.tensor<["M", "N"], f32>, i32) -> !graph.tensor<["M + 1", "N"], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<["M", "N"], f32>, %i: !graph.tensor<["K", 1], i32>, %v: f32) {
  // expected-error @+1 {{needs an axis or -1 for each axis}}
  %a = graph.gather %x[%i] along [-1] : (!graph.tensor<["M", "N"], f32>, !graph.tensor<["K", 1], i32>) -> !graph.tensor<["K", "N"], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<["M", "N"], f32>, %i: !graph.tensor<["K", 1], i32>, %v: f32) {
  // expected-error @+1 {{has 2 as the axis of the result for axis 1 of the table}}
  %a = graph.gather %x[%i] along [-1, 2] : (!graph.tensor<["M", "N"], f32>, !graph.tensor<["K", 1], i32>) -> !graph.tensor<["K", "N"], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<["M", "N"], f32>, %i: !graph.tensor<["K", 1], i32>, %v: f32) {
  // expected-error @+1 {{runs along axis 0}}
  %a = graph.gather %x[%i] along [-1, 0] : (!graph.tensor<["M", "N"], f32>, !graph.tensor<["K", 1], i32>) -> !graph.tensor<["K", "N"], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<["M", "N"], f32>, %i: !graph.tensor<["K", 1], i32>, %v: f32) {
  // expected-error @+1 {{has 1 indices for 2 axes}}
  %a = graph.gather %x[%i] along [-1, -1] : (!graph.tensor<["M", "N"], f32>, !graph.tensor<["K", 1], i32>) -> !graph.tensor<["K", "N"], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<["M", "N"], f32>, %i: !graph.tensor<["K", 1], f32>) {
  // expected-error @+1 {{has indices of 'f32'}}
  %a = graph.gather %x[%i] along [-1, 1] : (!graph.tensor<["M", "N"], f32>, !graph.tensor<["K", 1], f32>) -> !graph.tensor<["K", "N"], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<["M", "N"], f32>, %i: !graph.tensor<["K"], i32>) {
  // expected-error @+1 {{has indices that do not broadcast}}
  %a = graph.gather %x[%i] along [-1, 1] : (!graph.tensor<["M", "N"], f32>, !graph.tensor<["K"], i32>) -> !graph.tensor<["K", "N"], f32>
  return
}

// -----

func.func @f(%q: !graph.tensor<["S", 16], f32>, %b: !graph.tensor<["T"], f32>) {
  // expected-error @+1 {{has scores ["S", "S"] to which}}
  %a = graph.attention %q, %q, %q bias %b : (!graph.tensor<["S", 16], f32>, !graph.tensor<["S", 16], f32>, !graph.tensor<["S", 16], f32>, !graph.tensor<["T"], f32>) -> !graph.tensor<["S", 16], f32>
  return
}

// -----

func.func @f(%q: !graph.tensor<["S", 16], f32>, %b: !graph.tensor<["S"], f32>) {
  // expected-error @+1 {{takes a bias of floats and a mask of bool}}
  %a = graph.attention %q, %q, %q mask %b : (!graph.tensor<["S", 16], f32>, !graph.tensor<["S", 16], f32>, !graph.tensor<["S", 16], f32>, !graph.tensor<["S"], f32>) -> !graph.tensor<["S", 16], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<["N"], f32>) {
  // expected-error @+1 {{in parts is no mean, and is along one axis, which stays}}
  %a = graph.reduce mean %x axes [0] parts 64 : (!graph.tensor<["N"], f32>) -> !graph.tensor<["ceildiv(N, 64)"], f32>
  return
}

// -----

func.func @f(%x: !graph.tensor<["N"], i32>, %c: !graph.tensor<["N"], i32>) {
  // expected-error @+1 {{ceildiv(N, 64)}}
  %a = graph.scan sum %x axis 0 parts 64 after %c : (!graph.tensor<["N"], i32>, !graph.tensor<["N"], i32>) -> !graph.tensor<["N"], i32>
  return
}

// -----

func.func @f(%x: !graph.tensor<["N"], i32>) {
  // expected-error @+1 {{has parts and what is before them, or neither}}
  %a = graph.scan sum %x axis 0 {parts = 64 : i64} : (!graph.tensor<["N"], i32>) -> !graph.tensor<["N"], i32>
  return
}

// -----

// A tensor of rank 0 is one element, which is no view of another extent or dtype.
func.func @f(%x: !graph.tensor<[], f32>) {
  // expected-error @+1 {{passes '!graph.tensor<[], f32>' as operand 0 to @k, which takes '!tile.view<2xf32>'}}
  graph.launch @k(read %x) : (!graph.tensor<[], f32>) -> ()
  return
}

tile.kernel @k(%x: !tile.view<2xf32>) grid ["1"] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["2"]>]} {
  tile.return
}

// -----

func.func @f(%x: !graph.tensor<[], f32>) {
  // expected-error @+1 {{passes '!graph.tensor<[], f32>' as operand 0 to @k, which takes '!tile.view<1xf64>'}}
  graph.launch @k(read %x) : (!graph.tensor<[], f32>) -> ()
  return
}

tile.kernel @k(%x: !tile.view<1xf64>) grid ["1"] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f64, access = read, dims = ["1"]>]} {
  tile.return
}
