// Rows of the next program, fetched while a program reads its own for the last time.
//
// A norm reads a row from memory for its mean and then again from the first-level cache, where it stays for
// the other passes. During these memory would be idle. So the last pass over a row fetches that of the next
// program into the second-level cache, if the results are stored past the caches: smaller ones are there
// already, and what they are computed from mostly is, too (docs/decisions/0167).
#include "compiler/tile/IR/DTypes.h"
#include "plugins/cpu/codegen/Lowering.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tessera::cpu {
namespace {

/// What is further ahead would replace what this program reads in a second-level cache.
constexpr int64_t kMostBytesAhead = 128 << 10;

/// Returns by how much `index` is larger in the next program along the grid's `axis`; nullopt: not known.
std::optional<int64_t> stepOfProgram(Value index, unsigned axis) {
  if (auto id = index.getDefiningOp<tile::ProgramIdOp>())
    return id.getProgram() || id.getAxis() != axis ? std::nullopt : std::optional<int64_t>(1);
  if (auto times = index.getDefiningOp<arith::MulIOp>())
    if (std::optional<int64_t> by = getConstantIntValue(times.getRhs()))
      if (std::optional<int64_t> step = stepOfProgram(times.getLhs(), axis)) return *step * *by;
  return std::nullopt;
}

} // namespace

void KernelLowering::beginFetchAhead() {
  if (nonTemporal_.empty() || kernel_.getGrid().empty()) return;
  const auto axis = static_cast<unsigned>(kernel_.getGrid().size() - 1); // neighbours of the program's number
  // Tensors that several loops of a program read, by the last of these loads.
  llvm::MapVector<Value, tile::LoadOp> last;
  llvm::SmallPtrSet<Value, 4> again;
  kernel_.walk([&](tile::LoadOp load) {
    auto arg = dyn_cast<BlockArgument>(load.getView());
    if (!arg || arg.getOwner() != &kernel_.getBody().front() ||
        cast<tile::ParamAttr>(kernel_.getParams()[arg.getArgNumber()]).getAccess() != tile::Access::Read)
      return;
    tile::LoadOp &known = last[arg];
    if (known && known->getParentOp() != load->getParentOp()) again.insert(arg);
    known = load;
  });
  for (auto [tensor, load] : last) {
    const View &view = views_[tensor];
    Value distance;
    for (auto [start, stride] : llvm::zip(load.getStarts(), view.strides))
      if (std::optional<int64_t> step = stepOfProgram(start, axis)) {
        Value more =
            b_.createOrFold<arith::MulIOp>(stride, constant(*step * tessera::storageBytes(view.element)));
        distance = distance ? b_.createOrFold<arith::AddIOp>(distance, more) : more;
      }
    if (!again.contains(tensor) || !distance || tessera::isPacked(view.element)) continue;
    Value isNear = arith::CmpIOp::create(b_, arith::CmpIPredicate::ule, distance, constant(kMostBytesAhead));
    // A distance of 0 fetches what is loaded next anyway, which costs less than a branch.
    ahead_[load] = arith::SelectOp::create(b_, both(isNear, anyNonTemporal()), distance, constant(0));
  }
}

void KernelLowering::fetchAhead(tile::LoadOp load, const Window &w, Indices at) {
  auto found = ahead_.find(load);
  if (found == ahead_.end() || !w.isContiguous()) return;
  Value to = address(windowAddress(w, at), found->second, b_.getI8Type());
  LLVM::Prefetch::create(b_, to, /*rw=*/0, /*hint=*/2, /*cache=*/1);
}

} // namespace tessera::cpu
