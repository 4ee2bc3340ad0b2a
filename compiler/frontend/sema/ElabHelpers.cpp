// Helper functions, which are inlined at every call.
#include "compiler/frontend/diagnostics/Suggest.h"
#include "compiler/frontend/sema/Effects.h"
#include "compiler/frontend/sema/Elaborator.h"

namespace tessera::frontend {

/// Checks that a call of `f` may be inlined here.
bool Elaborator::enter(const FunctionDecl &f, const ast::Expr &call) {
  constexpr size_t kMaxCallDepth = 32;
  const std::string &name = f.stmt->text;
  if (!grow(call.loc)) return false;
  for (const auto &frame : frames_)
    if (frame->function == name) {
      fail(Code::E_RECURSION, call.loc, "'" + name + "' calls itself; helpers are inlined and cannot recurse",
           "write a loop");
      return false;
    }
  if (frames_.size() > kMaxCallDepth) {
    fail(Code::E_RECURSION, call.loc, "helpers call each other too deeply");
    return false;
  }
  if (constantsOnly_) {
    fail(Code::E_MODULE_CONSTANT, call.loc, "helpers cannot be called at module level");
    return false;
  }
  return true;
}

Value Elaborator::inlineHelper(const FunctionDecl &f, const ast::Expr &call) {
  std::vector<std::optional<Value>> values;
  if (!enter(f, call) || !callArguments(f, call, values)) return Value::error();
  return inlineWith(f, std::move(values), {});
}

/// Evaluates the arguments of a call in the caller's scope and the defaults at module level; one value per
/// parameter.
bool Elaborator::callArguments(const FunctionDecl &f, const ast::Expr &call,
                               std::vector<std::optional<Value>> &values) {
  const ast::Stmt &fn = *f.stmt;
  values.resize(fn.parameters.size());
  auto refuse = [&](Range loc, std::string message, std::string hint = {}) {
    fail(Code::E_ARGUMENTS, loc, std::move(message), std::move(hint));
    return false;
  };
  const auto named = std::ranges::find(fn.parameters, true, &ast::Parameter::isKeywordOnly);
  const auto places = static_cast<size_t>(named - fn.parameters.begin());
  if (call.items.size() - 1 > places)
    return refuse(call.loc,
                  "'" + fn.text + "' takes " + std::to_string(places) +
                      (places < values.size() ? " arguments by position, found " : " arguments, found ") +
                      std::to_string(call.items.size() - 1),
                  places < values.size() ? "write " + named->name + "=..." : "");
  for (size_t i = 1; i < call.items.size(); ++i)
    values[i - 1] = evaluate(*call.items[i]);
  for (const ast::Keyword &k : call.keywords) {
    size_t i = 0;
    while (i < values.size() && fn.parameters[i].name != k.name)
      ++i;
    if (i == values.size()) {
      std::vector<std::string> names;
      for (const ast::Parameter &p : fn.parameters)
        names.push_back(p.name);
      return refuse(k.loc, "'" + fn.text + "' has no parameter '" + k.name + "'", didYouMean(k.name, names));
    }
    if (values[i]) return refuse(k.loc, "'" + k.name + "' is given twice");
    values[i] = evaluate(*k.value);
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const ast::Parameter &p = fn.parameters[i];
    if (values[i]) continue;
    if (!p.defaultValue) return refuse(call.loc, "'" + fn.text + "' lacks its argument '" + p.name + "'");
    values[i] = atModuleLevel(*p.defaultValue);
  }
  return true;
}

/// Elaborates the body of `f` with its arguments, and with `dims` for the names of its dims.
Value Elaborator::inlineWith(const FunctionDecl &f, std::vector<std::optional<Value>> values,
                             std::map<std::string, Value> dims, std::vector<Specialization> specializations) {
  const ast::Stmt &fn = *f.stmt;
  auto frame = std::make_unique<Frame>();
  frame->function = fn.text;
  frame->dims = std::move(dims);
  frame->specializations = std::move(specializations);
  collectAssigned(fn.body, frame->assigned);
  bool failed = false;
  for (size_t i = 0; i < values.size(); ++i) {
    const ast::Parameter &p = fn.parameters[i];
    Local local;
    local.loc = p.loc;
    local.order = localCount_++;
    failed |= values[i]->isError();
    // A value that a later statement could change, or that should not be computed again, is computed once,
    // here.
    local.value = settled(std::move(*values[i]), p.name, p.loc);
    frame->locals[p.name] = std::move(local);
  }
  if (failed) return Value::error();

  frames_.push_back(std::move(frame));
  Returned result;
  if (graph_) {
    block(fn.body);
    result = std::move(frames_.back()->returned);
  } else {
    result = tail({&fn.body, 0, nullptr});
  }
  frames_.pop_back();
  return result.did ? std::move(result.value) : Value::none();
}

bool Elaborator::containsReturn(const ast::Block &block) {
  for (const ast::Stmt &s : block)
    if (s.kind == ast::Stmt::Return || containsReturn(s.body) || containsReturn(s.orelse)) return true;
  return false;
}

/// Elaborates the rest of a kernel's helper. If a side of a branch returns, the statements after the branch
/// are moved into its other paths, so that a return is the last thing on its path.
Elaborator::Returned Elaborator::tail(const Rest &rest) {
  const ast::Block &body = *rest.block;
  for (size_t i = rest.from; i < body.size(); ++i) {
    const ast::Stmt &s = body[i];
    if (s.kind == ast::Stmt::Return) {
      if (i + 1 < body.size()) fail(Code::E_RETURN_PLACE, body[i + 1].loc, "nothing runs after a return");
      const bool outer = std::exchange(ordered_, ordered_ || effects_->in(s));
      Value v = s.value ? evaluate(*s.value) : Value::none();
      ordered_ = outer;
      return {true, std::move(v)};
    }
    bool returns = containsReturn(s.body) || containsReturn(s.orelse);
    if (returns && s.kind != ast::Stmt::If) {
      fail(Code::E_RETURN_PLACE, s.loc, "a helper cannot return from inside a loop",
           "assign to a variable and return it at the end");
      return {true, Value::error()};
    }
    if (!returns) {
      statement(s);
      continue;
    }
    const bool outer = std::exchange(ordered_, ordered_ || effects_->in(s));
    Value c = condition(*s.value);
    ordered_ = outer;
    if (c.isError()) return {true, c};
    const Rest after{&body, i + 1, rest.next};
    auto path = [&](const ast::Block &block) { return tail({&block, 0, &after}); };
    if (c.isConst) return path(c.intValue ? s.body : s.orelse);

    // if c: return a ... return b   becomes   if c: r = a else: r = b. Neither path continues after the
    // branch, so a name that it assigns needs no common place.
    Stmt branch;
    branch.kind = Stmt::If;
    branch.loc = s.loc;
    branch.exprs.push_back(take(std::move(c), s.value->loc));
    Returned results[2];
    for (int k = 0; k < 2; ++k) {
      std::map<std::string, Local> before = frame().locals;
      blocks_.push_back(k == 0 ? &branch.body : &branch.orelse);
      ++controlDepth_;
      results[k] = path(k == 0 ? s.body : s.orelse);
      if (results[k].did) results[k].value = pathValue(std::move(results[k].value), s.loc);
      --controlDepth_;
      blocks_.pop_back();
      frame().locals = std::move(before);
    }
    if (!results[0].did || !results[1].did)
      return {true, fail(Code::E_RETURN_PLACE, s.loc, "this helper returns on some paths only",
                         "add a return to the other path")};
    if (results[0].value.isError() || results[1].value.isError()) return {true, Value::error()};
    if (!isJoinable(results[0].value, results[1].value))
      return {true, fail(Code::E_REBIND, s.loc,
                         "this helper returns " + describe(results[0].value) + " on one path and " +
                             describe(results[1].value) + " on the other")};
    return {true, joinPaths(frame().function, std::move(branch), results[0].value, results[1].value, s.loc)};
  }
  return rest.next ? tail(*rest.next) : Returned{};
}

} // namespace tessera::frontend
