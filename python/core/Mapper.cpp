// Mappers of Python. The library asks on threads of its own. The hook runs in a thread of Python, since the
// interpreter's end may stop a thread that runs Python code, by unwinding its stack, which the library's
// frames do not allow.
#include "python/core/Core.h"
#include <condition_variable>
#include <memory>
#include <mutex>
#include <tessera/mapper.hpp>

namespace tessera::python {
namespace {

/// One call of a hook. The thread that asks and the one that answers share it.
struct Question {
  std::mutex mutex;
  std::condition_variable changed;
  bool isAnswered = false;
  std::string choice, failure;
  double predictedNs = -1;

  void answer(std::string name, double predicted, std::string why) {
    std::lock_guard lock(mutex);
    if (std::exchange(isAnswered, true)) return;
    choice = std::move(name);
    predictedNs = predicted;
    failure = std::move(why);
    changed.notify_one();
  }
};

using Shared = std::shared_ptr<Question>;
constexpr const char *kQuestion = "tessera.question";

/// Of a thread that ended without an answer.
void dropQuestion(PyObject *capsule) {
  auto *question = static_cast<Shared *>(PyCapsule_GetPointer(capsule, kQuestion));
  (*question)->answer("", -1, "the thread of the hook ended without an answer");
  delete question;
}

PyObject *listOf(const Mapper::Names &names) {
  Ref list(PyList_New(0));
  for (const std::string &name : names) {
    Ref text(PyUnicode_FromString(name.c_str()));
    if (!list || !text || PyList_Append(list.get(), text.get())) return nullptr;
  }
  return list.release();
}
template <class Pairs> PyObject *dictOf(const Pairs &pairs) {
  Ref dict(PyDict_New());
  for (const auto &[name, number] : pairs) {
    Ref value(PyLong_FromLongLong(static_cast<long long>(number)));
    if (!dict || !value || PyDict_SetItemString(dict.get(), name.c_str(), value.get())) return nullptr;
  }
  return dict.release();
}

/// A mapper whose hooks are those of a Python object.
class PythonMapper final : public Mapper {
public:
  explicit PythonMapper(PyObject *object) : object_(Py_NewRef(object)) {}
  ~PythonMapper() override {
    const WithGil taken;
    if (taken) Py_DECREF(object_);
  }

  Choice place(const Region &region, const Mesh &mesh) override {
    return ask("place", [&] {
      return Py_BuildValue("{s:s,s:s,s:s,s:N,s:N,s:N,s:N}", "name", region.name.c_str(), "axis",
                           region.axis.c_str(), "dtype", region.dtype.c_str(), "shape", shapeOf(region),
                           "axes", dictOf(mesh.axes), "devices", listOf(mesh.devices), "groups",
                           listOf(mesh.groups));
    });
  }
  Choice chooseCollective(const CollectiveCall &c) override {
    return ask("choose_collective", [&] {
      return Py_BuildValue("{s:s,s:I,s:K,s:s,s:N}", "kind", c.kind.c_str(), "size", c.ranks, "bytes",
                           static_cast<unsigned long long>(c.bytes), "topology", c.topology.c_str(),
                           "algorithms", listOf(c.algorithms));
    });
  }
  Choice chooseVariant(const VariantCall &c) override {
    return ask("choose_variant", [&] {
      return Py_BuildValue("{s:s,s:s,s:s,s:N,s:N}", "op", c.op.c_str(), "arch", c.arch.c_str(), "dtype",
                           c.dtype.c_str(), "variants", listOf(c.variants), "dims", dictOf(c.dims));
    });
  }

private:
  static PyObject *shapeOf(const Region &region) {
    Ref tuple(PyTuple_New(static_cast<Py_ssize_t>(region.shape.size())));
    for (size_t i = 0; tuple && i < region.shape.size(); ++i)
      (void)PyTuple_SetItem(tuple.get(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(region.shape[i]));
    return tuple.release();
  }

  /// Asks in a thread of Python. Throws tessera::Error where there is none to have, and for what the hook
  /// raised.
  template <class About> Choice ask(const char *hook, About about) {
    auto question = std::make_shared<Question>();
    {
      const WithGil taken;
      if (!taken) throw Error(TSR_EINVAL, "the interpreter is ending");
      PyObject *type, *value, *trace; // of the thread that asks
      PyErr_Fetch(&type, &value, &trace);
      const bool started = start(hook, about(), question);
      clearError();
      PyErr_Restore(type, value, trace);
      if (!started) throw Error(TSR_EINVAL, "Python could not start a thread for the hook");
    }
    std::unique_lock lock(question->mutex);
    question->changed.wait(lock, [&] { return question->isAnswered; });
    if (!question->failure.empty()) throw Error(TSR_EINVAL, question->failure);
    return {question->choice, question->predictedNs};
  }

  /// Steals `about`.
  bool start(const char *hook, PyObject *about, const Shared &question) {
    const Ref owned(about);
    auto *shared = new Shared(question);
    const Ref capsule(PyCapsule_New(shared, kQuestion, dropQuestion));
    if (!capsule) return delete shared, false;
    Ref module(about ? PyImport_ImportModule("tessera._mapper") : nullptr);
    return module &&
           Ref(PyObject_CallMethod(module.get(), "ask", "OsOO", object_, hook, about, capsule.get()));
  }

  PyObject *const object_;
};

/// set_mapper(mapper, name); None: the environment's
PyObject *setMapperOf(PyObject *, PyObject *args) {
  PyObject *object;
  const char *name;
  if (!PyArg_ParseTuple(args, "Os", &object, &name)) return nullptr;
  auto mapper = object == Py_None ? nullptr : std::make_unique<PythonMapper>(object);
  tsr_status_t status;
  {
    WithoutGil released; // the mapper before may end here
    status =
        mapper
            ? tsrSetMapperTable(mapperTable<Mapper>(),
                                reinterpret_cast<tsr_mp_mapper *>(static_cast<Mapper *>(mapper.get())), name)
            : tsrSetMapper(nullptr);
  }
  if (status != TSR_SUCCESS) return raise(status);
  (void)mapper.release(); // the library's now
  return none();
}

/// set_mapper_named(spec): NAME or NAME(ARGUMENTS)
PyObject *setMapperNamed(PyObject *, PyObject *arg) {
  std::string spec;
  if (!text(arg, spec)) return nullptr;
  tsr_status_t status;
  {
    WithoutGil released;
    status = tsrSetMapper(spec.c_str());
  }
  return status == TSR_SUCCESS ? none() : raise(status);
}

/// answer_mapper(question, choice, predicted_ns, failure)
PyObject *answerQuestion(PyObject *, PyObject *args) {
  PyObject *capsule;
  const char *choice, *failure;
  double predicted;
  if (!PyArg_ParseTuple(args, "Osds", &capsule, &choice, &predicted, &failure)) return nullptr;
  auto *question = static_cast<Shared *>(PyCapsule_GetPointer(capsule, kQuestion));
  if (!question) return nullptr;
  (*question)->answer(choice, predicted, failure);
  return none();
}

} // namespace

PyMethodDef mapperMethods[] = {{"set_mapper", method<setMapperOf>(), METH_VARARGS, nullptr},
                               {"set_mapper_named", method<setMapperNamed>(), METH_O, nullptr},
                               {"answer_mapper", method<answerQuestion>(), METH_VARARGS, nullptr},
                               {nullptr, nullptr, 0, nullptr}};

} // namespace tessera::python
