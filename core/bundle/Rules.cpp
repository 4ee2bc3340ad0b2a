#include "core/bundle/Rules.h"
#include <set>
#include <utility>

namespace tessera {
namespace {

/// Accepts names without blanks, control characters, quotes and backslashes, which are safe for linkers and
/// terminals.
bool isName(std::string_view text) {
  if (text.empty() || text.size() > kMaxNameBytes) return false;
  for (unsigned char c : text)
    if (c <= ' ' || c == 0x7F || c == '"' || c == '\\') return false;
  return true;
}

std::string tooLarge(const std::string &what, size_t found, size_t limit) {
  return what + " is " + std::to_string(found) + ", at most " + std::to_string(limit) + " is allowed";
}

std::string brokenRule(const BundleImage &image, const std::string &where,
                       std::set<std::pair<std::string, std::string>> &seen) {
  if (!isName(image.target) || image.target.find(':') == std::string::npos)
    return where + ": the target is not of the form BACKEND:NAME";
  if (image.data.empty()) return where + " (" + image.target + ") has no data";
  if (image.entries.empty()) return where + " (" + image.target + ") has no entries";
  if (image.entries.size() > kMaxEntries)
    return tooLarge(where + ": the number of entries", image.entries.size(), kMaxEntries);
  for (const std::string &feature : image.features)
    if (!isName(feature)) return where + ": a CPU feature has an invalid name";
  for (const BundleEntry &entry : image.entries) {
    if (!isName(entry.name)) return where + ": an entry has an invalid name";
    if (entry.metadata.size() > kMaxDocumentBytes)
      return tooLarge(where + ": metadata of " + entry.name, entry.metadata.size(), kMaxDocumentBytes);
    if (!seen.emplace(image.target, entry.name).second)
      return where + ": two entries for " + image.target + " are named " + entry.name;
  }
  return "";
}

} // namespace

std::string brokenRule(const Bundle &bundle) {
  if (bundle.images.empty() && bundle.ir.empty()) return "the bundle holds neither an image nor IR";
  if (bundle.images.size() > kMaxImages)
    return tooLarge("the number of images", bundle.images.size(), kMaxImages);
  if (bundle.ir.size() > kMaxEntries)
    return tooLarge("the number of IR texts", bundle.ir.size(), kMaxEntries);
  if (bundle.decisions.size() > kMaxDocumentBytes)
    return tooLarge("the decisions document", bundle.decisions.size(), kMaxDocumentBytes);
  std::set<std::pair<std::string, std::string>> seen;
  for (size_t i = 0; i < bundle.images.size(); ++i)
    if (std::string why = brokenRule(bundle.images[i], "image " + std::to_string(i), seen); !why.empty())
      return why;
  std::set<std::pair<std::string, std::string>> texts;
  for (const BundleIr &ir : bundle.ir) {
    if (!isName(ir.entry)) return "an IR text has no sound entry name";
    if (ir.level != "graph" && ir.level != "tile")
      return "IR of " + ir.entry + " is of no known level (graph, tile)";
    if (!texts.emplace(ir.level, ir.entry).second) return "two " + ir.level + " IR texts of " + ir.entry;
  }
  return "";
}

} // namespace tessera
