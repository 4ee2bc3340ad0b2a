// Runs a command in a child process, so that whatever happens to the compiler or to generated code, even a
// crash, ends with a documented exit status and a crash pack.
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
/// child, writes a crash pack and prints its name to stderr. TESSERA_SUPERVISE=0 runs the command in this
/// process (for debuggers).
int supervise(Job job, const std::function<int()> &command);

/// Records, for the crash pack, the options with which the compiler is about to be called. Does nothing
/// outside supervise().
void recordOptions(const CompileOptions &);

} // namespace tessera::cli
