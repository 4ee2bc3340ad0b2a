// tessera-gpu-conformance FOLDER --target ptx:sm_90: runs the programs of a conformance list through the
// shared GPU path, in the emulator with the threads in both orders, and compares the results with the
// expected ones.
//
// Each program runs in a child process. Tensors are between guard zones that must not change.
#include "compiler/codegen/gpu/Lowering.h"
#include "compiler/pipeline/Compilation.h"
#include "numerics/Casts.h"
#include "tests/conformance/Compare.h"
#include "tests/emulation/Emulator.h"
#include <cstring>
#include <fmt/format.h>
#include <fnmatch.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tessera::emulation {
namespace {

using conformance::Program, conformance::Run;
constexpr size_t kZone = 64;
constexpr std::byte kPattern{0x5a};

struct Placed {
  std::vector<std::byte> memory;
  explicit Placed(std::span<const std::byte> contents) : memory(contents.size() + 2 * kZone, kPattern) {
    std::copy(contents.begin(), contents.end(), memory.begin() + kZone);
  }
  std::span<const std::byte> contents() const {
    return std::span(memory).subspan(kZone, memory.size() - 2 * kZone);
  }
  bool intact() const {
    for (size_t i = 0; i < kZone; ++i)
      if (memory[i] != kPattern || memory[memory.size() - 1 - i] != kPattern) return false;
    return true;
  }
};

/// Returns the number of programs of the launch; -1 when an axis cannot be evaluated.
int64_t programs(const KernelMetadata &meta, std::span<const uint64_t> values) {
  std::vector<std::string> names;
  std::vector<int64_t> slots;
  for (size_t i = 0; i < meta.params.size(); ++i) {
    names.push_back(meta.params[i].name);
    slots.push_back(int64_t(values[i]));
    if (meta.params[i].kind == MetadataParam::Kind::Scalar && storageBytes(meta.params[i].dtype) == 4)
      slots.back() = int32_t(values[i]);
  }
  int64_t count = 1;
  for (const std::string &axis : meta.axes) {
    IndexExpr expr;
    std::string why;
    int64_t extent = 0;
    if (!IndexExpr::parse(axis, names, expr, why) || !expr.evaluate(slots.data(), extent)) return -1;
    count *= std::max<int64_t>(extent, 0);
  }
  return count;
}

std::string launchOnce(Emulator &emulator, const KernelMetadata &meta, const Run &run, Order order) {
  std::map<std::string, Placed> tensors;
  for (const auto &[name, in] : run.inputs)
    tensors.try_emplace(name, encode(in.values, in.dtype));
  for (const auto &[name, o] : run.outputs)
    if (!tensors.contains(name))
      tensors.try_emplace(
          name, o.initial ? encode(*o.initial, o.dtype)
                          : std::vector<std::byte>(o.elements() * size_t(storageBytes(o.dtype)), kPattern));
  const std::map<std::string, Placed> before = tensors;
  std::vector<uint64_t> values;
  for (const MetadataParam &p : meta.params) {
    uint64_t &v = values.emplace_back(0);
    if (auto t = tensors.find(p.name); t != tensors.end())
      v = reinterpret_cast<uint64_t>(t->second.memory.data() + kZone);
    if (auto s = run.scalars.find(p.name); s != run.scalars.end())
      v = fromDouble(s->second, p.dtype);
    else if (p.kind == MetadataParam::Kind::Scalar && p.defaultValue)
      v = fromNumber(*p.defaultValue, p.dtype);
    for (const auto &[name, value] : run.dims)
      if (p.kind == MetadataParam::Kind::Dim && name == p.name) v = uint64_t(value);
  }
  const int64_t blocks = programs(meta, values);
  if (blocks < 0) return "the launch geometry cannot be evaluated";
  std::string why;
  if (!emulator.launch(values, blocks, order, why)) return why;
  for (const auto &[name, placed] : tensors) {
    if (!placed.intact()) return name + ": wrote outside the tensor";
    auto o = run.outputs.find(name);
    if (o == run.outputs.end()) {
      if (placed.memory != before.at(name).memory) return name + ": an input was written";
    } else if (std::string difference = conformance::compare(o->second, placed.contents());
               !difference.empty()) {
      return name + ": " + difference;
    }
  }
  return "";
}

enum class Outcome : int { Passed, Failed, Unimplemented };

/// The shared GPU path alone, before a vendor's half converts its result.
CompileStatus lowerToKernel(Compilation &c, const std::vector<Diagnostic> &diags) {
  mlir::PassManager pm(c.module().getContext(), mlir::ModuleOp::getOperationName());
  gpu::addKernelPasses(pm, static_cast<const gpu::GpuTarget &>(c.target()));
  if (mlir::succeeded(pm.run(c.module()))) return CompileStatus::Ok;
  bool unimplemented = !diags.empty() && diags.front().code == "E_UNIMPLEMENTED";
  return unimplemented ? CompileStatus::Unimplemented : CompileStatus::BackendFailure;
}

Outcome runProgram(const Program &p, const std::string &target, bool verbose) {
  auto failed = [&](const std::string &why) {
    fmt::print("FAIL {}\n     {}\n", p.name, why);
    return Outcome::Failed;
  };
  CompileOptions options;
  options.fileName = p.options.fileName;
  if (!p.options.kernel.empty()) options.kernels = {p.options.kernel};
  options.numerics = p.options.numerics;
  options.dims = p.options.dims;
  options.tunables = p.options.tunables;
  options.targets = {target};
  std::vector<Diagnostic> diags;
  Compilation c(options, diags);
  auto status = c.begin(p.source);
  if (status == CompileStatus::Ok) status = c.advance(Level::Tile);
  if (status == CompileStatus::Ok) status = lowerToKernel(c, diags);
  if (status != CompileStatus::Ok) {
    const Diagnostic &first = diags.empty() ? Diagnostic{} : diags.front();
    if (!p.error.empty() && first.code == p.error) return Outcome::Passed;
    if (status != CompileStatus::Unimplemented) return failed(first.code + ": " + first.message);
    if (verbose) fmt::print("unimplemented {}: {}\n", p.name, first.message);
    return Outcome::Unimplemented;
  }
  if (!p.error.empty()) return failed("was not refused with " + p.error);
  std::string yaml, why;
  c.module().walk([&](mlir::gpu::GPUFuncOp kernel) {
    yaml = kernel->getAttrOfType<mlir::StringAttr>(target::kMetadata).str();
  });
  KernelMetadata meta;
  if (!KernelMetadata::fromYaml(yaml, meta, why)) return failed(why);
  auto emulator = Emulator::load(c.module(), meta, why);
  if (!emulator) return failed(diags.empty() ? why : diags.front().message);
  for (const Run &run : p.runs)
    for (Order order : {Order::Ascending, Order::Descending})
      if (std::string wrong = launchOnce(*emulator, meta, run, order); !wrong.empty()) {
        std::string dims = order == Order::Ascending ? "ascending" : "descending";
        for (const auto &[name, value] : run.dims)
          dims += fmt::format(" {}={}", name, value);
        return failed(fmt::format("({}) {}", dims, wrong));
      }
  return Outcome::Passed;
}

int runAll(const std::string &folder, const std::string &target, const std::string &only, size_t every,
           bool verbose) {
  int counts[3] = {0, 0, 0};
  size_t index = 0;
  for (const Program &p : conformance::readPrograms(folder)) {
    if (fnmatch(only.c_str(), p.name.c_str(), 0) != 0 || index++ % every) continue;
    if (verbose) fmt::print("{}\n", p.name);
    std::fflush(stdout);
    const pid_t child = ::fork();
    if (child == 0) {
      const int outcome = int(runProgram(p, target, verbose));
      std::fflush(stdout);
      ::_exit(outcome);
    }
    int state = 0;
    if (child < 0 || ::waitpid(child, &state, 0) < 0) return 1;
    if (WIFSIGNALED(state)) fmt::print("FAIL {}\n     crashed: {}\n", p.name, strsignal(WTERMSIG(state)));
    ++counts[WIFEXITED(state) && WEXITSTATUS(state) < 3 ? WEXITSTATUS(state) : 1];
  }
  fmt::print("{} passed, {} failed, {} not implemented\n", counts[0], counts[1], counts[2]);
  return counts[1] == 0 && counts[0] > 0 ? 0 : 1;
}

} // namespace
} // namespace tessera::emulation

int main(int argc, char **argv) {
  std::string folder, target = "ptx:sm_90", only = "*";
  size_t every = 1;
  bool verbose = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--target" && i + 1 < argc)
      target = argv[++i];
    else if (word == "--only" && i + 1 < argc)
      only = argv[++i];
    else if (word == "--every" && i + 1 < argc)
      every = std::max(1UL, std::strtoul(argv[++i], nullptr, 10));
    else if (word == "-v")
      verbose = true;
    else
      folder = word;
  }
  if (folder.empty()) {
    fmt::print(stderr,
               "usage: tessera-gpu-conformance FOLDER [--target NAME] [--only PATTERN] [--every N] [-v]\n");
    return 1;
  }
  try {
    return tessera::emulation::runAll(folder, target, only, every, verbose);
  } catch (const std::exception &e) {
    fmt::print(stderr, "tessera-gpu-conformance: {}\n", e.what());
    return 1;
  }
}
