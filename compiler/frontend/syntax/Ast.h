// The untyped syntax tree: the subset of Python that the language reads, before names are resolved.
#pragma once
#include "compiler/frontend/program/Program.h"
#include <memory>
#include <string>
#include <vector>

namespace tessera::frontend::ast {

/// No tree is deeper than this, so that the stages after the parser may recurse.
constexpr unsigned kMaxDepth = 256;

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct Keyword {
  std::string name;
  Range loc;
  ExprPtr value;
};

struct Expr {
  enum Kind : uint8_t {
    Error, // already reported
    Name,  // text
    Int,
    Float,
    Str,
    Bool /* intValue */,
    None,
    Attribute, // items[0].text
    Subscript, // items[0][items[1..]]; text: "," if it has a comma, as x[t,] has
    Slice,     // items = {start, stop, step}, each may be null
    Call,      // items[0](items[1..], keywords)
    Unary,     // text: - + ~ not
    Binary,    // text: the operator
    Compare,   // items[0] ops[0] items[1] ops[1] items[2] ...
    BoolOp,    // text: and or
    IfExp,     // items = {condition, then, else}
    Tuple,
    List,          // items
    Dict,          // keywords (string keys only)
    Comprehension, // [items[0] for items[1] in items[2] if items[3]]; the condition may be missing
  };
  Kind kind = Error;
  bool joins = false; // Comprehension: of the lists that items[0] gives; else they would be the elements
  uint16_t depth = 1;
  Range loc;
  std::string text;
  int64_t intValue = 0;
  double floatValue = 0;
  std::vector<ExprPtr> items;
  std::vector<Keyword> keywords;
  std::vector<std::string> ops;
};

struct Stmt;
using Block = std::vector<Stmt>;

struct Parameter {
  std::string name;
  Range loc;
  ExprPtr annotation, defaultValue; // may be null
  bool isKeywordOnly = false;       // after a *
};

struct Stmt {
  enum Kind : uint8_t {
    Error,  // already reported; may assign anything
    Assign, // targets = value
    Aug,    // targets[0] text= value
    Expr,   // value
    For,    // for targets[0] in value
    While,
    If,     // value
    Return, // value may be null
    Pass,
    Function,
    Import, // text: module; names: {name, alias} (alias of the module itself under "")
  };
  Kind kind = Error;
  Range loc;
  std::string text;
  std::vector<ExprPtr> targets;
  ExprPtr value;
  Block body, orelse;
  // Function
  Range nameLoc;
  std::vector<ExprPtr> decorators;
  std::vector<Parameter> parameters;
  ExprPtr returns;
  // Import
  std::vector<std::pair<std::string, std::string>> names;
};

} // namespace tessera::frontend::ast
