// A folder with what is needed to reproduce a failure: the source, the options, the IR of every level that
// can still be had, the metadata and the log.
#pragma once
#include "tools/tsr/Supervisor.h"

namespace tessera::cli {

/// Writes the pack into a new folder below TESSERA_CRASH_DIR (else TMPDIR, else /tmp) and returns its path;
/// empty with `why` when even that fails. Must be called while the process has one thread: it forks to ask
/// the compiler.
std::string writeCrashPack(const Job &, const std::string &reason, const std::string &log, std::string &why);

} // namespace tessera::cli
