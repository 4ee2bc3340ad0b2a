// The schedule dialect: a kernel's parallel structure and the decisions taken about it.
#ifndef TESSERA_SCHEDULE_OPS
#define TESSERA_SCHEDULE_OPS
include "mlir/IR/OpBase.td"
include "compiler/tile/IR/TileParams.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Schedule_Dialect : Dialect {
  let name = "schedule";
  let cppNamespace = "::tessera::schedule";
  let summary = "Parallel structure of a kernel, with the decisions that are still open";
  let description = [{
    A `schedule.kernel` has the arguments of a `tile.kernel` and one parallel construct: a `schedule.grid` of tile
    programs or the `schedule.lanes` of a program written per element. Decisions are attributes: absent while they
    are open, filled by `schedule-decide`, and free to be edited before `schedule-expand` carries them out.

    Operations of other dialects carry decisions as discardable attributes, which this dialect verifies:

    | attribute | on | value |
    | --- | --- | --- |
    | `schedule.stages` | `scf.for` | how many steps' copies the loop has in shared memory at once, at least 1; refused if they do not fit. Absent: the target's default, as far as shared memory allows |
    | `schedule.most_stages` | `scf.for` | the program's request: at most as many; fewer if they do not fit, which is reported |
    | `schedule.copy` | `scf.for` | how these copies are done: `"async"` by every thread, `"tma"` by the device's engine where a launch allows it; the default is `"tma"` where the loop can have it |
    | `schedule.block` | kernels | `#schedule.block`: which warps of a thread block copy and which compute; the default is the target's, where a kernel can have roles |
    | `schedule.iterator` | `scf.for` | "reduction": the loop was made from an implicit tile iterator |
    | `schedule.fusion` | functions, kernels | "auto", or "none": no fusion |
    | `schedule.fuse` | any operation of a kernel | `false` ends a fusion group there |
    | `schedule.hints` | `graph.func` | likely values of dims, which only tile sizes depend on |
    | `schedule.variants` | `graph.func` | a mapper's decisions, by the number of the operation |
    | `schedule.variant_of`, `schedule.when` | `graph.func` | the function it is another body of, `@f`, and the conditions of the calls that run it, `["N == 64"]` |
    | `schedule.choice` | operations with variants | the number of the operation |
    | `schedule.decision` | operations with variants, groups, launches | the decision: choice, mapper, legal set |
  }];
  let discardableAttrs = (ins
    "::mlir::IntegerAttr":$stages, "::mlir::IntegerAttr":$most_stages, "::mlir::StringAttr":$copy, "::mlir::Attribute":$block, "::mlir::StringAttr":$iterator, "::mlir::DictionaryAttr":$hints,
    "::mlir::DictionaryAttr":$variants, "::mlir::IntegerAttr":$choice, "::mlir::DictionaryAttr":$decision);
  let hasOperationAttrVerify = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::tessera::graph::GraphDialect", "::tessera::tile::TileDialect", "::mlir::scf::SCFDialect"];
}

class Schedule_Op<string mnemonic, list<Trait> traits = []> : Op<Schedule_Dialect, mnemonic, traits>;

def Schedule_KernelOp : Schedule_Op<"kernel", [
    FunctionOpInterface, IsolatedFromAbove, AffineScope, AutomaticAllocationScope,
    SingleBlockImplicitTerminator<"YieldOp">,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "a kernel before its schedule is expanded";
  let description = [{
    ```mlir
    schedule.kernel @scale(%x: !tile.view<?xf32>, %n: index) attributes {params = [...]} {
      schedule.grid (%i) = ("0") to ("n") step ("64") names ["tile_n"] { ... }
    }
    ```
    The attributes are those of `tile.kernel`; `warps` is how many warps share a program on a GPU.
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type, Tile_ParamArray:$params,
    DefaultValuedStrAttr<StrAttr, "standard">:$numerics,
    OptionalAttr<DictionaryAttr>:$specialized, OptionalAttr<DictionaryAttr>:$tunables,
    OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$warps,
    OptionalAttr<StrArrayAttr>:$fallbacks, OptionalAttr<StrArrayAttr>:$epilogue,
    OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region AnyRegion:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::mlir::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    /// What describes an argument of the kernel.
    ::tessera::tile::ParamAttr getParam(::mlir::Value argument) {
      return ::llvm::cast<::tessera::tile::ParamAttr>(
          getParams()[::llvm::cast<::mlir::BlockArgument>(argument).getArgNumber()]);
    }
  }];
}

def Schedule_GridOp : Schedule_Op<"grid", [
    SingleBlockImplicitTerminator<"YieldOp">, HasParent<"KernelOp">,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "a grid of tile programs";
  let description = [{
    ```mlir
    schedule.grid (%i, %j) = ("0", "0") to ("M", "N") step ("64", "64") names ["tile_m", "tile_n"]
        attributes {order = array<i64: 0, 1>, placement = "any"} { ... }
    ```
    Axis k has ceildiv(to - from, step) programs; its variable is from + position * step. Bounds are expressions of
    the kernel's dims and integer scalars. No axis means one program. `batch` marks implicit batch axes. `order`
    lists the axes from the slowest to the fastest of the linearised grid; `placement` says where it may run.
    With `group_rows = 16` the last two axes of `order` are walked in groups of 16 rows, column by column in each group:
    programs that run at the same time read fewer rows and columns of a product's factors. Results do not depend on it.
    With `chiplets = 8` programs are renumbered so that those of a chiplet are neighbours: a device starts consecutive programs
    on so many chiplets in turn, each with a cache of its own.
  }];
  let arguments = (ins Tile_IndexExprArray:$from, Tile_IndexExprArray:$to, Tile_IndexExprArray:$step, StrArrayAttr:$names,
                       OptionalAttr<DenseBoolArrayAttr>:$batch, OptionalAttr<StrAttr>:$placement,
                       OptionalAttr<DenseI64ArrayAttr>:$order,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$group_rows,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$chiplets);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Schedule_LanesOp : Schedule_Op<"lanes", [
    SingleBlockImplicitTerminator<"YieldOp">, HasParent<"KernelOp">,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "scalar code for each of `count` lanes";
  let description = [{
    ```mlir
    schedule.lanes %i to "n" { ... } {lanes_per_program = 4096}
    ```
  }];
  let arguments = (ins Tile_IndexExpr:$count, OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$lanes_per_program,
                       OptionalAttr<StrAttr>:$placement);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Schedule_BlockAttr : AttrDef<Schedule_Dialect, "Block"> {
  let mnemonic = "block";
  let summary = "what the warps of a thread block do";
  let description = [{
    `#schedule.block<roles = [copy: 4 warps, 24 registers, math: 8 warps, 240 registers]>`: four warps start the copies of
    the kernel's loop and eight compute, with so many registers for each thread. The hardware moves registers between
    groups of four warps, in multiples of 8 from 24 to 256.

    With `persistent` after the roles the launch has only as many blocks as the device runs at once. A block runs a program,
    then the one that is as many programs further, and so on; the warps that copy are ahead of those that compute, also
    from one program to the next.

    With `cluster = [2, 1]` after the roles blocks form clusters, here of two programs, one below the other on the last two axes
    of the grid: [rows, columns], of which one is 1, at most 8 programs. A tile that all programs of a cluster copy is copied
    once: each of them copies a part of its rows to all. The kernel gets a variant for launches whose grid the
    cluster divides.

    With `pingpong` after these the groups of four warps that compute take turns in a loop with several products, such as
    that of attention: while one multiplies, the others do the work between its products.

    `#schedule.block<roles = [copy: 1 warps, multiply: 1 warps, math: 4 warps], sums = 2, persistent>` is for products whose
    sums are in tensor memory: a warp of its own starts them, and the others store their sums. With two sets of sums they
    do so while the products of the block's next program run. Registers are not divided.
  }];
  let parameters = (ins "int64_t":$copyWarps, "int64_t":$copyRegisters, "int64_t":$multiplyWarps, "int64_t":$mathWarps,
                        "int64_t":$mathRegisters, "int64_t":$clusterRows, "int64_t":$clusterColumns, "int64_t":$sums,
                        "bool":$pingpong, "bool":$persistent);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t warps() const { return getCopyWarps() + getMultiplyWarps() + getMathWarps(); }
    /// Groups of warps that compute, which execute an instruction together.
    int64_t mathGroups() const { return getMathWarps() / 4; }
    /// Programs of a cluster; 1: there are none.
    int64_t programsOfCluster() const { return getClusterRows() * getClusterColumns(); }
    /// The same roles without clusters.
    BlockAttr withoutCluster() const {
      return get(getContext(), getCopyWarps(), getCopyRegisters(), getMultiplyWarps(), getMathWarps(), getMathRegisters(), 1, 1,
                 getSums(), getPingpong(), getPersistent());
    }
    /// Registers of a thread when the block starts, before roles give theirs back or get more.
    static int64_t registersAtEntry(int64_t copyWarps, int64_t copyRegisters, int64_t mathWarps, int64_t mathRegisters);
    int64_t registersAtEntry() const {
      return registersAtEntry(getCopyWarps(), getCopyRegisters(), getMathWarps(), getMathRegisters());
    }
  }];
}

def Schedule_GroupKind : I32EnumAttr<"GroupKind", "how a fusion group runs", [
    I32EnumAttrCase<"Map", 0, "map">, I32EnumAttrCase<"Reduce", 1, "reduce">, I32EnumAttrCase<"Matmul", 2, "matmul">,
    I32EnumAttrCase<"Attention", 3, "attention">, I32EnumAttrCase<"Scan", 4, "scan">,
    I32EnumAttrCase<"Concat", 5, "concat">]> {
  let cppNamespace = "::tessera::schedule";
}

def Schedule_VariantAttr : AttrDef<Schedule_Dialect, "Variant"> {
  let mnemonic = "variant";
  let summary = "a body of a group's kernel, and the sizes that it runs for";
  let description = [{
    `#schedule.variant<"short", when = "N <= 128 and aligned(in0, 64)", body = "tile", order = tiles("128"), params =
    {columns = 128, rows = 32}, cost = "M * N // 4">`. The parts in this order; `when`, `params` and `cost` may be absent.

    `when` is a condition (core/metadata/Guard.h) over the dims of the group's tensors, machine constants (`cores`, `l1`,
    `l2`, `l3`, ...) and the group's tensors, which are in0, in1, ... and out0, out1, ... `cost` is a time in nanoseconds over
    the same names. `order` is the class of the order of sums: `exact`, `chain`, `leaves`, `lanes64`, `dot`,
    `split("N")` or `tiles("N")`. `params` are the parameters of the body, integers or texts of expressions.
  }];
  let parameters = (ins "::mlir::StringAttr":$name,
                        AttrParameter<"::tessera::schedule::Condition", "when it runs",
                                      "const ::tessera::schedule::Condition &">:$when,
                        "::mlir::StringAttr":$body,
                        AttrParameter<"::tessera::OrderClass", "order of sums", "const ::tessera::OrderClass &">:$order,
                        "::mlir::DictionaryAttr":$params, "::tessera::tile::IndexExprAttr":$cost);
  let hasCustomAssemblyFormat = 1;
}

def Schedule_VariantArray : TypedArrayAttrBase<Schedule_VariantAttr, "array of #schedule.variant">;

def Schedule_GroupOp : Schedule_Op<"group", [IsolatedFromAbove, SingleBlock, HasParent<"::tessera::graph::FuncOp">]> {
  let summary = "operations of a graph function that run as one kernel";
  let description = [{
    ```mlir
    %y = schedule.group matmul(%x, %w, %bias) attributes {tile = array<i64: 96, 256, 256>} : (...) -> ... {
    ^bb0(%a: ..., %b: ..., %c: ...):
      %0 = graph.matmul %a, %b : ...
      %1 = graph.binary add %0, %c : ...
      schedule.yield %1 : ...
    }
    ```
    The *space* of a group is the shape of its operations' results; what it yields is stored, everything else stays in
    the program. By kind:
    `map`: elementwise; a program computes one tile, `tile = [rows, columns]` of the last two axes of the space.
    `reduce`: elementwise operations and reductions along one axis; the tile's columns are the last axis and its rows
    the reduced one, or the last but one where the last is reduced. A program walks the reduced axis in steps of its
    tile extent, once for each reduction that needs another's result and once to
    store. `matmul`: one matrix product and the elementwise operations on its result; `tile = [M, N, K]`.
    `attention`: one `graph.attention`, `tile = [queries, keys]`. `concat`: one such operation, after slices of inputs
    that it joins; a program copies to its tile what each of them has there. `scan`: one `graph.scan` and
    elementwise operations, with the tile of a `reduce` group; a program walks the axis once.
    `variant` says what computes the group: "tile" (also without the attribute), the tile program of the group, or, for
    a `matmul` without anything else in it, "blas", a call of the host's BLAS (f32 and f64 on the CPU, in the numerics
    profiles fast and standard). Where a mapper chose it, `schedule.decision` says so and goes into the metadata.
    `variants` are the bodies that the group's kernel has, of which a launch runs one: the first whose condition holds, or
    the one of the least cost if all of them have costs. The last one has no condition. `variant = "NAME"` pins one of
    them. A body "tile" is the tile program with the extents of `params`, or those of `tile`; "row" is the same of a reduction along
    the last axis without loops, where the condition says that the axis fits the tile. The kernels of other bodies are made by the target.
    Operations may be moved between groups, groups split or joined, and tiles changed, as long as the verifier agrees.
  }];
  let arguments = (ins Schedule_GroupKind:$kind, Variadic<AnyType>:$inputs, DenseI64ArrayAttr:$tile,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$stages,
                       OptionalAttr<StrAttr>:$variant, OptionalAttr<Schedule_VariantArray>:$variants);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $kind `(` $inputs `)` attr-dict-with-keyword `:` functional-type($inputs, $results) $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Schedule_YieldOp : Schedule_Op<"yield", [
    Pure, Terminator, ParentOneOf<["KernelOp", "GridOp", "LanesOp", "GroupOp"]>]> {
  let summary = "ends a region of the dialect; gives the values of a group";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{ }]>];
}

#endif
