// Which tensors a kernel reads and writes, from the syntax alone: signatures need it before any dim has a
// value.
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

/// Follows tensors into helpers and through plain aliases (`X = A`). May report an effect that no path has,
/// never misses one.
EffectSummary summarizeEffects(const ModuleData &, const FunctionDecl &);

/// Which expressions have effects: they call an atomic, a kernel, or a function that writes memory or
/// synchronises. Names are taken as the module's, so a local that shadows a helper may count as one.
class EffectfulCalls {
public:
  explicit EffectfulCalls(const ModuleData &m) : m_(m) {}

  bool in(const ast::Expr &);
  /// Whether the statement itself, without the blocks inside it, has effects between its reads. A call that
  /// is the whole value has read its arguments before it has its effects.
  bool in(const ast::Stmt &);

private:
  bool in(const ast::Block &);

  const ModuleData &m_;
  std::map<const ast::Stmt *, bool> helpers_;
};

} // namespace tessera::frontend
