// Checks of collectives: the results of every kind, op and dtype, and the errors when ranks disagree or are
// missing.
#include "tools/tsr-conformance/CollectiveReference.h"
#include "tools/tsr-conformance/Groups.h"
#include "tools/tsr-conformance/Ranks.h"
#include <chrono>
#include <tessera/collective_call.hpp>
#include <thread>

namespace tessera::kit {
namespace {

using collective::kDTypes, collective::kKinds, collective::kOps;
using test::Bytes;
using thunk::Text;

tsr_cl_call_t callOf(uint32_t kind, int32_t dtype, uint32_t op, size_t count, const void *src, void *dst) {
  tsr_cl_call_t call{};
  call.struct_size = sizeof call;
  call.kind = kind, call.dtype = dtype, call.op = op, call.count = count;
  call.src = src, call.dst = dst;
  return call;
}

/// Makes one call on every rank and compares the result with the reference.
void compare(const Comm &comm, uint32_t kind, DType dtype, uint32_t op, size_t count, uint64_t seed,
             const char *algorithm) {
  const auto bytes = static_cast<size_t>(storageBytes(dtype)), ranks = static_cast<size_t>(comm.size());
  std::vector<Bytes> inputs;
  for (int r = 0; r < comm.size(); ++r)
    inputs.push_back(test::data(dtype, count * (collective::dividesSource(kind) ? ranks : 1), r, seed));
  Bytes dst(count * bytes * (collective::dividesTarget(kind) ? ranks : 1) + 1, 0xEE);
  const auto mine = static_cast<size_t>(comm.rank());
  tsr_cl_call_t call = callOf(kind, static_cast<int32_t>(dtype), op, count, inputs[mine].data(), dst.data());
  call.root = static_cast<int32_t>(seed % ranks);
  call.algorithm = algorithm;
  std::string what = std::string(kKinds[kind]) + "(" +
                     (collective::reduces(kind) ? kOps[op] + std::string(", ") : "") +
                     kDTypes[static_cast<int>(dtype)] + ", " + std::to_string(count) + " elements" +
                     (*algorithm ? ", " + std::string(algorithm) : "") + ") on rank " + std::to_string(mine);
  comm.must(call, what);
  expect(dst.back() == 0xEE, what + " writes its result and no more", "a byte past it");
  dst.pop_back();
  const auto differs = [&](size_t i) {
    throw Failure{what + ": element " + std::to_string(i) + " as the reference has it", "another", ""};
  };
  if (kind != TSR_ALL_REDUCE && kind != TSR_REDUCE_SCATTER) {
    Bytes wanted;
    for (size_t r = 0; r < ranks; ++r)
      if (kind == TSR_ALL_TO_ALL) {
        const auto part = inputs[r].begin() + static_cast<ptrdiff_t>(mine * count * bytes);
        wanted.insert(wanted.end(), part, part + static_cast<ptrdiff_t>(count * bytes));
      } else if (kind == TSR_ALL_GATHER || r == static_cast<size_t>(call.root))
        wanted.insert(wanted.end(), inputs[r].begin(), inputs[r].end());
    for (size_t i = 0; i < wanted.size(); ++i)
      if (dst[i] != wanted[i]) differs(i / bytes);
    return;
  }
  const size_t part = kind == TSR_REDUCE_SCATTER ? mine * count : 0;
  for (size_t i = 0; i < count; ++i)
    if (!test::agrees(dst, i, inputs, part + i, dtype, static_cast<int>(op))) differs(i);
}

std::vector<std::string> algorithmsOf(Subject &s, uint32_t kind) {
  std::vector<std::string> out = {""};
  const auto api = collectiveApi(s);
  const char *list = api.algorithms ? api.algorithms(kind) : "";
  for (std::string_view rest = list ? list : ""; !rest.empty();) {
    out.emplace_back(rest.substr(0, rest.find(',')));
    rest.remove_prefix(std::min(out.back().size() + 1, rest.size()));
  }
  return out;
}

bool hasKind(Subject &s, uint32_t kind) { return collective::hasKind(collectiveApi(s).version_minor, kind); }

template <uint32_t kind> void results(Subject &s) {
  if (!hasKind(s, kind)) throw Skip{std::string("its interface version 1.0 has no ") + kKinds[kind]};
  const auto algorithms = algorithmsOf(s, kind);
  onRanks(s, std::string("results-") + kKinds[kind], 1, [&](const Comm &comm) {
    uint64_t seed = 0;
    for (size_t dtype = 0; dtype < std::size(kDTypes); ++dtype) {
      if (!collective::hasDType(collectiveApi(s).version_minor, static_cast<int32_t>(dtype))) continue;
      for (uint32_t op = 0; op < (collective::reduces(kind) ? std::size(kOps) : 1); ++op)
        for (size_t count : {1, 61})
          for (const std::string &algorithm : algorithms)
            compare(comm, kind, static_cast<DType>(dtype), op, count, ++seed, algorithm.c_str());
    }
    for (const std::string &algorithm : algorithms)
      for (size_t count : {1031, 150001})
        compare(comm, kind, DType::F32, 0, count, ++seed, algorithm.c_str());
  });
}

void collectivesInfo(Subject &s) {
  const auto api = collectiveApi(s);
  const std::string topology = api.topology ? api.topology : "";
  expect(topology == "process" || topology == "node" || topology == "network",
         "topology process, node or network", topology.empty() ? "none" : topology);
  for (uint32_t kind = TSR_ALL_REDUCE; kind < std::size(kKinds) && hasKind(s, kind); ++kind)
    for (const std::string &name : algorithmsOf(s, kind))
      expect(name.find_first_of(" \t") == name.npos, "algorithms separated by commas", "'" + name + "'");
  onRanks(s, "info", 1, [](const Comm &) {});
}

void inPlace(Subject &s) {
  onRanks(s, "in-place", 1, [](const Comm &comm) {
    std::vector<int32_t> v(1000, comm.rank() + 1);
    comm.must(callOf(TSR_ALL_REDUCE, TSR_DTYPE_I32, TSR_REDUCE_SUM, v.size(), v.data(), v.data()),
              "all_reduce in place");
    for (int32_t x : v)
      expectEqual(x, comm.size() * (comm.size() + 1) / 2, "all_reduce in place:");
    std::fill(v.begin(), v.end(), comm.rank());
    tsr_cl_call_t call = callOf(TSR_BROADCAST, TSR_DTYPE_I32, 0, v.size(), v.data(), v.data());
    call.root = comm.size() - 1;
    comm.must(call, "broadcast in place");
    for (int32_t x : v)
      expectEqual(x, comm.size() - 1, "broadcast in place:");
  });
}

void nothing(Subject &s) {
  onRanks(s, "nothing", 1, [&](const Comm &comm) {
    float src[4] = {1, 2, 3, 4}, dst[4] = {7, 7, 7, 7};
    for (uint32_t kind = TSR_ALL_REDUCE; kind <= TSR_ALL_TO_ALL && hasKind(s, kind); ++kind)
      comm.must(callOf(kind, TSR_DTYPE_F32, 0, 0, src, dst), std::string(kKinds[kind]) + " of no elements");
    for (float x : dst)
      expect(x == 7, "no write by calls of no elements", "one");
  });
}

void several(Subject &s) {
  onRanks(s, "several-a", 1, [&](const Comm &a) {
    const Comm b(s, "several-b", s.options.isLaunched ? -1 : a.rank(), s.options.isLaunched ? -1 : a.size(),
                 20 * kSecond);
    for (uint64_t i = 0; i < 30; ++i) {
      compare(a, TSR_ALL_REDUCE, DType::F32, TSR_REDUCE_SUM, 100, i, "");
      compare(b, TSR_ALL_GATHER, DType::I64, 0, 50, i, "");
    }
  });
}

tsr_cl_call_t pairOf(uint32_t kind, int32_t peer, int32_t tag, std::vector<int64_t> &data) {
  const bool sends = kind == TSR_SEND;
  tsr_cl_call_t call = callOf(kind, TSR_DTYPE_I64, 0, data.size(), sends ? data.data() : nullptr,
                              sends ? nullptr : data.data());
  call.peer = peer, call.tag = tag;
  return call;
}

/// Every rank sends two messages of each tag to the next one before it receives; then to itself.
void pairs(Subject &s) {
  if (!hasKind(s, TSR_SEND)) throw Skip{"its interface version 1.0 has no send"};
  onRanks(s, "pairs", 1, [](const Comm &comm) {
    const int next = (comm.rank() + 1) % comm.size(), last = (comm.rank() + comm.size() - 1) % comm.size();
    auto valueOf = [](int from, int tag, int i) { return int64_t{from} * 1000 + tag * 10 + i; };
    for (size_t count : {1, 1031, 70001}) {
      for (int tag : {0, 1, int{collective::kMostTag}})
        for (int i : {0, 1}) {
          std::vector<int64_t> data(count, valueOf(comm.rank(), tag, i));
          comm.must(pairOf(TSR_SEND, next, tag, data), "a send");
          std::fill(data.begin(), data.end(), -1); // the buffer belongs to the caller again
        }
      for (int tag : {int{collective::kMostTag}, 0, 1})
        for (int i : {0, 1}) {
          std::vector<int64_t> data(count, -2);
          comm.must(pairOf(TSR_RECV, last, tag, data), "a recv");
          expect(data == std::vector<int64_t>(count, valueOf(last, tag, i)),
                 "the message of that tag and place in the order of sends", "another");
        }
    }
    std::vector<int64_t> data = {7};
    comm.must(pairOf(TSR_SEND, comm.rank(), 3, data), "a send to itself");
    data[0] = 0;
    comm.must(pairOf(TSR_RECV, comm.rank(), 3, data), "a recv from itself");
    expectEqual(data[0], 7, "a message to itself:");
  });
}

/// Colors alternate and keys reverse the order; then the last rank takes no part.
void split(Subject &s) {
  const auto api = collectiveApi(s);
  if (!api.comm_split) throw Skip{"it does not split communicators"};
  onRanks(s, "split", 1, [&](const Comm &comm) {
    const auto part = comm.split(comm.rank() % 2, -comm.rank());
    const int color = comm.rank() % 2, members = (comm.size() - color + 1) / 2;
    expect(part != nullptr, "a communicator for a color", "none");
    expectEqual(part->size(), members, "size of a split:");
    expectEqual(part->rank(), members - 1 - comm.rank() / 2, "rank in a split:");
    compare(*part, TSR_ALL_GATHER, DType::I64, 0, 61, 5, "");
    const bool isOut = comm.rank() + 1 == comm.size();
    const auto rest = comm.split(isOut ? -1 : 3, 0);
    expect((rest == nullptr) == isOut, "a communicator unless the color is negative", rest ? "one" : "none");
    if (rest) compare(*rest, TSR_ALL_REDUCE, DType::I32, TSR_REDUCE_SUM, 61, 6, "");
    compare(comm, TSR_ALL_REDUCE, DType::I32, TSR_REDUCE_SUM, 61, 7, "");
  });
}

bool has(const std::string &text, const std::string &part) { return text.find(part) != text.npos; }

/// After a call that failed on all ranks, the communicator must refuse further calls.
void expectBroken(const Comm &comm, const tsr_cl_call_t &call) {
  Text why;
  const int32_t status = comm.run(call, why);
  expect(status != TSR_SUCCESS && !why.str().empty(),
         "a broken communicator that fails further calls with a text", statusName(status));
}

void mismatch(Subject &s) {
  using Change = void (*)(tsr_cl_call_t &);
  const std::pair<const char *, Change> changes[] = {
      {"count", [](tsr_cl_call_t &c) { c.count = 5; }},
      {"dtype", [](tsr_cl_call_t &c) { c.dtype = TSR_DTYPE_I32; }},
      {"op", [](tsr_cl_call_t &c) { c.op = TSR_REDUCE_MAX; }},
      {"kind", [](tsr_cl_call_t &c) { c.kind = TSR_ALL_GATHER; }}};
  for (auto &[field, change] : changes)
    onRanks(s, std::string("mismatch-") + field, 2, [&, field = field, change = change](const Comm &comm) {
      std::vector<float> src(8), dst(8 * static_cast<size_t>(comm.size()));
      tsr_cl_call_t call = callOf(TSR_ALL_REDUCE, TSR_DTYPE_F32, TSR_REDUCE_SUM, 4, src.data(), dst.data());
      call.where = comm.rank() == 1 ? "b.py:2" : "a.py:1";
      if (comm.rank() == 1) change(call);
      Text why;
      const int32_t status = comm.run(call, why);
      const std::string what = std::string("calls that differ in ") + field;
      expect(status == TSR_EINVAL, "TSR_EINVAL of " + what + " on rank " + std::to_string(comm.rank()),
             statusName(status) + ": " + why.str());
      expect(has(why.str(), "rank 1") && has(why.str(), "b.py:2"),
             "a text that names both ranks and both calls of " + what, why.str());
      expectBroken(comm, call);
    });
}

/// One rank is late by a fixed sleep, so the timing does not depend on the communicator under test.
void deadline(Subject &s) {
  onRanks(s, "deadline", 2, [](const Comm &comm) {
    float src[4] = {}, dst[4] = {};
    tsr_cl_call_t call = callOf(TSR_ALL_REDUCE, TSR_DTYPE_F32, TSR_REDUCE_SUM, 4, src, dst);
    // On a busy machine a launcher starts the ranks further apart than the sleep is long.
    comm.must(call, "a call in which the ranks meet");
    call.timeout_ns = kSecond / 5;
    const int last = comm.size() - 1;
    if (comm.rank() == last) {
      std::this_thread::sleep_for(std::chrono::milliseconds(900));
      Text why;
      const int32_t status = comm.run(call, why);
      expect(status != TSR_SUCCESS && !why.str().empty(),
             "a failure with a text for the rank that comes too late", statusName(status));
      return;
    }
    const auto begin = std::chrono::steady_clock::now();
    Text why;
    const int32_t status = comm.run(call, why);
    const auto took = std::chrono::steady_clock::now() - begin;
    expect(status == TSR_ETIMEOUT, "TSR_ETIMEOUT when a rank does not come",
           statusName(status) + ": " + why.str());
    expect(has(why.str(), "rank " + std::to_string(last)),
           "a text that names the missing rank " + std::to_string(last), why.str());
    expect(took < std::chrono::milliseconds(850), "an end soon after the deadline of 200 ms",
           std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(took).count()) + " ms");
    expectBroken(comm, call);
  });
}

/// The last rank aborts while the others wait for it.
void abort(Subject &s) {
  if (!collectiveApi(s).comm_abort) throw Skip{"it does not abort communicators"};
  onRanks(s, "abort", 2, [](const Comm &comm) {
    float src[4] = {}, dst[4] = {};
    const tsr_cl_call_t call = callOf(TSR_ALL_REDUCE, TSR_DTYPE_F32, TSR_REDUCE_SUM, 4, src, dst);
    const int last = comm.size() - 1;
    Text why;
    if (comm.rank() == last) comm.abort("planted");
    const int32_t status = comm.run(call, why);
    expect(status == TSR_EDEVICE, "TSR_EDEVICE after an abort", statusName(status) + ": " + why.str());
    expect(has(why.str(), "rank " + std::to_string(last)) && has(why.str(), "planted"),
           "a text that names the rank that has aborted, and its reason", why.str());
    expectBroken(comm, call);
  });
}

void badCalls(Subject &s) {
  onRanks(s, "bad-calls", 1, [](const Comm &comm) {
    std::vector<double> src(64), dst(64);
    auto good = callOf(TSR_ALL_REDUCE, TSR_DTYPE_F64, TSR_REDUCE_SUM, 2, src.data(), dst.data());
    for (int i = 0; i < 6; ++i) {
      tsr_cl_call_t call = good;
      const char *what = "";
      switch (i) {
      case 0:
        call.kind = 99, what = "of kind 99";
        break;
      case 1:
        call.dtype = 99, what = "of dtype 99";
        break;
      case 2:
        call.op = 99, what = "of op 99";
        break;
      case 3:
        call.algorithm = "no_such_algorithm", what = "of an algorithm that is not listed";
        break;
      case 4:
        call.kind = TSR_BROADCAST, call.root = comm.size(), what = "of a root that is no rank";
        break;
      default:
        call.src = nullptr, what = "without src";
        break;
      }
      Text why;
      const int32_t status = comm.run(call, why);
      expect(status == TSR_EINVAL && !why.str().empty(),
             std::string("TSR_EINVAL with a text of a call ") + what, statusName(status) + ": " + why.str());
    }
  });
}

void badOptions(Subject &s) {
  const auto api = collectiveApi(s);
  for (auto [rank, size] : {std::pair{5, 2}, {0, -7}, {-9, 3}}) {
    const tsr_cl_options_t o = {sizeof o, "bad-options", rank, size, kSecond};
    tsr_cl_comm_t *comm = nullptr;
    Text why;
    s.mustFail(("comm_create as rank " + std::to_string(rank) + " of " + std::to_string(size)).c_str(),
               api.comm_create(&kitHost(), &o, &comm, why), why);
  }
}

void meeting(Subject &s) {
  const auto api = collectiveApi(s);
  if (s.options.isLaunched || !api.topology || std::string(api.topology) != "process")
    throw Skip{"a launcher says how many ranks there are"};
  const tsr_cl_options_t o = {sizeof o, "meeting", 0, 2, kSecond / 5};
  tsr_cl_comm_t *comm = nullptr;
  Text why;
  s.mustFail("comm_create when the other rank does not come", api.comm_create(&kitHost(), &o, &comm, why),
             why, {TSR_ETIMEOUT});
  expect(has(why.str(), "rank 1"), "a text that names the missing rank 1", why.str());
}

constexpr Check kCollectivesChecks[] = {
    {"collectives.info",
     "Topology, algorithms, rank and size are reported.",
     collectivesInfo,
     Needs::Slotted,
     {},
     {},
     40},
    {"collectives.all_reduce",
     "all_reduce gives the reference's result, every op, dtype and algorithm.",
     results<TSR_ALL_REDUCE>,
     Needs::Slotted,
     {},
     {},
     60},
    {"collectives.broadcast",
     "broadcast gives every rank the root's bytes.",
     results<TSR_BROADCAST>,
     Needs::Slotted,
     {},
     {},
     60},
    {"collectives.all_gather",
     "all_gather gives the ranks' bytes in order.",
     results<TSR_ALL_GATHER>,
     Needs::Slotted,
     {},
     {},
     60},
    {"collectives.reduce_scatter",
     "reduce_scatter gives the reference's result, every op, dtype and algorithm.",
     results<TSR_REDUCE_SCATTER>,
     Needs::Slotted,
     {},
     {},
     60},
    {"collectives.all_to_all",
     "all_to_all gives each rank its part of all ranks' bytes, in order.",
     results<TSR_ALL_TO_ALL>,
     Needs::Slotted,
     {},
     {},
     60},
    {"collectives.pairs",
     "A recv gets the oldest message of its peer and tag; a send does not wait.",
     pairs,
     Needs::Slotted,
     {},
     {},
     60},
    {"collectives.split",
     "Splits group by color and order by key, and the parent goes on.",
     split,
     Needs::Slotted,
     {},
     {},
     60},
    {"collectives.abort",
     "An abort ends the waits of all ranks with its reason.",
     abort,
     Needs::Slotted,
     {},
     {},
     40},
    {"collectives.in_place",
     "src may be dst for all_reduce and broadcast.",
     inPlace,
     Needs::Slotted,
     {},
     {},
     40},
    {"collectives.nothing",
     "Calls of no elements succeed and write nothing.",
     nothing,
     Needs::Slotted,
     {},
     {},
     40},
    {"collectives.several",
     "Two communicators of the same ranks do not disturb each other.",
     several,
     Needs::Slotted,
     {},
     {},
     40},
    {"collectives.bad_calls",
     "A call that is wrong in itself is TSR_EINVAL with a text.",
     badCalls,
     Needs::Slotted,
     {},
     {},
     40},
    {"collectives.bad_options",
     "A rank or size that cannot be is refused with a text.",
     badOptions,
     Needs::Slotted,
     {},
     {},
     40},
    {"collectives.mismatch",
     "Calls that differ are TSR_EINVAL naming both ranks, and break the communicator.",
     mismatch,
     Needs::Slotted,
     {},
     {},
     60},
    {"collectives.deadline",
     "A rank that does not come is TSR_ETIMEOUT naming it.",
     deadline,
     Needs::Slotted,
     {},
     {},
     40},
    {"collectives.meeting",
     "When ranks do not meet, the error names the missing ranks in time.",
     meeting,
     Needs::Slotted,
     {},
     {},
     40},
};

} // namespace

extern const Group kCollectives = {"collectives", TSR_PLUGIN_COLLECTIVE, false, kCollectivesChecks};

} // namespace tessera::kit
