// The target dialect: what one image holds.
#ifndef TESSERA_TARGET_OPS
#define TESSERA_TARGET_OPS
include "mlir/IR/OpBase.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"

def Target_Dialect : Dialect {
  let name = "target";
  let cppNamespace = "::tessera::target";
  let summary = "Code of one image in a backend's flavour of the LLVM dialect, with its kernels' metadata";
}

class Target_Op<string mnemonic, list<Trait> traits = []> : Op<Target_Dialect, mnemonic, traits>;

def Target_ModuleOp : Target_Op<"module", [
    IsolatedFromAbove, NoRegionArguments, NoTerminator, SingleBlock, SymbolTable, Symbol]> {
  let summary = "the functions of one image";
  let description = [{
    ```mlir
    target.module @gemm attributes {triple = "x86_64-unknown-linux-gnu", cpu = "skylake-avx512", vector_bytes = 64 : i64} {
      llvm.func @gemm(...) { ... }
      target.kernel_info "gemm" entry @gemm metadata "name: gemm\n..."
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$triple, DefaultValuedStrAttr<StrAttr, "">:$cpu,
                       DefaultValuedStrAttr<StrAttr, "">:$features, OptionalAttr<I64Attr>:$vector_bytes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
}

def Target_KernelInfoOp : Target_Op<"kernel_info", [
    HasParent<"ModuleOp">, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "entry point and metadata (YAML) of one kernel";
  let arguments = (ins StrAttr:$kernel, FlatSymbolRefAttr:$entry, StrAttr:$metadata);
  let assemblyFormat = "$kernel `entry` $entry `metadata` $metadata attr-dict";
}

def Target_FunctionInfoOp : Target_Op<"function_info"> {
  let summary = "metadata (YAML) of a graph function: its parameters and its host plan";
  let arguments = (ins StrAttr:$function, StrAttr:$metadata);
  let assemblyFormat = "$function `metadata` $metadata attr-dict";
}

#endif
