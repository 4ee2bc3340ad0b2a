// Groups that move data by index: gather and concat.
#include "compiler/frontend/Frontend.h"
#include "compiler/schedule/Transforms/GroupProgram.h"

using namespace mlir;

namespace tessera::schedule {

/// A row of one element has a lane instead of a program: the element at an index outside the table reads as
/// 0, which is the gather's own rule.
void GroupProgram::buildElementGather(graph::GatherOp op) {
  Tensor indices = op.getIndices().getType();
  std::vector<ExprPtr> place(static_cast<size_t>(indices.getRank()));
  ExprPtr left = indices.getRank() ? b_.make(Op::LaneId, ProgramBuilder::scalar(DType::I64)) : nullptr;
  for (int64_t d = indices.getRank(); d-- > 0;) {
    ExprPtr count = extent(indices.getDims()[d]);
    kernel_.laneCount = kernel_.laneCount
                            ? b_.binary(Op::Mul, std::move(kernel_.laneCount), frontend::clone(*count))
                            : frontend::clone(*count);
    SymbolId rest = b_.assign("rest", std::move(left));
    place[d] = d == 0 ? b_.var(rest) : b_.binary(Op::Mod, b_.var(rest), frontend::clone(*count));
    if (d > 0) left = b_.binary(Op::FloorDiv, b_.var(rest), std::move(count));
  }
  for (ExprPtr &at : place)
    at = b_.var(b_.assign("i", std::move(at)));
  if (place.empty()) place.push_back(b_.integer(0)); // the one element of a scalar
  std::vector<ExprPtr> again;
  for (const ExprPtr &at : place)
    again.push_back(frontend::clone(*at));
  std::vector<int64_t> element(place.size(), -1);
  std::vector<ExprPtr> row;
  row.push_back(b_.cast(b_.load(params_[op.getIndices()], std::move(place), element), DType::I64));
  ExprPtr value = b_.load(params_[op.getTable()], std::move(row), {-1});
  b_.store(results_[0], std::move(value), std::move(again), element);
}

/// One program copies (part of) one row of the table.
void GroupProgram::buildGather() {
  auto op = cast<graph::GatherOp>(group_.getBody().front().front());
  b_.at(op.getLoc());
  Tensor table = op.getTable().getType(), indices = op.getIndices().getType();
  if (table.getRank() == 1) return buildElementGather(op);
  std::vector<ExprPtr> place;
  for (int64_t d = 0; d < indices.getRank(); ++d)
    place.push_back(start(d));
  if (place.empty()) place.push_back(b_.integer(0));
  std::vector<int64_t> element(place.size(), -1);
  ExprPtr read = b_.load(params_[op.getIndices()], std::move(place), std::move(element));
  SymbolId index = b_.assign("index", b_.cast(std::move(read), DType::I64));
  ExprPtr inside = b_.make(Op::LogicalAnd, ProgramBuilder::scalar(DType::Bool),
                           b_.compare(Op::Ge, b_.var(index), b_.integer(0)),
                           b_.compare(Op::Lt, b_.var(index), extent(table.getDims()[0])));
  SymbolId isRow = b_.assign("is_row", std::move(inside));
  // Of an index outside, row 0 is read and dropped.
  ExprPtr row =
      b_.make(Op::Select, ProgramBuilder::scalar(DType::I64), b_.var(isRow), b_.var(index), b_.integer(0));

  std::vector<ExprPtr> starts;
  std::vector<int64_t> ints;
  starts.push_back(std::move(row));
  ints.push_back(-1);
  for (int64_t d = 1; d < table.getRank(); ++d) {
    int64_t axis = indices.getRank() + d - 1;
    starts.push_back(start(axis));
    ints.push_back(axis == columns_ ? tileExtent(axis) : -1);
  }
  ExprPtr values = b_.load(params_[op.getTable()], std::move(starts), std::move(ints));
  frontend::Type type = values->type;
  ExprPtr result =
      b_.make(Op::Select, type, b_.var(isRow), std::move(values), b_.full(0, type.dtype, type.shape));

  starts.clear();
  ints.clear();
  for (int64_t axis = 0; axis < space_.space().getRank(); ++axis) {
    starts.push_back(start(axis));
    ints.push_back(axis == columns_ ? tileExtent(axis) : -1);
  }
  b_.store(results_[0], std::move(result), std::move(starts), std::move(ints));
}

/// Each input is copied behind the ones before it.
void GroupProgram::buildConcat() {
  auto op = cast<graph::ConcatOp>(group_.getBody().front().front());
  b_.at(op.getLoc());
  int64_t joined = static_cast<int64_t>(op.getAxis()), rank = space_.space().getRank();
  ExprPtr offset = b_.integer(0);
  for (OpOperand &operand : op->getOpOperands()) {
    Attribute length = cast<Tensor>(operand.get().getType()).getDims()[joined];
    SymbolId k = b_.symbol("k", ProgramBuilder::scalar(DType::I64));
    frontend::Block body;
    frontend::Block *outer = b_.into(&body);
    auto place = [&](bool isTarget) {
      std::vector<ExprPtr> starts;
      for (int64_t axis = 0; axis < rank; ++axis)
        starts.push_back(axis != joined ? start(axis)
                         : isTarget     ? b_.binary(Op::Add, b_.var(k), frontend::clone(*offset))
                                        : b_.var(k));
      return starts;
    };
    std::vector<int64_t> ints;
    for (int64_t axis = 0; axis < rank; ++axis)
      ints.push_back(isTileAxis(axis) ? tileExtent(axis) : -1);
    ExprPtr tile = b_.load(params_[operand.get()], place(false), ints);
    b_.store(results_[0], std::move(tile), place(true), ints);
    b_.into(outer);
    b_.loop(k, b_.integer(0), extent(length), isTileAxis(joined) ? tileExtent(joined) : 1, {}, 0,
            std::move(body));
    offset = b_.binary(Op::Add, std::move(offset), extent(length));
  }
}

} // namespace tessera::schedule
