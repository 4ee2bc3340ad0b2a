// The seam between libtessera.so, which never links LLVM, and libtessera-compiler.so, which it loads on first
// use. Both come from one build, so C++ types cross it; no exception does.
#pragma once
#include "numerics/Casts.h"
#include "numerics/NumericsProfile.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera {

struct Diagnostic {
  enum class Severity : uint8_t { Error, Warning, Note };
  Severity severity = Severity::Error;
  std::string code;    // stable, E_[A-Z0-9_]+ (warnings: W_...)
  std::string message; // what was found, what was expected
  std::string hint;    // how to mend it; may be empty
  std::string file;
  uint32_t line = 0, col = 0, endCol = 0; // from 1; line 0: no place in the source
  std::string sourceLine;                 // the text of `line`
};

/// `file:line:col: error: [CODE] message`, the source line, a caret range and the hint; one trailing newline.
/// Defined in core/service/Diagnostic.cpp (static library tessera-diagnostic).
std::string render(const Diagnostic &, bool colour);

/// One parameter as the signature shows it, before anything is compiled.
struct SignatureParam {
  std::string name;
  bool isTensor = false, isResult = false, reads = false, writes = false;
  std::string dtype;             // canonical name
  std::vector<std::string> dims; // "M", "B*H", "64"
  std::optional<Number> defaultValue;
};

struct Signature {
  std::string kernel;
  bool isGraphFunction = false;
  std::vector<SignatureParam> params;
  std::vector<std::string> dims; // symbolic dims, order of first appearance
  std::vector<std::pair<std::string, std::vector<int64_t>>> tunables; // name, space
};

/// An operation that has more than one implementation, or could have.
struct VariantChoice {
  std::string target, id; // which operation: "mlp:1", the second matmul of mlp
  std::string op, dtype;  // "matmul", of the operands
  std::string file;
  uint32_t line = 0, col = 0;                               // of the source; 0: not known
  std::vector<std::string> variants;                        // the legal ones, the default first
  std::vector<std::pair<std::string, std::string>> refused; // the others, each with what rules it out
  std::vector<std::pair<std::string, int64_t>> dims;        // M, N, K; -1: known when it runs
};

/// What somebody chose for one of them.
struct VariantDecision {
  std::string target, id, variant;
  std::vector<std::string> legal; // what it was chosen from
  std::string by;                 // the mapper
  double predictedNs = -1;        // the time the mapper expects; -1: it does not say
};

/// What a source leaves to its caller: by name, texts of the language.
struct Supplied {
  /// Types of parameters that have none: `x` of every kernel and graph function, `gemm.x` of that one.
  std::vector<std::pair<std::string, std::string>> types;
  /// Values of names that the source does not define: "128", "0.5", "(2, 4)", "'relu'", "bf16".
  std::vector<std::pair<std::string, std::string>> constants;
};

struct CompileOptions {
  std::string fileName = "<source>";
  std::vector<std::string> kernels;                  // empty: every one of the source (emit: the only one)
  std::vector<std::string> targets = {"cpu"};        // "cpu", "cpu:skylake-avx512", ... (emit: one)
  std::string numerics = "standard";                 // the profile's name ...
  std::optional<NumericsPermissions> permits;        // ... and what it permits; absent: it is a built-in one
  std::vector<std::pair<std::string, int64_t>> dims; // values that may be specialised on
  std::vector<std::pair<std::string, int64_t>> tunables; // --set
  Supplied supplied;                                     // to the source
  std::vector<std::string> embedIr;       // levels whose text goes into the bundle: "graph", "tile"
  bool isIr = false;                      // the source is MLIR, as --emit writes it and a bundle holds it
  std::vector<VariantDecision> decisions; // of operations choices() names; the others take their default
  bool fuse = true;                       // false: every operation of a graph function is a kernel of its own
  std::string printIrAfterAll;            // directory for numbered snapshots, empty: none
};

/// Entry of a compiled CPU kernel, a symbol of its ELF image. `values[i]` holds the i-th launch argument of
/// decision D15: a pointer, a scalar's bits zero-extended, or an int64 dim. Runs the programs [begin, end) of
/// the linearised grid, last axis fastest. `scratch` is 64-byte aligned, as long as the metadata's
/// scratch_bytes, and private to the call.
using CpuKernelFn = void (*)(const uint64_t *values, int64_t begin, int64_t end, uint8_t *scratch);

enum class CompileStatus : uint8_t { Ok, BadProgram, Unimplemented, BackendFailure };

enum class Emit : uint8_t { Graph, Schedule, Tile, Target, Assembly, Object, Metadata, Bundle };

class CompilerService {
public:
  virtual ~CompilerService() = default;
  /// Signatures of every kernel of a source. Errors go to `diags`, in line order.
  virtual CompileStatus signatures(std::string_view source, const std::string &fileName,
                                   std::vector<Signature> &out, std::vector<Diagnostic> &diags) noexcept = 0;
  /// Compiles the kernels for every target into one bundle (core/bundle/Bundle.h). Thread-safe.
  virtual CompileStatus compile(std::string_view source, const CompileOptions &, std::string &bundle,
                                std::vector<Diagnostic> &diags) noexcept = 0;
  /// Compiles one kernel for one target as far as `what` and returns its text (object code, bundle: its
  /// bytes).
  virtual CompileStatus emit(std::string_view source, const CompileOptions &, Emit what, std::string &out,
                             std::vector<Diagnostic> &diags) noexcept = 0;
  /// The operations whose variant is still open, for every kernel and target that compile() would take.
  virtual CompileStatus choices(std::string_view source, const CompileOptions &,
                                std::vector<VariantChoice> &out, std::vector<Diagnostic> &diags) noexcept = 0;
  /// Names of targets to offer to a user: "cpu", "cpu:x86-64-v3", ... Each backend takes these; the CPU takes
  /// the other names of LLVM's processors too.
  virtual std::vector<std::string> targets() noexcept = 0;
  /// The long text behind a diagnostic code; empty when unknown.
  virtual std::string explain(std::string_view code) noexcept = 0;
  virtual std::string version() noexcept = 0;
};

class CodegenPlugins;

/// Exported by libtessera-compiler.so; `buildId` must be TESSERA_BUILD_ID of the caller, else null. The
/// targets of `plugins`, which lives as long as the process, are found beside the compiler's own; null leaves
/// those of an earlier call.
extern "C" CompilerService *tesseraCompilerService(const char *buildId, CodegenPlugins *plugins = nullptr);

} // namespace tessera
