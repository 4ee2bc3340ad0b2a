// Determines which tensors a kernel reads and writes from the syntax alone, because signatures need it before
// any dim has a value.
#pragma once
#include "compiler/frontend/sema/ModuleData.h"
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tessera::frontend {

struct EffectSummary {
  std::set<std::string> reads, writes;     // names of parameters
  std::vector<std::string> returnedParams; // by returned value; "" for one that is no parameter
};

/// Follows tensors into helpers and through plain aliases (`X = A`). It may report an effect that no path
/// has, but it never misses one.
EffectSummary summarizeEffects(const ModuleData &, const FunctionDecl &);

/// Which expressions have effects: those that call an atomic, a kernel, or a function that writes memory or
/// synchronises. Names are resolved in the module, so a local that shadows a helper may count as the helper.
class EffectfulCalls {
public:
  explicit EffectfulCalls(const ModuleData &m) : m_(m) {}

  bool in(const ast::Expr &);
  /// Does the statement itself, without the blocks inside it, have effects between its reads? If a call is
  /// the whole value, its arguments are read before its effects.
  bool in(const ast::Stmt &);

private:
  bool in(const ast::Block &);

  const ModuleData &m_;
  std::map<const ast::Stmt *, bool> helpers_;
};

} // namespace tessera::frontend
