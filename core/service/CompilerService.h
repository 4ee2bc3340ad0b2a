// The interface between libtessera.so, which never links LLVM, and libtessera-compiler.so, which it loads on
// first use. Both come from one build, so C++ types may cross it. Exceptions may not.
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
  std::string message; // what was found and what was expected
  std::string hint;    // how to fix it; may be empty
  std::string file;
  uint32_t line = 0, col = 0, endCol = 0; // from 1; line 0: no position in the source
  std::string sourceLine;                 // the text of `line`
};

/// Lines of a source that come from another file: those from `line` on, up to the next piece.
struct SourcePiece {
  uint32_t line = 1, fileLine = 1; // the first of them, in the source and in the file
  std::string file;
};

/// Moves a position in the source, file and line, to the file that the line comes from. `pieces` are in
/// ascending order of their lines. Defined in core/service/Diagnostic.cpp.
void toFile(const std::vector<SourcePiece> &pieces, std::string &file, uint32_t &line);

/// Formats a diagnostic as `file:line:col: error: [CODE] message`, the source line, a caret range and the
/// hint, with one trailing newline. Defined in core/service/Diagnostic.cpp (static library
/// tessera-diagnostic).
std::string render(const Diagnostic &, bool colour);

/// One parameter of a signature, which is known without compiling.
struct SignatureParam {
  std::string name;
  bool isTensor = false, isResult = false, reads = false, writes = false;
  std::string dtype;                // canonical name
  std::vector<std::string> dims;    // "M", "B*H", "64"
  std::vector<std::string> strides; // one per dim, in elements: "lda", "1"; empty: contiguous
  std::optional<Number> defaultValue = {};
};

struct Signature {
  std::string kernel;
  bool isGraphFunction = false;
  std::vector<SignatureParam> params;
  std::vector<std::string> dims; // symbolic dims and strides in order of first appearance
  std::vector<std::pair<std::string, std::vector<int64_t>>> tunables; // name, space
};

/// An operation with several implementations, of which some may be illegal.
struct VariantChoice {
  std::string target, id; // id: "mlp:1", the second matmul of mlp
  std::string op, dtype;  // op: "matmul"; dtype: of the operands
  std::string file;
  uint32_t line = 0, col = 0;                               // position in the source; 0: unknown
  std::vector<std::string> variants;                        // the legal ones, the default first
  std::vector<std::pair<std::string, std::string>> refused; // the illegal ones, each with the reason
  std::vector<std::pair<std::string, int64_t>> dims;        // M, N, K; -1: known only at run time
};

/// The choice made for one such operation.
struct VariantDecision {
  std::string target, id, variant;
  std::vector<std::string> legal; // the legal variants it was chosen from
  std::string by;                 // the mapper that chose it
  double predictedNs = -1;        // the time the mapper expects; -1: not given
};

/// What the caller supplies for a source, by name. The values are text of the language.
struct Supplied {
  /// Types of parameters declared without one: `x` applies to every kernel and graph function, `gemm.x` to
  /// that one.
  std::vector<std::pair<std::string, std::string>> types;
  /// Values of names that the source uses but does not define: "128", "0.5", "(2, 4)", "'relu'", "bf16".
  std::vector<std::pair<std::string, std::string>> constants;
  /// Where the source's lines come from, if it was put together from several texts. The first line of a piece
  /// may be indented: its indentation is the margin of the piece.
  std::vector<SourcePiece> pieces = {};
};

/// A name that a definition uses and does not define, as it is written: "alpha", "ts.tile.zeros".
struct FreeName {
  std::string name;
  uint32_t line = 0, col = 0; // of its first use, in the text
};

/// The function definition at the begin of a text.
struct Definition {
  std::string name;
  uint64_t bytes = 0; // of the text, up to the definition's last line
  std::vector<FreeName> names;
  std::vector<std::string> returns; // by returned value: the parameter that it is, or ""
};

/// A configuration of a kernel's tunables that measurements chose (core/tuning).
struct TunedBody {
  std::string target, kernel;
  std::vector<std::string> when; // conditions over the dims; empty: it replaces the default for all sizes
  std::vector<std::pair<std::string, int64_t>> values; // of all tunables
};

struct CompileOptions {
  std::string fileName = "<source>";
  std::vector<std::string> kernels;                  // empty: all of the source (emit: the only one)
  std::vector<std::string> targets = {"cpu"};        // "cpu", "cpu:skylake-avx512", ... (emit: one)
  std::string numerics = "standard";                 // the profile's name ...
  std::optional<NumericsPermissions> permits;        // ... and what it permits; absent: it is built in
  std::vector<std::pair<std::string, int64_t>> dims; // values the code may be specialised on
  bool exactDims = false; // true: a graph function gets no code for other values of `dims`
  std::vector<std::pair<std::string, int64_t>> tunables; // fixed values of tunables (--set)
  std::vector<TunedBody> tuned;                          // used if `tunables` is empty
  Supplied supplied;                                     // types and constants for the source
  std::vector<std::string> embedIr;       // levels whose text is embedded in the bundle: "graph", "tile"
  bool isIr = false;                      // the source is MLIR, as written by --emit or stored in a bundle
  std::vector<VariantDecision> decisions; // for operations from choices(); the others use their default
  bool fuse = true;                       // false: each operation of a graph function is a separate kernel
  std::string printIrAfterAll;            // directory for numbered snapshots; empty: none
};

/// Entry point of a compiled CPU kernel, a symbol of its ELF image. `values[i]` is the i-th launch argument
/// in the order of decision D15: a pointer, the bits of a scalar zero-extended, or an int64 dim. Runs the
/// programs [begin, end) of the linearised grid, last axis fastest. `scratch` is 64-byte aligned, has the
/// metadata's scratch_bytes, and is private to the call.
using CpuKernelFn = void (*)(const uint64_t *values, int64_t begin, int64_t end, uint8_t *scratch);

enum class CompileStatus : uint8_t { Ok, BadProgram, Unimplemented, BackendFailure };

enum class Emit : uint8_t { Graph, Schedule, Tile, Target, Assembly, Object, Metadata, Bundle };

class CompilerService {
public:
  virtual ~CompilerService() = default;
  /// Returns the signatures of every kernel of a source. Errors are appended to `diags`, in line order.
  virtual CompileStatus signatures(std::string_view source, const std::string &fileName,
                                   std::vector<Signature> &out, std::vector<Diagnostic> &diags,
                                   const Supplied &supplied = {}) noexcept = 0;
  /// Reads the definition that `source` begins with, decorators included, and ignores the rest. Of the
  /// options it uses the file's name and the pieces.
  virtual CompileStatus definition(std::string_view source, const CompileOptions &, Definition &out,
                                   std::vector<Diagnostic> &diags) noexcept = 0;
  /// Compiles the kernels for every target into one bundle (core/bundle/Bundle.h). Thread-safe.
  virtual CompileStatus compile(std::string_view source, const CompileOptions &, std::string &bundle,
                                std::vector<Diagnostic> &diags) noexcept = 0;
  /// Compiles one kernel for one target up to the level `what` and returns its text, or its bytes for an
  /// object or a bundle.
  virtual CompileStatus emit(std::string_view source, const CompileOptions &, Emit what, std::string &out,
                             std::vector<Diagnostic> &diags) noexcept = 0;
  /// Returns the operations whose variant is still open, for every kernel and target that compile() would
  /// compile.
  virtual CompileStatus choices(std::string_view source, const CompileOptions &,
                                std::vector<VariantChoice> &out, std::vector<Diagnostic> &diags) noexcept = 0;
  /// Returns the names of targets to offer to a user: "cpu", "cpu:x86-64-v3", ... Every name is accepted by
  /// its backend. The CPU also accepts LLVM's other processor names.
  virtual std::vector<std::string> targets() noexcept = 0;
  /// Returns the long explanation of a diagnostic code; empty if the code is unknown.
  virtual std::string explain(std::string_view code) noexcept = 0;
  virtual std::string version() noexcept = 0;
};

class CodegenPlugins;
class ForkMutexes;

/// Returns the compiler. Exported by libtessera-compiler.so. Returns null unless `buildId` equals
/// TESSERA_BUILD_ID of the caller's build. The targets of `plugins`, which must live as long as the process,
/// are added to the compiler's own. If `plugins` is null, those of an earlier call stay. The compiler's
/// mutexes are held across forks by `mutexes`, if it is not null.
extern "C" CompilerService *tesseraCompilerService(const char *buildId, CodegenPlugins *plugins = nullptr,
                                                   ForkMutexes *mutexes = nullptr);

} // namespace tessera
