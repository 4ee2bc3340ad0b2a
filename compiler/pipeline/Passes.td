// Every pass of the project, for docs/ir/passes.md.
include "compiler/graph/Transforms/Passes.td"
include "compiler/schedule/Transforms/Passes.td"
include "compiler/tile/Transforms/Passes.td"
include "compiler/target/Transforms/Passes.td"
