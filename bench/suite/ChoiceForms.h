// A program with each of its variants or bodies forced in turn, in the text of Schedule IR.
#pragma once
#include "bench/suite/ChoicePrograms.h"
#include "bench/suite/Products.h"

namespace tessera::bench {

/// A program as it is compiled, and one bundle for each of its variants or bodies, which any extents run.
struct Forms {
  host::Kernel *chosen = nullptr;
  std::vector<std::string> names;
  std::vector<host::Kernel *> forced;
};

/// A program of rows and its variants.
Forms formsOf(const RowProgram &, Lab &);
/// A product and the bodies that can compute it.
Forms formsOf(const Product &, Lab &);

} // namespace tessera::bench
