#include "emulator/Report.h"

namespace tessera::emulator {
namespace {
constexpr size_t kMost = 20; // findings that are shown
}

bool Report::add(const char *code, std::pair<int32_t, int32_t> sites, const std::string &text) {
  std::lock_guard lock(mutex_);
  if (sites.second < sites.first) std::swap(sites.first, sites.second);
  if (!known_.insert(code + std::to_string(sites.first) + "," + std::to_string(sites.second)).second)
    return false;
  if (known_.size() > kMost) return ++dropped_, true;
  text_ += std::string(text_.empty() ? "" : "\n") + "[" + code + "] " + text;
  return true;
}

bool Report::isEmpty() const {
  std::lock_guard lock(mutex_);
  return known_.empty();
}

std::string Report::text() const {
  std::lock_guard lock(mutex_);
  return dropped_ ? text_ + "\n(" + std::to_string(dropped_) + " more)" : text_;
}

} // namespace tessera::emulator
