// What the runtime asks of mappers, which stand above it. Defined in mapper/host (Variants.cpp,
// Algorithms.cpp, Mappers.cpp).
#pragma once
#include "core/service/CompilerService.h"
#include <memory>
#include <string_view>
#include <tessera/status.h>
#include <vector>

namespace tessera {

/// Asks the mapper in force, if there is one, about every open choice of the program and adds its answers to
/// `options.decisions`. Loads the compiler, which knows the choices, only when there is somebody to ask. A
/// failure leaves an error in `diags`. Exported by libtessera.so for its tools. Thread-safe.
__attribute__((visibility("default"))) tsr_status_t decideVariants(std::string_view source,
                                                                   CompileOptions &options,
                                                                   std::vector<Diagnostic> &diags);

/// Is it the name of a mapper that comes with Tessera? Such a one is never looked for among plugins.
bool isBuiltinMapper(std::string_view name);

/// What the mapper in force chooses for the collectives of one rank's end that name no algorithm. Without a
/// mapper, or with `default`, a question costs two loads; a mapper is asked once for each kind, size and
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

  AlgorithmChoices();
  ~AlgorithmChoices();
  AlgorithmChoices(const AlgorithmChoices &) = delete;
  AlgorithmChoices &operator=(const AlgorithmChoices &) = delete;

  struct Record;
  /// Is there nobody to ask?
  bool isQuiet() const noexcept;
  /// The decision about `call`; null: nobody decides. Stands as long as this. A mapper that fails, or answers
  /// what is not legal: a status with `why`.
  tsr_status_t choose(const Call &call, Record *&out, std::string &why);
  /// The algorithm decided for; "": the implementation's own.
  static const char *algorithmOf(const Record &);
  /// One call of that decision took so long.
  void measured(Record &, uint64_t nanoseconds);
  /// Every decision, a JSON array.
  std::string json() const;

private:
  struct State;
  const std::unique_ptr<State> state_;
};

} // namespace tessera
