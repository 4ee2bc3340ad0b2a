// The archives of bodies and micro-kernels that libtessera-compiler contains.
#pragma once
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

} // namespace tessera::cpu::product
