// Executes instructions of AMX on processors without it: each of them is an invalid opcode there, and the
// handler of SIGILL does what Intel's manual (Instruction Set Extensions Programming Reference) defines. So
// tests run the code that is shipped. For one thread.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <immintrin.h>
#include <ucontext.h>
#include <utility>

namespace tessera::cpu::product {

class TileEmulator {
public:
  /// Instructions since the program's start.
  struct Counts {
    int64_t configurations = 0, releases = 0, multiplies = 0;
  };
  static const Counts &counts() { return state().counts; }
  static bool isConfigured() { return state().isConfigured; }

  static void install() {
    struct sigaction action = {};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGILL, &action, nullptr);
  }

private:
  struct Tile {
    int64_t rows = 0, bytes = 0; // of a row
    alignas(64) std::array<std::array<uint8_t, 64>, 16> data = {};
  };
  struct State {
    bool isConfigured = false;
    std::array<Tile, 8> tiles;
    Counts counts;
  };
  static State &state() {
    static State only;
    return only;
  }
  [[noreturn]] static void fail(const char *why) {
    std::fprintf(stderr, "TileEmulator: %s\n", why);
    std::abort();
  }

  /// A VEX instruction of opcode map 0F 38 at an address, and the general registers.
  class Decoder {
  public:
    Decoder(const uint8_t *at, const greg_t *registers) : at_(at), registers_(registers) {
      if (at[0] != 0xc4 || (at[1] & 0x1f) != 2) fail("an invalid opcode that is no instruction of AMX");
      if (at[2] & 0x84) fail("W or L is not 0");
      modRM_ = at[4];
    }
    int opcode() const { return at_[3]; }
    int prefix() const { return at_[2] & 3; } // none, 66, F3, F2
    bool isMemory() const { return modRM_ >> 6 != 3; }
    int reg() const { return modRM_ >> 3 & 7; }
    int rm() const { return modRM_ & 7; }
    int vvvv() const { return ~at_[2] >> 3 & 15; }
    /// Reads the operand in memory: its address without the index, the index times its scale, and the length.
    void memory(uint8_t *&address, int64_t &stride, int64_t &length) const {
      const int mod = modRM_ >> 6;
      length = 5, stride = 0;
      int64_t base = 0;
      bool isRelative = false;
      if (rm() == 4) {
        const int sib = at_[length++], index = (sib >> 3 & 7) | (at_[1] & 0x40 ? 0 : 8);
        if (index != 4) stride = general(index) << (sib >> 6);
        if ((sib & 7) == 5 && mod == 0) fail("an address without base");
        base = general((sib & 7) | (at_[1] & 0x20 ? 0 : 8));
      } else if (rm() == 5 && mod == 0) {
        isRelative = true;
      } else {
        base = general(rm() | (at_[1] & 0x20 ? 0 : 8));
      }
      if (mod == 1) base += static_cast<int8_t>(at_[length++]);
      if (mod == 2 || isRelative) {
        int32_t displacement;
        std::memcpy(&displacement, at_ + length, 4);
        base += displacement, length += 4;
      }
      if (isRelative) base += reinterpret_cast<int64_t>(at_ + length);
      address = reinterpret_cast<uint8_t *>(base);
    }

  private:
    int64_t general(int number) const {
      constexpr int order[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                               REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
      return registers_[order[number]];
    }
    const uint8_t *at_;
    const greg_t *registers_;
    int modRM_;
  };

  static void configure(const uint8_t *from) {
    State &s = state();
    if (from[0] != 1) fail("a palette other than 1");
    // The row to restart at, and what is reserved.
    for (auto [first, end] : {std::pair(1, 16), {32, 48}, {56, 64}})
      if (std::any_of(from + first, from + end, [](uint8_t byte) { return byte != 0; }))
        fail("a configuration with bytes that must be 0");
    for (int t = 0; t < 8; ++t) {
      uint16_t bytes;
      std::memcpy(&bytes, from + 16 + 2 * t, 2);
      if (bytes > 64 || bytes % 4 || from[48 + t] > 16) fail("a tile that is too large");
      s.tiles[t] = {from[48 + t], bytes, {}};
    }
    s.isConfigured = true;
    ++s.counts.configurations;
  }

  static Tile &tile(int number) {
    Tile &t = state().tiles[number];
    if (!state().isConfigured || t.rows == 0 || t.bytes == 0) fail("a tile that is not configured");
    return t;
  }

  template <class A, class B> static void multiplyBytes(Tile &c, const Tile &a, const Tile &b) {
    for (int64_t m = 0; m < c.rows; ++m) {
      auto sums = std::bit_cast<std::array<uint32_t, 16>>(c.data[m]);
      const auto left = std::bit_cast<std::array<A, 64>>(a.data[m]);
      for (int64_t k = 0; k < a.bytes / 4; ++k) {
        const auto right = std::bit_cast<std::array<B, 64>>(b.data[k]);
        for (int64_t n = 0; n < c.bytes / 4; ++n)
          for (int64_t i = 0; i < 4; ++i)
            sums[n] += static_cast<uint32_t>(int32_t{left[4 * k + i]} * int32_t{right[4 * n + i]});
      }
      c.data[m] = std::bit_cast<std::array<uint8_t, 64>>(sums);
    }
  }

  /// Rounds to the nearest; takes subnormal operands and results for 0.
  [[gnu::target("avx2,fma")]] static void multiplyPairs(Tile &c, const Tile &a, const Tile &b) {
    auto wide = [](uint16_t x) { return std::bit_cast<float>(uint32_t{x} << 16); };
    const unsigned before = _mm_getcsr();
    _mm_setcsr(0x1f80 | 0x8040);
    for (int64_t m = 0; m < c.rows; ++m) {
      std::array<float, 32> sums = {};
      const auto left = std::bit_cast<std::array<uint16_t, 32>>(a.data[m]);
      for (int64_t k = 0; k < a.bytes / 4; ++k) {
        const auto right = std::bit_cast<std::array<uint16_t, 32>>(b.data[k]);
        for (int64_t n = 0; n < c.bytes / 2; ++n)
          sums[n] = std::fma(wide(left[2 * k + n % 2]), wide(right[n]), sums[n]);
      }
      auto result = std::bit_cast<std::array<float, 16>>(c.data[m]);
      for (int64_t n = 0; n < c.bytes / 4; ++n) {
        const float both = sums[2 * n] + sums[2 * n + 1];
        result[n] = result[n] + both;
      }
      c.data[m] = std::bit_cast<std::array<uint8_t, 64>>(result);
    }
    _mm_setcsr(before);
  }

  static void multiply(const Decoder &d) {
    Tile &c = tile(d.reg());
    const Tile &a = tile(d.rm()), &b = tile(d.vvvv() & 7);
    if (c.rows != a.rows || c.bytes != b.bytes || a.bytes / 4 != b.rows) fail("tiles that do not match");
    if (&a == &b || &a == &c || &b == &c) fail("a tile that is an operand twice");
    ++state().counts.multiplies;
    if (d.opcode() == 0x5c) {
      if (d.prefix() != 2) fail("a product of tiles that is not emulated");
      return multiplyPairs(c, a, b);
    }
    switch (d.prefix()) {
    case 0:
      return multiplyBytes<uint8_t, uint8_t>(c, a, b);
    case 1:
      return multiplyBytes<uint8_t, int8_t>(c, a, b);
    case 2:
      return multiplyBytes<int8_t, uint8_t>(c, a, b);
    default:
      return multiplyBytes<int8_t, int8_t>(c, a, b);
    }
  }

  static void handle(int, siginfo_t *, void *context) {
    greg_t *registers = static_cast<ucontext_t *>(context)->uc_mcontext.gregs;
    const Decoder d(reinterpret_cast<const uint8_t *>(registers[REG_RIP]), registers);
    uint8_t *address = nullptr;
    int64_t stride = 0, length = 5;
    if (d.isMemory()) d.memory(address, stride, length);
    State &s = state();
    if (d.opcode() == 0x49 && d.prefix() == 0 && d.isMemory()) {
      configure(address);
    } else if (d.opcode() == 0x49 && d.prefix() == 0) {
      s.isConfigured = false, s.tiles = {};
      ++s.counts.releases;
    } else if (d.opcode() == 0x49 && d.prefix() == 3 && !d.isMemory()) {
      tile(d.reg()).data = {};
    } else if (d.opcode() == 0x4b && d.isMemory() && d.prefix() != 0) {
      Tile &t = tile(d.reg());
      const bool isStore = d.prefix() == 2;
      if (!isStore) t.data = {};
      for (int64_t r = 0; r < t.rows; ++r)
        if (isStore)
          std::memcpy(address + r * stride, t.data[r].data(), static_cast<size_t>(t.bytes));
        else
          std::memcpy(t.data[r].data(), address + r * stride, static_cast<size_t>(t.bytes));
    } else if ((d.opcode() == 0x5e || d.opcode() == 0x5c) && !d.isMemory()) {
      multiply(d);
    } else {
      fail("an instruction that is not emulated");
    }
    registers[REG_RIP] += length;
  }
};

} // namespace tessera::cpu::product
