// Calls with an effect: shared memory, copies, stores, atomics, fences.
#include "compiler/frontend/diagnostics/Suggest.h"
#include "compiler/frontend/sema/Elaborator.h"

namespace tessera::frontend {

Value Elaborator::allocShared(const Arguments &a, Range loc) {
  std::vector<int64_t> shape;
  bool ok = staticShape(*a[0], shape);
  std::optional<DType> t = staticDType(*a[1]);
  std::string swizzle = "none";
  if (a[2]) {
    std::optional<std::string> s = staticString(*a[2], "swizzle");
    if (!s) return Value::error();
    swizzle = *s;
    if (swizzle != "none" && swizzle != "xor")
      return fail(Code::E_ARGUMENTS, a[2]->loc, "swizzle is \"none\" or \"xor\", found \"" + swizzle + "\"",
                  didYouMean(swizzle, {"none", "xor"}));
  }
  int64_t align = 16;
  if (a[3]) {
    std::optional<int64_t> n = staticInt(*a[3], "an alignment");
    if (!n) return Value::error();
    align = *n;
    if (align < 1 || align > 4096 || (align & (align - 1)))
      return fail(Code::E_ARGUMENTS, a[3]->loc,
                  "an alignment is a power of two up to 4096, found " + std::to_string(align));
  }
  if (!ok || !t || !checkTileSize(shape, loc)) return Value::error();
  if (linearId_)
    return fail(Code::E_LANE_TILE, loc, "a linear_id() program is one lane and shares no memory",
                "use a tile grid");

  SymbolId s = newSymbol("smem", {Type::Buffer, *t, shape}, loc);
  Symbol &symbol = kernel_.symbols[static_cast<size_t>(s)];
  symbol.swizzle = swizzle;
  symbol.align = align;
  int64_t bytes = storageBytes(*t);
  for (int64_t n : shape)
    bytes *= n; // bounded by checkTileSize
  kernel_.sharedBytes = (kernel_.sharedBytes + align - 1) / align * align + bytes;
  if (kernel_.sharedBytes > options_.sharedLimit)
    fail(Code::E_SHARED_LIMIT, loc,
         "this allocation brings the kernel's shared memory to " + std::to_string(kernel_.sharedBytes) +
             " bytes; the target has " + std::to_string(options_.sharedLimit),
         "use smaller tiles");
  Value v;
  v.kind = Value::Buffer;
  v.index = s;
  return v;
}

/// The start of each dim from an `index` argument: an integer or a tuple of them.
static std::vector<Value> indexList(Value v) {
  if (v.kind == Value::Tuple) return std::move(v.items);
  std::vector<Value> out;
  out.push_back(std::move(v));
  return out;
}

Value Elaborator::load(const Arguments &a, Range loc) {
  if (!a[1] && !a[2]) return operand(*a[0]);
  if (!a[1] || !a[2])
    return fail(Code::E_ARGUMENTS, loc, "'load' takes a slice, or a tensor, its index and a shape");
  Value base = evaluate(*a[0]);
  if (base.isError()) return base;
  if (base.kind != Value::Tensor)
    return fail(Code::E_TYPE, a[0]->loc, "'load' reads a tensor, found " + describe(base));
  std::vector<Value> starts = indexList(evaluate(*a[1]));
  Access out;
  out.param = base.index;
  if (!staticShape(*a[2], out.shape) || !checkTileSize(out.shape, loc)) return Value::error();
  size_t rank = kernel_.params[static_cast<size_t>(base.index)].dims.size();
  if (starts.size() != out.shape.size() || starts.size() > rank)
    return fail(Code::E_INDEX, loc,
                "'load' takes one index and one extent per dim (" + std::to_string(rank) + ")");
  if (!batchPrefix(base.index, starts.size(), loc, out)) return Value::error();
  for (size_t i = 0; i < starts.size(); ++i) {
    Value start = asOperand(std::move(starts[i]), a[1]->loc);
    if (start.isError()) return start;
    if (!start.isIntScalar())
      return fail(Code::E_INDEX, a[1]->loc, "an index is an integer, found " + describe(start));
    recordIteratorStep(start, out.shape[i], loc);
    out.starts.push_back(indexExpr(start, loc));
    out.extents.push_back(out.shape[i]);
  }
  return loadAccess(std::move(out), loc);
}

void Elaborator::store(const Arguments &a, Range loc) {
  const ast::Expr *value = a[2] ? a[2] : a[1];
  if (!value) {
    fail(Code::E_ARGUMENTS, loc, "'store' takes a slice and a value, or a tensor, its index and a value");
    return;
  }
  if (!a[2] || !a[1]) { // store(A[i:i+64], value)
    Value v = operand(*value);
    if (std::optional<Access> target = access(*a[0])) storeAccess(std::move(*target), std::move(v), loc);
    return;
  }
  Value base = evaluate(*a[0]);
  std::vector<Value> starts = indexList(evaluate(*a[1]));
  Value v = operand(*value);
  if (base.isError() || v.isError()) return;
  if (base.kind != Value::Tensor) {
    fail(Code::E_TYPE, a[0]->loc, "'store' writes a tensor, found " + describe(base));
    return;
  }
  Access out;
  out.param = base.index;
  out.shape = v.shape;
  size_t rank = kernel_.params[static_cast<size_t>(base.index)].dims.size();
  if (starts.size() > rank || (v.isTile() && starts.size() != v.shape.size())) {
    fail(Code::E_INDEX, loc, "'store' takes one index per axis of the tile");
    return;
  }
  if (!batchPrefix(base.index, starts.size(), loc, out)) return;
  for (size_t i = 0; i < starts.size(); ++i) {
    Value start = asOperand(std::move(starts[i]), a[1]->loc);
    if (start.isError()) return;
    if (!start.isIntScalar()) {
      fail(Code::E_INDEX, a[1]->loc, "an index is an integer, found " + describe(start));
      return;
    }
    if (v.isTile()) recordIteratorStep(start, v.shape[i], loc);
    out.starts.push_back(indexExpr(start, loc));
    out.extents.push_back(v.isTile() ? v.shape[i] : -1);
  }
  storeAccess(std::move(out), std::move(v), loc);
}

/// A slice of a tensor that the statement itself reads or fetches. Where calls have effects, what is read is
/// stored to a variable; this one is the last to be evaluated and takes the read back from it.
Value Elaborator::sliceArgument(const ast::Expr &e, const std::string &what, const char *hint) {
  const auto firstNew = static_cast<SymbolId>(kernel_.symbols.size());
  Value v = evaluate(e);
  if (v.isError()) return v;
  Block &block = *blocks_.back();
  if (v.isTile() && v.expr->op == Op::Var && v.expr->symbol >= firstNew && !block.empty())
    if (Stmt &last = block.back(); last.kind == Stmt::Assign && last.symbol == v.expr->symbol) {
      v.expr = std::move(last.exprs[0]);
      block.pop_back();
    }
  if (v.isTile() && v.expr->op == Op::LoadTile) return v;
  return fail(Code::E_TYPE, e.loc, what + " a slice of a tensor, found " + describe(v), hint);
}

void Elaborator::cpAsync(const Arguments &a, Range loc) {
  if (a[0]->kind == ast::Expr::Subscript) {
    Value base = evaluate(*a[0]->items[0]);
    if (base.kind == Value::Buffer) return cpAsyncPart(a, loc);
  }
  Value dst = evaluate(*a[0]);
  if (!dst.isError() && (dst.kind != Value::Buffer || dst.transposed))
    dst = fail(Code::E_TYPE, a[0]->loc, "'cp_async' copies into a shared buffer, found " + describe(dst),
               "allocate it with ts.tile.alloc_shared");
  Value src = sliceArgument(*a[1], "'cp_async' copies", "assign computed tiles with smem[:, :] = tile");
  if (dst.isError() || src.isError()) return;
  const Type &type = kernel_.symbols[static_cast<size_t>(dst.index)].type;
  if (src.dtype != type.dtype) {
    fail(Code::E_STORE_TYPE, loc,
         std::string("'cp_async' copies bits: the buffer holds ") + name(type.dtype) + ", the tensor " +
             name(src.dtype));
    return;
  }
  if (src.shape != type.shape) {
    fail(Code::E_SHAPE, loc,
         "the buffer has shape " + shapeText(type.shape) + ", the slice " + shapeText(src.shape));
    return;
  }
  if (src.accum) bufferAccum_[dst.index] = *src.accum;
  ExprPtr e = take(std::move(src), loc);
  Stmt &s = emit(Stmt::CpAsync, loc);
  s.symbol = dst.index;
  s.exprs.push_back(std::move(e));
}

/// Into a part of a buffer: a load and a write of that part, complete at once; the next wait has nothing to
/// add.
void Elaborator::cpAsyncPart(const Arguments &a, Range loc) {
  std::optional<Access> target = access(*a[0]);
  Value src = sliceArgument(*a[1], "'cp_async' copies", "assign computed tiles with smem[...] = tile");
  if (!target || src.isError()) return;
  storeAccess(std::move(*target), std::move(src), loc);
}

bool Elaborator::readOrder(const ast::Expr *e, MemoryOrder &out) {
  if (!e) return true;
  std::optional<std::string> s = staticString(*e, "order");
  if (!s) return false;
  static const std::vector<std::string> kNames = {"relaxed", "acquire", "release", "acq_rel", "seq_cst"};
  for (size_t i = 0; i < kNames.size(); ++i)
    if (*s == kNames[i]) {
      out = static_cast<MemoryOrder>(i);
      return true;
    }
  fail(Code::E_ATOMIC, e->loc, "'" + *s + "' is not a memory order",
       didYouMean(*s, kNames, "one of relaxed, acquire, release, acq_rel, seq_cst"));
  return false;
}

bool Elaborator::readScope(const ast::Expr *e, MemoryScope &out) {
  if (!e) return true;
  std::optional<std::string> s = staticString(*e, "scope");
  if (!s) return false;
  static const std::vector<std::string> kNames = {"group", "device", "system"};
  for (size_t i = 0; i < kNames.size(); ++i)
    if (*s == kNames[i]) {
      out = static_cast<MemoryScope>(i);
      return true;
    }
  fail(Code::E_ATOMIC, e->loc, "'" + *s + "' is not a memory scope",
       didYouMean(*s, kNames, "one of group, device, system"));
  return false;
}

Value Elaborator::atomic(const BuiltinInfo &b, const Arguments &a, Range loc) {
  bool isCas = b.id == Builtin::AtomicCas;
  Value base = evaluate(*a[0]);
  std::vector<Value> indices = indexList(evaluate(*a[1]));
  std::vector<Value> values;
  if (isCas) values.push_back(operand(*a[2]));
  values.push_back(operand(*a[isCas ? 3 : 2]));
  MemoryOrder order = MemoryOrder::Relaxed;
  MemoryScope scope = MemoryScope::Device;
  bool ok = readOrder(a[isCas ? 4 : 3], order);
  ok &= readScope(a[isCas ? 5 : 4], scope);
  if (!ok || base.isError()) return Value::error();
  if (base.kind != Value::Tensor)
    return fail(Code::E_ATOMIC, a[0]->loc,
                std::string("'") + b.name + "' works on a tensor, found " + describe(base),
                "write ts.tile." + std::string(b.name) + "(tensor, index, value)");
  Param &p = kernel_.params[static_cast<size_t>(base.index)];
  if (p.dtype != DType::I32 && p.dtype != DType::I64 && p.dtype != DType::F32 && p.dtype != DType::F64)
    return fail(Code::E_UNIMPLEMENTED, loc,
                std::string("TSR_UNIMPLEMENTED: ") + b.name + " on " + name(p.dtype) +
                    " (built for i32, i64, f32, f64)");

  Access prefix;
  if (indices.size() > p.dims.size())
    return fail(Code::E_INDEX, a[1]->loc,
                "'" + p.name + "' has " + std::to_string(p.dims.size()) + " dims, but " +
                    std::to_string(indices.size()) + " indices are given");
  if (!batchPrefix(base.index, indices.size(), loc, prefix)) return Value::error();

  // Indices and values are all scalars, or tiles of one shape.
  std::vector<Value> all;
  for (ExprPtr &start : prefix.starts)
    all.push_back(Value::of(std::move(start)));
  for (Value &v : indices) {
    v = asOperand(std::move(v), a[1]->loc);
    if (v.isError()) return v;
    if (!isInt(v.dtype))
      return fail(Code::E_ATOMIC, a[1]->loc, "an index is an integer, found " + describe(v));
    all.push_back(v.isTile() ? cast(std::move(v), DType::I64, loc) : Value::of(indexExpr(v, loc)));
  }
  for (Value &v : values) {
    if (v.isError()) return v;
    if (!v.converts(p.dtype))
      return fail(Code::E_STORE_TYPE, loc,
                  "'" + p.name + "' holds " + name(p.dtype) + ", but the value is " + describe(v));
    all.push_back(convert(std::move(v), p.dtype, loc));
  }
  std::vector<int64_t> shape;
  for (const Value &v : all)
    if (v.isTile()) {
      if (!shape.empty() && shape != v.shape)
        return fail(Code::E_SHAPE, loc,
                    "the index and value tiles of an atomic have one shape, found " + shapeText(shape) +
                        " and " + shapeText(v.shape));
      shape = v.shape;
    }
  std::vector<ExprPtr> args;
  for (Value &v : all) {
    if (v.isError()) return v;
    if (!shape.empty()) v = broadcastTo(std::move(v), shape, loc);
    args.push_back(take(std::move(v), loc));
  }
  Type type{shape.empty() ? Type::Scalar : Type::Tile, p.dtype, shape};
  ExprPtr e = make(Op::Atomic, type, loc, std::move(args));
  e->param = base.index;
  e->order = order;
  e->scope = scope;
  switch (b.id) {
  case Builtin::AtomicMax:
    e->atomic = AtomicKind::Max;
    break;
  case Builtin::AtomicMin:
    e->atomic = AtomicKind::Min;
    break;
  case Builtin::AtomicXchg:
    e->atomic = AtomicKind::Xchg;
    break;
  case Builtin::AtomicCas:
    e->atomic = AtomicKind::Cas;
    break;
  default:
    break;
  }
  p.atomics = p.reads = p.writes = true;
  // The effect happens here and once, however the old value is used.
  return toVariable(Value::of(std::move(e)), "old", loc);
}

/// Calls that are statements. False when the call gives a value.
bool Elaborator::effectCall(const ast::Expr &e, const BuiltinInfo &b) {
  switch (b.id) {
  case Builtin::CpAsync:
  case Builtin::CommitGroup:
  case Builtin::WaitGroup:
  case Builtin::Barrier:
  case Builtin::Prefetch:
  case Builtin::Store:
  case Builtin::Fence:
    break;
  default:
    return false;
  }
  sawWork_ = true;
  Arguments a;
  if (!bind(e, b, a)) return true;
  switch (b.id) {
  case Builtin::CpAsync:
    cpAsync(a, e.loc);
    break;
  case Builtin::CommitGroup:
    emit(Stmt::CommitGroup, e.loc);
    break;
  case Builtin::Barrier:
    emit(Stmt::Barrier, e.loc);
    break;
  case Builtin::Store:
    store(a, e.loc);
    break;
  case Builtin::WaitGroup: {
    std::optional<int64_t> n = staticInt(*a[0], "the number of groups to wait for");
    if (!n) break;
    if (*n < 0)
      fail(Code::E_ARGUMENTS, a[0]->loc, "'wait_group' takes 0 or more");
    else
      emit(Stmt::WaitGroup, e.loc).ints = {*n};
    break;
  }
  case Builtin::Prefetch: {
    Value v = sliceArgument(*a[0], "'prefetch' takes", "");
    if (v.isError()) break;
    ExprPtr load = take(std::move(v), e.loc);
    emit(Stmt::Prefetch, e.loc).exprs.push_back(std::move(load));
    break;
  }
  default: {
    MemoryOrder order = MemoryOrder::SeqCst;
    MemoryScope scope = MemoryScope::Group;
    bool ok = readOrder(a[0], order);
    if (!readScope(a[1], scope) || !ok) break;
    Stmt &s = emit(Stmt::Fence, e.loc);
    s.order = order;
    s.scope = scope;
  }
  }
  return true;
}

} // namespace tessera::frontend
