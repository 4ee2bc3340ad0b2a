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
  const cpu::CpuTarget &target() const { return target_; }
  /// After Schedule of a compilation that was to list them (prepareChoices): what is open.
  void listChoices(std::vector<VariantChoice> &out) const;
  /// What was asked to compile for.
  const std::string &targetName() const { return options_.targets.front(); }
  /// The GPU that is compiled for; null when it is a CPU.
  const gpu::GpuTarget *gpu() const { return gpu_; }
  /// After Target: what the image offers, with metadata read back and validated; and its functions as a
  /// module of their own that LLVM takes.
  [[nodiscard]] CompileStatus entries(std::vector<BundleEntry> &out);
  mlir::OwningOpRef<mlir::ModuleOp> image() const;

  CompileStatus fail(CompileStatus, std::string code, std::string message, std::string hint = {});

private:
  CompileStatus checkOptions();
  CompileStatus beginWithIr(std::string_view source);
  void makeContextAndHandler();
  CompileStatus checkProfile(std::string_view source);
  llvm::StringRef backendName() const { return gpu_ ? llvm::StringRef(gpu_->kind) : "cpu"; }
  void setScheduleOptions();
  void setDecisions();
  mlir::DictionaryAttr decisionsOf(llvm::StringRef function) const;
  void report(mlir::Diagnostic &);
  CompileStatus passFailure(const char *what);

  CompileOptions options_;
  std::vector<Diagnostic> &diags_;
  std::string source_;
  cpu::CpuTarget target_;
  const gpu::GpuTarget *gpu_ = nullptr;
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
