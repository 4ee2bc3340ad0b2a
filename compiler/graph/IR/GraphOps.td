// The graph dialect: functions on whole tensors and the launches of tile programs.
#ifndef TESSERA_GRAPH_OPS
#define TESSERA_GRAPH_OPS
include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
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
  let useDefaultTypePrinterParser = 1;
}

class Graph_Op<string mnemonic, list<Trait> traits = []> : Op<Graph_Dialect, mnemonic, traits>;

def Graph_TensorType : TypeDef<Graph_Dialect, "Tensor"> {
  let mnemonic = "tensor";
  let summary = "a tensor with symbolic dims";
  let description = [{
    `!graph.tensor<["M", 64, "B*H"], bf16>`: a dim is an integer, a symbol or a product. Equal symbols have one value
    per call. u8 is `ui8`.
  }];
  let parameters = (ins "::mlir::ArrayAttr":$dims, "::mlir::Type":$elementType);
  let assemblyFormat = "`<` $dims `,` $elementType `>`";
  let genVerifyDecl = 1;
}

def Graph_FuncOp : Graph_Op<"func", [FunctionOpInterface, IsolatedFromAbove, SingleBlock]> {
  let summary = "a function on whole tensors";
  let description = [{
    ```mlir
    graph.func @saxpy.host(%x: !graph.tensor<["n"], f32>, %y: !graph.tensor<["n"], f32>, %alpha: f32)
        -> !graph.tensor<["n"], f32> attributes {numerics = "standard"} {
      %r = graph.launch @saxpy(%x, %y, %alpha) {effects = ["read", "readwrite", "none"]} : (...) -> ...
      graph.return %r : !graph.tensor<["n"], f32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       DefaultValuedStrAttr<StrAttr, "standard">:$numerics,
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
    `effects` has one entry per operand: "read", "write", "readwrite", or "none" for a scalar. The results are the
    new values of the operands that are written, in order, then those of the kernel's own result tensors.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyType>:$operands, StrArrayAttr:$effects);
  let results = (outs Variadic<Graph_TensorType>:$results);
  let assemblyFormat = "$kernel `(` $operands `)` attr-dict `:` functional-type($operands, $results)";
  let hasVerifier = 1;
}

#endif
