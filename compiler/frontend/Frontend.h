// The frontend of the tile language: parses and type-checks source text and returns the typed Program
// (Program.h).
//
// Re-entrant: there is no global state, and several threads may use a parsed Module at once. Nothing throws.
// Every failure is one or more Diagnostics, appended in line order; DiagnosticCodes.def lists the codes.
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

/// What a name in the source refers to, after elaboration.
using Program = std::variant<Kernel, GraphFunction>;

/// A source file, parsed once. Immutable after parse().
class Module {
public:
  /// Never null: for a source with errors, the other members of the module return BadProgram.
  static std::unique_ptr<Module> parse(std::string_view source, std::string fileName,
                                       std::vector<Diagnostic> &diags, const Supplied &supplied = {});
  ~Module();

  bool valid() const;

  /// One entry per @ts.kernel and @ts.jit function, in source order.
  [[nodiscard]] CompileStatus signatures(std::vector<Signature> &out, std::vector<Diagnostic> &diags) const;

  /// Elaborates one kernel or graph function. Unless it returns Ok, `out` is unspecified and `diags` has at
  /// least one error.
  [[nodiscard]] CompileStatus instantiate(const FrontendOptions &, Program &out,
                                          std::vector<Diagnostic> &diags) const;
  /// The same if only a kernel is accepted.
  [[nodiscard]] CompileStatus instantiate(const FrontendOptions &, Kernel &out,
                                          std::vector<Diagnostic> &diags) const;

private:
  struct Impl;
  explicit Module(std::unique_ptr<Impl>);
  std::unique_ptr<Impl> impl_;
};

/// Reads the definition that `source` begins with: a function with its decorators. What follows is ignored.
[[nodiscard]] CompileStatus readDefinition(std::string_view source, const std::string &fileName,
                                           Definition &out, std::vector<Diagnostic> &diags);

/// Calls Module::parse and Module::instantiate.
[[nodiscard]] CompileStatus compileToProgram(std::string_view source, const FrontendOptions &, Program &out,
                                             std::vector<Diagnostic> &diags);
[[nodiscard]] CompileStatus compileToProgram(std::string_view source, const FrontendOptions &, Kernel &out,
                                             std::vector<Diagnostic> &diags);

/// Calls Module::parse and Module::signatures.
[[nodiscard]] CompileStatus signatures(std::string_view source, const std::string &fileName,
                                       std::vector<Signature> &out, std::vector<Diagnostic> &diags,
                                       const Supplied &supplied = {});

} // namespace tessera::frontend
