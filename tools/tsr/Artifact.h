// What `run` and `kernels` take beside sources: bundles, and IR, which is compiled to one. Their kernels are
// described by the metadata.
#pragma once
#include "core/metadata/KernelMetadata.h"
#include "core/support/Expected.h"
#include "tools/options/Options.h"
#include "tools/tsr/Supervisor.h"
#include <initializer_list>

namespace tessera::cli {

/// Is it a bundle or IR, by the end of its name?
bool isArtifact(const std::string &file);

/// Returns why an option has no meaning for a compiled file, if one of them is given.
[[nodiscard]] MaybeError refuseOptions(const Arguments &, const std::string &file,
                                       std::initializer_list<const char *> options);

/// Reads `job.file`, a bundle, or IR as the text of `job.source`.
[[nodiscard]] MaybeError readArtifact(Job &job);

/// Sets `bytes` to the bundle, or compiles the IR to one for `target`. Prints the compiler's diagnostics.
/// Returns the exit status.
int bundleOf(const Job &job, const std::string &target, std::string &bytes);

/// The kernels and functions of the first image, without those that functions launch.
[[nodiscard]] Expected<std::vector<KernelMetadata>> kernelsOf(const std::string &bytes,
                                                              const std::string &file);

Signature signatureOf(const KernelMetadata &);

} // namespace tessera::cli
