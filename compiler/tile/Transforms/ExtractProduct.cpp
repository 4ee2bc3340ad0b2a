// tile-extract-product (normative phase 2, applied): a loop that accumulates one whole matrix product becomes
// a read of the product, which the target computes by a body of its own before it runs the rest of the
// kernel.
//
//   %c = scf.for %k = 0 to %K step 256 iter_args(%acc = 0)      %c = tile.load %product[%i, %j] extents [48,
//   64]
//     %a = tile.load %A[%i, %k] ...                         ->
//     %b = tile.load %B[%k, %j] ...                             (tile.kernel ... attributes {tile.product =
//     ...}) yield tile.mma %a, %b, %acc
//
// The loop's range must be the whole contraction, and the blocks those of the grid, whose last axis becomes
// that of the rows: consecutive programs then share columns of B. Factors may be copied to shared buffers
// first, as programs for GPUs do. It runs before bounds become explicit, while the loop still has its plain
// form. Products that do not match keep their loop.
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/Product.h"
#include "compiler/tile/Transforms/Passes.h"
#include "compiler/tile/Transforms/TileUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "numerics/DType.h"

namespace tessera {
#define GEN_PASS_DEF_TILEEXTRACTPRODUCT
#include "compiler/tile/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::tile;

namespace {

/// At most this many axes of a batch (plugins/cpu/codegen/products/Problem.h).
constexpr size_t kMostBatchAxes = 6;

/// The dtype that a body sums products in.
DType sumOf(DType operand) {
  if (info(operand).bits >= 32) return operand;
  return isFloat(operand) ? DType::F32 : DType::I32;
}

/// Where one axis of an operand is read: from `step` times the program's position on a grid axis on, or from
/// 0.
struct Position {
  int64_t axis = -1, step = 0;
};

/// Recognises the product of one kernel; lives for one call of match().
class Matcher {
public:
  explicit Matcher(KernelOp kernel) : kernel_(kernel) {}

  bool match(scf::ForOp loop);

  Product product;
  int64_t rowAxis = -1, columnAxis = -1;      // of the grid; -1: none
  SmallVector<int64_t> batchAxes;             // of the grid
  Value row, column;                          // the start of the program's block
  DType dtype = DType::F32, sum = DType::F32; // of the operands, and of the product
  StringAttr rows, columns;                   // extents of the result
  int64_t staticRows = 0, staticColumns = 0;

private:
  struct Operand {
    Operation *read = nullptr; // tile.load, or the tile.cp_async into a buffer that is used for nothing else
    ValueRange starts;
    ArrayRef<int64_t> extents;
    ParamAttr param;
    int64_t argument = 0;
    unsigned outer = 0, inner = 0; // the view's axes of rows or columns, and of the contraction
  };

  std::optional<Operand> operand(MmaOp mma, bool isLeft, Value k);
  std::optional<Position> position(Value start);
  bool spansGrid(const Position &, StringRef extent, int64_t step, int64_t &axis);
  bool isInside(const Position &, StringRef extent);
  bool batch(Operand &, SmallVector<Position> &);
  IndexExpr extentOf(StringRef text);
  bool isExtent(Value v, StringRef text);
  bool isStored(scf::ForOp loop);

  KernelOp kernel_;
};

IndexExpr Matcher::extentOf(StringRef text) {
  // The text is verified: a number or an expression.
  return *IndexExpr::parse(std::string_view(text.data(), text.size()));
}

/// Is `v` the extent that the parameters call `text`?
bool Matcher::isExtent(Value v, StringRef text) {
  if (auto argument = dyn_cast<BlockArgument>(v))
    return argument.getOwner() == &kernel_.getBody().front() && kernel_.getParam(argument).getName() == text;
  std::optional<int64_t> number = getConstantIntValue(v);
  if (!number) return false;
  int64_t extent = 0;
  if (!text.getAsInteger(10, extent)) return extent == *number;
  auto known =
      kernel_.getSpecializedAttr() ? kernel_.getSpecializedAttr().getAs<IntegerAttr>(text) : IntegerAttr();
  return known && known.getInt() == *number;
}

std::optional<Position> Matcher::position(Value start) {
  if (getConstantIntValue(start) == 0) return Position{};
  if (auto id = start.getDefiningOp<ProgramIdOp>()) return Position{static_cast<int64_t>(id.getAxis()), 1};
  auto product = start.getDefiningOp<arith::MulIOp>();
  if (!product) return std::nullopt;
  auto id = product.getLhs().getDefiningOp<ProgramIdOp>();
  std::optional<int64_t> step = getConstantIntValue(product.getRhs());
  if (!id || !step || *step < 1) return std::nullopt;
  return Position{static_cast<int64_t>(id.getAxis()), *step};
}

/// Do the blocks of `step` at these positions cover `extent`? Sets `axis` to that of the grid.
bool Matcher::spansGrid(const Position &at, StringRef extent, int64_t step, int64_t &axis) {
  if (at.axis < 0) // one block
    return extentOf(extent).asConstant().value_or(INT64_MAX) <= step;
  if (at.step != step) return false;
  axis = at.axis;
  IndexExpr count = extentOf(extent);
  if (step != 1)
    count = IndexExpr::binary(IndexExpr::Code::CeilDiv, std::move(count), IndexExpr::constant(step));
  return cast<IndexExprAttr>(kernel_.getGrid()[static_cast<unsigned>(axis)]).getExpr() == count;
}

/// The copy that fills the buffer for the product, if the buffer has no other use.
CpAsyncOp copyFor(Value buffer, MmaOp mma) {
  if (!buffer.getDefiningOp<AllocSharedOp>() || !buffer.hasNUses(2)) return nullptr;
  for (Operation *user : buffer.getUsers())
    if (auto copy = dyn_cast<CpAsyncOp>(user);
        copy && copy->getBlock() == mma->getBlock() && copy->isBeforeInBlock(mma))
      return copy;
  return nullptr;
}

std::optional<Matcher::Operand> Matcher::operand(MmaOp mma, bool isLeft, Value k) {
  Value tile = isLeft ? mma.getA() : mma.getB();
  Operand out;
  Value from;
  Type element;
  // Both operands may be one tile, as in x @ x.T of one row.
  auto isOnlyRead = [&] {
    return llvm::all_of(tile.getUsers(), [&](Operation *user) { return user == mma; });
  };
  if (auto load = tile.getDefiningOp<LoadOp>(); load && isOnlyRead()) {
    out.read = load, out.starts = load.getStarts(), out.extents = load.getExtents();
    from = load.getView(), element = tileType(tile).getElementType();
  } else if (CpAsyncOp copy = copyFor(tile, mma)) {
    out.read = copy, out.starts = copy.getStarts(), out.extents = copy.getExtents();
    from = copy.getView(), element = loadedElementType(copy.getBuffer().getType().getElementType());
  }
  auto argument = dyn_cast_if_present<BlockArgument>(from);
  if (!argument || out.read->getBlock() != mma->getBlock() ||
      llvm::count_if(out.extents, [](int64_t e) { return e > 0; }) != 2)
    return std::nullopt;
  out.argument = argument.getArgNumber();
  out.param = kernel_.getParam(argument);
  auto view = cast<ViewType>(argument.getType());
  const auto rank = static_cast<unsigned>(view.getRank());
  if (rank < 2 || out.param.getAccess() != Access::Read ||
      element != loadedElementType(view.getElementType()))
    return std::nullopt;
  if (out.param.getStrides() && out.param.getStride(rank - 1) != "1") return std::nullopt;
  for (unsigned d = 0; d < rank; ++d)
    if ((out.extents[d] > 0) != (d + 2 >= rank)) return std::nullopt;
  const bool contractsLast = isLeft != (isLeft ? mma.getTransA() : mma.getTransB());
  out.inner = contractsLast ? rank - 1 : rank - 2;
  out.outer = contractsLast ? rank - 2 : rank - 1;
  return out.starts[out.inner] == k ? std::optional(out) : std::nullopt;
}

/// Is an index of the batch inside its axis in every program? A body does not look.
bool Matcher::isInside(const Position &at, StringRef extent) {
  int64_t axis = -1;
  return at.axis < 0 ? extentOf(extent).asConstant().value_or(0) > 0 : spansGrid(at, extent, 1, axis);
}

/// The positions along the axes before the last two.
bool Matcher::batch(Operand &x, SmallVector<Position> &positions) {
  for (unsigned d = 0; d + 2 < x.starts.size(); ++d) {
    std::optional<Position> at = position(x.starts[d]);
    if (!at || !isInside(*at, x.param.getDim(d))) return false;
    positions.push_back(*at);
  }
  return true;
}

bool Matcher::match(scf::ForOp loop) {
  if (loop.getNumResults() != 1 || getConstantIntValue(loop.getLowerBound()) != 0) return false;
  if (!isTile(loop.getResult(0))) return false;
  auto mma = loop.getBody()->getTerminator()->getOperand(0).getDefiningOp<MmaOp>();
  if (!mma || mma->getBlock() != loop.getBody() || mma.getAcc() != loop.getRegionIterArg(0) ||
      !loop.getRegionIterArg(0).hasOneUse() || !mma.getResult().hasOneUse() || !mma.getLimits().empty())
    return false;
  Value zero = loop.getInitArgs()[0];
  while (auto broadcast = zero.getDefiningOp<BroadcastOp>())
    zero = broadcast.getInput();
  // -0 would change the sign of a sum of zeros.
  if (!matchPattern(zero, m_PosZeroFloat()) && !matchPattern(zero, m_Zero())) return false;
  Value k = loop.getInductionVar();
  auto a = operand(mma, true, k), b = operand(mma, false, k);
  if (!a || !b) return false;
  for (Operation &op : loop.getBody()->without_terminator())
    if (&op != mma && &op != a->read && &op != b->read && !isa<CommitGroupOp, WaitGroupOp, BarrierOp>(op))
      return false;
  StringRef depth = a->param.getDim(a->inner);
  const std::optional<int64_t> step = getConstantIntValue(loop.getStep());
  if (depth != b->param.getDim(b->inner) || !isExtent(loop.getUpperBound(), depth) ||
      step != a->extents[a->inner] || step != b->extents[b->inner])
    return false;

  auto type = tileType(loop.getResult(0));
  if (type != tileType(mma.getResult())) return false;
  product.transA = mma.getTransA(), product.transB = mma.getTransB();
  if (auto leaf = mma->getAttrOfType<IntegerAttr>(kLeaf)) product.leaf = leaf.getInt();
  product.a = a->argument, product.b = b->argument;
  product.blockRows = type.getDimSize(0), product.blockColumns = type.getDimSize(1);
  if (type.getNumElements() > kMostProductElements) return false;
  row = a->starts[a->outer], column = b->starts[b->outer];
  rows = cast<StringAttr>(a->param.getDims()[a->outer]),
  columns = cast<StringAttr>(b->param.getDims()[b->outer]);
  auto extent = [&](const Operand &x) {
    return cast<ViewType>(kernel_.getBody().getArgument(unsigned(x.argument)).getType()).getShape()[x.outer];
  };
  staticRows = extent(*a), staticColumns = extent(*b);
  dtype = *a->param.getDtype(), sum = sumOf(dtype);
  if (mma.getIsUnsigned() != (dtype == DType::U8)) return false;
  if (b->param.getDtype() != dtype || type.getElementType() != elementTypeInValues(kernel_.getContext(), sum))
    return false;
  std::optional<Position> atRow = position(row), atColumn = position(column);
  if (!atRow || !atColumn || !spansGrid(*atRow, rows, product.blockRows, rowAxis) ||
      !spansGrid(*atColumn, columns, product.blockColumns, columnAxis))
    return false;
  if (rowAxis >= 0 && rowAxis == columnAxis) return false;
  product.hasRows = rowAxis >= 0, product.hasColumns = columnAxis >= 0;

  SmallVector<Position> inA, inB;
  if (!batch(*a, inA) || !batch(*b, inB)) return false;
  for (int64_t axis = 0, e = static_cast<int64_t>(kernel_.getGrid().size()); axis < e; ++axis)
    if (axis != rowAxis && axis != columnAxis) batchAxes.push_back(axis);
  if (batchAxes.size() > kMostBatchAxes) return false;
  auto axesOf = [&](ArrayRef<Position> positions, SmallVector<int64_t> &axes) {
    for (int64_t axis : batchAxes) {
      auto it = llvm::find_if(positions, [&](const Position &p) { return p.axis == axis; });
      axes.push_back(it == positions.end() ? -1 : it - positions.begin());
    }
    // An axis of the grid that counts two axes of an operand would need the sum of their strides.
    return llvm::count_if(positions, [](const Position &p) { return p.axis >= 0; }) ==
           llvm::count_if(axes, [](int64_t d) { return d >= 0; });
  };
  if (!axesOf(inA, product.batchA) || !axesOf(inB, product.batchB)) return false;
  if (!isStored(loop)) product.batchC.assign(batchAxes.size(), -1);
  return true;
}

/// Is storing the product all that the kernel does? Then sets where.
bool Matcher::isStored(scf::ForOp loop) {
  Value result = loop.getResult(0);
  if (!result.hasOneUse()) return false;
  auto store = dyn_cast<StoreOp>(*result.user_begin());
  auto argument = store ? dyn_cast<BlockArgument>(store.getView()) : BlockArgument();
  if (!argument || store.getValue() != result || store.getFlags() || !store.getLower().empty()) return false;
  for (Operation &op : kernel_.getBody().front().without_terminator())
    if (&op != store && &op != loop && !isPure(&op) && !isa<AllocSharedOp>(op)) return false;
  ParamAttr param = kernel_.getParam(argument);
  auto view = cast<ViewType>(argument.getType());
  const auto rank = static_cast<unsigned>(view.getRank());
  if (rank < 2 || view.getElementType() != tileType(result).getElementType()) return false;
  if (param.getStrides() && param.getStride(rank - 1) != "1") return false;
  if (param.getDims()[rank - 2] != rows || param.getDims()[rank - 1] != columns) return false;
  if (store.getStarts()[rank - 2] != row || store.getStarts()[rank - 1] != column) return false;
  for (unsigned d = 0; d < rank; ++d)
    if ((store.getExtents()[d] > 0) != (d + 2 >= rank)) {
      // an axis of extent 1 may be stored as such
      if (d + 2 >= rank || store.getExtents()[d] != 1) return false;
    }
  SmallVector<Position> positions;
  for (unsigned d = 0; d + 2 < rank; ++d) {
    std::optional<Position> at = position(store.getStarts()[d]);
    if (!at || !isInside(*at, param.getDim(d))) return false;
    positions.push_back(*at);
  }
  // An axis of the grid may count one axis of C only, as of an operand.
  if (llvm::count_if(positions, [](const Position &p) { return p.axis >= 0; }) !=
      static_cast<int64_t>(batchAxes.size()))
    return false;
  SmallVector<int64_t> axes;
  for (int64_t axis : batchAxes) {
    auto it = llvm::find_if(positions, [&](const Position &p) { return p.axis == axis; });
    if (it == positions.end()) return false; // several programs would store the same elements
    axes.push_back(it - positions.begin());
  }
  product.batchC = axes;
  product.c = argument.getArgNumber();
  return true;
}

class ExtractProduct : public impl::TileExtractProductBase<ExtractProduct> {
  using impl::TileExtractProductBase<ExtractProduct>::TileExtractProductBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (kernel->hasAttr(kProduct) || kernel.getLanesPerProgram()) return;
    // The axes of the grid change places, which a program that asks for its number would see; prints and
    // assertions do.
    if (kernel.walk([](GroupInfoOp) { return WalkResult::interrupt(); }).wasInterrupted()) return;
    scf::ForOp found;
    std::optional<Matcher> match;
    for (auto loop : kernel.getBody().front().getOps<scf::ForOp>()) {
      Matcher candidate(kernel);
      if (!candidate.match(loop) || !llvm::is_contained(dtypes, name(candidate.dtype))) continue;
      if (found) return; // the body computes one product
      found = loop;
      match.emplace(std::move(candidate));
    }
    if (found) extract(kernel, found, *match);
  }

  void extract(KernelOp kernel, scf::ForOp loop, Matcher &match) {
    MLIRContext *context = kernel.getContext();
    OpBuilder b(loop);
    // The grid's order is the schedule's to decide: rows last.
    SmallVector<int64_t> order(match.batchAxes);
    for (int64_t axis : {match.columnAxis, match.rowAxis})
      if (axis >= 0) order.push_back(axis);
    SmallVector<Attribute> grid;
    for (int64_t axis : order)
      grid.push_back(kernel.getGrid()[static_cast<unsigned>(axis)]);
    kernel.setGridAttr(b.getArrayAttr(grid));
    kernel.walk([&](ProgramIdOp id) {
      const auto *place = llvm::find(order, static_cast<int64_t>(id.getAxis()));
      id.setAxis(static_cast<uint64_t>(place - order.begin()));
    });

    auto type = tileType(loop.getResult(0));
    auto view = ViewType::get(context, {match.staticRows, match.staticColumns}, type.getElementType());
    Value product = kernel.getBody().front().insertArgument(0u, view, loop.getLoc());
    auto param = ParamAttr::get(context, b.getStringAttr("ts.product"), ParamKind::Tensor, match.sum,
                                Access::Read, b.getArrayAttr({match.rows, match.columns}),
                                b.getStrArrayAttr({std::to_string(match.product.blockColumns), "1"}),
                                Attribute(), DictionaryAttr());
    SmallVector<Attribute> params = {param};
    llvm::append_range(params, kernel.getParams());
    kernel.setParamsAttr(b.getArrayAttr(params));
    SmallVector<Type> types(kernel.getBody().getArgumentTypes());
    kernel.setFunctionTypeAttr(TypeAttr::get(b.getFunctionType(types, {})));

    auto load = LoadOp::create(b, loop.getLoc(), type, product, ValueRange{match.row, match.column},
                               b.getDenseI64ArrayAttr(type.getShape()), UnitAttr());
    loop.getResult(0).replaceAllUsesWith(load);
    SmallVector<AllocSharedOp> buffers;
    for (auto copy : loop.getBody()->getOps<CpAsyncOp>())
      buffers.push_back(copy.getBuffer().getDefiningOp<AllocSharedOp>());
    loop.erase();
    std::set<std::string> ignored;
    for (AllocSharedOp buffer : buffers) {
      if (Swizzle swizzle = buffer.getType().getSwizzle(); swizzle != Swizzle::None)
        ignored.insert(backend + ": swizzle=\"" + stringifySwizzle(swizzle).str() +
                       "\" has no effect: the product reads its factors where they are");
      buffer.erase();
    }
    addFallbacks(kernel, ignored);
    for (int64_t *argument : {&match.product.a, &match.product.b, &match.product.c})
      if (*argument >= 0) ++*argument;
    kernel->setAttr(kProduct, match.product.toAttr(context));
  }
};

} // namespace
} // namespace tessera
