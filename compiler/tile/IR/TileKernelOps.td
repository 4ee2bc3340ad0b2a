// Kernels and what a program knows about its place in the launch.
#ifndef TESSERA_TILE_KERNEL_OPS
#define TESSERA_TILE_KERNEL_OPS
include "compiler/tile/IR/TileBase.td"
include "compiler/tile/IR/TileParams.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"

def Tile_KernelOp : Tile_Op<"kernel", [
    FunctionOpInterface, IsolatedFromAbove, AffineScope, AutomaticAllocationScope, SingleBlock,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "the code of one program of a launch";
  let description = [{
    ```mlir
    tile.kernel @scale(%x: !tile.view<?xf32>, %a: f32, %n: index) grid ["ceildiv(n, 64)"]
        attributes {numerics = "standard", params = [...]} {
      %p = tile.program_id 0
      ...
      tile.return
    }
    ```
    `grid` counts the programs of each axis, outermost first, in the expression language of the kernel metadata.
    `params` describes the arguments (`#tile.param`) in their order: tensors, results, scalars, dims. `epilogue` names the
    operations of a graph function that a product applies to its result before storing it.
    `threads` is the number of threads that share a program, if it is not the target's default. With `group_rows` programs
    start column by column in groups of so many rows of the last two axes, with `chiplets` neighbours start on the same of so
    many chiplets (`schedule.grid`). `cluster = array<i64: 2, 1>` lets rows and
    columns of programs, on these axes, run together and access each other's shared memory; it divides every grid that
    the kernel is launched with.
    The attributes after `tunables` are filled by passes.
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type, Tile_IndexExprArray:$grid, Tile_ParamArray:$params,
    DefaultValuedStrAttr<StrAttr, "standard">:$numerics,
    OptionalAttr<DictionaryAttr>:$specialized, OptionalAttr<DictionaryAttr>:$tunables,
    OptionalAttr<DictionaryAttr>:$decisions, OptionalAttr<I64Attr>:$lanes_per_program,
    OptionalAttr<I64Attr>:$threads, OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$group_rows,
    OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$chiplets,
    OptionalAttr<DenseI64ArrayAttr>:$cluster, OptionalAttr<I64Attr>:$shared_bytes, OptionalAttr<I64Attr>:$scratch_bytes, OptionalAttr<I64Attr>:$vector_bytes,
    OptionalAttr<StrArrayAttr>:$fallbacks, OptionalAttr<StrArrayAttr>:$epilogue,
    OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region AnyRegion:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::mlir::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    /// Programs of a cluster; 1: there are none.
    int64_t programsOfCluster() { return getCluster() ? (*getCluster())[0] * (*getCluster())[1] : 1; }
    /// What describes an argument of the kernel.
    ::tessera::tile::ParamAttr getParam(::mlir::Value argument) {
      return ::llvm::cast<::tessera::tile::ParamAttr>(
          getParams()[::llvm::cast<::mlir::BlockArgument>(argument).getArgNumber()]);
    }
  }];
}

def Tile_ReturnOp : Tile_Op<"return", [Pure, Terminator, HasParent<"KernelOp">]> {
  let summary = "ends a program";
  let assemblyFormat = "attr-dict";
}

def Tile_ProgramIdOp : Tile_PureOp<"program_id"> {
  let summary = "position of a program on a grid axis, outermost axis first";
  let description = [{ Of the program that runs, or of the one with the number `program` (`tile.block_programs`). }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$axis, Optional<Index>:$program);
  let results = (outs Index:$result);
  let assemblyFormat = "$axis (`of` $program^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::mlir::IntegerAttr":$axis), [{
    build($_builder, $_state, type, axis, ::mlir::Value());
  }]>];
}

def Tile_BlockProgramsOp : Tile_PureOp<"block_programs"> {
  let summary = "the numbers of the programs that a thread block runs";
  let description = [{
    ```mlir
    %first, %count, %blocks = tile.block_programs
    scf.for %p = %first to %count step %blocks { %i = tile.program_id 0 of %p : index ... }
    ```
    In a kernel with a persistent grid: the launch has `blocks` thread blocks, at most as many as the device runs at once,
    and `count` programs.
  }];
  let results = (outs Index:$first, Index:$count, Index:$blocks);
  let assemblyFormat = "attr-dict";
}

def Tile_DimOp : Tile_PureOp<"dim"> {
  let summary = "extent of a global tensor";
  let description = [{ Folds to a constant, or to the kernel's argument for that dim. }];
  let arguments = (ins Tile_ViewType:$view, ConfinedAttr<I64Attr, [IntNonNegative]>:$dim);
  let results = (outs Index:$result);
  let assemblyFormat = "$view `,` $dim attr-dict `:` qualified(type($view))";
  let hasVerifier = 1;
  let hasFolder = 1;
}

// Not speculatable: lanes differ, so it must not leave the loop over the lanes of a program.
def Tile_GroupInfoOp : Tile_Op<"group_info", [NoMemoryEffect]> {
  let summary = "position of a lane inside its group, or the group's size";
  let arguments = (ins Tile_GroupInfoKind:$kind);
  let results = (outs I32:$result);
  let assemblyFormat = "$kind attr-dict `:` type($result)";
}

def Tile_GroupReduceOp : Tile_Op<"group_reduce", [NoMemoryEffect, AllTypesMatch<["input", "result"]>]> {
  let summary = "reduction of a scalar over the lanes of a group; every lane gets the result";
  let arguments = (ins Tile_GroupReduceKind:$kind, Tile_Scalar:$input, UnitAttr:$is_unsigned);
  let results = (outs Tile_Scalar:$result);
  let assemblyFormat = "$kind $input (`unsigned` $is_unsigned^)? attr-dict `:` type($input)";
}

#endif
