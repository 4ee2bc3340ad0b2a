// Checks of code generators: the table of targets, and images compiled from LLVM IR.
#include "tools/tsr-conformance/Groups.h"
#include "tools/tsr-conformance/Guarded.h"
#include "tools/tsr-conformance/Subject.h"
#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace tessera::kit {
namespace {

constexpr uint32_t kMost = 256;

tsr_codegen_api_t tableOf(Subject &s) { return thunk::copyIn(s.info().codegen); }

std::vector<tsr_cg_target_t> targetsOf(Subject &s) {
  std::vector<tsr_cg_target_t> out;
  const tsr_codegen_api_t api = tableOf(s);
  for (uint32_t i = 0; i <= kMost; ++i) {
    tsr_cg_target_t t{};
    t.struct_size = sizeof t;
    const int32_t status = api.target(i, &t);
    if (status == TSR_ENOTFOUND) return out;
    expect(status == TSR_SUCCESS, "TSR_SUCCESS of a target, TSR_ENOTFOUND past the last", statusName(status));
    out.push_back(t);
  }
  throw Failure{"TSR_ENOTFOUND past the last target", "more than " + std::to_string(kMost) + " targets", ""};
}

bool isArchitecture(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-' || c == '_' || c == '.';
  });
}

void codegenListed(Subject &s) {
  std::set<std::string> names;
  for (const tsr_cg_target_t &t : targetsOf(s)) {
    expect(t.architecture && isArchitecture(t.architecture),
           "an architecture's name: 1 to 64 of a-z, 0-9, -, _ and .",
           t.architecture ? "'" + std::string(t.architecture) + "'" : "NULL");
    expect(names.insert(t.architecture).second, "a name of its own for each target",
           std::string(t.architecture) + " twice");
  }
  expect(!names.empty(), "a target at least", "none");
}

void fields(Subject &s) {
  for (const tsr_cg_target_t &t : targetsOf(s)) {
    expect(t.triple && *t.triple, "a triple", "none");
    expect(t.cpu && t.features, "texts for cpu and features, \"\" where LLVM may choose", "NULL");
    expect(t.image_format >= TSR_IMAGE_ELF && t.image_format <= TSR_IMAGE_SPIRV,
           "an image_format that a bundle can hold", std::to_string(t.image_format));
    const uint32_t bytes = t.vector_bytes;
    expect(bytes >= 4 && bytes <= 256 && (bytes & (bytes - 1)) == 0,
           "vector_bytes: a power of two from 4 to 256", std::to_string(bytes));
    expect(t.vector_registers >= 1 && t.vector_registers <= 1024, "vector_registers from 1 to 1024",
           std::to_string(t.vector_registers));
    expect(t.collapses_axes <= 1, "1 or 0 for collapses_axes", std::to_string(t.collapses_axes));
    expect(t.reserved[0] == 0 && t.reserved[1] == 0 && t.reserved[2] == 0, "0 in reserved", "another value");
  }
}

void codegenPure(Subject &s) {
  const auto first = targetsOf(s), second = targetsOf(s);
  expectEqual(second.size(), first.size(), "as many targets as at first,");
  auto same = [](const char *a, const char *b) { return std::string_view(a) == b; };
  for (size_t i = 0; i < first.size(); ++i) {
    const tsr_cg_target_t &a = first[i], &b = second[i];
    expect(same(a.architecture, b.architecture) && same(a.triple, b.triple) && same(a.cpu, b.cpu) &&
               same(a.features, b.features) && a.image_format == b.image_format &&
               a.vector_bytes == b.vector_bytes && a.vector_registers == b.vector_registers,
           "the same answer twice", "another");
  }
}

void codegenInBounds(Subject &s) {
  const tsr_codegen_api_t api = tableOf(s);
  for (size_t size : {size_t{8}, size_t{16}, sizeof(tsr_cg_target_t) + 32}) {
    Guarded out(size);
    out.as<tsr_cg_target_t>().struct_size = size;
    (void)api.target(0, &out.as<tsr_cg_target_t>());
    out.expectUntouched("target", "write with tessera::thunk::copyOut");
  }
}

constexpr const char *kKernel = "tsr_kit";

/// A kernel that stores the first launch value's bits at the address in the second.
std::string moduleFor(const tsr_cg_target_t &t) {
  return "source_filename = \"kit\"\n"
         "target triple = \"" +
         std::string(t.triple) + "\"\n\ndefine void @" + kKernel +
         "(ptr %values, i64 %begin, i64 %end, ptr %scratch) {\n"
         "  %value = load i64, ptr %values\n"
         "  %place = getelementptr i64, ptr %values, i64 1\n"
         "  %address = load i64, ptr %place\n"
         "  %pointer = inttoptr i64 %address to ptr\n"
         "  store i64 %value, ptr %pointer\n"
         "  ret void\n"
         "}\n";
}

/// The results of one call of compile.
struct Made {
  int32_t status = TSR_EINTERNAL;
  std::string image, messages;
  thunk::Text why;
};

struct Taken {
  std::string bytes;
  int32_t refusal = TSR_SUCCESS;
  static int32_t write(void *user, const void *data, uint64_t size) {
    auto &taken = *static_cast<Taken *>(user);
    if (taken.refusal != TSR_SUCCESS) return taken.refusal;
    if (size && !data) return TSR_EINVAL;
    taken.bytes.append(static_cast<const char *>(data), size);
    return TSR_SUCCESS;
  }
};

void make(Subject &s, const tsr_cg_target_t &t, const std::string &ir, Made &out,
          int32_t refusal = TSR_SUCCESS) {
  const char *kernels[] = {kKernel};
  const tsr_cg_input_t in = {sizeof in, t.architecture, ir.c_str(), ir.size(), kernels, 1};
  Taken image{{}, refusal}, messages;
  const tsr_cg_sink_t imageSink = {sizeof imageSink, &image, Taken::write};
  const tsr_cg_sink_t messageSink = {sizeof messageSink, &messages, Taken::write};
  out.status = tableOf(s).compile(&in, &imageSink, &messageSink, out.why);
  out.image = std::move(image.bytes), out.messages = std::move(messages.bytes);
}

void compiles(Subject &s) {
  for (const tsr_cg_target_t &t : targetsOf(s)) {
    Made made;
    make(s, t, moduleFor(t), made);
    s.must("compile", made.status, made.why);
    expect(!made.image.empty(), std::string("an image for ") + t.architecture, "no bytes");
  }
}

void codegenRepeats(Subject &s) {
  const tsr_cg_target_t t = targetsOf(s).at(0);
  Made first, second;
  make(s, t, moduleFor(t), first);
  make(s, t, moduleFor(t), second);
  s.must("compile", first.status, first.why);
  s.must("compile", second.status, second.why);
  expect(first.image == second.image, "the same image of the same input, which a cache may serve",
         "another one", "leave times, counters and names of temporary files out of the image");
}

void refusesGarbage(Subject &s) {
  const tsr_cg_target_t t = targetsOf(s).at(0);
  Made made;
  make(s, t, "this is no LLVM IR\n", made);
  s.mustFail("compile", made.status, made.why);
}

void unknownArchitecture(Subject &s) {
  tsr_cg_target_t t = targetsOf(s).at(0);
  const std::string ir = moduleFor(t);
  t.architecture = "no-such-architecture";
  Made made;
  make(s, t, ir, made);
  s.mustFail("compile", made.status, made.why);
}

void fullSink(Subject &s) {
  const tsr_cg_target_t t = targetsOf(s).at(0);
  Made made;
  make(s, t, moduleFor(t), made, TSR_EOOM);
  s.mustFail("compile", made.status, made.why, {TSR_EOOM});
}

void codegenThreads(Subject &s) {
  const tsr_cg_target_t t = targetsOf(s).at(0);
  Made wanted;
  make(s, t, moduleFor(t), wanted);
  s.must("compile", wanted.status, wanted.why);
  std::atomic<int> different = 0;
  {
    std::vector<std::jthread> all;
    for (int i = 0; i < 4; ++i)
      all.emplace_back([&] {
        Made made;
        make(s, t, moduleFor(t), made);
        different += made.status != TSR_SUCCESS || made.image != wanted.image;
      });
  }
  expectEqual(different.load(), 0, "calls of other threads that differ:");
}

constexpr Check kCodegenChecks[] = {
    {"codegen.listed", "Targets are counted from 0, each with an architecture of its own.", codegenListed,
     Needs::Slotted},
    {"codegen.fields", "Triple, image format and vector registers are what a compiler can use.", fields,
     Needs::Slotted},
    {"codegen.pure",
     "The same question gets the same answer.",
     codegenPure,
     Needs::Slotted,
     {},
     "codegen.fields"},
    {"codegen.in_bounds", "target writes no byte past a struct of another size.", codegenInBounds,
     Needs::Slotted},
    {"codegen.compiles",
     "Every target gets an image of a small kernel.",
     compiles,
     Needs::Slotted,
     {},
     "codegen.fields",
     60},
    {"codegen.repeats",
     "The same input gives the same image.",
     codegenRepeats,
     Needs::Slotted,
     {},
     "codegen.compiles",
     60},
    {"codegen.refuses_garbage",
     "What is no LLVM IR is refused with a text.",
     refusesGarbage,
     Needs::Slotted,
     {},
     "codegen.compiles",
     60},
    {"codegen.unknown_architecture",
     "An architecture that is not in the table is refused with a text.",
     unknownArchitecture,
     Needs::Slotted,
     {},
     "codegen.compiles",
     60},
    {"codegen.full_sink",
     "Where the host takes no more of the image, compile fails with the host's status.",
     fullSink,
     Needs::Slotted,
     {},
     "codegen.compiles",
     60},
    {"codegen.threads",
     "Several threads compile at once.",
     codegenThreads,
     Needs::Slotted,
     {},
     "codegen.repeats",
     60},
};

} // namespace

extern const Group kCodegen = {"codegen", TSR_PLUGIN_CODEGEN, false, kCodegenChecks};

} // namespace tessera::kit
