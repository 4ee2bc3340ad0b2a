// What the runtime asks of mappers. They are a component above core (mapper/), which core reaches through the
// interface here: runtime/Parts.cpp registers the implementation when libtessera.so is loaded.
#pragma once
#include "core/service/CompilerService.h"
#include <memory>
#include <string_view>
#include <tessera/status.h>
#include <vector>

namespace tessera {

/// What the mapper in force chooses for the collectives of one rank's end that name no algorithm. Without a
/// mapper, or with `default`, a question costs two loads. A mapper is asked once for each kind, size and
/// number of ranks in this process, so that ranks of one process agree. Thread-safe.
class AlgorithmChoices {
public:
  /// A call: by how many ranks, over what, and the names to choose from, comma-separated.
  struct Call {
    const char *kind = "";
    uint64_t bytes = 0;
    uint32_t ranks = 0;
    const char *topology = "", *algorithms = "";
  };
  /// One decision. Lives as long as the AlgorithmChoices.
  struct Record;

  virtual ~AlgorithmChoices() = default;
  /// True if there is no mapper to ask.
  virtual bool isQuiet() const noexcept = 0;
  /// The decision about `call`; null: nobody decides. If the mapper fails, or its answer is not legal: a
  /// status with `why`.
  virtual tsr_status_t choose(const Call &call, Record *&out, std::string &why) = 0;
  /// The algorithm of a decision; "": the implementation's own.
  virtual const char *algorithmOf(const Record &) const = 0;
  /// Notes how long one call of that decision took.
  virtual void measured(Record &, uint64_t nanoseconds) = 0;
  /// Every decision, a JSON array.
  virtual std::string json() const = 0;
};

/// The component as core sees it. One constant object, thread-safe.
class Mappers {
public:
  virtual tsr_status_t decideVariants(std::string_view source, CompileOptions &,
                                      std::vector<Diagnostic> &diags) const = 0;
  virtual bool isBuiltin(std::string_view name) const = 0;
  virtual std::unique_ptr<AlgorithmChoices> makeAlgorithmChoices() const = 0;

protected:
  ~Mappers() = default;
};
/// `mappers` must live as long as the process. Call it before any other thread exists.
void setMappers(const Mappers &mappers);

/// Asks the mapper in force, if there is one, about every open choice of the program and adds its answers to
/// `options.decisions`. Loads the compiler, which knows the choices, only if there is a mapper to ask. A
/// failure leaves an error in `diags`. Exported by libtessera.so for its tools. Thread-safe.
__attribute__((visibility("default"))) tsr_status_t decideVariants(std::string_view source,
                                                                   CompileOptions &options,
                                                                   std::vector<Diagnostic> &diags);

/// Whether it is the name of a mapper that comes with Tessera. Such a mapper is never looked for among
/// plugins.
bool isBuiltinMapper(std::string_view name);

std::unique_ptr<AlgorithmChoices> makeAlgorithmChoices();

} // namespace tessera
