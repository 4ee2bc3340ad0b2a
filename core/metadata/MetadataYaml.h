// Helpers shared by the readers of the metadata document's sections. Private to the static library
// tessera-metadata: yaml-cpp and its exceptions stay inside the files that include this header, and
// KernelMetadata::fromYaml catches them.
#pragma once
#include "core/metadata/KernelMetadata.h"
#include "core/support/YamlText.h"
#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::yaml {

inline constexpr size_t kMaxEntries = 1024; // per list or map

/// Throws the error that fromYaml reports as "line N: key: text".
[[noreturn]] void reject(const YAML::Node &node, const std::string &key, const std::string &text);

std::string asText(const YAML::Node &node, const std::string &key);
int64_t asInt(const YAML::Node &node, const std::string &key, int64_t least);
double asDouble(const YAML::Node &node, const std::string &key);
/// Returns a constant of the dtype.
Number asNumber(const YAML::Node &node, const std::string &key, DType dtype);
DType asDType(const YAML::Node &node, const std::string &key);
/// Returns a sequence; an absent one counts as empty.
YAML::Node asList(const YAML::Node &node, const std::string &key, size_t most = kMaxEntries);
std::vector<std::string> asTexts(const YAML::Node &node, const std::string &key);
/// Returns a map of integers; an absent one counts as empty.
std::vector<std::pair<std::string, int64_t>> asInts(const YAML::Node &node, const std::string &key);
/// Checks that `node` is a map with known keys, each at most once. If `known` is empty, any key is accepted.
void checkMap(const YAML::Node &node, const std::string &key, std::initializer_list<std::string_view> known);

inline constexpr std::pair<std::string_view, MetadataParam::Kind> kKinds[] = {
    {"tensor", MetadataParam::Kind::Tensor},
    {"result", MetadataParam::Kind::Result},
    {"scalar", MetadataParam::Kind::Scalar},
    {"dim", MetadataParam::Kind::Dim}};
inline bool isTensorLike(MetadataParam::Kind kind) {
  return kind == MetadataParam::Kind::Tensor || kind == MetadataParam::Kind::Result;
}
inline bool isOne(const int64_t (&three)[3]) {
  return std::all_of(three, three + 3, [](int64_t n) { return n == 1; });
}

bool isIdentifier(std::string_view s);
bool isNumber(std::string_view s);
/// Returns whether `s` consists of identifiers joined by dots: "gemm", or "mlp.g0", a kernel generated for
/// the function mlp.
bool isEntryName(std::string_view s);

/// Reads a list of checks, whose values are expressions over `integers`; an absent list counts as empty.
std::vector<PlanCheck> readChecks(const YAML::Node &list, const std::string &key,
                                  const std::vector<std::string> &integers);
/// Writes the key `checks` unless the list is empty.
void writeChecks(YAML::Emitter &out, const std::vector<PlanCheck> &checks);

/// Reads the section `launch` without its variants, after the parameters.
void readLaunch(const YAML::Node &node, KernelMetadata &m);
/// Reads the variants of a function, and those of a kernel in older documents: entry and condition.
void readVariants(const YAML::Node &list, KernelMetadata &m);
/// Reads the variants of a kernel: all but the last have conditions.
void readLaunchVariants(const YAML::Node &list, KernelMetadata &m);

/// Reads the section `plan` of a function whose other sections have been read (HostPlan.cpp).
HostPlan readPlan(const YAML::Node &node, const KernelMetadata &function);
void writePlan(YAML::Emitter &out, const HostPlan &plan);

} // namespace tessera::yaml
