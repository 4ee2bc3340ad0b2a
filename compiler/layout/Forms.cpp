// Forms of instructions for factors that are stored along m or n.
//
// Registers of a factor have neighbours along k. Of a factor whose neighbours in memory are along n, a lane
// would load each element alone. A form executes its instruction on 2 or 4 interleaved columns: lane l has
// the columns 4 l to 4 l + 3 of the factor, which are words in memory, one column for each instruction. In
// the sums the columns are next to each other, so that these are stored by wide accesses. Rows of A likewise.
//
//   mfma.16x16x32.i8     B: reg k1 k2 k4          lane n1 n2 n4 n8 k8 k16
//   mfma.16x16x32.i8.n4  B: reg k1 k2 k4 n1 n2    lane n4 n8 n16 n32 k8 k16
#include "compiler/layout/Fragments.h"
#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <deque>
#include <sstream>

namespace tessera::layout {

namespace {

struct Form {
  const char *instruction;
  int rows, columns; // that are interleaved
  const char *order;
};

// Preferred ones first. Of an instruction of 32 x 32 a warp's part of a tile would be too large. DPAS has
// neighbours along m in registers of A already.
constexpr Form kForms[] = {
    {"mma.m8n8k16.i8", 2, 2, "tn"},   {"mma.m8n8k16.i8", 1, 2, "nn"},   {"mma.m8n8k16.i8", 2, 1, "tt"},
    {"wmma.16x16x16", 2, 2, "tn"},    {"wmma.16x16x16", 1, 2, "*n"},    {"wmma.16x16x16", 2, 1, "t*"},
    {"wmma.16x16x16.i8", 2, 2, "tn"}, {"wmma.16x16x16.i8", 1, 4, "*n"}, {"wmma.16x16x16.i8", 1, 2, "*n"},
    {"wmma.16x16x16.i8", 4, 1, "t*"}, {"wmma.16x16x16.i8", 2, 1, "t*"}, {"mfma.16x16x16", 2, 2, "tn"},
    {"mfma.16x16x16", 1, 2, "*n"},    {"mfma.16x16x16", 2, 1, "t*"},    {"mfma.16x16x32", 2, 2, "tn"},
    {"mfma.16x16x32", 1, 4, "*n"},    {"mfma.16x16x32", 1, 2, "*n"},    {"mfma.16x16x32", 4, 1, "t*"},
    {"mfma.16x16x32", 2, 1, "t*"},    {"mfma.16x16x16.i8", 2, 2, "tn"}, {"mfma.16x16x16.i8", 1, 4, "*n"},
    {"mfma.16x16x16.i8", 1, 2, "*n"}, {"mfma.16x16x16.i8", 4, 1, "t*"}, {"mfma.16x16x16.i8", 2, 1, "t*"},
    {"mfma.16x16x32.i8", 2, 2, "tn"}, {"mfma.16x16x32.i8", 1, 4, "*n"}, {"mfma.16x16x32.i8", 1, 2, "*n"},
    {"mfma.16x16x32.i8", 4, 1, "t*"}, {"mfma.16x16x32.i8", 2, 1, "t*"}, {"dpas.8x16x16", 1, 2, "*n"},
    {"dpas.8x8x16", 1, 2, "*n"},      {"dpas.8x16x32", 1, 4, "*n"},     {"dpas.8x16x32", 1, 2, "*n"},
    {"dpas.8x8x32", 1, 4, "*n"},      {"dpas.8x8x32", 1, 2, "*n"},
};

/// Owns the texts of the forms.
class Forms {
public:
  Forms() : all_(tableOfFragments().begin(), tableOfFragments().end()) {
    for (const Form &form : kForms) {
      const auto own = std::find_if(all_.begin(), all_.end(), [&](const Fragment &f) {
        return std::string_view(f.name) == form.instruction;
      });
      assert(own != all_.end());
      all_.push_back(made(*own, form));
    }
  }
  std::span<const Fragment> all() const { return all_; }

private:
  const char *keep(std::string text) { return texts_.emplace_back(std::move(text)).c_str(); }

  Fragment made(Fragment f, const Form &form) {
    std::string name = f.name + std::string("."), comment;
    auto describe = [&](char letter, int count, const char *what) {
      if (count == 1) return;
      name += letter + std::to_string(count);
      comment += (comment.empty() ? "" : ", ") + std::to_string(count) + " interleaved " + what;
    };
    describe('m', form.rows, "rows");
    describe('n', form.columns, "columns");
    f.instruction = f.name;
    f.name = keep(std::move(name));
    f.comment = keep(std::move(comment));
    f.order = form.order;
    f.a = keep(interleaved(f.a, form, "", 'm'));
    f.b = keep(interleaved(f.b, form, "", 'n'));
    f.c = keep(interleaved(f.c, form, "n", 'm'));
    f.m *= form.rows;
    f.n *= form.columns;
    return f;
  }

  /// The bases with rows and columns multiplied, and the registers of the interleaved ones: along the axes
  /// `first` before its own, which are the lowest, those along `last` after them.
  static std::string interleaved(const char *bases, const Form &form, std::string_view first, char last) {
    auto times = [&](char axis) { return axis == 'm' ? form.rows : axis == 'n' ? form.columns : 1; };
    std::string out;
    auto add = [&](const std::string &word) { out += (out.empty() ? "" : " ") + word; };
    auto addOwn = [&](char axis) {
      for (int i = 1; i < times(axis); i *= 2)
        add(axis + std::to_string(i));
    };
    for (char axis : first)
      addOwn(axis);
    bool isInRegisters = true;
    std::istringstream words(bases);
    for (std::string word; words >> word;) {
      if (word == "|") {
        if (isInRegisters) addOwn(last);
        isInRegisters = false;
        add(word);
      } else {
        const int times_ = times(word[0]);
        add(times_ > 1 ? word[0] + std::to_string(times_ * std::atoi(word.c_str() + 1)) : word);
      }
    }
    return out;
  }

  std::vector<Fragment> all_;
  std::deque<std::string> texts_; // whose elements stay where they are
};

} // namespace

std::span<const Fragment> allFragments() {
  static const Forms forms;
  return forms.all();
}

const Fragment *findFragment(std::string_view name) {
  for (const Fragment &f : allFragments())
    if (name == f.name) return &f;
  return nullptr;
}

std::array<int64_t, 2> Fragment::times() const {
  if (!isPermuted()) return {1, 1};
  const Fragment &own = *findFragment(instruction);
  return {m / own.m, n / own.n};
}

std::vector<int64_t> Fragment::registersOf(Operand operand, int64_t i, int64_t j) const {
  const TileLayout all = layout(operand);
  const std::array<int64_t, 2> interleaved = times();
  int64_t first = 0;
  std::vector<int64_t> own; // what the bits of the instruction's register numbers are here
  for (size_t bit = 0; bit < all.reg.size(); ++bit) {
    const int64_t here = int64_t(1) << bit;
    const int64_t row = operand == Operand::B ? 0 : all.unit.onAxis(all.reg[bit], 0),
                  column = operand == Operand::A ? 0 : all.unit.onAxis(all.reg[bit], 1);
    if (row > 0 && row < interleaved[0])
      first += i & row ? here : 0;
    else if (column > 0 && column < interleaved[1])
      first += j & column ? here : 0;
    else
      own.push_back(here);
  }
  std::vector<int64_t> numbers = {first};
  for (int64_t bit : own)
    for (size_t count = numbers.size(), k = 0; k < count; ++k)
      numbers.push_back(numbers[k] + bit);
  return numbers;
}

} // namespace tessera::layout
