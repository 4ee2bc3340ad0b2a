// What the compiler asks of a target: the numbers its passes depend on, the passes of phase 7, and how
// machine code becomes an image. A target is registered by its folder: every plugins/NAME/codegen defines
// `const codegen::TargetBackend &tessera::NAME::targetBackend()`, and CMake lists them (TargetBackends.cpp).
#pragma once
#include "compiler/schedule/IR/ScheduleDialect.h"
#include "core/bundle/Bundle.h"
#include "core/support/Expected.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mlir {
class DialectRegistry;
}

namespace tessera::codegen {

class TargetBackend;
class LlvmLowering;

/// A machine as LLVM names it, and the vector registers that programs are cut for.
struct LlvmMachine {
  std::string triple, cpu, features;
  int64_t vectorBytes = 16, vectorRegisters = 16;
  bool operator==(const LlvmMachine &) const = default;
};

/// What passes before phase 7 need to know of a target.
struct Capabilities {
  int64_t threads = 0;                      // that share the tiles of one program; 0: one, which uses vectors
  int64_t vectorBytes = 0;                  // of a vector register; with threads == 0
  int64_t vectorRegisters = 0;              // of that width
  std::optional<int64_t> lanesPerProgram{}; // iterations of a lane loop in one program; absent: the default
  bool collapsesAxes = false;               // axes of elementwise groups become one where strides allow it
  bool prefetches = false;                  // `prefetch` becomes an instruction
  bool callsLibraries = false;              // a product may be a call of a host library (BLAS)
};

/// The fusion group a tile is wanted for. Extents are absent where they are known at launch only.
struct TileRequest {
  schedule::GroupKind kind;
  int64_t rank;                         // of the group's iteration space
  std::optional<int64_t> rows, columns; // its last two axes; an axis that does not exist has extent 1
  bool reducesOuterAxis = false;        // a reduction along another axis than the last
  std::optional<int64_t> reduced;       // extent of that axis
  bool transposes = false;              // reads a tensor in another order than it writes
};

/// Machine code of one compilation, before it is joined with that of others.
struct CodeUnit {
  std::vector<std::string> objects; // what Target::emitObjects gave
  std::vector<BundleEntry> entries;
};

/// One target that kernels are compiled for: "cpu:skylake-avx512". Immutable; used by any number
/// of threads at once; lives as long as the process.
class Target {
public:
  virtual ~Target() = default;

  virtual const TargetBackend &backend() const = 0;
  /// As the user wrote it, without aliases; what kernel metadata says ("cpu", "cpu:x86-64-v3").
  virtual std::string name() const = 0;
  /// The name that images carry. It differs from name() where the user left something to be detected:
  /// "cpu:znver3" for "cpu".
  virtual std::string imageName() const { return name(); }
  virtual const Capabilities &capabilities() const = 0;

  /// Tile extents for a fusion group, in the order of its kind (ScheduleOps.td). A person, a mapper or a
  /// tuner may change them in the text; correctness never depends on them.
  virtual llvm::SmallVector<int64_t> proposeTile(const TileRequest &) const = 0;

  /// Phase 7: adds the passes from a module of tile.kernel operations to one target.module in the LLVM
  /// dialect.
  virtual void addLoweringPasses(mlir::OpPassManager &) const = 0;

  /// Assembly text, for people, of functions and globals in the LLVM dialect.
  virtual Expected<std::string> emitAssembly(mlir::ModuleOp) const = 0;
  /// Their machine code in one file or several that belong together. Uses up the module.
  virtual Expected<std::vector<std::string>> emitObjects(mlir::OwningOpRef<mlir::ModuleOp>) const = 0;
  /// The files of one emitObjects call as one.
  virtual Expected<std::string> joinObjects(std::vector<std::string> objects) const = 0;
  /// The images of a bundle that hold `units`: one for all, or one for each.
  virtual Expected<std::vector<BundleImage>> makeImages(std::vector<CodeUnit> units) const = 0;
};

/// A family of targets with one code generator. One constant object per family.
class TargetBackend {
public:
  virtual ~TargetBackend() = default;
  /// "cpu": the part of a target's name before the colon, and the name of the runtime backend that runs its
  /// images.
  virtual llvm::StringRef name() const = 0;
  virtual llvm::ArrayRef<llvm::StringRef> aliases() const { return {}; }
  /// Names of its targets to offer to a user: all of them, or the common ones of very many.
  virtual std::vector<std::string> targetNames() const = 0;
  /// What a user may write, for messages: "KIND:A, KIND:B".
  virtual std::string targets() const;
  /// The target `architecture` (what follows the colon; empty: the user wrote no colon).
  virtual Expected<std::unique_ptr<const Target>> parse(llvm::StringRef architecture) const = 0;
  /// Makes its passes known by name to tools that read pipelines.
  virtual void registerPasses() const = 0;
  /// The dialects its passes make operations of, with their translation to LLVM IR.
  virtual void registerDialects(mlir::DialectRegistry &) const {}
  /// A lowering to LLVM IR for a machine that this backend makes no images for; `name` is the target's in
  /// kernel metadata. Null: this backend has none.
  virtual Expected<std::unique_ptr<const LlvmLowering>> lowerFor(std::string /*name*/,
                                                                 const LlvmMachine &) const {
    return std::unique_ptr<const LlvmLowering>();
  }
};

/// The way to LLVM IR whose kernels are functions that one thread runs (plugin.h, Codegen, has their type),
/// for targets whose images somebody else makes. Immutable, used by any number of threads at once.
class LlvmLowering {
public:
  virtual ~LlvmLowering() = default;
  virtual llvm::SmallVector<int64_t> proposeTile(const TileRequest &) const = 0;
  virtual void addLoweringPasses(mlir::OpPassManager &) const = 0;
  /// Text of functions and globals in the LLVM dialect, verified and optimised for the machine.
  virtual Expected<std::string> emitIr(mlir::ModuleOp) const = 0;
};

/// Every backend this compiler was built with, cpu first.
llvm::ArrayRef<const TargetBackend *> targetBackends();

/// The target of the name `text` ("cpu", "cpu:x86-64-v3", "ALIAS:ARCHITECTURE"). An error (E_TARGET_UNKNOWN)
/// lists what there is. Names that no backend of this compiler has may be those of codegen plugins.
/// Thread-safe; the same text gives the same object, unless its plugin was replaced by another one.
Expected<const Target *> findTarget(llvm::StringRef text);

} // namespace tessera::codegen
