// Indexing: elements and slices of tensors and shared buffers, and the implicit batch.
#include "compiler/frontend/sema/CallRules.h"
#include "compiler/frontend/sema/Elaborator.h"
#include <algorithm>

namespace tessera::frontend {

/// Returns a linear form of values that never change as an i64 expression; null if an atom does not qualify.
ExprPtr Elaborator::fromLinear(const Linear &l, Range loc) {
  for (auto [atom, c] : l.terms)
    if (!atomExprs_.count(atom)) return nullptr;
  Type i64{Type::Scalar, DType::I64, {}};
  ExprPtr sum;
  // Terms that are added come first, so that the text reads a + b - c.
  std::vector<std::pair<int, int64_t>> terms;
  for (bool positive : {true, false})
    for (auto [atom, c] : l.terms)
      if ((c > 0) == positive) terms.emplace_back(atom, c);
  // c - x rather than x * -1 + c.
  int64_t constant = l.constant;
  if (!terms.empty() && terms[0].second < 0 && constant != 0) sum = constInt(std::exchange(constant, 0), loc);
  for (auto [atom, c] : terms) {
    ExprPtr term = clone(*atomExprs_[atom]);
    term->loc = loc;
    bool negative = c < 0 && sum != nullptr && c != INT64_MIN;
    int64_t factor = negative ? -c : c;
    if (factor != 1) {
      std::vector<ExprPtr> args;
      args.push_back(std::move(term));
      args.push_back(constInt(factor, loc));
      term = make(Op::Mul, i64, loc, std::move(args));
    }
    if (!sum) {
      sum = std::move(term);
      continue;
    }
    std::vector<ExprPtr> args;
    args.push_back(std::move(sum));
    args.push_back(std::move(term));
    sum = make(negative ? Op::Sub : Op::Add, i64, loc, std::move(args));
  }
  if (!sum) return constInt(constant, loc);
  if (constant == 0) return sum;
  bool negative = constant < 0 && constant != INT64_MIN;
  std::vector<ExprPtr> args;
  args.push_back(std::move(sum));
  args.push_back(constInt(negative ? -constant : constant, loc));
  return make(negative ? Op::Sub : Op::Add, i64, loc, std::move(args));
}

/// Returns the form whose value is the integer, in 64 bits.
std::optional<Linear> Elaborator::exactForm(const Value &v) {
  return v.linear ? atoms_.exact(*v.linear, v.dtype) : std::nullopt;
}

/// An index is computed in its own dtype and then widened; if its form is known, it is computed from the
/// form.
ExprPtr Elaborator::indexExpr(const Value &v, Range loc) {
  if (std::optional<Linear> form = exactForm(v))
    if (ExprPtr e = fromLinear(*form, loc)) return e;
  return take(cast(v, DType::I64, loc), loc);
}

std::optional<int64_t> Elaborator::extentOf(const Value &start, const Value &stop, Range loc) {
  // The difference of two integers of one dtype wraps as that dtype does: s:s+8 has 8 elements in any dtype.
  std::optional<Linear> d;
  bool isOneDType = start.dtype == stop.dtype;
  std::optional<Linear> from = isOneDType ? start.linear : exactForm(start),
                        to = isOneDType ? stop.linear : exactForm(stop);
  if (from && to) d = subtract(*to, *from);
  if (d && isOneDType) d = atoms_.exact(*d, start.dtype);
  if (d && d->isConstant()) return d->constant;
  std::set<std::string> dims;
  bool onlyDims = d.has_value();
  if (d)
    for (auto [atom, c] : d->terms) {
      onlyDims &= atoms_.fixed(atom) && !atoms_.dims(atom).empty();
      dims.insert(atoms_.dims(atom).begin(), atoms_.dims(atom).end());
    }
  if (onlyDims) {
    want(dims, loc, "the extent of a tile");
    return std::nullopt;
  }
  fail(Code::E_SLICE, loc, "the extent of this slice, stop - start, is not a constant",
       "write it as start:start+N with a constant N: elements past the end of a tensor are masked");
  return std::nullopt;
}

void Elaborator::recordIteratorStep(const Value &start, int64_t extent, Range loc) {
  std::optional<Linear> form = exactForm(start);
  if (!form) return;
  for (Iterator &it : iterators_) {
    auto term = form->terms.find(it.atom);
    if (term == form->terms.end() || form->terms.size() != 1 || term->second != 1) continue;
    if (it.step == 0) {
      it.step = extent;
      it.stepLoc = loc;
    } else if (it.step != extent) {
      fail(Code::E_ITERATOR_STEP, loc,
           "'" + it.name + "' is used with slices of " + std::to_string(it.step) + " (line " +
               std::to_string(it.stepLoc.line) + ") and of " + std::to_string(extent) + " elements",
           "an implicit iterator has one step: the extent of its slices");
    }
  }
}

/// Evaluates one index or slice; appends its start and extent.
bool Elaborator::indexOne(const ast::Expr &e, const Value &extent, const std::string &what, Access &out) {
  if (e.kind != ast::Expr::Slice) {
    if (e.kind == ast::Expr::None) {
      fail(Code::E_INDEX, e.loc, "None inserts an axis into a tile, not into " + what,
           "load the tile first: (" + what + "[...])[:, None]");
      return false;
    }
    Value v = operand(e);
    if (v.isError()) return false;
    if (v.isTile() && isInt(v.dtype)) return indexByTile(std::move(v), e.loc, what, out);
    if (!v.isIntScalar()) {
      fail(Code::E_INDEX, e.loc,
           "an index is an integer, a slice or a tile of integers, found " + describe(v),
           v.isTile() ? "choose elements by a condition with ts.tile.where" : "");
      return false;
    }
    out.starts.push_back(indexExpr(v, e.loc));
    out.extents.push_back(-1);
    out.steps.push_back(1);
    return true;
  }
  int64_t step = 1;
  if (e.items[2]) {
    std::optional<int64_t> given = staticInt(*e.items[2], "the step of a slice");
    if (!given) return false;
    step = *given;
    if (step == 0 || step < -INT32_MAX || step > INT32_MAX) {
      fail(Code::E_SLICE, e.items[2]->loc,
           "a slice has a step other than 0 of at most 31 bits, found " + std::to_string(step));
      return false;
    }
  }
  // Of a slice that runs backwards, an omitted start is the last element and an omitted stop precedes the
  // first.
  Value first = step > 0 ? Value::integer(0) : binary(Op::Sub, extent, Value::integer(1), e.loc);
  Value start = e.items[0] ? operand(*e.items[0]) : std::move(first);
  Value stop = e.items[1] ? operand(*e.items[1]) : step > 0 ? extent : Value::integer(-1);
  if (start.isError() || stop.isError()) return false;
  if (!start.isIntScalar() || !stop.isIntScalar()) {
    fail(Code::E_SLICE, e.loc, "the bounds of a slice are integers");
    return false;
  }
  std::optional<int64_t> n = extentOf(start, stop, e.loc);
  if (!n) return false;
  const int64_t span = *n;
  if (step != 1) n = step > 0 ? (*n + step - 1) / step : (*n + step + 1) / step;
  if (*n < 1) {
    fail(Code::E_SLICE, e.loc, "this slice has " + std::to_string(*n) + " elements; a tile has at least 1");
    return false;
  }
  recordIteratorStep(start, span, e.loc);
  out.starts.push_back(indexExpr(start, e.loc));
  out.extents.push_back(*n);
  out.shape.push_back(*n);
  out.steps.push_back(step);
  return true;
}

/// An index for each element of a tile: a gather or a scatter.
bool Elaborator::indexByTile(Value v, Range loc, const std::string &what, Access &out) {
  if (out.gathered.empty()) out.gatherAxis = out.shape.size();
  // NumPy moves the axes of indices that are apart to the front. They are there already if no slice precedes
  // them.
  if (!out.gathered.empty() && out.gatherAxis != out.shape.size() && out.gatherAxis > 0) {
    fail(Code::E_INDEX, loc, "slices are before and between the tiles of indices of '" + what + "'",
         "start with a tile of indices: use an index from ts.tile.arange in place of the first slice");
    return false;
  }
  v = cast(std::move(v), DType::I64, loc);
  if (v.isError()) return false;
  Value &first = out.gathered.empty() ? v : out.gathered.front().second;
  if (!out.gathered.empty() && !broadcastPair(first, v, loc)) return false;
  out.gathered.emplace_back(out.starts.size(), std::move(v));
  out.starts.emplace_back();
  out.extents.push_back(-1);
  out.steps.push_back(1);
  return true;
}

/// Slices with steps are tiles of indices, one axis each, and so are the slices between them.
bool Elaborator::gatherSteps(Access &out, Range loc) {
  auto hasStep = [](int64_t step) { return step != 1; };
  auto first = std::ranges::find_if(out.steps, hasStep);
  if (first == out.steps.end()) return true;
  if (!out.gathered.empty()) {
    fail(Code::E_INDEX, loc, "a slice with a step stands beside a tile of indices",
         "write the slice as a tile of indices too: start + step * ts.tile.arange(n)");
    return false;
  }
  // The steps are those of the last dims; leading ones may be an implicit batch.
  const size_t skipped = out.starts.size() - out.steps.size();
  const size_t from = skipped + static_cast<size_t>(first - out.steps.begin());
  const size_t to = out.starts.size() -
                    static_cast<size_t>(std::ranges::find_if(out.steps.rbegin(), out.steps.rend(), hasStep) -
                                        out.steps.rbegin());
  std::vector<size_t> dims;
  for (size_t dim = 0; dim < to; ++dim) {
    if (out.extents[dim] < 0) continue;
    if (dim < from)
      ++out.gatherAxis;
    else
      dims.push_back(dim);
  }
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    const size_t dim = dims[axis];
    std::vector<ExprPtr> args;
    args.push_back(constInt(0, loc, DType::I32));
    Value tile =
        Value::of(make(Op::Arange, {Type::Tile, DType::I32, {out.extents[dim]}}, loc, std::move(args)));
    tile = cast(std::move(tile), DType::I64, loc);
    tile = binary(Op::Mul, std::move(tile), Value::integer(out.steps[dim - skipped]), loc);
    tile = binary(Op::Add, Value::of(std::move(out.starts[dim])), std::move(tile), loc);
    for (size_t more = axis + 1; more < dims.size(); ++more)
      tile = expandDims(std::move(tile), static_cast<int>(more - axis), loc);
    if (tile.isError() || (axis && !broadcastPair(out.gathered.front().second, tile, loc))) return false;
    out.gathered.emplace_back(dim, std::move(tile));
    out.extents[dim] = -1;
  }
  auto at = out.shape.begin() + static_cast<std::ptrdiff_t>(out.gatherAxis);
  out.shape.erase(at, at + static_cast<std::ptrdiff_t>(dims.size()));
  return true;
}

/// Broadcasts the tiles of indices together. Their axes are where the first of them is.
bool Elaborator::finishGather(Access &out, Range loc) {
  if (out.gathered.empty()) return true;
  const std::vector<int64_t> shape = out.gathered.front().second.shape;
  for (auto &[dim, v] : out.gathered) {
    Value wide = broadcastTo(std::move(v), shape, loc);
    if (wide.isError()) return false;
    out.starts[dim] = take(std::move(wide), loc);
  }
  out.gathered.clear();
  out.shape.insert(out.shape.begin() + static_cast<std::ptrdiff_t>(out.gatherAxis), shape.begin(),
                   shape.end());
  return true;
}

/// Returns the index of every element of the access, one value per dim: a scalar where all elements have the
/// same index, otherwise a tile with an axis of 1 where its index does not vary.
std::vector<Value> Elaborator::elementIndices(Access access, Range loc) {
  const size_t rank = access.shape.size();
  const auto slices =
      static_cast<size_t>(std::ranges::count_if(access.extents, [](int64_t extent) { return extent >= 0; }));
  const size_t gatherRank = rank - slices;
  std::vector<Value> out;
  size_t axis = 0; // of the next slice
  for (size_t dim = 0; dim < access.starts.size(); ++dim) {
    Value index = Value::of(std::move(access.starts[dim]));
    size_t last = access.gatherAxis + gatherRank; // the axis after those of the index
    if (access.extents[dim] >= 0) {
      std::vector<ExprPtr> args;
      args.push_back(constInt(0, loc, DType::I32));
      Value offset =
          Value::of(make(Op::Arange, {Type::Tile, DType::I32, {access.extents[dim]}}, loc, std::move(args)));
      index = binary(Op::Add, std::move(index), cast(std::move(offset), DType::I64, loc), loc);
      if (axis == access.gatherAxis) axis += gatherRank;
      last = ++axis;
    }
    if (index.isTile())
      for (size_t trailing = last; trailing < rank; ++trailing) {
        const auto end = static_cast<int>(index.shape.size());
        index = expandDims(std::move(index), end, loc);
      }
    out.push_back(std::move(index));
  }
  return out;
}

/// Fills the leading indices of a tensor that is indexed with fewer than its rank: they are launch axes,
/// which must be the same for every tensor of the kernel.
bool Elaborator::batchPrefix(int param, size_t count, Range loc, Access &out) {
  const Param &p = kernel_.params[static_cast<size_t>(param)];
  size_t missing = p.dims.size() - count;
  if (missing == 0) {
    if (batch_.fullName.empty()) {
      batch_.full = loc;
      batch_.fullName = p.name;
    }
    return true;
  }
  std::vector<std::string> dims;
  for (size_t i = 0; i < missing; ++i)
    dims.push_back(p.dims[i].symbol.empty() ? std::to_string(p.dims[i].constant) : p.dims[i].symbol);
  if (!batch_.used) {
    batch_.used = true;
    batch_.dims = dims;
    batch_.partial = loc;
    batch_.partialName = p.name;
    for (size_t i = 0; i < missing; ++i) {
      SymbolId s = newSymbol("batch" + std::to_string(i), {Type::Scalar, DType::I64, {}}, loc);
      immutable_.insert(s);
      batch_.symbols.push_back(s);
    }
  } else if (batch_.dims != dims) {
    auto list = [](const std::vector<std::string> &names) {
      std::string text;
      for (const std::string &n : names)
        text += (text.empty() ? "" : ", ") + n;
      return "(" + text + ")";
    };
    fail(Code::E_INDEX, loc,
         "'" + p.name + "' is indexed without its leading dims " + list(dims) + ", but '" +
             batch_.partialName + "' (line " + std::to_string(batch_.partial.line) + ") without " +
             list(batch_.dims),
         "implicit batch dims are the same for every tensor");
    return false;
  }
  for (SymbolId s : batch_.symbols) {
    out.starts.push_back(var(s, loc));
    out.extents.push_back(-1);
  }
  return true;
}

bool Elaborator::tensorAccess(int param, const ast::Expr &e, Access &out) {
  const Param &p = kernel_.params[static_cast<size_t>(param)];
  size_t count = e.items.size() - 1;
  if (count > p.dims.size()) {
    fail(Code::E_INDEX, e.loc,
         "'" + p.name + "' has " + std::to_string(p.dims.size()) + " dims, but " + std::to_string(count) +
             " indices are given");
    return false;
  }
  out.param = param;
  if (!batchPrefix(param, count, e.loc, out)) return false;
  size_t skip = p.dims.size() - count;
  bool ok = true;
  for (size_t i = 0; i < count; ++i)
    ok &= indexOne(*e.items[i + 1], dimExtent(p.dims[skip + i]), p.name, out);
  return ok && gatherSteps(out, e.loc) && finishGather(out, e.loc) &&
         (out.shape.empty() || checkTileSize(out.shape, e.loc));
}

bool Elaborator::bufferAccess(int symbol, const ast::Expr &e, Access &out) {
  const Symbol s = kernel_.symbols[static_cast<size_t>(symbol)];
  size_t count = e.items.size() - 1;
  if (count > s.type.shape.size()) {
    fail(Code::E_INDEX, e.loc,
         "'" + s.name + "' has " + std::to_string(s.type.shape.size()) + " axes, but " +
             std::to_string(count) + " indices are given");
    return false;
  }
  out.buffer = symbol;
  bool ok = true, whole = true;
  for (size_t i = 0; i < s.type.shape.size(); ++i) {
    if (i < count) {
      const ast::Expr &item = *e.items[i + 1];
      whole &= item.kind == ast::Expr::Slice && !item.items[0] && !item.items[1] && !item.items[2];
      ok &= indexOne(item, Value::integer(s.type.shape[i]), s.name, out);
    } else { // as in NumPy, omitted axes are taken whole
      out.starts.push_back(constInt(0, e.loc));
      out.extents.push_back(s.type.shape[i]);
      out.shape.push_back(s.type.shape[i]);
      out.steps.push_back(1);
    }
  }
  out.whole = whole;
  return ok && gatherSteps(out, e.loc) && finishGather(out, e.loc) &&
         (out.shape.empty() || checkTileSize(out.shape, e.loc));
}

/// One element of a buffer is accessed as a tile of one. Returns false for other accesses.
static bool makeSingle(auto &access) {
  if (access.buffer < 0 || !access.shape.empty()) return false;
  access.extents.back() = 1;
  access.shape.push_back(1);
  return true;
}

Elaborator::Access Elaborator::copyOf(const Access &a) {
  Access out{a.param, a.buffer, {}, a.extents, a.shape, a.whole, {}, {}, 0};
  for (const ExprPtr &start : a.starts)
    out.starts.push_back(clone(*start));
  return out;
}

std::optional<Elaborator::Access> Elaborator::access(const ast::Expr &e) {
  Access out;
  if (e.kind != ast::Expr::Subscript) {
    Value v = evaluate(e);
    if (v.kind == Value::Buffer && !v.transposed) {
      out.buffer = v.index;
      out.shape = kernel_.symbols[static_cast<size_t>(v.index)].type.shape;
      out.whole = true;
      return out;
    }
    if (v.kind == Value::Tensor)
      asOperand(std::move(v), e.loc);
    else if (!v.isError())
      fail(Code::E_TYPE, e.loc, "expected a slice of a tensor or a shared buffer, found " + describe(v));
    return std::nullopt;
  }
  Value base = evaluate(*e.items[0]);
  if (base.kind == Value::Tensor) {
    if (tensorAccess(base.index, e, out)) return out;
  } else if (base.kind == Value::Buffer) {
    if (base.transposed)
      fail(Code::E_INDEX, e.loc, "a transposed buffer cannot be indexed", "slice first, then transpose");
    else if (bufferAccess(base.index, e, out))
      return out;
  } else if (!base.isError()) {
    fail(Code::E_INDEX, e.loc, describe(base) + " cannot be stored into",
         e.items[0]->kind == ast::Expr::Subscript ? "write the indices into one pair of brackets: x[i, j]"
                                                  : "store into a tensor or a shared buffer");
  }
  return std::nullopt;
}

Value Elaborator::readBuffer(int symbol, Range loc) {
  ExprPtr e = make(Op::BufferRead, kernel_.symbols[static_cast<size_t>(symbol)].type, loc);
  e->type.kind = Type::Tile;
  e->symbol = symbol;
  Value v = Value::of(std::move(e));
  if (auto it = bufferAccum_.find(symbol); it != bufferAccum_.end()) v.accum = it->second;
  return v;
}

Value Elaborator::loadAccess(Access a, Range loc) {
  Value v = pendingLoad(std::move(a), loc);
  return ordered_ ? toVariable(std::move(v), "read", loc) : std::move(v);
}

Value Elaborator::pendingLoad(Access a, Range loc) {
  if (a.buffer >= 0) {
    const bool isSingle = makeSingle(a);
    if (a.whole) return readBuffer(a.buffer, loc);
    DType t = kernel_.symbols[static_cast<size_t>(a.buffer)].type.dtype;
    ExprPtr e = make(Op::BufferRead, {Type::Tile, t, a.shape}, loc, std::move(a.starts));
    e->symbol = a.buffer;
    e->ints = std::move(a.extents);
    Value v = Value::of(std::move(e));
    return isSingle ? rules::onlyElement(*this, std::move(v), loc) : std::move(v);
  }
  Param &p = kernel_.params[static_cast<size_t>(a.param)];
  p.reads = true;
  bool element = a.isElement();
  Type type{element ? Type::Scalar : Type::Tile, p.dtype, a.shape};
  ExprPtr e = make(element ? Op::LoadElem : Op::LoadTile, type, loc, std::move(a.starts));
  e->param = a.param;
  if (!element) e->ints = std::move(a.extents);
  Value v = Value::of(std::move(e));
  v.accum = p.policy.accum;
  return v;
}

void Elaborator::storeAccess(Access a, Value v, Range loc) {
  if (v.isError()) return;
  DType t = a.buffer >= 0 ? kernel_.symbols[static_cast<size_t>(a.buffer)].type.dtype
                          : kernel_.params[static_cast<size_t>(a.param)].dtype;
  const std::string &target = a.buffer >= 0 ? kernel_.symbols[static_cast<size_t>(a.buffer)].name
                                            : kernel_.params[static_cast<size_t>(a.param)].name;
  if (!v.converts(t)) {
    fail(Code::E_STORE_TYPE, loc,
         std::string("'") + target + "' holds " + name(t) + ", but " + describe(v) + " is stored",
         std::string("convert the value: ts.tile.cast(VALUE, ts.") + name(t) + ")");
    return;
  }
  v = convert(std::move(v), t, loc);
  if (v.isError()) return;
  if (makeSingle(a) || a.isElement()) {
    if (v.isTile()) {
      fail(Code::E_SHAPE, loc, "a tile of shape " + shapeText(v.shape) + " is stored into one element");
      return;
    }
  }
  if (!a.isElement()) {
    v = broadcastTo(std::move(v), a.shape, loc);
    if (v.isError()) return;
  }
  ExprPtr value = take(std::move(v), loc);
  Stmt &s = emit(a.buffer >= 0 ? Stmt::BufferWrite : a.isElement() ? Stmt::StoreElem : Stmt::StoreTile, loc);
  s.symbol = a.buffer;
  s.param = a.param;
  s.exprs.push_back(std::move(value));
  if (!a.whole) {
    for (ExprPtr &start : a.starts)
      s.exprs.push_back(std::move(start));
    if (!a.isElement()) s.ints = std::move(a.extents);
  }
  if (a.param >= 0) kernel_.params[static_cast<size_t>(a.param)].writes = true;
}

} // namespace tessera::frontend
