// ts.Stream: the queues that calls go to, and the waits for them.
//
// Each thread of Python has a stream of its own, so that the failure of one thread's work is raised in that
// thread. `with stream:` makes another one current. The order between streams follows the arrays: a call on
// one stream comes after what other streams have queued on its arrays.
#pragma once
#include "python/core/Core.h"
#include <atomic>
#include <string>

namespace tessera::python {

/// Guarded by the GIL, but for isTaken.
struct Stream {
  PyObject_HEAD Context *context;
  tsr_stream_t handle;
  tsr_event_t mark;          // for the order between streams; null until it is needed
  bool isWorking;            // since isBusy() found it idle, it may have got work
  bool isOwner;              // `handle` is from tsrCreateStream of ts.Stream()
  bool isCapturing;          // until the end of the capture it records
  uint32_t queued;           // calls since makeWay() has waited
  std::atomic<bool> isTaken; // it is the stream of a thread that runs
  tsr_status_t failure;      // of work, that another thread's wait has met; else TSR_SUCCESS
  std::string *said;         // the failure's text
  PyObject *kept;            // a list of what queued work uses and nobody else holds; null: nothing
};

extern PyTypeObject *streamType;

/// The stream that calls of this thread queue on; borrowed. Null after raising.
Stream *currentStream(Context &);
/// To be called when work is queued on a stream; currentStream() does.
void mayWork(Stream &);
/// Makes a stream current until leaveStream().
void enterStream(Stream &);
/// Returns false after raising if it is not the last one that was entered.
bool leaveStream(Stream &);

/// Waits for the stream's work, without the GIL, and raises the work's failure. Signals end the wait. Returns
/// false after raising.
bool wait(Stream &);
/// A part of wait(), without the GIL, of at most `ns`. `isLate`: the work takes longer. `said`: a failure's
/// text.
tsr_status_t waitPart(tsr_stream_t, uint64_t ns, bool &isLate, std::string &said);
/// To be called before something is queued that no call waits for: a stream has at most kMostQueued calls,
/// each of which takes memory. Waits like wait() if there are more. Returns false after raising.
constexpr uint32_t kMostQueued = 2048;
bool makeWay(Stream &);
/// Waits without looking at signals, and leaves a failure for the next call.
void awaitIdle(Stream &);
/// wait() for every stream of this process, or of one context. A failure of another running thread is left
/// for that thread; of one context every failure is left for the next call.
bool waitForAll(Context *only = nullptr);
/// Has the context work to do?
bool isBusy(Context &);
/// Makes what is queued on `stream` from now on come after what is queued on `other`.
bool orderAfter(Stream &stream, Stream &other);
/// Raises a failure that was met earlier. Returns false after raising.
bool checkFailure(Stream &);
/// Holds an object until the stream's work is done, or as part of the graph that is captured. Steals it.
bool keep(Stream &, PyObject *object);
/// The same with an exception set, which stays.
void keepThrough(Stream &, PyObject *borrowed);
/// In the child of a fork: the parent's streams are of no use.
void forgetStreams();

} // namespace tessera::python
