// Cooperative threads of one block.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tessera::emulation {

class Fibres {
public:
  Fibres(int64_t count, size_t stackBytes);
  ~Fibres();
  Fibres(const Fibres &) = delete;
  Fibres &operator=(const Fibres &) = delete;

  /// Runs `body(thread)` in every thread. Between two barriers the threads run in ascending or descending
  /// order.
  [[nodiscard]] bool run(const std::function<void(int64_t)> &body, bool descending, std::string &why);
  /// Called in `body`: waits until every thread has reached the barrier `site`.
  void barrier(const void *site);
  int64_t current() const { return current_; }

private:
  static void enter();
  struct Fibre {
    void *stack = nullptr, *top = nullptr;
    const void *site = nullptr; // the barrier at which it waits
    bool done = false;
  };
  std::vector<Fibre> fibres_;
  size_t stackBytes_;
  void *scheduler_ = nullptr;
  int64_t current_ = 0;
  const std::function<void(int64_t)> *body_ = nullptr;
};

} // namespace tessera::emulation
