// The compiler as a C++ library: source text in, inspectable IR out. Link libtessera-compiler.
//
// Implements the frontend interfaces of the system architecture, §3.1 (tessera_frontend_compile,
// tessera_validate_shapes), and inspect_ir of the programming guide, §10.1.
//
// Thread-safety: functions may be called from any thread; one ModuleIR from one thread at a time. Nothing
// throws but std::bad_alloc. All returned text is owned by the caller.
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
  std::string fileName = "<source>";        // how diagnostics name the source
  std::string kernel;                       // empty: the only kernel of the source
  std::string target = "cpu";               // as `tsr compile --target`
  std::string numerics = "standard";        // fast, standard, deterministic or strict
  const NumericsProfile *profile = nullptr; // or one of your own instead; read during the call
  std::vector<std::pair<std::string, int64_t>>
      dims; // values of symbolic dims, used where a tile shape needs one
  std::vector<std::pair<std::string, int64_t>> tunables; // chosen values; the others take their first
};

/// One finding of the compiler, already laid out for a terminal: `file:line:col: error: [E_…] …`, the source
/// line, a caret range and a hint.
struct CompileMessage {
  std::string code; // stable: "E_UNDEFINED_NAME"
  std::string text;
  uint32_t line = 0, column = 0; // from 1; 0 when there is no place in the source
};

/// A kernel on its way through the IR levels.
class ModuleIR {
public:
  ModuleIR();
  ModuleIR(ModuleIR &&) noexcept;
  ModuleIR &operator=(ModuleIR &&) noexcept;
  ~ModuleIR();

  /// False if the source or the options were refused; messages() has the reasons.
  explicit operator bool() const;
  const std::vector<CompileMessage> &messages() const;

  /// Text of the kernel at "graph", "schedule", "tile" or "target" level, in any order: asking for one runs
  /// the passes that lead to it and keeps the text of every level on the way. Empty, with a message, for an
  /// unknown level or a failed pass.
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

/// What tessera_validate_shapes found; no finding means that the shapes obey the policy.
struct Report {
  std::vector<ShapeCheck> findings;
  std::string error; // not empty: the policy text or the module was unusable
  bool ok() const { return findings.empty() && error.empty(); }
};

/// Parses, checks and imports one kernel (Graph IR).
ModuleIR tessera_frontend_compile(std::string_view source, const FrontendCompileOptions &options = {});

/// Checks the shapes of a compiled kernel. `policy` is a comma-separated list of `known` (every symbolic dim
/// has a value), `nonempty` (no extent below 1), `whole_tiles` (every grid axis is a multiple of its tile),
/// `max_bytes=N` (of one tensor) and `NAME=VALUE` (the value of a dim).
Report tessera_validate_shapes(const ModuleIR &ir, std::string_view policy);

} // namespace tessera
