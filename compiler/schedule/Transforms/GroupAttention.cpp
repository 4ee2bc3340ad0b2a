// Attention with an online softmax, as decision D5 corrects the algorithm (Dao et al., arXiv:2205.14135).
#include "compiler/schedule/Transforms/GroupProgram.h"
#include "compiler/support/DiagnosticCode.h"
#include <cmath>
#include <limits>

using namespace mlir;

namespace tessera::schedule {

LogicalResult GroupProgram::buildAttention() {
  auto op = cast<graph::AttentionOp>(group_.getBody().front().front());
  b_.at(op.getLoc());
  Tensor q = op.getQ().getType(), k = op.getK().getType();
  int64_t rank = q.getRank();
  Attribute rowDim = q.getDims()[rank - 1];
  std::optional<int64_t> width = staticExtent(rowDim);
  if (!width) {
    InFlightDiagnostic error = emitError(group_.getLoc())
                               << "attention keeps rows of " << rowDim
                               << " elements in the program; the value must be known at compile time (--dim)";
    setCode(error, "E_DIM_NOT_STATIC");
    return error;
  }
  DType dtype = dtypeOf(q);
  double scale =
      op.getScale() ? op.getScale()->convertToDouble() : 1 / std::sqrt(static_cast<double>(*width));
  int64_t queries = group_.getTile()[0], keys = group_.getTile()[1];
  DType wide = dtype == DType::F64 ? DType::F64 : DType::F32;
  constexpr double inf = std::numeric_limits<double>::infinity();
  auto mul = [&](ExprPtr a, ExprPtr b) { return b_.binary(Op::Mul, std::move(a), std::move(b)); };
  auto select = [&](ExprPtr c, ExprPtr a, ExprPtr b) {
    frontend::Type type = a->type;
    return b_.make(Op::Select, std::move(type), std::move(c), std::move(a), std::move(b));
  };
  auto number = [&](double v, const Shape &shape) { return b_.full(v, wide, shape); };

  // q and the result are indexed by the grid's batch axes; a key head serves Hq / Hk query heads.
  auto tileAt = [&](OpOperand &operand, ExprPtr row, int64_t rows) {
    auto type = cast<Tensor>(operand.get().getType());
    std::vector<ExprPtr> starts;
    std::vector<int64_t> ints(static_cast<size_t>(rank - 2), -1);
    for (int64_t d = 0; d < rank - 2; ++d) {
      ExprPtr index = type.isOne(d) ? b_.integer(0) : start(d);
      if (d == rank - 3 && !type.isOne(d) && type.getDims()[d] != q.getDims()[d]) {
        ExprPtr shared = b_.binary(Op::FloorDiv, extent(q.getDims()[d]), extent(type.getDims()[d]));
        index = b_.binary(Op::FloorDiv, std::move(index), std::move(shared));
      }
      starts.push_back(std::move(index));
    }
    starts.push_back(std::move(row));
    starts.push_back(b_.integer(0));
    ints.push_back(rows);
    ints.push_back(*width);
    return b_.load(params_[operand.get()], std::move(starts), std::move(ints));
  };

  Shape scores = {queries, keys}, rows = {queries}, column = {queries, 1}, out = {queries, *width};
  rows_ = rank - 2;
  SymbolId queryTile = b_.assign("q", tileAt(op->getOpOperand(0), start(rows_), queries));
  SymbolId acc = b_.assign("acc", number(0, out));
  SymbolId largest = b_.assign("m", number(-inf, rows));
  SymbolId sum = b_.assign("l", number(0, rows));
  SymbolId kv = b_.symbol("kv", ProgramBuilder::scalar(DType::I64));
  auto length = [&](Tensor t) { return extent(t.getDims()[rank - 2]); };
  // Query i sees keys up to i + (Sk - Sq).
  auto firstHidden = [&] {
    return b_.binary(Op::Add, start(rows_), b_.binary(Op::Sub, length(k), length(q)));
  };

  frontend::Block body;
  frontend::Block *outer = b_.into(&body);
  SymbolId keyTile = b_.assign("k", tileAt(op->getOpOperand(1), b_.var(kv), keys));
  SymbolId valueTile = b_.assign("v", tileAt(op->getOpOperand(2), b_.var(kv), keys));
  ExprPtr product = b_.make(Op::Mma, ProgramBuilder::tile(wide, scores), b_.var(queryTile), b_.var(keyTile));
  product->ints = {0, 1};
  ExprPtr s = mul(std::move(product), number(scale, scores));
  ExprPtr end = b_.broadcast(b_.cast(length(k), DType::I32), {keys});
  ExprPtr isKey = b_.expandDims(b_.compare(Op::Lt, b_.arange(b_.var(kv), keys), std::move(end)), 0);
  s = select(b_.broadcast(std::move(isKey), scores), std::move(s), number(-inf, scores));
  if (op.getCausal()) {
    frontend::Type type = s->type;
    s = b_.make(Op::CausalMask, std::move(type), std::move(s), firstHidden(), b_.var(kv));
  }
  SymbolId masked = b_.assign("s", std::move(s));
  auto reduce = [&](Op code, SymbolId x) {
    ExprPtr e = b_.make(code, ProgramBuilder::tile(wide, rows), b_.var(x));
    e->ints = {1};
    return e;
  };
  auto exp = [&](ExprPtr x) {
    frontend::Type type = x->type;
    return b_.make(Op::Exp, std::move(type), std::move(x));
  };
  auto spread = [&](SymbolId v, const Shape &shape) {
    return b_.broadcast(b_.expandDims(b_.var(v), 1), shape);
  };
  SymbolId larger = b_.assign("m_new", b_.binary(Op::Maximum, b_.var(largest), reduce(Op::Max, masked)));
  // A row without a visible key keeps -inf; shifting by 0 gives 0 instead of NaN.
  ExprPtr isEmpty = b_.compare(Op::Eq, b_.var(larger), number(-inf, rows));
  SymbolId shift = b_.assign("shift", select(std::move(isEmpty), number(0, rows), b_.var(larger)));
  SymbolId alpha = b_.assign("alpha", exp(b_.binary(Op::Sub, b_.var(largest), b_.var(shift))));
  SymbolId p = b_.assign("p", exp(b_.binary(Op::Sub, b_.var(masked), spread(shift, scores))));
  b_.rebind(sum, b_.binary(Op::Add, mul(b_.var(alpha), b_.var(sum)), reduce(Op::Sum, p)));
  ExprPtr weighted =
      b_.make(Op::Mma, ProgramBuilder::tile(wide, out), b_.cast(b_.var(p), dtype), b_.var(valueTile));
  weighted->ints = {0, 0};
  b_.rebind(acc, b_.binary(Op::Add, mul(spread(alpha, out), b_.var(acc)), std::move(weighted)));
  b_.rebind(largest, b_.var(larger));
  b_.into(outer);
  ExprPtr last = length(k);
  if (op.getCausal())
    last = b_.binary(Op::Minimum, std::move(last), b_.binary(Op::Add, firstHidden(), b_.integer(queries)));
  b_.loop(kv, b_.integer(0), std::move(last), keys, {acc, largest, sum}, group_.getStages().value_or(0),
          std::move(body));

  ExprPtr isSeen = b_.compare(Op::Gt, b_.expandDims(b_.var(sum), 1), number(0, column));
  ExprPtr y = select(b_.broadcast(std::move(isSeen), out), b_.binary(Op::Div, b_.var(acc), spread(sum, out)),
                     number(0, out));
  std::vector<ExprPtr> starts;
  std::vector<int64_t> ints(static_cast<size_t>(rank - 2), -1);
  for (int64_t d = 0; d < rank - 2; ++d)
    starts.push_back(start(d));
  starts.push_back(start(rows_));
  starts.push_back(b_.integer(0));
  ints.push_back(queries);
  ints.push_back(*width);
  b_.store(results_[0], b_.cast(std::move(y), dtype), std::move(starts), std::move(ints));
  return success();
}

} // namespace tessera::schedule
