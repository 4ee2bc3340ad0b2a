// The cliffs: shapes for which generated code was three to a thousand times slower than a library.
#pragma once
#include "tools/host/Host.h"
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::bench {

template <typename T>
using Computation = std::function<void(const std::vector<const T *> &inputs, T *result)>;

struct Cliff {
  const char *id;                                                  // "C1"
  std::string name;                                                // the shape
  const char *kernel;                                              // of cliffPrograms
  std::vector<std::pair<const char *, std::vector<float>>> inputs; // by parameter name
  // the parameter whose contents are compared
  const char *result;
  size_t count; // number of its elements
  host::NamedInts dims;
  double flops = 0, bytes = 0; // the least that the problem requires
  Computation<float> loops = {};
  Computation<double> reference = {}; // the same loops
  std::function<std::function<void()>(const std::vector<const float *> &, float *)> library =
      {}; // null: loops
  const char *peer = "C++ loops";
  double tolerance = 1e-5;    // relative to the largest result
  bool integers = false;      // the result is i32
  bool accumulates = false;   // the kernel adds to its result, which is zeroed first
  host::NamedInts known = {}; // dims that the compiler may specialise on
};

/// The programs in the tile language, as one text.
extern const char *const cliffPrograms;

std::vector<Cliff> allCliffs();

} // namespace tessera::bench
