// The frontend of the tile language: source text in, typed Program (Program.h) out.
//
// Re-entrant: there is no global state, and a parsed Module may be used from several threads at once. Nothing
// throws. Every failure is one or more Diagnostics, appended in line order; DiagnosticCodes.def lists the
// codes.
#pragma once
#include "compiler/frontend/program/GraphProgram.h"
#include "core/service/CompilerService.h"
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tessera::frontend {

/// What selects one instance of one kernel.
struct FrontendOptions {
  std::string fileName = "<source>";
  std::string kernel;                                // empty: the only one of the source
  std::vector<std::pair<std::string, int64_t>> dims; // known values of symbolic dims (used only where needed)
  std::vector<std::pair<std::string, int64_t>> tunables; // chosen values; the others take their first one
  int64_t sharedLimit = int64_t(1) << 20;                // bytes of shared memory one program may allocate
};

/// What a name of the source stands for, elaborated.
using Program = std::variant<Kernel, GraphFunction>;

/// A source file, parsed once. Immutable after parse().
class Module {
public:
  /// Never null: a source with errors gives a module whose other members report BadProgram.
  static std::unique_ptr<Module> parse(std::string_view source, std::string fileName,
                                       std::vector<Diagnostic> &diags);
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
                                       std::vector<Signature> &out, std::vector<Diagnostic> &diags);

/// A stable, readable text of a kernel: declarations, grid, then one line per statement.
std::string dump(const Kernel &);

/// A deep copy of an expression.
ExprPtr clone(const Expr &);

// --- Shape validation
// -------------------------------------------------------------------------------------------

/// What validateShapes checks. The text form (parseShapePolicy) is a comma-separated list of
/// `known`, `nonempty`, `whole_tiles`, `max_bytes=N` and `NAME=VALUE` for the dims' values.
struct ShapePolicy {
  bool requireKnown = false;      // every symbolic dim has a value
  bool requireNonEmpty = true;    // no known dim is below 1 (a negative extent is always an error)
  bool requireWholeTiles = false; // every grid axis' extent is a multiple of its step
  int64_t maxBytes = INT64_MAX;   // of one tensor
  std::vector<std::pair<std::string, int64_t>> dims;
};

struct ShapeFinding {
  std::string subject; // the parameter, dim or grid axis
  std::string message;
  Range loc; // line 0: none
};

struct ShapeReport {
  std::vector<ShapeFinding> findings; // empty: the shapes obey the policy
  bool ok() const { return findings.empty(); }
  std::string text() const; // one line per finding
};

[[nodiscard]] bool parseShapePolicy(std::string_view text, ShapePolicy &out, std::string &why);
ShapeReport validateShapes(const Kernel &, const ShapePolicy &);

// --- Diagnostic codes
// -------------------------------------------------------------------------------------------

struct DiagnosticInfo {
  const char *code;        // "E_UNDEFINED_NAME"
  const char *title;       // one short line
  const char *explanation; // what it means and how to mend it, for `tsr explain`
};

/// Null when no such code exists.
const DiagnosticInfo *findDiagnostic(std::string_view code);
std::span<const DiagnosticInfo> allDiagnostics();

} // namespace tessera::frontend
