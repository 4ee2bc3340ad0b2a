#include "emulator/Fibres.h"
#include <algorithm>
#include <new>
#include <sys/mman.h>
#include <utility>

#if !defined(__x86_64__)
#error "write the switch between stacks for this processor"
#endif

// Saves on the stack the registers that a call preserves, stores the top of the stack in *from, and continues
// on the stack `to`.
extern "C" __attribute__((visibility("hidden"))) void tesseraSwitchStack(void **from, void *to);
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
  popq %rcx
  jmpq *%rcx # a return would be predicted to go to another fibre's caller
  .size tesseraSwitchStack, .-tesseraSwitchStack
)");

namespace tessera::emulator {
namespace {
constexpr size_t kPage = 4096, kCacheLine = 64;
thread_local Fibres *starting = nullptr; // whose fibre begins
} // namespace

Fibres::Fibres(int count, size_t stackBytes)
    : tops_(static_cast<size_t>(count)), stackBytes_(stackBytes + kPage),
      allBytes_(static_cast<size_t>(count) * stackBytes_) {
  void *all = ::mmap(nullptr, allBytes_, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) throw std::bad_alloc();
  stacks_ = static_cast<char *>(all);
  for (size_t i = 0; i < tops_.size(); ++i)
    ::mprotect(stacks_ + i * stackBytes_, kPage, PROT_NONE);
}

Fibres::~Fibres() { ::munmap(stacks_, allBytes_); }

void Fibres::begin() {
  Fibres &all = *starting;
  all.body_(all.user_, all.running_);
  all.leave(); // for good
}

void Fibres::restart(Body body, void *user) {
  body_ = body, user_ = user;
  std::ranges::fill(tops_, nullptr);
}

void *Fibres::topOf(int fibre) {
  const auto i = static_cast<size_t>(fibre);
  if (tops_[i]) return tops_[i];
  // Stacks begin at different lines of their pages, so that the fibres' frames are not all in one set of a
  // cache.
  const size_t colour = i % (kPage / kCacheLine) * kCacheLine;
  // The same state as if begin() had been called: the return address of the first switch, and six registers
  // below it.
  auto **top = reinterpret_cast<void **>(stacks_ + (i + 1) * stackBytes_ - colour - 16);
  *--top = nullptr; // begin's own return address: it never returns, but its frame must be aligned
  *--top = reinterpret_cast<void *>(&Fibres::begin);
  for (int k = 0; k < 6; ++k)
    *--top = nullptr;
  return top;
}

void Fibres::enter(int fibre) {
  starting = this;
  running_ = fibre;
  tesseraSwitchStack(&caller_, topOf(fibre));
}

void Fibres::change(int to) {
  starting = this;
  void **const from = &tops_[static_cast<size_t>(std::exchange(running_, to))];
  tesseraSwitchStack(from, topOf(to));
}

void Fibres::leave() { tesseraSwitchStack(&tops_[static_cast<size_t>(running_)], caller_); }

} // namespace tessera::emulator
