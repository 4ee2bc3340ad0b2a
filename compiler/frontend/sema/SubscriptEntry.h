// One entry of a subscript of a graph function.
#pragma once
#include "compiler/frontend/sema/ElabGraph.h"

namespace tessera::frontend {

/// What one entry of a subscript selects along a dim of the tensor, or an axis that it inserts. A `...` is a
/// slice of each dim that is not indexed. Where no dim is left it is NoDims, which still separates indices.
struct Entry {
  enum Kind : uint8_t { NewAxis, Slice, Number, Indices, NoDims };
  Kind kind;
  Range loc;
  DimExpr extent = DimExpr(1); // of a NewAxis, Slice or Number, or of Indices that are a range
  DimExpr start = DimExpr(0);  // of a Slice or Number, or of such Indices
  int64_t step = 1;            // of a Slice, or of such Indices
  bool isRange = false;        // of Indices: at equal distances, as those of a slice
  Value indices = {};          // of Indices: i64, counted from the beginning of the dim
  bool makesAxis() const { return kind == NewAxis || kind == Slice; }
  bool hasDim() const { return kind != NewAxis && kind != NoDims; }
  bool isIndex() const { return kind == Number || kind == Indices; }
};

} // namespace tessera::frontend
