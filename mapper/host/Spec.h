// What TESSERA_MAPPER, tsrSetMapper and --mapper take: a name, or a name with something in parentheses.
//
//   spec      = name [ "(" arguments ")" ]
//   name      = a letter or _, then letters, digits, _ . -
//   arguments = any text whose parentheses match; which mapper it is says what it means
//
//   default    random(42)    logging(replay(decisions.yaml), out.yaml)    my_mapper(threshold=256)
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tessera::mapping {

/// A piece of the text; `at` is where it begins, for errors.
struct Piece {
  std::string text;
  size_t at = 0;
};

struct Spec {
  Piece name, arguments;
};

/// What is wrong with a spec, and the character where it is.
struct SpecError {
  std::string what;
  size_t at = 0;
};

/// `piece` as a spec; blanks around it do not count. False with `error` filled.
[[nodiscard]] bool parseSpec(const Piece &piece, Spec &out, SpecError &error);

/// Splits arguments at the commas outside of parentheses, blanks removed. No text: no pieces.
std::vector<Piece> splitArguments(const Piece &arguments);

/// "column 9: what", the text, and a caret below the character.
std::string show(std::string_view whole, const SpecError &error);

} // namespace tessera::mapping
