#include "mapper/host/TableMapper.h"
#include "core/plugin/Registry.h"
#include "mapper/host/Failure.h"
#include <cmath>

namespace tessera::mapping {
namespace {

/// Holds the lists of a call as C arrays during its lifetime.
class Strings {
public:
  explicit Strings(const Mapper::Names &names) {
    for (const std::string &name : names)
      pointers_.push_back(name.c_str());
  }
  const char *const *data() const { return pointers_.data(); }
  uint64_t size() const { return pointers_.size(); }

private:
  std::vector<const char *> pointers_;
};

class TableMapper final : public Mapper {
public:
  TableMapper(const tsr_mapper_api_t *api, tsr_mp_mapper_t *mapper, PluginRef plugin = nullptr)
      : plugin_(std::move(plugin)), api_(api), mapper_(mapper) {
    if (plugin_) ++plugin_->objects;
  }
  ~TableMapper() override {
    api_->destroy(mapper_);
    if (plugin_) --plugin_->objects;
  }

  Choice place(const Region &r, const Mesh &m) override {
    if (!TSR_HAS(api_, tsr_mapper_api_t, place) || !api_->place) return {};
    const tsr_mp_region_t region = {sizeof region,
                                    r.name.c_str(),
                                    r.axis.c_str(),
                                    r.dtype.c_str(),
                                    r.shape.data(),
                                    uint32_t(r.shape.size()),
                                    0};
    std::vector<tsr_mp_axis_t> axes;
    for (const auto &[name, size] : m.axes)
      axes.push_back({name.c_str(), size});
    const Strings devices(m.devices), groups(m.groups);
    const tsr_mp_mesh_t mesh = {sizeof mesh,    axes.data(),   axes.size(),  devices.data(),
                                devices.size(), groups.data(), groups.size()};
    return ask([&](tsr_mp_answer_t *out, tsr_text_t *why) {
      return api_->place(mapper_, &region, &mesh, out, why);
    });
  }

  Choice chooseCollective(const CollectiveCall &c) override {
    if (!TSR_HAS(api_, tsr_mapper_api_t, choose_collective) || !api_->choose_collective) return {};
    const Strings algorithms(c.algorithms);
    const tsr_mp_collective_t call = {sizeof call, c.kind.c_str(),     c.bytes,           c.ranks,
                                      0,           c.topology.c_str(), algorithms.data(), algorithms.size()};
    return ask([&](tsr_mp_answer_t *out, tsr_text_t *why) {
      return api_->choose_collective(mapper_, &call, out, why);
    });
  }

  Choice chooseVariant(const VariantCall &c) override {
    if (!TSR_HAS(api_, tsr_mapper_api_t, choose_variant) || !api_->choose_variant) return {};
    const Strings variants(c.variants);
    std::vector<const char *> names;
    std::vector<int64_t> dims;
    for (const auto &[name, value] : c.dims) {
      names.push_back(name.c_str());
      dims.push_back(value);
    }
    const tsr_mp_variant_t call = {sizeof call,     c.op.c_str(),    c.arch.c_str(),
                                   c.dtype.c_str(), variants.data(), variants.size(),
                                   names.data(),    dims.data(),     dims.size()};
    return ask([&](tsr_mp_answer_t *out, tsr_text_t *why) {
      return api_->choose_variant(mapper_, &call, out, why);
    });
  }

private:
  template <class Call> static Choice ask(Call call) {
    char text[1024] = "";
    tsr_mp_answer_t answer = {sizeof answer, {text, sizeof text, 0}, -1};
    thunk::Text why;
    if (int32_t status = call(&answer, why)) {
      std::string reason = why.str();
      throw Failure(
          status == TSR_EOOM || status == TSR_ETIMEOUT ? static_cast<tsr_status_t>(status) : TSR_EINVAL,
          "E_MAPPER_FAILED",
          reason.empty() ? "it failed with status " + std::to_string(status) + " and no text" : reason);
    }
    if (answer.choice.length >= sizeof text)
      throw Failure(TSR_EINVAL, "E_MAPPER_ANSWER",
                    "its answer has " + std::to_string(answer.choice.length) + " bytes, at most " +
                        std::to_string(sizeof text - 1) + " are taken");
    return {std::string(text, strnlen(text, sizeof text - 1)),
            std::isfinite(answer.predicted_ns) ? answer.predicted_ns : -1};
  }

  const PluginRef plugin_; // the plugin that provides the table; null: the program provides it
  const tsr_mapper_api_t *api_;
  tsr_mp_mapper_t *mapper_;
};

bool check(const tsr_mapper_api_t *api, std::string &why) {
  why.clear();
  if (!api || !TSR_HAS(api, tsr_mapper_api_t, destroy) || !api->destroy)
    why = "its table lacks the required slot destroy";
  else if (api->version_major != TSR_MAPPER_API_MAJOR)
    why = "its mapper interface is " + std::to_string(api->version_major) + "." +
          std::to_string(api->version_minor) + ", this runtime has " + std::to_string(TSR_MAPPER_API_MAJOR) +
          "." + std::to_string(TSR_MAPPER_API_MINOR);
  return why.empty();
}

} // namespace

std::unique_ptr<Mapper> wrap(const tsr_mapper_api_t *api, tsr_mp_mapper_t *mapper, std::string &why) {
  if (!check(api, why)) return nullptr;
  if (!mapper) return why = "the mapper is NULL", nullptr;
  return std::make_unique<TableMapper>(api, mapper);
}

std::unique_ptr<Mapper> make(const tsr_mapper_api_t *api, const std::string &arguments, tsr_status_t &status,
                             std::string &why, PluginRef plugin) {
  status = TSR_EINVAL;
  if (!check(api, why)) return nullptr;
  if (!api->create) return why = "its table lacks the required slot create", nullptr;
  tsr_mp_mapper_t *made = nullptr;
  thunk::Text text;
  if (int32_t failed = api->create(&pluginHost(), arguments.c_str(), &made, text)) {
    if (failed == TSR_EOOM) status = TSR_EOOM;
    why = text.str().empty() ? "it failed with status " + std::to_string(failed) : text.str();
    return nullptr;
  }
  if (!made) return why = "it created no mapper", nullptr;
  return std::make_unique<TableMapper>(api, made, std::move(plugin));
}

} // namespace tessera::mapping
