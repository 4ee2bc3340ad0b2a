// The one way from text that others wrote to YAML nodes: configuration files, metadata, decisions of mappers.
// yaml-cpp bounds neither what it allocates nor how long it takes; this does. It throws YAML's exceptions, as
// yaml-cpp does: files that include this catch them.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <yaml-cpp/yaml.h>

namespace tessera::yaml {

struct Bounds {
  size_t bytes;
  size_t nodes; // each takes about 300 bytes of memory
};

/// The only document of `text`, without document markers. Throws YAML::ParserException for anything else, for
/// text that may hold more than `bounds`, and for content after the document.
YAML::Node load(std::string_view text, const Bounds &bounds);

/// "line 3: what is wrong"; line 1 where it is the whole text.
std::string describe(const YAML::Exception &);

} // namespace tessera::yaml
