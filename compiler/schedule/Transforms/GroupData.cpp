// Groups that move data by index: gather and concat.
#include "compiler/schedule/Transforms/GroupProgram.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tessera::schedule {

using graph::BinaryKind;

/// A row of one element has a lane instead of a program: the element at an index outside the table reads as
/// 0, which is the rule of gather.
void GroupProgram::buildElementGather(graph::GatherOp op) {
  ArrayRef<Attribute> dims = op.getIndices().getType().getDims().getValue();
  GroupBuilder::Starts place(dims.size());
  if (dims.empty()) {
    frame_.openGrid({});
    place.push_back(b_.integer(0)); // the one element of a scalar
  } else {
    IndexExpr count = extentExpr(dims.back());
    for (Attribute dim : llvm::reverse(dims.drop_back()))
      count = IndexExpr::binary(IndexExpr::Code::Mul, std::move(count), extentExpr(dim));
    TypedValue left = b_.fromIndex(frame_.openLanes(count));
    for (size_t d = dims.size(); d-- > 1;) {
      TypedValue count = extent(dims[d]);
      place[d] = b_.binary(BinaryKind::Mod, left, count);
      left = b_.binary(BinaryKind::FloorDiv, left, count);
    }
    place[0] = left;
  }
  std::vector<int64_t> element(place.size(), -1);
  TypedValue row = b_.cast(b_.load(params_[op.getIndices()], place, element), DType::I64);
  TypedValue value = b_.load(params_[op.getTable()], {row}, {-1});
  b_.store(value, results_[0], place, element);
}

/// One program copies a row of the table, or part of one.
void GroupProgram::buildGather() {
  auto op = cast<graph::GatherOp>(group_.getBody().front().front());
  b_.at(op.getLoc());
  Tensor table = op.getTable().getType(), indices = op.getIndices().getType();
  if (table.getRank() == 1) return buildElementGather(op);
  GroupBuilder::Starts place;
  for (int64_t d = 0; d < indices.getRank(); ++d)
    place.push_back(start(d));
  if (place.empty()) place.push_back(b_.integer(0));
  std::vector<int64_t> element(place.size(), -1);
  TypedValue index = b_.cast(b_.load(params_[op.getIndices()], place, element), DType::I64);
  TypedValue isNatural = b_.binary(BinaryKind::Ge, index, b_.integer(0));
  TypedValue isBelow = b_.binary(BinaryKind::Lt, index, extent(table.getDims()[0]));
  TypedValue isRow = b_.binary(BinaryKind::And, isNatural, isBelow);

  // For an index outside the table, row 0 is read and dropped.
  GroupBuilder::Starts starts = {b_.select(isRow, index, b_.integer(0))};
  std::vector<int64_t> ints = {-1};
  for (int64_t d = 1; d < table.getRank(); ++d) {
    int64_t axis = indices.getRank() + d - 1;
    starts.push_back(start(axis));
    ints.push_back(axis == columns_ ? tileExtent(axis) : -1);
  }
  TypedValue values = b_.load(params_[op.getTable()], starts, ints);
  TypedValue result = b_.select(isRow, values, b_.full(0, values.dtype, values.shape()));

  starts.clear();
  ints.clear();
  for (int64_t axis = 0; axis < space_.space().getRank(); ++axis) {
    starts.push_back(start(axis));
    ints.push_back(axis == columns_ ? tileExtent(axis) : -1);
  }
  b_.store(result, results_[0], starts, ints);
}

/// Each input is copied after the previous ones.
void GroupProgram::buildConcat() {
  auto op = cast<graph::ConcatOp>(group_.getBody().front().front());
  b_.at(op.getLoc());
  int64_t joined = static_cast<int64_t>(op.getAxis()), rank = space_.space().getRank();
  std::vector<int64_t> ints;
  for (int64_t axis = 0; axis < rank; ++axis)
    ints.push_back(isTileAxis(axis) ? tileExtent(axis) : -1);
  TypedValue offset = b_.integer(0);
  for (OpOperand &operand : op->getOpOperands()) {
    TypedValue length = extent(cast<Tensor>(operand.get().getType()).getDims()[joined]);
    auto copy = [&](const TypedValue &k, const GroupBuilder::Values &none) {
      auto place = [&](const TypedValue &position) {
        GroupBuilder::Starts starts;
        for (int64_t axis = 0; axis < rank; ++axis)
          starts.push_back(axis == joined ? position : start(axis));
        return starts;
      };
      TypedValue tile = b_.load(params_[operand.get()], place(k), ints);
      b_.store(tile, results_[0], place(b_.add(k, offset)), ints);
      return none;
    };
    b_.loop(length, isTileAxis(joined) ? tileExtent(joined) : 1, {}, 0, copy);
    offset = b_.add(offset, length);
  }
}

} // namespace tessera::schedule
