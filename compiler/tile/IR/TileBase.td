// The tile dialect, its types, enumerations and the base classes of its operations.
#ifndef TESSERA_TILE_BASE
#define TESSERA_TILE_BASE
include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "compiler/tile/IR/TileBounds.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::tessera::tile";
  let summary = "One program of a kernel: tile loads and stores, shared memory, matrix products";
  let description = [{
    A `tile.kernel` is the code of one program (a threadblock, a workgroup or a CPU task) of a launch. Its
    arguments are global tensors (`!tile.view`), scalars and the symbolic dims.

    A *tile value* is a statically shaped builtin `tensor` of rank 1 or more; elementwise arithmetic on tiles and
    scalars is upstream `arith` and `math`. Memory holds `u8` as `ui8`; values hold it as `i8`, and the operation
    says when it means the unsigned reading.

    Decisions about operations of any dialect are discardable attributes, which this dialect verifies:

    | attribute | on | value |
    | --- | --- | --- |
    | `tile.lanes` | `scf.for` | the loop over the lanes of one program |
    | `tile.materialize` | operations with tile results | the results get memory of their own (`tile-fuse`) |
    | `tile.scratch` | the same | byte offsets into the program's scratch, one per tile (`tile-plan-memory`): for loops per tile `iter_arg`, for `while` per tile operand, then per tile result |
    | `tile.read_blocks` | `tile.load` | the only product that uses it brings its elements from the tensor to registers, by 2D block reads of the device, if its instruction can (`tile-read-blocks`) |
    | `tile.strided` | `tile.mma` | the elements of `a` are read one by one where they are, so that `trans_a` costs nothing (`tile-transpose-products`) |
    | `tile.private` | `tile.atomic` | byte offset in scratch of a table that replaces the tensor until the program ends |
    | `tile.private_value` | `tile.atomic` | a variable replaces the element until the program ends |
    | `tile.leaf` | `tile.mma` | the steps of k after which its loop begins a new sum, which is joined pairwise with those before: an order of `fixed_reductions` that only a body of the target computes (`schedule-outline`) |
    | `tile.product` | kernels | a matrix product that the target computes by a body of its own, the kernel being its epilogue: a dictionary of the operands' arguments `a` and `b`, `c` (that the product is stored to; -1: the kernel stores), `trans_a`, `trans_b`, the program's `block`, whether the grid `has_columns` and `has_rows`, and for each axis of the batch the operands' axes `batch_a`, `batch_b`, `batch_c` (-1: none); `leaf`, the `tile.leaf` of its operation (`tile-extract-product`) |
    | `tile.product_way` | kernels | the way in which a body computes the product, of those that the target has; without it the body chooses (`buildBody` of the target) |
    | `tile.checks` | kernels | what a launch checks: dictionaries with the strings `value`, an expression of dims and integer scalars that must not be negative, and `says` |
    | `tile.variants` | kernels | the bodies among which a launch chooses: dictionaries with the parts of `launch.variants` of the kernel metadata |
  }];
  let discardableAttrs = (ins
    "::mlir::UnitAttr":$lanes, "::mlir::UnitAttr":$materialize, "::mlir::DenseI64ArrayAttr":$scratch,
    "::mlir::IntegerAttr":$private, "::mlir::UnitAttr":$private_value, "::mlir::DictionaryAttr":$product,
    "::mlir::StringAttr":$product_way, "::mlir::IntegerAttr":$leaf, "::mlir::UnitAttr":$strided, "::mlir::UnitAttr":$read_blocks);
  let hasOperationAttrVerify = 1;
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
  let extraClassDeclaration = [{
    void registerTypes();
    void registerAttributes();
  }];
}

class Tile_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::tessera::tile";
}
def Tile_Swizzle : Tile_Enum<"Swizzle", "arrangement of a shared buffer's rows", [
    I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Xor", 1, "xor">]>;
def Tile_ReduceKind : Tile_Enum<"ReduceKind", "operator of a reduction", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Prod", 1, "prod">,
    I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">]>;
def Tile_ArgKind : Tile_Enum<"ArgKind", "which extreme is looked for", [
    I32EnumAttrCase<"Max", 0, "max">, I32EnumAttrCase<"Min", 1, "min">]>;
def Tile_ScanKind : Tile_Enum<"ScanKind", "operator of an inclusive scan", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">, I32EnumAttrCase<"Prod", 2, "prod">,
    I32EnumAttrCase<"Min", 3, "min">]>;
def Tile_AtomicKind : Tile_Enum<"AtomicKind", "operator of an atomic update", [
    I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Max", 1, "max">,
    I32EnumAttrCase<"Min", 2, "min">, I32EnumAttrCase<"Xchg", 3, "xchg">]>;
def Tile_MemoryOrder : Tile_Enum<"MemoryOrder", "memory order of an atomic or a fence", [
    I32EnumAttrCase<"Relaxed", 0, "relaxed">, I32EnumAttrCase<"Acquire", 1, "acquire">,
    I32EnumAttrCase<"Release", 2, "release">, I32EnumAttrCase<"AcqRel", 3, "acq_rel">,
    I32EnumAttrCase<"SeqCst", 4, "seq_cst">]>;
def Tile_MemoryScope : Tile_Enum<"MemoryScope", "who observes the order", [
    I32EnumAttrCase<"Group", 0, "group">, I32EnumAttrCase<"Device", 1, "device">,
    I32EnumAttrCase<"System", 2, "system">]>;
def Tile_GroupInfoKind : Tile_Enum<"GroupInfoKind", "a position inside the launch", [
    I32EnumAttrCase<"GroupId", 0, "group_id">, I32EnumAttrCase<"LocalId", 1, "local_id">,
    I32EnumAttrCase<"LaneId", 2, "lane_id">, I32EnumAttrCase<"GroupSize", 3, "group_size">]>;
def Tile_ParamKind : Tile_Enum<"ParamKind", "kind of a parameter", [
    I32EnumAttrCase<"Tensor", 0, "tensor">, I32EnumAttrCase<"Result", 1, "result">,
    I32EnumAttrCase<"Scalar", 2, "scalar">, I32EnumAttrCase<"Dim", 3, "dim">]>;
def Tile_Access : I32Enum<"Access", "what a kernel does with the memory of an argument", [
    I32EnumCase<"None", 0, "none">, I32EnumCase<"Read", 1, "read">,
    I32EnumCase<"Write", 2, "write">, I32EnumCase<"ReadWrite", 3, "readwrite">]> {
  let cppNamespace = "::tessera::tile";
}
def Tile_GroupReduceKind : Tile_Enum<"GroupReduceKind", "operator of a reduction over a group's lanes", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">, I32EnumAttrCase<"Min", 2, "min">]>;

// Memory resources: a load can only be moved past a store of the other kind.
def Tile_GlobalMemory : Resource<"::tessera::tile::GlobalMemory">;
def Tile_SharedMemory : Resource<"::tessera::tile::SharedMemory">;

def Tile_DTypeParameter : OptionalParameter<"std::optional<::tessera::DType>"> {
  let parser = "parseDTypeKeyword($_parser)";
  let printer = "$_printer << ::tessera::name(*$_self)";
}

class Tile_Type<string name, string mnemonic_> : TypeDef<Tile_Dialect, name> { let mnemonic = mnemonic_; }

def Tile_ViewType : Tile_Type<"View", "view"> {
  let summary = "a global tensor, row-major and contiguous";
  let description = [{
    `!tile.view<?x64xbf16>`. Element types are those of memory: `ui8` for u8, one byte for fp6, fp4 and bool.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return static_cast<int64_t>(getShape().size()); }
    bool isDynamicDim(unsigned dim) const { return ::mlir::ShapedType::isDynamic(getShape()[dim]); }
  }];
}

def Tile_BufferType : Tile_Type<"Buffer", "buffer"> {
  let summary = "shared memory of one program";
  let description = [{
    `!tile.buffer<64x32xbf16, xor>`: statically shaped; `xor` asks for rows permuted against bank conflicts.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
                        "::tessera::tile::Swizzle":$swizzle);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return static_cast<int64_t>(getShape().size()); }
    int64_t getNumElements() const;
    /// Bytes the elements take, without padding.
    int64_t getSizeInBytes() const;
  }];
}

def Tile_FragmentAttr : AttrDef<Tile_Dialect, "Fragment"> {
  let mnemonic = "fragment";
  let summary = "the register block an mma is computed in";
  let description = [{
    `#tile.fragment<6x64x1>`: rows x columns x depth of a micro-kernel.

    `#tile.fragment<16x8x16, "mma.m16n8k16", warps = [2, 4]>`: of a matrix instruction, a row of the table in
    docs/layouts.md, and how many warps divide the rows and the columns of the product. An instruction of several
    warps may have more columns than its row, in multiples of them.
  }];
  let parameters = (ins "int64_t":$m, "int64_t":$n, "int64_t":$k, OptionalParameter<"::mlir::StringAttr">:$instruction,
                        OptionalArrayRefParameter<"int64_t">:$warps);
  let builders = [AttrBuilder<(ins "int64_t":$m, "int64_t":$n, "int64_t":$k), [{
    return $_get($_ctxt, m, n, k, ::mlir::StringAttr(), ::llvm::ArrayRef<int64_t>());
  }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// "6x64x1"
    std::string shape() const;
    /// The spelling of the kernel metadata: "fma.m6n64k1", or the instruction with the fragment's number of columns.
    std::string str() const;
    /// The instruction, with the fragment's number of columns; nullopt for a block of multiply-adds.
    std::optional<::tessera::layout::Fragment> getRow() const;
    ::tessera::layout::WarpGrid getWarpGrid() const { return {getWarps()[0], getWarps()[1]}; }
  }];
}

def Tile_OrderAttr : AttrDef<Tile_Dialect, "Order"> {
  let mnemonic = "order";
  let summary = "the order in which a reduction combines the elements of one result";
  let description = [{
    `#tile.order<lanes = 8>`: element i belongs to partial result i mod 8. Each combines its elements in the order of their
    indices; then the partial results are folded by halves: i with i + 4, i with i + 2, i with i + 1. One lane means the
    order of the elements.

    `#tile.order<lanes = 8, chains = [4, 1]>`: the elements are cut into runs. For each number of chains in turn a run takes
    as many whole steps of chains x lanes elements as are left, and none if several chains would have only one step. What
    then remains is cut into runs of descending powers of two below `lanes`, of one step each. In a run element i, counted
    from its beginning, belongs to lane i mod 8 of chain (i div 8) mod 4. Chains are folded by halves, then lanes, and the
    runs are combined from first to last.

    `#tile.order<lanes = 64, block = 1024>`: an order of `fixed_reductions`. The elements are cut into blocks of 1024. Each
    partial result of a block begins with the neutral element, and those of a block are folded as above. The results of
    blocks are then joined pairwise: 2i with 2i + 1, until one is left; the last one of an odd number waits for the next
    step. Elements that are absent count as the neutral element.
  }];
  let parameters = (ins "int64_t":$lanes, OptionalArrayRefParameter<"int64_t">:$chains, DefaultValuedParameter<"int64_t", "0">:$block);
  let builders = [AttrBuilder<(ins "int64_t":$lanes, "::llvm::ArrayRef<int64_t>":$chains), [{
    return $_get($_ctxt, lanes, chains, 0);
  }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The order that `fixed_reductions` gives a reduction along the last axis of a tensor, or along another one.
    static OrderAttr fixed(::mlir::MLIRContext *, bool alongLast);
    bool isFixed() const { return getBlock() > 0; }
  }];
}

def Tile_IndexExprAttr : AttrDef<Tile_Dialect, "IndexExpr"> {
  let mnemonic = "index";
  let summary = "an integer expression over dims and integer scalars";
  let description = [{
    `#tile.index<"ceildiv(M, 64)">`, in the language of core/metadata/IndexExpr.h. Operations and types print only the
    text. Expressions are equal if their nodes are: `"M+N"` equals `"M + N"`, but not `"N + M"`.
  }];
  let parameters = (ins AttrParameter<"::tessera::IndexExpr", "the expression, not bound to slots",
                                     "const ::tessera::IndexExpr &">:$expr);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// A text past the limits of index expressions becomes one symbol, so that the compiler does not fail on it. The
    /// reader of the kernel metadata refuses it.
    static IndexExprAttr fromText(::mlir::MLIRContext *, ::llvm::StringRef text);
    std::string text() const { return getExpr().text(); }
  }];
}

def Tile_AccessAttr : EnumAttr<Tile_Dialect, Tile_Access, "access"> {
  let assemblyFormat = "`<` $value `>`";
}

def Tile_ParamAttr : AttrDef<Tile_Dialect, "Param"> {
  let mnemonic = "param";
  let summary = "one parameter of a kernel or a graph function";
  let description = [{
    ```mlir
    #tile.param<name = "x", kind = tensor, dtype = f32, access = read, dims = ["n", "64"]>
    #tile.param<name = "y", kind = tensor, dtype = f32, access = write, dims = ["n", "64"], strides = ["ld", "1"]>
    #tile.param<name = "a", kind = scalar, dtype = f32, default_value = 2.000000e+00 : f64>
    #tile.param<name = "n", kind = dim>
    ```
    A tensor and a result (a tensor that the caller allocates and the kernel writes) have a dtype, an access other
    than `none`, and dims: symbols and numbers, outermost first. Its strides, in elements, are given likewise; without
    them it is contiguous. A scalar has a dtype, and perhaps a default that the
    dtype holds without rounding: an `f64` of a float, an `i64` of an integer, an `i1` or `i64` of a bool. A dim has
    only its name. `policy` records what the program asked for beside the dtype (`accum`, `round`, `loss_scale`).
  }];
  let parameters = (ins
    "::mlir::StringAttr":$name, EnumParameter<Tile_ParamKind>:$kind, Tile_DTypeParameter:$dtype,
    DefaultValuedParameter<"::tessera::tile::Access", "::tessera::tile::Access::None">:$access,
    OptionalParameter<"::mlir::ArrayAttr">:$dims, OptionalParameter<"::mlir::ArrayAttr">:$strides,
    OptionalParameter<"::mlir::Attribute">:$default_value,
    OptionalParameter<"::mlir::DictionaryAttr">:$policy);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool isTensor() const { return getKind() == ParamKind::Tensor; }
    bool isResult() const { return getKind() == ParamKind::Result; }
    bool isScalar() const { return getKind() == ParamKind::Scalar; }
    bool isDim() const { return getKind() == ParamKind::Dim; }
    static ParamAttr getDimParam(::mlir::MLIRContext *, ::llvm::StringRef name);
    /// Of a tensor or a result: the extent along `dim`, a symbol or a number.
    ::llvm::StringRef getDim(unsigned dim) const;
    /// The same of its stride; empty if the tensor is contiguous.
    ::llvm::StringRef getStride(unsigned dim) const;
  }];
}

// A tile in memory, in row-major order; few operations take tiles that have a layout.
def Tile_AnyTile : AnyTypeOf<[StaticShapeTensorOf<[AnyFloat, AnySignlessInteger, Index]>], "tile, with or without layout">;
def Tile_Tile : ConfinedType<StaticShapeTensorOf<[AnyFloat, AnySignlessInteger, Index]>, [
    CPred<"!::llvm::cast<::mlir::RankedTensorType>($_self).getEncoding()">], "tile">;
def Tile_FloatTile : StaticShapeTensorOf<[AnyFloat]>;
def Tile_AccessIndex : AnyTypeOf<[Index, StaticShapeTensorOf<[I64]>], "index or tile of i64">;
def Tile_FlagTile : AnyTypeOf<[StaticShapeTensorOf<[I1]>], "tile of flags">;
def Tile_FloatValue : AnyTypeOf<[AnyFloat, Tile_FloatTile, VectorOfAnyRankOf<[AnyFloat]>], "floats">;
def Tile_Scalar : AnyTypeOf<[AnyFloat, AnySignlessInteger, Index], "scalar">;
def Tile_Value : AnyTypeOf<[Tile_Tile, AnyFloat, AnySignlessInteger, Index], "tile or scalar">;
def Tile_AnyValue : AnyTypeOf<[Tile_AnyTile, AnyFloat, AnySignlessInteger, Index], "tile or scalar">;
def Tile_IndexValue : AnyTypeOf<[Index, StaticShapeTensorOf<[Index]>], "index or tile of indices">;
def Tile_Memory : AnyTypeOf<[Tile_ViewType, Tile_BufferType], "tensor or shared buffer">;
def Tile_MmaOperand : AnyTypeOf<[Tile_AnyTile, Tile_BufferType], "tile or shared buffer">;

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;
class Tile_PureOp<string mnemonic, list<Trait> traits = []> : Tile_Op<mnemonic, !listconcat(traits, [Pure])>;

#endif
