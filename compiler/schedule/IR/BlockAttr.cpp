// #schedule.block: syntax and rules.
#include "compiler/schedule/IR/ScheduleDialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tessera::schedule {

constexpr int64_t kRegisterStep = 8;

int64_t BlockAttr::registersAtEntry(int64_t copyWarps, int64_t copyRegisters, int64_t mathWarps,
                                    int64_t mathRegisters) {
  const int64_t all = copyWarps * copyRegisters + mathWarps * mathRegisters;
  return llvm::alignTo(llvm::divideCeil(all, copyWarps + mathWarps), kRegisterStep);
}

/// One of
///   roles = [copy: 4 warps, 40 registers, math: 8 warps, 232 registers], cluster = [2, 1], persistent
///   roles = [copy: 1 warps, multiply: 1 warps, math: 4 warps], sums = 2, persistent
/// `pingpong` may stand before `persistent`.
Attribute BlockAttr::parse(AsmParser &p, Type) {
  const SMLoc where = p.getCurrentLocation();
  bool hasMore = false; // a comma was read
  auto comma = [&] { return hasMore = succeeded(p.parseOptionalComma()), success(); };
  auto warpsOf = [&](int64_t &warps) -> ParseResult {
    return failure(p.parseColon() || p.parseInteger(warps) || p.parseKeyword("warps") || failed(comma()));
  };
  auto registersOf = [&](int64_t &registers) -> ParseResult {
    if (!hasMore) return success();
    const OptionalParseResult number = p.parseOptionalInteger(registers);
    if (!number.has_value()) return success();
    return failure(failed(*number) || p.parseKeyword("registers") || failed(comma()));
  };
  auto next = [&]() -> ParseResult {
    if (hasMore) return success();
    return p.parseComma();
  };
  int64_t copyWarps = 0, copyRegisters = 0, multiplyWarps = 0, mathWarps = 0, mathRegisters = 0;
  if (p.parseLess() || p.parseKeyword("roles") || p.parseEqual() || p.parseLSquare() ||
      p.parseKeyword("copy") || warpsOf(copyWarps) || registersOf(copyRegisters) || next())
    return {};
  if (succeeded(p.parseOptionalKeyword("multiply"))) {
    if (warpsOf(multiplyWarps) || next()) return {};
    if (multiplyWarps == 0) // in the attribute, 0 says that there is no such role
      return p.emitError(where, "role multiply has 0 warps; leave it out"), Attribute();
  }
  if (p.parseKeyword("math") || warpsOf(mathWarps) || registersOf(mathRegisters)) return {};
  if (hasMore) return p.emitError(p.getCurrentLocation(), "expected ']' in place of the comma"), Attribute();
  if (p.parseRSquare()) return {};
  int64_t rows = 1, columns = 1, sums = 1;
  (void)comma();
  if (hasMore && succeeded(p.parseOptionalKeyword("cluster")) &&
      (p.parseEqual() || p.parseLSquare() || p.parseInteger(rows) || p.parseComma() ||
       p.parseInteger(columns) || p.parseRSquare() || failed(comma())))
    return {};
  if (hasMore && succeeded(p.parseOptionalKeyword("sums")) &&
      (p.parseEqual() || p.parseInteger(sums) || failed(comma())))
    return {};
  const bool pingpong = hasMore && succeeded(p.parseOptionalKeyword("pingpong"));
  if (pingpong) (void)comma();
  if ((hasMore && p.parseKeyword("persistent")) || p.parseGreater()) return {};
  return p.getChecked<BlockAttr>(where, p.getContext(), copyWarps, copyRegisters, multiplyWarps, mathWarps,
                                 mathRegisters, rows, columns, sums, pingpong, hasMore);
}

void BlockAttr::print(AsmPrinter &p) const {
  auto role = [&](StringRef name, int64_t warps, int64_t registers) {
    p << name << ": " << warps << " warps";
    if (registers) p << ", " << registers << " registers";
  };
  p << "<roles = [";
  role("copy", getCopyWarps(), getCopyRegisters());
  if (getMultiplyWarps()) role(", multiply", getMultiplyWarps(), 0);
  role(", math", getMathWarps(), getMathRegisters());
  p << "]";
  if (programsOfCluster() > 1) p << ", cluster = [" << getClusterRows() << ", " << getClusterColumns() << "]";
  if (getSums() > 1) p << ", sums = " << getSums();
  p << (getPingpong() ? ", pingpong" : "") << (getPersistent() ? ", persistent>" : ">");
}

/// Returns why warps cannot have these roles, or an empty text.
static std::string whyNotRoles(int64_t copyWarps, int64_t copyRegisters, int64_t multiplyWarps,
                               int64_t mathWarps, int64_t mathRegisters) {
  constexpr int64_t kGroup = 4, kLeast = 24, kMost = 256; // what setmaxnreg takes
  for (auto [role, warps, registers] :
       {std::tuple("copy", copyWarps, copyRegisters), std::tuple("math", mathWarps, mathRegisters)}) {
    const int64_t group = multiplyWarps && StringRef(role) == "copy" ? 1 : kGroup;
    if (warps < group || warps % group)
      return llvm::formatv("role {0} has {1} warps, which is no multiple of {2}", role, warps, group);
    if (multiplyWarps && registers)
      return llvm::formatv("role {0} has {1} registers; beside a role multiply registers are not divided",
                           role, registers);
    if (!multiplyWarps && (registers < kLeast || registers > kMost || registers % kRegisterStep))
      return llvm::formatv("role {0} has {1} registers, not a multiple of {2} from {3} to {4}", role,
                           registers, kRegisterStep, kLeast, kMost);
  }
  return multiplyWarps < 0 ? llvm::formatv("role multiply has {0} warps", multiplyWarps).str() : "";
}

LogicalResult BlockAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, int64_t copyWarps,
                                int64_t copyRegisters, int64_t multiplyWarps, int64_t mathWarps,
                                int64_t mathRegisters, int64_t clusterRows, int64_t clusterColumns,
                                int64_t sums, bool pingpong, bool persistent) {
  constexpr int64_t kGroup = 4, kMostWarps = 32;
  if (const std::string why = whyNotRoles(copyWarps, copyRegisters, multiplyWarps, mathWarps, mathRegisters);
      !why.empty())
    return emitError() << why;
  if (sums < 1) return emitError() << "sums = " << sums << ": a block has at least one set of sums";
  if (sums > 1 && !multiplyWarps)
    return emitError() << "sums = " << sums << " is for sums in tensor memory; there is no role multiply";
  if (sums > 1 && !persistent)
    return emitError() << "sums = " << sums
                       << " lets sums be stored while the block's next program multiplies; the grid is not "
                          "persistent";
  if (const int64_t warps = copyWarps + multiplyWarps + mathWarps; warps > kMostWarps)
    return emitError() << "the roles have " << warps << " warps; a block has at most " << kMostWarps;
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
