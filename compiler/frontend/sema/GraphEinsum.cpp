// einsum: contractions of tensors by labels, from left to right. Two tensors are joined by a matrix product,
// or by a product of elements and a sum where that reads each operand once.
#include "compiler/frontend/sema/CallRules.h"
#include "compiler/frontend/sema/ElabGraph.h"
#include <algorithm>

namespace tessera::frontend::rules {

namespace {

/// Letters of the specification, and for the axes of an ellipsis the characters from 1 on, from the last
/// axis.
using Labels = std::string;
constexpr char kEllipsis = 1;

bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool has(const Labels &labels, char label) { return labels.find(label) != Labels::npos; }

/// A tensor with a label for each axis, each once.
struct Term {
  Value value;
  Labels labels;
};

class Einsum {
public:
  Einsum(Elaborator &ctx, GraphCall &call) : ctx_(ctx), call_(call), loc_(call.loc) {}

  Value run() {
    const auto &items = call_.source.items;
    if (!call_.source.keywords.empty() || items.size() < 3)
      return refuseCall("'einsum' takes a specification and tensors");
    Value spec = ctx_.evaluate(*items[1]);
    if (spec.isError()) return spec;
    specLoc_ = items[1]->loc;
    if (spec.kind != Value::Str)
      return refuseCall("the specification of 'einsum' is a string, found " + describe(spec));
    for (size_t i = 2; i < items.size(); ++i) {
      Value v = ctx_.evaluate(*items[i]);
      if (v.isError() || !ctx_.graphTensor(v, items[i]->loc, 0)) return Value::error();
      if (!values_.empty() && v.dtype != values_[0].dtype)
        return ctx_.fail(Code::E_TYPE_MIX, items[i]->loc,
                         "'einsum' mixes " + describe(values_[0]) + " and " + describe(v),
                         ctx_.mixHint(values_[0], v));
      if (v.dtype == DType::Bool)
        return ctx_.fail(Code::E_TYPE, items[i]->loc, "'einsum' takes numbers, not bool",
                         "cast to ts.i32 first");
      values_.push_back(std::move(v));
    }
    if (!read(spec.text) || !bindExtents()) return Value::error();
    return contract();
  }

private:
  Value refuseCall(const std::string &message) {
    return ctx_.fail(Code::E_ARGUMENTS, loc_, message, "write ts.einsum(\"ij,jk->ik\", a, b)");
  }
  bool refuse(const std::string &message) {
    ctx_.fail(Code::E_ARGUMENTS, specLoc_, message);
    return false;
  }

  /// Reads "ij,...jk->...ik" into the labels of each operand and of the result.
  bool read(const std::string &spec) {
    std::string text;
    std::ranges::copy_if(spec, std::back_inserter(text), [](char c) { return c != ' '; });
    const size_t arrow = text.find("->");
    std::vector<std::string> inputs(1);
    for (char c : text.substr(0, arrow))
      if (c == ',')
        inputs.emplace_back();
      else
        inputs.back() += c;
    if (inputs.size() != values_.size())
      return refuse("the specification has labels of " + std::to_string(inputs.size()) + " operands, but " +
                    std::to_string(values_.size()) + " are given");
    for (size_t i = 0; i < inputs.size(); ++i) {
      Labels labels;
      const size_t rank = ctx_.graphDims(values_[i]).size();
      if (!readTerm(inputs[i], rank, labels)) return false;
      if (labels.size() != rank)
        return refuse("\"" + inputs[i] + "\" labels " + std::to_string(labels.size()) + " axes of " +
                      ctx_.graphName(values_[i]));
      labels_.push_back(std::move(labels));
    }
    if (arrow != std::string::npos) {
      if (!readTerm(text.substr(arrow + 2), std::string::npos, out_)) return false;
      for (size_t i = 0; i < out_.size(); ++i) {
        const std::string shown = isLetter(out_[i]) ? std::string("'") + out_[i] + "'" : "the ellipsis";
        if (out_.find(out_[i], i + 1) != Labels::npos)
          return refuse(shown + " labels two axes of the result");
        if (std::ranges::none_of(labels_, [&](const Labels &l) { return has(l, out_[i]); }))
          return refuse(shown + " of the result labels no operand");
      }
      if (ellipsis_ && !has(out_, kEllipsis))
        return refuse("the result has no '...', and axes of an ellipsis are not summed");
      return true;
    }
    // Without an arrow: the ellipsis, then the labels that stand once, in the order of the alphabet.
    std::string all;
    for (const Labels &labels : labels_)
      all += labels;
    for (size_t i = ellipsis_; i-- > 0;)
      out_ += static_cast<char>(kEllipsis + i);
    std::string letters;
    std::ranges::copy_if(all, std::back_inserter(letters),
                         [&](char c) { return isLetter(c) && std::ranges::count(all, c) == 1; });
    std::ranges::sort(letters);
    out_ += letters;
    return true;
  }

  /// `rank` npos: the result, whose ellipsis has the axes that the operands' have.
  bool readTerm(const std::string &text, size_t rank, Labels &out) {
    for (size_t i = 0; i < text.size(); ++i) {
      if (isLetter(text[i])) {
        out += text[i];
        continue;
      }
      if (text.compare(i, 3, "...") != 0 || text.find('.', i + 3) != std::string::npos)
        return refuse(std::string("'") + text[i] +
                      "' is no label: labels are letters, with '...' at most once in each term");
      i += 2;
      const size_t letters = text.size() - 3;
      size_t axes = ellipsis_;
      if (rank != std::string::npos) {
        if (letters > rank) return refuse("\"" + text + "\" labels more axes than the operand has");
        axes = rank - letters;
        ellipsis_ = std::max(ellipsis_, axes);
      }
      for (size_t d = axes; d-- > 0;)
        out += static_cast<char>(kEllipsis + d);
    }
    return true;
  }

  /// The extent of each label: that of every axis it labels, of which those of extent 1 broadcast.
  bool bindExtents() {
    for (size_t i = 0; i < values_.size(); ++i)
      for (size_t d = 0; d < labels_[i].size(); ++d) {
        const DimExpr extent = ctx_.graphDims(values_[i])[d];
        auto [it, isNew] = extents_.emplace(labels_[i][d], extent);
        if (isNew || it->second == extent || extent.isOne()) continue;
        if (!it->second.isOne()) {
          const char label = labels_[i][d];
          ctx_.fail(Code::E_SHAPE, loc_,
                    (isLetter(label) ? std::string("'") + label + "'" : "an axis of the ellipsis") + " is " +
                        it->second.text() + " and " + extent.text() + ", which would have to be equal");
          return false;
        }
        it->second = extent;
      }
    return true;
  }

  Dims dimsOf(const Labels &labels) const {
    Dims dims;
    for (char c : labels)
      dims.push_back(extents_.at(c));
    return dims;
  }

  /// The operand with each label once: a repeated label is a diagonal; an axis of extent 1 that the label
  /// broadcasts is dropped.
  Term term(size_t i) {
    Value v = values_[i];
    Labels labels = labels_[i], kept;
    Dims dims = ctx_.graphDims(v), box;
    for (size_t d = 0; d < labels.size(); ++d)
      if (!dims[d].isOne() || extents_.at(labels[d]).isOne()) {
        kept += labels[d];
        box.push_back(dims[d]);
      }
    if (kept.size() != labels.size()) v = ctx_.graphReshapeTo(std::move(v), box, loc_);
    Labels unique;
    for (char c : kept)
      if (!has(unique, c)) unique += c;
    if (v.isError() || unique.size() == kept.size()) return {std::move(v), std::move(kept)};
    const Dims result = dimsOf(unique);
    std::vector<int64_t> along;
    std::vector<Value> indices;
    for (size_t d = 0; d < kept.size(); ++d) {
      const auto axis = static_cast<int64_t>(unique.find(kept[d]));
      const bool isFirst = kept.find(kept[d]) == d;
      along.push_back(isFirst ? axis : -1);
      if (!isFirst) indices.push_back(ctx_.graphPosition(result, axis, loc_));
    }
    return {ctx_.graphGather(v, indices, std::move(along), result, loc_), std::move(unique)};
  }

  /// Is the label in the result, or in an operand from `next` on?
  bool isNeeded(char label, size_t next) const {
    if (has(out_, label)) return true;
    for (size_t i = next; i < labels_.size(); ++i)
      if (has(labels_[i], label)) return true;
    return false;
  }

  /// Sums over the labels that are not kept. Narrow floats are summed in f32 and rounded once.
  Term sum(Term t, const Labels &kept) {
    std::vector<int64_t> axes;
    Labels left;
    Dims dims;
    for (size_t d = 0; d < t.labels.size(); ++d)
      if (has(kept, t.labels[d])) {
        left += t.labels[d];
        dims.push_back(extents_.at(t.labels[d]));
      } else {
        axes.push_back(static_cast<int64_t>(d));
      }
    if (axes.empty() || t.value.isError()) return t;
    int node = ctx_.graphNode(t.value, loc_);
    Value r = ctx_.graphValue(GraphOp::Reduce, t.value.dtype, std::move(dims), loc_, {node});
    if (!r.isError()) {
      ctx_.graphLast().function = Op::Sum;
      ctx_.graphLast().ints = std::move(axes);
    }
    return {std::move(r), std::move(left)};
  }

  Term summedAlone(Term t, size_t next, const Labels &beside) {
    Labels kept;
    std::ranges::copy_if(t.labels, std::back_inserter(kept),
                         [&](char c) { return has(beside, c) || isNeeded(c, next); });
    return sum(std::move(t), kept);
  }

  /// The tensor with its axes in the order of `labels`; missing ones have extent 1.
  Value arranged(const Term &t, const Labels &labels) {
    Labels own;
    std::ranges::copy_if(labels, std::back_inserter(own), [&](char c) { return has(t.labels, c); });
    Value v = t.value;
    if (own != t.labels) {
      std::vector<int64_t> perm;
      for (char c : own)
        perm.push_back(static_cast<int64_t>(t.labels.find(c)));
      v = ctx_.graphTranspose(std::move(v), std::move(perm), loc_);
    }
    if (own == labels || v.isError()) return v;
    Dims dims;
    for (char c : labels)
      dims.push_back(has(own, c) ? extents_.at(c) : DimExpr(1));
    return ctx_.graphReshapeTo(std::move(v), std::move(dims), loc_);
  }

  std::optional<DimExpr> countOf(const Labels &labels) const {
    std::optional<DimExpr> count = DimExpr(1);
    for (char c : labels)
      if (count) count = multiply(*count, extents_.at(c));
    return count;
  }

  /// [batch..., rows, columns], where each of the two may be several axes of the tensor.
  Value asMatrix(const Term &t, const Labels &batch, const Labels &rows, const Labels &columns) {
    Value v = arranged(t, batch + rows + columns);
    if (v.isError() || (rows.size() == 1 && columns.size() == 1)) return v;
    Dims dims = dimsOf(batch);
    for (const Labels &side : {rows, columns}) {
      std::optional<DimExpr> count = countOf(side);
      if (!count) return ctx_.fail(Code::E_SHAPE, loc_, "the contracted extent is too long an expression");
      dims.push_back(*count);
    }
    return ctx_.graphReshapeTo(std::move(v), std::move(dims), loc_);
  }

  Term join(Term x, Term y, size_t next) {
    Labels batch, contracted, left, right;
    for (char c : x.labels)
      (!has(y.labels, c) ? left : isNeeded(c, next) ? batch : contracted) += c;
    for (char c : y.labels)
      if (!has(x.labels, c)) right += c;
    const Labels all = batch + left + right;
    if (contracted.empty() || left.empty() || right.empty()) {
      Labels whole = x.labels.size() >= y.labels.size() ? x.labels : y.labels; // which is not transposed
      for (char c : all + contracted)
        if (!has(whole, c)) whole += c;
      Value a = arranged(x, whole), b = arranged(y, whole);
      // Of an outer product each element is rounded once, as a product is.
      if (contracted.empty()) return {ctx_.binary(Op::Mul, std::move(a), std::move(b), loc_), whole};
      return sum({ctx_.binary(Op::Mul, std::move(a), std::move(b), loc_), whole}, all);
    }
    // The last axis in memory stays the last one: the product transposes instead of a copy.
    const bool transA = has(left, x.labels.back()), transB = has(contracted, y.labels.back());
    Value a = transA ? asMatrix(x, batch, contracted, left) : asMatrix(x, batch, left, contracted);
    Value b = transB ? asMatrix(y, batch, right, contracted) : asMatrix(y, batch, contracted, right);
    const DType dtype = a.dtype;
    Value r = ctx_.graphMatmul(std::move(a), std::move(b), transA, transB, dtype, loc_);
    if (r.isError()) return {std::move(r), all};
    Dims dims = dimsOf(all);
    if (dims != ctx_.graphDims(r)) r = ctx_.graphReshapeTo(std::move(r), std::move(dims), loc_);
    return {std::move(r), all};
  }

  Value contract() {
    const DType dtype = values_[0].dtype;
    const bool isNarrow = info(dtype).bits < 32;
    if (isNarrow && !isFloat(dtype))
      for (Value &v : values_)
        v = ctx_.cast(std::move(v), DType::I32, loc_);
    if (isNarrow && isFloat(dtype) && !isOneProduct())
      for (Value &v : values_)
        v = ctx_.cast(std::move(v), DType::F32, loc_);
    Term result = summedAlone(term(0), 1, "");
    for (size_t i = 1; i < values_.size() && !result.value.isError(); ++i) {
      Term other = term(i);
      if (other.value.isError()) return Value::error();
      const Labels first = result.labels, second = other.labels;
      result = summedAlone(std::move(result), i + 1, second);
      result = join(std::move(result), summedAlone(std::move(other), i + 1, first), i + 1);
    }
    if (result.value.isError()) return Value::error();
    result = sum(std::move(result), out_);
    // A label of the result that every operand has with extent 1 or lacks is already there with extent 1.
    Value v = arranged(result, out_);
    if (v.isError()) return v;
    v = ctx_.graphReshapeTo(std::move(v), dimsOf(out_), loc_);
    return isFloat(dtype) ? ctx_.cast(std::move(v), dtype, loc_) : std::move(v);
  }

  /// Is it one matrix product of two tensors, which takes narrow floats as they are?
  bool isOneProduct() const {
    if (values_.size() != 2) return false;
    bool contracts = false, isLeft = false, isRight = false;
    for (char c : labels_[0]) {
      const bool both = has(labels_[1], c), kept = has(out_, c);
      if (!both && !kept) return false;
      contracts |= both && !kept;
      isLeft |= !both;
    }
    for (char c : labels_[1]) {
      if (!has(labels_[0], c) && !has(out_, c)) return false;
      isRight |= !has(labels_[0], c);
    }
    return contracts && isLeft && isRight;
  }

  Elaborator &ctx_;
  GraphCall &call_;
  Range loc_, specLoc_;
  std::vector<Value> values_;
  std::vector<Labels> labels_;
  Labels out_;
  size_t ellipsis_ = 0; // the largest number of axes that it stands for
  std::map<char, DimExpr> extents_;
};

} // namespace

Value graphEinsum(Elaborator &ctx, GraphCall &a) { return Einsum(ctx, a).run(); }

} // namespace tessera::frontend::rules
