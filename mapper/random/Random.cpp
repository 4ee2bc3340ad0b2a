// random(seed): for tests, and to measure the effect of decisions. A question gets the same answer every
// time, on any thread and in any order.
#include "core/bundle/Hash.h"
#include "mapper/host/Mappers.h"
#include "mapper/host/Question.h"

namespace tessera::mapping {
namespace {

class Random final : public Mapper {
public:
  explicit Random(uint64_t seed) : seed_(seed) {}
  Choice place(const Region &r, const Mesh &m) override { return choose(question(r, m)); }
  Choice chooseCollective(const CollectiveCall &c) override { return choose(question(c)); }
  Choice chooseVariant(const VariantCall &c) override { return choose(question(c)); }

private:
  Choice choose(const Question &q) const {
    if (q.legal.empty()) return {};
    const Hash128 h = hash128(std::to_string(seed_) + " " + q.text());
    return q.legal[h.low % q.legal.size()];
  }

  const uint64_t seed_;
};

} // namespace

std::unique_ptr<Mapper> makeRandom(uint64_t seed) { return std::make_unique<Random>(seed); }

} // namespace tessera::mapping
