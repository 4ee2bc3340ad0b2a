#include "compiler/layout/Conversion.h"
#include <algorithm>
#include <bit>
#include <cassert>

namespace tessera::layout {

Conversion planConversion(const TileLayout &from, const TileLayout &to, unsigned elementBytes,
                          const ConversionLimits &limits) {
  if (std::optional<LaneExchange> lanes = planLaneExchange(from, to, elementBytes)) {
    if (lanes->isRenaming()) return *lanes;
    bool fewCandidates =
        lanes->sourceCandidates() <= limits.candidates && lanes->placeCandidates() <= limits.candidates;
    if (limits.shuffles && fewCandidates) return *lanes;
  }
  return planBufferExchange(from, to, elementBytes, limits);
}

//===-- Inside a warp

bool LaneExchange::isRenaming() const {
  auto isZero = [](Bits b) { return b == 0; };
  return std::ranges::all_of(steps, isZero) && std::ranges::all_of(offered, isZero) &&
         std::ranges::all_of(placed, isZero) && lanes == unitVectors(lanes.size());
}

int64_t LaneExchange::shuffles() const {
  BitsList read; // what a step reads; registers that hold copies read the same
  for (size_t t = 0; t < steps.size(); ++t)
    read.push_back(taken[t] | steps[t] << 32);
  int64_t all = int64_t(1) << rank(read);
  // Steps in which every lane reads itself: the kernel of `steps`.
  if (lanes == unitVectors(lanes.size())) all -= all >> rank(steps);
  return all >> packedBits;
}

int64_t LaneExchange::sourceCandidates() const { return int64_t(1) << rank(offered); }
int64_t LaneExchange::placeCandidates() const { return int64_t(1) << rank(placed); }

namespace {

/// Renumbers registers: bases in the order `first`, then what is missing of `reg`, then zeros for registers
/// that are copies. Returns for each new base which of `reg` it is combined from.
struct Renumbered {
  BitsList images, numbers;
};
Renumbered renumber(const BitsList &reg, const BitsList &first) {
  Renumbered out;
  const Span old(reg);
  Span seen;
  auto take = [&](Bits image) {
    if (!seen.add(image)) return;
    out.images.push_back(image);
    out.numbers.push_back(*old.solve(image));
  };
  for (Bits b : first)
    take(b);
  for (Bits b : reg)
    take(b);
  for (Bits combination : old.kernel()) {
    out.images.push_back(0);
    out.numbers.push_back(combination);
  }
  return out;
}

std::optional<LaneExchange> exchange(const TileLayout &from, const TileLayout &to, const BitsList &packed) {
  for (size_t i = 0; i < from.warp.size(); ++i)
    if (from.warp[i] != to.warp[i]) return std::nullopt;
  const Renumbered source = renumber(from.reg, packed), destination = renumber(to.reg, packed);
  LaneExchange plan;
  plan.packedBits = packed.size();
  plan.source = source.numbers;
  plan.destination = destination.numbers;
  const size_t registerBits = destination.images.size(), laneBits = from.lane.size();
  const Bits registers = (Bits(1) << source.images.size()) - 1;

  // A place of the destination (r, l) is filled from register taken(r) ^ picked(l) of lane
  // steps(r) ^ lanes(l).
  BitsList picked;
  const Span places(concat(source.images, from.lane));
  for (Bits image : destination.images) {
    std::optional<Bits> place = places.solve(image);
    if (!place) return std::nullopt;
    plan.taken.push_back(*place & registers);
    plan.steps.push_back(*place >> source.images.size());
  }
  for (size_t i = 0; i < laneBits; ++i) {
    // The own lane where that is possible.
    std::optional<Bits> place = places.solve(to.lane[i] ^ from.lane[i]);
    Bits own = Bits(1) << (source.images.size() + i);
    if (place && *place >> source.images.size() == 0)
      place = *place ^ own;
    else
      place = places.solve(to.lane[i]);
    if (!place) return std::nullopt;
    picked.push_back(*place & registers);
    plan.lanes.push_back(*place >> source.images.size());
  }

  // Lanes that would read different registers of the same lane take them in different steps: lane l works on
  // register t ^ placed(l) in step t, so that it reads lane lanes(l) ^ steps(placed(l)) ^ steps(t). `placed`
  // is defined on a basis of the kernel of `lanes`.
  plan.placed.assign(laneBits, 0);
  BitsList combinations = unitVectors(laneBits), changed;
  Span reached;
  for (size_t i = 0; i < laneBits; ++i)
    reached.add(plan.lanes[i]);
  Span covered = reached;
  // Each kernel combination has a highest lane bit that no other one has, as Span eliminates in order;
  // placing that bit elsewhere takes the combination out of the kernel.
  for (Bits combination : reached.kernel()) {
    if (applyBases(picked, combination) == 0) continue; // they read the same register: a copy
    size_t highest = std::bit_width(combination) - 1;
    bool done = false;
    for (size_t t = plan.packedBits; t < registerBits && !done; ++t) {
      if (!plan.steps[t] || covered.contains(plan.steps[t])) continue;
      covered.add(plan.steps[t]);
      plan.placed[highest] = Bits(1) << t;
      done = true;
    }
    if (!done) return std::nullopt;
  }
  for (size_t i = 0; i < laneBits; ++i) {
    plan.lanes[i] ^= applyBases(plan.steps, plan.placed[i]);
    picked[i] ^= applyBases(plan.taken, plan.placed[i]);
  }
  // What a lane offers, seen from that lane: the register that its reader picks.
  const Span readers(plan.lanes);
  for (Bits copy : readers.kernel())
    if (applyBases(picked, copy) != 0) return std::nullopt;
  const Span lanes(concat(plan.lanes, unitVectors(laneBits))); // lanes that nobody reads offer anything
  for (Bits lane : unitVectors(laneBits))
    plan.offered.push_back(applyBases(picked, *lanes.solve(lane) & ((Bits(1) << laneBits) - 1)));
  // Words stay whole if only register bits above theirs depend on anything.
  const Bits word = (Bits(1) << plan.packedBits) - 1;
  for (size_t t = 0; t < registerBits; ++t)
    if (t < plan.packedBits ? plan.taken[t] != Bits(1) << t || plan.steps[t] : (plan.taken[t] & word) != 0)
      return std::nullopt;
  for (size_t i = 0; i < laneBits; ++i)
    if ((plan.offered[i] | plan.placed[i]) & word) return std::nullopt;
  return plan;
}

/// Precondition of both kinds of plans.
[[maybe_unused]] bool fit(const TileLayout &from, const TileLayout &to) {
  return from.unit == to.unit && from.lane.size() == to.lane.size() && from.warp.size() == to.warp.size();
}

} // namespace

std::optional<LaneExchange> planLaneExchange(const TileLayout &from, const TileLayout &to,
                                             unsigned elementBytes) {
  assert(fit(from, to));
  BitsList packed = intersection(from.reg, to.reg);
  const size_t most = elementBytes >= 4 ? 0 : std::countr_zero(4 / elementBytes);
  packed.resize(std::min(packed.size(), most));
  for (;; packed.pop_back()) {
    if (std::optional<LaneExchange> plan = exchange(from, to, packed)) return plan;
    if (packed.empty()) return std::nullopt;
  }
}

//===-- Through memory

BitsList segmentBases(std::span<const Bits> space, std::span<const Bits> vector, std::span<const Bits> a,
                      std::span<const Bits> b, size_t count) {
  BitsList bases;
  Span taken(vector); // and the bases
  auto take = [&](Bits v) {
    if (bases.size() < count && taken.add(v)) bases.push_back(v);
  };
  // First what no lane of a phase varies.
  Span varied(concat(concat(vector, a), b));
  for (Bits v : space)
    if (varied.add(v)) take(v);
  // Then sums of what only the one side varies and what only the other does: neither side varies the sum.
  BitsList onlyA, onlyB;
  Span withB(concat(vector, b)), withA(concat(vector, a));
  for (Bits v : a)
    if (withB.add(v)) onlyA.push_back(v);
  for (Bits v : b)
    if (withA.add(v)) onlyB.push_back(v);
  const size_t pairs = std::min(onlyA.size(), onlyB.size());
  for (size_t i = 0; i < pairs; ++i)
    take(onlyA[i] ^ onlyB[i]);
  onlyA.erase(onlyA.begin(), onlyA.begin() + pairs);
  onlyB.erase(onlyB.begin(), onlyB.begin() + pairs);
  // What is left makes conflicts: on one side, if a side varies more than the other.
  for (Bits v : concat(concat(onlyA, onlyB), space))
    take(v);
  return bases;
}

BufferExchange planBufferExchange(const TileLayout &from, const TileLayout &to, unsigned elementBytes,
                                  const ConversionLimits &limits) {
  assert(fit(from, to) && std::has_single_bit(elementBytes) && elementBytes <= 16);
  const unsigned bits = from.unit.bits();
  const int64_t copies = from.unit.copies(), unitBytes = int64_t(elementBytes) << bits;

  // A vector is what both sides have in registers of one lane, and no thread varies: its elements have the
  // same order in all lanes. Further such bits number rounds.
  const BitsList threads = independent(concat(concat(from.lane, from.warp), concat(to.lane, to.warp)));
  const size_t widest = std::countr_zero(16 / elementBytes);
  BitsList vector, rounds;
  Span kept(threads);
  for (Bits v : intersection(from.reg, to.reg)) {
    bool isLarge = unitBytes >> rounds.size() > limits.bufferBytes;
    if ((vector.size() < widest || isLarge) && kept.add(v))
      (vector.size() < widest ? vector : rounds).push_back(v);
  }

  BufferExchange plan;
  plan.copiesPerRound = rounds.empty() ? std::clamp<int64_t>(limits.bufferBytes / unitBytes, 1, copies) : 1;
  plan.rounds = ((copies + plan.copiesPerRound - 1) / plan.copiesPerRound) << rounds.size();
  plan.offsetBits = bits - rounds.size();
  plan.bytes = plan.copiesPerRound * elementBytes << plan.offsetBits;
  plan.vectorBytes = elementBytes << vector.size();

  // The space of one round: the vector, what threads vary, and unit vectors, beside the rounds' bits.
  BitsList space;
  Span all(rounds);
  for (Bits v : concat(concat(vector, threads), unitVectors(bits)))
    if (all.add(v)) space.push_back(v);
  const unsigned phase = limits.banks.phaseBits(plan.vectorBytes);
  auto phaseOf = [&](const TileLayout &layout) {
    return independent(std::span(layout.lane).first(std::min<size_t>(phase, layout.lane.size())));
  };
  const BitsList writers = phaseOf(from), readers = phaseOf(to);
  const unsigned row = limits.banks.bankBits + 2; // bytes of a row of all banks
  const unsigned inRow = row - std::countr_zero(elementBytes);
  const size_t segments = plan.offsetBits > inRow ? plan.offsetBits - inRow : 0;
  const BitsList segment = segmentBases(space, vector, writers, readers, segments);
  BitsList order = vector;
  Span placed(concat(vector, segment));
  for (Bits v : space)
    if (placed.add(v)) order.push_back(v); // the banks
  plan.place = LinearLayout(concat(concat(order, segment), rounds), bits);

  const LinearLayout offset = *plan.place.inverse();
  const Bits inRound = (Bits(1) << plan.offsetBits) - 1;
  auto count = [&](const TileLayout &layout, int64_t &accesses, int64_t &fronts) {
    WarpAccess access = {{}, plan.vectorBytes};
    for (Bits lane : layout.lane)
      access.lanes.push_back((offset(lane) & inRound) * elementBytes);
    accesses = copies << (rank(layout.reg) - vector.size());
    fronts = accesses * wavefronts(access, limits.banks);
    plan.conflicts += fronts - accesses * phases(access, limits.banks);
  };
  count(from, plan.writes, plan.writeWavefronts);
  count(to, plan.reads, plan.readWavefronts);
  return plan;
}

} // namespace tessera::layout
