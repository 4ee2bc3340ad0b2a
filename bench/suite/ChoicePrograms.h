// The programs of rows whose variants `./dev bench choice` judges, with what they shall compute.
#pragma once
#include "bench/Data.h"
#include <cstdint>
#include <span>
#include <vector>

namespace tessera::bench {

using Matrix = std::vector<double>; // [rows, columns]

/// What a program shall compute, and how far a result may be from it.
struct Reference {
  std::vector<double> values, bounds;
  void add(double value, double bound) { values.push_back(value), bounds.push_back(bound); }
};

struct RowProgram {
  const char *name, *expression;
  DType input, result;
  Reference (*reference)(const Matrix &, int64_t rows, int64_t columns);
};

std::span<const RowProgram> rowPrograms();

} // namespace tessera::bench
