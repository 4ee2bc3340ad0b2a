#include "tests/emulation/Fibres.h"
#include <new>
#include <sys/mman.h>

// Saves on the stack the registers that a call preserves, stores the top of the stack in *from, and continues
// on the stack `to`.
extern "C" void tesseraSwitchStack(void **from, void *to);
asm(R"(
  .text
  .type tesseraSwitchStack, @function
tesseraSwitchStack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size tesseraSwitchStack, .-tesseraSwitchStack
)");

namespace tessera::emulation {
namespace {
Fibres *running = nullptr;
}

Fibres::Fibres(int64_t count, size_t stackBytes) : fibres_(size_t(count)), stackBytes_(stackBytes) {
  for (Fibre &f : fibres_) {
    f.stack =
        ::mmap(nullptr, stackBytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (f.stack == MAP_FAILED) throw std::bad_alloc();
  }
}

Fibres::~Fibres() {
  for (Fibre &f : fibres_)
    ::munmap(f.stack, stackBytes_);
}

void Fibres::enter() {
  Fibres &all = *running;
  (*all.body_)(all.current_);
  Fibre &self = all.fibres_[size_t(all.current_)];
  self.done = true;
  tesseraSwitchStack(&self.top, all.scheduler_);
}

void Fibres::barrier(const void *site) {
  Fibre &self = fibres_[size_t(current_)];
  self.site = site;
  tesseraSwitchStack(&self.top, scheduler_);
}

bool Fibres::run(const std::function<void(int64_t)> &body, bool descending, std::string &why) {
  running = this;
  body_ = &body;
  for (Fibre &f : fibres_) {
    // The same state as if enter() had been called: the return address of the first switch, and six registers
    // below it.
    auto **top = reinterpret_cast<void **>(static_cast<char *>(f.stack) + stackBytes_ - 16);
    *--top = nullptr; // enter's own return address: it never returns, but its frame must be aligned
    *--top = reinterpret_cast<void *>(&Fibres::enter);
    for (int i = 0; i < 6; ++i)
      *--top = nullptr;
    f = {f.stack, top, nullptr, false};
  }
  const int64_t count = int64_t(fibres_.size());
  for (int64_t done = 0; done < count;) {
    for (int64_t i = 0; i < count; ++i) {
      current_ = descending ? count - 1 - i : i;
      tesseraSwitchStack(&scheduler_, fibres_[size_t(current_)].top);
    }
    done = 0;
    for (const Fibre &f : fibres_) {
      done += f.done;
      if (f.done == fibres_[0].done && (f.done || f.site == fibres_[0].site)) continue;
      why = f.done != fibres_[0].done ? "a thread ended while another waits at a barrier"
                                      : "the threads wait at different barriers";
      return false;
    }
  }
  return true;
}

} // namespace tessera::emulation
