// Every plan is played with the elements' indices as values, and its counts with what was played.
#include "compiler/layout/Conversion.h"
#include "compiler/layout/Fragments.h"
#include "compiler/layout/test/Trials.h"
#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

namespace tessera::layout {
namespace {

using At = std::vector<int64_t>;

/// Values by warp, lane, register number.
using Held = std::vector<std::vector<std::vector<int64_t>>>;

int64_t element(const TileLayout &layout, int64_t r, int64_t l, int64_t w) {
  int64_t number = 0;
  const At at = layout.at(r, l, w), shape = layout.unit.shape();
  for (size_t d = 0; d < at.size(); ++d)
    number = number * shape[d] + at[d];
  return number;
}

Held filled(const TileLayout &layout, bool poison = false) {
  Held held(layout.warps(), std::vector(layout.lanes(), std::vector<int64_t>(layout.registers(), -1)));
  for (int64_t w = 0; w < layout.warps() && !poison; ++w)
    for (int64_t l = 0; l < layout.lanes(); ++l)
      for (int64_t r = 0; r < layout.registers(); ++r)
        held[w][l][r] = element(layout, r, l, w);
  return held;
}

void playLanes(const TileLayout &from, const TileLayout &to, const LaneExchange &plan) {
  const Held source = filled(from);
  Held result = filled(to, /*poison=*/true);
  std::map<int64_t, std::set<int64_t>> offered, placed;
  std::set<std::pair<Bits, Bits>> shuffled;
  const Bits word = (Bits(1) << plan.packedBits) - 1;
  for (int64_t copy = 0; copy < from.unit.copies(); ++copy)
    for (Bits t = 0; t < Bits(1) << to.reg.size(); ++t) {
      // What each lane holds out; then each lane takes one.
      std::vector<Bits> holdsOut(from.lanes());
      for (Bits s = 0; s < Bits(from.lanes()); ++s) {
        holdsOut[s] = applyBases(plan.taken, t) ^ applyBases(plan.offered, s ^ applyBases(plan.steps, t));
        if ((t & word) == 0) offered[t].insert(holdsOut[s]);
        ASSERT_EQ(holdsOut[s] & word, t & word) << "a word is moved whole";
      }
      for (Bits l = 0; l < Bits(from.lanes()); ++l) {
        const Bits s = applyBases(plan.lanes, l) ^ applyBases(plan.steps, t);
        if (s != l && (t & word) == 0)
          shuffled.insert({applyBases(plan.taken, t), applyBases(plan.steps, t)});
        const Bits r = applyBases(plan.source, holdsOut[s]), into = t ^ applyBases(plan.placed, l);
        if ((t & word) == 0) placed[t].insert(into);
        const Bits d = applyBases(plan.destination, into);
        for (int64_t w = 0; w < from.warps(); ++w)
          result[w][l][copy << to.reg.size() | d] = source[w][s][copy << from.reg.size() | r];
      }
    }
  ASSERT_EQ(result, filled(to));
  // The counts are upper limits that are reached.
  EXPECT_EQ(plan.shuffles(), int64_t(shuffled.size()));
  size_t mostOffered = 0, mostPlaced = 0;
  for (auto &[t, registers] : offered)
    mostOffered = std::max(mostOffered, registers.size());
  for (auto &[t, registers] : placed)
    mostPlaced = std::max(mostPlaced, registers.size());
  EXPECT_EQ(plan.sourceCandidates(), int64_t(mostOffered));
  EXPECT_EQ(plan.placeCandidates(), int64_t(mostPlaced));
  EXPECT_EQ(plan.isRenaming(), shuffled.empty() && mostOffered <= 1 && mostPlaced <= 1);
}

/// One access of a warp for each aligned vector of elements that a lane transfers, and the banks' words of
/// it.
struct Traffic {
  int64_t accesses = 0, wavefronts = 0, conflicts = 0;

  void add(const std::vector<int64_t> &addresses, unsigned bytes, const BankModel &banks) {
    ++accesses;
    const size_t together = size_t(1) << banks.phaseBits(bytes);
    for (size_t first = 0; first < addresses.size(); first += together) {
      std::map<int64_t, std::set<int64_t>> words;
      for (size_t l = first; l < std::min(addresses.size(), first + together); ++l)
        for (int64_t byte = addresses[l]; byte < addresses[l] + bytes; ++byte)
          words[(byte >> 2) & ((1 << banks.bankBits) - 1)].insert(byte >> 2);
      size_t most = 0;
      for (auto &[bank, distinct] : words)
        most = std::max(most, distinct.size());
      wavefronts += most;
      conflicts += most - 1;
    }
  }
};

void playBuffer(const TileLayout &from, const TileLayout &to, const BufferExchange &plan, unsigned bytes,
                const BankModel &banks) {
  Held source = filled(from), result = filled(to, true);
  const LinearLayout where = *plan.place.inverse();
  const Bits inRound = (Bits(1) << plan.offsetBits) - 1;
  const int64_t roundsOfUnit = int64_t(1) << (plan.place.inputBits() - plan.offsetBits);
  const int64_t copies = from.unit.copies(), vector = plan.vectorBytes / bytes;
  Traffic writes, reads;
  int64_t rounds = 0;
  for (int64_t first = 0; first < copies; first += plan.copiesPerRound)
    for (int64_t round = 0; round < roundsOfUnit; ++round, ++rounds) {
      std::vector<int64_t> memory(plan.copiesPerRound << plan.offsetBits, -1);
      ASSERT_EQ(int64_t(memory.size()) * bytes, plan.bytes);
      auto transfer = [&](const TileLayout &layout, Traffic &traffic, bool isWrite) {
        for (int64_t copy = first; copy < std::min(copies, first + plan.copiesPerRound); ++copy) {
          std::map<int64_t, std::vector<int64_t>> accesses; // of warp 0: by what lane 0 accesses
          std::set<int64_t> own;
          for (int64_t w = 0; w < layout.warps(); ++w)
            for (int64_t r = 0; r < int64_t(1) << layout.reg.size(); ++r) {
              const Bits base = where(applyBases(layout.reg, r));
              if (int64_t(base >> plan.offsetBits) != round) continue; // the same in all threads
              const bool isFirst = w == 0 && own.insert(int64_t(base & inRound)).second;
              for (int64_t l = 0; l < layout.lanes(); ++l) {
                const Bits place =
                    base ^ where(applyBases(layout.lane, l)) ^ where(applyBases(layout.warp, w));
                ASSERT_EQ(int64_t(place >> plan.offsetBits), round) << "a round depends on the thread";
                const int64_t at = (copy - first) << plan.offsetBits | int64_t(place & inRound);
                int64_t &value = (isWrite ? source : result)[w][l][copy << layout.reg.size() | r];
                if (isWrite)
                  memory[at] = value;
                else
                  value = memory[at];
                // The vector's first element stands for it, and comes from the same register in all lanes.
                ASSERT_EQ(at % vector, int64_t(base & inRound) % vector);
                if (isFirst && at % vector == 0) accesses[int64_t(base & inRound)].push_back(at * bytes);
              }
            }
          ASSERT_EQ(accesses.size() * vector, own.size()) << "vectors are whole";
          for (auto &[_, addresses] : accesses)
            traffic.add(addresses, plan.vectorBytes, banks);
        }
      };
      transfer(from, writes, true);
      transfer(to, reads, false);
    }
  ASSERT_EQ(result, filled(to));
  EXPECT_EQ(plan.rounds, rounds);
  EXPECT_EQ(plan.barriers(), 2 * rounds);
  EXPECT_EQ(plan.writes, writes.accesses);
  EXPECT_EQ(plan.reads, reads.accesses);
  EXPECT_EQ(plan.writeWavefronts, writes.wavefronts);
  EXPECT_EQ(plan.readWavefronts, reads.wavefronts);
  EXPECT_EQ(plan.conflicts, writes.conflicts + reads.conflicts);
}

std::map<std::string, int> kinds;

void play(const TileLayout &from, const TileLayout &to, unsigned bytes, const ConversionLimits &limits = {}) {
  SCOPED_TRACE("from " + from.text() + "\nto " + to.text());
  const Conversion plan = planConversion(from, to, bytes, limits);
  if (auto lanes = std::get_if<LaneExchange>(&plan)) {
    ++kinds[lanes->isRenaming() ? "renaming" : "shuffles"];
    playLanes(from, to, *lanes);
    EXPECT_LE(lanes->shuffles(), int64_t(1) << to.reg.size());
  } else {
    ++kinds["buffer"];
    playBuffer(from, to, std::get<BufferExchange>(plan), bytes, limits.banks);
  }
}

/// All layouts that the compiler gives to a tile of this shape in warps of `lanes`.
std::vector<TileLayout> layoutsOf(std::array<int64_t, 2> shape, int64_t lanes, int64_t warps) {
  std::vector<TileLayout> all;
  for (const Fragment &f : tableOfFragments())
    for (Operand operand : {Operand::A, Operand::B, Operand::C})
      for (int64_t m = 1; m <= warps; m *= 2) {
        const WarpGrid grid = {m, warps / m};
        if (!f.isInRegisters(operand) || m % f.warps() || f.layout(operand).lanes() != lanes) continue;
        const auto [rows, columns] = f.shape(operand);
        const int64_t down = operand == Operand::B ? 1 : m / f.warps(),
                      across = operand == Operand::A ? 1 : grid.n;
        if (shape[0] % (rows * down) || shape[1] % (columns * across)) continue;
        TileLayout layout = operandLayout(f, operand, grid, shape);
        if (std::ranges::find(all, layout) == all.end()) all.push_back(layout);
      }
  for (int64_t vector : {1, 4, 8})
    all.push_back(blocked(shape, vector, lanes, warps));
  return all;
}

TEST(Conversion, OfAllPairsOfLayoutsIsTheIdentity) {
  kinds.clear();
  int pairs = 0;
  for (int64_t lanes : {8, 16, 32, 64})
    for (auto [rows, columns, warps] : std::initializer_list<std::array<int64_t, 3>>{
             {64, 32, 1}, {64, 64, 4}, {128, 128, 4}, {64, 96, 2}, {192, 64, 4}, {96, 96, 1}})
      for (const TileLayout &from : layoutsOf({rows, columns}, lanes, warps))
        for (const TileLayout &to : layoutsOf({rows, columns}, lanes, warps)) {
          // The larger shapes in fewer pairs and sizes of elements: the test is to end in seconds.
          const bool isLarge = rows * columns > 2048;
          if (isLarge && ++pairs % (16 * 8 / trials(8))) continue;
          play(from, to, 1 << (isLarge ? pairs / 16 : pairs++) % 3);
          if (HasFatalFailure()) return;
        }
  EXPECT_GT(kinds["renaming"], trials(48));
  EXPECT_GT(kinds["shuffles"], trials(48));
  EXPECT_GT(kinds["buffer"], trials(48));
}

TEST(Conversion, OfRandomLayoutsIsTheIdentity) {
  kinds.clear();
  std::mt19937 random(7);
  for (int trial = 0; trial < trials(6000) && !testing::Test::HasFatalFailure(); ++trial) {
    const unsigned bits = 4 + random() % 6, laneBits = random() % 5, warpBits = random() % 3;
    Unit unit({bits / 2, bits - bits / 2}, {int64_t(1 + random() % 2 * 2), 1});
    auto some = [&](const TileLayout *like) {
      TileLayout tile;
      tile.unit = unit;
      BitsList bases = unitVectors(bits);
      std::shuffle(bases.begin(), bases.end(), random);
      if (random() % 2)
        for (unsigned i = 0; i < bits; ++i) {
          size_t from = random() % bits, to = random() % bits;
          if (from != to) bases[to] ^= bases[from];
        }
      // Near the other layout, so that exchanges inside warps occur.
      if (like && random() % 2) {
        tile = *like;
        BitsList *lists[] = {&tile.reg, &tile.lane};
        for (int i = 0; i < 3; ++i) {
          BitsList &a = *lists[random() % 2], &b = *lists[random() % 2];
          if (!a.empty() && !b.empty()) std::swap(a[random() % a.size()], b[random() % b.size()]);
        }
        return tile;
      }
      auto take = [&](BitsList &list, unsigned count) {
        for (unsigned i = 0; i < count; ++i) {
          const bool isCopy = bases.empty() || random() % 8 == 0;
          list.push_back(isCopy ? 0 : bases.back());
          if (!isCopy) bases.pop_back();
        }
      };
      take(tile.lane, laneBits), take(tile.warp, warpBits);
      tile.reg = bases;
      if (random() % 8 == 0) tile.reg.push_back(0);
      return tile;
    };
    const TileLayout from = some(nullptr), to = some(&from);
    ConversionLimits limits;
    limits.bufferBytes = int64_t(64) << random() % 6;
    limits.candidates = random() % 4 ? 4 : 1 << 20;
    if (random() % 4 == 0) limits.banks = {6, 5, 4, 3};
    play(from, to, 1 << random() % 4, limits);
  }
  EXPECT_GT(kinds["renaming"], trials(48));
  EXPECT_GT(kinds["shuffles"], trials(48));
  EXPECT_GT(kinds["buffer"], trials(1000));
}

/// The first product is transposed, as on other GPUs of this vendor; one bit of its rows is in the lanes.
TEST(Conversion, OfWmmasResultExchangesHalvesOfTheWarp) {
  const Fragment &f = *findFragment("wmma.16x16x16");
  const Conversion plan = planConversion(operandLayout(f, Operand::C, {1, 1}, {16, 16}),
                                         operandLayout(f, Operand::B, {1, 1}, {16, 16}), 2);
  const auto *lanes = std::get_if<LaneExchange>(&plan);
  ASSERT_TRUE(lanes);
  EXPECT_EQ(lanes->packedBits, 1u);
  EXPECT_EQ(lanes->shuffles(), 8); // 16 elements are 8 words
  EXPECT_EQ(lanes->sourceCandidates(), 1);
  EXPECT_EQ(lanes->placeCandidates(), 1);
}

TEST(Conversion, OfFp8ResultsStaysInTheWarp) {
  const Fragment &f = *findFragment("mma.m16n8k32");
  const Conversion plan = planConversion(operandLayout(f, Operand::C, {1, 1}, {16, 32}),
                                         operandLayout(f, Operand::A, {1, 1}, {16, 32}), 1);
  const auto *lanes = std::get_if<LaneExchange>(&plan);
  ASSERT_TRUE(lanes);
  EXPECT_FALSE(lanes->isRenaming());
  EXPECT_EQ(lanes->packedBits, 2u);
  EXPECT_LE(lanes->shuffles(), 4);
}

TEST(Conversion, TurnsRowsIntoColumnsWithoutConflicts) {
  // The plain transposition through memory: rows of 32 floats are written, columns are read.
  TileLayout rows, columns;
  rows.unit = columns.unit = Unit::ofShape(At{32, 32});
  rows.lane = unitVectors(5), rows.reg = unitVectors(5, 5);
  columns.lane = unitVectors(5, 5), columns.reg = unitVectors(5);
  const BufferExchange plan = planBufferExchange(rows, columns, 4);
  EXPECT_EQ(plan.conflicts, 0);
  EXPECT_EQ(plan.bytes, 4096);
  EXPECT_EQ(plan.writeWavefronts, 32);
  EXPECT_EQ(plan.readWavefronts, 32);
}

/// Of all subspaces that could be the segments, none has fewer conflicts.
TEST(Segments, AreNeverWorseThanAnyOther) {
  std::mt19937 random(8);
  int compared = 0, unavoidable = 0;
  for (int trial = 0; trial < trials(800); ++trial) {
    const unsigned d = 4 + random() % 3, banks = 2 + random() % 2, vectors = random() % 2;
    BitsList basis = unitVectors(d);
    std::shuffle(basis.begin(), basis.end(), random);
    if (random() % 2)
      for (int i = 0; i < 4; ++i) {
        size_t from = random() % d, to = random() % d;
        if (from != to) basis[to] ^= basis[from];
      }
    const BitsList vector(basis.begin(), basis.begin() + vectors), rest(basis.begin() + vectors, basis.end());
    auto lanes = [&] { // independent of the vector
      BitsList some;
      Span span(vector);
      for (unsigned i = 0; i < banks + random() % 2; ++i) {
        Bits v = rest[random() % rest.size()] ^ (random() % 3 ? 0 : rest[random() % rest.size()]);
        if (span.add(v)) some.push_back(v);
      }
      return some;
    };
    const BitsList a = lanes(), b = lanes();
    if (d - vectors <= banks || d - vectors - banks > 3) continue;
    const size_t count = d - vectors - banks;
    auto conflicts = [&](const BitsList &segment) {
      const BitsList rows = concat(vector, segment);
      auto of = [&](const BitsList &phase) { return rank(rows) + rank(phase) - rank(concat(rows, phase)); };
      return of(a) + of(b);
    };
    size_t best = 99;
    std::function<void(BitsList, Bits)> search = [&](BitsList segment, Bits first) {
      if (segment.size() == count) {
        best = std::min(best, conflicts(segment));
        return;
      }
      for (Bits v = first; best && v < Bits(1) << d; ++v) {
        BitsList more = concat(segment, BitsList{v});
        if (rank(concat(vector, more)) == vectors + more.size()) search(more, v + 1);
      }
    };
    search({}, 1);
    const BitsList made = segmentBases(concat(vector, rest), vector, a, b, count);
    ASSERT_EQ(made.size(), count);
    ASSERT_EQ(rank(concat(vector, made)), vectors + count);
    EXPECT_EQ(conflicts(made), best);
    ++compared;
    unavoidable += best > 0;
  }
  EXPECT_GT(compared, trials(300));
  EXPECT_GT(unavoidable, trials(8));
}

} // namespace
} // namespace tessera::layout
