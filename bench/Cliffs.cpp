// Shapes for which generated code was orders of magnitude slower than a library, next to a library or loops.
#include "bench/CliffCases.h"
#include "bench/suite/Suite.h"
#include <cmath>
#include <fmt/format.h>

namespace tessera::bench {
namespace {

std::vector<double> evaluate(const Cliff &c) {
  std::vector<std::vector<double>> values;
  for (const auto &[name, x] : c.inputs)
    values.emplace_back(x.begin(), x.end());
  std::vector<const double *> in;
  for (const auto &x : values)
    in.push_back(x.data());
  std::vector<double> out(c.count);
  c.reference(in, out.data());
  return out;
}

/// The loops compute in float, also results that the program stores as i32.
Call loopsOf(const Cliff &c, const std::vector<const float *> &in, void *out) {
  if (!c.integers) return [=, loops = c.loops] { loops(in, static_cast<float *>(out)); };
  return [=, loops = c.loops, own = std::make_shared<std::vector<float>>(c.count)] {
    loops(in, own->data());
    std::copy(own->begin(), own->end(), static_cast<int32_t *>(out));
  };
}

Case caseOf(const Cliff &c) {
  const Work work{c.flops, c.flops > 0 ? Unit::F32 : Unit::None, c.bytes, 0};
  return {c.id, fmt::format("{} {}", c.id, c.name), work, [c](Trial &trial) {
            std::vector<std::pair<const char *, const void *>> inputs;
            std::vector<const float *> in;
            for (const auto &[name, values] : c.inputs) {
              in.push_back(trial.store(values));
              inputs.emplace_back(name, in.back());
            }
            const size_t bytes = c.count * sizeof(float);
            trial.addTessera(trial.lab.kernel(cliffPrograms, c.kernel, c.known), inputs, c.dims, bytes,
                             c.result);
            if (c.accumulates) {
              Contender &own = trial.contenders.back();
              own.run = [run = own.run, output = own.output, bytes] {
                std::memset(output, 0, bytes);
                run();
              };
            }
            trial.addPeer(c.peer, bytes, [&](void *out) -> Call {
              return c.library ? c.library(in, static_cast<float *>(out)) : loopsOf(c, in, out);
            });
            const std::vector<double> want = evaluate(c);
            double largest = 0;
            for (double w : want)
              largest = std::max(largest, std::abs(w));
            trial.check = [=, integers = c.integers,
                           bound = c.integers ? 0.5 : c.tolerance * largest](const void *got) {
              Check check;
              for (size_t i = 0; i < want.size(); ++i)
                check.add(integers ? double(static_cast<const int32_t *>(got)[i])
                                   : double(static_cast<const float *>(got)[i]),
                          want[i], bound);
              return check;
            };
          }};
}

} // namespace

Table benchCliffs(const Settings &settings) {
  Lab lab(settings);
  Suite suite{"cliffs",
              "Cliffs",
              {"f32, sizes unknown when compiling but for C2 and cummax. C++ loops: one thread, -O3 for this "
               "processor."},
              {},
              {}};
  for (const Cliff &c : allCliffs())
    suite.cases.push_back(caseOf(c));
  return runSuite(suite, lab);
}

} // namespace tessera::bench
