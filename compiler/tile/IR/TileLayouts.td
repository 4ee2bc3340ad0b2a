// Layouts of tiles in registers and in shared memory, and their conversion.
#ifndef TESSERA_TILE_LAYOUTS
#define TESSERA_TILE_LAYOUTS
include "mlir/IR/TensorEncoding.td"
include "compiler/tile/IR/TileBase.td"

class Tile_Layout<string name, string mnemonic_, string held> : AttrDef<Tile_Dialect, name, [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = mnemonic_;
  let parameters = (ins AttrParameter<held, "the layout", "const " # held # " &">:$value);
  let hasCustomAssemblyFormat = 1;
  let genMnemonicAlias = 1;
}

def Tile_LayoutAttr : Tile_Layout<"Layout", "layout", "::tessera::layout::TileLayout"> {
  let summary = "which register of which thread holds which element of a tile";
  let description = [{
    ```mlir
    #acc = #tile.layout<reg = [[0,1], [8,0], [0,8]], lane = [[0,2], [0,4], [1,0], [2,0], [4,0]],
                        warp = [[16,0], [32,0], [64,0]], repeat = [1, 11]>
    %p = tile.convert %x : tensor<128x176xf32> -> tensor<128x176xf32, #acc>
    ```
    The encoding of a tile that is in registers. Each list has the indices that the bits of a register's number, of the
    lane and of the warp stand for, lowest bit first; an element's index is the exclusive or of those of the bits that are
    set. The extents that they span, powers of two, are repeated along each axis. docs/layouts.md explains it.
  }];
}

def Tile_SharedLayoutAttr : Tile_Layout<"SharedLayout", "shared", "::tessera::layout::SharedLayout"> {
  let summary = "at which offset of memory an element of a tile is";
  let description = [{
    ```mlir
    #keys = #tile.shared<offset = [[0,1], [0,2], [0,4], [0,8], [0,16], [0,32], [1,8], [2,16], [4,32], [8,0]], repeat = [11, 1]>
    ```
    The encoding of a tile that is in shared memory, but not in row-major order. `offset` has the indices that the bits of
    an element's offset stand for.
  }];
}

def Tile_ConvertOp : Tile_PureOp<"convert"> {
  let summary = "the same elements in another layout";
  let description = [{
    ```mlir
    %r = tile.convert %x : tensor<16x8xf32, #layout> -> tensor<16x8xf32>
    ```
    A tile without layout is in memory, row-major. Between layouts of registers, both have as many lanes and warps.
  }];
  let arguments = (ins Tile_AnyTile:$input);
  let results = (outs Tile_AnyTile:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif
