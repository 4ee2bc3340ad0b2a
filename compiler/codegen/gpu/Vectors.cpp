// Elements of tiles as vectors: where a tile is inside its tensors and rows begin at multiples of 16 bytes, a
// thread computes neighbours along the last axis at once. Whether that is so is decided at run time, for the
// whole tile. Where such rows end between two vectors, each vector has one condition. Elsewhere elements are
// computed one by one, with masks.
#include "compiler/codegen/gpu/Lowering.h"
#include "compiler/tile/IR/DTypes.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace tessera::gpu {

namespace {
constexpr int64_t kBytes = 16; // of the widest access

/// A thread computes at most so many vectors of a tile without a loop, so that it waits for several at once.
constexpr int64_t kMostUnrolled = 4;
} // namespace

/// With fewer vectors than threads, more threads compute shorter ones. What is stored under flags is stored
/// element by element.
int64_t KernelLowering::vectorsFor(ValueRange roots) {
  if (roots.size() > 1) return 1;
  int64_t length = tile::vectorLength(roots, /*computesRoots=*/true);
  while (length > 1 && tile::tileType(roots.front()).getNumElements() < length * threads_)
    length /= 2;
  return length;
}

Value KernelLowering::isAligned(const Window &w) {
  if (w.extents[w.dimOfAxis.back()] == 1) return {}; // read element by element
  if (!w.isContiguous()) return arith::ConstantOp::create(b_, b_.getBoolAttr(false));
  // Of packed elements, whose addresses count half bytes, the longest vector has 8 bytes.
  const int64_t bytes = target::inMemoryElement(w.view.element).getIntOrFloatBitWidth() / 8;
  auto number = [&](int64_t n) -> Value { return arith::ConstantOp::create(b_, b_.getI64IntegerAttr(n)); };
  // The bits of the first address and of the distances between rows.
  Value first = windowAddress(w, constants(Vec<int64_t>(w.dimOfAxis.size(), 0)));
  Value bits = LLVM::PtrToIntOp::create(b_, b_.getI64Type(), first);
  for (unsigned dim : ArrayRef(w.dimOfAxis).drop_back())
    if (w.extents[dim] > 1) {
      Value distance = arith::MulIOp::create(b_, toI64(w.view.strides[dim]), number(bytes));
      bits = arith::OrIOp::create(b_, bits, distance);
    }
  const int64_t align = isPacked(w.view.element) ? kBytes : wideAlign(first);
  Value low = arith::AndIOp::create(b_, bits, number(align - 1));
  return arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, low, number(0));
}

int64_t KernelLowering::wideAlign(Value address) const {
  const auto space = cast<LLVM::LLVMPointerType>(address.getType()).getAddressSpace();
  return space == kGlobalSpace ? target_.wideAlign : kBytes;
}

unsigned KernelLowering::alignmentOf(Type element, int64_t lanes, Value address) const {
  const unsigned one = TileLowering::alignmentOf(element, lanes, address);
  if (!isWide_ || lanes < 2) return one;
  return std::max(one, std::min(unsigned(wideAlign(address)), one * unsigned(lanes)));
}

bool KernelLowering::loadsWholeVectors(Value root, int64_t length, Value &condition) {
  llvm::SetVector<Value> values; // each is looked at once, however many operations share it
  values.insert(root);
  for (size_t i = 0; i < values.size(); ++i) {
    Value v = values[i];
    if (!tile::isTile(v) || tile::inMemory(v) || tile::isInRegisters(v)) continue;
    Operation *op = v.getDefiningOp();
    if (auto load = dyn_cast<tile::LoadOp>(op)) {
      auto shape = tile::tileType(v).getShape();
      if (shape.back() == 1) continue; // read element by element
      const Window w = window(load.getView(), load.getStarts(), load.getExtents(), load.getInBounds());
      if (!w.isContiguous() || isPacked(w.view.element) || w.view.element.isInteger(1)) return false;
      condition = both(condition, isInVectors(w, w.inBounds ? Present() : presentPart(w), shape, length));
      continue;
    }
    if (!tile::isElementwise(op) &&
        !isa<tile::BroadcastOp, tile::ExpandDimsOp, tile::IotaOp, arith::ConstantOp>(op))
      return false;
    values.insert(op->operand_begin(), op->operand_end());
  }
  return true;
}

/// Of a vector only the last tile is not inside: a third version of the code would not pay.
Value KernelLowering::areVectorsWhole(tile::StoreOp op, const Window &w, int64_t length) {
  auto shape = tile::tileType(op.getValue()).getShape();
  if (w.view.sizes.size() < 2 || op.getFlags() || !w.isContiguous() || isPacked(w.view.element) ||
      w.view.element.isInteger(1))
    return {};
  Value condition = isInVectors(w, storedPart(w, op.getLower(), op.getUpper()), shape, length);
  return loadsWholeVectors(op.getValue(), length, condition) ? condition : Value();
}

SmallVector<Value> KernelLowering::choose(Value condition, Version then, Version otherwise) {
  if (!condition) return then();
  Vec<Value> first, second;
  auto branch = scf::IfOp::create(b_, TypeRange(), condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b_);
  for (auto [region, version, values] : {std::tuple(&branch.getThenRegion(), &then, &first),
                                         std::tuple(&branch.getElseRegion(), &otherwise, &second)}) {
    b_.setInsertionPointToStart(&region->front());
    *values = (*version)();
  }
  if (first.empty()) return {};
  // The types of the values are known only now.
  b_.setInsertionPointAfter(branch);
  auto typed = scf::IfOp::create(b_, ValueRange(first).getTypes(), condition, /*withElseRegion=*/true);
  for (auto [from, to, values] : {std::tuple(&branch.getThenRegion(), &typed.getThenRegion(), &first),
                                  std::tuple(&branch.getElseRegion(), &typed.getElseRegion(), &second)}) {
    to->takeBody(*from);
    to->front().getTerminator()->erase();
    b_.setInsertionPointToEnd(&to->front());
    scf::YieldOp::create(b_, *values);
  }
  branch.erase();
  return Vec<Value>(typed.getResults());
}

void KernelLowering::spreadVectors(ArrayRef<int64_t> shape, int64_t length,
                                   llvm::function_ref<void(Indices)> body) {
  llvm::SaveAndRestore wide(isWide_, true);
  Vec<int64_t> pieces(shape);
  pieces.back() /= length;
  auto run = [&](Value i) {
    Vec<Value> at = delinearize(i, pieces);
    at.back() = arith::MulIOp::create(b_, at.back(), constant(length));
    body(at);
  };
  const int64_t count = ShapedType::getNumElements(pieces), turns = count / threads_;
  if (count % threads_ || turns > kMostUnrolled) return spread(count, run);
  for (int64_t turn = 0; turn < turns; ++turn)
    run(turn ? arith::AddIOp::create(b_, thread_, i32(turn * threads_)).getResult() : thread_);
}

void KernelLowering::nestPart(ArrayRef<int64_t> shape, int64_t, const Part &part, PartBody body) {
  Value isWhole = part.inside;
  for (auto [end, extent] : llvm::zip(part.ends, shape))
    if (end)
      isWhole = both(isWhole, arith::CmpIOp::create(b_, arith::CmpIPredicate::sge, end, constant(extent)));
  auto single = [&](bool isInside) {
    spread(ShapedType::getNumElements(shape), [&](Value i) { body(delinearize(i, shape), 0, {isInside}); });
  };
  if (part.vectors == 1) {
    single(!isWhole);
  } else {
    auto vectors = [&](bool isInside) {
      llvm::SaveAndRestore whole(vectorsAreWhole_, !isInside);
      spreadVectors(shape, part.vectors, [&](Indices at) { body(at, part.vectors, {isInside}); });
      return Vec<Value>();
    };
    auto elements = [&] { return single(false), Vec<Value>(); };
    choose(
        isWhole, [&] { return vectors(true); },
        [&] {
          return part.inVectors ? choose(
                                      part.inVectors, [&] { return vectors(false); }, elements)
                                : elements();
        });
  }
  lowerBarrier();
}

/// Where it is read by vectors, consecutive threads have consecutive rows of the input, whose elements they
/// store to different banks of shared memory.
LogicalResult KernelLowering::lowerTranspose(tile::TransposeOp op) {
  Place to = place(op.getResult());
  Value input = op.getInput(), isInside = insideCondition(ValueRange(input));
  const size_t rank = to.shape.size();
  const int64_t length = tile::vectorLength(input, /*computesRoots=*/false);
  auto single = [&]() -> Vec<Value> {
    spread(ShapedType::getNumElements(to.shape), [&](Value i) {
      Vec<Value> at = delinearize(i, to.shape), from(at);
      std::swap(from[rank - 2], from.back());
      storePlace(to, evaluate(input, from, 0, {!isInside}), at);
    });
    return {};
  };
  auto vectors = [&]() -> Vec<Value> {
    Vec<int64_t> pieces(to.shape);
    pieces[rank - 2] /= length;
    spreadVectors(pieces, 1, [&](Indices piece) {
      Vec<Value> at(piece), from(piece);
      at[rank - 2] = arith::MulIOp::create(b_, piece[rank - 2], constant(length));
      from[rank - 2] = piece.back();
      from.back() = at[rank - 2];
      Value v = evaluate(input, from, length, {true});
      Value first = at[rank - 2];
      for (int64_t i = 0; i < length; ++i) {
        at[rank - 2] = arith::AddIOp::create(b_, first, constant(i));
        storePlace(to, vector::ExtractOp::create(b_, v, i), at);
      }
    });
    return {};
  };
  if (length > 1)
    choose(isInside, vectors, single);
  else
    single();
  lowerBarrier();
  return success();
}

} // namespace tessera::gpu
