// Comparing results with a reference in double precision.
#pragma once
#include <cstddef>

namespace tessera::bench {

/// How far a result is from a reference in double precision, in units of what rounding may account for.
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

} // namespace tessera::bench
