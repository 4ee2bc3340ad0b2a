// What `run` and `compile` share: the source file, its kernels, and the compiler's diagnostics.
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

/// Shows the diagnostics, and says what the status means if none did. Returns the exit status; exitOk only
/// for Ok.
int conclude(CompileStatus, const std::vector<Diagnostic> &);

/// The compiler, or an error said and null.
CompilerService *needCompiler();

/// Sets the mapper that --mapper names; "": none is given.
[[nodiscard]] MaybeError chooseMapper(const std::string &spec);
/// Asks the mapper in force about every open choice; its answers go into `options`. Returns the exit status.
int decide(const Arguments &, std::string_view source, CompileOptions &options);

/// The one kernel that was named, or "".
inline std::string onlyKernel(const CompileOptions &o) { return o.kernels.empty() ? "" : o.kernels.front(); }

/// The kernel `name`, or the only one when `name` is empty.
[[nodiscard]] MaybeError chooseKernel(const std::vector<Signature> &, const std::string &name,
                                      const Signature *&out);

/// Checks one --set and one --dim against the kernel.
[[nodiscard]] MaybeError checkTunable(const Signature &, const std::string &name, const std::string &text,
                                      int64_t &value);
[[nodiscard]] MaybeError checkDim(const Signature &, const std::string &name, const std::string &text,
                                  int64_t &value);

/// The profile that was asked for, else TESSERA_NUMERICS, else standard: `numerics` and `permits` of the
/// options. An error when there is no such one.
[[nodiscard]] MaybeError chooseNumerics(const std::string &asked, CompileOptions &out);

} // namespace tessera::cli
