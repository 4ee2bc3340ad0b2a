#include "compiler/frontend/sema/Divergence.h"
#include <algorithm>
#include <set>

namespace tessera::frontend {
namespace {

class Checker {
public:
  Checker(const Kernel &k, DiagnosticSink &sink) : sink_(sink) {
    // A later iteration of a loop may make a variable divergent: repeat until nothing changes, then report.
    size_t before;
    do {
      before = divergent_.size();
      walk(k.body, false);
    } while (divergent_.size() != before);
    report_ = true;
    walk(k.body, false);
  }

private:
  bool divergent(const Expr &e) const {
    if (e.op == Op::LaneId || e.op == Op::LocalId || e.op == Op::LaneIdInGroup || e.op == Op::Atomic)
      return true;
    if (e.op == Op::Var && divergent_.count(e.symbol)) return true;
    if (e.op == Op::GroupReduce) return false; // the same for all lanes
    return std::ranges::any_of(e.args, [&](const ExprPtr &a) { return divergent(*a); });
  }

  void refuse(Range loc, const char *what) {
    if (report_)
      sink_.error(Code::E_DIVERGENT, loc, std::string(what) + " under a condition that differs between lanes",
                  "move it out of the condition");
  }

  void expression(const Expr &e, bool inDivergent) {
    if (e.op == Op::GroupReduce && inDivergent) refuse(e.loc, "this group reduction stands");
    for (const ExprPtr &a : e.args)
      expression(*a, inDivergent);
  }

  void walk(const Block &body, bool inDivergent) {
    for (const Stmt &s : body) {
      for (const ExprPtr &e : s.exprs)
        expression(*e, inDivergent);
      bool condition = false;
      switch (s.kind) {
      case Stmt::Assign:
        if (inDivergent || divergent(*s.exprs[0])) divergent_.insert(s.symbol);
        break;
      case Stmt::Barrier:
        if (inDivergent) refuse(s.loc, "this barrier stands");
        break;
      case Stmt::WaitGroup:
        if (inDivergent) refuse(s.loc, "this wait stands");
        break;
      case Stmt::For:
        condition = divergent(*s.exprs[0]) || divergent(*s.exprs[1]);
        if (condition || inDivergent) divergent_.insert(s.symbol);
        break;
      case Stmt::While:
      case Stmt::If:
        condition = divergent(*s.exprs[0]);
        break;
      default:
        break;
      }
      walk(s.body, inDivergent || condition);
      walk(s.orelse, inDivergent || condition);
    }
  }

  DiagnosticSink &sink_;
  std::set<SymbolId> divergent_;
  bool report_ = false;
};

} // namespace

void checkDivergence(const Kernel &k, DiagnosticSink &sink) { Checker(k, sink); }

} // namespace tessera::frontend
