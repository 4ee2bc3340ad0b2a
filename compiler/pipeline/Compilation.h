// One compilation: source text -> Graph IR -> ... -> Target IR -> machine code. Every failure becomes a
// Diagnostic.
#pragma once
#include "compiler/frontend/Frontend.h"
#include "compiler/pipeline/Pipeline.h"
#include "core/bundle/Bundle.h"
#include "core/metadata/KernelMetadata.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// Compiles one kernel for one target: options.targets has one name, options.kernels at most one. Not
/// thread-safe; independent compilations may run at the same time.
class Compilation {
public:
  Compilation(CompileOptions options, std::vector<Diagnostic> &diags);
  ~Compilation();

  /// Parses, checks and imports the kernel or graph function; the module is Graph IR afterwards. If
  /// options.isIr is set, parses IR instead: the module is at the level of the text (Graph, Schedule or
  /// Tile).
  [[nodiscard]] CompileStatus begin(std::string_view source);
  /// Gives the kernel another name in the module: it becomes a body of `kernel`. Call it before begin().
  void nameEntry(std::string entry) { entry_ = std::move(entry); }
  /// Makes launches of the kernel choose among other entries of the module and itself, the last. Call it once
  /// the module is Tile IR. Returns false if the kernel cannot have variants, since it prints or asserts.
  [[nodiscard]] bool addBodies(const std::vector<MetadataVariant> &);
  /// Numbers the operations that have variants, so that listChoices finds them. Call it before advance().
  void prepareChoices();
  /// Runs the passes up to and including `level`.
  [[nodiscard]] CompileStatus advance(Level level);

  /// The module at the current level. This object owns it.
  mlir::ModuleOp module() const { return *module_; }
  /// The text of the module.
  std::string text() const;
  const frontend::Kernel &kernel() const { return kernel_; }
  /// Lists the choices that are still open after Schedule; requires prepareChoices.
  void listChoices(std::vector<VariantChoice> &out) const;
  /// The target; valid after begin().
  const codegen::Target &target() const { return *target_; }
  // Valid after Target:
  /// Returns the functions of the image, with their metadata.
  [[nodiscard]] CompileStatus entries(std::vector<BundleEntry> &out);
  [[nodiscard]] CompileStatus emitAssembly(std::string &text);
  /// Returns the machine code in one file.
  [[nodiscard]] CompileStatus emitObject(std::string &bytes);
  /// Returns machine code and entries for Target::makeImages.
  [[nodiscard]] CompileStatus makeUnit(codegen::CodeUnit &out);

  CompileStatus fail(CompileStatus, std::string code, std::string message, std::string hint = {});

private:
  CompileStatus checkOptions();
  CompileStatus beginWithIr(std::string_view source);
  void makeContextAndHandler();
  CompileStatus checkProfile(std::string_view source);
  llvm::StringRef backendName() const { return target_->backend().name(); }
  std::vector<std::string> conditions() const;
  void setScheduleOptions();
  void setDecisions();
  mlir::DictionaryAttr decisionsOf(llvm::StringRef function) const;
  void report(mlir::Diagnostic &);
  CompileStatus passFailure(const char *what);
  CompileStatus backendFailure(const Error &);
  /// Returns the functions as a module of their own that LLVM accepts.
  mlir::OwningOpRef<mlir::ModuleOp> image() const;

  CompileOptions options_;
  std::vector<Diagnostic> &diags_;
  std::string source_, entry_;
  const codegen::Target *target_ = nullptr;
  frontend::Kernel kernel_; // empty for a graph function
  std::optional<frontend::GraphFunction> function_;
  std::unique_ptr<mlir::MLIRContext> context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  std::unique_ptr<mlir::ScopedDiagnosticHandler> handler_; // destroyed before the context
  CompileStatus failure_ = CompileStatus::BackendFailure;  // of the last error that MLIR reported
  Level reached_ = Level::Graph;
  int snapshots_ = 0;
};

} // namespace tessera
