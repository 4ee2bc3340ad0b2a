#include "compiler/schedule/Transforms/StoreCoverage.h"
#include <algorithm>
#include <map>

namespace tessera::schedule {

using frontend::Dim;
using frontend::Expr;
using frontend::Kernel;
using frontend::Op;
using frontend::Param;
using frontend::Stmt;
using frontend::SymbolId;

namespace {

/// The values of a variable of the grid or of a loop: from `lo` to `hi` in steps of `step`.
struct Walk {
  const Expr *lo, *hi, *step;
};

bool isConstant(const Expr &e, int64_t value) { return e.op == Op::ConstInt && e.intValue == value; }

bool isExtent(const Expr &e, const Dim &dim) {
  return dim.symbol.empty() ? isConstant(e, dim.constant) : e.op == Op::DimRef && e.text == dim.symbol;
}

/// The factors of a product of extents.
void factors(const Expr &e, std::vector<std::string> &out) {
  if (e.op == Op::Mul) {
    for (const auto &arg : e.args)
      factors(*arg, out);
  } else {
    out.push_back(e.op == Op::DimRef ? e.text : std::to_string(e.intValue));
  }
}

class CoverageCheck {
public:
  explicit CoverageCheck(const Kernel &kernel) : kernel_(kernel), isStored_(kernel.params.size()) {
    for (const frontend::GridAxis &axis : kernel.grid)
      walks_[axis.symbol] = {axis.lo.get(), axis.hi.get(), axis.step.get()};
  }

  std::string run() {
    visit(kernel_.body);
    for (size_t i = 0; i < kernel_.params.size(); ++i)
      if (kernel_.params[i].isResult && !isStored_[i]) fail(kernel_.params[i], "is not stored");
    return why_;
  }

private:
  void fail(const Param &param, const std::string &what) {
    if (why_.empty()) why_ = "'" + param.name + "' " + what;
  }

  void visit(const frontend::Block &block) {
    for (const Stmt &s : block) {
      if (s.kind == Stmt::For) walks_[s.symbol] = {s.exprs[0].get(), s.exprs[1].get(), s.exprs[2].get()};
      if ((s.kind == Stmt::StoreTile || s.kind == Stmt::StoreElem) && kernel_.params[s.param].isResult)
        check(s);
      visit(s.body);
    }
  }

  void check(const Stmt &store) {
    const Param &param = kernel_.params[store.param];
    isStored_[store.param] = true;
    if (kernel_.laneCount) return checkLanes(param);
    for (size_t d = 0; d < param.dims.size(); ++d) {
      int64_t extent = store.kind == Stmt::StoreTile ? std::max<int64_t>(store.ints[d], 1) : 1;
      checkDim(param, d, *store.exprs[d + 1], extent);
    }
  }

  void checkLanes(const Param &param) {
    std::vector<std::string> wanted, found;
    for (const Dim &dim : param.dims)
      wanted.push_back(dim.symbol.empty() ? std::to_string(dim.constant) : dim.symbol);
    factors(*kernel_.laneCount, found);
    std::sort(wanted.begin(), wanted.end());
    std::sort(found.begin(), found.end());
    if (wanted != found) fail(param, "does not have an element for each lane");
  }

  /// Tiles of `extent` elements along dim `d`, from `start` on.
  void checkDim(const Param &param, size_t d, const Expr &start, int64_t extent) {
    const Dim &dim = param.dims[d];
    std::string at = "along dim " + std::to_string(d);
    if (start.op == Op::ConstInt) {
      if (!dim.symbol.empty() || start.intValue != 0 || dim.constant > extent)
        fail(param, "is stored once " + at + ", " + std::to_string(extent) + " elements of it");
      return;
    }
    bool isPart = start.op == Op::Add; // of joined tensors: the loop runs over one of them
    const Expr &variable = isPart ? *start.args[0] : start;
    auto walk = variable.op == Op::Var ? walks_.find(variable.symbol) : walks_.end();
    if (walk == walks_.end()) return fail(param, "is stored at no variable's place " + at);
    auto [lo, hi, step] = walk->second;
    if (step->op != Op::ConstInt || step->intValue < 1 || step->intValue > extent)
      fail(param, "is stored in tiles of " + std::to_string(extent) + " elements " + at + ", in steps of " +
                      std::to_string(step->intValue));
    else if (!isConstant(*lo, 0) || (!isPart && !isExtent(*hi, dim)))
      fail(param, "is not stored from its beginning to its end " + at);
  }

  const Kernel &kernel_;
  std::map<SymbolId, Walk> walks_;
  std::vector<char> isStored_; // by parameter
  std::string why_;
};

} // namespace

std::string whyNotCovered(const Kernel &kernel) { return CoverageCheck(kernel).run(); }

} // namespace tessera::schedule
