// Shared by `run` and `compile`: the source file, its kernels, and the compiler's diagnostics.
#pragma once
#include "core/service/CompilerService.h"
#include "tools/options/Options.h"
#include "tools/tsr/Report.h"

namespace tessera::cli {

/// Reads a whole file of at most `limit` bytes.
[[nodiscard]] MaybeError readWhole(const std::string &path, size_t limit, std::string &text);
/// Reads a whole source file of at most 64 MiB.
[[nodiscard]] MaybeError readSource(const std::string &path, std::string &text);

/// Renders diagnostics to stderr in the order given.
void show(const std::vector<Diagnostic> &);

/// Prints the diagnostics, or a description of the status when there are none. Returns the exit status, which
/// is exitOk only for Ok.
int conclude(CompileStatus, const std::vector<Diagnostic> &);

/// Returns the compiler. Prints an error and returns null when there is none.
CompilerService *needCompiler();

/// Reads the last error of the library, "[CODE] text" perhaps with a hint on a line of its own; one without a
/// code gets `code`.
Error lastError(const char *code);

/// Sets the mapper that --mapper names; "": does nothing.
[[nodiscard]] MaybeError chooseMapper(const std::string &spec);
/// Asks the current mapper about every open choice and puts its answers into `options`. Returns the exit
/// status.
int decide(const Arguments &, std::string_view source, CompileOptions &options);

/// Returns the one kernel that was named, or "".
inline std::string onlyKernel(const CompileOptions &o) { return o.kernels.empty() ? "" : o.kernels.front(); }

/// Finds the kernel `name`, or the only one when `name` is empty.
[[nodiscard]] MaybeError chooseKernel(const std::vector<Signature> &, const std::string &name,
                                      const Signature *&out);

/// In a signature the leading dims of a tensor, of any number; as a dim, their number.
inline constexpr std::string_view kLeadingDims = "...";
inline bool hasLeadingDims(const SignatureParam &p) { return !p.dims.empty() && p.dims[0] == kLeadingDims; }

/// Checks one --set or --dim against the kernel.
[[nodiscard]] MaybeError checkTunable(const Signature &, const std::string &name, const std::string &text,
                                      int64_t &value);
[[nodiscard]] MaybeError checkDim(const Signature &, const std::string &name, const std::string &text,
                                  int64_t &value);

/// Sets `numerics` and `permits` of the options to the requested profile, else TESSERA_NUMERICS, else
/// standard. Returns an error when there is no such profile.
[[nodiscard]] MaybeError chooseNumerics(const std::string &asked, CompileOptions &out);

} // namespace tessera::cli
