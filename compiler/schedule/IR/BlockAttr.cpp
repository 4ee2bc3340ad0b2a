// #schedule.block: syntax and rules.
#include "compiler/schedule/IR/ScheduleDialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tessera::schedule {

constexpr int64_t kRegisterStep = 8;

int64_t BlockAttr::registersAtEntry(int64_t copyWarps, int64_t copyRegisters, int64_t mathWarps,
                                    int64_t mathRegisters) {
  const int64_t all = copyWarps * copyRegisters + mathWarps * mathRegisters;
  return llvm::alignTo(llvm::divideCeil(all, copyWarps + mathWarps), kRegisterStep);
}

/// roles = [copy: 4 warps, 40 registers, math: 8 warps, 232 registers], cluster = [2, 1], pingpong,
/// persistent
Attribute BlockAttr::parse(AsmParser &p, Type) {
  int64_t numbers[4] = {};
  const SMLoc where = p.getCurrentLocation();
  auto role = [&](StringRef name, int64_t *to) -> ParseResult {
    return failure(p.parseKeyword(name) || p.parseColon() || p.parseInteger(to[0]) ||
                   p.parseKeyword("warps") || p.parseComma() || p.parseInteger(to[1]) ||
                   p.parseKeyword("registers"));
  };
  if (p.parseLess() || p.parseKeyword("roles") || p.parseEqual() || p.parseLSquare() ||
      role("copy", numbers) || p.parseComma() || role("math", numbers + 2) || p.parseRSquare())
    return {};
  int64_t rows = 1, columns = 1;
  bool hasMore = succeeded(p.parseOptionalComma());
  if (hasMore && succeeded(p.parseOptionalKeyword("cluster"))) {
    if (p.parseEqual() || p.parseLSquare() || p.parseInteger(rows) || p.parseComma() ||
        p.parseInteger(columns) || p.parseRSquare())
      return {};
    hasMore = succeeded(p.parseOptionalComma());
  }
  const bool pingpong = hasMore && succeeded(p.parseOptionalKeyword("pingpong"));
  if (pingpong) hasMore = succeeded(p.parseOptionalComma());
  if ((hasMore && p.parseKeyword("persistent")) || p.parseGreater()) return {};
  return p.getChecked<BlockAttr>(where, p.getContext(), numbers[0], numbers[1], numbers[2], numbers[3], rows,
                                 columns, pingpong, hasMore);
}

void BlockAttr::print(AsmPrinter &p) const {
  p << "<roles = [copy: " << getCopyWarps() << " warps, " << getCopyRegisters()
    << " registers, math: " << getMathWarps() << " warps, " << getMathRegisters() << " registers]";
  if (programsOfCluster() > 1) p << ", cluster = [" << getClusterRows() << ", " << getClusterColumns() << "]";
  p << (getPingpong() ? ", pingpong" : "") << (getPersistent() ? ", persistent>" : ">");
}

LogicalResult BlockAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, int64_t copyWarps,
                                int64_t copyRegisters, int64_t mathWarps, int64_t mathRegisters,
                                int64_t clusterRows, int64_t clusterColumns, bool pingpong, bool) {
  // What setmaxnreg takes.
  constexpr int64_t kGroup = 4, kLeast = 24, kMost = 256, kMostWarps = 32;
  for (auto [role, warps, registers] :
       {std::tuple("copy", copyWarps, copyRegisters), std::tuple("math", mathWarps, mathRegisters)}) {
    if (warps < kGroup || warps % kGroup)
      return emitError() << "role " << role << " has " << warps << " warps, which is no multiple of "
                         << kGroup;
    if (registers < kLeast || registers > kMost || registers % kRegisterStep)
      return emitError() << "role " << role << " has " << registers << " registers, not a multiple of "
                         << kRegisterStep << " from " << kLeast << " to " << kMost;
  }
  if (copyWarps + mathWarps > kMostWarps)
    return emitError() << "the roles have " << copyWarps + mathWarps << " warps; a block has at most "
                       << kMostWarps;
  if (pingpong && mathWarps < 2 * kGroup)
    return emitError() << "with pingpong at least 2 groups of " << kGroup
                       << " warps take turns; role math has " << mathWarps << " warps";
  constexpr int64_t kMostInCluster = 8; // what every device with clusters has
  if (clusterRows < 1 || clusterColumns < 1)
    return emitError() << "a cluster of [" << clusterRows << ", " << clusterColumns
                       << "] programs is none: extents are at least 1";
  if (clusterRows > 1 && clusterColumns > 1)
    return emitError() << "a cluster of [" << clusterRows << ", " << clusterColumns
                       << "] programs is no row and no column of them";
  if (clusterRows * clusterColumns > kMostInCluster)
    return emitError() << "a cluster has " << clusterRows * clusterColumns << " programs; at most "
                       << kMostInCluster << " are possible";
  return success();
}

} // namespace tessera::schedule
