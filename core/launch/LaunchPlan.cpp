#include "core/launch/LaunchPlan.h"
#include <algorithm>
#include <cstring>
#include <span>

namespace tessera {

using ParamKind = MetadataParam::Kind;

static bool isConstant(const IndexExpr &expr) {
  bool constant = true;
  expr.forEach([&](IndexExpr::Code code, int64_t) { constant &= code != IndexExpr::Code::Slot; });
  return constant;
}

bool LaunchPlan::make(const KernelMetadata &m, LaunchPlan &out, std::string &why) {
  LaunchPlan plan;
  // slot i of the expressions is argument i; arguments that are not integers have no name
  std::vector<std::string> names;
  for (const MetadataParam &p : m.params) {
    bool isInteger = p.kind == ParamKind::Dim || (p.kind == ParamKind::Scalar && isInt(p.dtype));
    names.push_back(isInteger ? p.name : "");
  }
  for (const MetadataParam &p : m.params) {
    Argument a;
    a.kind = p.kind;
    a.bytes = static_cast<uint8_t>(storageBytes(p.dtype));
    a.isSigned = info(p.dtype).cls == DTypeClass::SignedInt;
    a.isBool = p.dtype == DType::Bool;
    a.dtype = p.dtype;
    a.name = p.name;
    if (p.kind == ParamKind::Dim)
      for (auto &[dim, value] : m.specialized)
        if (dim == p.name) a.expected = value;
    a.isWritten = p.writes;
    auto add = [&](const std::string &dim) {
      Extent extent;
      extent.text = dim;
      for (size_t i = 0; i < m.params.size(); ++i)
        if (m.params[i].kind == ParamKind::Dim && m.params[i].name == dim)
          extent.argument = static_cast<int32_t>(i);
      if (extent.argument < 0) {
        IndexExpr expr;
        if (!IndexExpr::parse(dim, names, expr, why)) return false;
        if (!isConstant(expr)) {
          extent.expression = static_cast<int32_t>(plan.derived_.size());
          plan.derived_.push_back(std::move(expr));
        } else if (!expr.evaluate(nullptr, extent.constant)) {
          why = "dim " + dim + " overflows";
          return false;
        }
      }
      plan.extents_.push_back(extent);
      return true;
    };
    auto addAll = [&](const std::vector<std::string> &texts, uint32_t &end) {
      const bool ok = std::ranges::all_of(texts, add);
      end = static_cast<uint32_t>(plan.extents_.size());
      return ok;
    };
    a.extentsBegin = static_cast<uint32_t>(plan.extents_.size());
    if (!addAll(p.dims, a.extentsEnd) || !addAll(p.strides, a.stridesEnd)) return false;
    plan.arguments_.push_back(std::move(a));
  }
  for (const std::string &axis : m.axes) {
    IndexExpr expr;
    if (!IndexExpr::parse(axis, names, expr, why)) return false;
    plan.axes_.push_back(std::move(expr));
  }
  plan.axisTexts_ = m.axes;
  for (const PlanCheck &c : m.checks) {
    Check check{{}, c.says};
    if (!IndexExpr::parse(c.value, names, check.value, why)) return false;
    plan.checks_.push_back(std::move(check));
  }
  std::copy(std::begin(m.block), std::end(m.block), plan.block_);
  plan.sharedBytes_ = m.sharedBytes;
  out = std::move(plan);
  return true;
}

bool LaunchPlan::bindArgument(size_t index, const void *source, uint64_t &value, std::string &why) const {
  const Argument &a = arguments_[index];
  auto reject = [&](const std::string &what) {
    why = "argument " + std::to_string(index) + " (" + a.name + "): " + what;
    return false;
  };
  if (!source) return reject("args[" + std::to_string(index) + "] is null");
  value = 0;
  std::memcpy(&value, source,
              a.kind == ParamKind::Scalar ? a.bytes : sizeof(uint64_t)); // little-endian: zero-extends
  switch (a.kind) {
  case ParamKind::Tensor:
  case ParamKind::Result:
    if (value == 0) return reject("the device pointer is null");
    if (value % a.bytes != 0)
      return reject("the device pointer is not aligned to " + std::to_string(a.bytes) + " bytes");
    return true;
  case ParamKind::Scalar:
    if (a.isBool && value > 1) return reject("a bool is 0 or 1, found " + std::to_string(value));
    return true;
  case ParamKind::Dim: {
    auto dim = static_cast<int64_t>(value);
    if (dim < 0) return reject("a dim cannot be negative, found " + std::to_string(dim));
    if (a.expected >= 0 && dim != a.expected)
      return reject("the kernel was compiled for " + a.name + " = " + std::to_string(a.expected) +
                    "; found " + std::to_string(dim) + tensorsWith(index));
    return true;
  }
  }
  return false;
}

/// "; x [M, D] and w [D, N] have this dim", for an error about a dim.
std::string LaunchPlan::tensorsWith(size_t dim) const {
  std::string text;
  int count = 0;
  for (const Argument &a : arguments_) {
    bool has = false;
    for (uint32_t i = a.extentsBegin; i < a.extentsEnd; ++i)
      has |= extents_[i].argument == static_cast<int32_t>(dim);
    if (has) text += (count++ ? " and " : "; ") + a.name + " " + list(a.extentsBegin, a.extentsEnd);
  }
  return count == 0 ? "" : text + (count == 1 ? " has this dim" : " have this dim");
}

/// "[M, 64]"
std::string LaunchPlan::list(uint32_t begin, uint32_t end) const {
  std::string text = "[";
  for (uint32_t i = begin; i < end; ++i)
    text += (i == begin ? "" : ", ") + extents_[i].text;
  return text + "]";
}

/// "[M, 64] = [3, 64]"
std::string LaunchPlan::list(uint32_t begin, uint32_t end, const uint64_t *values) const {
  std::string texts = list(begin, end), numbers = "[";
  for (uint32_t i = begin; i < end; ++i)
    numbers += (i == begin ? "" : ", ") + std::to_string(extent(extents_[i], values));
  numbers += "]";
  return texts == numbers ? texts : texts + " = " + numbers;
}

std::string LaunchPlan::describe(size_t index, const uint64_t *values) const {
  const Argument &a = arguments_[index];
  std::string text = a.name + " " + list(a.extentsBegin, a.extentsEnd, values);
  return isStrided(a) ? text + " with strides " + list(a.extentsEnd, a.stridesEnd, values) : text;
}

static bool reads(const IndexExpr &expr, size_t index) {
  bool found = false;
  expr.forEach([&](IndexExpr::Code code, int64_t slot) {
    found |= code == IndexExpr::Code::Slot && slot == static_cast<int64_t>(index);
  });
  return found;
}

bool LaunchPlan::gridReads(size_t index) const {
  return std::ranges::any_of(axes_, [&](const IndexExpr &axis) { return reads(axis, index); }) ||
         std::ranges::any_of(checks_, [&](const Check &check) { return reads(check.value, index); });
}

int64_t LaunchPlan::extent(const Extent &e, const uint64_t *values) const {
  if (e.argument >= 0) return static_cast<int64_t>(values[e.argument]);
  if (e.expression < 0) return e.constant;
  int64_t small[kSmall], result = 0;
  std::vector<int64_t> large(arguments_.size() > kSmall ? arguments_.size() : 0);
  int64_t *slot = large.empty() ? small : large.data();
  slots(values, slot);
  return derived_[static_cast<size_t>(e.expression)].evaluate(slot, result) && result >= 0 ? result : -1;
}

bool LaunchPlan::elements(const Argument &a, const uint64_t *values, int64_t &out) const {
  out = 1;
  bool empty = false, fits = true; // an extent of 0 empties the tensor, whatever its other extents
  for (uint32_t i = a.extentsBegin; i < a.extentsEnd; ++i) {
    int64_t count = extent(extents_[i], values), past = 0;
    empty |= count == 0;
    if (count < 0)
      fits = false;
    else if (!isStrided(a))
      fits = fits && !__builtin_mul_overflow(out, count, &out);
    else
      fits = fits &&
             !__builtin_mul_overflow(count - 1, extent(extents_[i - a.extentsBegin + a.extentsEnd], values),
                                     &past) &&
             !__builtin_add_overflow(out, past, &out);
  }
  if (empty) out = 0;
  return empty || fits;
}

/// Returns whether strides show that no two elements share memory: each is at least the length of what lies
/// within it. (Strides that interleave, such as 2 and 3 of a 2 x 2 tensor, are taken for a clash.)
bool LaunchPlan::isApart(const Argument &a, const uint64_t *values) const {
  std::pair<int64_t, int64_t> axes[kMaxStrided]; // stride and extent
  size_t count = 0;
  for (uint32_t i = a.extentsBegin; i < a.extentsEnd; ++i) {
    const int64_t n = extent(extents_[i], values);
    if (n == 0) return true;
    if (n > 1) axes[count++] = {extent(extents_[i - a.extentsBegin + a.extentsEnd], values), n};
  }
  std::sort(axes, axes + count);
  int64_t length = 1;
  for (const auto &[stride, n] : std::span(axes, count)) {
    if (stride < length) return false;
    length += (n - 1) * stride; // fits: elements() has checked
  }
  return true;
}

int64_t LaunchPlan::tensorBytes(size_t index, const uint64_t *values) const {
  const Argument &a = arguments_[index];
  int64_t count = 0;
  if (a.kind != ParamKind::Tensor && a.kind != ParamKind::Result) return -1;
  return elements(a, values, count) ? tessera::tensorBytes(a.dtype, count) : -1;
}

void LaunchPlan::slots(const uint64_t *values, int64_t *slots) const {
  for (size_t i = 0; i < arguments_.size(); ++i) {
    // Scalars arrive zero-extended; expressions expect them sign-extended.
    int shift =
        arguments_[i].kind == ParamKind::Scalar && arguments_[i].isSigned ? 64 - 8 * arguments_[i].bytes : 0;
    slots[i] = static_cast<int64_t>(values[i] << shift) >> shift;
  }
}

/// The conditions of the program. Reports the values that the first one that does not hold is about.
std::string LaunchPlan::brokenCondition(const uint64_t *values) const {
  if (checks_.empty()) return "";
  int64_t small[kSmall], value = 0;
  std::vector<int64_t> large(arguments_.size() > kSmall ? arguments_.size() : 0);
  int64_t *slot = large.empty() ? small : large.data();
  slots(values, slot);
  for (const Check &check : checks_) {
    if (check.value.evaluate(slot, value) && value >= 0) continue;
    std::string why = "the kernel requires " + check.says;
    const char *separator = "; found ";
    for (size_t i = 0; i < arguments_.size(); ++i)
      if (reads(check.value, i)) {
        why += separator + arguments_[i].name + " = " + std::to_string(slot[i]);
        separator = ", ";
      }
    return why;
  }
  return "";
}

std::vector<int64_t> LaunchPlan::axisCounts(const uint64_t *values) const {
  std::vector<int64_t> slots(arguments_.size()), counts(axes_.size());
  this->slots(values, slots.data());
  for (size_t i = 0; i < axes_.size(); ++i)
    if (!axes_[i].evaluate(slots.data(), counts[i])) counts[i] = 0;
  return counts;
}

bool LaunchPlan::deriveGrid(const uint64_t *values, LaunchGrid &grid, std::string &why) const {
  int64_t small[kSmall];
  std::vector<int64_t> large;
  int64_t *slots = small;
  if (arguments_.size() > kSmall) large.resize(arguments_.size()), slots = large.data();
  this->slots(values, slots);
  grid = {1, 1, 1};
  int64_t total = 1;
  bool empty = false, fits = true; // as in elements()
  for (size_t i = 0; i < axes_.size(); ++i) {
    int64_t programs = 0;
    if (!axes_[i].evaluate(slots, programs)) {
      why = "grid axis " + std::to_string(i) + " (" + axisTexts_[i] + ") divides by zero or overflows";
      return false;
    }
    programs = std::max<int64_t>(programs, 0); // the loop's end is before its start
    size_t fromLast = axes_.size() - 1 - i;
    int64_t &axis = fromLast == 0 ? grid.x : fromLast == 1 ? grid.y : grid.z;
    empty |= programs == 0;
    fits = fits && !__builtin_mul_overflow(axis, programs, &axis) &&
           !__builtin_mul_overflow(total, programs, &total);
  }
  if (!empty && !fits) why = "the grid has more than 2^63 programs";
  if (empty && !fits) grid = {0, 1, 1}; // the axes' own counts do not fit
  return empty || fits;
}

bool LaunchPlan::bind(const tsr_launch_t &launch, void *const *args, size_t nargs, uint64_t *values,
                      LaunchGrid &grid, std::string &why) const {
  if (nargs != arguments_.size()) {
    why = "the kernel takes " + std::to_string(arguments_.size()) + " arguments, found " +
          std::to_string(nargs);
    if (nargs < arguments_.size()) why += "; the first missing one is " + arguments_[nargs].name;
    return false;
  }
  if (nargs && !args) {
    why = "args is null";
    return false;
  }
  for (size_t i = 0; i < nargs; ++i)
    if (!bindArgument(i, args[i], values[i], why)) return false;
  for (size_t i = 0; i < nargs; ++i) {
    const Argument &a = arguments_[i];
    int64_t count;
    for (uint32_t d = a.extentsBegin; d < a.stridesEnd; ++d)
      if (extents_[d].expression >= 0 && extent(extents_[d], values) < 0) {
        why = "argument " + std::to_string(i) + " (" + a.name + "): its " +
              (d < a.extentsEnd ? "dim " : "stride ") + extents_[d].text +
              " is negative, divides by zero or overflows";
        return false;
      }
    if (a.extentsBegin != a.extentsEnd && (!elements(a, values, count) || count > INT64_MAX / a.bytes)) {
      why = "argument " + std::to_string(i) + " (" + a.name + "): its dims make more than 2^63 bytes";
      return false;
    }
    if (isStrided(a) && a.isWritten && !isApart(a, values)) {
      why = "argument " + std::to_string(i) + " (" + a.name +
            "): the kernel writes it, but its strides let elements share memory; it is " +
            describe(i, values);
      return false;
    }
  }
  if (why = brokenCondition(values); !why.empty()) return false;
  if (!deriveGrid(values, grid, why)) return false;
  if (!launch.grid_x && !launch.grid_y && !launch.grid_z) return true;

  auto triple = [](int64_t x, int64_t y, int64_t z) {
    return std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z);
  };
  if (launch.grid_x != grid.x || launch.grid_y != grid.y || launch.grid_z != grid.z) {
    why = "grid " + triple(launch.grid_x, launch.grid_y, launch.grid_z) + " does not match " +
          triple(grid.x, grid.y, grid.z) +
          ", which the kernel's metadata derives (0,0,0 takes it from there)";
    return false;
  }
  if (launch.block_x != block_[0] || launch.block_y != block_[1] || launch.block_z != block_[2]) {
    why = "block " + triple(launch.block_x, launch.block_y, launch.block_z) + " does not match " +
          triple(block_[0], block_[1], block_[2]) + " of the kernel's metadata";
    return false;
  }
  if (launch.smem_bytes && launch.smem_bytes != sharedBytes_) {
    why = "smem_bytes " + std::to_string(launch.smem_bytes) + " does not match " +
          std::to_string(sharedBytes_) + " of the kernel's metadata";
    return false;
  }
  return true;
}

} // namespace tessera
