// Compares results with a reference in double precision.
#pragma once
#include <cmath>
#include <cstddef>

namespace tessera::bench {

inline constexpr double unit = 0x1p-24; // f32 rounds a value by at most this fraction of it

/// The error of a result against a reference in double precision, relative to the error that rounding may
/// cause.
struct Check {
  double worst = 0;    // largest |error| / bound over all elements; agreement is worst <= 1
  double maxError = 0; // largest |error|
  size_t elements = 0;
  bool ok() const { return elements > 0 && worst <= 1; }

  void add(double got, double want, double bound) {
    const double error = got > want ? got - want : want - got;
    ++elements;
    maxError = error > maxError ? error : maxError;
    // Written so that a NaN anywhere fails.
    if (!(error <= worst * bound))
      worst = bound > 0 && error == error ? error / bound : error == 0 ? worst : 1e300;
  }

  void merge(const Check &other) {
    worst = other.worst > worst ? other.worst : worst;
    maxError = other.maxError > maxError ? other.maxError : maxError;
    elements += other.elements;
  }
};

/// A sum whose terms a kernel adds in f32. Each addition rounds its partial sum s by at most unit |s|, nearly
/// independently of the other additions: 4 unit sqrt(sum of s^2) is seven standard deviations. Another order
/// has partial sums of the same size if the signs are random, and smaller ones in lanes and trees if they are
/// not.
struct RunningSum {
  double sum = 0, squares = 0; // of the partial sums
  void add(double term) {
    sum += term;
    squares += sum * sum;
  }
  double error() const { return 4 * unit * std::sqrt(squares); }
};

/// The same for a loop over tiles of at most kTile terms, each of which is summed before it is added.
struct TiledSum {
  static constexpr size_t kTile = 512;
  RunningSum total, tile;
  double squares = 0; // of the partial sums in completed tiles
  size_t terms = 0;
  void add(double term) {
    tile.add(term);
    if (++terms % kTile == 0) close();
  }
  void close() {
    squares += tile.squares;
    total.add(tile.sum);
    tile = {};
  }
  double error() const { return 4 * unit * std::sqrt(squares + total.squares); }
};

} // namespace tessera::bench
