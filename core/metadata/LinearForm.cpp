#include "core/metadata/LinearForm.h"

namespace tessera {

std::optional<LinearForm> linearForm(const IndexExpr &expr, size_t slot, const int64_t *slots) {
  using Code = IndexExpr::Code;
  std::vector<LinearForm> stack;
  bool isLinear = true;
  expr.forEach([&](Code code, int64_t value) {
    if (!isLinear) return;
    if (code == Code::Const) return stack.push_back({0, value});
    if (code == Code::Slot)
      return stack.push_back(static_cast<size_t>(value) == slot ? LinearForm{1, 0}
                                                                : LinearForm{0, slots[value]});
    const LinearForm b = stack.back();
    stack.pop_back();
    LinearForm a = {0, 0}; // a negation is a subtraction from 0
    if (code == Code::Neg)
      code = Code::Sub;
    else
      a = stack.back(), stack.pop_back();
    LinearForm out = {0, 0};
    if (code == Code::Add || code == Code::Sub) {
      auto overflows = [&](int64_t x, int64_t y, int64_t &z) {
        return code == Code::Add ? __builtin_add_overflow(x, y, &z) : __builtin_sub_overflow(x, y, &z);
      };
      isLinear = !overflows(a.factor, b.factor, out.factor) && !overflows(a.offset, b.offset, out.offset);
    } else if (code == Code::Mul && (a.factor == 0 || b.factor == 0)) {
      const LinearForm &form = a.factor ? a : b;
      const int64_t scale = a.factor ? b.offset : a.offset;
      isLinear = !__builtin_mul_overflow(form.factor, scale, &out.factor) &&
                 !__builtin_mul_overflow(form.offset, scale, &out.offset);
    } else { // the value of an expression of constants and the other slots
      const int64_t operands[] = {a.offset, b.offset};
      const IndexExpr both = IndexExpr::binary(code, IndexExpr::symbol("a"), IndexExpr::symbol("b"));
      isLinear = a.factor == 0 && b.factor == 0 && both.evaluate(operands, out.offset);
    }
    stack.push_back(out);
  });
  return isLinear && !stack.empty() ? std::optional(stack.back()) : std::nullopt;
}

} // namespace tessera
