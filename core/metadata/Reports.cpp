#include "core/metadata/Reports.h"
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <utility>

namespace tessera::reports {
namespace {

using Value = MetadataReport::Value;

constexpr int64_t kUnwritten = static_cast<int64_t>(0x0101010101010101 * uint64_t{kUnwrittenByte});
constexpr int64_t kAbridged = 1000,
                  kEdge = 3; // a larger tile shows this many elements at each end of an axis

template <class T> std::string shortest(T v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  char buffer[64];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, v).ptr};
}

std::string formatted(const Piece &p, double v) {
  if (!std::isfinite(v)) return shortest(v);
  const auto form = p.kind == 'f'   ? std::chars_format::fixed
                    : p.kind == 'e' ? std::chars_format::scientific
                                    : std::chars_format::general;
  char buffer[512]; // of 309 digits before the point and 99 after it
  return {buffer,
          std::to_chars(buffer, buffer + sizeof buffer, v, form, p.precision < 0 ? 6 : p.precision).ptr};
}

std::string element(const Piece &p, DType t, int64_t word, bool isMasked) {
  if (isMasked) return ".";
  if (t == DType::Bool) return word ? "True" : "False";
  if (isFloat(t)) {
    const auto v = std::bit_cast<double>(word);
    if (p.kind || p.precision >= 0) return formatted(p, v);
    return t == DType::F64 ? shortest(v) : shortest(static_cast<float>(v));
  }
  const auto bits = static_cast<uint64_t>(word);
  if (p.kind == 'x') {
    char buffer[32];
    const uint64_t mask = ~uint64_t{0} >> (64 - info(t).bits);
    return {buffer, std::to_chars(buffer, buffer + sizeof buffer, bits & mask, 16).ptr};
  }
  return t == DType::U64 ? std::to_string(bits) : std::to_string(word);
}

int64_t elementCount(const Value &v) {
  int64_t count = 1;
  for (int64_t n : v.shape)
    count *= n;
  return count;
}

int64_t wordCount(const Value &v) {
  return elementCount(v) * (!v.shape.empty() && hasMaskWords(v.dtype) ? 2 : 1);
}

/// "[[1 2] [3 .]]". The mask of an element is in the word `apart` from its own.
std::string tile(const Piece &p, const Value &v, size_t axis, bool isAbridged, const int64_t *&words,
                 int64_t apart) {
  if (axis == v.shape.size()) {
    const int64_t *word = words++;
    return element(p, v.dtype, *word, axis && word[apart] == kUnwritten);
  }
  const int64_t n = v.shape[axis];
  int64_t inner = 1;
  for (size_t i = axis + 1; i < v.shape.size(); ++i)
    inner *= v.shape[i];
  std::string out = "[";
  for (int64_t i = 0; i < n; ++i) {
    if (isAbridged && n > 2 * kEdge && i == kEdge) {
      words += (n - 2 * kEdge) * inner;
      i = n - kEdge;
      out += " ...";
    }
    out += (i ? " " : "") + tile(p, v, axis + 1, isAbridged, words, apart);
  }
  return out + "]";
}

std::string message(const MetadataReport &r, const int64_t *words) {
  std::vector<Piece> pieces;
  if (!parseFormat(r.text, pieces).empty()) return r.text; // the compiler has checked it
  auto next = [&, value = r.values.begin()](const Piece &p) mutable {
    if (value == r.values.end()) return std::string();
    const Value &v = *value++;
    const int64_t *at = words;
    words += wordCount(v);
    return tile(p, v, 0, elementCount(v) > kAbridged, at, wordCount(v) - elementCount(v));
  };
  std::string out;
  bool hasPlaces = false;
  for (const Piece &p : pieces) {
    out += p.text;
    hasPlaces |= p.hasValue;
    if (p.hasValue) out += next(p);
  }
  for (size_t i = 0; !hasPlaces && i < r.values.size(); ++i)
    out += (out.empty() ? "" : " ") + next({});
  return out;
}

/// "program (3, 1)", "lane 17"
std::string programText(const MetadataReport &r, int64_t number, std::span<const int64_t> grid) {
  if (r.isOfLane) return "lane " + std::to_string(number);
  if (grid.size() < 2) return "program " + std::to_string(number);
  std::string out;
  for (size_t i = grid.size(); i-- > 0;) {
    const int64_t n = std::max<int64_t>(grid[i], 1);
    out = std::to_string(i ? number % n : number) + (out.empty() ? "" : ", ") + out;
    number /= n;
  }
  return "program (" + out + ")";
}

} // namespace

std::string parseFormat(std::string_view format, std::vector<Piece> &out) {
  out.clear();
  Piece piece;
  for (size_t i = 0; i < format.size(); ++i) {
    const char c = format[i];
    if ((c == '{' || c == '}') && i + 1 < format.size() && format[i + 1] == c) {
      piece.text += c;
      ++i;
      continue;
    }
    if (c == '}') return "a single } is written }}";
    if (c != '{') {
      piece.text += c;
      continue;
    }
    const size_t end = format.find('}', i);
    if (end == format.npos) return "a { has no }; a brace is written {{";
    std::string_view spec = format.substr(i + 1, end - i - 1);
    const std::string shown = "{" + std::string(spec) + "}";
    piece.hasValue = true;
    if (!spec.empty() && spec[0] != ':')
      return "'" + shown + "': values are given in their order, with {} or {:.3f}";
    if (!spec.empty()) spec.remove_prefix(1);
    if (!spec.empty() && spec[0] == '.') {
      const char *last = spec.data() + spec.size();
      auto [rest, error] = std::from_chars(spec.data() + 1, last, piece.precision);
      if (error != std::errc() || piece.precision < 0 || piece.precision > 99)
        return "'" + shown + "': a precision is a number up to 99";
      spec.remove_prefix(static_cast<size_t>(rest - spec.data()));
    }
    if (!spec.empty() && std::string_view("fegdx").find(spec[0]) != std::string_view::npos) {
      piece.kind = spec[0];
      spec.remove_prefix(1);
    }
    if (!spec.empty() || (piece.precision >= 0 && (piece.kind == 'd' || piece.kind == 'x')))
      return "'" + shown + "': a form is {}, {:d}, {:x}, or {:.3f} with f, e or g";
    out.push_back(std::exchange(piece, {}));
    i = end;
  }
  if (!piece.text.empty()) out.push_back(std::move(piece));
  return "";
}

std::string checkFormat(std::string_view format, std::span<const DType> values) {
  std::vector<Piece> pieces;
  if (std::string why = parseFormat(format, pieces); !why.empty()) return why;
  size_t count = 0;
  for (const Piece &p : pieces) {
    if (!p.hasValue) continue;
    if (count < values.size() && (p.kind || p.precision >= 0)) {
      const bool isOfInts = p.kind == 'd' || p.kind == 'x';
      if (isFloat(values[count]) ? isOfInts : !isOfInts || values[count] == DType::Bool) {
        return std::string("a form of ") + (isOfInts ? "integers" : "floats") + " for value " +
               std::to_string(count + 1) + ", which is " + name(values[count]);
      }
    }
    ++count;
  }
  if (!count || count == values.size()) return "";
  return "it has " + std::to_string(count) + " {} for " + std::to_string(values.size()) + " values";
}

std::string typeText(const Value &v) {
  std::string out = name(v.dtype);
  for (size_t i = 0; i < v.shape.size(); ++i)
    out += (i ? ", " : "[") + std::to_string(v.shape[i]);
  return v.shape.empty() ? out : out + "]";
}

bool parseType(std::string_view text, Value &out) {
  const size_t open = std::min(text.find('['), text.size());
  const auto dtype = parseDType(text.substr(0, open));
  if (!dtype) return false;
  out = {*dtype, {}};
  int64_t count = 1;
  for (const char *at = text.data() + open, *end = text.data() + text.size(); at != end;) {
    if (*at++ != (out.shape.empty() ? '[' : ',')) return false;
    while (at != end && *at == ' ')
      ++at;
    int64_t n = 0;
    auto [rest, error] = std::from_chars(at, end, n);
    if (error != std::errc() || n < 1 || __builtin_mul_overflow(count, n, &count) || count > kWords)
      return false;
    out.shape.push_back(n);
    at = rest;
    if (at != end && *at == ']') return at + 1 == end;
  }
  return open == text.size();
}

Text read(const KernelMetadata &m, std::span<const int64_t> words, std::span<const int64_t> grid) {
  struct Record {
    int64_t program;
    size_t statement;
    const int64_t *values;
  };
  std::vector<Record> records;
  std::vector<int64_t> sizes;
  for (const MetadataReport &r : m.reports) {
    sizes.push_back(kValuesAt);
    for (const Value &v : r.values)
      sizes.back() += wordCount(v);
  }
  const int64_t end = std::min<int64_t>(kHeader + std::max<int64_t>(words[0], 0), std::ssize(words));
  for (int64_t at = kHeader; at < end;) {
    const auto statement = static_cast<size_t>(words[static_cast<size_t>(at)]);
    if (statement >= m.reports.size() || at + sizes[statement] > end) break; // past the end of the memory
    records.push_back(
        {words[static_cast<size_t>(at + 1)], statement, &words[static_cast<size_t>(at + kValuesAt)]});
    at += sizes[statement];
  }
  std::ranges::sort(records, {}, [](const Record &r) { return std::pair(r.program, r.values); });

  Text out;
  std::vector<int64_t> shown(m.reports.size());
  for (const Record &r : records) {
    const MetadataReport &from = m.reports[r.statement];
    const std::string line = programText(from, r.program, grid) + ": " + message(from, r.values);
    if (!from.isAssert)
      out.lines.push_back(from.place + ": " + line);
    else if (out.failure.empty())
      out.failure = from.place + ": assertion failed in " + line;
    ++shown[r.statement];
  }
  int64_t failures = 0;
  for (size_t i = 0; i < m.reports.size(); ++i) {
    const MetadataReport &r = m.reports[i];
    const int64_t count = words[1 + i];
    if (r.isAssert) {
      failures += count;
      if (count && out.failure.empty()) out.failure = r.place + ": assertion failed: " + r.text;
    } else if (count > shown[i]) {
      out.lines.push_back(r.place + ": " + std::to_string(shown[i]) + " of " + std::to_string(count) +
                          " records shown");
    }
  }
  if (failures > 1) out.failure += " (" + std::to_string(failures) + " failures)";
  return out;
}

} // namespace tessera::reports
