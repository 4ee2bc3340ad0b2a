// Every case with its loops, which run in float next to the generated code and in double as the reference.
#include "bench/CliffCases.h"
#include "bench/Check.h"
#include "bench/Data.h"
#include "bench/peers/Peers.h"
#include <algorithm>
#include <cblas.h>
#include <cmath>
#include <fmt/format.h>

namespace tessera::bench {
namespace {

/// Sets both computations from `loops`, a generic lambda over the inputs and the result.
template <typename Loops> Cliff with(Cliff cliff, Loops loops) {
  cliff.loops = [=](const std::vector<const float *> &in, float *out) { loops(in, out); };
  cliff.reference = [=](const std::vector<const double *> &in, double *out) { loops(in, out); };
  return cliff;
}

/// `batch` products of [m, k] by [k, n].
Cliff products(const char *id, int64_t batch, int64_t m, int64_t k, int64_t n, bool useBlas = false) {
  Cliff c{id,
          fmt::format("{}{}x{} by {}x{}", batch > 1 ? fmt::format("{} of ", batch) : "", m, k, k, n),
          batch > 1 ? "batch" : "product",
          {{"a", randomFloats(size_t(batch * m * k), 1)}, {"b", randomFloats(size_t(batch * k * n), 2)}},
          "result",
          size_t(batch * m * n),
          {{"B", batch}, {"M", m}, {"K", k}, {"N", n}},
          2.0 * double(batch * m * n * k),
          4.0 * double(batch * (m * k + k * n + m * n))};
  c.tolerance = std::max(c.tolerance, 4 * unit * std::sqrt(double(k))); // as RunningSum of Check.h
  if (m * n == 1) // the result of a million terms of either sign would be mostly rounding error
    for (auto &[name, values] : c.inputs)
      for (float &x : values)
        x = std::abs(x);
  if (useBlas) {
    c.peer = "OpenBLAS";
    c.library = [=](const std::vector<const float *> &in, float *out) {
      return [=] {
        if (m * n == 1)
          *out = cblas_sdot(int(k), in[0], 1, in[1], 1);
        else
          cblas_sgemv(CblasRowMajor, CblasNoTrans, int(m), int(k), 1, in[0], int(k), in[1], 1, 0, out, 1);
      };
    };
  }
  return with(std::move(c), [=]<typename T>(const std::vector<const T *> &in, T *out) {
    std::fill_n(out, batch * m * n, T(0));
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t i = 0; i < m; ++i)
        for (int64_t p = 0; p < k; ++p) {
          const T factor = in[0][(b * m + i) * k + p];
          const T *row = in[1] + (b * k + p) * n;
          for (int64_t j = 0; j < n; ++j)
            out[(b * m + i) * n + j] += factor * row[j];
        }
  });
}

/// A [k, m] transposed by [k, n], n small.
Cliff ofTransposed(int64_t m, int64_t k, int64_t n) {
  Cliff c{"C8",
          fmt::format("{}x{} transposed by {}x{}", k, m, k, n),
          "transposed",
          {{"a", randomFloats(size_t(k * m), 1)}, {"b", randomFloats(size_t(k * n), 2)}},
          "result",
          size_t(m * n),
          {{"M", m}, {"K", k}, {"N", n}},
          2.0 * double(m * n * k),
          4.0 * double(m * k + k * n + m * n)};
  c.tolerance = std::max(c.tolerance, 4 * unit * std::sqrt(double(k))); // as RunningSum of Check.h
  c.peer = "OpenBLAS";
  c.library = [=](const std::vector<const float *> &in, float *out) {
    return [=] {
      if (n == 1)
        cblas_sgemv(CblasRowMajor, CblasTrans, int(k), int(m), 1, in[0], int(m), in[1], 1, 0, out, 1);
      else
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, int(m), int(n), int(k), 1, in[0], int(m), in[1],
                    int(n), 0, out, int(n));
    };
  };
  return with(std::move(c), [=]<typename T>(const std::vector<const T *> &in, T *out) {
    std::fill_n(out, m * n, T(0));
    for (int64_t p = 0; p < k; ++p)
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j)
          out[i * n + j] += in[0][p * m + i] * in[1][p * n + j];
  });
}

/// Attention of one query for each of `heads` heads.
Cliff decode(int64_t heads, int64_t keys, int64_t depth) {
  const size_t cache = size_t(heads * keys * depth);
  Cliff c{"C2",
          fmt::format("attention, {} heads, 1 query, {} keys of {}", heads, keys, depth),
          "decode",
          {{"q", randomFloats(size_t(heads * depth), 1)},
           {"k", randomFloats(cache, 2)},
           {"v", randomFloats(cache, 3)}},
          "result",
          size_t(heads * depth),
          {{"H", heads}, {"S", keys}, {"D", depth}},
          4.0 * double(cache),
          8.0 * double(cache)};
  c.known = {{"D", depth}};
  c.peer = "OpenBLAS, oneDNN";
  c.tolerance = 1e-4;
  c.library = [=](const std::vector<const float *> &in, float *out) {
    auto scores = std::make_shared<std::vector<float>>(heads * keys);
    auto softmax = dnnlSoftmax(scores->data(), scores->data(), heads, keys);
    return [=] {
      for (int64_t h = 0; h < heads; ++h)
        cblas_sgemv(CblasRowMajor, CblasNoTrans, int(keys), int(depth), 1 / std::sqrt(float(depth)),
                    in[1] + h * keys * depth, int(depth), in[0] + h * depth, 1, 0, scores->data() + h * keys,
                    1);
      softmax();
      for (int64_t h = 0; h < heads; ++h)
        cblas_sgemv(CblasRowMajor, CblasTrans, int(keys), int(depth), 1, in[2] + h * keys * depth, int(depth),
                    scores->data() + h * keys, 1, 0, out + h * depth, 1);
    };
  };
  return with(std::move(c), [=]<typename T>(const std::vector<const T *> &in, T *out) {
    std::vector<T> p(keys);
    for (int64_t h = 0; h < heads; ++h) {
      const T *q = in[0] + h * depth, *k = in[1] + h * keys * depth, *v = in[2] + h * keys * depth;
      T total = 0;
      for (int64_t s = 0; s < keys; ++s) {
        T dot = 0;
        for (int64_t d = 0; d < depth; ++d)
          dot += q[d] * k[s * depth + d];
        total += p[s] = std::exp(dot / std::sqrt(T(depth)));
      }
      std::fill_n(out + h * depth, depth, T(0));
      for (int64_t s = 0; s < keys; ++s)
        for (int64_t d = 0; d < depth; ++d)
          out[h * depth + d] += p[s] / total * v[s * depth + d];
    }
  });
}

/// A kernel with one input matrix x [rows, columns] and `count` result elements.
Cliff ofMatrix(const char *id, std::string what, const char *kernel, int64_t rows, int64_t columns,
               int64_t count) {
  const size_t n = size_t(rows * columns);
  Cliff c{id,
          fmt::format("{} of {}x{}", what, rows, columns),
          kernel,
          {{"x", randomFloats(n, 1)}},
          "result",
          size_t(count),
          {{"R", rows}, {"C", columns}}};
  c.bytes = 4.0 * double(n + size_t(count));
  return c;
}

Cliff transposeOf(int64_t rows, int64_t columns) {
  Cliff c = ofMatrix("C6b", "transpose", "transpose", rows, columns, rows * columns);
  return with(std::move(c), [=]<typename T>(const std::vector<const T *> &in, T *result) {
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t r = 0; r < rows; ++r)
        result[j * rows + r] = in[0][r * columns + j];
  });
}

/// A kernel with one input vector x and `count` result elements.
Cliff ofVector(const char *id, std::string what, const char *kernel, const char *result, int64_t n,
               int64_t count, float low = -1, float high = 1) {
  Cliff c{id,        fmt::format("{} of {}", what, n),
          kernel,    {{"x", randomFloats(size_t(n), 1, low, high)}},
          result,    size_t(count),
          {{"n", n}}};
  c.bytes = 4.0 * double(n + count);
  return c;
}

/// Returns the lowest index of the largest element, in loops that vectorise.
template <typename T> T indexOfLargest(const T *x, int64_t n) {
  T largest = x[0];
  for (int64_t i = 1; i < n; ++i)
    largest = x[i] > largest ? x[i] : largest;
  constexpr int64_t block = 64;
  int64_t at = 0;
  for (bool found = false; at + block <= n; at += block) {
    for (int64_t i = at; i < at + block; ++i)
      found |= x[i] == largest;
    if (found) break;
  }
  return T(std::find(x + at, x + n, largest) - x);
}

void addReductions(std::vector<Cliff> &out) {
  constexpr int64_t rows = 4096, columns = 1024;
  Cliff argmax = ofMatrix("C3", "argmax(axis=1)", "row_argmax", rows, columns, rows);
  argmax.integers = true;
  out.push_back(with(std::move(argmax), [=]<typename T>(const std::vector<const T *> &in, T *result) {
    for (int64_t r = 0; r < rows; ++r)
      result[r] = indexOfLargest(in[0] + r * columns, columns);
  }));
  Cliff cummax = ofMatrix("C3", "cummax(axis=1)", "row_cummax", rows, columns, rows * columns);
  cummax.known = {{"C", columns}};
  out.push_back(with(std::move(cummax), [=]<typename T>(const std::vector<const T *> &in, T *result) {
    for (int64_t r = 0; r < rows; ++r) {
      T largest = in[0][r * columns];
      for (int64_t i = r * columns; i < (r + 1) * columns; ++i)
        result[i] = largest = std::max(largest, in[0][i]);
    }
  }));
  Cliff sums = ofMatrix("C3", "sum(axis=0)", "column_sums", rows, columns, columns);
  out.push_back(with(std::move(sums), [=]<typename T>(const std::vector<const T *> &in, T *result) {
    std::fill_n(result, columns, T(0));
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t j = 0; j < columns; ++j)
        result[j] += in[0][r * columns + j];
  }));
  constexpr int64_t bins = 256;
  Cliff histogram =
      ofVector("C4", "histogram, 256 bins,", "histogram", "counts", (4 << 20) + 7, bins, -0.25f, 1.25f);
  histogram.dims.push_back({"bins", bins});
  histogram.integers = histogram.accumulates = true;
  const int64_t values = histogram.dims[0].second;
  out.push_back(with(std::move(histogram), [=]<typename T>(const std::vector<const T *> &in, T *result) {
    int32_t counts[bins] = {};
    for (int64_t i = 0; i < values; ++i)
      if (const T part = in[0][i] * bins; part >= 0 && part < bins) ++counts[int32_t(part)];
    std::copy_n(counts, bins, result);
  }));
}

void addRows(std::vector<Cliff> &out) {
  constexpr int64_t rows = 16384, columns = 128;
  Cliff softmax = ofMatrix("C5", "softmax", "softmax", rows, columns, rows * columns);
  softmax.peer = "oneDNN";
  softmax.library = [=](auto &in, float *result) { return dnnlSoftmax(in[0], result, rows, columns); };
  out.push_back(with(std::move(softmax), [=]<typename T>(const std::vector<const T *> &in, T *result) {
    for (int64_t r = 0; r < rows * columns; r += columns) {
      T total = 0;
      for (int64_t i = r; i < r + columns; ++i)
        total += result[i] = std::exp(in[0][i]); // of values below 1
      for (int64_t i = r; i < r + columns; ++i)
        result[i] /= total;
    }
  }));
  Cliff norm = ofMatrix("C5", "layer_norm", "layer_norm", rows, columns, rows * columns);
  norm.inputs.push_back({"gamma", randomFloats(columns, 2)});
  norm.inputs.push_back({"beta", randomFloats(columns, 3)});
  norm.peer = "oneDNN";
  norm.library = [=](auto &in, float *result) {
    return dnnlLayerNorm(in[0], in[1], in[2], result, rows, columns);
  };
  out.push_back(with(std::move(norm), [=]<typename T>(const std::vector<const T *> &in, T *result) {
    for (int64_t r = 0; r < rows * columns; r += columns) {
      const T *x = in[0] + r;
      T mean = 0, square = 0;
      for (int64_t j = 0; j < columns; ++j)
        mean += x[j] / T(columns);
      for (int64_t j = 0; j < columns; ++j)
        square += (x[j] - mean) * (x[j] - mean);
      const T scale = 1 / std::sqrt(square / T(columns) + T(1e-5));
      for (int64_t j = 0; j < columns; ++j)
        result[r + j] = (x[j] - mean) * scale * in[1][j] + in[2][j];
    }
  }));
}

auto linearLoop(int64_t n) {
  return [=]<typename T>(const std::vector<const T *> &in, T *result) {
    for (int64_t i = 0; i < n; ++i)
      result[i] = in[0][i] * 2 + 1;
  };
}

void addVectors(std::vector<Cliff> &out) {
  constexpr int64_t tiny = 64, million = 1'000'000;
  Cliff call = ofVector("C6", "launch and wait, 2x + 1", "linear", "result", tiny, tiny);
  call.peer = "oneDNN";
  call.library = [=](auto &in, float *result) { return dnnlElementwise("linear", in[0], result, tiny); };
  out.push_back(with(std::move(call), linearLoop(tiny)));

  out.push_back(products("C6b", 1, 1, million, 1, true));
  out.push_back(products("C6b", 1, 1, 1, million));
  out.push_back(products("C6b", 1000, 1, 64, 1));
  out.push_back(products("C6b", 10000, 3, 3, 3));
  out.push_back(products("C6b", 1, 4096, 4096, 1, true));
  out.push_back(ofTransposed(4096, 4096, 1));
  out.push_back(ofTransposed(1000, 10000, 4));

  Cliff argmax = ofVector("C6b", "argmax", "argmax", "result", million, 1);
  argmax.integers = true;
  out.push_back(with(std::move(argmax), [=]<typename T>(const std::vector<const T *> &in, T *result) {
    *result = indexOfLargest(in[0], million);
  }));
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{4, million}, {million, 4}, {3, million}})
    out.push_back(transposeOf(rows, columns));
  Cliff sum = ofVector("C6b", "group.sum", "group_sum", "total", 4 * million, 1, 0);
  sum.tolerance = 1e-3; // atomics add in any order
  sum.accumulates = true;
  out.push_back(with(std::move(sum), [=]<typename T>(const std::vector<const T *> &in, T *result) {
    T total = 0;
    for (int64_t i = 0; i < 4 * million; ++i)
      total += in[0][i];
    *result = total;
  }));
  Cliff column = ofVector("C6b", "2x + 1, a column,", "linear_column", "result", million, million);
  out.push_back(with(std::move(column), linearLoop(million)));
}

/// Rows with fewer columns than a vector has lanes, and other cases with short axes.
void addShortRows(std::vector<Cliff> &out) {
  constexpr int64_t million = 1'000'000;
  for (int64_t columns : {2, 3, 7}) {
    Cliff sum = ofMatrix("C8", "x + row", "plus_row", million, columns, million * columns);
    sum.inputs.push_back({"row", randomFloats(size_t(columns), 2)});
    out.push_back(with(std::move(sum), [=]<typename T>(const std::vector<const T *> &in, T *result) {
      for (int64_t r = 0; r < million; ++r)
        for (int64_t j = 0; j < columns; ++j)
          result[r * columns + j] = in[0][r * columns + j] + in[1][j];
    }));
  }
  constexpr int64_t images = 100, rows = 1000, columns = 3;
  Cliff sum = ofMatrix("C8", fmt::format("x + image, {} times,", images), "plus_image", images * rows,
                       columns, images * rows * columns);
  sum.inputs.push_back({"image", randomFloats(rows * columns, 2)});
  sum.dims = {{"B", images}, {"R", rows}, {"C", columns}};
  out.push_back(with(std::move(sum), [=]<typename T>(const std::vector<const T *> &in, T *result) {
    for (int64_t b = 0; b < images; ++b)
      for (int64_t i = 0; i < rows * columns; ++i)
        result[b * rows * columns + i] = in[0][b * rows * columns + i] + in[1][i];
  }));
  Cliff largest = ofMatrix("C8", "max of all", "largest", million, 4, 1);
  out.push_back(with(std::move(largest), [=]<typename T>(const std::vector<const T *> &in, T *result) {
    T most = in[0][0];
    for (int64_t i = 1; i < 4 * million; ++i)
      most = in[0][i] > most ? in[0][i] : most;
    *result = most;
  }));
  out.push_back(products("C8", 1, million, 2, 1, true));
  out.push_back(products("C8", 1, million, 4, 4));
  out.push_back(products("C8", 1, 1, 4096, 4096));
}

void addDivision(std::vector<Cliff> &out) {
  constexpr int64_t height = 1000, width = 1000, reach = 2;
  Cliff c{"C7",
          fmt::format("5x5 sums of {}x{} by lanes", height, width),
          "box_sum",
          {{"x", randomFloats(height * width, 1)}},
          "result",
          size_t(height * width),
          {{"H", height}, {"W", width}}};
  c.flops = 25.0 * double(height * width);
  c.bytes = 8.0 * double(height * width);
  out.push_back(with(std::move(c), [=]<typename T>(const std::vector<const T *> &in, T *result) {
    for (int64_t p = 0; p < height; ++p)
      for (int64_t q = 0; q < width; ++q) {
        T sum = 0;
        for (int64_t r = std::max<int64_t>(p - reach, 0); r < std::min(p + reach + 1, height); ++r)
          for (int64_t s = std::max<int64_t>(q - reach, 0); s < std::min(q + reach + 1, width); ++s)
            sum += in[0][r * width + s];
        result[p * width + q] = sum;
      }
  }));
}

} // namespace

std::vector<Cliff> allCliffs() {
  std::vector<Cliff> out = {products("C1", 1024, 8, 8, 8), products("C1", 512, 32, 32, 32),
                            decode(8, 2048, 64), decode(8, 2048, 128)};
  addReductions(out);
  addRows(out);
  addVectors(out);
  addShortRows(out);
  addDivision(out);
  return out;
}

} // namespace tessera::bench
