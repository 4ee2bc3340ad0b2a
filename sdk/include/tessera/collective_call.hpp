// Checks, compares and formats collective calls, as every implementation must to satisfy the contract of
// tsr_cl_call_t. Part of collective.hpp. All functions are pure.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <tessera/plugin.h>
#include <tessera/require_cxx20.hpp>
#include <utility>
#include <vector>

namespace tessera::collective {

/// How a call has ended, with the text of an error.
struct Outcome {
  tsr_status_t status = TSR_SUCCESS;
  std::string text;

  bool failed() const { return status != TSR_SUCCESS; }
  /// Moves the text of an error to `out` and returns the status, as a slot does.
  tsr_status_t moveTo(std::string &out) {
    if (failed()) out = std::move(text);
    return status;
  }
};

inline constexpr const char *kKinds[] = {"all_reduce", "broadcast", "all_gather", "reduce_scatter",
                                         "all_to_all", "send",      "recv"};
inline constexpr const char *kOps[] = {"sum", "max", "min", "prod"};
inline constexpr const char *kDTypes[] = {
    "f64", "f32", "f16", "bf16", "tf32", "fp8_e4m3", "fp8_e5m2", "fp6_e2m3", "fp6_e3m2", "fp4_e2m1",
    "i64", "i32", "i16", "i8",   "u8",   "bool",     "u16",      "u32",      "u64"};
inline constexpr uint8_t kBytes[] = {8, 4, 2, 2, 4, 1, 1, 1, 1, 1, 8, 4, 2, 1, 1, 1, 2, 4, 8};

inline bool reduces(uint32_t kind) { return kind == TSR_ALL_REDUCE || kind == TSR_REDUCE_SCATTER; }

/// Return whether src or dst has a part for each rank, of `count` elements.
inline bool dividesSource(uint32_t kind) { return kind == TSR_REDUCE_SCATTER || kind == TSR_ALL_TO_ALL; }
inline bool dividesTarget(uint32_t kind) { return kind == TSR_ALL_GATHER || kind == TSR_ALL_TO_ALL; }

/// Returns whether tables of interface version 1.`minor` have calls of `kind`.
inline bool hasKind(uint32_t minor, uint32_t kind) { return minor >= 1 || kind <= TSR_REDUCE_SCATTER; }
/// Returns whether tables of interface version 1.`minor` have calls with elements of `dtype`.
inline bool hasDType(uint32_t minor, int32_t dtype) { return minor >= 1 || dtype <= TSR_DTYPE_BOOL; }

/// Is it a call of two ranks instead of all?
inline bool isPaired(uint32_t kind) { return kind == TSR_SEND || kind == TSR_RECV; }
/// The largest tag of a send.
inline constexpr int32_t kMostTag = 8191;
/// The kind of a signature that says that a rank splits its communicator, which is no tsr_cl_call_t.
inline constexpr uint8_t kSplit = 255;

/// The properties in which the ranks' calls must agree. Those that a kind does not use are 0. Standard
/// layout, so that it can be sent.
struct Signature {
  uint64_t sequence = 0; // number of previous calls of the communicator
  uint64_t count = 0;
  int32_t root = 0; // the tag of a send and of a recv
  uint8_t kind = 0, op = 0, dtype = 0;
  uint8_t algorithm = 0; // position in the implementation's list, from 1; 0: its own choice

  bool operator==(const Signature &) const = default;
};
static_assert(sizeof(Signature) == 24);

inline Signature signatureOf(const tsr_cl_call_t &call, uint64_t sequence, uint8_t algorithm) {
  Signature s;
  s.sequence = isPaired(call.kind) ? 0 : sequence;
  s.count = call.count;
  s.root = call.kind == TSR_BROADCAST ? call.root : isPaired(call.kind) ? call.tag : 0;
  s.kind = static_cast<uint8_t>(call.kind);
  s.op = reduces(call.kind) ? static_cast<uint8_t>(call.op) : 0;
  s.dtype = static_cast<uint8_t>(call.dtype);
  s.algorithm = algorithm;
  return s;
}

/// Returns the name at `place` of a comma-separated list, counted from 1; "" past its end.
inline std::string_view nameAt(std::string_view list, uint8_t place) {
  while (--place) {
    size_t comma = list.find(',');
    if (comma == list.npos) return "";
    list.remove_prefix(comma + 1);
  }
  return list.substr(0, list.find(','));
}

/// Formats a call: "all_reduce(sum, f32, 64 elements), its call 3, at train.py:31", "send(f32, 64 elements,
/// tag 2)". Accepts untrusted signatures: values out of range are printed as numbers.
inline std::string describe(const Signature &s, std::string_view where, std::string_view algorithms) {
  auto name = [](const auto &names, unsigned i) {
    return i < std::size(names) ? std::string(names[i]) : "#" + std::to_string(i);
  };
  const std::string place = where.empty() ? "" : ", at " + std::string(where);
  if (s.kind == kSplit) return "split, its call " + std::to_string(s.sequence) + place;
  std::string out = name(kKinds, s.kind) + "(";
  if (reduces(s.kind)) out += name(kOps, s.op) + ", ";
  out += name(kDTypes, s.dtype) + ", " + std::to_string(s.count) + " elements";
  if (s.kind == TSR_BROADCAST) out += ", root " + std::to_string(s.root);
  if (isPaired(s.kind)) return out + ", tag " + std::to_string(s.root) + ")" + place;
  if (s.algorithm) out += ", algorithm " + std::string(nameAt(algorithms, s.algorithm));
  return out + "), its call " + std::to_string(s.sequence) + place;
}

/// Returns the text for two ranks whose calls differ, the lower rank first.
inline std::string mismatch(int rankA, const std::string &callA, int rankB, const std::string &callB) {
  if (rankA > rankB) return mismatch(rankB, callB, rankA, callA);
  return "rank " + std::to_string(rankA) + " calls " + callA + "; rank " + std::to_string(rankB) + " calls " +
         callB + "; every rank must make the same calls in the same order";
}

/// Returns the text for a recv of `rank` that finds another send of `peer` than it asks for.
inline std::string mismatchOfPair(int peer, const std::string &send, int rank, const std::string &recv) {
  return "rank " + std::to_string(peer) + " calls " + send + "; rank " + std::to_string(rank) + " calls " +
         recv + "; a send and its recv must have one dtype and count";
}

/// Formats ranks: "rank 1", "rank 1 and rank 3", "rank 1, rank 2 and rank 3".
inline std::string list(const std::vector<int> &ranks) {
  std::string out;
  for (size_t i = 0; i < ranks.size(); ++i)
    out += (i == 0 ? "rank " : i + 1 == ranks.size() ? " and rank " : ", rank ") + std::to_string(ranks[i]);
  return out;
}

/// Formats a duration: "100 ms", "2.5 s".
inline std::string duration(uint64_t ns) {
  constexpr uint64_t units[] = {1000000000, 1000000, 1000, 1};
  constexpr const char *names[] = {" s", " ms", " us", " ns"};
  size_t i = 0;
  while (i < 3 && ns < units[i])
    ++i;
  const uint64_t tenths = ns % units[i] * 10 / units[i];
  return std::to_string(ns / units[i]) + (tenths ? "." + std::to_string(tenths) : "") + names[i];
}

/// Return the number of elements of src and of dst.
inline uint64_t sourceCount(const tsr_cl_call_t &c, int size) {
  if (c.kind == TSR_RECV) return 0;
  return dividesSource(c.kind) ? c.count * static_cast<uint64_t>(size) : c.count;
}
inline uint64_t targetCount(const tsr_cl_call_t &c, int size) {
  if (c.kind == TSR_SEND) return 0;
  return dividesTarget(c.kind) ? c.count * static_cast<uint64_t>(size) : c.count;
}

/// Returns the position of `name` in a comma-separated list, from 1; 0 if it is not there.
inline uint8_t placeIn(std::string_view list, std::string_view name) {
  for (uint8_t place = 1;; ++place) {
    size_t comma = list.find(',');
    if (list.substr(0, comma) == name) return place;
    if (comma == list.npos) return 0;
    list.remove_prefix(comma + 1);
  }
}

/// Checks one call by itself. Sets `algorithm` to its position in `algorithms` (comma-separated), or fills
/// `why` and returns false.
inline bool check(const tsr_cl_call_t &c, int size, const char *algorithms, uint8_t &algorithm,
                  std::string &why) {
  auto refuse = [&](auto... pieces) {
    why = c.kind < std::size(kKinds) ? kKinds[c.kind] : "collective";
    why += ": ";
    (why.append(pieces), ...);
    return false;
  };
  auto number = [](auto n) { return std::to_string(n); };
  const auto ranks = static_cast<uint64_t>(size);
  algorithm = 0;
  if (c.kind >= std::size(kKinds)) return refuse("kind: there is no ", number(c.kind));
  if (c.dtype < 0 || static_cast<size_t>(c.dtype) >= std::size(kDTypes))
    return refuse("dtype: there is no ", number(c.dtype));
  if (reduces(c.kind) && c.op >= std::size(kOps)) return refuse("op: there is no ", number(c.op));
  if (c.kind == TSR_BROADCAST && (c.root < 0 || c.root >= size))
    return refuse("root: expected 0 to ", number(size - 1), ", found ", number(c.root));
  if (isPaired(c.kind) && (c.peer < 0 || c.peer >= size))
    return refuse("peer: expected 0 to ", number(size - 1), ", found ", number(c.peer));
  if (isPaired(c.kind) && (c.tag < 0 || c.tag > kMostTag))
    return refuse("tag: expected 0 to ", number(kMostTag), ", found ", number(c.tag));
  if (c.count > UINT64_MAX / 16 / ranks)
    return refuse("count: ", number(c.count), " elements per rank do not fit any memory");
  if (c.algorithm && *c.algorithm && !(algorithm = placeIn(algorithms, c.algorithm)))
    return refuse("algorithm: there is no '", c.algorithm, "'; known: ", algorithms);
  if (!c.count) return true;
  const uint64_t bytes = kBytes[c.dtype];
  const void *const pointers[] = {c.src, c.dst};
  for (int i = 0; i < 2; ++i) {
    if (c.kind == (i ? TSR_SEND : TSR_RECV)) continue; // does not use it
    const char *name = i ? "dst" : "src";
    if (!pointers[i]) return refuse(name, " is NULL");
    if (reinterpret_cast<uintptr_t>(pointers[i]) & (bytes - 1))
      return refuse(name, " is not aligned to ", number(bytes), " bytes, the size of ", kDTypes[c.dtype]);
  }
  if (isPaired(c.kind)) return true;
  if (c.src == c.dst && (c.kind == TSR_ALL_REDUCE || c.kind == TSR_BROADCAST)) return true;
  const auto src = reinterpret_cast<uintptr_t>(c.src), dst = reinterpret_cast<uintptr_t>(c.dst);
  if (src < dst + targetCount(c, size) * bytes && dst < src + sourceCount(c, size) * bytes)
    return refuse("src and dst overlap");
  return true;
}

} // namespace tessera::collective
