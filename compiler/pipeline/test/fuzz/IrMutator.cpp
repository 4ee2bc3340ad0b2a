#include "compiler/pipeline/test/fuzz/IrMutator.h"
#include <algorithm>
#include <cctype>
#include <random>

namespace tessera::fuzz {
namespace {

using Pieces = std::vector<std::string>;

bool isWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$';
}

/// Words with their sigil, numbers, single characters; white space stays with what follows it.
Pieces tokens(std::string_view text) {
  Pieces out;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && std::isspace(static_cast<unsigned char>(text[end])))
      ++end;
    if (end < text.size() && (text[end] == '%' || text[end] == '@' || text[end] == '#' || text[end] == '!'))
      ++end;
    const size_t word = end;
    while (end < text.size() && isWord(text[end]))
      ++end;
    if (end == word && end < text.size() && end == at) ++end;
    if (end == at) ++end;
    out.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return out;
}

Pieces lines(std::string_view text) {
  Pieces out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    out.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return out;
}

std::string join(const Pieces &pieces) {
  std::string out;
  for (const std::string &p : pieces)
    out += p;
  return out;
}

/// Of what kind a token is: tokens are exchanged for others of their kind.
char kindOf(const std::string &token) {
  const size_t at = token.find_first_not_of(" \n\t");
  if (at == std::string::npos) return ' ';
  const char c = token[at];
  return std::isdigit(static_cast<unsigned char>(c))   ? '0'
         : std::isalpha(static_cast<unsigned char>(c)) ? 'a'
                                                       : c;
}

constexpr const char *kNumbers[] = {"0",
                                    "1",
                                    "-1",
                                    "2",
                                    "3",
                                    "7",
                                    "16",
                                    "63",
                                    "64",
                                    "65",
                                    "4096",
                                    "65536",
                                    "2147483648",
                                    "4294967296",
                                    "-9223372036854775808",
                                    "9223372036854775807",
                                    "18446744073709551615",
                                    "1.0e+400",
                                    "?"};
constexpr const char *kWords[] = {"f32",   "f64",      "f16",    "bf16", "i1",     "i8",   "i32",  "i64",
                                  "index", "f8E4M3FN", "tensor", "tile", "vector", "true", "unit", "none"};

class Mutator {
public:
  Mutator(std::string_view other, uint32_t seed) : rng_(seed), other_(other) {}

  std::string once(const std::string &text) {
    if (text.empty()) return text;
    return pick(4) == 0 ? editLines(text) : editTokens(text);
  }
  size_t pick(size_t n) { return n ? rng_() % n : 0; }

private:
  std::string editLines(const std::string &text) {
    Pieces all = lines(text), foreign = lines(other_);
    const size_t at = pick(all.size());
    switch (pick(5)) {
    case 0:
      all.erase(all.begin() + std::ptrdiff_t(at));
      break;
    case 1:
      all.insert(all.begin() + std::ptrdiff_t(at), all[pick(all.size())]);
      break;
    case 2:
      std::swap(all[at], all[pick(all.size())]);
      break;
    case 3:
      if (!foreign.empty()) all[at] = foreign[pick(foreign.size())];
      break;
    default:
      if (pick(8) == 0) all.resize(at); // cut off
      break;
    }
    return join(all);
  }

  std::string editTokens(const std::string &text) {
    Pieces all = tokens(text);
    const size_t at = pick(all.size());
    const char kind = kindOf(all[at]);
    const std::string space = all[at].substr(0, all[at].find_first_not_of(" \n\t"));
    if (kind == '0' && pick(2)) {
      all[at] = (space == all[at] ? "" : space) + kNumbers[pick(std::size(kNumbers))];
    } else if (kind == 'a' && pick(4) == 0) {
      all[at] = (space == all[at] ? "" : space) + kWords[pick(std::size(kWords))];
    } else if (pick(6) == 0) {
      all.erase(all.begin() + std::ptrdiff_t(at));
    } else {
      // One of its kind from here or elsewhere.
      Pieces from = pick(3) ? all : tokens(other_);
      for (int tries = 0; tries < 64 && !from.empty(); ++tries)
        if (const std::string &t = from[pick(from.size())]; kindOf(t) == kind && t != all[at]) {
          all[at] = t;
          break;
        }
    }
    return join(all);
  }

  std::minstd_rand rng_;
  std::string_view other_;
};

} // namespace

std::string mutateIr(std::string_view text, std::string_view other, uint32_t seed) {
  Mutator m(other, seed);
  std::string out(text);
  for (size_t n = 1 + m.pick(4); n; --n)
    out = m.once(out);
  return out;
}

} // namespace tessera::fuzz
