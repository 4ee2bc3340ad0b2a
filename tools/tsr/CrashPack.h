// Writes a folder with what is needed to reproduce a failure: the source, the options, the IR of every level
// that can still be produced, the metadata and the log.
#pragma once
#include "core/support/Expected.h"
#include "tools/tsr/Supervisor.h"

namespace tessera::cli {

/// Writes the pack into a new folder below TESSERA_CRASH_DIR (else TMPDIR, else /tmp) and returns its path.
/// E_OUTPUT_WRITE: the folder cannot be made or written. Must be called while the process has one thread,
/// because it forks to run the compiler.
Expected<std::string> writeCrashPack(const Job &, const std::string &reason, const std::string &log);

} // namespace tessera::cli
