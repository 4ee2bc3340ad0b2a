#include "tests/shims/cuda/Ptx.h"
#include <regex>

namespace tessera::shim {
namespace {

using Match = std::smatch;

uint64_t bytesOf(const std::string &type) { return std::stoull(type.substr(1)) / 8; } // "u64", "b8", "f32"

uint64_t roundUp(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

/// Shared memory that is declared in `text` and named in `body`, in bytes.
uint64_t declaredShared(const std::string &text, const std::string &body, bool &hasDynamic) {
  static const std::regex declaration(
      R"((\.extern\s+)?\.shared\s+(?:\.align\s+\d+\s+)?\.b8\s+([\w$]+)\[(\d*)\])");
  uint64_t sum = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), declaration), end; it != end; ++it) {
    if (body.find((*it)[2]) == body.npos) continue;
    if ((*it)[1].matched || (*it)[3].length() == 0)
      hasDynamic = true;
    else
      sum += std::stoull((*it)[3]);
  }
  return sum;
}

/// Returns what is outside of functions. std::regex recurses for each character of a body, as far as the
/// stack goes.
std::string withoutBodies(const std::string &text) {
  std::string out;
  size_t from = 0;
  for (size_t body; (body = text.find("\n{", from)) != text.npos;) {
    out.append(text, from, body - from);
    const size_t end = text.find("\n}", body);
    if (end == text.npos) return out;
    from = end + 2;
  }
  return out.append(text, from);
}

} // namespace

bool readPtx(std::string_view view, PtxModule &out, std::string &why) {
  const std::string text(view);
  Match m;
  if (!std::regex_search(text, m, std::regex(R"(\.version\s+(\d+)\.(\d+))")))
    return why = "no .version", false;
  out.version = std::stoi(m[1]) * 10 + std::stoi(m[2]);
  if (!std::regex_search(text, m, std::regex(R"(\.target\s+sm_(\d+))"))) return why = "no .target", false;
  out.target = std::stoi(m[1]);
  static const std::regex entry(R"(\.entry\s+([\w$]+)\s*\(([^)]*)\)([^{]*)\{)");
  static const std::regex parameter(
      R"(\.param\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+(\.ptr\b[^,\n]*?)?([\w$]+)(?:\[(\d+)\])?\s*(?:,|$))");
  static const std::regex threads(R"(\.reqntid\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?)");
  static const std::regex cluster(R"(\.reqnctapercluster\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?)");
  const std::string outside = withoutBodies(text);
  for (std::sregex_iterator it(text.begin(), text.end(), entry), end; it != end; ++it) {
    OwnKernel kernel;
    kernel.name = (*it)[1];
    const std::string parameters = (*it)[2], directives = (*it)[3];
    for (std::sregex_iterator p(parameters.begin(), parameters.end(), parameter); p != end; ++p) {
      const uint64_t element = bytesOf((*p)[2]), count = (*p)[5].matched ? std::stoull((*p)[5]) : 1;
      const uint64_t align = (*p)[1].matched ? std::stoull((*p)[1]) : element;
      const uint64_t offset = roundUp(kernel.parameterBytes, align);
      kernel.parameters.push_back({offset, element * count, (*p)[3].matched});
      kernel.parameterBytes = offset + element * count;
    }
    if (std::regex_search(directives, m, threads))
      for (size_t axis = 0; axis < 3; ++axis)
        kernel.block[axis] = m[axis + 1].matched ? static_cast<uint32_t>(std::stoul(m[axis + 1])) : 1;
    if (std::regex_search(directives, m, cluster))
      for (size_t axis = 0; axis < 3; ++axis)
        kernel.cluster[axis] = m[axis + 1].matched ? static_cast<uint32_t>(std::stoul(m[axis + 1])) : 1;
    const auto from = static_cast<size_t>(it->position() + it->length());
    const std::string body = text.substr(from, text.find("\n}", from) - from);
    kernel.staticShared = declaredShared(body, body, kernel.hasDynamicShared) +
                          declaredShared(outside, body, kernel.hasDynamicShared);
    out.kernels.push_back(std::move(kernel));
  }
  return true;
}

} // namespace tessera::shim
