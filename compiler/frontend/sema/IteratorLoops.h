// Turns implicit tile iterators that reduce into For loops around the statements that depend on them.
#pragma once
#include "compiler/frontend/diagnostics/Diagnostics.h"
#include "compiler/frontend/program/Program.h"
#include <set>
#include <string>
#include <vector>

namespace tessera::frontend {

struct ReductionIterator {
  SymbolId symbol;
  std::string name;
  ExprPtr extent; // i64: the dim that it iterates over
  int64_t step;
  Range loc;
};

/// Returns every symbol that the index of a store or an atomic is computed from.
std::set<SymbolId> writtenIndexSymbols(const Block &);

/// Before: a straight-line body that uses each iterator as if it were one tile.
///   cp_async(a, A[m, k]); cp_async(b, B[k, n]); barrier; acc = mma(a, b); C[m, n] += acc
/// After: the statements that depend on k are in a loop, the accumulation starts at zero, and what follows
/// runs once.
///   t = 0; for k { cp_async..; cp_async..; barrier; t = mma(a, b, t); barrier }; acc = t; C[m, n] += acc
/// The last barrier keeps the copies of the next iteration out of buffers that are still read. Iterators
/// whose spans overlap become one nest. Errors (nothing accumulates, a total is needed inside its own loop)
/// are reported to the sink.
void formReductionLoops(Kernel &, std::vector<ReductionIterator>, DiagnosticSink &);

} // namespace tessera::frontend
