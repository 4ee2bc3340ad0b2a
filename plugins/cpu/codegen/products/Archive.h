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
};

/// The table of bodies: of each dtype the best first. All give the same bits.
std::span<const BodyRow> bodies();

} // namespace tessera::cpu::product
