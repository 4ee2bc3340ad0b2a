// Tiles that are read from a tensor into scratch and converted on the way. Packing the operands is most of
// the code of a product's kernel, and is the same in every kernel of its shape and element types. One
// function of the module serves all of them.
//
//   read.bf16.f32.96x256(to, from, stride, rows, columns, rowEnd, columnEnd)
//
// `from` is the address of the tile's first element in the tensor. The first `rows` and `columns` of the tile
// are inside the tensor; the others are zero. Elements from `rowEnd` and `columnEnd` on are never read.
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/Transforms/ExpandCasts.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "plugins/cpu/codegen/Lowering.h"
#include <array>
#include <optional>

using namespace mlir;

namespace tessera::cpu {
namespace {

/// From this many elements of a tile on, the cost of a call is negligible.
constexpr int64_t kWorthACall = 1024;

/// Returns how far past the end of its rows and columns a tile is read; nullopt: everywhere. Products stop
/// with the register block, or the unrolled iteration, that contains the end.
std::optional<std::array<int64_t, 2>> reach(Value tile) {
  std::array<int64_t, 2> most{};
  for (OpOperand &use : tile.getUses()) {
    auto mma = dyn_cast<tile::MmaOp>(use.getOwner());
    unsigned side = use.getOperandNumber();
    if (!mma || mma.getLimits().empty() || mma.getTransA() || mma.getTransB() || side > 1)
      return std::nullopt;
    auto fragment = *mma.getFragment();
    most[side] = std::max(most[side], side == 0 ? fragment.getM() : fragment.getN());
    most[1 - side] = std::max(most[1 - side], kProductTurn);
  }
  return most;
}

} // namespace

func::FuncOp KernelLowering::readFunction(tile::CastOp cast, Type element, const Place &to) {
  std::string name;
  llvm::raw_string_ostream text(name);
  text << "read.";
  if (cast)
    text << cast.getFrom() << "." << cast.getTo();
  else
    text << element;
  text << "." << to.shape[0] << "x" << to.shape[1];
  Type pointer = LLVM::LLVMPointerType::get(b_.getContext()), index = b_.getIndexType();
  return sharedFunction(name, {pointer, pointer, index, index, index, index, index}, [&](func::FuncOp f) {
    f.setArgAttr(0, LLVM::LLVMDialect::getNoAliasAttrName(), b_.getUnitAttr());
    f.setArgAttr(1, LLVM::LLVMDialect::getReadonlyAttrName(), b_.getUnitAttr());
    auto arguments = f.getArguments();
    Place tile{arguments[0], to.shape, to.element};
    View view{arguments[1], {arguments[3], arguments[4]}, {arguments[2], constant(1)}, element};
    Window all{view, {constant(0), constant(0)}, {0, 1}, to.shape, false, {true, true}};
    versioned(insideCondition(all), [&](Mode mode) {
      auto copy = [&](Indices at, int64_t lanes) {
        Value v = loadWindow(all, at, lanes, mode);
        if (cast)
          v = tile::emitCast(b_, b_.getLoc(), v, *parseDType(cast.getFrom()), *parseDType(cast.getTo()));
        storePlace(tile, v, at);
      };
      Vec<Value> ends;
      if (!mode.inside) ends = {arguments[5], arguments[6]};
      nest(tile.shape, lanesFor({}, {element, to.element}), copy, ends);
    });
  });
}

SmallVector<Value> KernelLowering::operandEnds(Value operand, const std::optional<Factor> &factor) {
  auto past = reach(operand);
  if (!past || !factor || factor->ends.empty()) return {};
  Vec<Value> ends;
  for (auto [axis, extent] : llvm::enumerate(tile::tileType(operand).getShape())) {
    Value end = b_.createOrFold<arith::AddIOp>(factor->ends[axis], constant((*past)[axis]));
    ends.push_back(b_.createOrFold<arith::MinSIOp>(end, constant(extent)));
  }
  partlyRead_[operand] = factor->ends;
  return ends;
}

bool KernelLowering::callRead(Operation *op, const Place &to) {
  auto cast = dyn_cast<tile::CastOp>(op);
  if (cast && tile::inMemory(cast.getInput())) return false;
  auto load = cast ? cast.getInput().getDefiningOp<tile::LoadOp>() : dyn_cast<tile::LoadOp>(op);
  if (!load || to.shape.size() != 2 || to.shape[0] * to.shape[1] < kWorthACall) return false;
  std::optional<Factor> from = readInPlace(op->getResult(0));
  if (!from || from->ends.empty() || getConstantIntValue(from->columnStride) != 1) return false;
  Vec<Value> ends = operandEnds(op->getResult(0), from);
  for (size_t axis = ends.size(); axis < 2; ++axis)
    ends.push_back(constant(to.shape[axis]));
  func::CallOp::create(
      b_, readFunction(cast, from->element, to),
      ValueRange{to.data, from->data, from->rowStride, from->ends[0], from->ends[1], ends[0], ends[1]});
  return true;
}

} // namespace tessera::cpu
