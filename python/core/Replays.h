// The graphs of a function with capture_graph=True: one for each set of arrays and numbers that comes again.
#pragma once
#include "python/core/Code.h"
#include "python/core/Graph.h"
#include <memory>

namespace tessera::python {

struct Replay {
  std::vector<uint64_t> key;
  Ref graph; // null: the arguments have been seen once
  std::vector<Ref> results;
};

class Replays {
public:
  /// For the arguments of a call: null where they are new, an entry without a graph where they come for the
  /// second time, else a graph whose results nobody holds. Arrays that a graph holds stay alive, so an
  /// address names one array.
  std::shared_ptr<Replay> find(const Code &, TypeKind, void *const *pointers, const uint64_t *scalars,
                               const int64_t *dims);

private:
  static constexpr size_t kMost = 8;
  std::vector<std::shared_ptr<Replay>> list_; // the last one used is first; other threads may drop one
};

} // namespace tessera::python
