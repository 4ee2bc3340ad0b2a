// Checks of mappers: every answer is in the legal set or empty.
#include "tools/tsr-conformance/Groups.h"
#include "tools/tsr-conformance/Objects.h"
#include <algorithm>
#include <chrono>
#include <random>

namespace tessera::kit {
namespace {

using thunk::Text;
using Names = std::vector<const char *>;

class Mapper {
public:
  explicit Mapper(Subject &s) : s(s), api(thunk::copyIn(s.info().mapper)) {
    Text why;
    s.must("create", api.create(&kitHost(), "", &mapper, why), why);
    expect(mapper, "an object from create, which succeeded", "NULL");
  }
  ~Mapper() {
    if (mapper) api.destroy(mapper);
  }
  Mapper(const Mapper &) = delete;
  Mapper &operator=(const Mapper &) = delete;

  Subject &s;
  const tsr_mapper_api_t api;
  tsr_mp_mapper_t *mapper = nullptr;
};

/// Asks for one answer and checks it as a host does.
template <class Ask> void judge(const Mapper &m, const char *hook, const Names &legal, Ask ask) {
  char choice[300];
  std::memset(choice, 0x5A, sizeof choice);
  choice[0] = 0;
  tsr_mp_answer_t answer{sizeof answer, {choice, 256, 0}, -1};
  Text why;
  const auto begin = std::chrono::steady_clock::now();
  m.s.must(hook, ask(&answer, why), why);
  const auto took = std::chrono::steady_clock::now() - begin;
  expect(took < std::chrono::seconds(10), std::string(hook) + " answers within 10 s", "longer");
  for (size_t i = 256; i < sizeof choice; ++i)
    expect(choice[i] == 0x5A, std::string(hook) + " keeps to the 256 bytes of its answer",
           "a write past them");
  const std::string found(choice, strnlen(choice, 256));
  std::string set;
  for (const char *name : legal)
    set += (set.empty() ? "" : ", ") + std::string(name);
  const bool isLegal =
      found.empty() || std::any_of(legal.begin(), legal.end(), [&](auto *n) { return found == n; });
  expect(isLegal, std::string(hook) + " answers nothing or one of " + (set.empty() ? "none" : set),
         "'" + found + "'", "ask `offers` before answering");
  expect(answer.predicted_ns == answer.predicted_ns, "a predicted time, negative when there is none", "NaN");
}

using Random = std::mt19937_64;
const char *pick(Random &random, const Names &names) { return names[random() % names.size()]; }
Names some(Random &random, const Names &names, bool mayBeEmpty) {
  Names out;
  for (const char *name : names)
    if (random() % 2) out.push_back(name);
  if (out.empty() && !mayBeEmpty) out.push_back(names[random() % names.size()]);
  return out;
}

const Names kDtypes = {"f32", "bf16", "f16", "i8", "fp8_e4m3", "f64", "bool"};
const int64_t kExtents[] = {-1, 0, 1, 2, 127, 128, 4096, 1 << 20, INT64_MAX};

void askPlace(const Mapper &m, Random &random) {
  std::vector<tsr_mp_axis_t> axes;
  Names legal, devices;
  static const Names names = {"tp", "dp", "pp", "x"}, all = {"gpu:0", "gpu:1", "gpu:2", "gpu:3", "cpu:0"};
  for (const char *axis : some(random, names, true))
    axes.push_back({axis, random() % 8 + 1}), legal.push_back(axis);
  devices = some(random, all, false);
  Names groups = some(random, {"local_switch", "node", "rack"}, true);
  legal.insert(legal.end(), devices.begin(), devices.end());
  legal.insert(legal.end(), groups.begin(), groups.end());
  std::vector<int64_t> shape(random() % 5);
  for (int64_t &extent : shape)
    extent = kExtents[random() % std::size(kExtents)];
  const tsr_mp_region_t region = {sizeof region,
                                  pick(random, {"W1", "x", ""}),
                                  axes.empty() || random() % 2 ? "" : axes[0].name,
                                  pick(random, kDtypes),
                                  shape.data(),
                                  static_cast<uint32_t>(shape.size()),
                                  0};
  const tsr_mp_mesh_t mesh = {sizeof mesh,    axes.data(),   axes.size(),  devices.data(),
                              devices.size(), groups.data(), groups.size()};
  judge(m, "place", legal,
        [&](auto *answer, tsr_text_t *why) { return m.api.place(m.mapper, &region, &mesh, answer, why); });
}

void askCollective(const Mapper &m, Random &random) {
  const Names legal = some(
      random, {"ring", "tree", "sharp_ring", "direct", "staged", "native", "ordered", "hierarchical"}, false);
  const tsr_mp_collective_t call = {
      sizeof call,
      pick(random, {"all_reduce", "broadcast", "all_gather", "reduce_scatter", "all_to_all"}),
      random() >> (random() % 64),
      static_cast<uint32_t>(random() % 1000 + 1),
      0,
      pick(random, {"process", "node", "network"}),
      legal.data(),
      legal.size()};
  judge(m, "choose_collective", legal,
        [&](auto *answer, tsr_text_t *why) { return m.api.choose_collective(m.mapper, &call, answer, why); });
}

void askVariant(const Mapper &m, Random &random) {
  const Names legal = some(random, {"tile", "blas", "split_k", "stream_k", "vendor"}, false);
  const Names dims = some(random, {"M", "N", "K", "B"}, true);
  std::vector<int64_t> extents;
  for (size_t i = 0; i < dims.size(); ++i)
    extents.push_back(kExtents[random() % std::size(kExtents)]);
  const tsr_mp_variant_t call = {sizeof call,
                                 pick(random, {"matmul", "softmax", "conv2d", "no_such_op"}),
                                 pick(random, {"cpu:znver3", "gpu:v1", "gpu:v2"}),
                                 pick(random, kDtypes),
                                 legal.data(),
                                 legal.size(),
                                 dims.data(),
                                 extents.data(),
                                 dims.size()};
  judge(m, "choose_variant", legal,
        [&](auto *answer, tsr_text_t *why) { return m.api.choose_variant(m.mapper, &call, answer, why); });
}

using Ask = void (*)(const Mapper &, Random &);

template <Ask ask> void legality(Subject &s) {
  const Mapper m(s);
  Random random(2024);
  for (int i = 0; i < 500; ++i)
    ask(m, random);
}

void mapperCreate(Subject &s) {
  for (int i = 0; i < 20; ++i) {
    const Mapper a(s), b(s);
  }
}

/// Creates mappers with senseless arguments: the result must be an object or an error text, not a crash.
void arguments(Subject &s) {
  const tsr_mapper_api_t api = thunk::copyIn(s.info().mapper);
  for (const char *text : {"=,,=", "no_such_argument=1", "\xff\xfe", "((((", "x"}) {
    tsr_mp_mapper_t *mapper = nullptr;
    Text why;
    const int32_t status = api.create(&kitHost(), text, &mapper, why);
    if (status == TSR_SUCCESS) {
      expect(mapper, "an object from create, which succeeded", "NULL");
      api.destroy(mapper);
    } else {
      s.mustFail("create", status, why);
      expect(!mapper, "an out parameter that a failure leaves alone", "a write to it");
    }
  }
}

void mapperThreads(Subject &s) {
  const Mapper m(s);
  onThreads(8, [&](int t) {
    Random random(static_cast<uint64_t>(t));
    for (int i = 0; i < 100; ++i) {
      if (m.api.place) askPlace(m, random);
      if (m.api.choose_collective) askCollective(m, random);
      if (m.api.choose_variant) askVariant(m, random);
    }
  });
}

/// A choice longer than the buffer is cut and its full length is reported; nothing is written past the
/// buffer.
void shortAnswers(Subject &s) {
  const Mapper m(s);
  if (!m.api.choose_variant) throw Skip{"it has no choose_variant"};
  const Names legal = {"a_variant_of_a_rather_long_name"};
  const int64_t extents[] = {4096, 4096, 4096};
  const Names dims = {"M", "N", "K"};
  const tsr_mp_variant_t call = {sizeof call, "matmul",    "cpu:znver3", "f32", legal.data(),
                                 1,           dims.data(), extents,      3};
  for (uint64_t capacity : {0, 1, 4}) {
    char choice[64];
    std::memset(choice, 0x5A, sizeof choice);
    tsr_mp_answer_t answer{sizeof answer, {capacity ? choice : nullptr, capacity, 0}, -1};
    Text why;
    (void)m.api.choose_variant(m.mapper, &call, &answer, why);
    for (size_t i = capacity; i < sizeof choice; ++i)
      expect(choice[i] == 0x5A, "no write past an answer's room of " + std::to_string(capacity) + " bytes",
             "a write at byte " + std::to_string(i), "write with tessera::thunk::put");
  }
}

constexpr Check kMapperChecks[] = {
    {"mapper.create", "Mappers are made and destroyed, several at once.", mapperCreate, Needs::Slotted},
    {"mapper.arguments",
     "Arguments it cannot use are refused with a text, or ignored.",
     arguments,
     Needs::Slotted,
     {},
     "mapper.create"},
    {"mapper.place", "place answers with a device, group or axis of the mesh, or nothing, within 10 s.",
     legality<askPlace>, Needs::Slotted, "place", "mapper.create", 12},
    {"mapper.collective", "choose_collective answers with a listed algorithm, or nothing, within 10 s.",
     legality<askCollective>, Needs::Slotted, "choose_collective", "mapper.create", 12},
    {"mapper.variant", "choose_variant answers with a listed variant, or nothing, within 10 s.",
     legality<askVariant>, Needs::Slotted, "choose_variant", "mapper.create", 12},
    {"mapper.short_answers",
     "An answer keeps to the room it is given.",
     shortAnswers,
     Needs::Slotted,
     {},
     "mapper.create"},
    {"mapper.threads",
     "Several threads may ask at once.",
     mapperThreads,
     Needs::Slotted,
     {},
     "mapper.create",
     30},
};

} // namespace

extern const Group kMapper = {"mapper", TSR_PLUGIN_MAPPER, false, kMapperChecks};

} // namespace tessera::kit
