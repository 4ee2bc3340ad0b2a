// Checks of copies and fills: sizes, offsets, overlap, and the bytes around them.
#include "tools/tsr-conformance/Groups.h"
#include "tools/tsr-conformance/Objects.h"

namespace tessera::kit {
namespace {

constexpr uint64_t kCopySizes[] = {0,    1,    2,    3,    5,     7,      13,      31,
                                   61,   64,   127,  251,  509,   521,    1021,    2053,
                                   4095, 4096, 4097, 8191, 65537, 262147, 1048577, 4194301};
constexpr size_t kAround = 64;

/// Device memory of `bytes` with a margin on both sides, initialized with `noise`.
struct Framed {
  Framed(Subject &s, Stream &stream, uint64_t bytes, unsigned seed)
      : noise(pattern(bytes + 2 * kAround, seed)), memory(s, noise.size()) {
    stream.write(memory, noise);
  }
  unsigned char *inside() const { return memory.get() + kAround; }
  /// Fails unless the inside equals `wanted` and the margins are unchanged.
  void expect(Stream &stream, const Bytes &wanted, const std::string &what) const {
    Bytes all = noise;
    std::copy(wanted.begin(), wanted.end(), all.begin() + kAround);
    expectBytes(stream.read(memory, all.size()), all, what + ", with 64 bytes on either side");
  }
  Bytes noise;
  Memory memory;
};

void sizes(Subject &s) {
  Stream stream(s);
  for (uint64_t bytes : kCopySizes) {
    const Bytes sent = pattern(bytes, static_cast<unsigned>(bytes));
    const std::string what = "a copy of " + std::to_string(bytes) + " bytes";
    Framed a(s, stream, bytes, 3), b(s, stream, bytes, 4);
    stream.copy(a.inside(), sent.data(), bytes);
    stream.copy(b.inside(), a.inside(), bytes);
    Bytes back = pattern(bytes + 2, 5), wanted = back;
    std::copy(sent.begin(), sent.end(), wanted.begin() + 1);
    stream.copy(back.data() + 1, b.inside(), bytes, true);
    expectBytes(back, wanted, what + " to the host, with a byte on either side");
    a.expect(stream, sent, what + " to the device");
    b.expect(stream, sent, what + " on the device");
  }
}

void places(Subject &s) {
  Stream stream(s);
  for (size_t from : {0, 1, 3, 8})
    for (size_t to : {0, 1, 5, 63}) {
      const Bytes sent = pattern(1000, static_cast<unsigned>(from * 8 + to));
      const Memory a(s, 1100);
      Framed b(s, stream, 1000, 6);
      stream.copy(a.get() + from, sent.data(), 1000);
      stream.copy(b.inside() + to, a.get() + from, 1000 - to);
      Bytes wanted(b.noise.begin() + kAround, b.noise.begin() + kAround + 1000);
      std::copy(sent.begin(), sent.end() - static_cast<long>(to), wanted.begin() + static_cast<long>(to));
      b.expect(stream, wanted, "a copy from offset " + std::to_string(from) + " to " + std::to_string(to));
    }
}

void overlap(Subject &s) {
  Stream stream(s);
  for (size_t bytes : {100, 5000, 300000})
    for (size_t shift : {1, 7, 64, 99}) {
      const Memory m(s, bytes + shift);
      for (bool isUp : {true, false}) {
        Bytes wanted = pattern(bytes + shift, static_cast<unsigned>(shift));
        stream.write(m, wanted);
        const size_t from = isUp ? 0 : shift, to = isUp ? shift : 0;
        stream.copy(m.get() + to, m.get() + from, bytes);
        std::memmove(wanted.data() + to, wanted.data() + from, bytes);
        expectBytes(stream.read(m, bytes + shift), wanted,
                    "a copy of " + std::to_string(bytes) + " bytes " + (isUp ? "up" : "down") + " by " +
                        std::to_string(shift));
      }
    }
}

void onHost(Subject &s) {
  Stream stream(s);
  const Bytes sent = pattern(70001, 1);
  Bytes found(70001, 0);
  stream.copy(found.data(), sent.data(), sent.size(), true);
  expectBytes(found, sent, "a copy from host to host");
}

void oneStream(Subject &s) {
  Stream stream(s);
  onThreads(8, [&](int t) {
    Memory m(s, 20000);
    for (unsigned i = 0; i < 40; ++i) {
      const Bytes sent = pattern(20000, i + static_cast<unsigned>(t) * 7);
      Bytes found(20000, 0);
      stream.copy(m, sent.data(), sent.size(), i % 2);
      stream.copy(found.data(), m, found.size(), true);
      expectBytes(found, sent, "copies of eight threads on one stream");
    }
  });
}

constexpr Check kCopyChecks[] = {
    {"copies.sizes",
     "Copies of every size arrive whole, both ways and on the device, and touch no other byte.",
     sizes,
     Needs::Context,
     {},
     {},
     30},
    {"copies.places", "Copies may begin anywhere.", places, Needs::Context},
    {"copies.overlap", "Ranges that overlap are copied as by memmove, up and down.", overlap, Needs::Context},
    {"copies.host", "Both sides may be the host's.", onHost, Needs::Context},
    {"copies.threads",
     "Several threads may copy on one stream at once.",
     oneStream,
     Needs::Context,
     {},
     {},
     30},
};

// ---- Fill ----

void fillSizes(Subject &s) {
  Stream stream(s);
  for (uint64_t bytes : kCopySizes) {
    Framed a(s, stream, bytes, 11);
    stream.fill(a.inside(), 0xA7, bytes);
    a.expect(stream, Bytes(bytes, 0xA7), "a fill of " + std::to_string(bytes) + " bytes");
  }
}

void fillValues(Subject &s) {
  Stream stream(s);
  const Memory m(s, 513);
  for (uint32_t byte : {0u, 1u, 0x7Fu, 0x80u, 0xFFu}) {
    stream.fill(m, byte, 513, byte & 1);
    expectBytes(stream.read(m, 513), Bytes(513, static_cast<unsigned char>(byte)),
                "a fill with " + std::to_string(byte));
  }
}

void fillOrder(Subject &s) {
  Stream stream(s);
  const Memory m(s, 100000);
  const Bytes sent = pattern(100000, 2);
  for (int i = 0; i < 20; ++i) {
    stream.fill(m, 0xEE, 100000);
    stream.copy(m, sent.data(), sent.size());
    stream.fill(m, 0x11, 100);
    Bytes wanted = sent;
    std::fill_n(wanted.begin(), 100, static_cast<unsigned char>(0x11));
    expectBytes(stream.read(m, 100000), wanted, "fills and copies in their order");
  }
}

constexpr Check kFillChecks[] = {
    {"fill.sizes", "Fills of every size fill that and no other byte.", fillSizes, Needs::Context,
     "stream_fill"},
    {"fill.values", "Every byte can be filled with.", fillValues, Needs::Context, "stream_fill"},
    {"fill.order", "Fills keep their place among copies.", fillOrder, Needs::Context, "stream_fill"},
};

} // namespace

extern const Group kCopies = {"copies", TSR_PLUGIN_BACKEND, false, kCopyChecks};
extern const Group kFill = {"fill", TSR_PLUGIN_BACKEND, false, kFillChecks};

} // namespace tessera::kit
