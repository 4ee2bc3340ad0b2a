// Imports expressions: dispatch, leaves, logic, atomics, groups and small helpers.
#include "compiler/graph/Import/Importer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tessera::graph {

using frontend::Op;

Value KernelImporter::import(const Expr &e) {
  switch (e.op) {
  case Op::ConstInt:
  case Op::ConstFloat:
  case Op::Var:
  case Op::ParamRef:
  case Op::DimRef:
  case Op::LaneId:
    return importLeaf(e);
  case Op::LogicalNot:
  case Op::LogicalAnd:
  case Op::LogicalOr:
    return importLogic(e);
  case Op::Select:
    return importSelect(e);
  case Op::FillMasked: {
    Value x = import(*e.args[0]), value = import(*e.args[1]);
    return tile::FillMaskedOp::create(b_, locationOf(e.loc), x.getType(), x, value);
  }
  case Op::Keep: {
    Value x = import(*e.args[0]), flags = import(*e.args[1]);
    return tile::KeepOp::create(b_, locationOf(e.loc), x.getType(), x, flags);
  }
  case Op::Lt:
  case Op::Le:
  case Op::Gt:
  case Op::Ge:
  case Op::Eq:
  case Op::Ne:
    return importCompare(e);
#define TSR_FLOAT_FUNCTION(id, name, text) case Op::id:
#define TSR_FLOAT_FUNCTION2(id, name, parameters, text) case Op::id:
#define TSR_EXACT_FUNCTION(id, mathOp, name, text) case Op::id:
#include "compiler/ops/Functions.def"
  case Op::Popcount:
  case Op::Clz:
  case Op::UMulHi:
  case Op::Bitcast:
  case Op::Fma:
    return importFunction(e);
  case Op::Cast:
  case Op::Broadcast:
  case Op::ExpandDims:
  case Op::SliceTile:
  case Op::Reshape:
  case Op::Transpose:
  case Op::Flip:
  case Op::Sort:
  case Op::Concat:
  case Op::Arange:
    return importShape(e);
  case Op::LoadTile:
  case Op::LoadElem:
    return importLoad(e);
  case Op::BufferRead:
    return importBufferRead(e);
  case Op::Sum:
  case Op::Max:
  case Op::Min:
  case Op::Prod:
  case Op::ArgMax:
  case Op::ArgMin:
  case Op::CumSum:
  case Op::CumProd:
  case Op::CumMax:
  case Op::CumMin:
    return importReduction(e);
  case Op::Mma:
    return importMma(e);
  case Op::CausalMask:
    return importCausalMask(e);
  case Op::Atomic:
    return importAtomic(e);
  case Op::Rand: {
    Value seed = import(*e.args[0]), offset = import(*e.args[1]);
    return tile::RandOp::create(b_, locationOf(e.loc), typeOf(e.type), seed, offset,
                                e.ints.empty() ? 0 : e.ints[0]);
  }
  case Op::GroupId:
  case Op::LocalId:
  case Op::LaneIdInGroup:
  case Op::GroupSize:
  case Op::GroupReduce:
    return importGroup(e);
  case Op::Neg:
  case Op::Add:
  case Op::Sub:
  case Op::Mul:
  case Op::Div:
  case Op::FloorDiv:
  case Op::Mod:
  case Op::Pow:
  case Op::Fmod:
  case Op::And:
  case Op::Or:
  case Op::Xor:
  case Op::Invert:
  case Op::Shl:
  case Op::Shr:
  case Op::Minimum:
  case Op::Maximum:
  case Op::Abs:
    return importArith(e);
  }
  llvm_unreachable("op out of range");
}

Value KernelImporter::importLeaf(const Expr &e) {
  tile_.at(locationOf(e.loc));
  switch (e.op) {
  case Op::ConstInt:
    return tile_.constant(typeOf(e.type), e.intValue);
  case Op::ConstFloat:
    return tile_.broadcast(tile_.real(e.floatValue, e.type.dtype), typeOf(e.type));
  case Op::Var:
    return values_[e.symbol];
  case Op::ParamRef:
    return params_[e.param];
  case Op::DimRef: {
    int64_t value = specializedValue(e.text);
    return ShapedType::isDynamic(value) ? tile_.toI64(dims_[e.text]) : tile_.constant(b_.getI64Type(), value);
  }
  default:
    return lane_;
  }
}

/// Is evaluating `e` where the program would not evaluate it harmless, except for its cost?
static bool isCheapToEvaluate(const frontend::Expr &e) {
  switch (e.op) {
  case Op::Atomic:
  case Op::LoadTile:
  case Op::LoadElem:
  case Op::BufferRead:
  case Op::Mma:
  case Op::GroupReduce:
  case Op::Pow:
  case Op::FloorDiv:
  case Op::Mod:
    return false;
  default:
    break;
  }
  return llvm::all_of(e.args, [](const frontend::ExprPtr &arg) { return isCheapToEvaluate(*arg); });
}

Value KernelImporter::importLogic(const Expr &e) {
  Value lhs = import(*e.args[0]);
  Location loc = locationOf(e.loc);
  Type i1 = b_.getI1Type();
  if (e.op == Op::LogicalNot)
    return arith::XOrIOp::create(b_, loc, lhs, tile_.constant(lhs.getType(), int64_t{1}));
  bool isAnd = e.op == Op::LogicalAnd;
  if (isCheapToEvaluate(*e.args[1])) {
    Value rhs = import(*e.args[1]);
    if (isAnd) return arith::AndIOp::create(b_, loc, lhs, rhs);
    return arith::OrIOp::create(b_, loc, lhs, rhs);
  }
  // a and b -> if a { b } else { false };  a or b -> if a { true } else { b }
  using Values = SmallVector<Value>;
  auto right = [&] { return Values{import(*e.args[1])}; };
  auto known = [&] {
    tile_.at(loc);
    return Values{tile_.constant(i1, int64_t{!isAnd})};
  };
  tile_.at(loc);
  auto branch = isAnd ? tile_.branch(lhs, i1, right, known) : tile_.branch(lhs, i1, known, right);
  return branch.getResult(0);
}

Value KernelImporter::importSelect(const Expr &e) {
  Value condition = import(*e.args[0]);
  Location loc = locationOf(e.loc);
  bool isTile = e.type.kind == frontend::Type::Tile;
  if (isTile || (isCheapToEvaluate(*e.args[1]) && isCheapToEvaluate(*e.args[2]))) {
    Value a = import(*e.args[1]), b = import(*e.args[2]);
    if (mlir::isa<RankedTensorType>(condition.getType()))
      return tile::WhereOp::create(b_, loc, a.getType(), condition, a, b);
    return arith::SelectOp::create(b_, loc, condition, a, b);
  }
  auto side = [&](size_t arg) { return SmallVector<Value>{import(*e.args[arg])}; };
  tile_.at(loc);
  auto branch = tile_.branch(condition, typeOf(e.type), [&] { return side(1); }, [&] { return side(2); });
  return branch.getResult(0);
}

Value KernelImporter::importAtomic(const Expr &e) {
  size_t rank = kernel_.params[e.param].dims.size();
  SmallVector<Value> indices = importIndices(ArrayRef(e.args).take_front(rank));
  SmallVector<Value> operands;
  for (const frontend::ExprPtr &arg : ArrayRef(e.args).drop_front(rank))
    operands.push_back(import(*arg));
  tile_.at(locationOf(e.loc));
  // A scalar among tiles has the same value for every element.
  Type type = typeOf(e.type);
  if (auto tile = dyn_cast<RankedTensorType>(type)) {
    for (Value &index : indices)
      index = tile_.broadcast(index, tile.clone(b_.getIndexType()));
    for (Value &operand : operands)
      operand = tile_.broadcast(operand, type);
  }
  auto order = static_cast<tile::MemoryOrder>(e.order);
  auto scope = static_cast<tile::MemoryScope>(e.scope);
  Value view = params_[e.param];
  if (e.atomic == frontend::AtomicKind::Cas)
    return tile::AtomicCasOp::create(b_, tile_.loc(), type, order, scope, operands[0], operands[1], view,
                                     indices);
  auto kind = static_cast<tile::AtomicKind>(e.atomic);
  return tile::AtomicOp::create(b_, tile_.loc(), type, kind, order, scope, operands[0], view, indices,
                                isUnsigned(e.type.dtype));
}

static_assert(static_cast<int>(frontend::AtomicKind::Xchg) == static_cast<int>(tile::AtomicKind::Xchg) &&
              static_cast<int>(frontend::MemoryOrder::SeqCst) ==
                  static_cast<int>(tile::MemoryOrder::SeqCst) &&
              static_cast<int>(frontend::MemoryScope::System) == static_cast<int>(tile::MemoryScope::System));

Value KernelImporter::importGroup(const Expr &e) {
  if (e.op == Op::GroupReduce) {
    Value value = import(*e.args[0]);
    auto kind = tile::symbolizeGroupReduceKind(e.text);
    if (!kind) return emitUnimplemented(e, "group reductions other than sum, max and min");
    return tile::GroupReduceOp::create(b_, locationOf(e.loc), value.getType(), *kind, value,
                                       isUnsigned(e.type.dtype));
  }
  auto kind = e.op == Op::GroupId         ? tile::GroupInfoKind::GroupId
              : e.op == Op::LocalId       ? tile::GroupInfoKind::LocalId
              : e.op == Op::LaneIdInGroup ? tile::GroupInfoKind::LaneId
                                          : tile::GroupInfoKind::GroupSize;
  return tile::GroupInfoOp::create(b_, locationOf(e.loc), b_.getI32Type(), kind);
}

//===-- helpers
//-------------------------------------------------------------------------------------------===//

mlir::Type KernelImporter::typeOf(const frontend::Type &type) {
  mlir::Type element = elementTypeInValues(b_.getContext(), type.dtype);
  return type.kind == frontend::Type::Tile ? RankedTensorType::get(type.shape, element) : element;
}

Value KernelImporter::emitUnimplemented(const Expr &e, StringRef what) {
  if (!failed_) emitError(locationOf(e.loc)) << "TSR_UNIMPLEMENTED: " << what;
  failed_ = true;
  return e.type.kind == frontend::Type::None ? Value() : tile_.constant(typeOf(e.type), int64_t{0});
}

} // namespace tessera::graph
