#include "tools/tsr/Bind.h"
#include "tools/tsr/DimTable.h"
#include "tools/tsr/Elements.h"
#include "tools/tsr/Source.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>

namespace tessera::cli {
namespace {

class Binder {
public:
  Binder(const Signature &signature, const Request &request, Binding &out)
      : signature_(signature), request_(request), out_(out), dims_(signature.dims) {}

  Errors run() {
    checkNames();
    if (!errors_.empty()) return std::move(errors_);
    bindTunables();
    bindGivenDims();
    for (const SignatureParam &p : signature_.params)
      p.isTensor ? readInput(p) : bindScalar(p);
    for (Error &e : dims_.complete())
      errors_.push_back(std::move(e));
    chooseStrides();
    for (const std::string &symbol : dims_.symbols())
      if (auto value = dims_.extent(symbol)) out_.dims.emplace_back(symbol, *value);
    // After a clash every later shape is doubtful.
    if (errors_.empty()) sizeTensors();
    return std::move(errors_);
  }

private:
  const Signature &signature_;
  const Request &request_;
  Binding &out_;
  DimTable dims_;
  Errors errors_;

  void error(const char *code, std::string message, std::string hint = "") {
    errors_.push_back({code, std::move(message), std::move(hint)});
  }

  static const std::string *lookup(const std::vector<NamedValue> &values, const std::string &name) {
    for (const auto &[n, value] : values)
      if (n == name) return &value;
    return nullptr;
  }

  std::vector<std::string> paramNames(bool (*accept)(const SignatureParam &)) const {
    std::vector<std::string> names;
    for (const SignatureParam &p : signature_.params)
      if (accept(p)) names.push_back(p.name);
    return names;
  }

  const SignatureParam *param(const std::string &name) const {
    for (const SignatureParam &p : signature_.params)
      if (p.name == name) return &p;
    return nullptr;
  }

  void checkDuplicates(const char *option, const std::vector<NamedValue> &values) {
    std::set<std::string> seen;
    for (const auto &[name, value] : values)
      if (!seen.insert(name).second) error("E_ARG_DUPLICATE", fmt::format("{} names {} twice", option, name));
  }

  /// Checks that the option accepts each name; the error describes what the name is instead.
  void checkKind(const char *option, const std::vector<NamedValue> &values,
                 bool (*accept)(const SignatureParam &)) {
    for (const auto &[name, value] : values) {
      const SignatureParam *p = param(name);
      if (p && accept(*p)) continue;
      if (!p)
        error("E_ARG_UNKNOWN",
              fmt::format("{} {}: kernel {} has no parameter {}", option, name, signature_.kernel, name),
              suggest(name, paramNames(accept)));
      else
        error("E_ARG_UNKNOWN",
              fmt::format("{} {}: {} is {}", option, name, name,
                          !p->isTensor  ? "a scalar"
                          : p->isResult ? "a returned value, which only --out may name"
                          : !p->writes  ? "a tensor the kernel does not write"
                                        : "a tensor"),
              !p->isTensor ? fmt::format("use --scalar {}=...", name) : suggest(name, paramNames(accept)));
    }
  }

  void checkNames() {
    checkDuplicates("--in", request_.in);
    checkDuplicates("--out", request_.out);
    checkDuplicates("--scalar", request_.scalars);
    checkDuplicates("--dim", request_.dims);
    checkDuplicates("--set", request_.tunables);
    checkKind("--in", request_.in, [](const SignatureParam &p) { return p.isTensor && !p.isResult; });
    checkKind("--out", request_.out,
              [](const SignatureParam &p) { return p.isTensor && (p.writes || p.isResult); });
    checkKind("--scalar", request_.scalars, [](const SignatureParam &p) { return !p.isTensor; });
    std::set<std::string> paths;
    for (const auto &[name, path] : request_.out)
      if (!paths.insert(path).second && !path.starts_with("/dev/"))
        error("E_ARG_DUPLICATE", fmt::format("two outputs would be written to {}", path));
  }

  void bindTunables() {
    for (const auto &[name, text] : request_.tunables) {
      int64_t value;
      if (auto e = checkTunable(signature_, name, text, value))
        errors_.push_back(*e);
      else
        out_.tunables.emplace_back(name, value);
    }
  }

  void bindGivenDims() {
    for (const auto &[name, value] : request_.compiledFor)
      if (auto e = dims_.set(name, value, "the compiled kernel")) errors_.push_back(*e);
    for (const auto &[name, text] : request_.dims) {
      int64_t value;
      auto e = checkDim(signature_, name, text, value);
      if (!e) e = dims_.set(name, value, "--dim");
      if (e) errors_.push_back(*e);
    }
  }

  void readInput(const SignatureParam &p) {
    BoundParam bound;
    bound.name = p.name;
    bound.isTensor = true;
    bound.reads = p.reads;
    bound.writes = p.writes || p.isResult;
    bound.dtype = *parseDType(p.dtype);
    if (const std::string *path = lookup(request_.out, p.name)) bound.output = *path;
    if (const std::string *path = lookup(request_.in, p.name))
      bound.hasInput = readFile(p, *path, bound);
    else if (p.reads && !p.isResult && !request_.fills)
      error("E_ARG_MISSING", fmt::format("{} has no value", p.name),
            fmt::format("give it with --in {}=FILE.npy", p.name));
    out_.params.push_back(std::move(bound));
  }

  bool readFile(const SignatureParam &p, const std::string &path, BoundParam &bound) {
    Expected<npy::Array> file = npy::read(path);
    if (!file) {
      errors_.push_back({file.error().code, fmt::format("--in {}={}: {}", p.name, path, file.error().message),
                         file.error().hint});
      return false;
    }
    npy::Array &array = *file;
    npy::ElementType wanted = fileType(bound.dtype, request_.raw);
    if (array.type != wanted) {
      error("E_ARG_DTYPE",
            fmt::format("{} is {} and reads {} files{}, but {} holds {}", p.name, p.dtype,
                        npy::toString(wanted), request_.raw ? " with --raw" : "", path,
                        npy::toString(array.type)),
            array.type == fileType(bound.dtype, !request_.raw)
                ? (request_.raw ? "leave out --raw" : "give --raw to read bits")
                : fmt::format("convert it in NumPy: array.astype('{}')", npy::toString(wanted)));
      return false;
    }
    if (array.shape.size() != p.dims.size()) {
      error("E_ARG_RANK", fmt::format("{} has {} {} ({}), but {} has {} ({})", p.name, p.dims.size(),
                                      p.dims.size() == 1 ? "dim" : "dims", fmt::join(p.dims, ", "), path,
                                      array.shape.size(), fmt::join(array.shape, ", ")));
      return false;
    }
    if (isPacked(bound.dtype) && request_.raw && !array.shape.empty()) array.shape.back() *= 2;
    bool fits = true;
    for (size_t d = 0; d < p.dims.size(); ++d)
      fits = bindDim(p, d, array.shape[d], path) && fits;
    if (!toDevice(std::move(array.data), bound.dtype, request_.raw, bound.initial)) {
      error("E_OUT_OF_MEMORY", fmt::format("no memory to convert {} to {}", path, p.dtype));
      return false;
    }
    if (isPacked(bound.dtype) && !request_.raw) fits = checkRange(p, bound, path) && fits;
    return fits;
  }

  /// The file holds a byte for each element, of which the dtype takes four bits.
  bool checkRange(const SignatureParam &p, const BoundParam &bound, const std::string &path) {
    const DType t = bound.dtype;
    for (std::byte stored : bound.initial.span()) {
      const auto bits = static_cast<uint64_t>(stored);
      if (castBits(bits, t, t) == bits) continue;
      error("E_ARG_DTYPE",
            fmt::format("{} is {}, but {} holds {}", p.name, p.dtype, path,
                        toDouble(bits, isUnsigned(t) ? DType::U8 : DType::I8)),
            isUnsigned(t) ? "u4 holds 0 to 15" : "i4 holds -8 to 7");
      return false;
    }
    return true;
  }

  bool bindDim(const SignatureParam &p, size_t d, int64_t extent, const std::string &path) {
    const std::string &dim = p.dims[d];
    if (dims_.isSymbol(dim)) {
      auto e = dims_.set(dim, extent, fmt::format("dim {} of {}", d, p.name));
      if (e) errors_.push_back(*e);
      return !e;
    }
    int64_t number = 0;
    if (!parseInt(dim, number)) {
      dims_.expect(dim, extent, fmt::format("dim {} of {}", d, p.name));
      return true;
    }
    if (auto wanted = dims_.extent(dim); wanted && *wanted != extent) {
      error("E_ARG_SHAPE",
            fmt::format("dim {} of {} is {}, but {} has {} there", d, p.name, *wanted, path, extent));
      return false;
    }
    return true;
  }

  void bindScalar(const SignatureParam &p) {
    BoundParam bound;
    bound.name = p.name;
    bound.dtype = *parseDType(p.dtype);
    auto take = [&](Expected<uint64_t> bits, const std::string &what) {
      if (bits)
        bound.scalarBits = *bits;
      else
        error("E_SCALAR_VALUE", what + ": " + bits.error().message);
    };
    if (const std::string *text = lookup(request_.scalars, p.name)) {
      take(parseScalar(*text, bound.dtype), fmt::format("--scalar {}={}", p.name, *text));
    } else if (!p.defaultValue) {
      error("E_ARG_MISSING", fmt::format("scalar {} has no value and no default", p.name),
            fmt::format("give it with --scalar {}=VALUE", p.name));
    } else {
      take(scalarFromNumber(*p.defaultValue, bound.dtype), fmt::format("the default of {}", p.name));
    }
    out_.params.push_back(std::move(bound));
  }

  /// Gives strides that --dim leaves open the smallest values with which no tensor overlaps itself, the last
  /// dim innermost, around the strides that are known.
  void chooseStrides() {
    std::map<std::string, int64_t> chosen;
    constexpr int kMostTurns = 16; // one tensor may widen a stride of another
    int turns = 0;
    for (bool widens = true; widens; ++turns) {
      widens = false;
      for (const SignatureParam &p : signature_.params)
        widens |= widenStrides(p, chosen);
      if (widens && turns == kMostTurns)
        return error("E_DIM_MISSING", "the strides have no values with which no tensor overlaps itself",
                     "give them with --dim");
    }
    for (const auto &[symbol, value] : chosen)
      if (auto e = dims_.set(symbol, value, "the layout of its tensors")) errors_.push_back(*e);
  }

  /// Makes the open strides of a tensor at least as long as what lies within each. Returns whether one grew.
  bool widenStrides(const SignatureParam &p, std::map<std::string, int64_t> &chosen) {
    bool grew = false;
    int64_t length = 1; // elements from the first to the last, along the dims so far
    auto cover = [&](size_t d, int64_t stride) {
      const int64_t steps = std::max<int64_t>(dims_.extent(p.dims[d]).value_or(1), 1) - 1;
      int64_t more = 0;
      if (__builtin_mul_overflow(steps, stride, &more) || __builtin_add_overflow(length, more, &length))
        length = INT64_MAX; // reported by placeElements
    };
    std::vector<size_t> open;
    for (size_t d = p.strides.size(); d-- > 0;)
      if (auto stride = dims_.extent(p.strides[d]))
        cover(d, *stride);
      else
        open.push_back(d);
    for (size_t d : open) {
      int64_t &stride = chosen[p.strides[d]];
      grew |= stride < length;
      stride = std::max(stride, length);
      cover(d, stride);
    }
    return grew;
  }

  void sizeTensors() {
    for (const std::string &symbol : dims_.symbols())
      if (!dims_.extent(symbol))
        error("E_DIM_MISSING",
              dims_.undeterminedBy(symbol).empty()
                  ? fmt::format("dim {} has no value: no input carries it", symbol)
                  : fmt::format("dim {} has no value: {} does not determine it", symbol,
                                dims_.undeterminedBy(symbol)),
              fmt::format("give it with --dim {}=N", symbol));
    if (!errors_.empty()) return;
    for (size_t i = 0; i < signature_.params.size(); ++i)
      if (signature_.params[i].isTensor) sizeTensor(signature_.params[i], out_.params[i]);
  }

  void sizeTensor(const SignatureParam &p, BoundParam &bound) {
    int64_t elements = 1, bytes;
    bool empty = false, fits = true;
    for (const std::string &dim : p.dims) {
      auto extent = dims_.extent(dim);
      if (extent && *extent < 0)
        return error("E_DIM_NEGATIVE",
                     fmt::format("a dim of {} is {}, which is {} here", p.name, dim, *extent));
      bound.shape.push_back(extent.value_or(0));
      empty |= extent == 0;
      fits = fits && extent && (*extent == 0 || !__builtin_mul_overflow(elements, *extent, &elements));
    }
    fits = fits && !__builtin_mul_overflow(elements, int64_t(storageBytes(bound.dtype)), &bytes);
    if (!fits)
      return error("E_OUT_OF_MEMORY", fmt::format("{} of shape ({}) has more bytes than can be addressed",
                                                  p.name, fmt::join(bound.shape, ", ")));
    if (isPacked(bound.dtype) && request_.raw && !bound.output.empty() && !p.dims.empty() &&
        bound.shape.back() % 2)
      return error("E_ARG_SHAPE",
                   fmt::format("{} is {} with rows of {} elements, and --raw writes two to a byte", p.name,
                               p.dtype, bound.shape.back()),
                   "leave out --raw");
    bound.elements = empty ? 0 : size_t(elements);
    bound.bytes = bound.span = empty ? 0 : size_t(bytes);
    if (!p.strides.empty() && !empty) placeElements(p, bound);
  }

  void placeElements(const SignatureParam &p, BoundParam &bound) {
    int64_t last = 0, end = 0;
    bool fits = true;
    for (size_t d = 0; d < p.strides.size(); ++d) {
      const int64_t stride = dims_.extent(p.strides[d]).value_or(0);
      bound.strides.push_back(stride);
      int64_t distance = 0;
      fits = fits && !__builtin_mul_overflow(bound.shape[d] - 1, stride, &distance) &&
             !__builtin_add_overflow(last, distance, &last);
    }
    fits = fits && !__builtin_add_overflow(last, 1, &end) &&
           !__builtin_mul_overflow(end, int64_t(storageBytes(bound.dtype)), &end);
    if (!fits)
      return error("E_OUT_OF_MEMORY", fmt::format("{} with strides ({}) has more bytes than can be addressed",
                                                  p.name, fmt::join(bound.strides, ", ")));
    bound.span = size_t(end);
  }
};

/// Replaces "..." in the dims of the parameters by axis0, axis1, ..., as the compiler does. Their number
/// is given by --dim ...=N, or by the first file of a parameter that has "...".
MaybeError expandLeading(const Request &request, Signature &s, int64_t &count) {
  std::optional<int64_t> known;
  for (const auto &[name, text] : request.dims)
    if (int64_t given = 0; name == kLeadingDims) {
      if (auto e = checkDim(s, name, text, given)) return e;
      known = given;
    }
  for (const SignatureParam &p : s.params) {
    if (known) break;
    auto file = std::ranges::find(request.in, p.name, &NamedValue::first);
    if (!hasLeadingDims(p) || file == request.in.end()) continue;
    Expected<npy::Array> array = npy::read(file->second);
    if (!array) continue; // reported when it is bound
    known = static_cast<int64_t>(array->shape.size()) - static_cast<int64_t>(p.dims.size()) + 1;
    if (*known < 0)
      return Error{"E_ARG_RANK",
                   fmt::format("{} has at least {} dims ({}), but {} has {}", p.name, p.dims.size() - 1,
                               fmt::join(p.dims, ", "), file->second, array->shape.size()),
                   ""};
  }
  if (!known)
    return Error{"E_DIM_MISSING", "no input says how many dims '...' stands for", "give it with --dim ...=N"};
  count = *known;
  std::vector<std::string> names;
  for (int64_t i = 0; i < std::min<int64_t>(count, 9); ++i) // more are refused by the compiler
    names.push_back("axis" + std::to_string(i));
  s.dims.insert(s.dims.begin(), names.begin(), names.end());
  for (SignatureParam &p : s.params)
    if (hasLeadingDims(p)) {
      p.dims.erase(p.dims.begin());
      p.dims.insert(p.dims.begin(), names.begin(), names.end());
    }
  std::vector<std::string> ordered; // by first appearance
  auto appear = [&](const std::string &text) {
    for (const std::string &dim : DimTable(s.dims).symbolsIn(text))
      if (std::ranges::find(ordered, dim) == ordered.end()) ordered.push_back(dim);
  };
  for (const SignatureParam &p : s.params)
    std::ranges::for_each(p.dims, appear);
  s.dims = std::move(ordered);
  return std::nullopt;
}

} // namespace

Errors bind(const Signature &signature, const Request &request, Binding &out) {
  out = {};
  if (std::ranges::none_of(signature.params, hasLeadingDims)) return Binder(signature, request, out).run();
  Signature expanded = signature;
  Request others = request;
  int64_t count = 0;
  if (auto e = expandLeading(request, expanded, count)) return {*e};
  std::erase_if(others.dims, [](const NamedValue &dim) { return dim.first == kLeadingDims; });
  Errors errors = Binder(expanded, others, out).run();
  out.leading = count;
  return errors;
}

} // namespace tessera::cli
