// The arguments of a call: positions, keywords and defaults, and the code for their types.
#pragma once
#include "python/core/Array.h"
#include "python/core/Code.h"
#include "python/core/Replays.h"
#include "python/core/Scalar.h"
#include <algorithm>
#include <iterator>
#include <memory>

namespace tessera::python {

constexpr size_t kSmall = 16; // calls of so many parameters need no memory of their own
// Variants that a kernel keeps: each has about 12 KiB. A dropped one is compiled again, from the cache.
constexpr size_t kMostVariants = 256;
constexpr size_t kMostOfOthers =
    16; // of other settings, which may never come back: each mapper makes new ones

/// Code that was compiled for one key: the types and the pattern of extents of the parameters without a type.
struct Variant {
  uint64_t settings;
  std::vector<int64_t> key;
  Ref code;
  std::vector<int> parameters; // by argument of the launch: the parameter that gives it, or -1
};

struct Parameter {
  Ref name, defaultValue; // no default: null
  std::string text;
  bool isOpen; // it has no type in the source
};

struct State {
  std::vector<Parameter> parameters;
  std::vector<std::shared_ptr<Variant>> variants; // the last one used is first
  std::string name;
  size_t positional = 0; // that many parameters are given by position too
  bool isFunction = false;
  bool hasOpen = false;
  std::unique_ptr<Replays> replays; // of @ts.jit(capture_graph=True); else null
};

/// The key of a call: built without memory of its own if it is short.
class Key {
public:
  void push(int64_t value) {
    if (size_ == std::size(small_)) large_.assign(small_, small_ + size_);
    if (size_ >= std::size(small_))
      large_.push_back(value);
    else
      small_[size_] = value;
    ++size_;
  }
  int64_t operator[](size_t i) const { return data()[i]; }
  bool operator==(const std::vector<int64_t> &other) const {
    return std::equal(data(), data() + size_, other.begin(), other.end());
  }
  std::vector<int64_t> values() const { return {data(), data() + size_}; }

private:
  const int64_t *data() const { return size_ > std::size(small_) ? large_.data() : small_; }
  int64_t small_[96];
  std::vector<int64_t> large_;
  size_t size_ = 0;
};

inline Code &codeOf(const Variant &v) { return *reinterpret_cast<Code *>(v.code.get()); }

/// `count` elements on the stack, or on the heap if they are many. Those without a constructor are undefined.
template <class T, size_t N> class Small {
public:
  explicit Small(size_t count) : count_(count) {
    if (count > N) large_ = std::make_unique_for_overwrite<Place[]>(count);
    data_ = reinterpret_cast<T *>(large_ ? large_.get() : small_);
    std::uninitialized_default_construct_n(data_, count_);
  }
  ~Small() { std::destroy_n(data_, count_); }
  Small(const Small &) = delete;
  Small &operator=(const Small &) = delete;
  T *data() { return data_; }
  T &operator[](size_t i) { return data_[i]; }

private:
  struct Place {
    alignas(T) unsigned char bytes[sizeof(T)];
  };
  const size_t count_;
  T *data_;
  Place small_[N];
  std::unique_ptr<Place[]> large_;
};

class Arguments {
public:
  Arguments(PyObject *self, State &state)
      : self_(self), state_(state), count_(state.parameters.size()), values_(count_), tensors_(count_),
        isTensor_(count_) {}

  /// Finds the code for the arguments, and compiles it if there is none yet. Null after raising.
  std::shared_ptr<Variant> read(PyObject *args, PyObject *keywords) {
    return bind(args, keywords) && readTensors() ? find() : nullptr;
  }

protected:
  const char *name(size_t i) const { return state_.parameters[i].text.c_str(); }
  std::string names() const {
    std::string out = state_.name + "(";
    for (size_t i = 0; i < count_; ++i)
      out += std::string(i ? ", " : "") + (i == state_.positional ? "*, " : "") + state_.parameters[i].text;
    return out + ")";
  }

  bool bind(PyObject *args, PyObject *keywords) {
    const auto given = static_cast<size_t>(PyTuple_Size(args));
    if (given > state_.positional) {
      refuse("E_ARG_COUNT",
             names() + " takes " + std::to_string(state_.positional) +
                 (state_.positional < count_ ? " arguments by position, found " : " arguments, found ") +
                 std::to_string(given));
      return false;
    }
    for (size_t i = 0; i < count_; ++i)
      values_[i] = i < given ? PyTuple_GetItem(args, static_cast<Py_ssize_t>(i)) : nullptr;
    PyObject *key, *value;
    for (Py_ssize_t at = 0; keywords && PyDict_Next(keywords, &at, &key, &value);)
      if (!bindKeyword(key, value)) return false;
    for (size_t i = given; i < count_; ++i) {
      if (values_[i] || (values_[i] = state_.parameters[i].defaultValue.get())) continue;
      refuse("E_ARG_MISSING", names() + " lacks its argument '" + name(i) + "'");
      return false;
    }
    return true;
  }

  bool bindKeyword(PyObject *key, PyObject *value) {
    size_t i = 0;
    while (i < count_ && state_.parameters[i].name.get() != key)
      ++i; // interned: the same object almost always
    if (i == count_)
      for (i = 0; i < count_; ++i)
        if (PyUnicode_Compare(state_.parameters[i].name.get(), key) == 0) break;
    std::string given;
    if (i == count_) {
      if (!text(key, given)) return false;
      refuse("E_ARG_UNKNOWN", names() + " has no parameter '" + given + "'");
      return false;
    }
    if (values_[i]) {
      refuse("E_ARG_DUPLICATE", names() + ": argument '" + name(i) + "' is given twice");
      return false;
    }
    values_[i] = value;
    return true;
  }

  bool readTensors() {
    for (size_t i = 0; i < count_; ++i) {
      ArgumentType &type = typeOf(values_[i]);
      isTensor_[i] = type.kind != TypeKind::Scalar && type.kind != TypeKind::Other;
      if (isTensor_[i] && !tensors_[i].read(values_[i], type, name(i))) return false;
    }
    return true;
  }

  // --- Variants ---

  std::shared_ptr<Variant> find() {
    if (state_.hasOpen && !makeKey()) return nullptr;
    auto &all = state_.variants;
    size_t i = 0;
    while (i < all.size() && !fits(*all[i]))
      ++i;
    if (i == all.size()) return compile();
    if (i > 0)
      std::rotate(all.begin(), all.begin() + static_cast<ptrdiff_t>(i),
                  all.begin() + static_cast<ptrdiff_t>(i) + 1);
    return all.front();
  }

  bool fits(const Variant &v) { return v.settings == settings && key_ == v.key && isCompiledFor(v); }

  /// Are the dims those that the code was compiled for, if it was compiled for given values?
  bool isCompiledFor(const Variant &v) {
    const Code &code = codeOf(v);
    for (size_t i = 0; code.isSpecialized && i < code.tensors; ++i) {
      const auto &extents = (*code.arguments)[i].extents;
      const auto parameter = static_cast<size_t>(v.parameters[i]);
      if (!isTensor_[parameter] || static_cast<size_t>(tensors_[parameter].rank) != extents.size()) continue;
      for (size_t d = 0; d < extents.size(); ++d)
        if (extents[d].kind == TSR_DIM_NAMED && extents[d].value >= 0 &&
            extents[d].value != tensors_[parameter].shape[d])
          return false;
    }
    return true;
  }

  /// For each parameter without a type its dtype and rank, and what its extents and strides are, as text()
  /// has them.
  bool makeKey() {
    Small<int64_t, kSmall * kMaxRank> extents(count_ * kMaxRank);
    size_t seen = 0;
    // A float of Python takes f64 beside arrays of f64: as f32 it would lose digits, and mix with them by a
    // cast only.
    int ofFloat = TSR_DTYPE_F32;
    for (size_t i = 0; i < count_; ++i)
      if (isTensor_[i] && tensors_[i].dtype == TSR_DTYPE_F64) ofFloat = TSR_DTYPE_F64;
    const uint64_t constants = constantExtents();
    for (size_t i = 0; i < count_; ++i) {
      if (!state_.parameters[i].isOpen) continue;
      if (!isTensor_[i]) {
        const int dtype = dtypeOfScalar(values_[i], name(i), ofFloat);
        if (dtype < 0) return false;
        key_.push(dtype);
        key_.push(-1);
        continue;
      }
      const Tensor &t = tensors_[i];
      const bool isStrided = !t.isContiguous && !state_.isFunction;
      key_.push(t.dtype);
      key_.push(t.rank);
      key_.push(isStrided);
      for (int d = 0; d < t.rank; ++d) {
        key_.push(symbolOf(t.shape[d], constants, extents.data(), seen));
        if (isStrided) key_.push(t.strides[d] == 1);
      }
    }
    return true;
  }

  /// A last axis of a graph function's matrix that is at most this long is short for a reduction
  /// (schedule-unroll-reductions): colours, coordinates, complex numbers.
  static constexpr int64_t kMostConstant = 4;

  /// The extents that are constants, a bit for each: 0 and 1, which broadcast, and short last ones of graph
  /// functions.
  uint64_t constantExtents() {
    uint64_t found = 0b11;
    for (size_t i = 0; i < count_ && state_.isFunction; ++i) {
      if (!state_.parameters[i].isOpen || !isTensor_[i] || tensors_[i].rank < 2) continue;
      const int64_t last = tensors_[i].shape[tensors_[i].rank - 1];
      if (last <= kMostConstant) found |= uint64_t{1} << last;
    }
    return found;
  }

  /// -1 - `extent` of one that is a constant; else the number of the symbol.
  static int64_t symbolOf(int64_t extent, uint64_t constants, int64_t *extents, size_t &seen) {
    if (extent <= kMostConstant && (constants >> extent & 1)) return -1 - extent;
    const int64_t number = std::find(extents, extents + seen, extent) - extents;
    if (number == static_cast<int64_t>(seen)) extents[seen++] = extent;
    return number;
  }

  /// [(parameter, type)] of the parameters without a type, as the key says.
  PyObject *types() {
    Ref list(PyList_New(0));
    size_t at = 0, strides = 0;
    for (size_t i = 0; list && i < count_; ++i) {
      if (!state_.parameters[i].isOpen) continue;
      std::string type = dtypeName(static_cast<int>(key_[at]));
      const int64_t rank = key_[at + 1];
      at += 2;
      if (rank >= 0) {
        const bool isStrided = key_[at++];
        std::string dims, steps;
        for (int64_t d = 0; d < rank; ++d) {
          const int64_t symbol = key_[at++];
          dims += symbol < 0 ? std::to_string(-1 - symbol) + ", " : "'d" + std::to_string(symbol) + "', ";
          if (isStrided)
            steps += std::string(d ? ", " : "") + (key_[at++] ? "1" : "'s" + std::to_string(strides++) + "'");
        }
        type = "tessera.Tensor[" + dims + "tessera." + type +
               (isStrided ? ", tessera.strides(" + steps + ")]" : "]");
      } else {
        // `int`: an i32 that takes the dtype of a float beside it, as a number of Python does
        type = type == "i32" ? "int" : "tessera." + type;
      }
      Ref row(Py_BuildValue("(ss)", name(i), type.c_str()));
      if (!row || PyList_Append(list.get(), row.get())) return nullptr;
    }
    return list.release();
  }

  /// [(parameter, shape)] of the tensors.
  PyObject *shapes() {
    Ref list(PyList_New(0));
    for (size_t i = 0; list && i < count_; ++i) {
      if (!isTensor_[i]) continue;
      Ref shape(PyTuple_New(tensors_[i].rank));
      for (int d = 0; shape && d < tensors_[i].rank; ++d)
        (void)PyTuple_SetItem(shape.get(), d, PyLong_FromLongLong(tensors_[i].shape[d]));
      Ref row(shape ? Py_BuildValue("(sO)", name(i), shape.get()) : nullptr);
      if (!row || PyList_Append(list.get(), row.get())) return nullptr;
    }
    return list.release();
  }

  std::shared_ptr<Variant> compile() {
    Ref open(types()), extents(open ? shapes() : nullptr);
    const uint64_t current = settings;
    Ref made(extents ? PyObject_CallMethod(self_, "_compile", "OO", open.get(), extents.get()) : nullptr);
    if (!made) {
      trimTraceback();
      return nullptr;
    }
    if (Py_TYPE(made.get()) != codeType) {
      PyErr_SetString(PyExc_TypeError, "_compile returned no Code");
      return nullptr;
    }
    auto variant = std::make_shared<Variant>();
    variant->settings = current;
    variant->key = key_.values();
    variant->code = std::move(made);
    for (const Argument &a : *codeOf(*variant).arguments) {
      auto is = [&](const Parameter &p) { return p.text == a.name; };
      const auto found = std::ranges::find_if(state_.parameters, is);
      const bool isGiven = a.kind == TSR_ARG_TENSOR || a.kind == TSR_ARG_SCALAR;
      variant->parameters.push_back(isGiven && found != state_.parameters.end()
                                        ? static_cast<int>(found - state_.parameters.begin())
                                        : -1);
    }
    state_.variants.insert(state_.variants.begin(), variant);
    const auto dropped = takeOld(); // its end lets other threads run
    return variant;
  }

  /// The variants that are too many, removed from the list.
  std::vector<std::shared_ptr<Variant>> takeOld() {
    std::vector<std::shared_ptr<Variant>> old;
    size_t kept = 0, others = 0;
    std::erase_if(state_.variants, [&](std::shared_ptr<Variant> &v) {
      const bool isOfOthers = v->settings != settings;
      if (kept < kMostVariants && (!isOfOthers || others < kMostOfOthers))
        return ++kept, others += isOfOthers, false;
      old.push_back(std::move(v));
      return true;
    });
    return old;
  }

  PyObject *self_;
  State &state_;
  const size_t count_;
  Small<PyObject *, kSmall> values_; // borrowed from the caller's tuple and dict
  Small<Tensor, kSmall> tensors_;
  Small<bool, kSmall> isTensor_;
  Key key_;
};

} // namespace tessera::python
