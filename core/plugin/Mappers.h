// The runtime's interface to mappers. The component mapper/ is layered above core, so core reaches it through
// this interface: runtime/Parts.cpp registers the implementation when libtessera.so is loaded.
#pragma once
#include "core/service/CompilerService.h"
#include <memory>
#include <string_view>
#include <tessera/status.h>
#include <vector>

namespace tessera {

/// The active mapper's choices for collective calls that name no algorithm, for one rank's endpoint. Without
/// a mapper, or with the mapper `default`, a query costs two loads. The mapper is asked once per kind, size
/// and number of ranks in this process, so that all ranks of one process agree. Thread-safe.
class AlgorithmChoices {
public:
  /// A collective call: number of ranks, topology, and the algorithm names to choose from, comma-separated.
  struct Call {
    const char *kind = "";
    uint64_t bytes = 0;
    uint32_t ranks = 0;
    const char *topology = "", *algorithms = "";
  };
  /// One decision. It lives as long as the AlgorithmChoices.
  struct Record;

  virtual ~AlgorithmChoices() = default;
  /// Returns true if there is no mapper to ask.
  virtual bool isQuiet() const noexcept = 0;
  /// Sets `out` to the decision about `call`, or to null if no mapper decides. If the mapper fails, or its
  /// answer is not legal, returns an error status with `why` filled.
  virtual tsr_status_t choose(const Call &call, Record *&out, std::string &why) = 0;
  /// Returns the algorithm of a decision; "": the implementation's own choice.
  virtual const char *algorithmOf(const Record &) const = 0;
  /// Records how long one call with that decision took.
  virtual void measured(Record &, uint64_t nanoseconds) = 0;
  /// Returns every decision as a JSON array.
  virtual std::string json() const = 0;
};

/// The mapper component's interface to core. Implemented by one constant object, thread-safe.
class Mappers {
public:
  virtual tsr_status_t decideVariants(std::string_view source, CompileOptions &,
                                      std::vector<Diagnostic> &diags) const = 0;
  virtual bool isBuiltin(std::string_view name) const = 0;
  virtual std::unique_ptr<AlgorithmChoices> makeAlgorithmChoices() const = 0;

protected:
  ~Mappers() = default;
};
/// Sets the implementation. `mappers` must live as long as the process. Call this before any other thread
/// exists.
void setMappers(const Mappers &mappers);

/// Asks the active mapper, if there is one, about every open choice of the program and adds its answers to
/// `options.decisions`. Loads the compiler, which knows the choices, only if there is a mapper to ask. A
/// failure leaves an error in `diags`. Exported by libtessera.so for its tools. Thread-safe.
__attribute__((visibility("default"))) tsr_status_t decideVariants(std::string_view source,
                                                                   CompileOptions &options,
                                                                   std::vector<Diagnostic> &diags);

/// Returns whether `name` is a mapper that comes with Tessera. Plugins are not searched for such a mapper.
bool isBuiltinMapper(std::string_view name);

std::unique_ptr<AlgorithmChoices> makeAlgorithmChoices();

} // namespace tessera
