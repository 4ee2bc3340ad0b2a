// Functions with effects: shared memory, copies, stores, atomics, fences.
#include "compiler/frontend/diagnostics/Suggest.h"
#include "compiler/frontend/sema/CallRules.h"
#include "compiler/frontend/sema/Names.h"
#include <algorithm>

namespace tessera::frontend::rules {

Value allocShared(Elaborator &ctx, const KernelCall &a) {
  const Range loc = a.loc;
  std::vector<int64_t> shape;
  bool ok = ctx.staticShape(*a[0], shape);
  std::optional<DType> t = ctx.staticDType(*a[1]);
  std::optional<std::string> swizzle = ctx.staticString(*a[2], "swizzle");
  if (!swizzle) return Value::error();
  if (std::ranges::find(names::kSwizzles, *swizzle) == std::end(names::kSwizzles))
    return ctx.fail(Code::E_ARGUMENTS, a[2]->loc,
                    "swizzle is \"none\" or \"xor\", found \"" + *swizzle + "\"",
                    didYouMean(*swizzle, names::kSwizzles));
  std::optional<int64_t> alignment = ctx.staticInt(*a[3], "an alignment");
  if (!alignment) return Value::error();
  const int64_t align = *alignment;
  if (align < 1 || align > 4096 || (align & (align - 1)))
    return ctx.fail(Code::E_ARGUMENTS, a[3]->loc,
                    "an alignment is a power of two up to 4096, found " + std::to_string(align));
  if (!ok || !t || !ctx.checkTileSize(shape, loc)) return Value::error();
  if (ctx.linearId_)
    return ctx.fail(Code::E_LANE_TILE, loc, "a linear_id() program is one lane and shares no memory",
                    "use a tile grid");

  SymbolId s = ctx.newSymbol("smem", {Type::Buffer, *t, shape}, loc);
  Symbol &symbol = ctx.kernel_.symbols[static_cast<size_t>(s)];
  symbol.swizzle = *swizzle;
  symbol.align = align;
  int64_t bytes = storageBytes(*t);
  for (int64_t n : shape)
    bytes *= n; // bounded by checkTileSize
  ctx.kernel_.sharedBytes = (ctx.kernel_.sharedBytes + align - 1) / align * align + bytes;
  if (ctx.kernel_.sharedBytes > ctx.options_.sharedLimit)
    ctx.fail(Code::E_SHARED_LIMIT, loc,
             "this allocation brings the kernel's shared memory to " +
                 std::to_string(ctx.kernel_.sharedBytes) + " bytes; the target has " +
                 std::to_string(ctx.options_.sharedLimit),
             "use smaller tiles");
  Value v;
  v.kind = Value::Buffer;
  v.index = s;
  return v;
}

/// Evaluates the start of each dim from an `index` argument: an integer or a tuple of integers.
static std::vector<Value> indexList(Value v) {
  if (v.kind == Value::Tuple) return std::move(v.items);
  std::vector<Value> out;
  out.push_back(std::move(v));
  return out;
}

/// The tile that 'load' reads, before its mask.
static Value loaded(Elaborator &ctx, const KernelCall &a) {
  const Range loc = a.loc;
  if (!a[1] && !a[2]) return ctx.operand(*a[0]);
  if (!a[1] || !a[2])
    return ctx.fail(Code::E_ARGUMENTS, loc, "'load' takes a slice, or a tensor, its index and a shape");
  Value base = ctx.evaluate(*a[0]);
  if (base.isError()) return base;
  if (base.kind != Value::Tensor)
    return ctx.fail(Code::E_TYPE, a[0]->loc, "'load' reads a tensor, found " + describe(base));
  std::vector<Value> starts = indexList(ctx.evaluate(*a[1]));
  Elaborator::Access out;
  out.param = base.index;
  if (!ctx.staticShape(*a[2], out.shape) || !ctx.checkTileSize(out.shape, loc)) return Value::error();
  size_t rank = ctx.kernel_.params[static_cast<size_t>(base.index)].dims.size();
  if (starts.size() != out.shape.size() || starts.size() > rank)
    return ctx.fail(Code::E_INDEX, loc,
                    "'load' takes one index and one extent per dim (" + std::to_string(rank) + ")");
  if (!ctx.batchPrefix(base.index, starts.size(), loc, out)) return Value::error();
  for (size_t i = 0; i < starts.size(); ++i) {
    Value start = ctx.asOperand(std::move(starts[i]), a[1]->loc);
    if (start.isError()) return start;
    if (!start.isIntScalar())
      return ctx.fail(Code::E_INDEX, a[1]->loc, "an index is an integer, found " + describe(start));
    ctx.recordIteratorStep(start, out.shape[i], loc);
    out.starts.push_back(ctx.indexExpr(start, loc));
    out.extents.push_back(out.shape[i]);
  }
  return ctx.loadAccess(std::move(out), loc);
}

Value load(Elaborator &ctx, const KernelCall &a) {
  Value v = loaded(ctx, a);
  if (v.isError() || (!a[3] && !a[4])) return v;
  if (!v.isTile()) return ctx.fail(Code::E_TYPE, a[0]->loc, "a mask is for a tile, found " + describe(v));
  if (a[3]) v = withMask(ctx, std::move(v), *a[3], "load");
  return a[4] ? withFill(ctx, std::move(v), *a[4], "load") : std::move(v);
}

Value store(Elaborator &ctx, const KernelCall &a) {
  const Range loc = a.loc;
  const ast::Expr *value = a[2];
  if (!value) {
    ctx.fail(Code::E_ARGUMENTS, loc, "'store' takes a slice and a value, or a tensor, its index and a value");
    return Value::none();
  }
  auto masked = [&](Value v, std::vector<int64_t> shape) {
    if (v.isError()) return v;
    if (shape.empty())
      return ctx.fail(Code::E_TYPE, a[0]->loc, "a mask is for a tile, found one element",
                      "write: if condition:");
    v = ctx.broadcastTo(ctx.strengthen(std::move(v)), shape, value->loc);
    return v.isError() ? std::move(v) : withMask(ctx, std::move(v), *a[3], "store");
  };
  if (!a[1]) { // ctx.store(A[i:i+64], value)
    if (value->kind == ast::Expr::Tuple) {
      ctx.fail(Code::E_ARGUMENTS, value->loc, "'store' has its index in brackets and as an argument",
               "write ts.tile.store(C[i:i+8], value)");
      return Value::none();
    }
    Value v = ctx.operand(*value);
    std::optional<Elaborator::Access> target = ctx.access(*a[0]);
    if (!target) return Value::none();
    if (a[3]) v = masked(std::move(v), target->shape);
    ctx.storeAccess(std::move(*target), std::move(v), loc);
    return Value::none();
  }
  Value base = ctx.evaluate(*a[0]);
  std::vector<Value> starts = indexList(ctx.evaluate(*a[1]));
  Value v = ctx.operand(*value);
  if (a[3]) {
    std::vector<int64_t> shape = v.shape;
    v = masked(std::move(v), std::move(shape));
  }
  if (base.isError() || v.isError()) return Value::none();
  if (base.kind != Value::Tensor) {
    ctx.fail(Code::E_TYPE, a[0]->loc, "'store' writes a tensor, found " + describe(base));
    return Value::none();
  }
  Elaborator::Access out;
  out.param = base.index;
  out.shape = v.shape;
  size_t rank = ctx.kernel_.params[static_cast<size_t>(base.index)].dims.size();
  if (starts.size() > rank || (v.isTile() && starts.size() != v.shape.size())) {
    ctx.fail(Code::E_INDEX, loc, "'store' takes one index per axis of the tile");
    return Value::none();
  }
  if (!ctx.batchPrefix(base.index, starts.size(), loc, out)) return Value::none();
  for (size_t i = 0; i < starts.size(); ++i) {
    Value start = ctx.asOperand(std::move(starts[i]), a[1]->loc);
    if (start.isError()) return Value::none();
    if (!start.isIntScalar()) {
      ctx.fail(Code::E_INDEX, a[1]->loc, "an index is an integer, found " + describe(start));
      return Value::none();
    }
    if (v.isTile()) ctx.recordIteratorStep(start, v.shape[i], loc);
    out.starts.push_back(ctx.indexExpr(start, loc));
    out.extents.push_back(v.isTile() ? v.shape[i] : -1);
  }
  ctx.storeAccess(std::move(out), std::move(v), loc);
  return Value::none();
}

/// A slice of a tensor that the statement itself reads or prefetches. If calls have effects, what is read is
/// stored to a variable; this argument is evaluated last, so its read is taken back from the variable.
static Value sliceArgument(Elaborator &ctx, const ast::Expr &e, const std::string &what, const char *hint) {
  const auto firstNew = static_cast<SymbolId>(ctx.kernel_.symbols.size());
  Value v = ctx.evaluate(e);
  if (v.isError()) return v;
  Block &block = *ctx.blocks_.back();
  if (v.isTile() && v.expr->op == Op::Var && v.expr->symbol >= firstNew && !block.empty())
    if (Stmt &last = block.back(); last.kind == Stmt::Assign && last.symbol == v.expr->symbol) {
      v.expr = std::move(last.exprs[0]);
      block.pop_back();
    }
  auto isTile = [](const ExprPtr &index) { return index->type.kind == Type::Tile; };
  if (v.isTile() && v.expr->op == Op::LoadTile && std::ranges::none_of(v.expr->args, isTile)) return v;
  return ctx.fail(Code::E_TYPE, e.loc, what + " a slice of a tensor, found " + describe(v), hint);
}

/// Copies into a part of a buffer: a load and a write of that part, complete at once, so that the next wait
/// has nothing to wait for.
static void cpAsyncPart(Elaborator &ctx, const KernelCall &a) {
  std::optional<Elaborator::Access> target = ctx.access(*a[0]);
  Value src = sliceArgument(ctx, *a[1], "'cp_async' copies", "assign computed tiles with smem[...] = tile");
  if (!target || src.isError()) return;
  ctx.storeAccess(std::move(*target), std::move(src), a.loc);
}

Value cpAsync(Elaborator &ctx, const KernelCall &a) {
  const Range loc = a.loc;
  if (a[0]->kind == ast::Expr::Subscript) {
    Value base = ctx.evaluate(*a[0]->items[0]);
    if (base.kind == Value::Buffer) {
      cpAsyncPart(ctx, a);
      return Value::none();
    }
  }
  Value dst = ctx.evaluate(*a[0]);
  if (!dst.isError() && (dst.kind != Value::Buffer || dst.transposed))
    dst = ctx.fail(Code::E_TYPE, a[0]->loc, "'cp_async' copies into a shared buffer, found " + describe(dst),
                   "allocate it with ts.tile.alloc_shared");
  Value src = sliceArgument(ctx, *a[1], "'cp_async' copies", "assign computed tiles with smem[:, :] = tile");
  if (dst.isError() || src.isError()) return Value::none();
  const Type &type = ctx.kernel_.symbols[static_cast<size_t>(dst.index)].type;
  if (src.dtype != type.dtype) {
    ctx.fail(Code::E_STORE_TYPE, loc,
             std::string("'cp_async' copies bits: the buffer holds ") + name(type.dtype) + ", the tensor " +
                 name(src.dtype));
    return Value::none();
  }
  if (src.shape != type.shape) {
    ctx.fail(Code::E_SHAPE, loc,
             "the buffer has shape " + shapeText(type.shape) + ", the slice " + shapeText(src.shape));
    return Value::none();
  }
  if (src.accum) ctx.bufferAccum_[dst.index] = *src.accum;
  ExprPtr e = ctx.take(std::move(src), loc);
  Stmt &s = ctx.emit(Stmt::CpAsync, loc);
  s.symbol = dst.index;
  s.exprs.push_back(std::move(e));
  return Value::none();
}

static bool readOrder(Elaborator &ctx, const ast::Expr &e, MemoryOrder &out) {
  std::optional<std::string> s = ctx.staticString(e, "order");
  if (!s) return false;
  for (size_t i = 0; i < std::size(names::kOrders); ++i)
    if (*s == names::kOrders[i]) {
      out = static_cast<MemoryOrder>(i);
      return true;
    }
  ctx.fail(Code::E_ATOMIC, e.loc, "'" + *s + "' is not a memory order",
           didYouMean(*s, names::kOrders, "one of relaxed, acquire, release, acq_rel, seq_cst"));
  return false;
}

static bool readScope(Elaborator &ctx, const ast::Expr &e, MemoryScope &out) {
  std::optional<std::string> s = ctx.staticString(e, "scope");
  if (!s) return false;
  for (size_t i = 0; i < std::size(names::kScopes); ++i)
    if (*s == names::kScopes[i]) {
      out = static_cast<MemoryScope>(i);
      return true;
    }
  ctx.fail(Code::E_ATOMIC, e.loc, "'" + *s + "' is not a memory scope",
           didYouMean(*s, names::kScopes, "one of group, device, system"));
  return false;
}

/// How an atomic is written.
static std::string usageOf(const LanguageFunction &f) {
  return std::string("write ts.tile.") + f.name +
         (f.id == FunctionId::AtomicCas ? "(C[i], compare, value)" : "(C[i], value)");
}

/// Returns the place of an atomic: the tensor, and an integer or a tile of integers for each of its dims.
/// `atomic_add(C[m:m+16, n], value)` and `atomic_add(C, (rows, n), value)` say the same.
static std::optional<std::vector<Value>> placeOfAtomic(Elaborator &ctx, const KernelCall &a, int &tensor) {
  const std::string what = std::string("'") + a.function.name + "'";
  const std::string usage = usageOf(a.function);
  auto onTensor = [&](const std::string &found) {
    ctx.fail(Code::E_ATOMIC, a[0]->loc, what + " works on a tensor, found " + found, usage);
    return std::nullopt;
  };
  if (a[0]->kind == ast::Expr::Subscript) {
    // An index that follows takes the place of the value, and the value that of the order.
    const ast::Expr *order = a[a.function.id == FunctionId::AtomicCas ? 4 : 3];
    const bool isTwice = a[1] || a[2]->kind == ast::Expr::Tuple || order->kind == ast::Expr::Int ||
                         order->kind == ast::Expr::Float;
    if (isTwice) {
      ctx.fail(Code::E_ARGUMENTS, a[1] ? a[1]->loc : a[2]->loc,
               what + " has its index in brackets and as an argument", usage);
      return std::nullopt;
    }
    std::optional<Elaborator::Access> access = ctx.access(*a[0]);
    if (!access) return std::nullopt;
    if (access->param < 0) return onTensor("shared memory");
    tensor = access->param;
    return ctx.elementIndices(std::move(*access), a[0]->loc);
  }
  if (!a[1]) {
    ctx.fail(Code::E_ARGUMENTS, a.loc, what + " lacks its argument 'index'", usage);
    return std::nullopt;
  }
  const Value base = ctx.evaluate(*a[0]);
  std::vector<Value> indices = indexList(ctx.evaluate(*a[1]));
  if (base.isError()) return std::nullopt;
  if (base.kind != Value::Tensor) return onTensor(describe(base));
  tensor = base.index;
  const Param &p = ctx.kernel_.params[static_cast<size_t>(tensor)];
  if (indices.size() > p.dims.size()) {
    ctx.fail(Code::E_INDEX, a[1]->loc,
             "'" + p.name + "' has " + std::to_string(p.dims.size()) + " dims, but " +
                 std::to_string(indices.size()) + " indices are given");
    return std::nullopt;
  }
  Elaborator::Access prefix;
  if (!ctx.batchPrefix(tensor, indices.size(), a.loc, prefix)) return std::nullopt;
  std::vector<Value> place;
  for (ExprPtr &start : prefix.starts)
    place.push_back(Value::of(std::move(start)));
  for (Value &v : indices) {
    v = ctx.asOperand(std::move(v), a[1]->loc);
    if (v.isError()) return std::nullopt;
    if (!isInt(v.dtype)) {
      ctx.fail(Code::E_ATOMIC, a[1]->loc, "an index is an integer, found " + describe(v));
      return std::nullopt;
    }
    place.push_back(v.isTile() ? ctx.cast(std::move(v), DType::I64, a.loc)
                               : Value::of(ctx.indexExpr(v, a.loc)));
  }
  return place;
}

Value atomic(Elaborator &ctx, const KernelCall &a) {
  const LanguageFunction &b = a.function;
  const Range loc = a.loc;
  const size_t last = b.id == FunctionId::AtomicCas ? 3 : 2; // of the values
  for (size_t i = 2; i <= last; ++i)
    if (!a[i])
      return ctx.fail(Code::E_ARGUMENTS, loc,
                      std::string("'") + b.name + "' lacks its argument '" +
                          (i < last ? "compare'" : "value'"),
                      usageOf(b));
  int tensor = -1;
  std::optional<std::vector<Value>> place = placeOfAtomic(ctx, a, tensor);
  std::vector<Value> values;
  for (size_t i = 2; i <= last; ++i)
    values.push_back(ctx.operand(*a[i]));
  MemoryOrder order;
  MemoryScope scope;
  bool ok = readOrder(ctx, *a[last + 1], order);
  ok &= readScope(ctx, *a[last + 2], scope);
  if (!ok || !place) return Value::error();
  Param &p = ctx.kernel_.params[static_cast<size_t>(tensor)];
  const int bits = info(p.dtype).bits;
  if ((bits != 32 && bits != 64) || p.dtype == DType::TF32)
    return ctx.fail(Code::E_UNIMPLEMENTED, loc,
                    std::string("TSR_UNIMPLEMENTED: ") + b.name + " on " + name(p.dtype) +
                        " (built for i32, i64, u32, u64, f32, f64)");

  // Indices and values are all scalars, or are broadcast to one shape.
  std::vector<Value> all = std::move(*place);
  for (Value &v : values) {
    if (v.isError()) return v;
    if (!v.converts(p.dtype))
      return ctx.fail(Code::E_STORE_TYPE, loc,
                      "'" + p.name + "' holds " + name(p.dtype) + ", but the value is " + describe(v));
    all.push_back(ctx.convert(std::move(v), p.dtype, loc));
  }
  std::vector<int64_t> shape;
  for (const Value &v : all) {
    if (v.isError()) return Value::error();
    if (!v.isTile()) continue;
    std::optional<std::vector<int64_t>> joint = broadcastShape(shape, v.shape);
    if (!joint)
      return ctx.fail(Code::E_SHAPE, loc,
                      "the index and value tiles of an atomic do not broadcast: " + shapeText(shape) +
                          " and " + shapeText(v.shape),
                      "shapes are aligned at their last axis; insert axes with x[:, None]");
    shape = std::move(*joint);
  }
  if (!ctx.checkTileSize(shape, loc)) return Value::error();
  std::vector<ExprPtr> args;
  for (Value &v : all) {
    if (!shape.empty()) v = ctx.broadcastTo(std::move(v), shape, loc);
    args.push_back(ctx.take(std::move(v), loc));
  }
  Type type{shape.empty() ? Type::Scalar : Type::Tile, p.dtype, shape};
  ExprPtr e = ctx.make(Op::Atomic, type, loc, std::move(args));
  e->param = tensor;
  e->order = order;
  e->scope = scope;
  switch (b.id) {
  case FunctionId::AtomicMax:
    e->atomic = AtomicKind::Max;
    break;
  case FunctionId::AtomicMin:
    e->atomic = AtomicKind::Min;
    break;
  case FunctionId::AtomicXchg:
    e->atomic = AtomicKind::Xchg;
    break;
  case FunctionId::AtomicCas:
    e->atomic = AtomicKind::Cas;
    break;
  default:
    break;
  }
  p.atomics = p.reads = p.writes = true;
  // The effect happens here, exactly once, however the old value is used.
  return ctx.toVariable(Value::of(std::move(e)), "old", loc);
}

Value commitGroup(Elaborator &ctx, const KernelCall &a) {
  ctx.emit(Stmt::CommitGroup, a.loc);
  return Value::none();
}

Value waitGroup(Elaborator &ctx, const KernelCall &a) {
  std::optional<int64_t> n = ctx.staticInt(*a[0], "the number of groups to wait for");
  if (!n) return Value::error();
  if (*n < 0) return ctx.fail(Code::E_ARGUMENTS, a[0]->loc, "'wait_group' takes 0 or more");
  ctx.emit(Stmt::WaitGroup, a.loc).ints = {*n};
  return Value::none();
}

Value barrier(Elaborator &ctx, const KernelCall &a) {
  ctx.emit(Stmt::Barrier, a.loc);
  return Value::none();
}

Value prefetch(Elaborator &ctx, const KernelCall &a) {
  Value v = sliceArgument(ctx, *a[0], "'prefetch' takes", "");
  if (v.isError()) return v;
  ExprPtr load = ctx.take(std::move(v), a.loc);
  ctx.emit(Stmt::Prefetch, a.loc).exprs.push_back(std::move(load));
  return Value::none();
}

Value fence(Elaborator &ctx, const KernelCall &a) {
  MemoryOrder order;
  MemoryScope scope;
  bool ok = readOrder(ctx, *a[0], order);
  if (!readScope(ctx, *a[1], scope) || !ok) return Value::error();
  Stmt &s = ctx.emit(Stmt::Fence, a.loc);
  s.order = order;
  s.scope = scope;
  return Value::none();
}

} // namespace tessera::frontend::rules
