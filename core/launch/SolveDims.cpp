// Dims from shapes. An extent that is a dim gives its value. From the other extents follow the dims in which
// they are linear, once their other dims are known. Every extent is then compared.
#include "core/launch/LaunchPlan.h"
#include "core/metadata/LinearForm.h"
#include <algorithm>
#include <set>

namespace tessera {

using ParamKind = MetadataParam::Kind;

size_t LaunchPlan::count(ParamKind kind) const {
  return static_cast<size_t>(std::ranges::count(arguments_, kind, &Argument::kind));
}

class LaunchPlan::Solver {
public:
  Solver(const LaunchPlan &plan, uint64_t *values, int64_t *extents)
      : plan_(plan), values_(values), extents_(extents), from_(plan.arguments_.size()) {}

  MaybeError run() {
    if (solve()) return std::nullopt;
    return Error{"E_ARG_SHAPE", std::move(why_)};
  }

private:
  bool solve() {
    if (!each(ParamKind::Tensor, [&](const auto &at) { return isExtent(at); })) return false;
    if (!each(ParamKind::Tensor, [&](const auto &at) { return takeDim(at); })) return false;
    for (size_t before = SIZE_MAX; openDims() && openDims() < before;) {
      before = openDims();
      if (!each(ParamKind::Tensor, [&](const auto &at) { return takeExpression(at); })) return false;
    }
    for (size_t i = 0; i < plan_.arguments_.size(); ++i)
      if (isOpen(i))
        return refuse("dim " + plan_.arguments_[i].name + " has no value: no extent determines it");
    return each(ParamKind::Tensor, [&](const auto &at) { return compare(at); }) &&
           each(ParamKind::Result, [&](const auto &at) { return fill(at); });
  }

  struct Place {
    const Argument &argument;
    const Extent &extent;
    size_t axis;
    int64_t &found;
  };

  template <class Visit> bool each(ParamKind kind, Visit visit) {
    int64_t *next = extents_;
    for (ParamKind k : {ParamKind::Tensor, ParamKind::Result})
      for (const Argument &a : plan_.arguments_) {
        if (a.kind != k) continue;
        for (uint32_t i = a.extentsBegin; i < a.extentsEnd; ++i, ++next)
          if (k == kind && !visit(Place{a, plan_.extents_[i], i - a.extentsBegin, *next})) return false;
      }
    return true;
  }

  bool refuse(std::string text) {
    why_ = std::move(text);
    return false;
  }
  static std::string describe(const Place &at) {
    return "dim " + std::to_string(at.axis) + " of " + at.argument.name;
  }
  bool isOpen(size_t i) const {
    return plan_.arguments_[i].kind == ParamKind::Dim && static_cast<int64_t>(values_[i]) < 0;
  }
  size_t openDims() const {
    size_t n = 0;
    for (size_t i = 0; i < plan_.arguments_.size(); ++i)
      n += isOpen(i);
    return n;
  }

  bool isExtent(const Place &at) {
    return at.found >= 0 || refuse(describe(at) + " is " + std::to_string(at.found));
  }

  bool takeDim(const Place &at) {
    if (at.extent.argument < 0) return true;
    const auto dim = static_cast<size_t>(at.extent.argument);
    if (isOpen(dim)) {
      values_[dim] = static_cast<uint64_t>(at.found);
      from_[dim] = describe(at);
      return true;
    }
    const auto known = static_cast<int64_t>(values_[dim]);
    return known == at.found || refuse(at.extent.text + " is " + std::to_string(known) +
                                       (from_[dim].empty() ? "" : " (" + from_[dim] + ")") + ", but " +
                                       describe(at) + " is " + std::to_string(at.found));
  }

  bool takeExpression(const Place &at) {
    if (at.extent.expression < 0) return true;
    const IndexExpr &expr = plan_.derived_[static_cast<size_t>(at.extent.expression)];
    std::set<size_t> open;
    expr.forEach([&](IndexExpr::Code code, int64_t slot) {
      if (code == IndexExpr::Code::Slot && isOpen(static_cast<size_t>(slot)))
        open.insert(static_cast<size_t>(slot));
    });
    if (open.size() != 1) return true;
    std::vector<int64_t> slots(plan_.arguments_.size());
    plan_.slots(values_, slots.data());
    const std::optional<LinearForm> form = linearForm(expr, *open.begin(), slots.data());
    if (!form || form->factor == 0) return true;
    int64_t rest = 0;
    if (__builtin_sub_overflow(at.found, form->offset, &rest) || rest == INT64_MIN ||
        rest % form->factor != 0 || rest / form->factor < 0)
      return refuse(describe(at) + " is " + at.extent.text + ", but " + std::to_string(at.found) +
                    " is no value of it");
    values_[*open.begin()] = static_cast<uint64_t>(rest / form->factor);
    from_[*open.begin()] = describe(at);
    return true;
  }

  bool compare(const Place &at) {
    const int64_t wanted = plan_.extent(at.extent, values_);
    if (wanted == at.found) return true;
    const std::string value = std::to_string(wanted);
    return refuse(describe(at) + " is " + at.extent.text + (at.extent.text == value ? "" : " = " + value) +
                  ", but " + std::to_string(at.found) + " was found");
  }

  bool fill(const Place &at) {
    at.found = plan_.extent(at.extent, values_);
    return at.found >= 0 || refuse(describe(at) + " is " + at.extent.text +
                                   ", which is negative, divides by zero or overflows");
  }

  const LaunchPlan &plan_;
  uint64_t *values_;
  int64_t *extents_;
  std::string why_;
  std::vector<std::string> from_; // by dim: the extent that gave its value
};

MaybeError LaunchPlan::solveDims(uint64_t *values, int64_t *extents) const {
  return Solver(*this, values, extents).run();
}

} // namespace tessera
