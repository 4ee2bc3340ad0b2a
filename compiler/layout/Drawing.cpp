#include "compiler/layout/Drawing.h"
#include <algorithm>
#include <map>
#include <sstream>

namespace tessera::layout {

namespace {

constexpr int64_t kMaxDrawn = 32; // rows and columns

using Cells = std::map<std::pair<int64_t, int64_t>, std::string>;

/// Row and column of an index of rank 1 or 2.
std::pair<int64_t, int64_t> cellOf(const std::vector<int64_t> &at) {
  return at.size() == 1 ? std::pair{int64_t(0), at[0]} : std::pair{at[0], at[1]};
}

/// Draws the bounding box of the cells, with the numbers of columns above and those of rows beside it.
std::string grid(const Cells &cells) {
  int64_t rows = 0, columns = 0;
  size_t width = 1;
  for (auto &[at, text] : cells) {
    rows = std::max(rows, at.first + 1);
    columns = std::max(columns, at.second + 1);
    width = std::max(width, text.size());
  }
  const int64_t shownRows = std::min(rows, kMaxDrawn), shownColumns = std::min(columns, kMaxDrawn);
  std::string out;
  auto put = [&](const std::string &text, size_t space) {
    out += std::string(space > text.size() ? space - text.size() : 0, ' ') + text;
  };
  auto end = [&] { out += "\n"; };
  put("", 4);
  for (int64_t c = 0; c < shownColumns; ++c)
    put(std::to_string(c), width + 1);
  end();
  for (int64_t r = 0; r < shownRows; ++r) {
    put(std::to_string(r), 4);
    for (int64_t c = 0; c < shownColumns; ++c) {
      auto cell = cells.find({r, c});
      put(cell == cells.end() ? "." : cell->second, width + 1);
    }
    end();
  }
  if (shownRows < rows || shownColumns < columns)
    out += "     (" + std::to_string(rows) + " rows and " + std::to_string(columns) + " columns in all)\n";
  return out;
}

std::string ofRank(size_t rank) { return "(of rank " + std::to_string(rank) + ": not drawn)\n"; }

/// "k1 m8 · k2 k4 m1", from the text of the table.
std::string shownBases(const char *bases) {
  std::string text = bases;
  if (text.empty()) return "shared memory";
  const char *kinds[] = {"reg ", " · lane ", " · warp "};
  std::string out = kinds[0];
  size_t kind = 0;
  std::istringstream words(text);
  bool first = true;
  for (std::string word; words >> word; first = false) {
    if (word == "|") {
      if (out == kinds[0]) out += "–"; // one element
      out += kinds[++kind];
      first = true;
      words >> word;
    }
    out += (first ? "" : " ") + word;
  }
  return out;
}

} // namespace

std::string draw(const TileLayout &layout) {
  if (layout.unit.rank() < 1 || layout.unit.rank() > 2) return ofRank(layout.unit.rank());
  std::map<std::pair<int64_t, int64_t>, std::map<int64_t, std::vector<int64_t>>> holders; // by register
  for (int64_t r = 0; r < layout.registers(); ++r)
    for (int64_t l = 0; l < layout.lanes(); ++l)
      holders[cellOf(layout.at(r, l, 0))][r].push_back(l);
  Cells cells;
  for (auto &[at, registers] : holders) {
    std::string &text = cells[at];
    for (auto &[number, lanes] : registers) {
      if (!text.empty()) text += " ";
      for (size_t i = 0; i < lanes.size(); ++i)
        text += (i ? "+" : "") + std::to_string(lanes[i]);
      text += ":" + std::to_string(number);
    }
  }
  return grid(cells);
}

std::string draw(const SharedLayout &layout) {
  if (layout.unit.rank() < 1 || layout.unit.rank() > 2) return ofRank(layout.unit.rank());
  Cells cells;
  const LinearLayout map = layout.linear();
  for (int64_t copy = 0; copy < layout.unit.copies(); ++copy)
    for (Bits offset = 0; offset < Bits(1) << layout.offset.size(); ++offset)
      cells[cellOf(layout.unit.index(copy, map(offset)))] =
          std::to_string((copy << layout.offset.size()) + int64_t(offset));
  return grid(cells);
}

std::string fragmentTable() {
  std::string out = "| instruction | operands | result | A (m × k) | B (k × n) | C (m × n) | |\n"
                    "| --- | --- | --- | --- | --- | --- | --- |\n";
  for (const Fragment &f : allFragments()) {
    out += std::string("| `") + f.name + "` | " + f.dtypes + " | " + f.accumulator + " |";
    for (Operand operand : {Operand::A, Operand::B, Operand::C})
      out += " " + shownBases(f.bases(operand)) + " |";
    out += std::string(*f.comment ? " " : "") + f.comment + " |\n";
  }
  return out;
}

std::string fragmentDrawings() {
  std::string out;
  for (const Fragment &f : tableOfFragments()) {
    out += std::string("### ") + f.name + "\n\n";
    for (auto [operand, letter] : {std::pair{Operand::A, 'A'}, {Operand::B, 'B'}, {Operand::C, 'C'}}) {
      if (!f.isInRegisters(operand)) continue;
      const auto [rows, columns] = f.shape(operand);
      out += std::string(1, letter) + ", " + std::to_string(rows) + " × " + std::to_string(columns);
      if (f.layout(operand).warps() > 1) out += ", what the first warp holds";
      out += ":\n\n```text\n" + draw(f.layout(operand)) + "```\n\n";
    }
  }
  out.pop_back(); // the section's marker is followed by one blank line
  return out;
}

} // namespace tessera::layout
