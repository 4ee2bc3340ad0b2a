// Measures compilation: each sample by phase, programs that grow, and loading from the cache.
#include "bench/Benchmarks.h"
#include "bench/Timing.h"
#include "core/service/CompilerLoader.h"
#include "tools/host/Host.h"
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <map>

namespace tessera::bench {
namespace {

CompilerService &compiler() {
  auto service = loadCompiler();
  return service ? **service : throw std::runtime_error(service.error().message);
}

std::string milliseconds(double seconds) { return fmt::format("{:.2f} ms", seconds * 1e3); }

/// How far a compilation goes. The time of a phase is the difference to the stage before it.
struct Stage {
  const char *phase;
  Emit emit;
};
constexpr Stage stages[] = {{"frontend", Emit::Graph}, {"schedule", Emit::Schedule}, {"tile", Emit::Tile},
                            {"target", Emit::Target},  {"LLVM", Emit::Object},       {"link", Emit::Bundle}};

/// Throws host::Failure with the text of the first error when the compiler refuses the program.
void compile(const std::string &source, const CompileOptions &options, Emit what) {
  std::string out;
  std::vector<Diagnostic> diags;
  if (compiler().emit(source, options, what, out, diags) == CompileStatus::Ok) return;
  for (const Diagnostic &d : diags)
    if (d.severity == Diagnostic::Severity::Error)
      throw host::Failure(TSR_ECOMPILE, d.code, render(d, false));
  throw host::Failure(TSR_ECOMPILE, "E_INTERNAL", "refused without a reason");
}

/// Gives values to the dims that samples use as tile extents, because there are no arrays to take them from.
CompileOptions optionsFor(const std::string &kernel) {
  CompileOptions options;
  options.kernels = {kernel};
  static const std::map<std::string, std::vector<std::pair<std::string, int64_t>>> dims = {
      {"block", {{"K", 64}}},           {"block_bf16", {{"K", 64}}},
      {"cholesky", {{"N", 48}}},        {"fft", {{"N", 1024}}},
      {"flash_attention", {{"D", 64}}}, {"gpt2_block", {{"K", 64}}},
      {"lstm", {{"H", 256}}},           {"paged_decode", {{"G", 4}, {"T", 16}, {"D", 64}}},
      {"recurrence", {{"H", 256}}}};
  if (auto found = dims.find(kernel); found != dims.end()) options.dims = found->second;
  return options;
}

/// Returns the time of one run if it is long, else the median of several.
double secondsToCompile(const std::string &source, const CompileOptions &options, Emit what) {
  const auto start = Clock::now();
  compile(source, options, what);
  if (const double first = secondsSince(start); first > 2) return first;
  return measure([&] { compile(source, options, what); }).median;
}

/// A cache that only this process uses; it is removed at the end.
class OwnCache {
public:
  OwnCache() {
    std::string name = (std::filesystem::temp_directory_path() / "tessera-bench-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error(name + ": cannot be made");
    folder_ = name;
    ::setenv("TESSERA_CACHE_DIR", name.c_str(), 1);
  }
  OwnCache(const OwnCache &) = delete;
  OwnCache &operator=(const OwnCache &) = delete;
  ~OwnCache() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

private:
  std::filesystem::path folder_;
};

double secondsToLoad(host::Device &device, const std::string &source, const CompileOptions &options) {
  const host::BuildOptions build = {.kernel = options.kernels[0], .dims = options.dims};
  auto load = [&] { host::Kernel loaded(device, source, build); };
  load(); // fills the cache
  return measure(load).median;
}

std::vector<std::string> sampleRow(host::Device &device, const std::string &source,
                                   const CompileOptions &options) {
  constexpr size_t count = std::size(stages);
  std::vector<double> reached(count, HUGE_VAL);
  double spent = 0;
  for (int round = 0; round < 5 || (spent < 1 && round < 50); ++round)
    for (size_t s = 0; s < count; ++s) {
      const auto start = Clock::now();
      compile(source, options, stages[s].emit);
      const double seconds = secondsSince(start);
      reached[s] = std::min(reached[s], seconds);
      spent += seconds;
    }
  std::vector<std::string> row;
  for (size_t s = 0; s < count; ++s)
    row.push_back(milliseconds(std::max(reached[s] - (s ? reached[s - 1] : 0), 0.0)));
  row.push_back(milliseconds(reached.back()));
  row.push_back(milliseconds(secondsToLoad(device, source, options)));
  return row;
}

} // namespace

Table benchCompile(const Settings &settings) {
  const OwnCache cache;
  Table table;
  table.title = "Compiling the samples for this machine";
  table.notes = {
      "Minima of at least five rounds. A phase is the difference to the one before, each compiled that far "
      "and",
      "printed. frontend: source to Graph IR; LLVM: Target IR to an object; link: the object to a bundle.",
      "cold: the whole, without the cache. from cache: the median of tsrLoadModuleFromSource of a source the",
      "cache knows, the image's loading included. Extents of tiles are those of ./dev run --all."};
  table.columns = {"program"};
  for (const Stage &stage : stages)
    table.columns.push_back(stage.phase);
  table.columns.insert(table.columns.end(), {"cold", "from cache"});

  host::Device device("cpu");
  std::vector<std::filesystem::path> files;
  // Those of samples/python are programs of Python, which compile by themselves.
  const std::filesystem::path programs = std::filesystem::path(settings.samples) / "python";
  for (auto at = std::filesystem::recursive_directory_iterator(settings.samples); at != end(at); ++at) {
    if (at->path() == programs)
      at.disable_recursion_pending();
    else if (at->path().extension() == ".py" && at->path().filename() != "check.py")
      files.push_back(at->path());
  }
  std::sort(files.begin(), files.end());
  for (const auto &file : files) {
    const std::string source = host::readText(file.string());
    std::vector<Signature> signatures;
    std::vector<Diagnostic> diags;
    if (compiler().signatures(source, file.filename(), signatures, diags) != CompileStatus::Ok)
      throw std::runtime_error(file.string() + ": has no signatures");
    for (const Signature &s : signatures) {
      std::vector<std::string> row = {signatures.size() == 1
                                          ? file.stem().string()
                                          : fmt::format("{}/{}", file.stem().string(), s.kernel)};
      try {
        for (std::string &cell : sampleRow(device, source, optionsFor(s.kernel)))
          row.push_back(std::move(cell));
      } catch (const host::Failure &f) {
        row.push_back(f.code);
        table.ok = false;
      }
      row.resize(table.columns.size());
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

namespace {

/// A kernel of `n` statements on tiles of 64 elements, each one operation.
std::string kernelOf(int n) {
  std::string text = "import tessera as ts\n\n\n@ts.kernel\n"
                     "def k(x: ts.Tensor[\"n\", ts.f32], y: ts.Tensor[\"n\", ts.f32]):\n"
                     "    for m in ts.tile.parallel(0, n, 64):\n        u = x[m:m+64]\n        v = u\n";
  for (int i = 0; i < n; ++i)
    text += i % 2 ? "        v = v * u\n" : "        v = v + u\n";
  return text + "        y[m:m+64] = v\n";
}

/// A kernel of `n` statements on 32 x 64 tiles: products, reductions, exponentials and arithmetic alternate.
std::string mixedKernelOf(int n) {
  static constexpr const char *statements[] = {
      "v = ts.tile.mma(v, W[0:64, 0:64])", "v = ts.tile.exp(v - ts.tile.row_max(v)[:, None])",
      "v = v / ts.tile.row_sum(v)[:, None]", "v = v + x[m:m+32, 0:64]", "v = v * 0.5"};
  std::string text = "import tessera as ts\n\n\n@ts.kernel\n"
                     "def k(x: ts.Tensor[\"n\", 64, ts.f32], W: ts.Tensor[64, 64, ts.f32], "
                     "y: ts.Tensor[\"n\", 64, ts.f32]):\n"
                     "    for m in ts.tile.parallel(0, n, 32):\n        v = x[m:m+32, 0:64]\n";
  for (int i = 0; i < n; ++i)
    text += fmt::format("        {}\n", statements[i % 5]);
  return text + "        y[m:m+32, 0:64] = v\n";
}

constexpr const char *functionHead =
    "import tessera as ts\n\n\n@ts.jit\ndef f(x: ts.Tensor[\"M\", \"D\", ts.f32], W: ts.Tensor[\"D\", \"D\", "
    "ts.f32], "
    "b: ts.Tensor[\"D\", ts.f32]) -> ts.Tensor[\"M\", \"D\", ts.f32]:\n    v = x\n";

/// A function of `n` / 5 layers: a product, bias, gelu, scale and residual.
std::string layersOf(int n) {
  std::string text = functionHead;
  for (int i = 0; i < n / 5; ++i)
    text += "    v = ts.gelu(ts.gemm(v, W) + b) * 0.5 + v\n";
  return text + "    return v\n";
}

/// A function of `n` elementwise operations, which fuse into one kernel.
std::string chainOf(int n) {
  std::string text = functionHead;
  for (int i = 0; i < n; ++i)
    text += i % 2 ? "    v = v * x\n" : "    v = v + b\n";
  return text + "    return v\n";
}

struct Family {
  const char *name;
  std::string (*source)(int ops);
};
constexpr Family families[] = {{"kernel, elementwise on tiles", kernelOf},
                               {"kernel, mixed statements", mixedKernelOf},
                               {"function, layers of 5 operations", layersOf},
                               {"function, elementwise", chainOf}};
constexpr double longest = 120; // seconds; compilations that are expected to take longer are not run

/// Returns the slope of log(seconds) over log(ops): the b of a * ops^b.
std::string exponentOf(const std::vector<std::pair<int, double>> &points) {
  if (points.size() < 2) return "-";
  double x = 0, y = 0, xx = 0, xy = 0;
  for (auto [ops, seconds] : points) {
    const double a = std::log(ops), b = std::log(seconds);
    x += a, y += b, xx += a * a, xy += a * b;
  }
  const double n = double(points.size());
  return fmt::format("{:.2f}", (n * xy - x * y) / (n * xx - x * x));
}

void addFamily(Table &table, const Family &family, bool full) {
  std::vector<std::pair<int, double>> points;
  std::vector<std::string> row = {family.name};
  for (int ops : {10, 100, 1000, 10000}) {
    if (ops > 1000 && !full) break;
    row.resize(1);
    row.push_back(std::to_string(ops));
    double expected = 0; // assumes the same growth as in the last tenfold step
    if (points.size() >= 2) expected = points.back().second * points.back().second / points.end()[-2].second;
    if (expected > longest) {
      row.push_back(fmt::format("not run: about {:.0f} s expected", expected));
    } else {
      try {
        const double seconds = secondsToCompile(family.source(ops), {}, Emit::Bundle);
        points.emplace_back(ops, seconds);
        row.push_back(milliseconds(seconds));
        row.push_back(fmt::format("{:.0f} us", seconds / ops * 1e6));
        row.push_back(points.size() < 2 ? "-" : exponentOf({points.end() - 2, points.end()}));
        row.push_back(exponentOf(points));
      } catch (const host::Failure &f) {
        row.push_back(f.code);
        table.ok = false;
      }
    }
    row.resize(table.columns.size());
    table.rows.push_back(row);
  }
}

} // namespace

Table benchCompileGrowth(const Settings &settings) {
  Table table;
  table.title = "Compiling programs that grow";
  table.notes = {
      "The whole of it, without the cache: medians, one run where that takes over 2 s. exponent: b of",
      "time = a * operations^b through this row and the one before; fitted: through all rows so far (least",
      "squares of the logarithms)."};
  table.columns = {"program", "operations", "time", "per operation", "exponent", "fitted"};
  for (const Family &family : families)
    addFamily(table, family, settings.full);
  return table;
}

} // namespace tessera::bench
