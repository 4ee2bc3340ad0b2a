// What was found wrong in a launch.
#pragma once
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace tessera::emulator {

/// Thread-safe.
class Report {
public:
  /// Adds a finding about two sites (or one: -1), once for each pair of them and code. Returns whether it is
  /// new.
  bool add(const char *code, std::pair<int32_t, int32_t> sites, const std::string &text);
  bool isEmpty() const;
  /// One line per finding; the first ones, if there are very many.
  std::string text() const;

private:
  mutable std::mutex mutex_;
  std::set<std::string> known_; // code and sites
  std::string text_;
  size_t dropped_ = 0;
};

} // namespace tessera::emulator
