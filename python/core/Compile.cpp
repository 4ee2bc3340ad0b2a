// The calls that need the compiler. They run in the background, so that Ctrl-C ends the wait for them.
#include "python/core/Background.h"
#include "python/core/Code.h"
#include <memory>

namespace tessera::python {
namespace {

/// The options of a compilation, from a dict.
class Options {
public:
  explicit Options(PyObject *dict) : dict_(dict) { o.struct_size = sizeof o; }

  /// Returns false after raising. Without a dict there is nothing to read.
  bool read() {
    if (!dict_) return true;
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

/// A call of the compiler, with all that it uses.
struct Job {
  Job(PyObject *dict, const char *text, Py_ssize_t size)
      : options(dict), source(text, static_cast<size_t>(size)) {}
  Options options;
  const std::string source;
  Messages messages;
  tsr_status_t status = TSR_SUCCESS;
  std::string said;
};

/// Makes the call, which gets the job, and waits for it. Returns false after raising.
template <class Of, class Call> bool run(const std::shared_ptr<Of> &job, Call call) {
  if (!job->options.read()) return false;
  job->messages.listen(job->options.o);
  auto work = [job, call] {
    job->status = call(*job, job->source.data(), job->source.size(), job->options.o);
    if (job->status != TSR_SUCCESS) job->said = tsrLastError();
  };
  if (!runInterruptibly(work)) return false;
  if (job->status != TSR_SUCCESS) raiseSaid(job->status, job->said, &job->messages);
  return job->status == TSR_SUCCESS;
}

// --- Definitions ---

struct Reading : Job {
  Reading(const char *text, Py_ssize_t size, const char *itsFile, unsigned line)
      : Job(nullptr, text, size), file(itsFile), piece{file.c_str(), 1, line} {
    options.o.file_name = file.c_str();
    options.o.pieces = &piece;
    options.o.piece_count = 1;
  }
  const std::string file;
  const tsr_source_piece_t piece;
  struct Name {
    std::string text;
    uint32_t line, column;
  };
  std::string name;
  size_t bytes = 0;
  std::vector<Name> names;
  std::vector<std::string> returns;
};

/// read_definition(text, file, line) -> (name, bytes, [(name, line, column)], [returned])
PyObject *readDefinition(PyObject *, PyObject *args) {
  const char *source, *file;
  Py_ssize_t size;
  unsigned line;
  if (!PyArg_ParseTuple(args, "s#sI", &source, &size, &file, &line)) return nullptr;
  auto job = std::make_shared<Reading>(source, size, file, line);
  auto read = [](Reading &r, const char *text, size_t bytes, const tsr_source_options_t &o) {
    tsr_definition_info_t info{};
    info.struct_size = sizeof info;
    if (tsr_status_t status = tsrReadDefinition(text, bytes, &o, &info)) return status;
    r.name = info.name;
    r.bytes = info.bytes;
    for (size_t i = 0; i < info.name_count; ++i)
      r.names.push_back({info.names[i].name, info.names[i].line, info.names[i].column});
    r.returns.assign(info.returns, info.returns + info.return_count);
    return TSR_SUCCESS;
  };
  if (!run(job, read)) return nullptr;
  Ref names(PyList_New(0)), returns(PyList_New(0));
  if (!names || !returns) return nullptr;
  for (const Reading::Name &n : job->names) {
    Ref row(Py_BuildValue("(sII)", n.text.c_str(), n.line, n.column));
    if (!row || PyList_Append(names.get(), row.get())) return nullptr;
  }
  for (const std::string &name : job->returns) {
    Ref object(PyUnicode_FromString(name.c_str()));
    if (!object || PyList_Append(returns.get(), object.get())) return nullptr;
  }
  return Py_BuildValue("(snOO)", job->name.c_str(), static_cast<Py_ssize_t>(job->bytes), names.get(),
                       returns.get());
}

// --- Code ---

struct Loading : Job {
  using Job::Job;
  ~Loading() {
    if (module) (void)tsrUnloadModule(module); // nobody waited for it
  }
  tsr_context_t context = nullptr;
  tsr_module_t module = nullptr;
  tsr_kernel_t kernel = nullptr;
};

/// load_source(text, options, returns) -> Code of options["kernel"]
PyObject *loadSource(PyObject *, PyObject *args) {
  const char *source;
  Py_ssize_t size;
  PyObject *dict, *returns;
  if (!PyArg_ParseTuple(args, "s#OO", &source, &size, &dict, &returns)) return nullptr;
  Context *context = currentContext();
  if (!context) return nullptr;
  auto job = std::make_shared<Loading>(dict, source, size);
  job->context = context->handle;
  auto load = [](Loading &l, const char *text, size_t bytes, const tsr_source_options_t &o) {
    const tsr_status_t status = tsrLoadModuleFromSource(l.context, text, bytes, &o, &l.module);
    return status == TSR_SUCCESS ? tsrGetKernel(l.module, o.kernel, &l.kernel) : status;
  };
  if (!run(job, load)) return nullptr;
  return newCode(context, std::exchange(job->module, nullptr), job->kernel, nullptr, returns);
}

struct Writing : Job {
  using Job::Job;
  std::string out, path;
  int level = 0;
};

/// compile_bundle(text, options) -> bytes
PyObject *compileBundle(PyObject *, PyObject *args) {
  const char *source;
  Py_ssize_t size;
  PyObject *dict;
  if (!PyArg_ParseTuple(args, "s#O", &source, &size, &dict)) return nullptr;
  auto job = std::make_shared<Writing>(dict, source, size);
  auto compile = [](Writing &w, const char *text, size_t bytes, const tsr_source_options_t &o) {
    const void *bundle = nullptr;
    size_t length = 0;
    const tsr_status_t status = tsrCompile(text, bytes, &o, &bundle, &length);
    if (status == TSR_SUCCESS) w.out.assign(static_cast<const char *>(bundle), length);
    return status;
  };
  if (!run(job, compile)) return nullptr;
  return PyBytes_FromStringAndSize(job->out.data(), static_cast<Py_ssize_t>(job->out.size()));
}

/// save_bundle(text, options, path): the file appears completely or not at all.
PyObject *saveBundle(PyObject *, PyObject *args) {
  const char *source, *path;
  Py_ssize_t size;
  PyObject *dict;
  if (!PyArg_ParseTuple(args, "s#Os", &source, &size, &dict, &path)) return nullptr;
  auto job = std::make_shared<Writing>(dict, source, size);
  job->path = path;
  auto save = [](Writing &w, const char *text, size_t bytes, const tsr_source_options_t &o) {
    return tsrCompileToFile(text, bytes, &o, w.path.c_str());
  };
  return run(job, save) ? none() : nullptr;
}

/// inspect(text, options, level) -> str
PyObject *inspect(PyObject *, PyObject *args) {
  const char *source;
  Py_ssize_t size;
  PyObject *dict;
  int level;
  if (!PyArg_ParseTuple(args, "s#Oi", &source, &size, &dict, &level)) return nullptr;
  auto job = std::make_shared<Writing>(dict, source, size);
  job->level = level;
  auto print = [](Writing &w, const char *text, size_t bytes, const tsr_source_options_t &o) {
    const char *out = nullptr;
    const tsr_status_t status = tsrInspectIr(text, bytes, &o, w.level, &out);
    if (status == TSR_SUCCESS) w.out = out;
    return status;
  };
  if (!run(job, print)) return nullptr;
  return PyUnicode_FromStringAndSize(job->out.data(), static_cast<Py_ssize_t>(job->out.size()));
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
  struct Unowned {
    tsr_module_t module;
    ~Unowned() {
      if (module) (void)tsrUnloadModule(module);
    }
  } unowned{module};
  tsr_kernel_t kernel = nullptr;
  for (size_t i = 0; list && tsrGetModuleKernel(module, i, &kernel) == TSR_SUCCESS; ++i) {
    tsr_kernel_info_t info{};
    info.struct_size = sizeof info;
    if (tsrGetKernelInfo(kernel, &info) != TSR_SUCCESS || info.is_generated) continue;
    Ref code(newCode(context, module, kernel, owner, Py_None));
    if (!owner) unowned.module = nullptr; // also where newCode() fails
    if (!code || PyList_Append(list.get(), code.get())) return nullptr;
    if (!owner) owner = code.get();
  }
  return list.release();
}

} // namespace

PyMethodDef compileMethods[] = {
    {"read_definition", method<readDefinition>(), METH_VARARGS, nullptr},
    {"load_source", method<loadSource>(), METH_VARARGS, nullptr},
    {"compile_bundle", method<compileBundle>(), METH_VARARGS, nullptr},
    {"save_bundle", method<saveBundle>(), METH_VARARGS, nullptr},
    {"inspect", method<inspect>(), METH_VARARGS, nullptr},
    {"load_bundle", method<loadBundle>(), METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

} // namespace tessera::python
