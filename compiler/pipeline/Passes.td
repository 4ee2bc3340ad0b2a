// The passes that all targets, or all GPUs, share, for docs/ir/passes.md.
include "compiler/graph/Transforms/Passes.td"
include "compiler/schedule/Transforms/Passes.td"
include "compiler/tile/Transforms/Passes.td"
include "compiler/target/Transforms/Passes.td"
include "compiler/codegen/gpu/Passes.td"
include "compiler/codegen/emulate/Passes.td"
