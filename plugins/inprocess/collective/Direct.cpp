// The work of the direct algorithm: every rank does one p-th of it, on all ranks' memory.
#include "plugins/inprocess/collective/Copy.h"
#include "plugins/inprocess/collective/Work.h"

namespace tessera::inprocess {
namespace {

// stays in the first-level cache while it is copied to several targets
constexpr size_t kBlockBytes = size_t{16} << 10;
// results of at least this size leave the second-level cache anyway
constexpr size_t kStreamBytes = size_t{4} << 20;
constexpr size_t kLineBytes = 64;

struct Range {
  size_t begin, end;
};

/// Returns the rank's share of `count` elements, divided at the cache lines of an aligned array.
Range shareOf(int rank, size_t ranks, size_t count, size_t bytes) {
  const size_t line = kLineBytes / bytes, lines = (count + line - 1) / line;
  auto cut = [&](size_t r) {
    return std::min(count, (lines / ranks * r + std::min(r, lines % ranks)) * line);
  };
  return {cut(static_cast<size_t>(rank)), cut(static_cast<size_t>(rank) + 1)};
}

} // namespace

void InProcessCommunicator::directWork(const Work &w) const {
  const int ranks = group_->size;
  const bool stream = w.targetBytes() >= kStreamBytes;
  auto cell = [&](int r) -> Cell & { return group_->slots[static_cast<size_t>(r)].at(step_); };
  auto src = [&](int r) { return static_cast<const std::byte *>(cell(r).src); };
  auto dst = [&](int r) { return static_cast<std::byte *>(cell(r).dst); };
  switch (w.kind) {
  case TSR_ALL_GATHER:
  case TSR_ALL_TO_ALL: {
    const size_t part = w.count * w.bytes, mine = w.hasSourceParts() ? static_cast<size_t>(rank_) * part : 0;
    for (int i = 0; i < ranks; ++i) {
      const int from = (rank_ + i) % ranks; // own part first, then each peer's at a different time per rank
      copyBytes(w.dst + static_cast<size_t>(from) * part, src(from) + mine, part, stream);
    }
    break;
  }
  case TSR_BROADCAST: {
    const Range share = shareOf(rank_, w.ranks, w.count, w.bytes);
    const size_t from = share.begin * w.bytes, n = (share.end - share.begin) * w.bytes;
    for (size_t at = from; at < from + n; at += kBlockBytes)
      for (int r = 0; r < ranks; ++r)
        if (dst(r) != src(w.root))
          copyBytes(dst(r) + at, src(w.root) + at, std::min(kBlockBytes, from + n - at), stream);
    break;
  }
  default: {
    const bool all = w.kind == TSR_ALL_REDUCE;
    const Range share = all ? shareOf(rank_, w.ranks, w.count, w.bytes) : Range{0, w.count};
    const size_t part = all ? 0 : static_cast<size_t>(rank_) * w.count;
    const size_t block = kBlockBytes / w.bytes;
    alignas(64) std::byte space[kBlockBytes];
    Sources sources(ranks);
    for (size_t at = share.begin; at < share.end; at += block) {
      const size_t n = std::min(block, share.end - at);
      for (int r = 0; r < ranks; ++r)
        sources[r] = src(r) + (part + at) * w.bytes;
      std::byte *result = stream ? space : w.dst + at * w.bytes;
      combine(result, sources.data(), ranks, n, w.dtype, w.op);
      for (int i = 0; i < (all ? ranks : 1); ++i) {
        std::byte *to = all ? dst((rank_ + i) % ranks) : w.dst;
        if (to + at * w.bytes != result) copyBytes(to + at * w.bytes, result, n * w.bytes, stream);
      }
    }
  }
  }
  if (stream) finishStreaming();
}

} // namespace tessera::inprocess
