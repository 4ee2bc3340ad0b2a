// What this machine could do at best, measured in the same run as everything that is compared with it.
#pragma once
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace tessera::bench {

/// The instruction that does most of a computation's arithmetic.
enum class Unit { None, F32, F64, Bf16, I8 };

/// The least that a computation requires.
struct Work {
  double operations = 0; // multiplications and additions, by `unit`
  Unit unit = Unit::None;
  double read = 0, written = 0; // bytes
  double bytes() const { return read + written; }
};

class Roofline {
public:
  /// Takes about four seconds. `threads` threads, each bound to a core of its own.
  explicit Roofline(int threads);

  /// Measures the arithmetic again and keeps the higher rates: other load may have disturbed the first time.
  void measureArithmetic(int threads);

  /// Returns the operations per second of a unit; 0 if this processor has no such instruction.
  double peak(Unit) const;
  /// Returns the bytes per second of a pass over arrays of `footprint` bytes: a sum of what is read if hardly
  /// anything is written, else the faster one of y = a x + y and y = a x by non-temporal stores.
  double bandwidth(double footprint, bool onlyReads) const;
  /// Returns the seconds that no program can undercut.
  double limit(const Work &) const;

  /// The measured rates in words, one sentence.
  std::string text() const;
  /// (footprint in bytes, bytes per second) of y = a x + y.
  const std::vector<std::pair<double, double>> &streams() const { return updates_; }

private:
  double f32_ = 0, f64_ = 0, bf16_ = 0, i8_ = 0;
  std::vector<std::pair<double, double>> reads_, updates_;
};

} // namespace tessera::bench
