// The header: magic, version, length, then a Python dict literal with exactly the keys descr, fortran_order,
// shape.
#include "tools/npy/Npy.h"
#include <algorithm>
#include <cstring>

namespace tessera::npy {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr size_t maxRank = 32; // NumPy 1.x's own limit

/// A cursor over the dict literal. Each reader skips blanks first and consumes only on success.
class Literal {
public:
  explicit Literal(std::string_view text) : text_(text) {}

  bool eat(char c) {
    skipBlanks();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }

  bool eatWord(std::string_view word) {
    skipBlanks();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }

  /// Reads 'text' or "text" without escapes: no accepted header needs one.
  bool string(std::string_view &out) {
    skipBlanks();
    if (text_.empty() || (text_.front() != '\'' && text_.front() != '"')) return false;
    size_t end = text_.find(text_.front(), 1);
    if (end == std::string_view::npos) return false;
    out = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return out.find('\\') == std::string_view::npos;
  }

  /// Reads a non-negative integer below 2^63. Python 2 wrote longs as 12L.
  bool extent(int64_t &out) {
    skipBlanks();
    size_t digits = 0;
    int64_t value = 0;
    for (; digits < text_.size() && text_[digits] >= '0' && text_[digits] <= '9'; ++digits)
      if (__builtin_mul_overflow(value, int64_t(10), &value) ||
          __builtin_add_overflow(value, int64_t(text_[digits] - '0'), &value))
        return false;
    if (digits == 0) return false;
    text_.remove_prefix(digits);
    if (text_.starts_with('L')) text_.remove_prefix(1);
    out = value;
    return true;
  }

  bool atEnd() {
    skipBlanks();
    return text_.empty();
  }

private:
  void skipBlanks() {
    size_t n = text_.find_first_not_of(" \t\r\n");
    text_.remove_prefix(std::min(n, text_.size()));
  }
  std::string_view text_;
};

Error malformed(std::string message) { return {"E_NPY_FORMAT", std::move(message), ""}; }

MaybeError parseDescr(std::string_view text, Header &out) {
  std::string_view rest = text;
  if (!rest.empty() && std::string_view("<>|=").find(rest.front()) != std::string_view::npos) {
    out.bigEndian = rest.front() == '>';
    rest.remove_prefix(1);
  }
  if (parseElementType(rest, out.type)) return std::nullopt;
  return malformed("dtype '" + std::string(text) + "' is not a real number or bool type this tool reads");
}

MaybeError parseShape(Literal &in, Header &out) {
  const Error noTuple = malformed("the shape is not a tuple of non-negative integers");
  if (!in.eat('(')) return noTuple;
  out.shape.clear();
  bool comma = true;
  while (!in.eat(')')) {
    int64_t extent;
    if (!comma || !in.extent(extent)) return noTuple;
    if (out.shape.size() == maxRank) return malformed("the rank is above " + std::to_string(maxRank));
    out.shape.push_back(extent);
    comma = in.eat(',');
  }
  // "(3)" is a number in Python, not a tuple.
  if (out.shape.size() == 1 && !comma) return noTuple;
  return std::nullopt;
}

/// Computes the number of elements. Their bytes must fit in int64. As in NumPy, an extent of 0 does not
/// excuse an overflow of the other extents.
MaybeError countElements(Header &out) {
  int64_t product = out.type.bytes;
  bool empty = false;
  for (int64_t extent : out.shape) {
    if (extent == 0)
      empty = true;
    else if (__builtin_mul_overflow(product, extent, &product))
      return malformed("the shape has more elements than can be addressed");
  }
  out.elements = empty ? 0 : product / out.type.bytes;
  return std::nullopt;
}

MaybeError parseDict(std::string_view text, Header &out) {
  Literal in(text);
  bool descr = false, order = false, shape = false;
  const Error noDict = malformed("the header is not a dict of descr, fortran_order and shape");
  if (!in.eat('{')) return noDict;
  bool comma = true;
  while (!in.eat('}')) {
    std::string_view key, value;
    if (!comma || !in.string(key) || !in.eat(':')) return noDict;
    if (key == "descr" && !descr) {
      descr = true;
      if (!in.string(value)) return malformed("structured dtypes are not read");
      if (auto e = parseDescr(value, out)) return e;
    } else if (key == "fortran_order" && !order) {
      order = true;
      if (in.eatWord("True"))
        out.fortranOrder = true;
      else if (in.eatWord("False"))
        out.fortranOrder = false;
      else
        return noDict;
    } else if (key == "shape" && !shape) {
      shape = true;
      if (auto e = parseShape(in, out)) return e;
    } else {
      return malformed("unexpected or repeated key '" + std::string(key.substr(0, 40)) + "' in the header");
    }
    comma = in.eat(',');
  }
  if (!in.atEnd() || !descr || !order || !shape) return noDict;
  return std::nullopt;
}

} // namespace

std::string toString(ElementType t) { return t.kind + std::to_string(t.bytes); }

bool parseElementType(std::string_view text, ElementType &out) {
  static constexpr std::string_view known[] = {"f8", "f4", "f2", "i8", "i4", "i2",
                                               "i1", "u8", "u4", "u2", "u1", "b1"};
  if (text == "?") text = "b1";
  if (std::find(std::begin(known), std::end(known), text) == std::end(known)) return false;
  out = {text[0], uint8_t(text[1] - '0')};
  return true;
}

Expected<Header> parseHeader(std::span<const std::byte> file) {
  if (file.size() < 10 || std::memcmp(file.data(), magic.data(), magic.size()) != 0)
    return malformed("not a .npy file (the magic string is missing)");
  auto byteAt = [&](size_t i) { return std::to_integer<size_t>(file[i]); };
  size_t major = byteAt(6), lengthBytes = major == 1 ? 2 : 4;
  if (major < 1 || major > 3 || byteAt(7) != 0)
    return malformed("unknown .npy version " + std::to_string(major) + "." + std::to_string(byteAt(7)));
  size_t begin = 8 + lengthBytes, length = 0;
  if (file.size() < begin) return malformed("the file ends inside the header");
  for (size_t i = 0; i < lengthBytes; ++i)
    length |= byteAt(8 + i) << (8 * i);
  // The dicts written here are below 400 bytes even at the largest rank. Version 2 exists for structured
  // types, which are refused.
  if (length > maxHeaderBytes - begin)
    return malformed("the header claims " + std::to_string(length) +
                     " bytes, more than a plain array's can have");
  if (file.size() - begin < length) return malformed("the file ends inside the header");
  Header out;
  out.dataOffset = begin + length;
  std::string_view text(reinterpret_cast<const char *>(file.data()) + begin, length);
  if (auto e = parseDict(text, out)) return *e;
  if (auto e = countElements(out)) return *e;
  return out;
}

std::string makeHeader(ElementType type, std::span<const int64_t> shape) {
  std::string dict = "{'descr': '";
  dict += type.bytes == 1 ? '|' : '<';
  dict += toString(type) + "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < shape.size(); ++i)
    dict += std::to_string(shape[i]) + (i + 1 < shape.size() ? ", " : shape.size() == 1 ? "," : "");
  dict += "), }";
  constexpr size_t preamble = 10;
  dict.append((64 - (preamble + dict.size() + 1) % 64) % 64, ' ');
  dict += '\n';
  std::string header(magic);
  header += {'\x01', '\x00', char(dict.size() & 0xff), char(dict.size() >> 8)};
  return header + dict;
}

} // namespace tessera::npy
