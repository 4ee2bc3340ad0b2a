// The graph dialect: functions on whole tensors and the launches of tile programs.
#ifndef TESSERA_GRAPH_OPS
#define TESSERA_GRAPH_OPS
include "mlir/IR/OpBase.td"
include "compiler/tile/IR/TileParams.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Graph_Dialect : Dialect {
  let name = "graph";
  let cppNamespace = "::tessera::graph";
  let summary = "Whole tensors, their shapes and effects";
  let description = [{
    The level a program enters the compiler at. Tensors are values with symbolic dims; an update in place is a new
    value. Every kernel has a `graph.func` that launches it, named after the kernel with `.host` appended.
  }];
  let dependentDialects = ["::tessera::tile::TileDialect"];
  let useDefaultTypePrinterParser = 1;
}

class Graph_Op<string mnemonic, list<Trait> traits = []> : Op<Graph_Dialect, mnemonic, traits>;

def Graph_TensorType : TypeDef<Graph_Dialect, "Tensor"> {
  let mnemonic = "tensor";
  let summary = "a tensor with symbolic dims";
  let description = [{
    `!graph.tensor<["M", 64, "B*H", "S + T"], bf16>`: a dim is an integer or an expression of the kernel metadata's
    language over the function's dims, in canonical form: equal expressions are equal extents. `[]` is one element.
    u8 is `ui8`.
  }];
  let parameters = (ins "::mlir::ArrayAttr":$dims, "::mlir::Type":$elementType);
  let assemblyFormat = "`<` custom<Extents>($dims) `,` $elementType `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return static_cast<int64_t>(getDims().size()); }
    /// Is the extent of dim `d` the constant 1?
    bool isOne(int64_t d) const;
    /// The extent of dim `d`.
    ::tessera::IndexExpr getExtent(int64_t d) const;
    /// The same as text ("64", "M").
    std::string dimText(int64_t d) const { return getExtent(d).text(); }
  }];
}

def Graph_FuncOp : Graph_Op<"func", [FunctionOpInterface, IsolatedFromAbove, SingleBlock]> {
  let summary = "a function on whole tensors";
  let description = [{
    ```mlir
    graph.func @saxpy.host(%x: !graph.tensor<["n"], f32>, %y: !graph.tensor<["n"], f32>, %alpha: f32)
        -> !graph.tensor<["n"], f32> attributes {numerics = "standard"} {
      %r = graph.launch @saxpy(read %x, readwrite %y, %alpha) : (...) -> ...
      graph.return %r : !graph.tensor<["n"], f32>
    }
    ```
    The arguments are the tensor parameters, then the scalar ones. A function written by a user also has `params`, as
    `schedule.kernel` has it (tensors, results, scalars, dims: the order of the ABI), and `returns`: for each returned
    value the name of the parameter it updates in place, or of the result it is.
    `schedule.fusion = "none"` keeps every operation in a group of its own. `checks` lists what a call has to check
    of its dims: `{value = "N - K", says = "0:K is outside a dim of N of 'x' [N]"}` refuses dims where the value is negative.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       DefaultValuedStrAttr<StrAttr, "standard">:$numerics,
                       OptionalAttr<Tile_ParamArray>:$params, OptionalAttr<StrArrayAttr>:$returns,
                       OptionalAttr<DictArrayAttr>:$checks,
                       OptionalAttr<DictionaryAttr>:$specialized, OptionalAttr<StrArrayAttr>:$fallbacks,
                       OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region AnyRegion:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::mlir::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
  }];
}

def Graph_ReturnOp : Graph_Op<"return", [Pure, Terminator, ReturnLike, HasParent<"FuncOp">]> {
  let summary = "the values of a graph function";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let hasVerifier = 1;
}

def Graph_LaunchOp : Graph_Op<"launch", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "launches a tile program";
  let description = [{
    Before each tensor is what the kernel does with its memory: `read`, `write` or `readwrite`. The results are the
    new values of the operands that are written, in order, then those of the kernel's own result tensors. `dims` gives
    the kernel's dims as expressions over the function's; without it they follow from the tensors.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyType>:$operands, Tile_AccessArray:$effects,
                       OptionalAttr<Tile_IndexExprArray>:$dims);
  let results = (outs Variadic<Graph_TensorType>:$results);
  let assemblyFormat = [{
    $kernel `` custom<LaunchOperands>($operands, $effects) (`dims` custom<IndexExprs>($dims)^)? attr-dict `:` functional-type($operands, $results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::tessera::tile::Access getEffect(unsigned operand);
    /// Does the kernel write operand `number`?
    bool writes(unsigned number);
    /// The operand that result `number` is the new value of; null for a result of the kernel's own.
    ::mlir::Value updatedOperand(unsigned number);
  }];
}

def Graph_LibraryCallOp : Graph_Op<"library_call"> {
  let summary = "calls a library that the runtime loads where it is installed";
  let description = [{
    `graph.library_call "blas.gemm.f32.nn"(%a, %b) dims ["M", "K", "N"] : (...) -> ...`: the matrix product of a BLAS.
    The name says which call; core/library/GemmCall.h describes them. `dims` gives the call's dims, in its order, as
    expressions over the function's.
  }];
  let arguments = (ins StrAttr:$callee, Variadic<Graph_TensorType>:$operands, Tile_IndexExprArray:$dims);
  let results = (outs Graph_TensorType:$result);
  let assemblyFormat = "$callee `(` $operands `)` `dims` custom<IndexExprs>($dims) attr-dict `:` functional-type($operands, $result)";
  let hasVerifier = 1;
}

//===-- operations on whole tensors ------------------------------------------------------------------------===//
// Operands of the elementwise ones are tensors or scalars; tensors broadcast as in NumPy. Every operation gives the
// value its dtype can hold: bf16, f16 and fp8 compute in f32 and round once per operation.

class Graph_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::tessera::graph";
}
def Graph_UnaryKind : Graph_Enum<"UnaryKind", "a function of one value", [
    I32EnumAttrCase<"Neg", 0, "neg">, I32EnumAttrCase<"Abs", 1, "abs">, I32EnumAttrCase<"Not", 2, "not">,
    I32EnumAttrCase<"Exp", 3, "exp">, I32EnumAttrCase<"Exp2", 4, "exp2">, I32EnumAttrCase<"Log", 5, "log">,
    I32EnumAttrCase<"Log2", 6, "log2">, I32EnumAttrCase<"Sqrt", 7, "sqrt">, I32EnumAttrCase<"Rsqrt", 8, "rsqrt">,
    I32EnumAttrCase<"Tanh", 9, "tanh">, I32EnumAttrCase<"Sigmoid", 10, "sigmoid">, I32EnumAttrCase<"Erf", 11, "erf">,
    I32EnumAttrCase<"Sin", 12, "sin">, I32EnumAttrCase<"Cos", 13, "cos">, I32EnumAttrCase<"Relu", 14, "relu">,
    I32EnumAttrCase<"Silu", 15, "silu">, I32EnumAttrCase<"Gelu", 16, "gelu">,
    I32EnumAttrCase<"GeluTanh", 17, "gelu_tanh">, I32EnumAttrCase<"Floor", 18, "floor">,
    I32EnumAttrCase<"Ceil", 19, "ceil">, I32EnumAttrCase<"Trunc", 20, "trunc">, I32EnumAttrCase<"Round", 21, "round">,
    I32EnumAttrCase<"Tan", 22, "tan">, I32EnumAttrCase<"Asin", 23, "asin">, I32EnumAttrCase<"Acos", 24, "acos">,
    I32EnumAttrCase<"Atan", 25, "atan">, I32EnumAttrCase<"Sinh", 26, "sinh">, I32EnumAttrCase<"Cosh", 27, "cosh">,
    I32EnumAttrCase<"Asinh", 28, "asinh">, I32EnumAttrCase<"Acosh", 29, "acosh">, I32EnumAttrCase<"Atanh", 30, "atanh">,
    I32EnumAttrCase<"Expm1", 31, "expm1">, I32EnumAttrCase<"Log1p", 32, "log1p">, I32EnumAttrCase<"Log10", 33, "log10">,
    I32EnumAttrCase<"Cbrt", 34, "cbrt">, I32EnumAttrCase<"Erfc", 35, "erfc">]>;
def Graph_BinaryKind : Graph_Enum<"BinaryKind", "a function of two values", [
    I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Sub", 1, "sub">, I32EnumAttrCase<"Mul", 2, "mul">,
    I32EnumAttrCase<"Div", 3, "div">, I32EnumAttrCase<"FloorDiv", 4, "floordiv">, I32EnumAttrCase<"Mod", 5, "mod">,
    I32EnumAttrCase<"Pow", 6, "pow">, I32EnumAttrCase<"Fmod", 7, "fmod">, I32EnumAttrCase<"Minimum", 8, "minimum">,
    I32EnumAttrCase<"Maximum", 9, "maximum">, I32EnumAttrCase<"And", 10, "and">, I32EnumAttrCase<"Or", 11, "or">,
    I32EnumAttrCase<"Xor", 12, "xor">, I32EnumAttrCase<"Shl", 13, "shl">, I32EnumAttrCase<"Shr", 14, "shr">,
    I32EnumAttrCase<"Lt", 15, "lt">, I32EnumAttrCase<"Le", 16, "le">, I32EnumAttrCase<"Gt", 17, "gt">,
    I32EnumAttrCase<"Ge", 18, "ge">, I32EnumAttrCase<"Eq", 19, "eq">, I32EnumAttrCase<"Ne", 20, "ne">,
    I32EnumAttrCase<"Atan2", 21, "atan2">, I32EnumAttrCase<"Hypot", 22, "hypot">,
    I32EnumAttrCase<"CopySign", 23, "copysign">]>;
def Graph_ReduceKind : Graph_Enum<"ReduceKind", "operator of a reduction", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Mean", 1, "mean">, I32EnumAttrCase<"Prod", 2, "prod">,
    I32EnumAttrCase<"Max", 3, "max">, I32EnumAttrCase<"Min", 4, "min">, I32EnumAttrCase<"ArgMax", 5, "argmax">,
    I32EnumAttrCase<"ArgMin", 6, "argmin">]>;

def Graph_ScanKind : Graph_Enum<"ScanKind", "operator of a scan", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">, I32EnumAttrCase<"Prod", 2, "prod">,
    I32EnumAttrCase<"Min", 3, "min">]>;

def Graph_Value : AnyTypeOf<[Graph_TensorType, AnyFloat, AnyInteger], "tensor or scalar">;
class Graph_PureOp<string mnemonic, list<Trait> traits = []> : Graph_Op<mnemonic, !listconcat(traits, [Pure])> {
  let results = (outs Graph_TensorType:$result);
  let hasVerifier = 1;
}

/// A formula along one axis, with a result of the operand's type. Its verifier checks both.
class Graph_AxisOp<string mnemonic> : Graph_PureOp<mnemonic> {
  let arguments = (ins Graph_TensorType:$input, ConfinedAttr<I64Attr, [IntNonNegative]>:$axis);
  let assemblyFormat = "$input `axis` $axis attr-dict `:` functional-type($input, $result)";
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::verify() {
      return ::tessera::graph::verifyAlongAxis(*this, getInput().getType(), getAxis(), getType());
    }
  }];
}

def Graph_UnaryOp : Graph_PureOp<"unary"> {
  let summary = "a function of each element";
  let description = [{ `graph.unary gelu %x : !graph.tensor<["M"], f32>`. `gelu` is the erf form. }];
  let arguments = (ins Graph_UnaryKind:$kind, Graph_TensorType:$input);
  let assemblyFormat = "$kind $input attr-dict `:` functional-type($input, $result)";
}

def Graph_BinaryOp : Graph_PureOp<"binary"> {
  let summary = "a function of two elements";
  let description = [{ Operands have one dtype; comparisons give bool. At least one operand is a tensor. }];
  let arguments = (ins Graph_BinaryKind:$kind, Graph_Value:$lhs, Graph_Value:$rhs);
  let assemblyFormat = "$kind $lhs `,` $rhs attr-dict `:` functional-type(operands, $result)";
}

def Graph_SelectOp : Graph_PureOp<"select"> {
  let summary = "elements of the one where the condition holds, else of the other";
  let arguments = (ins Graph_Value:$condition, Graph_Value:$lhs, Graph_Value:$rhs);
  let assemblyFormat = "$condition `,` $lhs `,` $rhs attr-dict `:` functional-type(operands, $result)";
}

def Graph_CastOp : Graph_PureOp<"cast"> {
  let summary = "the language's cast of every element";
  let arguments = (ins Graph_Value:$input);
  let assemblyFormat = "$input attr-dict `:` functional-type($input, $result)";
}

def Graph_BroadcastOp : Graph_PureOp<"broadcast"> {
  let summary = "repeats a tensor, or a scalar, as NumPy's broadcasting does";
  let arguments = (ins Graph_Value:$input);
  let assemblyFormat = "$input attr-dict `:` functional-type($input, $result)";
}

def Graph_IotaOp : Graph_PureOp<"iota"> {
  let summary = "each element's index along an axis, as i32 or i64";
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$axis);
  let assemblyFormat = "$axis attr-dict `:` qualified(type($result))";
}

// It allocates, so that CSE keeps two of one type apart.
def Graph_EmptyOp : Graph_Op<"empty"> {
  let summary = "a tensor whose elements are unspecified until a launch writes them";
  let results = (outs Res<Graph_TensorType, "", [MemAlloc]>:$result);
  let assemblyFormat = "attr-dict `:` qualified(type($result))";
}

def Graph_DimOp : Graph_Op<"dim", [Pure]> {
  let summary = "the value of an index expression over the function's dims, as i64";
  let description = [{ `graph.dim "4*D" : !graph.tensor<[], i64>`, or the scalar `i64` where the host passes it on. }];
  let arguments = (ins Tile_IndexExpr:$expression);
  let results = (outs AnyTypeOf<[Graph_TensorType, I64]>:$result);
  let assemblyFormat = "custom<IndexExpr>($expression) attr-dict `:` qualified(type($result))";
  let hasVerifier = 1;
}

def Graph_MatmulOp : Graph_PureOp<"matmul"> {
  let summary = "matrix product of the last two axes";
  let description = [{
    `a` is [..., M, K] and `b` [..., K, N] after the transposes the flags ask for; leading axes broadcast. Products
    accumulate in f32 (f64 for f64, i64 for i64, i32 for other integers) and are rounded to
    the result's dtype once.

    `specialize` holds requests for some targets, as the program wrote them (`@ts.op.specialize`): dictionaries of `tile_sizes`
    (rows, columns and depth of a tile) with the `backend` and the `arch` that they are for; absent: any. The first one that
    holds for the target gives the product's group its `tile`.
    ```mlir
    %0 = graph.matmul %a, %b {specialize = [{backend = "rocm", tile_sizes = array<i64: 128, 128, 32>} ]} : ...
    ```
  }];
  let arguments = (ins Graph_TensorType:$a, Graph_TensorType:$b, UnitAttr:$trans_a, UnitAttr:$trans_b,
                       OptionalAttr<ArrayAttr>:$specialize);
  let assemblyFormat = "$a `,` $b attr-dict `:` functional-type(operands, $result)";
}

def Graph_ReduceOp : Graph_PureOp<"reduce"> {
  let summary = "reduction along axes, which go away or become 1";
  let description = [{
    argmax and argmin take one axis and give i32. Sums of narrow floats accumulate in f32. In `parts` of n, one axis of
    extent N is reduced in parts of n elements, and has ceildiv(N, n) of them; the order of their sum is that of another
    reduction. Positions in parts are those along the whole axis.
  }];
  let arguments = (ins Graph_ReduceKind:$kind, Graph_TensorType:$input, DenseI64ArrayAttr:$axes, UnitAttr:$keep_dims,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$parts);
  let assemblyFormat = "$kind $input `axes` $axes (`parts` $parts^)? attr-dict `:` functional-type($input, $result)";
}

def Graph_SoftmaxOp : Graph_AxisOp<"softmax"> {
  let summary = "exp(x - max) / sum(exp(x - max)) along an axis, or its logarithm";
  let description = [{ Narrow floats compute in f32 and round once. }];
  let arguments = (ins Graph_TensorType:$input, ConfinedAttr<I64Attr, [IntNonNegative]>:$axis, UnitAttr:$log);
}

def Graph_LayerNormOp : Graph_PureOp<"layer_norm", [AttrSizedOperandSegments]> {
  let summary = "(x - mean) * rsqrt(var + eps) * gamma + beta along an axis";
  let description = [{ gamma and beta have the extent of the axis. Narrow floats compute in f32 and round once. }];
  let arguments = (ins Graph_TensorType:$input, Optional<Graph_TensorType>:$gamma, Optional<Graph_TensorType>:$beta,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$axis, F64Attr:$eps);
  let assemblyFormat = "$input (`gamma` $gamma^)? (`beta` $beta^)? `axis` $axis `eps` $eps attr-dict `:` functional-type(operands, $result)";
}

def Graph_RmsNormOp : Graph_PureOp<"rms_norm"> {
  let summary = "x * rsqrt(mean(x^2) + eps) * gamma along an axis";
  let arguments = (ins Graph_TensorType:$input, Optional<Graph_TensorType>:$gamma,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$axis, F64Attr:$eps);
  let assemblyFormat = "$input (`gamma` $gamma^)? `axis` $axis `eps` $eps attr-dict `:` functional-type(operands, $result)";
}

def Graph_TransposeOp : Graph_PureOp<"transpose"> {
  let summary = "axis i of the result is axis perm[i] of the input";
  let arguments = (ins Graph_TensorType:$input, DenseI64ArrayAttr:$perm);
  let assemblyFormat = "$input `perm` $perm attr-dict `:` functional-type($input, $result)";
}

def Graph_ReshapeOp : Graph_PureOp<"reshape"> {
  let summary = "the same elements, row-major, under other dims; costs nothing";
  let arguments = (ins Graph_TensorType:$input);
  let assemblyFormat = "$input attr-dict `:` functional-type($input, $result)";
}

def Graph_SliceOp : Graph_PureOp<"slice"> {
  let summary = "a box of a tensor, of the result's dims, from `starts` on";
  let description = [{
    A start is an expression of dims. With `steps`, element i along an axis is the tensor's at start + i * step; a step of 0
    repeats one element. The box is inside the tensor.
  }];
  let hasFolder = 1;
  let arguments = (ins Graph_TensorType:$input, Tile_IndexExprArray:$starts, OptionalAttr<DenseI64ArrayAttr>:$steps);
  let assemblyFormat = "$input `starts` custom<IndexExprs>($starts) (`steps` $steps^)? attr-dict `:` functional-type($input, $result)";
}

def Graph_ConcatOp : Graph_PureOp<"concat"> {
  let summary = "joins tensors along an axis";
  let arguments = (ins Variadic<Graph_TensorType>:$inputs, ConfinedAttr<I64Attr, [IntNonNegative]>:$axis);
  let assemblyFormat = "$inputs `axis` $axis attr-dict `:` functional-type($inputs, $result)";
}

def Graph_PadOp : Graph_PureOp<"pad"> {
  let summary = "a tensor inside a larger one, which has one value elsewhere";
  let description = [{ Along each axis the tensor begins after `low` elements, an expression of dims, and ends inside the result. }];
  let arguments = (ins Graph_TensorType:$input, AnyTypeOf<[AnyFloat, AnyInteger]>:$value, Tile_IndexExprArray:$low);
  let assemblyFormat = "$input `,` $value `low` custom<IndexExprs>($low) attr-dict `:` functional-type(operands, $result)";
}

def Graph_GatherOp : Graph_PureOp<"gather"> {
  let summary = "elements of a table whose positions along some axes are computed";
  let description = [{
    ```mlir
    %y = graph.gather %x[%i] along [0, -1, 1] : (!graph.tensor<["B", "V", "D"], f32>, !graph.tensor<["B", 1], i32>) -> !graph.tensor<["B", "D"], f32>
    ```
    `along` has, for each axis of the table, the axis of the result whose position it shares, or -1 for an axis that an
    index selects. The indices, in the order of these axes, are i32 or i64 and broadcast to the result's dims as in
    NumPy. An element whose position is outside the table is 0.
  }];
  let arguments = (ins Graph_TensorType:$table, Variadic<Graph_TensorType>:$indices, DenseI64ArrayAttr:$along);
  let assemblyFormat = "$table `[` $indices `]` `along` $along attr-dict `:` functional-type(operands, $result)";
}

def Graph_ScanOp : Graph_PureOp<"scan"> {
  let summary = "inclusive scan along an axis, in order";
  let description = [{
    In `parts` of n a program scans n elements. `after` has, for each part, the scan of the axis up to its end, as
    `graph.scan` of `graph.reduce` in such parts gives it: part i goes on from its element i - 1. The result is that of one scan
    where the order does not matter.
  }];
  let arguments = (ins Graph_ScanKind:$kind, Graph_TensorType:$input, Optional<Graph_TensorType>:$after,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$axis, OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$parts);
  let assemblyFormat = "$kind $input `axis` $axis (`parts` $parts^ `after` $after)? attr-dict `:` functional-type(operands, $result)";
  let extraClassDeclaration = [{
    /// Has the scan the same result in any order? Of integers, and of extremes.
    bool isExact();
  }];
}

def Graph_AttentionOp : Graph_PureOp<"attention", [AttrSizedOperandSegments]> {
  let summary = "softmax(q k^T * scale) v, streamed";
  let description = [{
    q is [..., Hq, Sq, D], k and v [..., Hk, Sk, D] with Hk a divisor of Hq (query head h reads head h / (Hq / Hk)); of
    rank 2 there are no heads. `causal` shows key j to query i where j <= i + Sk - Sq; a query that sees no key gives
    zeros. Without `scale` it is 1 / sqrt(D). `softcap` c makes a score s c * tanh(s / c). Then `bias`, of floats, is
    added, and `mask`, of bool, hides keys where it is false; both broadcast to [..., Hq, Sq, Sk]. Scores and sums are
    f32 (f64 of f64); probabilities are rounded to the operands' dtype before the second product.
  }];
  let arguments = (ins Graph_TensorType:$q, Graph_TensorType:$k, Graph_TensorType:$v, Optional<Graph_TensorType>:$bias,
                       Optional<Graph_TensorType>:$mask, OptionalAttr<F64Attr>:$scale, OptionalAttr<F64Attr>:$softcap,
                       UnitAttr:$causal);
  let assemblyFormat = [{
    $q `,` $k `,` $v (`bias` $bias^)? (`mask` $mask^)? (`scale` $scale^)? (`softcap` $softcap^)? attr-dict `:`
    functional-type(operands, $result)
  }];
}

#endif
