// The functions of the language: the rows of Functions.def, and the lookup of a row by name.
#pragma once
#include "compiler/ops/Ops.h"
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::ops {

enum class FunctionId : uint8_t {
#define TSR_ROW(id, ...) id,
#include "compiler/ops/Functions.def"
};

/// What the numerics profiles may change about a function.
enum class Numerics : uint8_t {
  Exact,       // one correct result: moves, selections, operators that round once
  Approximate, // within the error bound of docs/numerics.md
  Sums,        // the profile decides the order of its sums, @accum their dtype
  SumsInF32,   // a formula whose sums are in f32 whatever @accum is
};

/// Where a function may be called. A set of bits.
enum Place : uint8_t {
  Kernels = 1,
  Graphs = 2,
  Statement = 4, // returns no value
  Scalars = 8,   // graph functions evaluate it on scalars, as kernels do
};

struct Argument {
  std::string_view name;
  std::string_view otherwise; // the default as it is written in the source; "None" for one that depends

  constexpr bool optional() const { return !otherwise.empty(); }
};

/// The arguments of a function, parsed from text: "x, axis=-1"; "..." takes any number. It stores offsets
/// into that text rather than views of it, so that a table of signatures needs few relocations.
class Signature {
public:
  static constexpr size_t kMax = 11;

  constexpr Signature() = default;
  consteval Signature(const char *text); // NOLINT(google-explicit-constructor): rows are written as text

  constexpr bool takesAny() const { return takesAny_; }
  constexpr size_t size() const { return size_; }
  constexpr bool isGiven() const { return text_ != nullptr; }
  constexpr Argument operator[](size_t i) const {
    const Place &p = places_[i];
    return {{text_ + p.name, p.nameSize}, {text_ + p.otherwise, p.otherwiseSize}};
  }
  /// Returns the position of the argument of that name; size() if there is none.
  constexpr size_t find(std::string_view name) const {
    size_t i = 0;
    while (i < size_ && (*this)[i].name != name)
      ++i;
    return i;
  }

private:
  struct Place {
    uint8_t name = 0, nameSize = 0, otherwise = 0, otherwiseSize = 0;
  };
  const char *text_ = nullptr;
  std::array<Place, kMax> places_{};
  uint8_t size_ = 0;
  bool takesAny_ = false;
};

/// One name of a function. An alias is a LanguageFunction of its own that differs only in module and name.
struct LanguageFunction {
  FunctionId id;
  const char *module; // "tile", "op", "group", "dist", "math", "" for Python's own
  const char *name;
  uint8_t places = 0;
  Signature arguments;
  Signature graphArguments = {};       // if graph functions take other arguments than kernels
  std::optional<Op> op = {};           // the operation it becomes in a kernel ...
  std::optional<GraphOp> graphOp = {}; // ... and in a graph function, if it is one operation there
  Numerics numerics = Numerics::Exact;
  bool isConstant = false;    // may be called at module level
  const char *elsewhere = ""; // what to write where it may not be called
  const char *doc = "";       // one line for docs/language.md, in Markdown

  bool isIn(Place place) const { return (places & place) != 0; }
  const Signature &signature(Place place) const {
    return place == Graphs && graphArguments.isGiven() ? graphArguments : arguments;
  }
};

/// Every name of every function, in the order of Functions.def.
std::span<const LanguageFunction> allFunctions();

/// Returns the function `module.name`, for module paths as the frontend resolves them ("tessera",
/// "tessera.tile", "math", ...).
const LanguageFunction *findFunction(std::string_view module, std::string_view name);
/// Returns the path of a submodule, e.g. ("tessera", "tile") -> "tessera.tile"; empty if there is none.
std::string findSubmodule(std::string_view module, std::string_view name);
/// Returns a constant such as math.pi.
std::optional<double> findConstant(std::string_view module, std::string_view name);
/// Returns every name of a module, for suggestions.
std::vector<std::string> namesOf(std::string_view module);

consteval Signature::Signature(const char *text) : text_(text), takesAny_(std::string_view(text) == "...") {
  const std::string_view all(text);
  for (size_t at = 0; at < all.size() && !takesAny_;) {
    const size_t end = std::min(all.find(", ", at), all.size());
    const size_t equals = std::min(all.find('=', at), end);
    const size_t otherwise = std::min(equals + 1, end);
    places_[size_++] = {static_cast<uint8_t>(at), static_cast<uint8_t>(equals - at),
                        static_cast<uint8_t>(otherwise), static_cast<uint8_t>(end - otherwise)};
    at = end + 2;
  }
}

} // namespace tessera::ops
