// The arguments of a library op in a graph function, evaluated.
#pragma once
#include "compiler/frontend/sema/ElabGraph.h"

namespace tessera::frontend {

struct Elaborator::GraphArguments {
  std::vector<std::optional<Value>> values; // by parameter; nothing when left out
  std::vector<Range> locs;

  Value &operator[](size_t i) { return *values[i]; }
  bool given(size_t i) const { return i < values.size() && values[i].has_value(); }
  Range loc(size_t i) const { return locs[i]; }
};

} // namespace tessera::frontend
