// Scans and reductions with a function of the program: the function is inlined once per step, on whole tiles.
//
// A step combines element i with element i - 2^k (scans) or pairs of neighbours (reductions), so that a
// function that is associative need not be commutative. An element that is out of bounds is absent: what it
// would be combined with takes its place.
#include "compiler/frontend/sema/CallRules.h"

namespace tessera::frontend::rules {
namespace {

using Tiles = std::vector<Value>;

/// The tiles of a scan or a reduction, and the function that combines two of each.
class Combination {
public:
  Combination(Elaborator &ctx, const KernelCall &a) : ctx_(ctx), call_(a), loc_(a.loc) {}

  /// Evaluates the arguments. Returns false after an error.
  bool read() {
    Value x = ctx_.evaluate(*call_[0]);
    if (x.isError()) return false;
    isTuple_ = x.kind == Value::Tuple;
    Tiles parts;
    if (isTuple_)
      parts = std::move(x.items);
    else
      parts.push_back(std::move(x));
    if (parts.empty()) return refuse(Code::E_TYPE, call_[0]->loc, "an empty tuple has nothing to combine");
    for (Value &part : parts) {
      part = ctx_.asOperand(std::move(part), call_[0]->loc);
      if (part.isError()) return false;
      if (!part.isTile())
        return refuse(Code::E_TYPE, call_[0]->loc,
                      what() + " takes a tile, or a tuple of tiles, found " + describe(part));
      if (part.shape != parts[0].shape)
        return refuse(Code::E_SHAPE, call_[0]->loc,
                      "the tiles of " + what() + " have one shape, found " + shapeText(parts[0].shape) +
                          " and " + shapeText(part.shape));
    }
    std::optional<int64_t> axis = ctx_.staticAxis(call_[1], parts[0].shape.size(), 0);
    if (!axis || !readFunction(parts.size())) return false;
    axis_ = static_cast<size_t>(*axis);
    for (Value &part : parts)
      tiles_.push_back(keep(std::move(part)));
    return true;
  }

  Value scan() {
    const int64_t extent = tiles_[0].shape[axis_];
    const Value all = present();
    // Filled tiles have no masks that each step would have to carry along.
    Tiles filled;
    for (const Value &v : tiles_)
      filled.push_back(keep(fill(v)));
    Tiles running = filled;
    Value isPresent = all;
    for (int64_t distance = 1; distance < extent; distance *= 2) {
      auto before = [&](const Value &v) { return part(v, 0, extent - distance); };
      auto here = [&](const Value &v) { return part(v, distance, extent - distance); };
      auto start = [&](const Value &v) { return part(v, 0, distance); };
      Tiles lhs, rhs;
      for (const Value &v : running)
        lhs.push_back(before(v)), rhs.push_back(here(v));
      Tiles next = combine(lhs, rhs, before(isPresent), here(isPresent));
      if (next.empty()) return Value::error();
      for (size_t i = 0; i < running.size(); ++i)
        running[i] = keep(joined(ctx_, {start(running[i]), std::move(next[i])}, axis_, loc_));
      isPresent =
          keep(joined(ctx_, {start(isPresent), either(before(isPresent), here(isPresent))}, axis_, loc_));
    }
    for (size_t i = 0; i < running.size(); ++i) {
      Value own = keep(ctx_.select(all, std::move(running[i]), filled[i], loc_));
      running[i] = ctx_.select(ctx_.binary(Op::Eq, tiles_[i], tiles_[i], loc_), own, own, loc_); // its mask
    }
    return result(std::move(running));
  }

  Value reduce(bool keepsDims) {
    Tiles left = tiles_;
    Value isPresent = present();
    while (left[0].shape[axis_] > 1) {
      const int64_t extent = left[0].shape[axis_], pairs = extent / 2;
      Tiles lhs, rhs;
      for (const Value &v : left)
        lhs.push_back(side(v, pairs, 0)), rhs.push_back(side(v, pairs, 1));
      Value ofLhs = keep(side(isPresent, pairs, 0)), ofRhs = keep(side(isPresent, pairs, 1));
      Tiles next = combine(lhs, rhs, ofLhs, ofRhs);
      if (next.empty()) return Value::error();
      // An element without a neighbour is the last one.
      auto withRest = [&](Value joinedPairs, const Value &v) {
        if (extent % 2 == 0) return keep(std::move(joinedPairs));
        return keep(joined(ctx_, {std::move(joinedPairs), part(v, extent - 1, 1)}, axis_, loc_));
      };
      for (size_t i = 0; i < left.size(); ++i)
        left[i] = withRest(std::move(next[i]), left[i]);
      isPresent = withRest(either(std::move(ofLhs), std::move(ofRhs)), isPresent);
    }
    for (Value &v : left) {
      if (keepsDims) continue;
      std::vector<int64_t> shape = v.shape;
      if (shape.size() == 1) {
        v = onlyElement(ctx_, std::move(v), loc_);
        continue;
      }
      shape.erase(shape.begin() + static_cast<ptrdiff_t>(axis_));
      v = reshaped(ctx_, std::move(v), std::move(shape), loc_);
    }
    return result(std::move(left));
  }

private:
  std::string what() const { return std::string("'") + call_.function.name + "'"; }

  bool refuse(Code code, Range loc, std::string message, std::string hint = {}) {
    ctx_.fail(code, loc, std::move(message), std::move(hint));
    return false;
  }

  bool readFunction(size_t parts) {
    Value f = ctx_.evaluate(*call_[2]);
    if (f.isError()) return false;
    const bool isOwn = f.kind == Value::Function && !f.builtin;
    if (isOwn) function_ = &ctx_.module_.functions[ctx_.module_.globals.at(f.text).function];
    if (!isOwn || function_->kind != FunctionDecl::Helper)
      return refuse(Code::E_TYPE, call_[2]->loc,
                    what() + " takes a function of this file that combines two elements, found " +
                        describe(f),
                    "write def combine(a, b): return ..., and pass combine");
    const size_t count = function_->stmt->parameters.size();
    if (count == 2 || count == 2 * parts) return true;
    const std::string flat =
        parts == 1 ? ""
                   : ", or " + std::to_string(2 * parts) + ": the elements of the first, then of the second";
    return refuse(Code::E_ARGUMENTS, call_[2]->loc,
                  "the function of " + what() + " takes two arguments" + flat + "; '" +
                      function_->stmt->text + "' takes " + std::to_string(count));
  }

  /// A tile that is used several times is computed once.
  Value keep(Value v) {
    if (v.isError()) return v;
    v.weak = false;
    return ctx_.toVariable(std::move(v), call_.function.name, loc_);
  }

  Value part(const Value &v, int64_t offset, int64_t extent) {
    return partOf(ctx_, v, axis_, offset, extent, loc_);
  }

  /// The first or second elements of pairs of neighbours.
  Value side(const Value &v, int64_t pairs, int64_t which) {
    std::vector<int64_t> shape = v.shape, split = v.shape;
    split[axis_] = pairs;
    shape = split;
    split.insert(split.begin() + static_cast<ptrdiff_t>(axis_) + 1, 2);
    Value paired = reshaped(ctx_, part(v, 0, 2 * pairs), std::move(split), loc_);
    return reshaped(ctx_, partOf(ctx_, std::move(paired), axis_ + 1, which, 1, loc_), std::move(shape), loc_);
  }

  /// Which elements are in bounds, in all tiles.
  Value present() {
    Value all;
    for (const Value &v : tiles_) {
      Value same = ctx_.binary(Op::Eq, v, v, loc_);
      Value here = ctx_.select(std::move(same), Value::boolean(true), Value::boolean(true), loc_);
      all = all.isError() ? std::move(here) : ctx_.binary(Op::And, std::move(all), std::move(here), loc_);
    }
    return keep(fill(std::move(all)));
  }

  /// The tile with zeros in the place of elements that are out of bounds.
  Value fill(Value v) {
    Value zero = Elaborator::castConstant(Value::integer(0), v.dtype);
    return ctx_.fillMasked(std::move(v), std::move(zero), loc_);
  }

  Value either(Value x, Value y) { return ctx_.binary(Op::Or, std::move(x), std::move(y), loc_); }

  /// Calls the function. An element whose other side is absent stays as it is. Empty after an error.
  Tiles combine(const Tiles &lhs, const Tiles &rhs, const Value &ofLhs, const Value &ofRhs) {
    std::vector<std::optional<Value>> arguments;
    for (const Tiles *side : {&lhs, &rhs}) {
      if (function_->stmt->parameters.size() == 2) {
        arguments.emplace_back(isTuple_ ? Value::tuple(*side) : (*side)[0]);
        continue;
      }
      arguments.insert(arguments.end(), side->begin(), side->end());
    }
    if (!ctx_.enter(*function_, *call_[2])) return {};
    Value out = ctx_.inlineWith(*function_, std::move(arguments), {});
    if (out.isError()) return {};
    Tiles results;
    if (out.kind == Value::Tuple)
      results = std::move(out.items);
    else
      results.push_back(std::move(out));
    const std::string function = "'" + function_->stmt->text + "'";
    if (results.size() != lhs.size()) {
      refuse(Code::E_TYPE, call_[2]->loc,
             function + " combines " + std::to_string(lhs.size()) +
                 (lhs.size() == 1 ? " value and returns " : " values and returns ") +
                 std::to_string(results.size()));
      return {};
    }
    for (size_t i = 0; i < results.size(); ++i) {
      Value v = ctx_.asOperand(std::move(results[i]), call_[2]->loc);
      if (v.isError()) return {};
      if (!v.converts(lhs[i].dtype)) {
        refuse(Code::E_TYPE_MIX, call_[2]->loc,
               function + " combines elements of " + name(lhs[i].dtype) + " and returns " + describe(v),
               std::string("cast its result with ts.tile.cast(x, ts.") + name(lhs[i].dtype) + ")");
        return {};
      }
      v = ctx_.broadcastTo(ctx_.convert(std::move(v), lhs[i].dtype, loc_), lhs[i].shape, loc_);
      if (v.isError()) return {};
      Value one = ctx_.select(ofLhs, lhs[i], rhs[i], loc_);
      results[i] = ctx_.select(ctx_.binary(Op::And, ofLhs, ofRhs, loc_), std::move(v), std::move(one), loc_);
    }
    return results;
  }

  Value result(Tiles tiles) { return isTuple_ ? Value::tuple(std::move(tiles)) : std::move(tiles[0]); }

  Elaborator &ctx_;
  const KernelCall &call_;
  Range loc_;
  bool isTuple_ = false;
  size_t axis_ = 0;
  Tiles tiles_;
  const FunctionDecl *function_ = nullptr;
};

} // namespace

Value associativeScan(Elaborator &ctx, const KernelCall &a) {
  Combination c(ctx, a);
  return c.read() ? c.scan() : Value::error();
}

Value reduceBy(Elaborator &ctx, const KernelCall &a) {
  Combination c(ctx, a);
  Value keep = ctx.evaluate(*a[3]);
  if (keep.isError()) return keep;
  if (!keep.isScalar() || !keep.isConst)
    return ctx.fail(Code::E_CONSTANT, a[3]->loc, "keepdims is True or False");
  return c.read() ? c.reduce(keep.intValue != 0) : Value::error();
}

} // namespace tessera::frontend::rules
