// The items of a subscript of a graph function as they are written, and what they select.
#pragma once
#include "compiler/frontend/sema/ElabGraph.h"
#include "compiler/frontend/sema/Names.h"

namespace tessera::frontend {

/// What is written for one dim, or an axis that is inserted.
struct SubscriptItem {
  const ast::Expr *source;
  Value index; // not of a slice or `...`
  bool isLeading() const { return source->kind == ast::Expr::Name && source->text == names::kLeading; }
  bool isSlice() const { return source->kind == ast::Expr::Slice; }
  bool isNewAxis() const { return index.kind == Value::None; }
  bool isAxis() const { return !isNewAxis() && !isLeading(); }
};

/// Evaluates the items of a subscript; nothing if one of them was refused. A tuple that is the whole
/// subscript gives its items: x[(i, j)] is x[i, j]. A tuple that is an item is a list of indices, as in
/// NumPy.
std::optional<std::vector<SubscriptItem>> readItems(Elaborator &, const ast::Expr &subscript);

/// Is this a mask, or one of its elements?
bool isMask(const Value &);

/// Refuses a mask; `what` begins the sentence.
void refuseMask(Elaborator &, const std::string &what, Range);

/// Reports what a list of indices has that is not an integer, or that it is too long.
bool checkList(Elaborator &, const SubscriptItem &list);

/// One index of a list, counted from the beginning of the dim.
struct ListedIndex {
  std::optional<DimExpr> known;
  Value computed; // i64, if it is known only when the function is called
};

/// What one entry of a subscript selects along a dim of the tensor, or an axis that it inserts. A `...` is a
/// slice of each dim that is not indexed. Where no dim is left it is NoDims, which still separates indices.
struct Entry {
  enum Kind : uint8_t { NewAxis, Slice, Number, Indices, NoDims };
  Kind kind;
  Range loc;
  DimExpr extent = DimExpr(1); // of a NewAxis, Slice or Number, or of Indices that are a range
  DimExpr start = DimExpr(0);  // of a Slice or Number, or of such Indices
  int64_t step = 1;            // of a Slice, or of such Indices
  bool isRange = false;        // of Indices: at equal distances, as those of a slice
  Value indices = {};          // of Indices: i64, counted from the beginning of the dim
  bool isList = false;         // of Indices: their tensor is made only for a gather
  std::vector<ListedIndex> list = {};
  bool makesAxis() const { return kind == NewAxis || kind == Slice; }
  bool hasDim() const { return kind != NewAxis && kind != NoDims; }
  bool isIndex() const { return kind == Number || kind == Indices; }
};

/// Returns the tensor of a list's indices. Each element is chosen by its position, which fuses with the
/// gather.
Value listTensor(Elaborator &, const Entry &list);

} // namespace tessera::frontend
