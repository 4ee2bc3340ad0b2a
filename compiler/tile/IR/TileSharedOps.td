// Shared memory of one program: buffers, asynchronous copies, barriers.
#ifndef TESSERA_TILE_SHARED_OPS
#define TESSERA_TILE_SHARED_OPS
include "compiler/tile/IR/TileBase.td"

def Tile_AllocSharedOp : Tile_Op<"alloc_shared"> {
  let summary = "a shared buffer, alive until the program ends";
  let description = [{ `offset` (bytes from the start of the program's shared memory) comes from the memory planner. }];
  let arguments = (ins DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "16">:$align, OptionalAttr<I64Attr>:$offset);
  let results = (outs Res<Tile_BufferType, "", [MemAlloc<Tile_SharedMemory>]>:$result);
  let assemblyFormat = "attr-dict `:` qualified(type($result))";
  let hasVerifier = 1;
}

def Tile_SlotOp : Tile_PureOp<"slot"> {
  let summary = "one of the buffers of a ring";
  let description = [{
    ```mlir
    %ring = tile.alloc_shared : !tile.buffer<3x64x32xbf16, xor>
    %b = tile.slot %ring[%i] : !tile.buffer<3x64x32xbf16, xor> -> !tile.buffer<64x32xbf16, xor>
    ```
    The first axis of a ring counts its buffers. `i` is one of them. `tile-pipeline-loops` makes rings, so that a loop
    copies into some of the buffers while it reads another one.
  }];
  let arguments = (ins Tile_BufferType:$ring, Index:$index);
  let results = (outs Tile_BufferType:$result);
  let assemblyFormat = "$ring `[` $index `]` attr-dict `:` qualified(type($ring)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def Tile_BufferReadOp : Tile_Op<"buffer_read", [MemoryEffects<[MemRead<Tile_SharedMemory>]>]> {
  let summary = "reads a shared buffer, whole or a part";
  let description = [{
    ```mlir
    %t = tile.buffer_read %b : !tile.buffer<64x32xf32, none> -> tensor<64x32xf32>
    %r = tile.buffer_read %b[%i, %j] extents [-1, 16] : !tile.buffer<64x32xf32, none> -> tensor<16xf32>
    ```
    A part follows the rules of `tile.load`.
  }];
  let arguments = (ins Tile_BufferType:$buffer, Variadic<Index>:$starts, OptionalAttr<DenseI64ArrayAttr>:$extents);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$buffer (`[` $starts^ `]` `extents` $extents)? attr-dict `:` qualified(type($buffer)) `->` type($result)";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$buffer), [{
    build($_builder, $_state, result, buffer, ::mlir::ValueRange(), ::mlir::DenseI64ArrayAttr());
  }]>];
}

def Tile_BufferWriteOp : Tile_Op<"buffer_write", [MemoryEffects<[MemWrite<Tile_SharedMemory>]>]> {
  let summary = "writes a shared buffer, whole or a part";
  let arguments = (ins Tile_Tile:$value, Tile_BufferType:$buffer, Variadic<Index>:$starts,
                       OptionalAttr<DenseI64ArrayAttr>:$extents);
  let assemblyFormat = [{
    $value `,` $buffer (`[` $starts^ `]` `extents` $extents)? attr-dict `:` type($value) `,` qualified(type($buffer))
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$value, "::mlir::Value":$buffer), [{
    build($_builder, $_state, value, buffer, ::mlir::ValueRange(), ::mlir::DenseI64ArrayAttr());
  }]>];
}

def Tile_CpAsyncOp : Tile_Op<"cp_async", [
    MemoryEffects<[MemRead<Tile_GlobalMemory>, MemWrite<Tile_SharedMemory>]>]> {
  let summary = "starts the copy of a tile into a whole shared buffer";
  let description = [{
    ```mlir
    tile.cp_async %A[%i, %j] extents [64, 32] to %b : !tile.view<?x?xf32>, !tile.buffer<64x32xf32, xor>
    ```
    The copy is complete after the `tile.wait_group` or `tile.barrier` that waits for it.
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Index>:$starts, DenseI64ArrayAttr:$extents, Tile_BufferType:$buffer,
                       UnitAttr:$in_bounds);
  let assemblyFormat = [{
    $view `[` $starts `]` `extents` $extents `to` $buffer attr-dict `:` qualified(type($view)) `,` qualified(type($buffer))
  }];
  let hasVerifier = 1;
}

class Tile_SyncOp<string mnemonic> : Tile_Op<mnemonic, [MemoryEffects<[
    MemRead<Tile_SharedMemory>, MemWrite<Tile_SharedMemory>, MemRead<Tile_GlobalMemory>, MemWrite<Tile_GlobalMemory>]>]>;

// Copies of boxes of a tensor by an engine of the device (TMA). A buffer of words counts arrivals: word i has phases,
// each of which ends when as many arrivals as it was prepared for, and the bytes that were expected, are there.
def Tile_InitArrivalsOp : Tile_SyncOp<"init_arrivals"> {
  let summary = "prepares words that count arrivals; their first phase begins";
  let description = [{
    ```mlir
    %full = tile.alloc_shared {align = 8 : i64} : !tile.buffer<4xi64, none>
    %free = tile.alloc_shared {align = 8 : i64} : !tile.buffer<4xi64, none>
    tile.init_arrivals %full, %free counts [1, 8] : !tile.buffer<4xi64, none>, !tile.buffer<4xi64, none>
    ```
    A phase of a word of `%free` has 8 arrivals. It is a barrier, of the cluster where the kernel has one: every thread may
    use the words after it.
  }];
  let arguments = (ins Variadic<Tile_BufferType>:$arrivals, DenseI64ArrayAttr:$counts);
  let assemblyFormat = "$arrivals `counts` $counts attr-dict `:` qualified(type($arrivals))";
  let hasVerifier = 1;
}

def Tile_ArriveOp : Tile_SyncOp<"arrive"> {
  let summary = "each warp arrives once in a word, after what its threads have done before";
  let description = [{ With `in_cluster` once in that word of each program of the kernel's cluster. }];
  let arguments = (ins Tile_BufferType:$arrivals, Index:$index, UnitAttr:$in_cluster);
  let assemblyFormat = "$arrivals `[` $index `]` attr-dict `:` qualified(type($arrivals))";
  let hasVerifier = 1;
}

def Tile_RolesOp : Tile_Op<"roles", [
    NoTerminator, SingleBlock, NoRegionArguments, RecursiveMemoryEffects, HasParent<"KernelOp">]> {
  let summary = "some warps of a block start copies while the others compute";
  let description = [{
    ```mlir
    tile.roles copy 4 warps 40 registers {
      scf.for ... { tile.await_bytes %free[%i] ...  tile.expect_bytes ...  tile.copy_box ... }
    } math 232 registers {
      scf.for ... { tile.await_bytes %full[%i] ...  tile.mma ...  tile.arrive %free[%j] }
    }
    ```
    It ends the kernel. The kernel's `threads` compute; `copy` warps are there beside them, and one thread of them
    executes their part. The roles meet in words that count arrivals alone: barriers are those of the threads that
    compute.

    ```mlir
    tile.roles copy 1 warps 0 registers { ... } multiply 1 warps {
      tile.await_bytes %unused[%s] ...
      %r = scf.for ... { tile.await_bytes %full[%i] ...  tile.mma ...  tile.commit_products %free[%i] }
      tile.commit_products %done[%s] passes %r
    } math 0 registers {
      tile.await_bytes %done[%s] ...  tile.take_sums[%s] ...  tile.arrive %unused[%s]  tile.store ...
    }
    ```
    With sums in tensor memory one thread of the `multiply` warps starts the products. 0 registers: each thread keeps those
    that it begins with.
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntPositive]>:$copy_warps,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$copy_registers,
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntNonNegative]>, "0">:$multiply_warps,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$math_registers);
  let regions = (region SizedRegion<1>:$copy, AnyRegion:$multiply, SizedRegion<1>:$math);
  let assemblyFormat = [{
    `copy` $copy_warps `warps` $copy_registers `registers` $copy
    (`multiply` $multiply_warps^ `warps` $multiply)? `math` $math_registers `registers` $math attr-dict
  }];
  let hasVerifier = 1;
}

def Tile_AwaitTurnOp : Tile_SyncOp<"await_turn"> {
  let summary = "each group of four warps waits for its turn";
  let description = [{
    ```mlir
    tile.roles copy ... math 232 registers {
      tile.await_turn
      scf.for ... { tile.mma ...  tile.pass_turn  ...  tile.await_turn  tile.mma ... }
      tile.pass_turn
    }
    ```
    In the part of `tile.roles` that computes. The first group has the turn when the part begins, each passes it to the
    next one, and the last one to the first, which waits for it when the part ends. All threads that compute execute
    `tile.await_turn` and `tile.pass_turn` in turn, equally often, and no barrier between one and the other.
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Tile_PassTurnOp : Tile_SyncOp<"pass_turn"> {
  let summary = "each group of four warps passes the turn to the next one";
  let description = [{ After `tile.await_turn`. Products that were started may still run. }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Tile_CommitProductsOp : Tile_SyncOp<"commit_products"> {
  let summary = "the products that were started so far arrive in a word when they are done";
  let description = [{
    In the part of `tile.roles` that starts products. One that `passes` the sums of a loop gives them to the part that
    computes, in as many sets of tensor memory as there are words; the loop's products add to set `index`.
  }];
  let arguments = (ins Tile_BufferType:$arrivals, Index:$index, Optional<Tile_AnyTile>:$sums);
  let assemblyFormat = [{
    $arrivals `[` $index `]` (`passes` $sums^)? attr-dict `:` qualified(type($arrivals)) (`,` type($sums)^)?
  }];
  let hasVerifier = 1;
}

def Tile_TakeSumsOp : Tile_Op<"take_sums", [AllTypesMatch<["init", "result"]>, MemoryEffects<[
    MemRead<Tile_SharedMemory>, MemWrite<Tile_SharedMemory>]>]> {
  let summary = "loads the sums that were passed in a set of tensor memory, and adds them to `init`";
  let description = [{
    In the part of `tile.roles` that computes, after the word of `tile.commit_products` was awaited. Without `any` products
    the result is `init`.
  }];
  let arguments = (ins Index:$set, I1:$any, Tile_AnyTile:$init);
  let results = (outs Tile_AnyTile:$result);
  let assemblyFormat = "`[` $set `]` `if` $any `from` $init attr-dict `:` type($init)";
  let hasVerifier = 1;
}

def Tile_ExpectBytesOp : Tile_SyncOp<"expect_bytes"> {
  let summary = "the current phase of a word ends when so many bytes have arrived";
  let arguments = (ins Tile_BufferType:$arrivals, Index:$index, ConfinedAttr<I64Attr, [IntPositive]>:$bytes);
  let assemblyFormat = "$bytes `in` $arrivals `[` $index `]` attr-dict `:` qualified(type($arrivals))";
  let hasVerifier = 1;
}

def Tile_CopyBoxOp : Tile_SyncOp<"copy_box"> {
  let summary = "starts the copy of a tile into a whole shared buffer, whose bytes arrive in a word";
  let description = [{
    ```mlir
    tile.expect_bytes 4096 in %full[%i] : !tile.buffer<4xi64, none>
    tile.copy_box %A[%m, %k] extents [64, 32] to %b arrives %full[%i]
        : !tile.view<?x?xbf16>, !tile.buffer<64x32xbf16, xor>, !tile.buffer<4xi64, none>
    ```
    Elements outside of the tensor become zeros. The tensor and its strides are at multiples of 16 bytes.

    With `multicast` all programs of the kernel's cluster copy the same tile: each copies its part of the rows, a multiple
    of 8, to the buffers of all of them, where they arrive in the same word.
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Index>:$starts, DenseI64ArrayAttr:$extents, Tile_BufferType:$buffer,
                       Tile_BufferType:$arrivals, Index:$index, UnitAttr:$multicast);
  let assemblyFormat = [{
    $view `[` $starts `]` `extents` $extents `to` $buffer `arrives` $arrivals `[` $index `]` attr-dict `:`
    qualified(type($view)) `,` qualified(type($buffer)) `,` qualified(type($arrivals))
  }];
  let hasVerifier = 1;
}

def Tile_StoreBoxOp : Tile_SyncOp<"store_box"> {
  let summary = "stores a tile in registers to a tensor in boxes, through a shared buffer";
  let description = [{
    ```mlir
    tile.store_box %t, %C[%m, %n] extents [128, 256] through %s
        : tensor<128x256xbf16, #c>, !tile.view<?x?xbf16>, !tile.buffer<2x128x64xbf16, none>
    ```
    Each warp writes a box of its elements to its part of the buffer, from where the engine stores it while the warp goes
    on. The buffer has room for one or several boxes of each warp, which are used in turn; their rows are swizzled
    (layout::boxStore). A warp waits until the box before has been read where it writes a part again, and at the end of the
    kernel. Elements outside of the tensor are not stored. The tensor and its strides are at multiples of 16 bytes. Other
    threads see the elements after the kernel has ended.
  }];
  let arguments = (ins Tile_AnyTile:$value, Tile_ViewType:$view, Variadic<Index>:$starts, DenseI64ArrayAttr:$extents,
                       Tile_BufferType:$buffer);
  let assemblyFormat = [{
    $value `,` $view `[` $starts `]` `extents` $extents `through` $buffer attr-dict `:` type($value) `,`
    qualified(type($view)) `,` qualified(type($buffer))
  }];
  let hasVerifier = 1;
}

def Tile_AwaitBytesOp : Tile_SyncOp<"await_bytes"> {
  let summary = "waits until the phase of a word ends; `phase` is its number modulo 2";
  let arguments = (ins Tile_BufferType:$arrivals, Index:$index, Index:$phase);
  let assemblyFormat = "$arrivals `[` $index `]` `phase` $phase attr-dict `:` qualified(type($arrivals))";
  let hasVerifier = 1;
}

def Tile_CommitGroupOp : Tile_SyncOp<"commit_group"> {
  let summary = "closes the group of the copies started since the last commit";
  let assemblyFormat = "attr-dict";
}

def Tile_WaitGroupOp : Tile_SyncOp<"wait_group"> {
  let summary = "waits until at most so many committed groups are outstanding";
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$pending);
  let assemblyFormat = "$pending attr-dict";
}

def Tile_BarrierOp : Tile_SyncOp<"barrier"> {
  let summary = "completes outstanding copies, then waits for every lane of the program";
  let assemblyFormat = "attr-dict";
}

def Tile_FenceOp : Tile_SyncOp<"fence"> {
  let summary = "orders memory accesses as the scope observes them";
  let arguments = (ins Tile_MemoryOrder:$order, Tile_MemoryScope:$scope);
  let assemblyFormat = "$order $scope attr-dict";
  let hasVerifier = 1;
}

#endif
