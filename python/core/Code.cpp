#include "python/core/Code.h"
#include <algorithm>
#include <cstring>
#include <iterator>

namespace tessera::python {

PyTypeObject *codeType;

namespace {

// In the order of tsr_dtype_t.
constexpr const char *kDTypes[] = {"f64",      "f32",      "f16",      "bf16", "tf32", "fp8_e4m3", "fp8_e5m2",
                                   "fp6_e2m3", "fp6_e3m2", "fp4_e2m1", "i64",  "i32",  "i16",      "i8",
                                   "u8",       "bool",     "u16",      "u32",  "u64"};
static_assert(std::size(kDTypes) == TSR_DTYPE_U64 + 1 && std::size(kDTypeBytes) == std::size(kDTypes));

} // namespace

int dtypeOf(const std::string &name) {
  auto row = std::ranges::find(kDTypes, name);
  return row == std::end(kDTypes) ? -1 : static_cast<int>(row - kDTypes);
}
const char *dtypeName(int dtype) {
  return dtype < 0 || dtype >= static_cast<int>(std::size(kDTypes)) ? "" : kDTypes[dtype];
}
bool isPacked(const std::string &name) { return name == "i4" || name == "u4"; }
void refusePacked(const std::string &what, const std::string &dtype) {
  raiseNamed("UnsupportedError", "E_UNIMPLEMENTED",
             what + " is a tensor of " + dtype +
                 ", which shares bytes among elements: no array of Python does",
             "let the kernel have the bytes as u8, and separate or join the elements there");
}

namespace {

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
    if (dtypeOf(a.dtype) < 0) code.isPacked = true;
    arguments.push_back({a.name,
                         a.kind,
                         dtypeOf(a.dtype),
                         a.dtype,
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
  // `return ts.topk(x, k)`: one value of the source is several results
  const bool isTuple = names != Py_None && PyList_Size(names) == 1 && code.results > 1;
  if (names == Py_None || isTuple) {
    for (size_t i = 0; i < code.results; ++i) {
      if (isTuple && arguments[code.tensors + i].name != "result" + std::to_string(i)) {
        raiseNamed("UnsupportedError", "E_UNIMPLEMENTED",
                   "the tuple that is returned has a parameter among its values",
                   "unpack the tuple, and return the parameter by its own name");
        return false;
      }
      code.returned->push_back(static_cast<int>(code.tensors + i));
    }
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
                 "value " + std::to_string(i) +
                     " that is returned is a parameter under another name, or not in every return",
                 "return the parameter by its own name, the same one in each return of the function");
      return false;
    }
    code.returned->push_back(static_cast<int>(found - arguments.begin()));
  }
  return true;
}

} // namespace

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

namespace {

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
    Ref row(Py_BuildValue("(sssOOOO)", a.name.c_str(), kKinds[a.kind], a.dtypeName.c_str(), extents.get(),
                          strides.get(), a.isRead ? Py_True : Py_False, a.isWritten ? Py_True : Py_False));
    if (!row || PyList_Append(list.get(), row.get())) return nullptr;
  }
  return list.release();
}

} // namespace

bool addCode(PyObject *module) {
  static PyGetSetDef attributes[] = {{"metadata", guarded<metadata>, nullptr, nullptr, nullptr},
                                     {"info", guarded<info>, nullptr, nullptr, nullptr},
                                     {"signature", guarded<signature>, nullptr, nullptr, nullptr},
                                     {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyType_Slot slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void *>(deallocate)}, {Py_tp_getset, attributes}, {0, nullptr}};
  static PyType_Spec spec = {"tessera._core.Code", sizeof(Code), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  return (codeType = addType(module, spec, "Code"));
}

} // namespace tessera::python
