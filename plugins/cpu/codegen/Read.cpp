// Tiles that are read from a tensor into scratch, and converted on the way: packing the operands of a product
// is most of what a product's kernel is, and the same in every kernel of its shape and element types. One
// function of the module does it for all of them.
//
//   read.bf16.f32.96x256(to, from, stride, rows, columns)
//
// `from`: the tile's first element in the tensor; `rows` and `columns` of the tile lie inside the tensor,
// what does not is zero.
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/Transforms/ExpandCasts.h"
#include "plugins/cpu/codegen/Lowering.h"

using namespace mlir;

namespace tessera::cpu {
namespace {

/// Elements of a tile from which on a call costs nothing beside it.
constexpr int64_t kWorthACall = 1024;

} // namespace

bool KernelLowering::callRead(Operation *op, const Place &to) {
  auto cast = dyn_cast<tile::CastOp>(op);
  if (cast && tile::inMemory(cast.getInput())) return false;
  auto load = cast ? cast.getInput().getDefiningOp<tile::LoadOp>() : dyn_cast<tile::LoadOp>(op);
  if (!load || to.shape.size() != 2 || to.shape[0] * to.shape[1] < kWorthACall) return false;
  Window w = window(load.getView(), load.getStarts(), load.getExtents(), load.getInBounds());
  if (w.inBounds || w.dimOfAxis.size() != 2 || !w.isContiguous()) return false;
  if (!llvm::all_of(w.dimOfAxis, [&](unsigned d) { return w.nonNegative[d]; })) return false;

  // How much of the tile lies inside.
  Value limits[2];
  for (int axis : {0, 1}) {
    unsigned d = w.dimOfAxis[axis];
    Value left = b_.createOrFold<arith::SubIOp>(w.view.sizes[d], w.starts[d]);
    left = b_.createOrFold<arith::MinSIOp>(left, constant(to.shape[axis]));
    limits[axis] = b_.createOrFold<arith::MaxSIOp>(left, constant(0)); // it may begin behind the end
  }
  for (unsigned d = 0; d < w.starts.size(); ++d) {
    if (llvm::is_contained(w.dimOfAxis, d)) continue;
    Value inside = arith::CmpIOp::create(b_, arith::CmpIPredicate::ult, w.starts[d], w.view.sizes[d]);
    limits[0] = arith::SelectOp::create(b_, inside, limits[0], constant(0));
  }

  std::string name;
  llvm::raw_string_ostream text(name);
  text << "read.";
  if (cast)
    text << cast.getFrom() << "." << cast.getTo();
  else
    text << w.view.element;
  text << "." << to.shape[0] << "x" << to.shape[1];
  Type pointer = LLVM::LLVMPointerType::get(b_.getContext()), index = b_.getIndexType();
  auto read = sharedFunction(name, {pointer, pointer, index, index, index}, [&](func::FuncOp f) {
    f.setArgAttr(0, LLVM::LLVMDialect::getNoAliasAttrName(), b_.getUnitAttr());
    f.setArgAttr(1, LLVM::LLVMDialect::getReadonlyAttrName(), b_.getUnitAttr());
    Value zero = constant(0);
    Place tile{f.getArgument(0), to.shape, to.element};
    Window all{{f.getArgument(1),
                {f.getArgument(3), f.getArgument(4)},
                {f.getArgument(2), constant(1)},
                w.view.element},
               {zero, zero},
               {0, 1},
               Vec<int64_t>(to.shape),
               false,
               {true, true}};
    versioned(insideCondition(all), [&](Mode mode) {
      nest(tile.shape, lanesFor({}, {w.view.element, to.element}), [&](Indices at, int64_t lanes) {
        Value v = loadWindow(all, at, lanes, mode);
        if (cast)
          v = tile::emitCast(b_, b_.getLoc(), v, *parseDType(cast.getFrom()), *parseDType(cast.getTo()));
        storePlace(tile, v, at);
      });
    });
  });
  Value origin[] = {constant(0), constant(0)};
  func::CallOp::create(
      b_, read,
      ValueRange{to.data, windowAddress(w, origin), w.view.strides[w.dimOfAxis[0]], limits[0], limits[1]});
  return true;
}

} // namespace tessera::cpu
