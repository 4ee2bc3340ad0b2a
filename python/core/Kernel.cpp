// The call of a kernel: its arguments, dims, results, and the launch.
#include "python/core/Arguments.h"
#include "python/core/Background.h"
#include "python/core/Foreign.h"
#include "python/core/Results.h"
#include <algorithm>

namespace tessera::python {

PyTypeObject *kernelType;

namespace {

struct Kernel {
  PyObject_HEAD State *state;
};

class Call : public Arguments {
public:
  using Arguments::Arguments;

  PyObject *run(PyObject *args, PyObject *keywords) {
    const std::shared_ptr<Variant> variant = read(args, keywords); // other threads may drop it
    return variant ? launch(*variant) : nullptr;
  }

  /// The code for these arguments.
  PyObject *code(PyObject *args, PyObject *keywords) {
    const std::shared_ptr<Variant> variant = read(args, keywords); // other threads may drop it
    return variant ? Py_NewRef(variant->code.get()) : nullptr;
  }

private:
  // --- Dims ---

  /// Takes the dims from the extents that are dims. Returns false, without raising, if an extent differs or
  /// depends on an expression.
  bool takeDims(const Code &code, const Variant &v, int64_t *dims) {
    std::fill_n(dims, code.dims, -1);
    for (size_t i = 0; i < code.tensors; ++i) {
      const Argument &a = (*code.arguments)[i];
      const Tensor &t = tensors_[static_cast<size_t>(v.parameters[i])];
      for (size_t d = 0; d < a.extents.size(); ++d) {
        const Extent &e = a.extents[d];
        if (e.kind == TSR_DIM_CONSTANT) {
          if (t.shape[d] != e.value) return false;
        } else if (e.kind == TSR_DIM_NAMED) {
          int64_t &dim = dims[e.dim];
          if (dim >= 0 && dim != t.shape[d]) return false;
          dim = t.shape[d];
        }
      }
    }
    return !code.hasExpressions;
  }

  /// Takes the strides that have names, and checks the others.
  bool takeStrides(const Code &code, const Variant &v, int64_t *dims) {
    for (size_t i = 0; i < code.tensors; ++i) {
      const Argument &a = (*code.arguments)[i];
      const Tensor &t = tensors_[static_cast<size_t>(v.parameters[i])];
      for (size_t d = 0; d < a.strides.size(); ++d) {
        const Extent &e = a.strides[d];
        if (t.strides[d] < 0) return refuseStride(t, a, d, "negative, " + std::to_string(t.strides[d]));
        if (e.kind == TSR_DIM_CONSTANT && t.strides[d] != e.value && t.shape[d] > 1)
          return refuseStride(t, a, d, std::to_string(t.strides[d]) + ", expected " + e.text);
        if (e.kind == TSR_DIM_NAMED && dims[e.dim] >= 0 && dims[e.dim] != t.strides[d] && t.shape[d] > 1)
          return refuseStride(t, a, d,
                              std::to_string(t.strides[d]) + ", but " + e.text + " is " +
                                  std::to_string(dims[e.dim]));
        if (e.kind == TSR_DIM_NAMED && (dims[e.dim] < 0 || t.shape[d] > 1)) dims[e.dim] = t.strides[d];
      }
    }
    return true;
  }
  bool refuseStride(const Tensor &t, const Argument &a, size_t axis, const std::string &what) {
    refuse("E_ARG_STRIDES",
           state_.name + ": the stride of " + a.name + " along dim " + std::to_string(axis) + " is " + what,
           "pass " + contiguous(t, a));
    return false;
  }
  static std::string contiguous(const Tensor &t, const Argument &a) {
    return t.kind == TypeKind::DLPack ? a.name + ".contiguous()" : "np.ascontiguousarray(" + a.name + ")";
  }

  /// Lets the library solve the dims, or say why they cannot be.
  bool solveDims(const Code &code, const Variant &v, int64_t *dims, std::vector<int64_t> &extents) {
    for (size_t i = 0; i < code.tensors + code.results; ++i)
      for (size_t d = 0; d < (*code.arguments)[i].extents.size(); ++d)
        extents.push_back(i < code.tensors ? tensors_[static_cast<size_t>(v.parameters[i])].shape[d] : -1);
    std::fill_n(dims, code.dims, -1);
    if (!takeStrides(code, v, dims)) return false;
    const tsr_status_t status =
        tsrKernelSolveDims(code.kernel, extents.data(), extents.size(), dims, code.dims);
    if (status == TSR_SUCCESS) return true;
    refuse("E_ARG_SHAPE", tsrLastError());
    return false;
  }

  // --- Checks ---

  bool checkTensor(const Code &code, const Argument &a, size_t parameter) {
    const auto where = [&] { return state_.name + ": " + a.name; };
    if (!isTensor_[parameter]) {
      const std::string found = nameOfType(values_[parameter]);
      if (found.empty()) return false;
      refuse("E_ARG_TYPE", where() + " is a tensor of " + dtypeName(a.dtype) + ", found " + found,
             kindOf(values_[parameter]) == TypeKind::Other
                 ? "pass a NumPy array, a ts.Array or a tensor of DLPack"
                 : "");
      return false;
    }
    Tensor &t = tensors_[parameter];
    if (t.dtype != a.dtype && !(a.dtype == TSR_DTYPE_TF32 && t.dtype == TSR_DTYPE_F32)) {
      refuse("E_ARG_DTYPE", where() + " is " + t.describe() + ", expected elements of " + dtypeName(a.dtype),
             "convert it: ts.asarray(" + a.name + ", dtype=ts." + dtypeName(a.dtype) + ")");
      return false;
    }
    if (static_cast<size_t>(t.rank) != a.extents.size()) {
      refuse("E_ARG_RANK",
             where() + " is " + t.describe() + ", expected " + std::to_string(a.extents.size()) + " dims");
      return false;
    }
    if (!t.isContiguous && a.strides.empty()) {
      refuse("E_ARG_STRIDES",
             where() + " is not contiguous" +
                 (code.isFunction ? ", as the tensors of graph functions must be"
                                  : ", and its type has no ts.strides"),
             "pass " + contiguous(t, a) + (code.isFunction ? "" : ", or declare its strides"));
      return false;
    }
    if (a.isWritten && !t.askReadOnly(values_[parameter], name(parameter))) return false;
    if (a.isWritten && t.isReadOnly) {
      refuse("E_ARG_READONLY", where() + " is read-only, and the kernel writes it",
             "pass a copy: " + a.name + ".copy()");
      return false;
    }
    if (t.isOn(*code.context)) return true;
    if (t.isOfParent(*code.context)) {
      refuse("E_ARG_DEVICE", where() + " is of the process that forked this one, which cannot use it",
             "make the array in this process");
      return false;
    }
    refuse("E_ARG_DEVICE",
           where() + " is in the memory of " + t.place() + ", and the kernel runs on " + code.context->target,
           t.isHost || t.context ? "move it: ts.asarray(" + a.name + ")"
                                 : "move it with its own library, or select the backend of that device");
    return false;
  }

  /// A tensor that is written may share no byte with another, and has no two elements at one place.
  bool checkOverlap(const Code &code, const Variant &v) {
    const auto tensor = [&](size_t i) -> const Tensor & {
      return tensors_[static_cast<size_t>(v.parameters[i])];
    };
    for (size_t i = 0; i < code.tensors; ++i) {
      if (!(*code.arguments)[i].isWritten) continue;
      const auto said = [&] { return state_.name + ": " + (*code.arguments)[i].name + " is written and "; };
      if (!tensor(i).isContiguous && tensor(i).overlapsItself()) {
        refuse("E_ARG_OVERLAP", said() + "has elements that share memory", "pass a copy");
        return false;
      }
      for (size_t j = 0; j < code.tensors; ++j) {
        if (i == j || (j < i && (*code.arguments)[j].isWritten) || !tensor(i).sharesMemory(tensor(j)))
          continue;
        refuse("E_ARG_OVERLAP", said() + "shares memory with " + (*code.arguments)[j].name,
               "pass a copy of one of them");
        return false;
      }
    }
    return true;
  }

  // --- The launch ---

  PyObject *launch(const Variant &variant) {
    const Code &code = codeOf(variant);
    const auto &arguments = *code.arguments;
    const size_t count = arguments.size();
    const std::vector<int> &parameters = variant.parameters;
    if (code.isPacked) [[unlikely]]
      return refusePackedOf(code);
    Stream *stream = currentStream(*code.context);
    if (!stream) return nullptr;
    Small<void *, 2 * kSmall> args(count), pointers(count);
    Small<uint64_t, 2 * kSmall> scalars(count);
    Small<int64_t, 2 * kSmall> dims(code.dims);
    bool waits = false;
    Foreign foreign;
    TypeKind kind = TypeKind::Other; // of the first tensor
    PyObject *first = nullptr;
    for (size_t i = 0; i < count; ++i) {
      const Argument &a = arguments[i];
      const auto parameter = static_cast<size_t>(parameters[i]);
      if (a.kind == TSR_ARG_TENSOR) {
        if (!checkTensor(code, a, parameter)) return nullptr;
        pointers[i] = tensors_[parameter].data;
        waits |= tensors_[parameter].isShared && !tensors_[parameter].streams;
        if (!foreign.add(tensors_[parameter])) return nullptr;
        if (!first) kind = tensors_[parameter].kind, first = values_[parameter];
        args[i] = &pointers[i];
      } else if (a.kind == TSR_ARG_SCALAR) {
        if (isTensor_[parameter] && !is0d(parameter)) return nullptr;
        if (!readScalar(values_[parameter], a.dtype, name(parameter), scalars[i])) return nullptr;
        args[i] = &scalars[i];
      } else if (a.kind == TSR_ARG_DIM) {
        args[i] = &dims[i - (count - code.dims)];
      } else {
        args[i] = nullptr; // until it is allocated
      }
    }
    std::vector<int64_t> extents;
    if (!takeDims(code, variant, dims.data())) {
      if (!solveDims(code, variant, dims.data(), extents)) return nullptr;
    } else if (!takeStrides(code, variant, dims.data())) {
      return nullptr;
    }
    if (!checkOverlap(code, variant)) return nullptr;
    if (!checkFailure(*stream)) return nullptr;
    PyObject *const convert = kind == TypeKind::DLPack && code.results ? converterTo(first) : nullptr;
    Small<Array *, kSmall> arrays(code.tensors);
    size_t arrayCount = 0;
    for (size_t i = 0; i < code.tensors; ++i)
      if (const auto p = static_cast<size_t>(parameters[i]); tensors_[p].kind == TypeKind::Array)
        arrays[arrayCount++] = reinterpret_cast<Array *>(values_[p]);
    Uses uses(*stream, arrays.data(), arrayCount);
    Small<Result, 4> results(code.results);
    Launch launch{code, *stream, uses, foreign, args.data(), count, waits};
    std::shared_ptr<Replay> replay;
    if (state_.replays && !stream->isCapturing) [[unlikely]]
      replay = state_.replays->find(code, kind, pointers.data(), scalars.data(), dims.data());
    if (replay && replay->graph) {
      for (size_t i = 0; i < code.results; ++i)
        results[i].object = Ref::borrow(replay->results[i].get());
      if (!python::replay(*reinterpret_cast<Graph *>(replay->graph.get()), *stream)) return nullptr;
      return returnValues(code, parameters, results.data(), convert);
    }
    const int64_t *known = extents.data() ? extents.data() + extents.size() - resultAxes(code) : nullptr;
    for (size_t i = 0; i < code.results; ++i) {
      const Argument &a = arguments[code.tensors + i];
      int64_t shape[kMaxRank];
      for (size_t d = 0; d < a.extents.size(); ++d)
        shape[d] = known                                   ? *known++
                   : a.extents[d].kind == TSR_DIM_CONSTANT ? a.extents[d].value
                                                           : dims[static_cast<size_t>(a.extents[d].dim)];
      if (!results[i].allocate(*code.context, kind, a.dtype, static_cast<int>(a.extents.size()), shape))
        return refuseLarge(code, args.data(), count);
      pointers[code.tensors + i] = results[i].data;
      args[code.tensors + i] = &pointers[code.tensors + i];
      launch.waits |= results[i].isHost;
      if (!results[i].isHost && !use(*reinterpret_cast<Array *>(results[i].object.get()), *stream))
        return nullptr;
    }
    if (replay ? !capture(*replay, launch, results.data()) : !queue(launch, results.data())) return nullptr;
    return returnValues(code, parameters, results.data(), convert);
  }

  /// Results for which there is no memory may be those of a call that the launch would refuse: says that.
  static PyObject *refuseLarge(const Code &code, void **args, size_t count) {
    if (!PyErr_ExceptionMatches(PyExc_MemoryError)) return nullptr;
    uint64_t bytes;
    if (tsrKernelWorkspace(code.kernel, args, count, &bytes) != TSR_EINVAL) return nullptr;
    PyErr_Clear();
    return raise(TSR_EINVAL);
  }

  PyObject *refusePackedOf(const Code &code) {
    const auto found = std::ranges::find_if(*code.arguments, [](const Argument &a) { return a.dtype < 0; });
    refusePacked(state_.name + ": " + (found->kind == TSR_ARG_RESULT ? "the " : "") + found->name,
                 found->dtypeName);
    return nullptr;
  }

  static size_t resultAxes(const Code &code) {
    size_t axes = 0;
    for (size_t i = 0; i < code.results; ++i)
      axes += (*code.arguments)[code.tensors + i].extents.size();
    return axes;
  }

  bool is0d(size_t parameter) {
    if (tensors_[parameter].rank == 0) return true;
    refuse("E_ARG_TYPE", state_.name + ": " + name(parameter) + " is a scalar, found the array " +
                             tensors_[parameter].describe());
    return false;
  }

  struct Launch {
    const Code &code;
    Stream &stream;
    Uses &uses;
    const Foreign &foreign;
    void **args;
    size_t count;
    bool waits;
  };

  bool queue(const Launch &l, Result *results) {
    const bool isRecorded = l.stream.isCapturing, waits = l.waits && !isRecorded;
    bool isLate = false;
    if (!waits && !isRecorded && !makeWay(l.stream)) return false;
    if (isRecorded && !keepAll(l, results)) return false; // while the arguments are what was read
    if (!l.uses.begin()) return false;
    tsr_status_t status, later = TSR_SUCCESS;
    std::string said;
    {
      WithoutGil released;
      status = isRecorded ? TSR_SUCCESS : l.foreign.before(l.stream.handle);
      if (status == TSR_SUCCESS)
        status = tsrLaunch(l.code.kernel, l.stream.handle, tsr_launch_t{}, l.args, l.count);
      l.uses.end();
      if (status != TSR_SUCCESS) said = tsrLastError();
      // Also after a failure, which may have queued some of its steps.
      const tsr_status_t after = isRecorded ? TSR_SUCCESS : l.foreign.after(l.stream.handle);
      if (status == TSR_SUCCESS && after != TSR_SUCCESS) status = after, said = tsrLastError();
      if (status == TSR_SUCCESS && waits) later = waitPart(l.stream.handle, kPollNs, isLate, said);
    }
    if (!waits) mayWork(l.stream); // another thread may have found it idle before the launch
    if (status != TSR_SUCCESS && waits) awaitIdle(l.stream); // it may have queued some of its steps
    if (status != TSR_SUCCESS) return raiseSaid(status, said), false;
    if (isRecorded) return true;
    if (later != TSR_SUCCESS && !isLate) return raiseSaid(later, said), false;
    const bool goesOn = isLate || (waits && l.stream.kept);
    if (!goesOn || (!PyErr_CheckSignals() && wait(l.stream))) return true;
    // A signal ended the wait, and the work goes on.
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (tsrStreamQuery(l.stream.handle) == TSR_NOT_READY && !keepAll(l, results)) {
      clearError();
      awaitIdle(l.stream); // the memory may end with the call
    }
    PyErr_Restore(type, value, trace);
    return false;
  }

  /// Has the stream hold what the launch uses.
  bool keepAll(const Launch &l, Result *results) {
    for (size_t i = 0; i < count_; ++i)
      if (isTensor_[i] && !keep(l.stream, tensors_[i].hold(values_[i], name(i)))) return false;
    for (size_t i = 0; i < l.code.results; ++i)
      if (!keep(l.stream, Py_NewRef(results[i].object.get()))) return false;
    return keep(l.stream, Py_NewRef(reinterpret_cast<PyObject *>(const_cast<Code *>(&l.code))));
  }

  /// Captures the launch, and queues what that gives.
  bool capture(Replay &replay, const Launch &l, Result *results) {
    auto *graph = newGraph();
    Ref owned(reinterpret_cast<PyObject *>(graph));
    if (!graph || !beginCapture(*graph, l.stream)) return false;
    const bool isQueued = queue(l, results);
    if (!endCapture(*graph) || !isQueued) return false;
    if (!replay.graph) { // no other thread was faster
      for (size_t i = 0; i < l.code.results; ++i)
        replay.results.push_back(Ref::borrow(results[i].object.get()));
      replay.graph = Ref::borrow(owned.get());
    }
    return python::replay(*graph, l.stream);
  }

  PyObject *returnValues(const Code &code, const std::vector<int> &parameters, Result *results,
                         PyObject *convert) {
    auto value = [&](int argument) -> PyObject * {
      const auto i = static_cast<size_t>(argument);
      if (i < code.tensors) return Py_NewRef(values_[static_cast<size_t>(parameters[i])]);
      return results[i - code.tensors].take(convert);
    };
    const std::vector<int> &returned = *code.returned;
    if (returned.empty()) return none();
    if (returned.size() == 1) return value(returned[0]);
    Ref tuple(PyTuple_New(static_cast<Py_ssize_t>(returned.size())));
    for (size_t i = 0; tuple && i < returned.size(); ++i) {
      PyObject *item = value(returned[i]);
      if (!item || PyTuple_SetItem(tuple.get(), static_cast<Py_ssize_t>(i), item)) return nullptr;
    }
    return tuple.release();
  }
};

PyObject *call(PyObject *self, PyObject *args, PyObject *keywords) {
  return Call(self, *reinterpret_cast<Kernel *>(self)->state).run(args, keywords);
}

/// _code(*args, **kwargs): the Code that a call with these arguments would run.
PyObject *code(PyObject *self, PyObject *args, PyObject *keywords) {
  return Call(self, *reinterpret_cast<Kernel *>(self)->state).code(args, keywords);
}

/// _signature(name, parameters, defaults, open, positional, is_function, captures_graph): the first
/// `positional` parameters are also given by position. The default `...` is none.
PyObject *setSignature(PyObject *self, PyObject *args) {
  const char *name;
  PyObject *names, *defaults, *open;
  Py_ssize_t positional;
  int isFunction, capturesGraph;
  if (!PyArg_ParseTuple(args, "sO!O!O!npp", &name, &PyTuple_Type, &names, &PyTuple_Type, &defaults,
                        &PyTuple_Type, &open, &positional, &isFunction, &capturesGraph))
    return nullptr;
  State &state = *reinterpret_cast<Kernel *>(self)->state;
  state.name = name;
  state.isFunction = isFunction;
  state.positional = static_cast<size_t>(positional);
  if (capturesGraph) state.replays = std::make_unique<Replays>();
  state.parameters.clear();
  state.variants.clear();
  state.hasOpen = false;
  for (Py_ssize_t i = 0; i < PyTuple_Size(names); ++i) {
    Parameter p;
    p.name = Ref::borrow(PyTuple_GetItem(names, i));
    if (!text(p.name.get(), p.text)) return nullptr;
    if (PyObject *value = PyTuple_GetItem(defaults, i); value != Py_Ellipsis)
      p.defaultValue = Ref::borrow(value);
    p.isOpen = PyObject_IsTrue(PyTuple_GetItem(open, i)) == 1;
    state.hasOpen |= p.isOpen;
    state.parameters.push_back(std::move(p));
  }
  return none();
}

PyObject *create(PyTypeObject *type, PyObject *, PyObject *) {
  PyObject *self = PyType_GenericAlloc(type, 0);
  if (self) reinterpret_cast<Kernel *>(self)->state = new State;
  return self;
}

void deallocate(PyObject *self) {
  delete reinterpret_cast<Kernel *>(self)->state;
  PyTypeObject *type = Py_TYPE(self);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

} // namespace

bool addKernel(PyObject *module) {
  static PyMethodDef methods[] = {{"_code", method<code>(), METH_VARARGS | METH_KEYWORDS, nullptr},
                                  {"_signature", method<setSignature>(), METH_VARARGS, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_new, slot<create>()},
                                {Py_tp_dealloc, reinterpret_cast<void *>(deallocate)},
                                {Py_tp_call, slot<call>()},
                                {Py_tp_methods, methods},
                                {0, nullptr}};
  static PyType_Spec spec = {"tessera._core.Kernel", sizeof(Kernel), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  return (kernelType = addType(module, spec, "Kernel"));
}

} // namespace tessera::python
