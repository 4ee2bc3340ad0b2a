// Kernel metadata: the YAML document that accompanies every compiled kernel. The compiler's last phase writes
// it. The runtime reads it and derives launch geometry and argument checks from it.
//
//   name: gemm
//   target: cpu
//   numerics: standard
//   permits: [contraction, unordered_atomics]   # what the profile permits; optional for a built-in profile
//   params:                       # decision D15 order: tensors, result tensors, scalars, then dims
//     # strides are in elements; without them a tensor is contiguous. A function's tensors have none.
//     - {name: A, kind: tensor, dtype: bf16, dims: [M, K], access: read}       # read | write | readwrite
//     - {name: B, kind: tensor, dtype: bf16, dims: [K, N], strides: [ldb, 1], access: read}
//     - {name: result, kind: result, dtype: f32, dims: [M, N], access: write}
//     - {name: alpha, kind: scalar, dtype: f32, default: 1.0}
//     - {name: M, kind: dim}
//     - {name: ldb, kind: dim}  # in order of first appearance, a tensor's dims before its strides
//   tile: {BLOCK_M: 64, BLOCK_N: 64, stages: 1}            # tunables and the schedule's choices
//   specialized: {D: 64}          # dims this image was compiled for; others are free
//   variants:                     # other bodies: the first whose conditions all hold runs instead; optional.
//     - {entry: gemm.v0, when: ["N == 1000", "K % 4 == 0"]}    # A kernel lists them in launch, see there.
//   products:                     # of matrices, in order, each place in the source once; absent without any
//     - {instruction: wgmma.m64n256k16, in: bf16, acc: f32, at: "gemm.py:14"}   # a row of docs/layouts.md
//     - {instruction: fma.m6n64k1, in: f32, acc: f32}     # multiply-adds in blocks of 6 x 64 sums
//   resources: {smem_per_cta: 8192, scratch_bytes: 65536, vector_bytes: 64}
//   launch:
//     checks:                     # conditions on dims and scalars, as a plan's; absent if there are none
//       - {value: "-(K % 4)", says: "K % 4 == 0"}
//     axes: [ceildiv(M, 64), ceildiv(N, 64)]   # programs per grid axis, outermost first, of dims and scalars
//     block: [1, 1, 1]
//     cluster: [1, 1, 1]          # programs of a cluster; absent without clusters
//     lanes_per_program: 1
//     may_wait: false             # no loop runs until another thread writes to memory; true if absent
//     forced_body: "product.row, which computes one row"
//                                 # of a product, that Schedule IR names; absent without it
//     shares_operands: true       # a call packs what consecutive programs read: few long ranges
//                                 # of programs are faster than many short ones; false if absent
//     persistent: true            # at most as many blocks as a device runs at once, each of
//                                 # several programs; absent: a block for each program
//     tensor_maps:                # parameters after all others: boxes of tensors that are copied into shared
//                                 # memory, swizzled in rows of so many bytes; absent if there are none
//       - {param: A, box: [128, 64], swizzle: 128}
//     variants:                   # the bodies of this kernel; absent if it has one
//       - {name: row, entry: gemm.row, when: ["M == 1", "aligned(A, 16)"], body: product.row, order: chain,
//          cost: "2 * N * K // fma_f32", params: {rows: 4}}
//       - {name: tile, body: tile, order: chain}   # the last has no conditions; without entry: this kernel
//   reports:                      # of print and assert_, in the order of their numbers; absent without them
//     - {kind: print, of: program, at: "gemm.py:14", text: "acc {}", values: ["f32[8, 4]"]}
//   epilogue: []                  # what a graph function's product applies before it stores: [add, gelu]
//   fallbacks: []                 # one line each (D4)
//
// A variant is another entry of the module with the same parameters, plus i64 scalars: the parameters of its
// body, within `limits: [least, most]`. `params` gives them values. Conditions are those of
// core/metadata/Guard.h; `{zero: ["mod(K, 8)"], aligned: {A: 16}}` is another form of
// ["mod(K, 8) == 0", "aligned(A, 16)"]. core/metadata/Variants.h describes the choice, which is made once
// for each set of dims. If no variant applies, the entry itself runs. `pinned: true`: a mapper or the text
// chose this variant. A variant has no variants and no reports.
//
// A graph function's document has `plan` (core/metadata/HostPlan.h) in place of a kernel's `launch`. Its
// tile, products, resources, launch and epilogue are absent or empty. It may have decisions, one for each
// step whose implementation was chosen rather than left at its default:
//
//   decisions:
//     - {op: matmul, step: 0, choice: blas, from: [tile, blas], by: my_mapper, predicted_ns: 1500}
//
// Expressions are those of core/metadata/IndexExpr.h over dims and integer scalars. Where several names
// match, the longest one is used: a product dim is one name ("B*H").
//
// Static library tessera-metadata. All functions may be called from any thread; the objects are values.
#pragma once
#include "core/metadata/HostPlan.h"
#include "core/metadata/IndexExpr.h"
#include "numerics/Casts.h"
#include "numerics/NumericsProfile.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera {

constexpr size_t kMaxStrided = 8; // dims of a tensor with strides

struct MetadataParam {
  enum class Kind : uint8_t { Tensor, Result, Scalar, Dim };
  std::string name;
  Kind kind = Kind::Tensor;
  DType dtype = DType::I64;
  std::vector<std::string> dims;    // symbols, numbers and expressions of symbols ("2*K + 1")
  std::vector<std::string> strides; // in elements, one per dim, as dims; empty: contiguous
  bool reads = false, writes = false;
  std::optional<Number> defaultValue = {};
  std::optional<std::pair<int64_t, int64_t>> limits = {}; // of an i64 scalar, both included
};

/// A statement print or assert_ of a kernel that was compiled with reports (core/metadata/Reports.h).
struct MetadataReport {
  struct Value {
    DType dtype = DType::F32;
    std::vector<int64_t> shape; // empty: a scalar
  };
  bool isAssert = false;
  bool isOfLane = false; // its records have the number of a lane, not of a program
  std::string place;     // "gemm.py:14"
  std::string text;      // the format
  std::vector<Value> values;
};

/// A body, and the launches that it runs in. A function's has only an entry and conditions.
struct MetadataVariant {
  std::string entry; // "mlp.v0", an entry of the same module; "": the kernel itself
  std::vector<std::string> when;
  std::string name = {}; // "row"
  std::string body = {}; // "product.row"
  std::string order = {},
              cost = {}; // core/metadata/OrderClass.h, an expression in nanoseconds; "": not given
  std::vector<std::pair<std::string, std::string>> params = {}; // of the body: expressions
  bool isPinned = false;
};

/// A product of matrices in the kernel, and how the schedule computes it.
struct MetadataProduct {
  std::string instruction; // "wgmma.m64n256k16", or "fma.m6n64k1" without a matrix instruction
  DType in = DType::F32, acc = DType::F32; // of the factors as they are multiplied, and of the sums
  std::string at = {};                     // "gemm.py:14"; "": unknown

  /// Is it multiplied in the tile registers of AMX (tdpbssd, tdpbuud, tdpbf16ps)?
  bool usesTileRegisters() const { return instruction.starts_with("tdp"); }

  bool operator==(const MetadataProduct &) const = default;
};

/// A tensor of which the kernel copies boxes (tsr_be_tensor_map_t). Its extents and strides are dims or
/// numbers.
struct MetadataTensorMap {
  std::string param;
  std::vector<int64_t> box; // by axis of the tensor
  int64_t swizzle = 0;      // bytes: 32, 64 or 128
};

/// The implementation chosen for one step of a function's plan, and the legal ones.
struct MetadataDecision {
  std::string op; // "matmul"
  int64_t step = 0;
  std::string choice;
  std::vector<std::string> legal; // the legal variants; empty: the choice was written into the IR by hand
  std::string by;                 // the mapper, or "ir"
  double predictedNs = -1;        // -1: not given
};

struct KernelMetadata {
  std::string name, target, numerics;
  std::optional<NumericsPermissions> permits; // of the profile; absent: it is built in
  std::vector<MetadataParam> params;
  std::vector<std::pair<std::string, int64_t>> tile, specialized;
  std::vector<MetadataVariant> variants; // in the order in which a launch tries them
  std::vector<MetadataProduct> products;
  int64_t sharedBytes = 0, scratchBytes = 0, vectorBytes = 0;
  int64_t dynamicSharedBytes = 0; // the part of sharedBytes that a GPU launch must request
  int64_t workspaceBytes =
      0; // global memory per thread block of a GPU launch; its pointer is the last argument
  std::vector<std::string> axes; // expressions
  std::vector<PlanCheck> checks; // only for a kernel; a function's are in its plan
  int64_t block[3] = {1, 1, 1}, cluster[3] = {1, 1, 1};
  int64_t lanesPerProgram = 1;
  std::vector<MetadataTensorMap> tensorMaps;
  bool mayWait = true;         // false: known not to run until another thread writes to memory
  bool sharesOperands = false; // consecutive programs of one call read the same packed operands
  std::string forcedBody; // of a product, that Schedule IR names, and what it computes; "": the product's own
  bool isPersistent = false;           // a thread block runs programs until there are no more
  std::vector<MetadataReport> reports; // if there are any, the memory they go to is the first launch value
  std::vector<std::string> epilogue, fallbacks;
  std::vector<MetadataDecision> decisions; // only for a function; in the order of its steps
  std::optional<HostPlan> plan;            // only for a function

  bool hasReports() const { return !reports.empty(); }
  std::string toYaml() const;
  /// Parses and validates a document (unknown keys, kinds, dtypes, expression syntax, D15 order). On failure
  /// returns false and fills `why` with line and key. Throws only std::bad_alloc.
  [[nodiscard]] static bool fromYaml(std::string_view text, KernelMetadata &out, std::string &why);
};

} // namespace tessera
