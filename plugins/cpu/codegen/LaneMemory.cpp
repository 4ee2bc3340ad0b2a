// Elements that lane programs read, write and update: consecutive elements at once, others by gathers and
// scatters, atomics lane by lane.
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/Transforms/IndexBounds.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "plugins/cpu/codegen/LaneVectors.h"

using namespace mlir;

namespace tessera::cpu {

namespace {

/// Returns the divisor that the language guards with `x == 0 ? 1 : x`.
Value unguarded(Value divisor) {
  divisor = tile::uncast(divisor);
  auto select = divisor.getDefiningOp<arith::SelectOp>();
  if (!select || !isConstantIntValue(select.getTrueValue(), 1)) return divisor;
  Value guarded = tile::uncast(select.getFalseValue());
  auto compare = select.getCondition().getDefiningOp<arith::CmpIOp>();
  bool isGuard = compare && compare.getPredicate() == arith::CmpIPredicate::eq &&
                 tile::uncast(compare.getLhs()) == guarded && isConstantIntValue(compare.getRhs(), 0);
  return isGuard ? guarded : divisor;
}

/// Larger steps and strides are not multiplied while compiling.
constexpr int64_t kLargestStep = 1 << 20;

bool hasStep(const LaneShape &shape) { return shape.kind == LaneShape::Affine; }

} // namespace

auto KernelLowering::LaneVectors::indicesOf(ValueRange indices) -> SmallVector<Index> {
  SmallVector<Index> all;
  for (Value v : indices) {
    LaneShape shape = shapes_.of(v);
    all.push_back({v, shape, shape.kind == LaneShape::Varying ? Value() : k_.scalar(v)});
  }
  return all;
}

auto KernelLowering::LaneVectors::positionsOf(ValueRange indices) -> SmallVector<Index> {
  return llvm::map_to_vector(indices, [&](Value v) { return Index{v, shapes_.of(v), {}}; });
}

/// Is the index below `size`, which is the number of lanes or the divisor that the index is a remainder of?
bool KernelLowering::LaneVectors::isKnownInside(const Index &index, Value size) {
  if (!index.source) return false;
  Value source = tile::uncast(index.source);
  if (source == loop_.getInductionVar()) return size == k_.laneLimit_;
  auto rest = source.getDefiningOp<arith::RemUIOp>();
  if (!rest || !quotients_.contains(rest)) return false;
  Value divisor = unguarded(rest.getRhs());
  return k_.map_.contains(divisor) && k_.scalar(divisor) == size;
}

auto KernelLowering::LaneVectors::inside(const View &view, ArrayRef<Index> indices, bool promised) -> Inside {
  Inside result{active_, {}};
  if (promised) return result;
  Value row, lo, hi;
  for (auto [index, size] : llvm::zip_equal(indices, view.sizes)) {
    if (isKnownInside(index, size)) continue;
    if (index.shape.kind == LaneShape::Uniform) {
      row = k_.both(row, arith::CmpIOp::create(b_, arith::CmpIPredicate::ult, index.base, size));
    } else if (index.shape.isConsecutive() || index.shape.step == -1) {
      const bool descends = index.shape.step == -1;
      bool isNonNegative =
          !descends && index.source && tile::signOf(index.source) == tile::IndexSign::NonNegative;
      Value least =
          descends ? arith::SubIOp::create(b_, index.base, k_.constant(width_ - 1)).getResult() : index.base;
      tile::Interval part = tile::presentInterval(b_, b_.getLoc(), least, width_, size, isNonNegative);
      if (descends)
        part = {b_.createOrFold<arith::SubIOp>(k_.constant(width_), part.hi),
                b_.createOrFold<arith::SubIOp>(k_.constant(width_), part.lo)};
      lo = lo ? b_.createOrFold<arith::MaxSIOp>(lo, part.lo) : part.lo;
      hi = hi ? b_.createOrFold<arith::MinSIOp>(hi, part.hi) : part.hi;
    } else {
      Value below =
          arith::CmpIOp::create(b_, arith::CmpIPredicate::ult, vector(index.source), k_.splat(size, width_));
      result.mask = andMask(result.mask, below);
    }
  }
  if (!row && !hi) return result;
  if (!lo) lo = k_.constant(0), hi = k_.constant(width_);
  if (row) hi = b_.createOrFold<arith::SelectOp>(row, hi, k_.constant(0));
  result.any = arith::CmpIOp::create(b_, arith::CmpIPredicate::sgt, hi, lo);
  result.mask = andMask(result.mask, k_.rangeMask(k_.constant(0), lo, hi, width_));
  return result;
}

/// Returns the number of elements from one lane's element to the next one's, if it is a constant.
std::optional<int64_t> KernelLowering::LaneVectors::distance(const View &view, ArrayRef<Index> indices) {
  int64_t sum = 0;
  for (auto [index, stride] : llvm::zip_equal(indices, view.strides)) {
    if (index.shape.kind == LaneShape::Uniform) continue;
    auto inDim = getConstantIntValue(stride);
    if (!index.shape.step || !inDim || std::abs(*index.shape.step) > kLargestStep ||
        std::abs(*inDim) > kLargestStep)
      return std::nullopt;
    sum += *index.shape.step * *inDim;
  }
  return sum;
}

/// A masked access without lanes is slow at an address without memory (a microcode assist of 100 ns on a Zen
/// 4), and there may be none outside of the tensor: it uses the address of the tensor's first element.
Value KernelLowering::LaneVectors::firstAddress(const View &view, ArrayRef<Index> indices,
                                                const Inside &inside) {
  Value first = k_.elementAddress(view, llvm::map_to_vector(indices, [](const Index &i) { return i.base; }));
  return inside.any ? arith::SelectOp::create(b_, inside.any, first, view.data).getResult() : first;
}

auto KernelLowering::LaneVectors::neighbours(const View &view, ArrayRef<Index> indices, const Inside &part)
    -> std::optional<Neighbours> {
  std::optional<int64_t> apart = distance(view, indices);
  if (apart == 1) return Neighbours{firstAddress(view, indices, part), part.mask, false};
  if (apart != -1) return std::nullopt;
  Value last = k_.elementAddress(view, llvm::map_to_vector(indices, [](const Index &i) { return i.base; }));
  Value first = k_.address(last, k_.constant(1 - width_), view.element);
  if (part.any) first = arith::SelectOp::create(b_, part.any, first, view.data);
  return Neighbours{first, part.mask ? reversed(part.mask) : Value(), true};
}

Value KernelLowering::LaneVectors::reversed(Value v) {
  SmallVector<int64_t> lanes;
  for (int64_t lane = width_; lane-- > 0;)
    lanes.push_back(lane);
  return vector::ShuffleOp::create(b_, v, v, lanes);
}

/// One pointer per lane.
Value KernelLowering::LaneVectors::addresses(const View &view, ArrayRef<Index> indices) {
  Type wide = k_.vectorOf(b_.getI64Type(), width_);
  Value first, step, offsets;
  auto add = [&](Value &sum, Value term) { sum = sum ? b_.createOrFold<arith::AddIOp>(sum, term) : term; };
  for (auto [index, stride] : llvm::zip_equal(indices, view.strides)) {
    if (index.shape.kind == LaneShape::Varying) {
      Value v = arith::IndexCastOp::create(b_, wide, vector(index.source));
      if (!isConstantIntValue(stride, 1))
        v = arith::MulIOp::create(b_, v, k_.splat(k_.toI64(stride), width_));
      add(offsets, v);
      continue;
    }
    add(first, b_.createOrFold<arith::MulIOp>(index.base, stride));
    if (!hasStep(index.shape)) continue;
    Value grows = index.shape.step ? k_.constant(*index.shape.step) : steps_[index.source];
    add(step, b_.createOrFold<arith::MulIOp>(grows, stride));
  }
  if (step) add(offsets, arith::MulIOp::create(b_, iota(b_.getI64Type()), k_.splat(k_.toI64(step), width_)));
  Value start = first ? k_.address(view.data, first, view.element) : view.data;
  auto pointers = VectorType::get({width_}, start.getType());
  return LLVM::GEPOp::create(b_, pointers, target::inMemoryElement(view.element), start,
                             ArrayRef<LLVM::GEPArg>{offsets});
}

/// Does the processor load and store parts of a vector of these elements?
bool KernelLowering::LaneVectors::hasMaskedAccess(Type element) {
  return k_.vectorBytes_ >= 64 ||
         (k_.vectorBytes_ >= 32 && target::inMemoryElement(element).getIntOrFloatBitWidth() >= 32);
}

SmallVector<Value> KernelLowering::LaneVectors::versioned(ArrayRef<Index> indices, ArrayRef<Type> results,
                                                          llvm::function_ref<Value(ArrayRef<Index>)> access) {
  auto isVarying = [](const Index &i) { return i.shape.kind == LaneShape::Varying; };
  auto near = llvm::find_if(indices, isVarying);
  auto asResults = [&](Value v) { return results.empty() ? SmallVector<Value>() : SmallVector<Value>{v}; };
  if (near == indices.end() || !near->shape.isNear || llvm::count_if(indices, isVarying) != 1)
    return asResults(access(indices));
  Value v = vector(near->source), first = vector::ExtractOp::create(b_, v, 0);
  Value follows = arith::AddIOp::create(b_, k_.splat(first, width_), iota(first.getType()));
  Value agree = arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, v, follows);
  if (active_) agree = arith::OrIOp::create(b_, agree, arith::XOrIOp::create(b_, active_, allLanes(true)));
  auto choice = scf::IfOp::create(b_, results, allOf(agree), true);
  SmallVector<Index> consecutive(indices);
  consecutive[near - indices.begin()] = {{}, {LaneShape::Affine, 1, false}, first};
  for (auto [side, used] : {std::pair(&choice.getThenRegion(), ArrayRef<Index>(consecutive)),
                            std::pair(&choice.getElseRegion(), indices)}) {
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(&side->front());
    Value result = access(used);
    if (!results.empty()) scf::YieldOp::create(b_, result);
  }
  return SmallVector<Value>(choice.getResults());
}

Value KernelLowering::LaneVectors::ifAllOf(Value mask, ArrayRef<Type> results,
                                           llvm::function_ref<Value(bool all)> emit) {
  auto choice = scf::IfOp::create(b_, results, allOf(mask), true);
  OpBuilder::InsertionGuard guard(b_);
  for (bool all : {true, false}) {
    b_.setInsertionPointToStart(&(all ? choice.getThenRegion() : choice.getElseRegion()).front());
    Value v = emit(all);
    if (!results.empty()) scf::YieldOp::create(b_, v);
  }
  return results.empty() ? Value() : choice.getResult(0);
}

Value KernelLowering::LaneVectors::loadVector(const View &view, ArrayRef<Index> indices, bool promised) {
  Type element = view.element, all = k_.vectorOf(loadedElementType(element), width_);
  Inside part = inside(view, indices, promised);
  if (std::optional<Neighbours> n = neighbours(view, indices, part)) {
    auto read = [&](Value mask) { return k_.load(element, n->first, width_, mask); };
    Value v = !n->mask || hasMaskedAccess(element)
                  ? read(n->mask)
                  : ifAllOf(n->mask, all, [&](bool whole) { return read(whole ? Value() : n->mask); });
    return n->isReversed ? reversed(v) : v;
  }
  auto gather = [&] { return k_.loadLanes(element, addresses(view, indices), part.mask); };
  std::optional<int64_t> apart = distance(view, indices);
  if (!apart || !isInterleaved(*apart)) return gather();
  auto loadAll = [&] { return loadInterleaved(view, indices, *apart); };
  if (!part.mask) return loadAll();
  return ifAllOf(part.mask, all, [&](bool whole) { return whole ? loadAll() : gather(); });
}

/// Loads all elements from the first lane's to the last one's, and keeps one of `apart`.
Value KernelLowering::LaneVectors::loadInterleaved(const View &view, ArrayRef<Index> indices, int64_t apart) {
  Value first = k_.elementAddress(view, llvm::map_to_vector(indices, [](const Index &i) { return i.base; }));
  return k_.loadStrided(view.element, first, apart, width_);
}

void KernelLowering::LaneVectors::storeVector(const View &view, ArrayRef<Index> indices, bool promised,
                                              Value v) {
  Type element = view.element;
  Inside part = inside(view, indices, promised);
  std::optional<Neighbours> n = neighbours(view, indices, part);
  if (!n) return k_.storeLanes(element, v, addresses(view, indices), part.mask);
  if (n->isReversed) v = reversed(v);
  auto write = [&](Value mask) { k_.store(element, v, n->first, mask); };
  if (!n->mask || hasMaskedAccess(element)) return write(n->mask);
  ifAllOf(n->mask, {}, [&](bool whole) {
    write(whole ? Value() : n->mask);
    return Value();
  });
}

LogicalResult KernelLowering::LaneVectors::lower(tile::LoadElemOp op) {
  if (shapes_.of(op.getResult()).kind == LaneShape::Uniform) return k_.lowerLoadElem(op);
  if (Value loaded = loadedRows_.lookup(op)) {
    vectors_[op.getResult()] = loaded;
    return success();
  }
  const View view = k_.views_[op.getView()];
  Type result = k_.vectorOf(loadedElementType(view.element), width_);
  vectors_[op.getResult()] = versioned(indicesOf(op.getIndices()), result, [&](ArrayRef<Index> indices) {
    return loadVector(view, indices, op.getInBounds() || (isInterior_ && unmasked_.contains(op)));
  })[0];
  return success();
}

LogicalResult KernelLowering::LaneVectors::lower(tile::StoreElemOp op) {
  if (auto stored = storedRows_.find(op); stored != storedRows_.end()) {
    stored->second.push_back(vector(op.getValue()));
    return success();
  }
  const View view = k_.views_[op.getView()];
  SmallVector<Index> indices = indicesOf(op.getIndices());
  // Lanes that store to one element: the last one's value stays.
  if (llvm::all_of(indices, [](const Index &i) { return i.shape.kind == LaneShape::Uniform; })) {
    if (shapes_.of(op.getValue()).kind != LaneShape::Uniform) return serialize(op);
    if (!active_) return k_.lowerStoreElem(op);
    auto branch = scf::IfOp::create(b_, TypeRange(), anyOf(active_), false);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(&branch.getThenRegion().front());
    return k_.lowerStoreElem(op);
  }
  versioned(indices, {}, [&](ArrayRef<Index> at) {
    storeVector(view, at, op.getInBounds() || (isInterior_ && unmasked_.contains(op)), vector(op.getValue()));
    return Value();
  });
  return success();
}

LogicalResult KernelLowering::LaneVectors::lowerAtomic(Operation *op) {
  auto update = dyn_cast<tile::AtomicOp>(op);
  return update && gather(update) ? success() : serialize(op);
}

void KernelLowering::LaneVectors::beginGathering() {
  loop_->walk([&](tile::AtomicOp op) {
    PrivateValue *own = k_.privateValue(op);
    if (own == k_.privateValues_.end() || gathered_.contains(own)) return;
    Value start = k_.splat(own->start, width_), partial = variable(start.getType());
    LLVM::StoreOp::create(b_, start, partial);
    gathered_[own] = partial;
  });
}

/// Combines the lanes' values with a vector of partial results. Returns false if the element has no variable
/// of the thread's own.
bool KernelLowering::LaneVectors::gather(tile::AtomicOp op) {
  auto found = gathered_.find(k_.privateValue(op));
  if (found == gathered_.end()) return false;
  Value start = k_.splat(found->first->start, width_), v = vector(op.getValue());
  Inside part = inside(k_.views_[op.getView()], indicesOf(op.getIndices()), false);
  if (part.mask) v = arith::SelectOp::create(b_, part.mask, v, start);
  Value old = LLVM::LoadOp::create(b_, start.getType(), found->second);
  LLVM::StoreOp::create(b_, k_.updated(op, old, v), found->second);
  return true;
}

void KernelLowering::LaneVectors::endGathering() {
  for (auto [own, partial] : gathered_) {
    Value start = own->start;
    auto type = VectorType::get({width_}, start.getType());
    Value lanes = LLVM::LoadOp::create(b_, type, partial);
    Value all =
        k_.foldLanes(lanes, [&, own = own](Value x, Value y) { return k_.updated(own->first, x, y); });
    Value old = k_.load(start.getType(), own->variable, 0);
    k_.store(start.getType(), k_.updated(own->first, old, all), own->variable);
  }
}

/// A variable is allocated once per call of the function.
Value KernelLowering::LaneVectors::variable(Type type) {
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(&k_.function_.getBody().front());
  Value one = LLVM::ConstantOp::create(b_, b_.getI64Type(), b_.getI64IntegerAttr(1));
  return LLVM::AllocaOp::create(b_, LLVM::LLVMPointerType::get(b_.getContext()), type, one);
}

LogicalResult KernelLowering::LaneVectors::serialize(Operation *op) {
  struct Spilled {
    Value source, memory, before; // `before`: of lane 0, restored afterwards
    Type element;
  };
  auto inMemory = [&](Type type) { return type.isIndex() ? b_.getI64Type() : target::inMemoryElement(type); };
  auto spill = [&](Type type) { return variable(VectorType::get({width_}, inMemory(type))); };
  SmallVector<Spilled> spilled;
  for (Value operand : op->getOperands()) {
    if (isa<tile::ViewType>(operand.getType()) || shapes_.of(operand).kind == LaneShape::Uniform) continue;
    Value v = vector(operand), memory = spill(operand.getType());
    Type element = target::registerElement(operand.getType());
    if (element.isIndex()) v = arith::IndexCastOp::create(b_, k_.vectorOf(b_.getI64Type(), width_), v);
    k_.store(element.isIndex() ? Type(b_.getI64Type()) : element, v, memory);
    spilled.push_back({operand, memory, k_.map_.lookupOrNull(operand), element});
  }
  Value result = op->getNumResults() && !op->getResult(0).use_empty() ? op->getResult(0) : Value();
  Type element = result ? target::registerElement(result.getType()) : Type();
  Value results = result ? spill(result.getType()) : Value();
  if (results) k_.store(element, k_.zeroOf(k_.vectorOf(element, width_)), results);

  Type i64 = b_.getI64Type();
  Value mask = active_ ? active_ : allLanes(true), left = bits(mask);
  if (width_ < 64) left = arith::ExtUIOp::create(b_, i64, left);
  auto loop = scf::WhileOp::create(b_, i64, left);
  LogicalResult lowered = success();
  {
    OpBuilder::InsertionGuard guard(b_);
    Value before = b_.createBlock(&loop.getBefore(), {}, i64, b_.getLoc())->getArgument(0);
    Value any = arith::CmpIOp::create(b_, arith::CmpIPredicate::ne, before, k_.zeroOf(i64));
    scf::ConditionOp::create(b_, any, before);
    Value now = b_.createBlock(&loop.getAfter(), {}, i64, b_.getLoc())->getArgument(0);
    Value lane = math::CountTrailingZerosOp::create(b_, now);
    lane = arith::IndexCastOp::create(b_, b_.getIndexType(), lane);
    for (const Spilled &s : spilled) {
      Type type = s.element.isIndex() ? i64 : s.element;
      Value v = k_.load(type, k_.address(s.memory, lane, type), 0);
      if (s.element.isIndex()) v = arith::IndexCastOp::create(b_, s.element, v);
      k_.map_.map(s.source, v);
    }
    lowered = k_.lowerOp(op);
    if (results) k_.store(element, k_.scalar(result), k_.address(results, lane, element));
    Value one = k_.constantOf(i64, b_.getI64IntegerAttr(1));
    Value lower = arith::SubIOp::create(b_, now, one);
    scf::YieldOp::create(b_, arith::AndIOp::create(b_, now, lower).getResult());
  }
  for (const Spilled &s : spilled)
    s.before ? k_.map_.map(s.source, s.before) : k_.map_.erase(s.source);
  if (op->getNumResults()) k_.map_.erase(op->getResult(0));
  if (result) vectors_[result] = k_.load(element, results, width_);
  return lowered;
}

} // namespace tessera::cpu
