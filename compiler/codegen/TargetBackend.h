// The interface between the compiler and its targets: the numbers that target-independent passes depend on,
// the passes of phase 7, and how machine code becomes an image. Each plugins/NAME/codegen defines `const
// codegen::TargetBackend &tessera::NAME::targetBackend()`; CMake generates the list of them
// (TargetBackends.cpp).
#pragma once
#include "compiler/schedule/IR/ScheduleDialect.h"
#include "core/bundle/Bundle.h"
#include "core/support/Expected.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "numerics/DType.h"
#include "numerics/NumericsProfile.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <memory>
#include <optional>
#include <string>
#include <tessera/gpu_architecture.hpp>
#include <vector>

namespace mlir {
class DialectRegistry;
}

namespace tessera::codegen {

class TargetBackend;
class LlvmLowering;

/// A machine as LLVM names it, and the vector registers that programs are sized for.
struct LlvmMachine {
  std::string triple, cpu, features;
  int64_t vectorBytes = 16, vectorRegisters = 16;
  bool operator==(const LlvmMachine &) const = default;
};

/// What the passes before phase 7 need to know about a target.
struct Capabilities {
  // that share the tiles of one program; 0: one thread, which uses vectors
  int64_t threads = 0;
  int64_t vectorBytes = 0;                  // of a vector register; used if threads == 0
  int64_t vectorRegisters = 0;              // of that width
  std::optional<int64_t> lanesPerProgram{}; // iterations of a lane loop in one program; absent: the default
  // axes of elementwise groups become one where strides allow it, adjacent axes are reduced as one, in parts
  bool collapsesAxes = false;
  int64_t partElements = 65536; // of such a part: some microseconds of work
  bool fixesReductions = false; // implements the orders of profiles with fixed_reductions
  bool prefetches = false;      // `prefetch` becomes an instruction
  // Loops are pipelined: their copies into shared memory run ahead. So many steps are in shared memory by
  // default, as far as it has room.
  bool pipelines = false;
  int64_t stages = 1;
  bool copiesBoxes = false;    // an engine of the device copies boxes of tensors into shared memory
  bool readsBlocks = false;    // factors of products get from tensors to registers by 2D block reads
  int64_t units = 0;           // of a device, which run programs at the same time; 0: unknown
  int64_t chiplets = 1;        // of a device, on which consecutive programs start in turn
  int64_t registers = 0;       // of a unit, if warps may have roles and divide them
  bool approximates = false;   // instructions approximate functions and 1 / x of f32
  int64_t sharedBytes = 0;     // of shared memory that a program may have
  bool swizzles = false;       // shared buffers may be stored in another order than row-major
  bool callsLibraries = false; // a matrix product may be a call of a host library (BLAS)
  // Dtypes below 32 bits that matrix products multiply as they are. Other narrow operands are widened to one
  // of these, or to f32 or i32.
  std::vector<DType> narrowProducts{};
  bool pairsOfBf16 = false; // strided products multiply words of two rows (tile.pair_rows)
  // Matrix instructions, preferred first, and the warps that share a program.
  std::vector<MatrixProduct> matrixInstructions{};
  std::string_view unusedInstructions{}; // faster ones that it has and no product uses
  int64_t warps = 0, mostWarps = 0, warpSize = 0;
  bool shuffles =
      false; // lanes of a warp exchange values, by which reductions of tiles in registers are done
  // Dtypes of whole products that the target computes by a body of its own (tile-extract-product).
  std::vector<DType> products{};
  // Of these, the ones that are multiplied in tile registers of the CPU, and by which instruction.
  std::vector<std::pair<DType, std::string_view>> tileProducts{};
};

/// The fusion group that needs a tile. Extents are absent if they are known only at launch.
struct TileRequest {
  schedule::GroupKind kind;
  int64_t rank;                         // of the group's iteration space
  std::optional<int64_t> rows, columns; // its last two axes; an axis that does not exist has extent 1
  bool reducesOuterAxis = false;        // a reduction along another axis than the last
  std::optional<int64_t> reduced = {};  // extent of that axis
  std::optional<int64_t> part = {};     // elements of a reduced axis that one program reduces
  bool transposes = false;              // reads a tensor in another order than it writes
  std::optional<DType> product = {};    // of a product's operands
  std::optional<int64_t> elements = {}; // of the iteration space
  bool finds = false;                   // a reduction that finds positions only
  bool scansExactly = false;            // a scan whose result does not depend on the order
  bool readsNarrow = false;             // reads elements of fewer than 32 bits
  bool readsAgain = false;              // reads the elements of a row again after it has been reduced
  bool readsRows = false;               // a map or join that reads rows from one element to the next
};

/// The fusion group that may have variants. Proposals name its extents: M, N, K and B (the product of the
/// batch axes) of a product; rows, columns and, of a reduction or scan, reduced of other groups. Absent
/// extents are known only at launch; those in `hints` only are likely.
struct VariantRequest {
  schedule::GroupOp group; // has a tile
  NumericsPermissions permits;
  std::vector<std::pair<std::string, std::optional<int64_t>>> extents; // constants, or likely values
  bool reducesOuterAxis = false; // reduces or scans along another axis than the last; rows are then that axis
  bool finds = false;            // a reduction that finds positions only
  bool readsNarrow = false;      // reads elements of fewer than 32 bits
  bool readsAgain = false;       // reads the elements of a row again after it has been reduced
  bool isForCall = false;        // the extents are those of the one call that is compiled for
  std::optional<int64_t> extent(llvm::StringRef name) const {
    for (const auto &[known, value] : extents)
      if (known == name) return value;
    return std::nullopt;
  }
};

/// A proposed variant, as text: see #schedule.variant. `when` and the values of `params` use the names of a
/// VariantRequest, machine constants and tensors (in0, out0). A condition that is known to hold is left out.
struct VariantProposal {
  std::string name, when, body, order, cost;
  std::vector<std::pair<std::string, std::string>> params;
};

/// Machine code of one compilation, before it is linked with that of others.
struct CodeUnit {
  std::vector<std::string> objects; // returned by Target::emitObjects
  std::vector<BundleEntry> entries;
};

/// One target that kernels are compiled for: "cpu:skylake-avx512". Immutable, may be used by any number of
/// threads at once, and lives for the lifetime of the process.
class Target {
public:
  virtual ~Target() = default;

  virtual const TargetBackend &backend() const = 0;
  /// As the user wrote it, without aliases; kernel metadata has this name ("cpu", "cpu:x86-64-v3").
  virtual std::string name() const = 0;
  /// The name in images. It differs from name() if the user left something to be detected: "cpu:znver3" for
  /// "cpu".
  virtual std::string imageName() const { return name(); }
  virtual const Capabilities &capabilities() const = 0;

  /// Proposes tile extents for a fusion group, in the order of its kind (ScheduleOps.td). A user, a mapper or
  /// a tuner may change them in the IR; correctness never depends on them.
  virtual llvm::SmallVector<int64_t> proposeTile(const TileRequest &) const = 0;

  /// Proposes the variants of a group's kernel, the last without condition; none: the group has one body, the
  /// tile program.
  virtual std::vector<VariantProposal> proposeVariants(const VariantRequest &) const { return {}; }
  /// Emits the kernel `name` of a variant whose body is not "tile": a schedule.kernel in front of the group's
  /// function, with the parameters of the group's kernel in the order of decision D15, and in front of the
  /// dims an i64 scalar with `limits` (compiler/tile/IR/KernelVariants.h) for each parameter of the body. The
  /// last variant has no such scalars: its kernel computes the values. `dims` receives the kernel's dims.
  virtual mlir::LogicalResult buildBody(schedule::GroupOp group, schedule::VariantAttr variant,
                                        llvm::StringRef name,
                                        llvm::SmallVectorImpl<mlir::Attribute> &dims) const;

  /// Phase 7: adds the passes that lower a module of tile.kernel operations to one target.module in the LLVM
  /// dialect.
  virtual void addLoweringPasses(mlir::OpPassManager &) const = 0;

  /// Returns assembly text, for people, of functions and globals in the LLVM dialect.
  virtual Expected<std::string> emitAssembly(mlir::ModuleOp) const = 0;
  /// Compiles them to machine code in one or several files that belong together. Consumes the module.
  virtual Expected<std::vector<std::string>> emitObjects(mlir::OwningOpRef<mlir::ModuleOp>) const = 0;
  /// Links the files of one emitObjects call into one.
  virtual Expected<std::string> joinObjects(std::vector<std::string> objects) const = 0;
  /// Returns the images of a bundle for `units`: one for all of them, or one for each.
  virtual Expected<std::vector<BundleImage>> makeImages(std::vector<CodeUnit> units) const = 0;
};

/// A family of targets with one code generator. There is one constant object per family.
class TargetBackend {
public:
  virtual ~TargetBackend() = default;
  /// "cpu": the part of a target's name before the colon, and the name of the runtime backend that runs its
  /// images.
  virtual llvm::StringRef name() const = 0;
  virtual llvm::ArrayRef<llvm::StringRef> aliases() const { return {}; }
  /// Target names to offer to a user: all of them, or the common ones if there are very many.
  virtual std::vector<std::string> targetNames() const = 0;
  /// The forms a user may write, for messages: "KIND:A, KIND:B".
  virtual std::string targets() const;
  /// Returns the target `architecture` (the text after the colon; empty: the user wrote no colon).
  virtual Expected<std::unique_ptr<const Target>> parse(llvm::StringRef architecture) const = 0;
  /// Registers its passes by name, for tools that read pipelines.
  virtual void registerPasses() const = 0;
  /// Registers the dialects that its passes create operations of, with their translation to LLVM IR.
  virtual void registerDialects(mlir::DialectRegistry &) const {}
  /// Returns a lowering to LLVM IR for a machine that this backend makes no images for; `name` is the
  /// target's name in kernel metadata. Null if this backend has none.
  virtual Expected<std::unique_ptr<const LlvmLowering>> lowerFor(std::string /*name*/,
                                                                 const LlvmMachine &) const {
    return std::unique_ptr<const LlvmLowering>();
  }
};

/// A lowering to LLVM IR in which a kernel is a function that one thread runs (plugin.h, Codegen, has its
/// type), for targets whose images a plugin makes. Immutable; may be used by any number of threads at once.
class LlvmLowering {
public:
  virtual ~LlvmLowering() = default;
  virtual llvm::SmallVector<int64_t> proposeTile(const TileRequest &) const = 0;
  virtual void addLoweringPasses(mlir::OpPassManager &) const = 0;
  /// Returns the text of functions and globals in the LLVM dialect, verified and optimised for the machine.
  virtual Expected<std::string> emitIr(mlir::ModuleOp) const = 0;
};

/// Every backend this compiler was built with, cpu first.
llvm::ArrayRef<const TargetBackend *> targetBackends();

/// Returns the target called `text` ("cpu", "cpu:x86-64-v3", "ALIAS:ARCHITECTURE"). The error
/// (E_TARGET_UNKNOWN) lists what exists. A name that no backend of this compiler has may be that of a codegen
/// plugin's target. Thread-safe; the same text returns the same object, unless its plugin has been replaced.
Expected<const Target *> findTarget(llvm::StringRef text);

} // namespace tessera::codegen
