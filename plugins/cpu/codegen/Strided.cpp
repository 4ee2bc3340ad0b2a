// Products whose left operand is broadcast element by element from where it is, with any strides
// (`tile.strided`): neither a copy nor a transpose. The right operand is a tile in scratch, whose rows are
// vectors, or words of two rows of bf16 (`tile.pair_rows`).
//
// Blocks have as many vectors as there are columns, at most 4, and as many rows as the registers then allow:
// 24 sums keep both multipliers busy for each row of the right operand that is loaded. With 16 registers
// there are at most 2 vectors and 12 sums. Each element is one chain over k, as in every other product of two
// tiles.
#include "plugins/cpu/codegen/Lowering.h"

using namespace mlir;

namespace tessera::cpu {
namespace {

/// The rows of a block by its vectors - 1, with 32 registers and with 16. One vector has more rows: each
/// needs a broadcast of its own.
constexpr int64_t kBlockRows[] = {12, 8, 8, 6}, kFewerBlockRows[] = {12, 6};

} // namespace

LogicalResult KernelLowering::lowerStrided(tile::MmaOp op) {
  Place c = place(op.getResult());
  const bool isPaired = bool(op.getB().getDefiningOp<tile::PairRowsOp>());
  if ((!isPaired && c.element != tile::tileType(op.getB()).getElementType()) || vectorBytes_ < 32)
    return op.emitOpError() << "with tile.strided is not implemented for this target (TSR_UNIMPLEMENTED)";
  const bool fresh = target::isZeroTile(op.getAcc());
  if (isPaired && !fresh)
    return op.emitOpError() << "of tile.pair_rows is not implemented for an accumulator other than zeros "
                               "(TSR_UNIMPLEMENTED)";
  auto less = [&](Value x, Value y) { return b_.createOrFold<arith::MinSIOp>(x, y); };
  auto inScratch = [&](Value operand) {
    Place p = place(operand);
    Factor factor{p.data, constant(p.shape[1]), constant(1), p.element, {}, {}};
    // An operand that was filled only as far as products read it ends where its tensor does.
    if (auto filled = partlyRead_.find(operand); filled != partlyRead_.end()) factor.ends = filled->second;
    return factor;
  };
  std::optional<Factor> a;
  BlockOptions options{fresh};
  // Rows of the right operand are whole vectors, of which masks would take registers.
  options.wholeRows = vectorBytes_ < 64 && c.shape[1] % lanesFor(op.getResult()) == 0;
  if (Operation *from = op.getA().getDefiningOp(); from && deferred_.erase(from)) {
    a = readInPlace(op.getA());
    if (a && isPaired && (a->cast || !a->element.isBF16())) a.reset(); // the function reads bf16
    if (!a && failed(lowerOp(from))) return failure();
    // Few columns use what comes from memory few times, and each block reads other rows of it.
    if (a) options.ahead = op.getTransA() ? BlockOptions::Depth : BlockOptions::Rows;
  }
  if (!a) a = inScratch(op.getA());
  Factor b = inScratch(op.getB());
  int64_t depthOfTile = tile::tileType(op.getB()).getDimSize(0) * (isPaired ? 2 : 1);
  if (op.getTransA()) {
    std::swap(a->rowStride, a->columnStride);
    if (!a->ends.empty()) std::swap(a->ends[0], a->ends[1]);
  }
  Value rows = constant(c.shape[0]), columns = constant(c.shape[1]), depth = constant(depthOfTile);
  if (!op.getLimits().empty()) {
    rows = less(rows, scalar(op.getLimits()[0]));
    columns = less(columns, scalar(op.getLimits()[1]));
    depth = less(depth, scalar(op.getLimits()[2]));
  }
  if (!a->ends.empty()) rows = less(rows, a->ends[0]), depth = less(depth, a->ends[1]);
  if (!b.ends.empty()) columns = less(columns, b.ends[1]), depth = less(depth, b.ends[0]);

  // An accumulator of zeros needs to be in memory only where the product does not write it.
  if (fresh) {
    Value isPart = arith::OrIOp::create(
        b_, b_.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::slt, rows, constant(c.shape[0])),
        b_.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::slt, columns, constant(c.shape[1])));
    auto choice = scf::IfOp::create(b_, TypeRange(), isPart, false);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(&choice.getThenRegion().front());
    assign(op.getAcc(), c, op);
  } else {
    assign(op.getAcc(), c, op);
  }
  Vec<Value> arguments = {a->data, a->rowStride, a->columnStride, b.data, b.rowStride,
                          c.data,  rows,         columns,         depth};
  if (!isPaired) {
    func::CallOp::create(b_, stridedFunction(*a, b, c, options), arguments);
    return success();
  }
  // The archive of products has it: products/bodies/NarrowTile.cpp.
  arguments.insert(arguments.begin() + 6, constant(c.shape[1]));
  func::CallOp::create(b_, declareBody("tsr.p.bf16.dot.tile", ValueRange(arguments).getTypes()), arguments);
  return success();
}

func::FuncOp KernelLowering::stridedFunction(const Factor &a, const Factor &b, const Place &c,
                                             BlockOptions options) {
  auto emit = [&](const Factor &x, const Factor &y, const Place &sum, Value rows, Value columns,
                  Value depth) {
    const int64_t lanes = vectorBytes_ / (c.element.getIntOrFloatBitWidth() / 8);
    const ArrayRef<int64_t> blockRows =
        vectorBytes_ == 64 ? ArrayRef<int64_t>(kBlockRows) : ArrayRef<int64_t>(kFewerBlockRows);
    const auto mostVectors = static_cast<int64_t>(blockRows.size());
    const int64_t most = (c.shape[1] + lanes - 1) / lanes;
    auto blocks = [&](int64_t vectors, Value from, Value end) {
      chainBlocks(x, y, sum, {blockRows[vectors - 1], vectors}, {from, end}, rows, columns, depth, options);
    };
    Value from = constant(0);
    if (most >= mostVectors) {
      Value wide = roundDown(columns, mostVectors * lanes);
      blocks(mostVectors, from, wide);
      from = wide;
    }
    // The columns that are left, in one block as wide as they need.
    OpBuilder::InsertionGuard guard(b_);
    for (int64_t vectors = std::min(most, mostVectors - 1); vectors; --vectors) {
      Value before = arith::AddIOp::create(b_, from, constant((vectors - 1) * lanes));
      Value reaches = arith::CmpIOp::create(b_, arith::CmpIPredicate::sgt, columns, before);
      auto choice = scf::IfOp::create(b_, TypeRange(), reaches, true);
      b_.setInsertionPointToStart(&choice.getThenRegion().front());
      blocks(vectors, from, columns);
      b_.setInsertionPointToStart(&choice.getElseRegion().front());
    }
  };
  std::string suffix = options.fresh ? ".fresh" : "";
  if (options.wholeRows) suffix += ".whole";
  if (options.ahead) suffix += options.ahead == BlockOptions::Rows ? ".rows" : ".depth";
  return productFunction("strided", suffix.c_str(), a, b, c, emit);
}

} // namespace tessera::cpu
