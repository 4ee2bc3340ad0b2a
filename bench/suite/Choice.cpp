// Whether the variant that is chosen for some extents is the fastest one: every variant of a kernel is forced
// in turn, in the text of its Schedule IR, over shapes that nobody chose.
#include "bench/Data.h"
#include "bench/suite/Products.h"
#include "bench/suite/Suites.h"
#include "core/launch/HostMachine.h"
#include "core/metadata/Variants.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <random>
#include <regex>
#include <stdexcept>
#include <unistd.h>

namespace tessera::bench {
namespace {

constexpr int kShapes = 60, kChoiceRounds = 5;
/// The chosen variant may take this many times as long as the fastest one, in kGoal of the cases. A
/// prediction is right within kFactor.
constexpr double kNear = 1.08, kGoal = 0.9, kFactor = 1.5;

using Matrix = std::vector<double>; // [rows, columns]

/// What a program shall compute, and how far a result may be from it.
struct Reference {
  std::vector<double> values, bounds;
  void add(double value, double bound) { values.push_back(value), bounds.push_back(bound); }
};

Reference sumOfRows(const Matrix &x, int64_t rows, int64_t columns, double scale) {
  Reference out;
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (int64_t c = 0; c < columns; ++c)
      sum += x[size_t(r * columns + c)];
    out.add(sum * scale, 1e-5 * sum * scale);
  }
  return out;
}

Reference sums(const Matrix &x, int64_t rows, int64_t columns) { return sumOfRows(x, rows, columns, 1); }

Reference means(const Matrix &x, int64_t rows, int64_t columns) {
  return sumOfRows(x, rows, columns, 1 / double(columns));
}

Reference narrowSums(const Matrix &x, int64_t rows, int64_t columns) {
  Reference out = sums(x, rows, columns);
  for (size_t i = 0; i < out.values.size(); ++i)
    out.bounds[i] += 0x1p-8 * out.values[i]; // the result is rounded to bf16
  return out;
}

Reference sumsOfColumns(const Matrix &x, int64_t rows, int64_t columns) {
  std::vector<double> total(static_cast<size_t>(columns));
  for (size_t i = 0; i < x.size(); ++i)
    total[i % size_t(columns)] += x[i];
  (void)rows;
  Reference out;
  for (double sum : total)
    out.add(sum, 1e-5 * sum);
  return out;
}

Reference extremes(const Matrix &x, int64_t rows, int64_t columns, bool isPosition) {
  Reference out;
  for (int64_t r = 0; r < rows; ++r) {
    const auto begin = x.begin() + r * columns, best = std::max_element(begin, begin + columns);
    out.add(isPosition ? double(best - begin) : *best, 0);
  }
  return out;
}

Reference maxima(const Matrix &x, int64_t rows, int64_t columns) { return extremes(x, rows, columns, false); }

Reference positions(const Matrix &x, int64_t rows, int64_t columns) {
  return extremes(x, rows, columns, true);
}

Reference softmaxOfRows(const Matrix &x, int64_t rows, int64_t columns) {
  Reference out;
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (int64_t c = 0; c < columns; ++c)
      sum += std::exp(x[size_t(r * columns + c)]);
    for (int64_t c = 0; c < columns; ++c) {
      const double want = std::exp(x[size_t(r * columns + c)]) / sum;
      out.add(want, 2e-5 * want);
    }
  }
  return out;
}

Reference layerNormOfRows(const Matrix &x, int64_t rows, int64_t columns) {
  Reference out;
  for (int64_t r = 0; r < rows; ++r) {
    const double *row = x.data() + r * columns;
    double sum = 0, square = 0;
    for (int64_t c = 0; c < columns; ++c)
      sum += row[c];
    const double mean = sum / double(columns);
    for (int64_t c = 0; c < columns; ++c)
      square += (row[c] - mean) * (row[c] - mean);
    const double factor = 1 / std::sqrt(square / double(columns) + 1e-5);
    for (int64_t c = 0; c < columns; ++c)
      out.add((row[c] - mean) * factor, 1e-4);
  }
  return out;
}

Reference runningSums(const Matrix &x, int64_t rows, int64_t columns) {
  Reference out;
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (int64_t c = 0; c < columns; ++c) {
      sum += x[size_t(r * columns + c)];
      out.add(sum, 1e-5 * sum);
    }
  }
  return out;
}

struct Program {
  const char *name, *expression;
  DType input, result;
  Reference (*reference)(const Matrix &, int64_t rows, int64_t columns);
};

constexpr Program kPrograms[] = {
    {"sum f32", "ts.sum(x, axis=1)", DType::F32, DType::F32, sums},
    {"softmax f32", "ts.softmax(x)", DType::F32, DType::F32, softmaxOfRows},
    {"max f32", "ts.max(x, axis=1)", DType::F32, DType::F32, maxima},
    {"layer_norm f32", "ts.layer_norm(x)", DType::F32, DType::F32, layerNormOfRows},
    {"argmax f32", "ts.argmax(x, axis=1)", DType::F32, DType::I32, positions},
    {"cumsum f32", "ts.cumsum(x, axis=1)", DType::F32, DType::F32, runningSums},
    {"sum bf16", "ts.sum(x, axis=1)", DType::BF16, DType::BF16, narrowSums},
    {"mean f32", "ts.mean(x, axis=1)", DType::F32, DType::F32, means},
    {"sum of columns f32", "ts.sum(x, axis=0)", DType::F32, DType::F32, sumsOfColumns},
    {"sum u8", "ts.sum(x, axis=1)", DType::U8, DType::I32, sums},
    {"argmax bf16", "ts.argmax(x, axis=1)", DType::BF16, DType::I32, positions},
    {"argmax u8", "ts.argmax(x, axis=1)", DType::U8, DType::I32, positions},
    {"max bf16", "ts.max(x, axis=1)", DType::BF16, DType::BF16, maxima}};

/// A program's variants: the program as it is compiled, and one bundle for each variant, which any extents
/// run.
struct Forms {
  host::Kernel *chosen = nullptr;
  std::vector<std::string> names;
  std::vector<host::Kernel *> forced;
};

std::string sourceOf(const Program &p) {
  return fmt::format(
      "import tessera as ts\n\n\n@ts.jit\ndef f(x: ts.Tensor[\"R\", \"C\", ts.{}]):\n    return {}\n",
      name(p.input), p.expression);
}

/// Returns the text of Schedule IR in which `variant` is pinned, for all extents.
std::string pin(const std::string &schedule, const std::string &variant) {
  static const std::regex condition("when = \"[^\"]*\""), list("variants = \\[");
  return std::regex_replace(std::regex_replace(schedule, condition, "when = \"R >= 0\""), list,
                            "variant = \"" + variant + "\", $&", std::regex_constants::format_first_only);
}

Forms formsOf(const Program &p, Lab &lab) {
  const std::string source = sourceOf(p);
  Forms out{&lab.kernel(source, "f"), {}, {}};
  tsr_source_options_t options = {};
  options.struct_size = sizeof options;
  const char *text = nullptr;
  host::check(tsrInspectIr(source.data(), source.size(), &options, TSR_IR_SCHEDULE, &text), "tsrInspectIr");
  const std::string schedule = text;
  static const std::regex entry("#schedule.variant<\"([^\"]+)\"");
  for (std::sregex_iterator at(schedule.begin(), schedule.end(), entry), end; at != end; ++at)
    out.names.push_back((*at)[1]);
  for (const std::string &variant : out.names)
    out.forced.push_back(&lab.kernel(pin(schedule, variant), "f", {}, /*isIr=*/true));
  return out;
}

struct Shape {
  int64_t rows, columns;
};

/// Draws extents log-uniformly: those of 2^8 to 2^24 elements.
Shape drawShape(std::mt19937_64 &bits) {
  std::uniform_real_distribution<double> logarithm(0, std::log(65537.0));
  while (true) {
    const Shape s{int64_t(std::exp(logarithm(bits))), int64_t(std::exp(logarithm(bits)))};
    if (s.rows * s.columns >= 1 << 8 && s.rows * s.columns <= 1 << 24) return s;
  }
}

/// The variant that the runtime chooses for these extents, and its prediction.
VariantTable::Choice choiceFor(const host::Kernel &kernel, const Shape &s) {
  const KernelMetadata m = kernel.metadata("f.g0");
  Expected<VariantTable> table = VariantTable::of(m);
  if (!table) throw std::runtime_error(table.error().message);
  std::vector<int64_t> slots;
  for (const MetadataParam &p : m.params)
    slots.push_back(p.name == "R" ? s.rows : p.name == "C" ? s.columns : 64); // tensors: an address
  const MachineConstants machine = machineConstants(kernel.device().info().compute_units, /*isHost=*/true);
  slots.insert(slots.end(), machine.begin(), machine.end());
  return table->choose(slots.data()).value();
}

/// Sums of values above 0 have a relative error.
std::vector<std::byte> positiveValues(DType t, size_t count, const std::string &seed) {
  const std::vector<float> values =
      randomFloats(count, std::hash<std::string>()(seed), 0, t == DType::U8 ? 256 : 1);
  std::vector<std::byte> out(count * size_t(storageBytes(t)));
  castArray(values.data(), DType::F32, out.data(), t, count);
  return out;
}

struct Result {
  std::string name, chosen, best;
  double seconds = 0, bestSeconds = 0, predicted = -1; // of the chosen one, and of the fastest
  bool ok = true;
  double ratio() const { return seconds / bestSeconds; }
};

Result measure(const Program &p, const Shape &s, const std::string &title, Lab &lab, CaseResult &raw) {
  const Forms forms = formsOf(p, lab);
  Trial trial(lab);
  const std::vector<std::byte> data = positiveValues(p.input, size_t(s.rows * s.columns), title);
  const void *x = trial.store(data);
  const Reference want =
      p.reference(toDoubles(p.input, data.data(), size_t(s.rows * s.columns)), s.rows, s.columns);
  const size_t bytes = want.values.size() * size_t(storageBytes(p.result));
  const host::NamedInts dims = {{"R", s.rows}, {"C", s.columns}};
  trial.addTessera(*forms.chosen, {{"x", x}}, dims, bytes);
  for (size_t i = 0; i < forms.names.size(); ++i) {
    trial.addTessera(*forms.forced[i], {{"x", x}}, dims, bytes);
    trial.contenders.back().name = forms.names[i];
  }
  Result out{title, {}, {}};
  auto verify = [&] {
    for (const Contender &c : trial.contenders) {
      c.poison();
      c.run();
      const std::vector<double> got = toDoubles(p.result, c.output, want.values.size());
      Check check;
      for (size_t i = 0; i < got.size(); ++i)
        check.add(got[i], want.values[i], want.bounds[i]);
      if (check.ok()) continue;
      out.ok = false;
      fmt::print(stderr, "  wrong: {} of {}\n", c.name, title);
    }
  };
  verify();
  for (int round = 0; round < kChoiceRounds; ++round)
    for (Contender &c : trial.contenders)
      turn(c, 0.01, /*pause=*/lab.settings.cores > 1);
  verify();
  const VariantTable::Choice choice = choiceFor(*forms.chosen, s);
  out.chosen = forms.names.at(choice.variant);
  if (choice.predictedNs >= 0) out.predicted = double(choice.predictedNs) * 1e-9;
  // The program as compiled and the bundle of the chosen variant run the same code.
  out.seconds = std::min(trial.contenders[0].best(), trial.contenders[1 + choice.variant].best());
  out.bestSeconds = 1e30;
  for (size_t i = 1; i < trial.contenders.size(); ++i) {
    const double seconds = i == 1 + choice.variant ? out.seconds : trial.contenders[i].best();
    if (seconds >= out.bestSeconds) continue;
    out.bestSeconds = seconds;
    out.best = trial.contenders[i].name;
  }
  raw = {"choice", p.name, title, 0, double(data.size() + bytes), 0, {}, {}, out.ok};
  for (const Contender &c : trial.contenders)
    raw.contenders.push_back(c.name), raw.samples.push_back(c.samples);
  return out;
}

} // namespace

Table benchChoice(const Settings &settings) {
  const uint64_t seed = settings.seed ? settings.seed : std::random_device()();
  std::mt19937_64 bits(seed);
  Lab lab(settings);
  Table table;
  table.title =
      fmt::format("The choice between variants, {} thread{}", settings.cores, settings.cores == 1 ? "" : "s");
  table.notes = {
      fmt::format("{} shapes, rows and columns log-uniform in 1..65536, 2^8 to 2^24 elements; --seed {} "
                  "repeats them. All variants of a program are forced in turn; fastest call of {} "
                  "rounds. ratio: time of the chosen variant by that of the fastest.",
                  kShapes, seed, kChoiceRounds)};
  table.columns = {"case", "chosen", "time", "fastest", "time", "ratio", "predicted"};
  const std::regex only(settings.only);
  std::vector<Result> results;
  for (int i = 0; i < kShapes; ++i) {
    const Program &p = kPrograms[size_t(i) % std::size(kPrograms)];
    const Shape s = drawShape(bits);
    const std::string title = fmt::format("{} of {}x{}", p.name, s.rows, s.columns);
    if (!std::regex_search("choice/" + title, only)) continue;
    if (::isatty(STDERR_FILENO)) fmt::print(stderr, "\r\033[K[{}/{}] choice/{}", i + 1, kShapes, title);
    results.push_back(measure(p, s, title, lab, table.cases.emplace_back()));
    table.ok = table.ok && results.back().ok;
  }
  if (::isatty(STDERR_FILENO)) fmt::print(stderr, "\r\033[K");
  if (results.empty()) throw std::runtime_error("no case matches --only " + settings.only);
  std::sort(results.begin(), results.end(),
            [](const Result &a, const Result &b) { return a.ratio() > b.ratio(); });
  size_t near = 0, predicted = 0, right = 0;
  for (const Result &r : results) {
    near += r.ratio() <= kNear;
    if (r.predicted >= 0) {
      ++predicted;
      right += r.predicted <= kFactor * r.seconds && r.seconds <= kFactor * r.predicted;
    }
    if (r.ratio() > 1.02 || !r.ok || settings.full)
      table.rows.push_back({r.name, r.ok ? r.chosen : "WRONG", duration(r.seconds), r.best,
                            duration(r.bestSeconds), fmt::format("{:.2f}", r.ratio()),
                            r.predicted >= 0 ? duration(r.predicted) : "-"});
  }
  table.notes.push_back(fmt::format("The chosen variant is within {:.0f}% of the fastest in {} of {} cases "
                                    "(goal {:.0f}%): {}. The table lists "
                                    "{}.",
                                    (kNear - 1) * 100, near, results.size(), kGoal * 100,
                                    double(near) >= kGoal * double(results.size()) ? "reached" : "missed",
                                    settings.full ? "all" : "those above 1.02"));
  table.notes.push_back(
      predicted == 0 ? std::string("No variant states a cost: nothing is predicted, conditions choose.")
                     : fmt::format("Predictions are within a factor of {} in {} of {} cases.", kFactor, right,
                                   predicted));
  return table;
}

} // namespace tessera::bench
