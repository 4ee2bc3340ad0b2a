// The compiler as a C++ library: compiles source text to IR that can be inspected. Link libtessera-compiler.
//
// Implements the frontend interfaces of the system architecture, §3.1 (tessera_frontend_compile,
// tessera_validate_shapes), and inspect_ir of the programming guide, §10.1.
//
// Thread-safety: functions may be called from any thread; a ModuleIR may be used by one thread at a time.
// Only std::bad_alloc is thrown. All returned text is owned by the caller.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tessera/numerics.hpp>
#include <utility>
#include <vector>

namespace tessera {

struct FrontendCompileOptions {
  std::string fileName = "<source>";        // the source's name in diagnostics
  std::string kernel;                       // empty: the only kernel of the source
  std::string target = "cpu";               // as for `tsr compile --target`
  std::string numerics = "standard";        // fast, standard, deterministic or strict
  const NumericsProfile *profile = nullptr; // a profile to use instead; read during the call
  std::vector<std::pair<std::string, int64_t>>
      dims; // values of symbolic dims, used if a tile shape needs one
  std::vector<std::pair<std::string, int64_t>> tunables; // values of tunables; the others use their first
};

/// One message of the compiler, formatted for a terminal: `file:line:col: error: [E_…] …`, the source line, a
/// caret range and a hint.
struct CompileMessage {
  std::string code; // stable: "E_UNDEFINED_NAME"
  std::string text;
  uint32_t line = 0, column = 0; // from 1; 0 without a position in the source
};

/// A kernel that is lowered through the IR levels on demand.
class ModuleIR {
public:
  ModuleIR();
  ModuleIR(ModuleIR &&) noexcept;
  ModuleIR &operator=(ModuleIR &&) noexcept;
  ~ModuleIR();

  /// Returns false if the source or the options were refused; messages() contains the reasons.
  explicit operator bool() const;
  const std::vector<CompileMessage> &messages() const;

  /// Returns the kernel's text at level "graph", "schedule", "tile" or "target". The levels may be requested
  /// in any order: a request runs the passes up to that level and keeps the text of every level before it.
  /// Returns "" and adds a message for an unknown level or a failed pass.
  std::string inspect_ir(std::string_view level);

  struct Impl;
  Impl *impl() const { return impl_.get(); }

private:
  friend ModuleIR tessera_frontend_compile(std::string_view, const FrontendCompileOptions &);
  std::unique_ptr<Impl> impl_;
};

struct ShapeCheck {
  std::string subject; // a parameter, dim or grid axis
  std::string message;
};

/// The result of tessera_validate_shapes. Without findings and without an error the shapes satisfy the
/// policy.
struct Report {
  std::vector<ShapeCheck> findings;
  std::string error; // not empty: the policy or the module could not be used
  bool ok() const { return findings.empty() && error.empty(); }
};

/// Parses, checks and imports one kernel to Graph IR.
ModuleIR tessera_frontend_compile(std::string_view source, const FrontendCompileOptions &options = {});

/// Checks the shapes of a compiled kernel. `policy` is a comma-separated list of `known` (every symbolic dim
/// has a value), `nonempty` (no extent below 1), `whole_tiles` (every grid axis is a multiple of its tile),
/// `max_bytes=N` (of one tensor) and `NAME=VALUE` (the value of a dim).
Report tessera_validate_shapes(const ModuleIR &ir, std::string_view policy);

} // namespace tessera
