// The frontend of the tile language: source text in, typed Program (Program.h) out.
//
// Re-entrant: there is no global state, and a parsed Module may be used from several threads at once. Nothing
// throws. Every failure is one or more Diagnostics, appended in line order; DiagnosticCodes.def lists the
// codes.
#pragma once
#include "compiler/frontend/diagnostics/DiagnosticCodes.h"
#include "compiler/frontend/program/GraphProgram.h"
#include "compiler/frontend/sema/FrontendOptions.h"
#include "compiler/frontend/sema/Shapes.h"
#include "core/service/CompilerService.h"
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tessera::frontend {

/// What a name of the source stands for, elaborated.
using Program = std::variant<Kernel, GraphFunction>;

/// A source file, parsed once. Immutable after parse().
class Module {
public:
  /// Never null: a source with errors gives a module whose other members report BadProgram.
  static std::unique_ptr<Module> parse(std::string_view source, std::string fileName,
                                       std::vector<Diagnostic> &diags, const Supplied &supplied = {});
  ~Module();

  bool valid() const;

  /// One entry per @ts.kernel and @ts.jit function, in source order.
  [[nodiscard]] CompileStatus signatures(std::vector<Signature> &out, std::vector<Diagnostic> &diags) const;

  /// Elaborates one kernel or graph function. On anything but Ok `out` is unspecified and `diags` has at
  /// least one error.
  [[nodiscard]] CompileStatus instantiate(const FrontendOptions &, Program &out,
                                          std::vector<Diagnostic> &diags) const;
  /// The same where only a kernel will do.
  [[nodiscard]] CompileStatus instantiate(const FrontendOptions &, Kernel &out,
                                          std::vector<Diagnostic> &diags) const;

private:
  struct Impl;
  explicit Module(std::unique_ptr<Impl>);
  std::unique_ptr<Impl> impl_;
};

/// Module::parse and Module::instantiate in one call.
[[nodiscard]] CompileStatus compileToProgram(std::string_view source, const FrontendOptions &, Program &out,
                                             std::vector<Diagnostic> &diags);
[[nodiscard]] CompileStatus compileToProgram(std::string_view source, const FrontendOptions &, Kernel &out,
                                             std::vector<Diagnostic> &diags);

/// Module::parse and Module::signatures in one call.
[[nodiscard]] CompileStatus signatures(std::string_view source, const std::string &fileName,
                                       std::vector<Signature> &out, std::vector<Diagnostic> &diags,
                                       const Supplied &supplied = {});

} // namespace tessera::frontend
