// Parses YAML from untrusted text: configuration files, metadata, decisions of mappers. yaml-cpp limits
// neither its memory nor its time; this does. It throws YAML's exceptions, as yaml-cpp does. Files that
// include this header must catch them.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <yaml-cpp/yaml.h>

namespace tessera::yaml {

struct Bounds {
  size_t bytes;
  size_t nodes; // each uses about 300 bytes of memory
};

/// Returns the single document of `text`, which must have no document markers. Throws YAML::ParserException
/// for any other text, for text that may exceed `bounds`, and for content after the document.
YAML::Node load(std::string_view text, const Bounds &bounds);

/// Formats an exception as "line 3: what is wrong". An error about the whole text has line 1.
std::string describe(const YAML::Exception &);

} // namespace tessera::yaml
