// A mapper and a table of numerics profiles, with one behaviour replaced.
#include "tests/kit/Broken.h"
#include <stdexcept>
#include <tessera/mapper.hpp>
#include <tessera/plugin.hpp>
#include <unistd.h>

namespace {
using namespace tessera;
using kit::is;

bool isMainThread() { return gettid() == getpid(); }

class Mine final : public Mapper {
public:
  explicit Mine(std::string_view arguments) {
    if (is("uncreated") && arguments.empty()) throw std::runtime_error("not today");
    if (is("arguments") && arguments == "((((") std::abort();
    if (!arguments.empty()) throw std::invalid_argument("it takes no arguments");
  }
  Choice place(const Region &region, const Mesh &mesh) override {
    if (is("placed")) return "the_moon";
    return mesh.offers("local_switch") ? "local_switch" : "";
  }
  Choice chooseCollective(const CollectiveCall &call) override {
    if (is("ring")) return "ring";
    return call.offers("ring") ? Choice("ring", 1000) : Choice();
  }
  Choice chooseVariant(const VariantCall &call) override {
    if (is("stalls") && isMainThread() && call.op == "conv2d")
      for (;;)
        pause();
    if (is("outside")) return call.op == "softmax" ? "magic" : "";
    if (is("racy") && !isMainThread()) return "race";
    return call.variants.back();
  }
};

int32_t variantPast(tsr_mp_mapper_t *, const tsr_mp_variant_t *, tsr_mp_answer_t *out, tsr_text_t *) {
  if (out->choice.capacity < 8 && out->choice.data) std::memcpy(out->choice.data, "a_variant", 10);
  return TSR_SUCCESS;
}

const tsr_numerics_profile_t kProfiles[] = {
    {sizeof(tsr_numerics_profile_t), "calm", 1, 0, 0, 0, 0, 1, 1, 0},
    {sizeof(tsr_numerics_profile_t), "swift", 1, 1, 1, 1, 1, 0, 0, 0}};

int32_t profile(uint32_t index, tsr_numerics_profile_t *out) {
  if (index >= 2) return TSR_ENOTFOUND;
  static int calls = 0;
  tsr_numerics_profile_t p = kProfiles[index];
  if (is("twice")) p.name = "calm";
  if (is("two")) p.contraction = 2;
  if (is("moody") && calls++ / 2 % 2) p.contraction = 0; // every other pass over both profiles
  if (is("profile_past")) {
    std::memcpy(out, &p, sizeof p);
    return TSR_SUCCESS;
  }
  thunk::copyOut(out, p);
  return TSR_SUCCESS;
}

} // namespace

extern "C" __attribute__((visibility("default"))) int32_t tsrPluginQuery(const tsr_host_info_t *,
                                                                         tsr_plugin_info_t *info) {
  static tsr_mapper_api_t mapper;
  mapper = *mapperTable<Mine>();
  if (is("answers_past")) mapper.choose_variant = variantPast;
  if (is("placeless")) mapper.place = nullptr;
  static constexpr tsr_numerics_api_t numerics = {sizeof numerics, TSR_NUMERICS_API_MAJOR,
                                                  TSR_NUMERICS_API_MINOR, profile};
  tsr_plugin_info_t out{};
  out.abi_major = TSR_PLUGIN_ABI_MAJOR, out.built_minor = TSR_PLUGIN_ABI_MINOR;
  out.kinds = TSR_PLUGIN_MAPPER | TSR_PLUGIN_NUMERICS;
  out.name = "broken", out.version = "1.0", out.description = "broken on purpose";
  out.features_required = out.features_optional = out.compiler_abi = "";
  out.mapper = &mapper, out.numerics = &numerics;
  thunk::copyOut(info, out);
  return TSR_SUCCESS;
}
