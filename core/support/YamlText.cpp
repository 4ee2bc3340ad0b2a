#include "core/support/YamlText.h"
#include <algorithm>
#include <sstream>
#include <string>
#include <yaml-cpp/eventhandler.h>

namespace tessera::yaml {
namespace {

[[noreturn]] void refuse(const YAML::Mark &where, const std::string &why) {
  throw YAML::ParserException(where, why);
}

YAML::Mark startOf(std::string_view text, size_t at) {
  YAML::Mark mark;
  mark.pos = static_cast<int>(at);
  mark.line = static_cast<int>(std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(at), '\n'));
  mark.column = 0;
  return mark;
}

/// Refuses a line that starts with a document marker: yaml-cpp 0.7 loops forever on some texts with markers.
void checkMarkers(std::string_view text) {
  for (std::string_view marker : {"---", "..."})
    for (size_t at = 0; (at = text.find(marker, at)) != text.npos; ++at)
      if (at == 0 || text[at - 1] == '\n' || text[at - 1] == '\r')
        refuse(startOf(text, at), "expected one YAML document without markers (" + std::string(marker) + ")");
}

/// Returns an upper bound of the number of nodes. Every node except the first begins after one of these
/// characters.
size_t mostNodes(std::string_view text) {
  return 1 + static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
           return c == ',' || c == '[' || c == '{' || c == ':' || c == '-' || c == '?' || c == '\n' ||
                  c == '\r';
         }));
}

/// Refuses a second document in a text. This also stops a parser that makes no progress, since it reports one
/// document after another.
class OneDocument final : public YAML::EventHandler {
public:
  void OnDocumentStart(const YAML::Mark &where) override {
    if (isFound_) refuse(where, "expected nothing after the document");
    isFound_ = true;
  }
  void OnDocumentEnd() override {}
  void OnAlias(const YAML::Mark &, YAML::anchor_t) override {}
  void OnNull(const YAML::Mark &, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark &, const std::string &, YAML::anchor_t, const std::string &) override {}
  void OnSequenceStart(const YAML::Mark &, const std::string &, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark &, const std::string &, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

private:
  bool isFound_ = false;
};

void checkRest(const std::string &text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  OneDocument handler;
  while (parser.HandleNextDocument(handler)) {
  }
}

} // namespace

std::string describe(const YAML::Exception &e) {
  return "line " + std::to_string(std::max(0, e.mark.line) + 1) + ": " + e.msg;
}

YAML::Node load(std::string_view text, const Bounds &bounds) {
  if (text.size() > bounds.bytes)
    refuse(YAML::Mark::null_mark(), "it has " + std::to_string(text.size()) + " bytes; expected at most " +
                                        std::to_string(bounds.bytes));
  checkMarkers(text);
  if (mostNodes(text) > bounds.nodes)
    refuse(YAML::Mark::null_mark(),
           "it may hold more than the " + std::to_string(bounds.nodes) + " values that are read");
  const std::string copy(text);
  YAML::Node root = YAML::Load(copy);
  // A map or list in block style extends to the end of the text. Any other node may end earlier.
  if (root.Style() != YAML::EmitterStyle::Block) checkRest(copy);
  return root;
}

} // namespace tessera::yaml
