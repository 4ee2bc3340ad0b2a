// Runs a command in a child process, so that nothing that happens to the compiler or to generated code, not
// even a crash, ends without an exit status of the documented kind and a crash pack.
#pragma once
#include "core/service/CompilerService.h"
#include <functional>
#include <string>

namespace tessera::cli {

/// What a crash pack needs to reproduce the run.
struct Job {
  std::string commandLine;
  std::string file, source; // path and text of the program
  CompileOptions options;
};

/// Runs `command` in a child and returns its exit status. When that is exitFailed, or a signal ended the
/// child, writes a crash pack and names it on stderr. TESSERA_SUPERVISE=0 runs the command in this process
/// (for debuggers).
int supervise(Job job, const std::function<int()> &command);

/// Tells the supervising process with which options the compiler is about to be called, for the crash pack.
/// Does nothing outside supervise().
void recordOptions(const CompileOptions &);

} // namespace tessera::cli
