// Mappers in C++: they decide where tensors go, how collectives run and which implementation an operation
// gets. Derive from tessera::Mapper, override the decisions you want to take, and pass it to setMapper, or
// build it as a plugin (docs/extending/write-a-mapper.md).
//
//   struct Big : tessera::Mapper {
//     Choice chooseVariant(const VariantCall &c) override {
//       return c.offers("blas") && c.dim("M") > 256 ? "blas" : "";
//     }
//   };
//   tessera::setMapper(std::make_unique<Big>());
#pragma once
#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <tessera/plugin.h>
#include <tessera/tessera.hpp>
#include <tessera/thunk.hpp>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera {

/// The default of every hook returns nothing, which leaves the choice to the runtime. chooseCollective is
/// called once for each kind, size and number of ranks. Hooks run on a thread of the runtime, several at the
/// same time if several programs compile, and have 10 seconds to answer. An answer outside of the call's
/// legal set, or an exception, fails the compilation or call that asked.
class Mapper {
public:
  /// A name from the legal set; empty: the runtime's default.
  struct Choice {
    Choice() = default;
    Choice(const char *n, double predicted = -1) : name(n), predictedNs(predicted) {}
    Choice(std::string n, double predicted = -1) : name(std::move(n)), predictedNs(predicted) {}
    std::string name;
    double predictedNs = -1; // expected time, stored in the artifact's metadata; negative: none
  };
  using Names = std::vector<std::string>;

  /// A part of a tensor that needs a place.
  struct Region {
    std::string name, axis, dtype; // "W1"; the mesh axis it is split on ("tp") or ""; "bf16"
    std::vector<int64_t> shape;
  };
  struct Mesh {
    std::vector<std::pair<std::string, uint64_t>> axes; // name and ranks
    Names devices, groups; // "ptx:0", row-major over the axes; "local_switch": ranks with a fast link
    /// Returns the legal answers of place: devices, groups and the names of the axes.
    Names places() const {
      Names out = devices;
      out.insert(out.end(), groups.begin(), groups.end());
      for (const auto &axis : axes)
        out.push_back(axis.first);
      return out;
    }
    bool offers(std::string_view name) const { return has(places(), name); }
  };
  struct CollectiveCall {
    std::string kind;   // "all_reduce", "broadcast", "all_gather", "reduce_scatter", "all_to_all"
    uint64_t bytes = 0; // bytes that one rank contributes
    uint32_t ranks = 0;
    std::string topology; // "process", "node", "network"
    Names algorithms;     // the legal answers; if none is chosen, the implementation decides
    bool offers(std::string_view name) const { return has(algorithms, name); }
  };
  struct VariantCall {
    std::string op, arch, dtype;                       // "matmul", "cpu:znver3", "f32"
    Names variants;                                    // the legal answers, the default first
    std::vector<std::pair<std::string, int64_t>> dims; // "M", "N", "K"; -1: known only when it runs
    bool offers(std::string_view name) const { return has(variants, name); }
    int64_t dim(std::string_view name) const {
      for (const auto &[n, value] : dims)
        if (n == name) return value;
      return -1;
    }
  };

  virtual ~Mapper() = default;
  virtual Choice place(const Region &, const Mesh &) { return {}; }
  virtual Choice chooseCollective(const CollectiveCall &) { return {}; }
  virtual Choice chooseVariant(const VariantCall &) { return {}; }

private:
  static bool has(const Names &names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }
};

namespace thunk {

inline std::string str(const char *text) { return text ? text : ""; }
inline Mapper::Names names(const char *const *list, uint64_t count) {
  Mapper::Names out;
  for (uint64_t i = 0; list && i < count; ++i)
    out.push_back(str(list[i]));
  return out;
}

/// Runs one hook and stores its answer.
template <class Hook> int32_t answer(tsr_mp_answer_t *out, tsr_text_t *why, Hook hook) noexcept {
  return guard(why, [&](std::string &) {
    const Mapper::Choice choice = hook();
    put(&out->choice, choice.name);
    if (TSR_HAS(out, tsr_mp_answer_t, predicted_ns)) out->predicted_ns = choice.predictedNs;
    return TSR_SUCCESS;
  });
}

inline Mapper &mapperOf(tsr_mp_mapper_t *m) { return *reinterpret_cast<Mapper *>(m); }

inline int32_t mapperPlace(tsr_mp_mapper_t *m, const tsr_mp_region_t *region, const tsr_mp_mesh_t *mesh,
                           tsr_mp_answer_t *out, tsr_text_t *why) noexcept {
  return answer(out, why, [&] {
    const tsr_mp_region_t r = copyIn(region);
    const tsr_mp_mesh_t h = copyIn(mesh);
    Mapper::Region to{str(r.name), str(r.axis), str(r.dtype), {}};
    if (r.shape) to.shape.assign(r.shape, r.shape + r.rank);
    Mapper::Mesh in{{}, names(h.devices, h.device_count), names(h.groups, h.group_count)};
    for (uint64_t i = 0; h.axes && i < h.axis_count; ++i)
      in.axes.emplace_back(str(h.axes[i].name), h.axes[i].size);
    return mapperOf(m).place(to, in);
  });
}

inline int32_t mapperCollective(tsr_mp_mapper_t *m, const tsr_mp_collective_t *call, tsr_mp_answer_t *out,
                                tsr_text_t *why) noexcept {
  return answer(out, why, [&] {
    const tsr_mp_collective_t c = copyIn(call);
    return mapperOf(m).chooseCollective(
        {str(c.kind), c.bytes, c.ranks, str(c.topology), names(c.algorithms, c.algorithm_count)});
  });
}

inline int32_t mapperVariant(tsr_mp_mapper_t *m, const tsr_mp_variant_t *call, tsr_mp_answer_t *out,
                             tsr_text_t *why) noexcept {
  return answer(out, why, [&] {
    const tsr_mp_variant_t c = copyIn(call);
    Mapper::VariantCall v{str(c.op), str(c.arch), str(c.dtype), names(c.variants, c.variant_count), {}};
    for (uint64_t i = 0; c.dim_names && c.dims && i < c.dim_count; ++i)
      v.dims.emplace_back(str(c.dim_names[i]), c.dims[i]);
    return mapperOf(m).chooseVariant(v);
  });
}

inline void mapperDestroy(tsr_mp_mapper_t *m) noexcept {
  guardVoid([&] { delete reinterpret_cast<Mapper *>(m); });
}

/// Creates an M from the text in the parentheses of TESSERA_MAPPER=name(text), if it has such a constructor.
template <class M>
int32_t mapperCreate(const tsr_host_info_t *, const char *arguments, tsr_mp_mapper_t **out,
                     tsr_text_t *why) noexcept {
  return guard(why, [&](std::string &text) -> int32_t {
    Mapper *made = nullptr;
    if constexpr (std::is_constructible_v<M, std::string_view>) {
      made = new M(std::string_view(arguments ? arguments : ""));
    } else {
      if (arguments && *arguments) return text = "it takes no arguments", TSR_EINVAL;
      made = new M();
    }
    *out = reinterpret_cast<tsr_mp_mapper_t *>(made);
    return TSR_SUCCESS;
  });
}

} // namespace thunk

/// Returns the C table of mapper class M for tsr_plugin_info_t::mapper.
template <class M> const tsr_mapper_api_t *mapperTable() noexcept {
  static constexpr tsr_mapper_api_t table = {
      sizeof(tsr_mapper_api_t), TSR_MAPPER_API_MAJOR, TSR_MAPPER_API_MINOR,    thunk::mapperCreate<M>,
      thunk::mapperDestroy,     thunk::mapperPlace,   thunk::mapperCollective, thunk::mapperVariant};
  return &table;
}

namespace thunk {

/// TSR_PLUGIN's handling of a class derived from Mapper.
template <std::derived_from<Mapper> M> void offer(Of<M>, tsr_plugin_info_t &info) {
  info.mapper = mapperTable<M>();
}

} // namespace thunk

/// Makes `mapper` the mapper of this process; null removes it. `name` is its name in errors and metadata.
/// Throws Error.
inline void setMapper(std::unique_ptr<Mapper> mapper, const std::string &name = "in-process") {
  if (!mapper) return check(tsrSetMapper(nullptr));
  check(tsrSetMapperTable(mapperTable<Mapper>(), reinterpret_cast<tsr_mp_mapper *>(mapper.get()),
                          name.c_str()));
  (void)mapper.release(); // the library owns it now
}

} // namespace tessera
