// One compilation: source text -> Graph IR -> ... -> Target IR -> code, with every failure a Diagnostic.
#pragma once
#include "compiler/frontend/Frontend.h"
#include "compiler/pipeline/Pipeline.h"
#include "core/bundle/Bundle.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// Of one kernel for one target: options.targets has one name, options.kernels at most one. Not thread-safe;
/// independent compilations may run at the same time.
class Compilation {
public:
  Compilation(CompileOptions options, std::vector<Diagnostic> &diags);
  ~Compilation();

  /// Parses, checks and imports the kernel or graph function: the module is Graph IR afterwards. Where
  /// options.isIr is set, parses it: the module is Graph, Schedule or Tile IR, whichever the text holds.
  [[nodiscard]] CompileStatus begin(std::string_view source);
  /// Numbers the operations that have variants, so that listChoices finds them. Before advance().
  void prepareChoices();
  /// Runs the passes up to and including `level`.
  [[nodiscard]] CompileStatus advance(Level level);

  /// The module as it is; owned by this.
  mlir::ModuleOp module() const { return *module_; }
  /// Its text.
  std::string text() const;
  const frontend::Kernel &kernel() const { return kernel_; }
  /// After Schedule of a compilation that was to list them (prepareChoices): what is open.
  void listChoices(std::vector<VariantChoice> &out) const;
  /// What is compiled for; after begin().
  const codegen::Target &target() const { return *target_; }
  // After Target:
  /// What the image offers, with metadata read back and validated.
  [[nodiscard]] CompileStatus entries(std::vector<BundleEntry> &out);
  [[nodiscard]] CompileStatus emitAssembly(std::string &text);
  /// The machine code in one file.
  [[nodiscard]] CompileStatus emitObject(std::string &bytes);
  /// Machine code and entries, for Target::makeImages.
  [[nodiscard]] CompileStatus makeUnit(codegen::CodeUnit &out);

  CompileStatus fail(CompileStatus, std::string code, std::string message, std::string hint = {});

private:
  CompileStatus checkOptions();
  CompileStatus beginWithIr(std::string_view source);
  void makeContextAndHandler();
  CompileStatus checkProfile(std::string_view source);
  llvm::StringRef backendName() const { return target_->backend().name(); }
  void setScheduleOptions();
  void setDecisions();
  mlir::DictionaryAttr decisionsOf(llvm::StringRef function) const;
  void report(mlir::Diagnostic &);
  CompileStatus passFailure(const char *what);
  CompileStatus backendFailure(const Error &);
  /// The functions as a module of their own that LLVM takes.
  mlir::OwningOpRef<mlir::ModuleOp> image() const;

  CompileOptions options_;
  std::vector<Diagnostic> &diags_;
  std::string source_;
  const codegen::Target *target_ = nullptr;
  frontend::Kernel kernel_; // empty for a graph function
  std::optional<frontend::GraphFunction> function_;
  std::unique_ptr<mlir::MLIRContext> context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  std::unique_ptr<mlir::ScopedDiagnosticHandler> handler_; // goes before the context
  CompileStatus failure_ = CompileStatus::BackendFailure;  // of the last error that MLIR reported
  Level reached_ = Level::Graph;
  int snapshots_ = 0;
};

} // namespace tessera
