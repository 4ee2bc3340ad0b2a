// Layouts as text for people: grids of who holds what, and the tables of docs/layouts.md.
#pragma once
#include "compiler/layout/Fragments.h"
#include <string>

namespace tessera::layout {

/// Draws what the first warp holds of a layout of rank 1 or 2: for each element "lane:register", several
/// lanes as "0+16:3", other warps' elements as ".". At most 32 rows and 32 columns of the part that the warp
/// touches; a last line says what was left out. Layouts of higher rank give a line that says so.
std::string draw(const TileLayout &);
/// The same of a buffer: for each element its offset.
std::string draw(const SharedLayout &);

/// Returns the table of instructions in Markdown: one row for each, with the bases of its operands.
std::string fragmentTable();
/// Returns one section for each instruction in Markdown, with a drawing of each operand.
std::string fragmentDrawings();

} // namespace tessera::layout
