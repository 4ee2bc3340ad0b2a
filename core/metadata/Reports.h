// What print and assert_ of kernels write, and its text.
//
// A kernel that reports has one launch value more than parameters, the first: an i64[kWords] in device
// memory. Word 0 counts the words of records, word 1 + i how often statement i reported. Records follow from
// kHeader on: number of the statement, number of the program, then the values, an i64 each (floats as the
// bits of an f64). A masked element is not written, so its word keeps kUnwritten. In tiles of 64-bit dtypes
// that is a value, too: their elements are followed by as many words again, which are 0 or 1, or kUnwritten
// where the element is masked.
#pragma once
#include "core/metadata/KernelMetadata.h"
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::reports {

inline constexpr int64_t kWords = 1 << 17, kStatements = 255, kHeader = 1 + kStatements;
inline constexpr int64_t kValuesAt = 2;       // in a record
inline constexpr int64_t kMostPerLaunch = 64; // records of one statement that are kept
inline constexpr uint8_t kUnwrittenByte = 0xA5;

/// Do elements of a tile of this dtype have a second word, for their mask?
inline bool hasMaskWords(DType t) { return info(t).bits == 64; }

/// A part of a format: text, and perhaps a value after it.
struct Piece {
  std::string text;
  bool hasValue = false;
  char kind = 0;      // f, e, g, d, x; 0: the dtype's own form
  int precision = -1; // of f, e and g
};

/// Parses "x = {}, y = {:.3f}"; `{{` and `}}` are braces. Returns what is malformed; "" if nothing is.
[[nodiscard]] std::string parseFormat(std::string_view format, std::vector<Piece> &out);

/// Checks a format against the dtypes of the values: it has one `{}` per value, or none at all. Returns what
/// is wrong; "" if nothing is.
[[nodiscard]] std::string checkFormat(std::string_view format, std::span<const DType> values);

/// "f32[8, 4]", "i32", and back.
std::string typeText(const MetadataReport::Value &);
[[nodiscard]] bool parseType(std::string_view text, MetadataReport::Value &out);

/// The text of a launch.
struct Text {
  std::vector<std::string> lines; // of print, in the order of the programs
  std::string failure;            // of assert_; empty: every assertion held
};

/// Reads the words of a launch. `grid` has the programs per axis of the kernel, outermost first.
Text read(const KernelMetadata &, std::span<const int64_t> words, std::span<const int64_t> grid);

} // namespace tessera::reports
