// Work is counted in halves of operations of f32 vectors. A core does fma_f32 operations in a nanosecond, two
// for each multiply-add, so that a cost scales with the clock and the width of vectors. The numbers were
// fitted to shapes of `./dev bench choice` (docs/decisions/0149), those of products with seeds 1, 7, 11
// and 12.
#include "plugins/cpu/codegen/Costs.h"
#include "compiler/schedule/IR/GroupSpace.h"
#include "compiler/tile/IR/DTypes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace tessera::cpu {
namespace {

using codegen::VariantRequest;
using graph::ReduceKind;
using graph::TensorType;
using graph::UnaryKind;
using llvm::formatv;

/// Work for each element.
constexpr int64_t kSimple = 4, kDivide = 18, kFunction = 48, kSum = 10, kExtreme = 16, kWidenedExtreme = 22,
                  kFind = 36, kFindBytes = 24, kScan = 134, kStore = 6;
/// Work for each row: to fold the lanes of a reduction (of floats that are widened), and to begin a row
/// of a scan or of columns.
constexpr int64_t kFold = 1400, kFoldWidened = 1900, kBegin = 150;
constexpr int64_t kFoldShort = 700, kFoldShortWidened = 1300, kFoldShortFind = 2000;
/// The end of a row that is no whole tile takes as long as so many columns more. With fewer, functions of a
/// short row would cost more than those of a general one.
constexpr int64_t kRowEnd = 64;
/// A launch, and of a product the call of its body, for each product of a batch and each element of A, B and
/// padded C. Elements of a transposed operand are copied; narrow ones are packed anyhow.
constexpr int64_t kLaunch = 90'000, kCall = 8000;
struct WorkOfProduct {
  int64_t ofProduct, ofA, ofB, ofC, ofTransposedB;
};
constexpr WorkOfProduct kWide = {1200, 5, 2, 11, 12}, kNarrow = {8700, 7, 7, 33, 0};
constexpr int64_t kOfTransposedA = 16;
/// The last step of k of a dot takes as long as so many more.
constexpr int64_t kEndOfDot = 56;
/// With fewer elements a further core takes longer to begin than it saves.
constexpr int64_t kElementsOfCore = 16384;

/// What a group does with each element of its space, and for each row.
struct Work {
  int64_t ofElement = 0, ofRow = 0;
  int64_t bytes = 0; // of each element that are read, and twice those that are written
};

bool spans(Value v, TensorType space) {
  auto type = dyn_cast<TensorType>(v.getType());
  return type && type.getDims() == space.getDims();
}

int64_t bytesOf(Value v) {
  return (cast<TensorType>(v.getType()).getElementType().getIntOrFloatBitWidth() + 7) / 8;
}

bool isFunction(UnaryKind kind) {
  switch (kind) {
  case UnaryKind::Neg:
  case UnaryKind::Abs:
  case UnaryKind::Not:
  case UnaryKind::Relu:
  case UnaryKind::Floor:
  case UnaryKind::Ceil:
  case UnaryKind::Trunc:
  case UnaryKind::Round:
    return false;
  default:
    return true;
  }
}

/// The operations of a reduction, for each element and for each row.
std::pair<int64_t, int64_t> reductionOf(graph::ReduceOp reduce, bool readsNarrow, RowBody body) {
  const bool isInteger = !isa<FloatType>(reduce.getInput().getType().getElementType());
  const bool isWidened = readsNarrow && !isInteger, isShort = body == RowBody::Short;
  const int64_t fold = isWidened ? (isShort ? kFoldShortWidened : kFoldWidened)
                       : isShort ? kFoldShort
                                 : kFold;
  switch (reduce.getKind()) {
  case ReduceKind::ArgMax:
  case ReduceKind::ArgMin:
    return {isInteger && readsNarrow ? kFindBytes : kFind, isShort ? kFoldShortFind : kFold};
  case ReduceKind::Max:
  case ReduceKind::Min:
    return {isWidened ? kWidenedExtreme : kExtreme, fold};
  default:
    return {kSum, fold};
  }
}

Work workOf(const VariantRequest &request, RowBody body) {
  schedule::GroupOp group = request.group;
  schedule::GroupSpace space;
  for (Operation &op : group.getBody().front().without_terminator())
    if (!op.hasTrait<OpTrait::ConstantLike>()) (void)space.add(&op);
  Work out;
  int64_t functions = 0, reductions = 0;
  for (Operation &op : group.getBody().front().without_terminator()) {
    if (auto reduce = dyn_cast<graph::ReduceOp>(op)) {
      const auto [ofElement, ofRow] = reductionOf(reduce, request.readsNarrow, body);
      reductions += ofElement;
      out.ofRow += ofRow;
    } else if (isa<graph::ScanOp>(op)) {
      reductions += request.reducesOuterAxis ? 2 * kSum : kScan;
      out.ofRow += kBegin;
    } else if (op.getNumResults() == 1 && spans(op.getResult(0), space.space())) {
      auto unary = dyn_cast<graph::UnaryOp>(op);
      auto binary = dyn_cast<graph::BinaryOp>(op);
      functions += unary && isFunction(unary.getKind())                   ? kFunction
                   : binary && binary.getKind() == graph::BinaryKind::Div ? kDivide
                                                                          : kSimple;
    }
  }
  for (Value input : group.getInputs())
    if (spans(input, space.space())) out.bytes += bytesOf(input);
  for (Value result : group.getResults())
    if (spans(result, space.space())) out.bytes += 2 * bytesOf(result), functions += kStore;
  // Short rows fill vectors in part, and several of them are folded together.
  if (body == RowBody::Short && !request.reducesOuterAxis && group.getKind() != schedule::GroupKind::Scan)
    reductions = reductions * 3 / 10, functions = functions * 5 / 4;
  if (body == RowBody::Streamed) reductions = request.finds ? reductions * 2 / 3 : reductions * 9 / 10;
  out.ofElement = reductions + functions;
  return out;
}

/// Nanoseconds to move so many bytes. Tensors that the cache holds are there; of larger ones, nothing is left
/// there by the next pass.
std::string timeOfTraffic(const std::string &bytes) {
  return formatv("min({0}, max(0, 2 * ({0} - l2))) // bw3 + min({0}, max(0, 2 * ({0} - l3))) // bwm", bytes);
}

/// A launch and `compute` nanoseconds of work, which is divided among as many cores as have programs and
/// enough elements. If memory is slower, it decides.
std::string costOf(int64_t launch, const std::string &compute, const std::string &bytes,
                   const std::string &programs, const std::string &elements) {
  return formatv("{0} // (2 * fma_f32) + max({1}, {2}) // max(1, min(cores, min({3}, {4} // {5})))", launch,
                 compute, timeOfTraffic(bytes), programs, elements, kElementsOfCore);
}

/// "B * rows", or "rows" if there is no batch.
std::string times(const VariantRequest &request, StringRef extents) {
  return request.extent("B") == 1 ? extents.str() : ("B * " + extents).str();
}

} // namespace

std::string costOfRows(const VariantRequest &request, RowBody body, int64_t rows) {
  const Work work = workOf(request, body);
  const std::string all = times(request, "rows"), elements = times(request, "rows * columns");
  const bool scans = schedule::GroupOp(request.group).getKind() == schedule::GroupKind::Scan;
  std::string operations, programs;
  if (request.reducesOuterAxis) { // whole vectors of columns, row after row
    operations = formatv("{0} * ({1} + ceildiv(columns, 16) * {2})", all, kBegin, 16 * work.ofElement);
    programs = formatv("ceildiv(columns, {0})", 512);
  } else {
    const bool isShort = body == RowBody::Short;
    const std::string columns = isShort && !scans ? "ceildiv(columns, 32) * 32"
                                : scans           ? "columns"
                                                  : formatv("(columns + {0})", kRowEnd).str();
    const std::string fold = isShort && !scans ? formatv("{0} * ceildiv(columns, 64)", work.ofRow).str()
                                               : std::to_string(work.ofRow);
    // A scan of fewer rows than a tile has takes as long as one of a tile.
    const std::string counted = scans && !isShort ? formatv("max({0}, {1})", all, rows).str() : all;
    operations = formatv("{0} * ({1} + {2} * {3})", counted, fold, columns, work.ofElement);
    programs = formatv("ceildiv({0}, {1})", all, rows);
  }
  return costOf(kLaunch, operations + " // (2 * fma_f32)", formatv("{0} * {1}", elements, work.bytes),
                programs, elements);
}

std::string costOfProduct(const VariantRequest &request, DType operand, bool hasPairsOfBf16) {
  const char *rate = operand == DType::F64                      ? "fma_f64"
                     : operand == DType::I8                     ? "fma_i8"
                     : operand == DType::BF16 && hasPairsOfBf16 ? "fma_bf16"
                                                                : "fma_f32";
  auto product = *schedule::GroupOp(request.group).getBody().front().getOps<graph::MatmulOp>().begin();
  const int64_t bytes = storageBytes(operand), lanes = operand == DType::F64 ? 8 : 16;
  // Lanes are along n, or along k where there are few columns. The peak is nearly reached.
  const std::string steps =
      formatv("min(M * ceildiv(N, {0}) * {0} * K, M * N * (K + {1}))", lanes, kEndOfDot);
  const WorkOfProduct &work = bytes < 4 ? kNarrow : kWide;
  const std::string others = formatv("{0} + M * K * {1} + K * N * {2} + M * N * {3}", work.ofProduct,
                                     work.ofA + (product.getTransA() ? kOfTransposedA : 0),
                                     work.ofB + (product.getTransB() ? work.ofTransposedB : 0), work.ofC);
  const std::string compute = formatv("({0}) * 21 // (10 * {1}) + {2} // (2 * fma_f32)",
                                      request.extent("B") == 1 ? steps : "B * " + steps, rate,
                                      request.extent("B") == 1 ? "(" + others + ")" : "B * (" + others + ")");
  const std::string traffic = formatv("{0} * ({1})", bytes, times(request, "(M * K + K * N + 2 * M * N)"));
  return costOf(kLaunch + kCall, compute, traffic, times(request, "ceildiv(M, 48) * ceildiv(N, 64)"),
                times(request, "M * N * K // 64"));
}

} // namespace tessera::cpu
