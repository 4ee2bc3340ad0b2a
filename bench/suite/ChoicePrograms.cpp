#include "bench/suite/ChoicePrograms.h"
#include <algorithm>
#include <cmath>

namespace tessera::bench {
namespace {

Reference sumOfRows(const Matrix &x, int64_t rows, int64_t columns, double scale) {
  Reference out;
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (int64_t c = 0; c < columns; ++c)
      sum += x[size_t(r * columns + c)];
    out.add(sum * scale, 1e-5 * sum * scale);
  }
  return out;
}

Reference sums(const Matrix &x, int64_t rows, int64_t columns) { return sumOfRows(x, rows, columns, 1); }

Reference means(const Matrix &x, int64_t rows, int64_t columns) {
  return sumOfRows(x, rows, columns, 1 / double(columns));
}

Reference narrowSums(const Matrix &x, int64_t rows, int64_t columns) {
  Reference out = sums(x, rows, columns);
  for (size_t i = 0; i < out.values.size(); ++i)
    out.bounds[i] += 0x1p-8 * out.values[i]; // the result is rounded to bf16
  return out;
}

Reference sumsOfColumns(const Matrix &x, int64_t rows, int64_t columns) {
  std::vector<double> total(static_cast<size_t>(columns));
  for (size_t i = 0; i < x.size(); ++i)
    total[i % size_t(columns)] += x[i];
  (void)rows;
  Reference out;
  for (double sum : total)
    out.add(sum, 1e-5 * sum);
  return out;
}

Reference extremes(const Matrix &x, int64_t rows, int64_t columns, bool isPosition) {
  Reference out;
  for (int64_t r = 0; r < rows; ++r) {
    const auto begin = x.begin() + r * columns, best = std::max_element(begin, begin + columns);
    out.add(isPosition ? double(best - begin) : *best, 0);
  }
  return out;
}

Reference maxima(const Matrix &x, int64_t rows, int64_t columns) { return extremes(x, rows, columns, false); }

Reference positions(const Matrix &x, int64_t rows, int64_t columns) {
  return extremes(x, rows, columns, true);
}

Reference softmaxOfRows(const Matrix &x, int64_t rows, int64_t columns) {
  Reference out;
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (int64_t c = 0; c < columns; ++c)
      sum += std::exp(x[size_t(r * columns + c)]);
    for (int64_t c = 0; c < columns; ++c) {
      const double want = std::exp(x[size_t(r * columns + c)]) / sum;
      out.add(want, 2e-5 * want);
    }
  }
  return out;
}

Reference layerNormOfRows(const Matrix &x, int64_t rows, int64_t columns) {
  Reference out;
  for (int64_t r = 0; r < rows; ++r) {
    const double *row = x.data() + r * columns;
    double sum = 0, square = 0;
    for (int64_t c = 0; c < columns; ++c)
      sum += row[c];
    const double mean = sum / double(columns);
    for (int64_t c = 0; c < columns; ++c)
      square += (row[c] - mean) * (row[c] - mean);
    const double factor = 1 / std::sqrt(square / double(columns) + 1e-5);
    for (int64_t c = 0; c < columns; ++c)
      out.add((row[c] - mean) * factor, 1e-4);
  }
  return out;
}

Reference runningSums(const Matrix &x, int64_t rows, int64_t columns) {
  Reference out;
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (int64_t c = 0; c < columns; ++c) {
      sum += x[size_t(r * columns + c)];
      out.add(sum, 1e-5 * sum);
    }
  }
  return out;
}

constexpr RowProgram kPrograms[] = {
    {"sum f32", "ts.sum(x, axis=1)", DType::F32, DType::F32, sums},
    {"softmax f32", "ts.softmax(x)", DType::F32, DType::F32, softmaxOfRows},
    {"max f32", "ts.max(x, axis=1)", DType::F32, DType::F32, maxima},
    {"layer_norm f32", "ts.layer_norm(x)", DType::F32, DType::F32, layerNormOfRows},
    {"argmax f32", "ts.argmax(x, axis=1)", DType::F32, DType::I32, positions},
    {"cumsum f32", "ts.cumsum(x, axis=1)", DType::F32, DType::F32, runningSums},
    {"sum bf16", "ts.sum(x, axis=1)", DType::BF16, DType::BF16, narrowSums},
    {"mean f32", "ts.mean(x, axis=1)", DType::F32, DType::F32, means},
    {"sum of columns f32", "ts.sum(x, axis=0)", DType::F32, DType::F32, sumsOfColumns},
    {"sum u8", "ts.sum(x, axis=1)", DType::U8, DType::I32, sums},
    {"argmax bf16", "ts.argmax(x, axis=1)", DType::BF16, DType::I32, positions},
    {"argmax u8", "ts.argmax(x, axis=1)", DType::U8, DType::I32, positions},
    {"max bf16", "ts.max(x, axis=1)", DType::BF16, DType::BF16, maxima}};

} // namespace

std::span<const RowProgram> rowPrograms() { return kPrograms; }

} // namespace tessera::bench
