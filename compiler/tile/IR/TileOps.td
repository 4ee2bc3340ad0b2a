// Everything of the tile dialect, for the generators.
include "compiler/tile/IR/TileKernelOps.td"
include "compiler/tile/IR/TileMemoryOps.td"
include "compiler/tile/IR/TileSharedOps.td"
include "compiler/tile/IR/TileShapeOps.td"
include "compiler/tile/IR/TileMathOps.td"
include "compiler/tile/IR/TileLayouts.td"
