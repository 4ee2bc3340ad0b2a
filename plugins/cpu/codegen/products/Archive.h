// The archives of bodies and micro-kernels that libtessera-compiler contains.
#pragma once
#include "numerics/DType.h"
#include <span>
#include <string_view>

namespace tessera::cpu::product {

/// One instruction level.
struct Archive {
  std::string_view level;    // "v4"
  std::string_view features; // that its code uses, as LLVM's "+a,+b"
  std::string_view bytes;    // an ar archive of relocatable objects
};

/// All levels, best first.
std::span<const Archive> archives();

/// What computes products of a dtype.
struct BodyRow {
  DType dtype;               // of the operands
  std::string_view name;     // of the body, tsr.p.NAME.AB
  std::string_view features; // that it uses; the archives of all levels with them contain it
  /// Has each sum the bits of a chain over k? Those of one dtype that do give the same bits. Integers do.
  bool isChain = true;
  std::string_view tileInstruction = {}; // of AMX, if it multiplies in tile registers
};

/// The table of bodies: of each dtype the best first, and one that is a chain.
std::span<const BodyRow> bodies();
/// Returns the instruction of AMX by which a body multiplies; empty if it is none of those in tile registers.
std::string_view tileInstructionOf(std::string_view body);

} // namespace tessera::cpu::product
