// The stacks of the lanes of one block, and the switch between them.
#pragma once
#include <cstddef>
#include <vector>

namespace tessera::emulator {

/// Cooperative threads of one host thread. Each runs `body(user, fibre)` until it calls leave() or returns.
class Fibres {
public:
  using Body = void (*)(void *user, int fibre);

  /// Throws std::bad_alloc if there is no memory for the stacks. Below each is a page that must not be
  /// touched.
  Fibres(int count, size_t stackBytes);
  ~Fibres();
  Fibres(const Fibres &) = delete;
  Fibres &operator=(const Fibres &) = delete;

  /// Makes every fibre start from the beginning of `body`; what it was doing is forgotten.
  void restart(Body body, void *user);
  /// Continues the fibre, until one leaves. Called outside of all fibres.
  void enter(int fibre);
  /// Called in a fibre: continues the fibre `to`, which is another one.
  void change(int to);
  /// Called in a fibre: returns to the caller of enter().
  void leave();

private:
  static void begin();
  void *topOf(int fibre);
  std::vector<void *> tops_; // of the stacks of fibres that do not run; null: it has not begun
  char *stacks_ = nullptr;
  size_t stackBytes_, allBytes_;
  void *caller_ = nullptr; // the stack of enter()
  int running_ = -1;
  Body body_ = nullptr;
  void *user_ = nullptr;
};

} // namespace tessera::emulator
