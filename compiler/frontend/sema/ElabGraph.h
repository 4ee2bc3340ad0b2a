// State of the Elaborator while it elaborates a graph function.
#pragma once
#include "compiler/frontend/program/DimExpr.h"
#include "compiler/frontend/program/GraphProgram.h"
#include "compiler/frontend/sema/Elaborator.h"

namespace tessera::frontend {

using Dims = std::vector<DimExpr>;

/// A value of the function is in `out.values`. This has what is needed only during elaboration, by the
/// value's index.
struct GraphState {
  GraphFunction out;
  std::vector<Dims> dims;
  std::vector<int> newer; // the value that a kernel wrote over this tensor, or -1
  std::vector<std::string> names;
  std::map<std::string, DimExpr> extents;                     // what a DimRef of that text means
  std::map<std::pair<std::string, std::string>, int> kernels; // (name, bound dims) -> index into out.kernels
};

/// "[M, 4*D]"
std::string dimsText(const Dims &);

/// Are these the dims of a type that leaves open how many dims a tensor has, "[..., D]"?
bool hasLeading(const std::vector<Dim> &);

} // namespace tessera::frontend
