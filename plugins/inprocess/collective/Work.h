// A checked call in the form that its execution needs. Part of Communicator.h.
#pragma once
#include "plugins/inprocess/collective/Communicator.h"

namespace tessera::inprocess {

struct InProcessCommunicator::Work {
  Work(const tsr_cl_call_t &c, int size, const collective::Signature &s)
      : kind(c.kind), root(c.root), dtype(static_cast<DType>(c.dtype)), op(static_cast<CombineOp>(s.op)),
        bytes(collective::kBytes[c.dtype]), count(c.count), ranks(static_cast<size_t>(size)),
        src(static_cast<const std::byte *>(c.src)), dst(static_cast<std::byte *>(c.dst)), where(c.where),
        signature(s) {}
  bool hasSourceParts() const { return collective::dividesSource(kind); }
  bool hasTargetParts() const { return collective::dividesTarget(kind); }
  size_t sourceBytes() const { return count * bytes * (hasSourceParts() ? ranks : 1); }
  size_t targetBytes() const { return count * bytes * (hasTargetParts() ? ranks : 1); }

  const uint32_t kind;
  const int root;
  const DType dtype;
  const CombineOp op;
  const size_t bytes; // per element
  const size_t count, ranks;
  const std::byte *const src;
  std::byte *const dst;
  const char *const where;
  const collective::Signature signature;
};

/// One pointer per rank. Does not allocate for up to kFew ranks.
class Sources {
public:
  explicit Sources(int ranks) {
    if (ranks > kFew) many_.resize(static_cast<size_t>(ranks));
  }
  const void *&operator[](int rank) { return data()[rank]; }
  const void **data() { return many_.empty() ? few_ : many_.data(); }

private:
  static constexpr int kFew = 64;
  const void *few_[kFew];
  std::vector<const void *> many_;
};

} // namespace tessera::inprocess
