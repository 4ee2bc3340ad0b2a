// The process's trace, and named ranges of the host: tessera/profiler.py makes profiles of them.
#include "python/core/Core.h"
#include <mutex>

namespace tessera::python {
namespace {

/// What the library reports, from any thread, while the trace runs.
class Records {
public:
  /// Records beyond that are counted only: a trace that nobody ends would fill the memory.
  static constexpr size_t kLimit = 1'000'000;

  static void receive(void *user, const tsr_trace_record_t *record) {
    auto &self = *static_cast<Records *>(user);
    std::lock_guard lock(self.mutex_);
    if (self.list_.size() >= kLimit) {
      ++self.dropped_;
      return;
    }
    try {
      self.list_.push_back({*record, record->name, record->backend});
    } catch (const std::bad_alloc &) {
      ++self.dropped_;
    }
  }

  /// ([(kind, name, backend, device, begin_ns, end_ns, correlation, bytes, programs, thread, stream)],
  /// dropped). Precondition: the trace has ended.
  PyObject *take() {
    static constexpr const char *kKinds[] = {"launch", "copy", "fill", "range", "collective", "call"};
    std::vector<Record> list;
    uint64_t dropped;
    {
      std::lock_guard lock(mutex_);
      list = std::exchange(list_, {});
      dropped = std::exchange(dropped_, 0);
    }
    Ref rows(PyList_New(0));
    for (const auto &[record, name, backend] : list) {
      if (!rows || static_cast<size_t>(record.kind) >= std::size(kKinds)) continue;
      Ref row(Py_BuildValue(
          "(sssiLLKKLKK)", kKinds[record.kind], name.c_str(), backend.c_str(),
          static_cast<int>(record.device), static_cast<long long>(record.begin_ns),
          static_cast<long long>(record.end_ns), static_cast<unsigned long long>(record.correlation),
          static_cast<unsigned long long>(record.bytes), static_cast<long long>(record.programs),
          static_cast<unsigned long long>(record.thread),
          static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(record.stream))));
      if (!row || PyList_Append(rows.get(), row.get())) return nullptr;
    }
    return rows ? Py_BuildValue("(OK)", rows.get(), static_cast<unsigned long long>(dropped)) : nullptr;
  }

private:
  struct Record {
    tsr_trace_record_t fields;
    std::string name, backend;
  };
  std::mutex mutex_;
  std::vector<Record> list_;
  uint64_t dropped_ = 0;
};

Records *all = new Records; // never destroyed: the library's threads may report while the process ends

Records &records() { return *all; }

PyObject *start(PyObject *, PyObject *) {
  if (!currentContext()) return nullptr; // a backend that cannot be traced is reported here
  tsr_trace_options_t options{};
  options.struct_size = sizeof options;
  options.record = Records::receive;
  options.user = &records();
  tsr_status_t status;
  {
    WithoutGil released;
    status = tsrTraceStart(&options);
  }
  return status == TSR_SUCCESS ? none() : raise(status);
}

PyObject *stop(PyObject *, PyObject *) {
  tsr_status_t status;
  {
    WithoutGil released;
    status = tsrTraceStop();
  }
  return status == TSR_SUCCESS ? records().take() : raise(status);
}

} // namespace

void forgetTrace() { all = new Records; } // another thread of the parent may have held the lock

PyMethodDef traceMethods[] = {
    {"trace_start", method<start>(), METH_NOARGS, nullptr},
    {"trace_stop", method<stop>(), METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

} // namespace tessera::python
