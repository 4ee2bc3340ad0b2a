#include "python/core/Code.h"
#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>

namespace tessera::python {

PyTypeObject *codeType;

namespace {

struct DTypeRow {
  const char *name;
  uint32_t bytes;
};
// In the order of tsr_dtype_t.
constexpr DTypeRow kDTypes[] = {{"f64", 8},      {"f32", 4},      {"f16", 2},      {"bf16", 2},
                                {"tf32", 4},     {"fp8_e4m3", 1}, {"fp8_e5m2", 1}, {"fp6_e2m3", 1},
                                {"fp6_e3m2", 1}, {"fp4_e2m1", 1}, {"i64", 8},      {"i32", 4},
                                {"i16", 2},      {"i8", 1},       {"u8", 1},       {"bool", 1},
                                {"u16", 2},      {"u32", 4},      {"u64", 8}};
static_assert(std::size(kDTypes) == TSR_DTYPE_U64 + 1);

} // namespace

int dtypeOf(const std::string &name) {
  auto row = std::ranges::find(kDTypes, name, &DTypeRow::name);
  return row == std::end(kDTypes) ? -1 : static_cast<int>(row - kDTypes);
}
const char *dtypeName(int dtype) {
  return dtype < 0 || dtype >= static_cast<int>(std::size(kDTypes)) ? "" : kDTypes[dtype].name;
}
uint32_t dtypeBytes(int dtype) { return *dtypeName(dtype) ? kDTypes[dtype].bytes : 0; }

namespace {

/// The options of a compilation, from a dict.
class Options {
public:
  explicit Options(PyObject *dict) : dict_(dict) { o.struct_size = sizeof o; }

  /// Returns false after raising.
  bool read() {
    return name("file", file_, o.file_name) && name("kernel", kernel_, o.kernel) &&
           name("target", target_, o.target) && name("numerics", numerics_, o.numerics) &&
           pairs("types", types_) && pairs("constants", constants_) && numbers("dims", dims_) &&
           numbers("tunables", tunables_) && readPieces() && finish();
  }

  tsr_source_options_t o{};

private:
  using Texts = std::vector<std::pair<std::string, std::string>>;
  using Numbers = std::vector<std::pair<std::string, int64_t>>;

  PyObject *item(const char *key) { return PyDict_GetItemString(dict_, key); }

  bool name(const char *key, std::string &kept, const char *&out) {
    PyObject *value = item(key);
    if (!value || value == Py_None) return true;
    if (!text(value, kept)) return false;
    out = kept.c_str();
    return true;
  }

  /// Calls `take` with each tuple of a list.
  template <class Take> bool each(const char *key, Take take) {
    PyObject *list = item(key);
    for (Py_ssize_t i = 0; list && i < PyList_Size(list); ++i)
      if (!take(PyList_GetItem(list, i))) return false;
    return !PyErr_Occurred();
  }

  bool pairs(const char *key, Texts &out) {
    return each(key, [&](PyObject *pair) {
      const char *name, *value;
      if (!PyArg_ParseTuple(pair, "ss", &name, &value)) return false;
      out.emplace_back(name, value);
      return true;
    });
  }
  bool numbers(const char *key, Numbers &out) {
    return each(key, [&](PyObject *pair) {
      const char *name;
      long long value;
      if (!PyArg_ParseTuple(pair, "sL", &name, &value)) return false;
      out.emplace_back(name, value);
      return true;
    });
  }
  bool readPieces() {
    return each("pieces", [&](PyObject *piece) {
      const char *file;
      unsigned line, fileLine;
      if (!PyArg_ParseTuple(piece, "IsI", &line, &file, &fileLine)) return false;
      files_.emplace_back(std::make_unique<std::string>(file));
      pieces_.push_back({files_.back()->c_str(), line, fileLine});
      return true;
    });
  }

  bool finish() {
    auto view = [](auto &from, auto &to, auto *&list, size_t &count) {
      for (const auto &[name, value] : from)
        if constexpr (std::is_same_v<Texts &, decltype(from)>)
          to.push_back({name.c_str(), value.c_str()});
        else
          to.push_back({name.c_str(), value});
      list = to.data();
      count = to.size();
    };
    view(types_, typeViews_, o.types, o.type_count);
    view(constants_, constantViews_, o.constants, o.constant_count);
    view(dims_, dimViews_, o.dims, o.dim_count);
    view(tunables_, tunableViews_, o.tunables, o.tunable_count);
    o.pieces = pieces_.data();
    o.piece_count = pieces_.size();
    return true;
  }

  PyObject *dict_;
  std::string file_, kernel_, target_, numerics_;
  Texts types_, constants_;
  Numbers dims_, tunables_;
  std::vector<tsr_named_text_t> typeViews_, constantViews_;
  std::vector<tsr_named_int_t> dimViews_, tunableViews_;
  std::vector<std::unique_ptr<std::string>> files_;
  std::vector<tsr_source_piece_t> pieces_;
};

/// read_definition(text, file, line) -> (name, bytes, [(name, line, column)], [returned])
PyObject *readDefinition(PyObject *, PyObject *args) {
  const char *source, *file;
  Py_ssize_t size;
  unsigned line;
  if (!PyArg_ParseTuple(args, "s#sI", &source, &size, &file, &line)) return nullptr;
  const tsr_source_piece_t piece = {file, 1, line};
  Messages messages;
  tsr_source_options_t options{};
  options.struct_size = sizeof options;
  options.file_name = file;
  options.pieces = &piece;
  options.piece_count = 1;
  messages.listen(options);
  tsr_definition_info_t info{};
  info.struct_size = sizeof info;
  tsr_status_t status;
  {
    WithoutGil released;
    status = tsrReadDefinition(source, static_cast<size_t>(size), &options, &info);
  }
  if (status != TSR_SUCCESS) return raise(status, &messages);
  Ref names(PyList_New(0)), returns(PyList_New(0));
  if (!names || !returns) return nullptr;
  for (size_t i = 0; i < info.name_count; ++i) {
    const tsr_free_name_t &n = info.names[i];
    Ref row(Py_BuildValue("(sII)", n.name, n.line, n.column));
    if (!row || PyList_Append(names.get(), row.get())) return nullptr;
  }
  for (size_t i = 0; i < info.return_count; ++i) {
    Ref name(PyUnicode_FromString(info.returns[i]));
    if (!name || PyList_Append(returns.get(), name.get())) return nullptr;
  }
  return Py_BuildValue("(snOO)", info.name, static_cast<Py_ssize_t>(info.bytes), names.get(), returns.get());
}

// --- Describing a loaded kernel ---

Extent extentOf(const std::vector<Argument> &arguments, const char *text, int32_t kind, int32_t argument,
                int64_t value) {
  Extent out{kind, -1, value, text ? text : ""};
  if (kind != TSR_DIM_NAMED) return out;
  out.dim = 0;
  for (int32_t i = 0; i < argument; ++i)
    out.dim += arguments[static_cast<size_t>(i)].kind == TSR_ARG_DIM;
  if (arguments[static_cast<size_t>(argument)].kind != TSR_ARG_DIM)
    out.kind = TSR_DIM_EXPRESSION; // of a scalar
  return out;
}

/// Fills the signature of `code`. Returns false after raising.
bool describe(Code &code) {
  tsr_kernel_info_t info{};
  info.struct_size = sizeof info;
  if (tsr_status_t status = tsrGetKernelInfo(code.kernel, &info)) return raise(status), false;
  code.isFunction = info.is_function;
  auto &arguments = *code.arguments;
  for (uint32_t i = 0; i < info.arg_count; ++i) {
    tsr_arg_info_t a{};
    a.struct_size = sizeof a;
    if (tsr_status_t status = tsrKernelArgInfo(code.kernel, i, &a)) return raise(status), false;
    arguments.push_back({a.name,
                         a.kind,
                         dtypeOf(a.dtype),
                         a.bytes,
                         a.is_read != 0,
                         a.is_written != 0,
                         std::vector<Extent>(a.rank),
                         {}});
    ++(a.kind == TSR_ARG_TENSOR   ? code.tensors
       : a.kind == TSR_ARG_RESULT ? code.results
       : a.kind == TSR_ARG_SCALAR ? code.scalars
                                  : code.dims);
  }
  for (uint32_t i = 0; i < info.arg_count; ++i)
    for (size_t axis = 0; axis < arguments[i].extents.size(); ++axis) {
      tsr_dim_info_t d{};
      d.struct_size = sizeof d;
      if (tsr_status_t status = tsrKernelArgDim(code.kernel, i, axis, &d)) return raise(status), false;
      Extent extent = extentOf(arguments, d.text, d.kind, d.argument, d.value);
      code.hasExpressions |= extent.kind == TSR_DIM_EXPRESSION;
      code.isSpecialized |= extent.kind == TSR_DIM_NAMED && extent.value >= 0;
      arguments[i].extents[axis] = std::move(extent);
      if (d.stride_kind != TSR_DIM_CONTIGUOUS)
        arguments[i].strides.push_back(
            extentOf(arguments, d.stride_text, d.stride_kind, d.stride_argument, d.stride_value));
    }
  return true;
}

/// Finds what the call returns: `names` has a parameter's name or "" by value; None: the results.
bool describeReturns(Code &code, PyObject *names) {
  auto &arguments = *code.arguments;
  if (names == Py_None) {
    for (size_t i = 0; i < code.results; ++i)
      code.returned->push_back(static_cast<int>(code.tensors + i));
    return true;
  }
  const Py_ssize_t count = PyList_Size(names);
  for (Py_ssize_t i = 0; i < count; ++i) {
    std::string wanted;
    if (!text(PyList_GetItem(names, i), wanted)) return false;
    const std::string result = count == 1 ? "result" : "result" + std::to_string(i);
    auto is = [&](const std::string &name, int32_t kind) {
      return std::ranges::find_if(arguments,
                                  [&](const Argument &a) { return a.kind == kind && a.name == name; });
    };
    auto found = is(result, TSR_ARG_RESULT);
    if (found == arguments.end() && !wanted.empty()) found = is(wanted, TSR_ARG_TENSOR);
    if (found == arguments.end()) {
      raiseNamed("UnsupportedError", "E_UNIMPLEMENTED",
                 "value " + std::to_string(i) + " that is returned is a parameter under another name",
                 "return the parameter by its own name");
      return false;
    }
    code.returned->push_back(static_cast<int>(found - arguments.begin()));
  }
  return true;
}

PyObject *newCode(Context *context, tsr_module_t module, tsr_kernel_t kernel, PyObject *keep,
                  PyObject *returns) {
  auto *code = reinterpret_cast<Code *>(PyType_GenericAlloc(codeType, 0));
  if (!code) return nullptr;
  code->context = context;
  code->module = module;
  code->kernel = kernel;
  code->keep = keep;
  Py_XINCREF(keep);
  code->arguments = new std::vector<Argument>;
  code->returned = new std::vector<int>;
  Ref owned(reinterpret_cast<PyObject *>(code));
  return describe(*code) && describeReturns(*code, returns) ? owned.release() : nullptr;
}

void deallocate(PyObject *self) {
  auto *code = reinterpret_cast<Code *>(self);
  if (code->module && !code->keep) {
    WithoutGil released;
    (void)tsrUnloadModule(code->module);
  }
  Py_XDECREF(code->keep);
  delete code->arguments;
  delete code->returned;
  PyTypeObject *type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

// --- Compiling and loading ---

/// load_source(text, options, returns) -> Code of options["kernel"]
PyObject *loadSource(PyObject *, PyObject *args) {
  const char *source;
  Py_ssize_t size;
  PyObject *dict, *returns;
  if (!PyArg_ParseTuple(args, "s#OO", &source, &size, &dict, &returns)) return nullptr;
  Options options(dict);
  Context *context = currentContext();
  if (!context || !options.read()) return nullptr;
  Messages messages;
  messages.listen(options.o);
  tsr_module_t module = nullptr;
  tsr_kernel_t kernel = nullptr;
  tsr_status_t status;
  {
    WithoutGil released;
    status = tsrLoadModuleFromSource(context->handle, source, static_cast<size_t>(size), &options.o, &module);
    if (status == TSR_SUCCESS) status = tsrGetKernel(module, options.o.kernel, &kernel);
  }
  if (status != TSR_SUCCESS) return raise(status, &messages);
  return newCode(context, module, kernel, nullptr, returns);
}

/// Calls the compiler with the options of a dict and without the GIL. Returns false with an exception set.
template <class Call> bool compiles(PyObject *dict, Call call) {
  Options options(dict);
  if (!options.read()) return false;
  Messages messages;
  messages.listen(options.o);
  tsr_status_t status;
  {
    WithoutGil released;
    status = call(options.o);
  }
  if (status != TSR_SUCCESS) raise(status, &messages);
  return status == TSR_SUCCESS;
}

/// compile_bundle(text, options) -> bytes
PyObject *compileBundle(PyObject *, PyObject *args) {
  const char *source;
  Py_ssize_t size;
  PyObject *dict;
  if (!PyArg_ParseTuple(args, "s#O", &source, &size, &dict)) return nullptr;
  const void *bundle = nullptr;
  size_t bytes = 0;
  if (!compiles(dict, [&](const tsr_source_options_t &o) {
        return tsrCompile(source, static_cast<size_t>(size), &o, &bundle, &bytes);
      }))
    return nullptr;
  return PyBytes_FromStringAndSize(static_cast<const char *>(bundle), static_cast<Py_ssize_t>(bytes));
}

/// save_bundle(text, options, path): the file appears completely or not at all.
PyObject *saveBundle(PyObject *, PyObject *args) {
  const char *source, *path;
  Py_ssize_t size;
  PyObject *dict;
  if (!PyArg_ParseTuple(args, "s#Os", &source, &size, &dict, &path)) return nullptr;
  if (!compiles(dict, [&](const tsr_source_options_t &o) {
        return tsrCompileToFile(source, static_cast<size_t>(size), &o, path);
      }))
    return nullptr;
  return none();
}

/// inspect(text, options, level) -> str
PyObject *inspect(PyObject *, PyObject *args) {
  const char *source, *out = nullptr;
  Py_ssize_t size;
  PyObject *dict;
  int level;
  if (!PyArg_ParseTuple(args, "s#Oi", &source, &size, &dict, &level)) return nullptr;
  if (!compiles(dict, [&](const tsr_source_options_t &o) {
        return tsrInspectIr(source, static_cast<size_t>(size), &o, level, &out);
      }))
    return nullptr;
  return PyUnicode_FromString(out);
}

/// load_bundle(path) -> [Code]: all kernels and functions that the file's authors wrote
PyObject *loadBundle(PyObject *, PyObject *args) {
  const char *path;
  if (!PyArg_ParseTuple(args, "s", &path)) return nullptr;
  Context *context = currentContext();
  if (!context) return nullptr;
  tsr_module_t module = nullptr;
  tsr_status_t status;
  {
    WithoutGil released;
    status = tsrLoadModuleFromFile(context->handle, path, nullptr, &module);
  }
  if (status != TSR_SUCCESS) return raise(status);
  Ref list(PyList_New(0));
  PyObject *owner = nullptr; // the first code owns the module
  tsr_kernel_t kernel = nullptr;
  for (size_t i = 0; list && tsrGetModuleKernel(module, i, &kernel) == TSR_SUCCESS; ++i) {
    tsr_kernel_info_t info{};
    info.struct_size = sizeof info;
    if (tsrGetKernelInfo(kernel, &info) != TSR_SUCCESS || info.is_generated) continue;
    Ref code(newCode(context, module, kernel, owner, Py_None));
    if (!code || PyList_Append(list.get(), code.get())) return nullptr;
    if (!owner) owner = code.get();
  }
  return list.release();
}

// --- Attributes ---

PyObject *metadata(PyObject *self, void *) {
  const char *yaml = nullptr;
  tsr_status_t status = tsrKernelMetadata(reinterpret_cast<Code *>(self)->kernel, &yaml);
  return status == TSR_SUCCESS ? PyUnicode_FromString(yaml) : raise(status);
}

/// (name, target, numerics, is_function)
PyObject *info(PyObject *self, void *) {
  tsr_kernel_info_t known{};
  known.struct_size = sizeof known;
  tsr_status_t status = tsrGetKernelInfo(reinterpret_cast<Code *>(self)->kernel, &known);
  if (status != TSR_SUCCESS) return raise(status);
  return Py_BuildValue("(sssO)", known.name, known.target, known.numerics,
                       known.is_function ? Py_True : Py_False);
}

/// [(name, kind, dtype, [extent], [stride], reads, writes)]
PyObject *signature(PyObject *self, void *) {
  static const char *const kKinds[] = {"tensor", "result", "scalar", "dim"};
  Ref list(PyList_New(0));
  for (const Argument &a : *reinterpret_cast<Code *>(self)->arguments) {
    Ref extents(PyList_New(0)), strides(PyList_New(0));
    if (!list || !extents || !strides) return nullptr;
    for (auto [from, to] : {std::pair(&a.extents, &extents), {&a.strides, &strides}})
      for (const Extent &e : *from) {
        Ref text(PyUnicode_FromString(e.text.c_str()));
        if (!text || PyList_Append(to->get(), text.get())) return nullptr;
      }
    Ref row(Py_BuildValue("(sssOOOO)", a.name.c_str(), kKinds[a.kind], dtypeName(a.dtype), extents.get(),
                          strides.get(), a.isRead ? Py_True : Py_False, a.isWritten ? Py_True : Py_False));
    if (!row || PyList_Append(list.get(), row.get())) return nullptr;
  }
  return list.release();
}

} // namespace

PyMethodDef compileMethods[] = {
    {"read_definition", readDefinition, METH_VARARGS, nullptr},
    {"load_source", loadSource, METH_VARARGS, nullptr},
    {"compile_bundle", compileBundle, METH_VARARGS, nullptr},
    {"save_bundle", saveBundle, METH_VARARGS, nullptr},
    {"inspect", inspect, METH_VARARGS, nullptr},
    {"load_bundle", loadBundle, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

bool addCode(PyObject *module) {
  static PyGetSetDef attributes[] = {{"metadata", metadata, nullptr, nullptr, nullptr},
                                     {"info", info, nullptr, nullptr, nullptr},
                                     {"signature", signature, nullptr, nullptr, nullptr},
                                     {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyType_Slot slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void *>(deallocate)}, {Py_tp_getset, attributes}, {0, nullptr}};
  static PyType_Spec spec = {"tessera._core.Code", sizeof(Code), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  return (codeType = addType(module, spec, "Code"));
}

} // namespace tessera::python
