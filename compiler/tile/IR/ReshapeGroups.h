// The axes of a reshape that have their elements in common.
#pragma once
#include "mlir/Support/LLVM.h"

namespace tessera::tile {

/// Moves `i` and `j`, one axis each of two shapes with the same elements, past the smallest group of axes
/// from there on that have as many elements in both.
inline void passReshapeGroup(mlir::ArrayRef<int64_t> from, size_t &i, mlir::ArrayRef<int64_t> to, size_t &j) {
  int64_t mine = from[i++], theirs = to[j++];
  while (mine != theirs) {
    if (mine < theirs)
      mine *= from[i++];
    else
      theirs *= to[j++];
  }
}

} // namespace tessera::tile
