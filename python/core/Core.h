// What the sources of tessera._core share. The module is built against the limited API of CPython 3.11, so
// one binary serves 3.11 and later. It has no compiler and no numerics: it reads arguments and calls the C
// ABI.
//
// The GIL is held in every function here, unless it says otherwise.
#pragma once
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <atomic>
#include <cstdint>
#include <exception>
#include <string>
#include <tessera/tessera.h>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera::python {

/// May this thread touch Python's objects? Not once the interpreter's end has begun, but in the thread that
/// ends it: CPython ends the others where they take the GIL, by unwinding their stacks, and destructors run
/// without it then. What they own is leaked.
bool ownsPython();

/// Owns one reference.
class Ref {
public:
  Ref() = default;
  explicit Ref(PyObject *owned) : object_(owned) {}
  static Ref borrow(PyObject *o) {
    Py_XINCREF(o);
    return Ref(o);
  }
  Ref(Ref &&other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref &operator=(Ref &&other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ && ownsPython()) Py_DECREF(object_);
  }
  PyObject *get() const { return object_; }
  PyObject *release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

private:
  PyObject *object_ = nullptr;
};

// --- Context.cpp: the interpreter's end ---

inline std::atomic<bool> isEnding = false;
inline thread_local bool endsHere = false; // in the thread that ends the interpreter
inline bool ownsPython() { return !isEnding.load(std::memory_order_relaxed) || endsHere; }
/// Takes the GIL. Never returns in threads that come after the end has begun.
void takeGil(PyThreadState *);
/// Takes the GIL for its lifetime, in a thread of the library. False if the interpreter ends: there is no GIL
/// to take then. The end waits for threads that have it.
class WithGil {
public:
  WithGil();
  ~WithGil();
  WithGil(const WithGil &) = delete;
  WithGil &operator=(const WithGil &) = delete;
  explicit operator bool() const { return has_; }

private:
  bool has_;
  PyGILState_STATE state_;
};

/// Releases the GIL for its lifetime: for calls that wait, compile, or may call hooks on other threads.
class WithoutGil {
public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil() { takeGil(state_); }
  WithoutGil(const WithoutGil &) = delete;
  WithoutGil &operator=(const WithoutGil &) = delete;

private:
  PyThreadState *state_;
};

// --- Errors.cpp: the classes are in tessera/_errors.py ---

/// The compiler's messages of one call. Filled without the GIL.
struct Messages {
  struct Message {
    int32_t severity;
    uint32_t line, column, length;
    std::string code, message, hint, file, sourceLine;
  };
  std::vector<Message> list;
  void listen(tsr_source_options_t &);
};

/// Raises the exception for the calling thread's last failure, and returns null.
PyObject *raise(tsr_status_t status, const Messages *messages = nullptr);
/// The same for a failure before the last one, whose tsrLastError() was `said`.
PyObject *raiseSaid(tsr_status_t status, const std::string &said, const Messages *messages = nullptr);
/// Raises ts.ArgumentError, and returns null.
PyObject *refuse(const char *code, const std::string &message, const std::string &hint = {});
/// Raises the class of that name in tessera._errors.
PyObject *raiseNamed(const char *cls, const char *code, const std::string &message, const std::string &hint);
/// Clears an exception that cannot be raised where it is. Ctrl-C is not lost: the next look at signals raises
/// it.
void clearError();
/// Removes the package's own frames from the begin of the current exception's traceback.
void trimTraceback();

// --- Entries: functions that Python calls ---

/// In a handler: raises what was thrown.
void raiseThrown();

template <auto function> struct Entry;
template <class R, class... A, R (*function)(A...)> struct Entry<function> {
  static R call(A... arguments) {
    try {
      return function(arguments...);
    } catch (const std::exception &) { // not what unwinds a thread that Python ends
      raiseThrown();
    }
    if constexpr (std::is_pointer_v<R>)
      return nullptr;
    else
      return static_cast<R>(-1);
  }
};
/// A function as Python calls it: C++ exceptions end here. Not for deallocators, which raise nothing.
template <auto function> constexpr auto guarded = &Entry<function>::call;
/// The same for a table of methods, also of methods with keywords.
template <auto function> PyCFunction method() {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(guarded<function>));
}
/// The same for a slot of a type.
template <auto function> void *slot() { return reinterpret_cast<void *>(guarded<function>); }

// --- Context.cpp: the process's context ---

struct Context {
  tsr_context_t handle;
  tsr_stream_t stream; // the default stream
  bool isHost;         // kernels access the host's memory
  std::string backend, target;
  int64_t leftBytes = 0; // what waits in Later.cpp
};

/// The ordinal of the contexts' device: tsrCreateContext opens the first one.
constexpr int32_t kDevice = 0;

/// The context that calls use; created on first use, and anew in the child of a fork. Null after raising.
Context *currentContext();
/// A context of this process is on a device with memory of its own.
extern bool usesDevices;
/// Identifies what compiled code depends on besides its source: the backend, the numerics profile.
extern uint64_t settings;

// --- Types of the module, created by addTypes() ---

extern PyTypeObject *codeType, *kernelType, *arrayType;
bool addCode(PyObject *module);
bool addKernel(PyObject *module);
bool addArray(PyObject *module);
bool addStream(PyObject *module);
bool addEvent(PyObject *module);
bool addGraph(PyObject *module);
bool addMethod(PyObject *module);

extern PyMethodDef compileMethods[], contextMethods[], arrayMethods[], mapperMethods[], entryMethods[],
    traceMethods[], tunerMethods[];

/// In the child of a fork, which has no trace.
void forgetTrace();
/// From now on the library's messages go to tessera._log.
void listenToLog();

/// Makes a heap type and adds it to the module under its name.
PyTypeObject *addType(PyObject *module, PyType_Spec &spec, const char *name);
/// UTF-8 of a str without NUL, where C would see its end. Returns false after raising ts.ArgumentError, for
/// what is no str TypeError.
bool text(PyObject *str, std::string &out);
inline PyObject *none() { return Py_NewRef(Py_None); }

} // namespace tessera::python
