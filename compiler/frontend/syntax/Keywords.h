// The keywords of Python, and what is said where the tile language does not have their construct.
#pragma once
#include <algorithm>
#include <array>
#include <string_view>

namespace tessera::frontend {

/// Keywords that begin a construct of Python that the tile language does not have.
struct Refused {
  const char *word, *hint;
};
inline constexpr Refused kRefusedStatements[] = {
    {"class", "write functions; a kernel is a function with @ts.kernel"},
    {"try", "kernels raise no exceptions"},
    {"raise", "kernels raise no exceptions"},
    {"with", "allocate with ts.tile.alloc_shared; it lives as long as the program"},
    {"async", ""},
    {"global",
     "constants of the module are read without it; programs share the elements of a tensor, as with "
     "ts.tile.atomic_add"},
    {"nonlocal", ""},
    {"del", ""},
    {"assert",
     "write ts.tile.assert_(condition, \"message\"); checks on shapes belong to the parameters' annotations"},
    {"break", "put the condition into the loop: while, or an if around the rest of the body"},
    {"continue", "put an if around the rest of the body"},
    {"match", "write if/elif/else"},
};
inline constexpr std::array kKeywords = {
    "and",    "or",       "not",   "if",     "else",  "elif",     "for",    "while",
    "in",     "is",       "def",   "return", "pass",  "import",   "from",   "as",
    "lambda", "yield",    "await", "class",  "try",   "raise",    "with",   "async",
    "global", "nonlocal", "del",   "assert", "break", "continue", "except", "finally"};

inline bool isKeyword(std::string_view s) { return std::ranges::find(kKeywords, s) != kKeywords.end(); }

} // namespace tessera::frontend
