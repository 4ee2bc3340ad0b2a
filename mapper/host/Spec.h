// Parses the form that TESSERA_MAPPER, tsrSetMapper and --mapper take: a name, or a name with arguments in
// parentheses.
//
//   spec      = name [ "(" arguments ")" ]
//   name      = a letter or _, then letters, digits, _ . -
//   arguments = any text whose parentheses match; the mapper defines its meaning
//
//   default    random(42)    logging(replay(decisions.yaml), out.yaml)    my_mapper(threshold=256)
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tessera::mapping {

/// A piece of the text. `at` is its position, for errors.
struct Piece {
  std::string text;
  size_t at = 0;
};

struct Spec {
  Piece name, arguments;
};

/// An error in a spec, and the position of the character.
struct SpecError {
  std::string what;
  size_t at = 0;
};

/// Parses `piece` as a spec, ignoring blanks around it. Fills `error` and returns false on failure.
[[nodiscard]] bool parseSpec(const Piece &piece, Spec &out, SpecError &error);

/// Splits arguments at the commas outside of parentheses and removes blanks. Empty text gives no pieces.
std::vector<Piece> splitArguments(const Piece &arguments);

/// Returns "column 9: what", the text, and a caret below the character.
std::string show(std::string_view whole, const SpecError &error);

} // namespace tessera::mapping
