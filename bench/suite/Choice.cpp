// Whether what is chosen for some extents is the fastest, and whether it takes as long as predicted: every
// variant of a kernel, and every body of a product, is forced in turn, in the text of Schedule IR, over
// shapes that nobody chose.
#include "bench/suite/ChoiceForms.h"
#include "bench/suite/Suites.h"
#include "core/launch/HostMachine.h"
#include "core/metadata/Variants.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <random>
#include <regex>
#include <stdexcept>
#include <unistd.h>

namespace tessera::bench {
namespace {

constexpr int kShapes = 60, kChoiceRounds = 5;
/// What is chosen may take this many times as long as the fastest, in kGoal of the cases. A prediction is
/// right within kFactor.
constexpr double kNear = 1.08, kGoal = 0.9, kFactor = 1.5;

struct Shape {
  int64_t rows, columns;
};

int64_t drawExtent(std::mt19937_64 &bits, double most) {
  return int64_t(std::exp(std::uniform_real_distribution<double>(0, std::log(most + 1))(bits)));
}

/// Draws extents log-uniformly: those of 2^8 to 2^24 elements.
Shape drawShape(std::mt19937_64 &bits) {
  while (true) {
    const int64_t rows = drawExtent(bits, 65536), columns = drawExtent(bits, 65536);
    if (rows * columns >= 1 << 8 && rows * columns <= 1 << 24) return {rows, columns};
  }
}

/// Draws the extents of a product of at most 2^28 multiplications, every fourth one of a batch.
Product drawProduct(std::mt19937_64 &bits, int number) {
  constexpr DType kInputs[] = {DType::F32, DType::F32, DType::BF16, DType::F32, DType::I8};
  Product p{1, 1, 1};
  p.input = p.output = kInputs[size_t(number) % std::size(kInputs)];
  if (p.input == DType::I8) p.output = DType::I32;
  const bool isBatch = number % 4 == 3;
  do {
    const double most = isBatch ? 64 : 4096;
    p.batch = isBatch ? drawExtent(bits, 4096) : 1;
    p.m = drawExtent(bits, most), p.n = drawExtent(bits, most), p.k = drawExtent(bits, most);
  } while (p.batch * p.m * p.n * p.k > 1 << 28 || p.batch * p.m * p.n * p.k < 1 << 8);
  if (isBatch) return p; // productSource transposes matrices only
  p.transposeA = number % 7 == 2;
  p.transposeB = number % 3 == 1;
  return p;
}

/// The constants as they are measured: a prediction is judged by the rates of this machine, a choice by those
/// that the runtime has.
MachineConstants measuredConstants(const Lab &lab, const MachineConstants &known) {
  MachineConstants out = known;
  const auto at = [](std::string_view name) {
    return size_t(std::ranges::find(kMachineConstants, name) - kMachineConstants.begin());
  };
  const double cores = lab.settings.cores;
  auto set = [&](std::string_view name, double rate) {
    if (rate > 0) out[at(name)] = std::max<int64_t>(1, std::llround(rate / cores * 1e-9));
  };
  set("fma_f32", lab.roofline.peak(Unit::F32));
  set("fma_f64", lab.roofline.peak(Unit::F64));
  set("fma_bf16", lab.roofline.peak(Unit::Bf16));
  set("fma_i8", lab.roofline.peak(Unit::I8));
  const double l2 = double(known[at("l2")]), l3 = double(known[at("l3")]);
  set("bw2", lab.roofline.bandwidth(l2 / 2 * cores, true));
  set("bw3", lab.roofline.bandwidth((l2 + l3) / 2 * cores, true));
  set("bwm", lab.roofline.bandwidth(1 << 28, true));
  return out;
}

/// What the runtime chooses, and how long that is predicted to take.
struct Chosen {
  size_t variant = 0;
  double typical = -1;                                          // in seconds; -1: nothing is predicted
  std::function<double(const MachineConstants &)> by = nullptr; // the same with other constants
};

Chosen choiceFor(const host::Kernel &kernel, const host::NamedInts &dims) {
  const KernelMetadata m = kernel.metadata("f.g0");
  Expected<VariantTable> table = VariantTable::of(m);
  if (!table) throw std::runtime_error(table.error().message);
  Chosen out;
  if (table->empty()) return out;
  std::vector<int64_t> slots;
  for (const MetadataParam &p : m.params) {
    const auto dim = std::ranges::find(dims, p.name, [](const auto &named) { return named.first; });
    slots.push_back(dim == dims.end() ? 64 : dim->second); // tensors: an address
  }
  const MachineConstants machine = machineConstants(kernel.device().info().compute_units, /*isHost=*/true);
  slots.insert(slots.end(), machine.begin(), machine.end());
  const VariantTable::Choice choice = table->choose(slots.data()).value();
  out.variant = choice.variant;
  if (choice.predictedNs < 0) return out;
  out.typical = double(choice.predictedNs) * 1e-9;
  out.by = [table = std::move(*table), slots, choice](const MachineConstants &constants) mutable {
    std::copy(constants.begin(), constants.end(), slots.end() - std::ssize(constants));
    return double(table.predict(choice.variant, slots.data())) * 1e-9;
  };
  return out;
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
  std::string name, chosen = {}, best = {};
  double seconds = 0, bestSeconds = 0; // of what is chosen, and of the fastest
  Chosen predicted = {};
  bool ok = true;
  double ratio() const { return seconds / bestSeconds; }
  static bool isNear(double predicted, double seconds) {
    return predicted >= 0 && predicted <= kFactor * seconds && seconds <= kFactor * predicted;
  }
};

/// Measures the contenders of a trial: the program as compiled, and its forms in their order.
Result measure(Trial &trial, const Forms &forms, const std::string &title) {
  Result out{.name = title};
  auto verify = [&] {
    for (const Contender &c : trial.contenders) {
      c.poison();
      c.run();
      if (trial.check(c.output).ok()) continue;
      out.ok = false;
      fmt::print(stderr, "  wrong: {} of {}\n", c.name, title);
    }
  };
  verify();
  for (int round = 0; round < kChoiceRounds; ++round)
    for (Contender &c : trial.contenders)
      turn(c, 0.01, /*pause=*/trial.lab.settings.cores > 1);
  verify();
  out.bestSeconds = 1e30;
  for (size_t i = 0; i < forms.names.size(); ++i) {
    const double seconds = trial.contenders[1 + i].best();
    if (seconds >= out.bestSeconds) continue;
    out.bestSeconds = seconds;
    out.best = forms.names[i];
  }
  return out;
}

void addForms(Trial &trial, const Forms &forms, const std::vector<std::pair<const char *, const void *>> &in,
              const host::NamedInts &dims, size_t bytes) {
  for (size_t i = 0; i < forms.names.size(); ++i) {
    trial.addTessera(*forms.forced[i], in, dims, bytes);
    trial.contenders.back().name = forms.names[i];
  }
}

CaseResult samplesOf(const Trial &trial, const char *family, const Result &r, double bytes) {
  CaseResult raw = {"choice", family, r.name, 0, bytes, 0, {}, {}, r.ok};
  for (const Contender &c : trial.contenders)
    raw.contenders.push_back(c.name), raw.samples.push_back(c.samples);
  return raw;
}

Result measureRows(const RowProgram &p, const Shape &s, const std::string &title, Lab &lab, CaseResult &raw) {
  const Forms forms = formsOf(p, lab);
  Trial trial(lab);
  const std::vector<std::byte> data = positiveValues(p.input, size_t(s.rows * s.columns), title);
  const void *x = trial.store(data);
  const Reference want =
      p.reference(toDoubles(p.input, data.data(), size_t(s.rows * s.columns)), s.rows, s.columns);
  const size_t bytes = want.values.size() * size_t(storageBytes(p.result));
  const host::NamedInts dims = {{"R", s.rows}, {"C", s.columns}};
  trial.addTessera(*forms.chosen, {{"x", x}}, dims, bytes);
  addForms(trial, forms, {{"x", x}}, dims, bytes);
  trial.check = [&](const void *result) {
    const std::vector<double> got = toDoubles(p.result, result, want.values.size());
    Check check;
    for (size_t i = 0; i < got.size(); ++i)
      check.add(got[i], want.values[i], want.bounds[i]);
    return check;
  };
  Result out = measure(trial, forms, title);
  out.predicted = choiceFor(*forms.chosen, dims);
  // The program as compiled and the bundle of the chosen variant run the same code.
  const size_t variant = out.predicted.variant;
  out.chosen = forms.names.at(variant);
  out.seconds = std::min(trial.contenders[0].best(), trial.contenders[1 + variant].best());
  if (out.best == out.chosen) out.bestSeconds = std::min(out.bestSeconds, out.seconds);
  raw = samplesOf(trial, p.name, out, double(data.size() + bytes));
  return out;
}

Result measureProduct(const Product &p, const std::string &title, Lab &lab, CaseResult &raw) {
  const Forms forms = formsOf(p, lab);
  Trial trial(lab);
  const ProductData data = storeProduct(trial, p, title);
  const host::NamedInts dims = {{"B", p.batch}, {"M", p.m}, {"N", p.n}, {"K", p.k}};
  trial.addTessera(*forms.chosen, {{"a", data.a}, {"b", data.b}}, dims, data.bytes);
  addForms(trial, forms, {{"a", data.a}, {"b", data.b}}, dims, data.bytes);
  Result out = measure(trial, forms, title);
  out.predicted = choiceFor(*forms.chosen, dims);
  out.chosen = "by extents";
  out.seconds = trial.contenders[0].best();
  if (out.seconds <= out.bestSeconds) out.best = out.chosen, out.bestSeconds = out.seconds;
  raw = samplesOf(trial, name(p.input), out, double(data.bytes));
  return out;
}

std::string titleOf(const Product &p) {
  std::string text = fmt::format("{} {}", name(p.input), extentsOf(p));
  if (p.batch > 1) return fmt::format("{} of {}", p.batch, text);
  return fmt::format("{} {}{}", text, p.transposeA ? "t" : "n", p.transposeB ? "t" : "n");
}

/// Says of one family how many choices and predictions are right, and lists the cases.
void report(const char *family, std::vector<Result> results, const Lab &lab, Table &table) {
  if (results.empty()) return;
  const Settings &settings = lab.settings;
  const MachineConstants constants =
      measuredConstants(lab, machineConstants(lab.device.info().compute_units, /*isHost=*/true));
  std::ranges::sort(results, std::greater{}, &Result::ratio);
  size_t near = 0, predicted = 0, right = 0, typical = 0;
  for (const Result &r : results) {
    const double expected = r.predicted.by ? r.predicted.by(constants) : -1;
    table.ok = table.ok && r.ok;
    near += r.ratio() <= kNear;
    predicted += expected >= 0;
    right += Result::isNear(expected, r.seconds);
    typical += Result::isNear(r.predicted.typical, r.seconds);
    if (r.ratio() > 1.02 || !r.ok || settings.full)
      table.rows.push_back({r.name, r.ok ? r.chosen : "WRONG", duration(r.seconds), r.best,
                            duration(r.bestSeconds), fmt::format("{:.2f}", r.ratio()),
                            expected >= 0 ? duration(expected) : "-"});
  }
  table.notes.push_back(fmt::format(
      "{}: what is chosen is within {:.0f}% of the fastest in {} of {} cases (goal {:.0f}%): {}. "
      "The prediction is within a factor of {} of the measured time in {} of {} cases by the rates "
      "that this run measured, in {} by those that the runtime has.",
      family, (kNear - 1) * 100, near, results.size(), kGoal * 100,
      double(near) >= kGoal * double(results.size()) ? "reached" : "missed", kFactor, right, predicted,
      typical));
}

} // namespace

Table benchChoice(const Settings &settings) {
  const uint64_t seed = settings.seed ? settings.seed : std::random_device()();
  std::mt19937_64 bits(seed);
  Lab lab(settings);
  Table table;
  table.title =
      fmt::format("The choice between variants, {} thread{}", settings.cores, settings.cores == 1 ? "" : "s");
  table.notes = {fmt::format("{} shapes of rows, with rows and columns log-uniform in 1..65536, 2^8 to 2^24 "
                             "elements, whose variants "
                             "are forced in turn; {} products, with extents log-uniform in 1..4096, or in "
                             "1..64 of a batch of 1..4096, "
                             "2^8 to 2^28 multiplications, whose bodies are. --seed {} repeats them. Fastest "
                             "call of {} rounds. ratio: "
                             "time of what is chosen by that of the fastest. The table lists {}.",
                             kShapes, kShapes, seed, kChoiceRounds,
                             settings.full ? "all" : "those above 1.02")};
  table.columns = {"case", "chosen", "time", "fastest", "time", "ratio", "predicted"};
  const std::regex only(settings.only);
  std::vector<Result> rows, products;
  auto isWanted = [&](int i, const std::string &title) {
    if (!std::regex_search("choice/" + title, only)) return false;
    if (::isatty(STDERR_FILENO)) fmt::print(stderr, "\r\033[K[{}/{}] choice/{}", i + 1, 2 * kShapes, title);
    return true;
  };
  for (int i = 0; i < kShapes; ++i) {
    const RowProgram &p = rowPrograms()[size_t(i) % rowPrograms().size()];
    const Shape s = drawShape(bits);
    const std::string title = fmt::format("{} of {}x{}", p.name, s.rows, s.columns);
    if (isWanted(i, title)) rows.push_back(measureRows(p, s, title, lab, table.cases.emplace_back()));
  }
  for (int i = 0; i < kShapes; ++i) {
    const Product p = drawProduct(bits, i);
    const std::string title = titleOf(p);
    if (isWanted(kShapes + i, title))
      products.push_back(measureProduct(p, title, lab, table.cases.emplace_back()));
  }
  if (::isatty(STDERR_FILENO)) fmt::print(stderr, "\r\033[K");
  if (rows.empty() && products.empty()) throw std::runtime_error("no case matches --only " + settings.only);
  lab.roofline.measureArithmetic(settings.cores); // other load may have disturbed the first time
  report("Rows", std::move(rows), lab, table);
  report("Products", std::move(products), lab, table);
  table.notes.push_back(lab.roofline.text());
  return table;
}

} // namespace tessera::bench
