// Suites of `./dev bench`: cases in which generated code is compared with every library that has the
// operation, and with what this machine could do at best.
//
// Each case runs under Google Benchmark with manual time. One repetition is one round, in which all
// contenders of the case take turns. Results are checked against double precision before the first round and
// after the last one.
#pragma once
#include "bench/Benchmarks.h"
#include "bench/Check.h"
#include "bench/Contender.h"
#include "bench/Roofline.h"
#include "bench/peers/Peers.h"
#include "tools/host/Host.h"
#include <deque>
#include <map>
#include <memory>

namespace tessera::bench {

/// Everything that the cases of a run share.
class Lab {
public:
  explicit Lab(const Settings &);
  const Settings &settings;
  host::Device device{"cpu"};
  Roofline roofline;
  const std::vector<Peer> peers;
  std::string numerics = "standard"; // the profile that kernel() compiles with

  /// Returns the kernel or function of `source`, compiled once for each set of `known` dims.
  /// `isIr`: the source is the text of an IR.
  host::Kernel &kernel(const std::string &source, const std::string &name, const host::NamedInts &known = {},
                       bool isIr = false);

private:
  std::map<std::string, std::unique_ptr<host::Kernel>> kernels_;
};

/// A case with its data.
class Trial {
public:
  explicit Trial(Lab &lab) : lab(lab) {}
  Lab &lab;

  /// Returns memory that the trial owns, aligned to 64 bytes.
  template <typename T> T *store(const std::vector<T> &values) {
    return static_cast<T *>(buffers_.emplace_back(lab.device, values).data());
  }
  void *space(size_t bytes) { return buffers_.emplace_back(lab.device, bytes).data(); }

  /// Adds generated code: `inputs` by the names of its parameters; it stores to the parameter `result`.
  void addTessera(host::Kernel &, const std::vector<std::pair<const char *, const void *>> &inputs,
                  const host::NamedInts &dims, size_t resultBytes, const char *result = "result");
  /// Adds a library's call, made for the result it is given; no contender if `call` is empty.
  void addPeer(const std::string &name, size_t resultBytes, const std::function<Call(void *)> &make);

  /// Compares a result with the reference in double precision.
  std::function<Check(const void *result)> check;
  std::vector<Contender> contenders; // generated code first

private:
  std::deque<host::Buffer> buffers_;
  std::deque<host::Launch> launches_;
};

struct Case {
  std::string family, name; // "f32", "f32 64x64x64 nt": a family has one score
  Work work;
  std::function<void(Trial &)> prepare;
};

/// What a family, or those of its cases whose names `cases` matches, shall reach: the geometric mean of the
/// scores, the least score, and the least part of the limit. 0: no such goal.
struct Goal {
  std::string family;
  double score, least;
  double ofLimit = 0;
  std::string cases = "", what = ""; // a regular expression, and in words
};

/// Why cases, whose names `cases` (a regular expression) matches, may be below their goal: what limits them,
/// what was tried and what they would need.
struct Cause {
  std::string cases, limit, tried, needs;
};

struct Suite {
  const char *name, *title;
  std::vector<std::string> notes;
  std::vector<Case> cases;
  std::vector<Goal> goals;
  std::vector<Cause> causes = {}; // printed for cases below their goal
  int rounds = 9;
};

Table runSuite(const Suite &, Lab &);

/// "12.3 us"
std::string duration(double seconds);

} // namespace tessera::bench
