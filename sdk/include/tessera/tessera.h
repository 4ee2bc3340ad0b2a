/* Tessera's C ABI: contexts, memory, streams, events, modules, kernels and launches.
 *
 * C99, and all a program needs: link libtessera.so.
 *
 * Errors. Every call returns a status. tsrLastError() returns the text of the calling thread's last failure,
 * valid until that thread's next failing call. Out parameters are written on success only. "Errors:" at a
 * function lists the statuses it returns itself. Any call may also return TSR_EOOM when the host's memory
 * runs out, TSR_EINTERNAL, TSR_EDEVICE from a GPU's driver or in the child of a fork (see Processes),
 * TSR_UNIMPLEMENTED from a backend that lacks an optional part (memset, events), and, if it queues on a
 * stream or waits for one, the failure of work that was queued earlier (see Order).
 *
 * Threads. Every call may come from any thread, and many threads may use a handle at once. No thread may
 * destroy a handle while a call in another thread uses it. Handles are checked: NULL, a destroyed handle or
 * one of another kind is TSR_EINVAL, not a crash.
 *
 * Processes. The library's threads block signals meant for the process and keep the default floating-point
 * modes, whatever the caller's are. The child of a fork may only destroy and free what its parent created;
 * any other call with such a handle is TSR_EDEVICE. Destroying returns at once and does not wait; the memory
 * is freed when the child ends. The child may create contexts of its own, whatever the parent's threads were
 * doing; if the parent had launched kernels, each of the child's streams computes with one thread. dlclose
 * leaves the library mapped.
 *
 * Order. Work queued on one stream runs in the order it was queued. Streams, the default stream included, are
 * independent of each other until an event orders them. A NULL stream is the context's default stream. Work
 * that fails after it was queued fails its stream: the next call that uses or waits for that stream returns
 * the failure and clears it. If threads share a stream, one of them gets the failure. Work queued after the
 * failing work is dropped; a plain (waiting) copy or fill that was dropped always returns an error. A call
 * that queues brief work (25 us) on an idle CPU stream may run it in the calling thread.
 *
 * Units. Sizes are bytes and times are nanoseconds unless a name says otherwise. Strings are UTF-8 and end in
 * NUL.
 *
 * Settings. An argument of a call overrides a TESSERA_ variable, and the variable overrides the configuration
 * file (docs/configuration.md).
 *
 * Growth. Structs begin with struct_size, which the caller sets to sizeof (tsr_launch_t is frozen and does
 * not). Enumerators and functions are only ever appended. */
#ifndef TESSERA_TESSERA_H
#define TESSERA_TESSERA_H

#include <stddef.h>
#include <stdint.h>
#include <tessera/status.h>
#include <tessera/types.h>

#if defined(__GNUC__)
#define TSR_API __attribute__((visibility("default")))
#else
#define TSR_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Equal majors are compatible. A library of a higher minor serves programs built against a lower one. */
#define TSR_ABI_MAJOR 1
#define TSR_ABI_MINOR 4

/* ---- Status (tsr_status_t: tessera/status.h) ---- */

/* Return the enumerator as text ("TSR_EINVAL"), and its meaning in a few words. Never NULL; the text is
 * static. */
TSR_API const char *tsrStatusName(tsr_status_t status);
TSR_API const char *tsrStatusString(tsr_status_t status);

/* Returns the text of this thread's last failure; "" before the first. Never NULL. */
TSR_API const char *tsrLastError(void);

/* Return the library's version, "0.1.0", and the ABI it was built with (either pointer may be NULL). */
TSR_API const char *tsrVersion(void);
TSR_API void tsrAbiVersion(uint32_t *major, uint32_t *minor);

/* ---- Handles ---- */

typedef struct tsr_context *tsr_context_t; /* owns everything made from it */
typedef struct tsr_module *tsr_module_t;   /* compiled code */
typedef struct tsr_kernel *tsr_kernel_t;   /* an entry point of a module, owned by the module */
typedef struct tsr_stream *tsr_stream_t;   /* a queue of work */
typedef struct tsr_event *tsr_event_t;     /* a point in a stream's order */
typedef struct tsr_graph *tsr_graph_t;     /* work recorded from a stream, to be queued again and again */

/* ---- Log ---- */

typedef enum { TSR_LOG_ERROR = 0, TSR_LOG_WARNING = 1, TSR_LOG_NOTE = 2, TSR_LOG_DEBUG = 3 } tsr_log_level_t;

/* One message: its stable code ("E_SHAPE_MISMATCH") and its text. The strings are valid during the callback.
 */
typedef void (*tsr_log_fn)(void *user, tsr_log_level_t level, const char *code, const char *text);

/* Sets the process's one log callback, for messages of `level` and more severe ones; NULL removes it. Without
 * one the library prints nothing. Messages are warnings about the environment (W_ENVIRONMENT), the backend of
 * a context and what chose it (N_BACKEND), fallbacks in use, each once (N_FALLBACK), failures of queued work
 * whose stream or context was destroyed before any call could return them (E_QUEUED_WORK), and others
 * (docs/c-abi.md). The callback runs in the thread whose call causes the message, in several threads at the
 * same time, and without locks held, so it may call the library. A callback that is running in another thread
 * may still end after this function has returned. Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrSetLogCallback(tsr_log_fn callback, void *user, tsr_log_level_t level);

/* ---- Backends ---- */

typedef struct tsr_backend_info {
  size_t struct_size;
  const char *name;        /* "cpu", "ptx", "rocm", "levelzero"; static */
  const char *description; /* static */
  const char *reason;      /* why it is not available, or ""; static */
  int32_t available;       /* 1: a context can be made */
  int32_t selected;        /* 1: what tsrCreateContext would use now */
  int32_t device_count;
} tsr_backend_info_t;

/* Describes one of the backends that Tessera knows, whether usable here or not. `index` counts from 0; past
 * the end: TSR_ENOTFOUND. Errors: TSR_EINVAL, TSR_ENOTFOUND. */
TSR_API tsr_status_t tsrGetBackendInfo(size_t index, tsr_backend_info_t *info);

/* Sets the backend of contexts whose options name none; it overrides TESSERA_BACKEND. NULL removes it. The
 * alias "level_zero" is accepted for "levelzero" everywhere. A name that cannot be used changes nothing.
 * Errors: TSR_ENOTFOUND, TSR_UNIMPLEMENTED. */
TSR_API tsr_status_t tsrSelectBackend(const char *name);

enum {
  TSR_REPORT_PROBE = 1, /* probe the backends that have not been probed yet, each in a process of its own */
  TSR_REPORT_PROBE_ALL = 2 /* probe every backend, even if this machine's hardware, TESSERA_PROBE=note or the
                              quarantine, which stays, would prevent it (appended in 1.3) */
};

/* Returns every plugin that was found and every one that is missing, with the reason why it is not used, as a
 * JSON object whose keys docs/plugins.md lists. The text is valid until this thread's next call of this
 * function (appended in 1.2). Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrGetLoadReport(uint32_t flags, const char **json);

/* Returns the configuration file of this process and what is wrong with it (null: nothing), and the value of
 * each key of docs/configuration.md with the place where it is set (null: nowhere), as a JSON object:
 * {"file":"/etc/tessera/tessera.yaml","error":null,"settings":{"backend":{"value":"cpu","from":
 * "TESSERA_BACKEND"},"probe":{"value":null,"from":null},...}}. The text is valid until this thread's next
 * call of this function (appended in 1.4). Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrGetConfig(const char **json);

/* Clears the quarantine of plugins whose probe crashed, which are otherwise not probed again until they,
 * their driver or this library change. `count` receives their number (appended in 1.2). Errors: TSR_EINVAL.
 */
TSR_API tsr_status_t tsrResetQuarantine(uint32_t *count);

struct tsr_host_info; /* of plugin.h */
struct tsr_plugin_info;

/* Registers a plugin that is part of the program: `query` answers as a file's tsrPluginQuery does, and passes
 * the same checks except those of the file itself. It has priority over files of the same name and is used as
 * they are: by TESSERA_BACKEND, tsrSelectBackend and the options of a context, as a mapper, as a
 * communicator's implementation, and in the automatic choice, which is repeated and probes this plugin in
 * this process. Memory that its answer points to must stay valid until the plugin is unregistered, else for
 * the lifetime of the process. The text of a refusal begins with a TSRP code (docs/plugins.md). TSR_EINVAL:
 * the plugin breaks a rule, or a plugin of its name is in use already; TSR_UNIMPLEMENTED: it needs another
 * version of the contract or a feature that this library does not have. (Appended in 1.3.) Errors:
 * TSR_EINVAL, TSR_UNIMPLEMENTED. */
TSR_API tsr_status_t tsrRegisterPlugin(int32_t (*query)(const struct tsr_host_info *host,
                                                        struct tsr_plugin_info *info));

/* Removes a plugin that tsrRegisterPlugin registered: destroys its backend and calls its shutdown.
 * TSR_EINVAL, without any effect, while contexts, communicators or a mapper of it exist or a call in another
 * thread uses it. If tsrSelectBackend selected it, that selection ends. Names and other strings that it
 * returned become invalid. TSR_ENOTFOUND: no such plugin was registered; others are never unloaded. (Appended
 * in 1.3.) Errors: TSR_EINVAL, TSR_ENOTFOUND. */
TSR_API tsr_status_t tsrUnregisterPlugin(const char *name);

typedef struct tsr_device_info {
  size_t struct_size;
  const char *backend;
  const char *name;          /* "AMD EPYC 7B13" */
  const char *arch;          /* target name as the compiler spells it: "cpu:znver3", "ptx:sm_90" */
  uint64_t memory_bytes;     /* total */
  uint64_t max_shared_bytes; /* shared memory a tile program may have */
  uint32_t compute_units;    /* programs that run at once: cores, multiprocessors */
  uint32_t vector_bytes;     /* width of the widest vector register, or of a warp's 32-bit lanes */
} tsr_device_info_t;

/* Return the number of a backend's devices, and describe one of them; no context is needed. `backend` NULL:
 * the one tsrCreateContext would use now. The strings are static. Errors: TSR_EINVAL, TSR_ENOTFOUND,
 * TSR_UNIMPLEMENTED. */
TSR_API tsr_status_t tsrGetDeviceCount(const char *backend, int32_t *count);
TSR_API tsr_status_t tsrGetBackendDeviceInfo(const char *backend, int32_t device, tsr_device_info_t *info);

/* Returns the same and more as a JSON object, whose keys docs/c-abi.md lists. Errors: TSR_EINVAL,
 * TSR_ENOTFOUND, TSR_UNIMPLEMENTED. */
TSR_API tsr_status_t tsrGetBackendDeviceCapabilities(const char *backend, int32_t device, const char **json);

/* ---- Contexts ---- */

/* Allocates a context's device memory instead of the backend's own pools: each tsrAlloc, and each temporary
 * that the library needs on the device, is one call of `alloc` and later one of `free` with the same size, at
 * the latest when the context is destroyed. Nothing is pooled. `alloc` returns memory that the device can
 * use, aligned to `alignment`, or NULL, which is TSR_EOOM for the call that needed it. Both are called from
 * any thread that calls the library, from several at a time, without locks held; they must not call the
 * library. The struct is copied; `user` must outlive the context. */
typedef struct tsr_allocator {
  size_t struct_size;
  void *user;
  void *(*alloc)(void *user, size_t bytes, size_t alignment);
  void (*free)(void *user, void *ptr, size_t bytes);
} tsr_allocator_t;

typedef struct tsr_context_options {
  size_t struct_size;
  const char *backend; /* NULL: that of tsrSelectBackend, else TESSERA_BACKEND, else the best available */
  int32_t device;      /* ordinal, from 0 */
  const tsr_allocator_t *allocator; /* NULL: the backend's own (appended in 1.1) */
} tsr_context_options_t;

/* Creates a context on device 0 of the default backend, or with the given options. If TESSERA_BACKEND or the
 * options name a backend that cannot be used, the call fails (TSR_ENOTFOUND; TSR_UNIMPLEMENTED if it is known
 * but not installed): no other backend replaces it. Errors: TSR_EINVAL, TSR_ENOTFOUND, TSR_UNIMPLEMENTED. */
TSR_API tsr_status_t tsrCreateContext(tsr_context_t *context);
TSR_API tsr_status_t tsrCreateContextEx(const tsr_context_options_t *options, tsr_context_t *context);

/* Waits for all of the context's work, then destroys the context with every buffer, stream, event, module and
 * kernel made from it. Those handles and device pointers are invalid afterwards. A failure of queued work
 * that no call has returned yet is returned; the context is destroyed even then. Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrDestroyContext(tsr_context_t context);

/* Describe the context's device. The strings live as long as the context. Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrGetDeviceInfo(tsr_context_t context, tsr_device_info_t *info);
TSR_API tsr_status_t tsrGetDeviceCapabilities(tsr_context_t context, const char **json);

/* Returns one capability by its key: "warp_size"; "tensorcore.bf16" is a member of an object. A text is
 * returned as it is, anything else as JSON ("32", "true"). `value` is valid until this thread's next call of
 * this function. TSR_ENOTFOUND: the device has no such key; the text lists those it has. (Appended in 1.4.)
 * Errors: TSR_EINVAL, TSR_ENOTFOUND. */
TSR_API tsr_status_t tsrGetDeviceCapability(tsr_context_t context, const char *key, const char **value);

/* Lets kernels and copies of `context` access device memory of `peer`, another context of the same backend,
 * for the lifetime of both. TSR_SUCCESS if access was enabled already. TSR_UNIMPLEMENTED: the backend, which
 * the text names, or the two devices do not support it. (Appended in 1.3.) Errors: TSR_EINVAL,
 * TSR_UNIMPLEMENTED. */
TSR_API tsr_status_t tsrContextEnablePeer(tsr_context_t context, tsr_context_t peer);

/* Begin and end a named range of the calling thread in the backend's profiler. Each thread's ranges nest. A
 * backend without a profiler does nothing. TSR_EINVAL also for a pop without a push by this thread on this
 * context. (Appended in 1.3.) Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrRangePush(tsr_context_t context, const char *name);
TSR_API tsr_status_t tsrRangePop(tsr_context_t context); /* Errors: TSR_EINVAL. */

/* ---- Memory ---- */

enum {
  TSR_MEM_DEVICE = 0,      /* memory of the device */
  TSR_MEM_PINNED_HOST = 1, /* host memory the device copies from and to fastest */
  TSR_MEM_MANAGED = 2      /* host and device may access it, between synchronisations */
};

/* Allocates `bytes` of memory, aligned to at least 64 bytes, with undefined contents. 0 bytes gives a pointer
 * that may only be freed and compared. TSR_EOOM: there is not enough memory. Errors: TSR_EINVAL, TSR_EOOM. */
TSR_API tsr_status_t tsrAlloc(tsr_context_t context, size_t bytes, uint32_t flags, void **dptr);

/* Waits until the work queued in the context so far is done, then frees the block. NULL is allowed. A
 * pointer that tsrAlloc of this context did not return, or that was freed already, is TSR_EINVAL.
 * Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrFree(tsr_context_t context, void *dptr);

typedef struct tsr_memory_info {
  size_t struct_size;
  uint64_t total_bytes;  /* of the device */
  uint64_t free_bytes;   /* an estimate */
  uint64_t in_use_bytes; /* allocated by tsrAlloc of this context, and its streams' workspaces */
  uint64_t pooled_bytes; /* kept by this context for later calls */
} tsr_memory_info_t;

/* Returns the context's use of memory. Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrGetMemoryInfo(tsr_context_t context, tsr_memory_info_t *info);

/* Returns pooled memory that is not in use, and the workspaces of idle streams, to the system (small blocks
 * share pages, which are returned when none of their blocks is in use). Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrTrimMemory(tsr_context_t context);

/* Copies. Device ranges must be inside one live allocation of the context, else TSR_EINVAL. D2D ranges may
 * overlap. The plain forms queue on the default stream and wait for it. The Async forms only queue: the host
 * range must not change until the copy has run. Errors: TSR_EINVAL, TSR_EDEVICE. */
TSR_API tsr_status_t tsrMemcpyH2D(tsr_context_t context, void *dst, const void *src, size_t bytes);
TSR_API tsr_status_t tsrMemcpyD2H(tsr_context_t context, void *dst, const void *src, size_t bytes);
TSR_API tsr_status_t tsrMemcpyD2D(tsr_context_t context, void *dst, const void *src, size_t bytes);
TSR_API tsr_status_t tsrMemcpyH2DAsync(tsr_context_t context, void *dst, const void *src, size_t bytes,
                                       tsr_stream_t stream);
TSR_API tsr_status_t tsrMemcpyD2HAsync(tsr_context_t context, void *dst, const void *src, size_t bytes,
                                       tsr_stream_t stream);
TSR_API tsr_status_t tsrMemcpyD2DAsync(tsr_context_t context, void *dst, const void *src, size_t bytes,
                                       tsr_stream_t stream);

/* Fill with a byte (0 to 255, else TSR_EINVAL). Errors: TSR_EINVAL, TSR_EDEVICE. */
TSR_API tsr_status_t tsrMemset(tsr_context_t context, void *dst, int value, size_t bytes);
TSR_API tsr_status_t tsrMemsetAsync(tsr_context_t context, void *dst, int value, size_t bytes,
                                    tsr_stream_t stream);

/* ---- Streams ---- */

/* Creates a stream of the context. Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrCreateStream(tsr_context_t context, tsr_stream_t *stream);

/* Waits for the stream's work, destroys the stream in any case, and returns the work's failure if any.
 * Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrDestroyStream(tsr_stream_t stream);

/* Returns the context's default stream as a handle. It cannot be destroyed. Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrGetDefaultStream(tsr_context_t context, tsr_stream_t *stream);

/* Waits until the work queued so far is done. Errors: TSR_EINVAL, TSR_EDEVICE. */
TSR_API tsr_status_t tsrStreamSynchronize(tsr_stream_t stream);

/* As tsrStreamSynchronize, with a limit: TSR_ETIMEOUT if work is still running after timeout_ns. Errors:
 * TSR_EINVAL, TSR_ETIMEOUT, TSR_EDEVICE. */
TSR_API tsr_status_t tsrStreamSynchronizeFor(tsr_stream_t stream, uint64_t timeout_ns);

/* Returns TSR_SUCCESS if all work is done, else TSR_NOT_READY. Never waits. Errors: TSR_EINVAL,
 * TSR_NOT_READY, TSR_EDEVICE. */
TSR_API tsr_status_t tsrStreamQuery(tsr_stream_t stream);

/* A stream as the device's own interface knows it (appended in 1.4). */
typedef struct tsr_native_stream {
  size_t struct_size;
  const char *api; /* the type of `handle`: "cuda": CUstream; "hip": hipStream_t; "level_zero":
                    * ze_command_list_handle_t, an immediate list; belongs to the backend */
  void *handle;    /* belongs to the stream */
} tsr_native_stream_t;

/* Gives the native handle of a stream, so that a program can queue work of other libraries in the stream's
 * order. TSR_UNIMPLEMENTED: the backend has none, as the CPU. TSR_EINVAL also: the stream is being captured,
 * and work queued through the handle would not be part of the graph. (Appended in 1.4.) Errors: TSR_EINVAL,
 * TSR_UNIMPLEMENTED. */
TSR_API tsr_status_t tsrStreamNative(tsr_stream_t stream, tsr_native_stream_t *native);

/* Makes what is queued on `stream` from now on come after what `native` holds now: a stream of another
 * library on the context's device. Neither is waited for. TSR_UNIMPLEMENTED: the backend cannot, as the CPU.
 * TSR_EINVAL also: `native` is of another interface than the backend's, or one of both records a graph.
 * (Appended in 1.4.) Errors: TSR_EINVAL, TSR_UNIMPLEMENTED. */
TSR_API tsr_status_t tsrStreamWaitNative(tsr_stream_t stream, const tsr_native_stream_t *native);

/* The reverse: makes what is queued on `native` from now on come after what `stream` holds now. Waits only
 * for collectives that were queued on `stream` (tsrCollectiveAsync). (Appended in 1.4.) Errors: TSR_EINVAL,
 * TSR_UNIMPLEMENTED. */
TSR_API tsr_status_t tsrNativeWaitStream(const tsr_native_stream_t *native, tsr_stream_t stream);

/* Waits for every stream of the context. Returns the first failure found, of the default stream first.
 * Errors: TSR_EINVAL, TSR_EDEVICE. */
TSR_API tsr_status_t tsrSynchronize(tsr_context_t context);

/* ---- Events ---- */

/* Creates an event of the context. Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrCreateEvent(tsr_context_t context, tsr_event_t *event);

/* Destroys the event. Records and waits of it may still be queued: the queued work keeps what it needs.
 * Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrDestroyEvent(tsr_event_t event);

/* Marks the current end of the stream's queue. Recording again moves the event; waits that were queued before
 * keep the point they had. `stream` NULL: the default stream of the event's context.
 * Errors: TSR_EINVAL, TSR_EDEVICE. */
TSR_API tsr_status_t tsrEventRecord(tsr_event_t event, tsr_stream_t stream);

/* Makes work queued on `stream` after this call wait for the event's current point. An event that was never
 * recorded counts as completed. Stream and event must belong to one context. Errors: TSR_EINVAL, TSR_EDEVICE.
 */
TSR_API tsr_status_t tsrStreamWaitEvent(tsr_stream_t stream, tsr_event_t event);

/* Waits until the event has completed. An event that was never recorded counts as completed. A failure of the
 * recording stream is returned by calls on that stream, not here. Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrEventSynchronize(tsr_event_t event);

/* Returns TSR_SUCCESS if the event has completed, else TSR_NOT_READY. Errors: TSR_EINVAL, TSR_NOT_READY. */
TSR_API tsr_status_t tsrEventQuery(tsr_event_t event);

/* Returns the milliseconds between two recorded points. TSR_EINVAL: one was never recorded; TSR_NOT_READY:
 * one has not completed. Errors: TSR_EINVAL, TSR_NOT_READY. */
TSR_API tsr_status_t tsrEventElapsedMs(tsr_event_t start, tsr_event_t end, double *ms);

/* ---- Modules ---- */

typedef struct tsr_named_int {
  const char *name;
  int64_t value;
} tsr_named_int_t;

typedef struct tsr_named_text {
  const char *name;
  const char *text;
} tsr_named_text_t;

/* Lines of a source that come from another file: those from `line` on, up to the next piece (appended in
 * 1.4). The first of them may be indented: its indentation is the margin of the piece. */
typedef struct tsr_source_piece {
  const char *file;
  uint32_t line;      /* the first of them in the source, from 1 */
  uint32_t file_line; /* and in the file */
} tsr_source_piece_t;

/* One message of the compiler (appended in 1.4). The strings are valid during the callback and never NULL. */
typedef struct tsr_diagnostic {
  size_t struct_size;
  int32_t severity; /* tsr_log_level_t: error, warning or note */
  uint32_t line;    /* from 1; 0: the message has no position in the source, and so no column and length */
  uint32_t column;  /* from 1, in bytes */
  uint32_t length;  /* bytes of the marked text, at least 1 */
  const char *code; /* "E_UNDEFINED_NAME": what `tsr explain` takes */
  const char *message;
  const char *hint;        /* how to fix it, or "" */
  const char *file;        /* "" without a position */
  const char *source_line; /* the text of `line`, or "" */
} tsr_diagnostic_t;

/* `diagnostic->struct_size` is the library's: fields beyond it do not exist. */
typedef void (*tsr_diagnostic_fn)(void *user, const tsr_diagnostic_t *diagnostic);

typedef struct tsr_source_options {
  size_t struct_size;
  const char *file_name; /* for diagnostics; NULL: "<source>" */
  const char *kernel;    /* NULL: every kernel and graph function of the source */
  const char *target;    /* NULL: the context's device; else a target name of the same backend */
  const char *numerics;  /* "fast", "standard", "deterministic", "strict", or a plugin's (docs/numerics.md);
                            NULL: TESSERA_NUMERICS, else standard */
  const tsr_named_int_t *dims; /* sizes the compiler may specialise on: see `exact_dims` */
  size_t dim_count;
  const tsr_named_int_t *tunables; /* values instead of each tunable's first */
  size_t tunable_count;
  tsr_log_fn log; /* diagnostics, rendered with source line and caret, during the call and on its thread;
                     NULL: the first error is in tsrLastError only */
  void *log_user;
  tsr_diagnostic_fn diagnose; /* the same diagnostics as structs, at the same time and before each one's
                                 `log`; NULL: none (appended in 1.4) */
  void *diagnose_user;        /* (appended in 1.4) */
  /* Types of parameters that have none in the source, as text of its language: "Tensor['M', 'K', f32]",
   * "i64". The name is "x" for that parameter of every kernel and graph function, or "gemm.x" for one
   * function. TSR_ECOMPILE: no such parameter lacks a type, or "gemm.x" already has one. (Appended in 1.4.)
   */
  const tsr_named_text_t *types;
  size_t type_count;
  /* Values of names that the source does not define, as if it began with NAME = TEXT: "128", "0.5", "True",
   * "'relu'", "(2, 4)", or the name of a dtype, "bf16". A name that the source defines is TSR_ECOMPILE.
   * (Appended in 1.4.) */
  const tsr_named_text_t *constants;
  size_t constant_count;
  /* 0: a graph function has a variant for the values in `dims` and code for all others, and each launch runs
   * what fits. 1: it has the code for these values only. Either way a program that is an error without a
   * dim's value is compiled for that value alone; its launches refuse others. (Appended in 1.4.) */
  int32_t exact_dims;
  int32_t reserved; /* 0 */
  /* Where the lines of the source come from, if it was put together from several texts, in ascending order of
   * their lines; diagnostics and the messages of kernels have these files and lines. A constant's name may
   * also be a chain of attributes ("config.BLOCK"), and its text the name of a function of the source. All of
   * this was appended in 1.4. */
  const tsr_source_piece_t *pieces;
  size_t piece_count;
} tsr_source_options_t;

/* A name that a definition uses and does not define (appended in 1.4). */
typedef struct tsr_free_name {
  const char *name; /* as it is written, attributes included: "alpha", "ts.tile.zeros" */
  uint32_t line;    /* of its first use, from 1, in the text */
  uint32_t column;  /* from 1 */
} tsr_free_name_t;

/* What tsrReadDefinition found (appended in 1.4). The strings are valid until the thread's next call of it.
 */
typedef struct tsr_definition_info {
  size_t struct_size;
  const char *name;             /* of the function */
  size_t bytes;                 /* from the begin of the text to the end of the definition */
  const tsr_free_name_t *names; /* each once, in the order of the text */
  size_t name_count;
  const char *const *returns; /* for each value that it returns: the parameter that the value is, or "" */
  size_t return_count;
} tsr_definition_info_t;

/* Reads the definition of a function at the begin of a text, with its decorators, and returns its length and
 * the names that a caller has to supply: as constants, or by adding the text of functions. What follows the
 * definition may be any UTF-8 text. The first line may be indented. `options` may be NULL; of them it uses
 * file_name, pieces, log and diagnose. The answer is cached, so that the compiler is loaded for new texts
 * only. (Appended in 1.4.) Errors: TSR_EINVAL, TSR_ENOTFOUND, TSR_ECOMPILE. */
TSR_API tsr_status_t tsrReadDefinition(const char *text, size_t len, const tsr_source_options_t *options,
                                       tsr_definition_info_t *info);

/* Compiles a Tessera source text of `len` bytes (no NUL needed). Loads libtessera-compiler.so on first use:
 * TSR_ENOTFOUND if it is not installed. TSR_ECOMPILE: the program is wrong. TSR_UNIMPLEMENTED: it is right,
 * but the target lacks something, which the text names. TSR_EINVAL: the mapper (tsrSetMapper) failed or its
 * answer is not legal; TSR_ETIMEOUT: it did not answer within 10 seconds. `options` may be NULL. Errors:
 * TSR_EINVAL, TSR_ENOTFOUND, TSR_ECOMPILE, TSR_UNIMPLEMENTED, TSR_ETIMEOUT. */
TSR_API tsr_status_t tsrLoadModuleFromSource(tsr_context_t context, const char *source, size_t len,
                                             const tsr_source_options_t *options, tsr_module_t *module);

/* Compiles a source text to the bytes of a bundle without loading it. tsrLoadModule loads them, in this
 * process or elsewhere. No context is needed, and any target that the compiler has can be named;
 * `options->target` NULL: device 0 of the backend that tsrCreateContext would use. `bundle` is valid until
 * this thread's next call of this function. Otherwise as tsrLoadModuleFromSource. (Appended in 1.4.) Errors:
 * TSR_EINVAL, TSR_ENOTFOUND, TSR_ECOMPILE, TSR_UNIMPLEMENTED, TSR_ETIMEOUT. */
TSR_API tsr_status_t tsrCompile(const char *source, size_t len, const tsr_source_options_t *options,
                                const void **bundle, size_t *size);

/* As tsrCompile, to a file, which appears completely or not at all: an older file of this name stays until
 * the new one replaces it. TSR_EIO: it cannot be written. (Appended in 1.4.) Errors: TSR_EINVAL, TSR_EIO,
 * TSR_ENOTFOUND, TSR_ECOMPILE, TSR_UNIMPLEMENTED, TSR_ETIMEOUT. */
TSR_API tsr_status_t tsrCompileToFile(const char *source, size_t len, const tsr_source_options_t *options,
                                      const char *path);

/* The levels that a source is lowered to, in this order (appended in 1.4). */
typedef enum {
  TSR_IR_GRAPH = 0,
  TSR_IR_SCHEDULE = 1,
  TSR_IR_TILE = 2,
  TSR_IR_TARGET = 3,
  TSR_IR_ASSEMBLY = 4
} tsr_ir_level_t;

/* Returns the text of one kernel or graph function of a source at `level`, a tsr_ir_level_t.
 * `options->kernel` NULL: the only one. Target and other options as for tsrCompile. `text` is valid until
 * this thread's next call of this function. TSR_EINVAL also for a level that does not exist; TSR_ECOMPILE
 * also for a level that this kernel or target does not have. (Appended in 1.4.) Errors: TSR_EINVAL,
 * TSR_ENOTFOUND, TSR_ECOMPILE, TSR_UNIMPLEMENTED, TSR_ETIMEOUT. */
TSR_API tsr_status_t tsrInspectIr(const char *source, size_t len, const tsr_source_options_t *options,
                                  int32_t level, const char **text);

/* Loads a module compiled earlier: `size` bytes of a Tessera bundle (tsr compile --emit bundle), read during
 * the call. Uses the image for exactly this processor, else the one that needs the most features among those
 * this processor can run; if none can run, it compiles IR in the bundle, if the compiler is installed
 * (docs/bundles.md). TSR_EINVAL: not a bundle, truncated, damaged, or an image that does not load;
 * TSR_UNIMPLEMENTED: another version of the format; TSR_ENOTFOUND: nothing in it runs here. The text begins
 * with a stable code ("[E_BUNDLE_CORRUPT]") that `tsr explain` knows. A bundle is code: load only what you
 * trust. Errors: TSR_EINVAL, TSR_ENOTFOUND, TSR_UNIMPLEMENTED. */
TSR_API tsr_status_t tsrLoadModule(tsr_context_t context, const void *image, size_t size,
                                   tsr_module_t *module);

typedef struct tsr_load_options {
  size_t struct_size;
  tsr_log_fn log; /* the compiler's messages if IR is compiled, and a note per fallback; may be NULL */
  void *log_user;
} tsr_load_options_t;

/* As tsrLoadModule, from a file. TSR_EIO: it cannot be read. `options` may be NULL. Errors: TSR_EINVAL,
 * TSR_EIO, TSR_ENOTFOUND, TSR_UNIMPLEMENTED. */
TSR_API tsr_status_t tsrLoadModuleFromFile(tsr_context_t context, const char *path,
                                           const tsr_load_options_t *options, tsr_module_t *module);

typedef struct tsr_image {
  size_t struct_size;
  const void *data; /* an ELF shared object, PTX text, an HSACO, SPIR-V or a cubin; read during the call */
  size_t size;      /* bytes */
  const char *const *metadata; /* one YAML document per kernel, as tsrKernelMetadata gives it */
  size_t metadata_count;       /* at least 1 */
} tsr_image_t;

/* Loads one raw image. Its format is detected from its first bytes. Each kernel's symbol is the name in its
 * metadata, after TSR_ENTRY_PREFIX (plugin.h) if the compiler made the image. TSR_EINVAL: no image of a known
 * format, invalid metadata, a missing symbol, another machine's code. TSR_UNIMPLEMENTED: a format that the
 * context's backend, which the text names, does not load. Errors: TSR_EINVAL, TSR_UNIMPLEMENTED. */
TSR_API tsr_status_t tsrLoadModuleEx(tsr_context_t context, const tsr_image_t *image, tsr_module_t *module);

/* Destroys the module and its kernel handles. Launches that are queued still run: the code stays loaded until
 * they are done. Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrUnloadModule(tsr_module_t module);

/* ---- Kernels and launches ---- */

/* Finds a kernel by name. A kernel is a tile kernel, or a graph function compiled as a whole: a plan of
 * kernels launched in order, with temporaries in between. The same calls find, describe and launch both.
 * `name` NULL: the only kernel of the module, not counting those generated for a function ("mlp.g0"). The
 * handle belongs to the module and needs no destruction. Errors: TSR_EINVAL, TSR_ENOTFOUND. */
TSR_API tsr_status_t tsrGetKernel(tsr_module_t module, const char *name, tsr_kernel_t *kernel);

/* Returns the kernels and graph functions of a module one by one, including those generated for a function.
 * `index` counts from 0; past the end: TSR_ENOTFOUND. (Appended in 1.4.) Errors: TSR_EINVAL, TSR_ENOTFOUND.
 */
TSR_API tsr_status_t tsrGetModuleKernel(tsr_module_t module, size_t index, tsr_kernel_t *kernel);

typedef struct tsr_kernel_info {
  size_t struct_size;
  const char *name;      /* the strings belong to the module */
  const char *target;    /* what it was compiled for: "cpu:znver3" */
  const char *numerics;  /* the profile it was compiled with */
  int32_t is_function;   /* 1: a graph function, 0: a tile kernel */
  int32_t is_generated;  /* 1: it was generated for a graph function */
  uint32_t arg_count;    /* what tsrLaunch expects: tensors, results, scalars, dims, in this order */
  uint32_t result_count; /* of them, those of kind TSR_ARG_RESULT */
} tsr_kernel_info_t;

/* Describes a kernel. (Appended in 1.4.) Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrGetKernelInfo(tsr_kernel_t kernel, tsr_kernel_info_t *info);

/* Returns the kernel's metadata, a YAML document: parameters, tile sizes, resources, launch geometry (a
 * function's: its plan), fallbacks taken. Owned by the module. Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrKernelMetadata(tsr_kernel_t kernel, const char **yaml);

typedef enum { TSR_ARG_TENSOR = 0, TSR_ARG_RESULT = 1, TSR_ARG_SCALAR = 2, TSR_ARG_DIM = 3 } tsr_arg_kind_t;

typedef struct tsr_arg_info {
  size_t struct_size;
  const char *name;   /* the strings belong to the module */
  const char *dtype;  /* of the elements or the scalar, "f32"; "i64" for a dim */
  int32_t kind;       /* tsr_arg_kind_t */
  uint32_t bytes;     /* of one element, the scalar or the dim */
  uint32_t rank;      /* dims of a tensor or a result; 0 for others (from here on appended in 1.4) */
  int32_t is_read;    /* 1: the kernel reads the tensor's elements; scalars and dims are always read */
  int32_t is_written; /* 1: it writes them */
  int32_t
      has_default; /* 1: the source has a default value for this scalar; tsrLaunch needs it all the same */
  uint64_t default_bits; /* that value as it is passed to tsrLaunch: `bytes` bytes from its address on */
} tsr_arg_info_t;

/* Describes what tsrLaunch expects as argument `index`, counted from 0. Past the last one: TSR_ENOTFOUND.
 * Errors: TSR_EINVAL, TSR_ENOTFOUND. */
TSR_API tsr_status_t tsrKernelArgInfo(tsr_kernel_t kernel, size_t index, tsr_arg_info_t *info);

typedef enum {
  TSR_DIM_CONSTANT = 0,
  TSR_DIM_NAMED = 1,
  TSR_DIM_EXPRESSION = 2,
  TSR_DIM_CONTIGUOUS = 3 /* only of a stride: the product of the extents after it */
} tsr_dim_kind_t;

/* One extent of a tensor or a result, and the distance between neighbours along it (appended in 1.4). */
typedef struct tsr_dim_info {
  size_t struct_size;
  const char *text; /* "64", "M", "2*M + 1"; belongs to the module */
  int32_t kind;     /* tsr_dim_kind_t */
  int32_t argument; /* of TSR_DIM_NAMED: the index of the argument whose value it is; else -1 */
  int64_t value;    /* of TSR_DIM_CONSTANT, and of a named dim that the code was compiled for; else -1 */
  const char *stride_text; /* "1", "lda"; NULL if the tensor is contiguous; belongs to the module */
  int32_t stride_kind;     /* tsr_dim_kind_t */
  int32_t stride_argument; /* as `argument` and `value`, of the stride, in elements */
  int64_t stride_value;
} tsr_dim_info_t;

/* Describes the extent and the stride of axis `axis` of argument `index`, both counted from 0. TSR_ENOTFOUND:
 * there is no such argument, or its rank is not larger than `axis`. (Appended in 1.4.) Errors: TSR_EINVAL,
 * TSR_ENOTFOUND.
 */
TSR_API tsr_status_t tsrKernelArgDim(tsr_kernel_t kernel, size_t index, size_t axis, tsr_dim_info_t *info);

/* Computes the dims of a call from the shapes of its tensors, and the shapes of its results. `extents` has
 * one entry per axis of each tensor, then of each result, in the order of the arguments: those of tensors are
 * read, those of results are written. `dims` has one entry per argument of kind TSR_ARG_DIM: -1, or a value
 * that the caller gives, such as a stride that has a name; all are known afterwards. TSR_EINVAL names the
 * extent that differs, or the dim that no extent determines. (Appended in 1.4.) Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrKernelSolveDims(tsr_kernel_t kernel, int64_t *extents, size_t extent_count,
                                        int64_t *dims, size_t dim_count);

/* Programs per axis. x runs over the last (fastest) axis of the metadata's launch.axes, y over the one before
 * it, and z over the product of the others; missing axes are 1. */
typedef struct {
  uint32_t grid_x, grid_y, grid_z;
  uint32_t block_x, block_y, block_z;
  uint32_t smem_bytes;
} tsr_launch_t;

/* Queues one launch and returns.
 * args[i] points at the i-th value: device pointers in parameter order, then pointers of results the caller
 * has allocated, then scalars in parameter order (each of its dtype's size; bool is one byte), then every
 * symbolic dim as int64_t in order of first appearance: the order of `params` in the metadata. A stride that
 * has a name (ts.strides in the tensor's type) is such a dim. Strides are in elements and not negative; a
 * tensor that begins inside its allocation is passed as the address of its first element. Values are read
 * during the call. A grid of 0,0,0 means grid, block and shared memory of the metadata; any other grid
 * and block must equal those, and smem_bytes must be 0 or equal too. A grid without programs is a success
 * without effect. TSR_EINVAL names the first argument that is missing, null, misaligned (to its dtype),
 * negative (a dim), larger by its dims and strides than its allocation from the pointer on, or written though
 * its strides let elements share memory. On the CPU a pointer to
 * any host memory is accepted; Debug and sanitizer builds refuse it. Errors: TSR_EINVAL, TSR_EOOM,
 * TSR_EDEVICE. */
TSR_API tsr_status_t tsrLaunch(tsr_kernel_t kernel, tsr_stream_t stream, tsr_launch_t launch, void **args,
                               size_t nargs);

/* Functions. tsrLaunch queues every step of the function's plan; the grid must be 0,0,0. Temporaries are in
 * the stream's workspace, which serves all calls on that stream and only grows: a call that needs a larger
 * one waits for the stream first (TSR_EOOM if there is not enough memory; later calls may succeed). It is
 * freed with the stream, or by tsrTrimMemory while the stream is idle. If a step cannot be queued, the steps
 * before it have been, and the error names function and step. A tensor that the function writes (a result, or
 * a parameter it updates) may share no byte with another tensor of the call, else TSR_EINVAL names both;
 * tensors that are only read may share memory. Tile kernels are not checked for this. */

/* Returns the bytes of workspace that a launch with these arguments needs: 0 for a tile kernel. `args` as for
 * tsrLaunch, but tensors are ignored (their entries may be NULL). Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrKernelWorkspace(tsr_kernel_t kernel, void **args, size_t nargs, uint64_t *bytes);

/* The arguments of tsrLaunch in a struct that can grow. */
typedef struct tsr_launch_ex {
  size_t struct_size;
  tsr_launch_t geometry; /* as for tsrLaunch; all 0: from the metadata */
  void *const *args;
  size_t nargs;
  const char *label; /* a prefix for the text of an error of this call; NULL: none */
  uint64_t flags;    /* 0; anything else is TSR_UNIMPLEMENTED */
} tsr_launch_ex_t;

/* Queues one launch as tsrLaunch does. Errors: TSR_EINVAL, TSR_EOOM, TSR_UNIMPLEMENTED, TSR_EDEVICE. */
TSR_API tsr_status_t tsrLaunchEx(tsr_kernel_t kernel, tsr_stream_t stream, const tsr_launch_ex_t *launch);

/* ---- Graphs ----
 *
 * Between begin and end of a capture a stream records work instead of running it: launches, asynchronous
 * copies and fills, event records and waits, and graphs, which become part of the new one. Arguments of
 * launches are read and checked when they are recorded; the memory they point to is read and written at each
 * replay and must exist then. A call that fails records nothing, and the capture continues. A call that would
 * wait for the captured stream (plain copies and fills on it, synchronising or querying it, tsrSynchronize)
 * is TSR_EINVAL until the capture ends. tsrFree and tsrTrimMemory ignore captures. A capture does not change
 * events. Each replay records them; a wait in the graph waits for the record that precedes it in the same
 * graph, or, if there is none, for the state the event has when the replay is queued. */

/* Begins a capture. TSR_EINVAL: the stream is already being captured. The default stream can be captured
 * through its handle. Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrStreamBeginCapture(tsr_stream_t stream);

/* Ends the capture. The graph belongs to the stream's context and may be empty. TSR_EINVAL: the stream is not
 * being captured, or `graph` is NULL. If this call fails, the capture continues with all that was recorded
 * and can be ended again. Destroying a stream drops its capture. Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrStreamEndCapture(tsr_stream_t stream, tsr_graph_t *graph);

/* Sets *capturing to 1 between begin and end, else to 0. Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrStreamIsCapturing(tsr_stream_t stream, int32_t *capturing);

/* Queues the whole graph: its work runs in the order it was recorded, at a smaller cost than queueing each
 * piece. Any stream of the graph's context may be used, from any thread. Replays on one stream run one after
 * another, those on several streams at the same time, so replays that write the same memory need events
 * between them. Replays of a graph with temporaries never overlap. A failure fails the stream, and the rest
 * of the graph is dropped. Errors: TSR_EINVAL, TSR_EDEVICE. */
TSR_API tsr_status_t tsrGraphLaunch(tsr_graph_t graph, tsr_stream_t stream);

typedef struct tsr_graph_info {
  size_t struct_size;
  uint64_t nodes; /* the sum of the following */
  uint64_t launches, copies, fills, event_records, event_waits;
} tsr_graph_info_t;

/* Counts the nodes of a graph. Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrGraphInfo(tsr_graph_t graph, tsr_graph_info_t *info);

/* Destroys a graph. Queued replays still run. The kernels of a graph stay loaded even if their module is
 * unloaded. Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrDestroyGraph(tsr_graph_t graph);

/* ---- Collectives (appended in 1.2) ----
 *
 * A communicator is a group of `size` ranks. Each rank has a handle of its own. All ranks make the same calls
 * in the same order: kind, count, dtype, op, root and algorithm are compared on every call before any data
 * moves, and if they differ, the call is TSR_EINVAL with both ranks and both calls in the text. A rank waits
 * for the others up to the call's time limit; then TSR_ETIMEOUT names the missing ranks. After either the
 * communicator is broken: every later call of any rank fails with the call that broke it and the reason.
 * After tsrCommAbort every call below is TSR_EDEVICE.
 *
 * Calls block until this rank's part is done. Buffers are memory the host can read, the CPU backend's device
 * memory included; work that is queued on them must be done before. src may be dst for tsrAllReduce and
 * tsrBroadcast; otherwise buffers do not overlap. Elements are aligned to their size. Reduced results depend
 * on the values and the number of ranks only, and are the same on every rank (docs/collectives.md). */

typedef struct tsr_comm *tsr_comm_t; /* one rank's handle; one call at a time may use it */

typedef struct tsr_comm_options {
  size_t struct_size;
  const char *implementation; /* "inprocess" (NULL), or the name of a plugin: "openmpi", "mpich" */
  const char *id;      /* the same on all ranks of the group; required in one process, else may be NULL */
  int32_t rank;        /* from 0; -1: the launcher's (mpirun) */
  int32_t size;        /* number of ranks; -1: the launcher's */
  uint64_t timeout_ns; /* of every wait, creation included. 0: 30 s; UINT64_MAX: no limit */
} tsr_comm_options_t;

/* Creates one rank's handle. Returns when all ranks have called it. Errors: TSR_EINVAL, TSR_ENOTFOUND,
 * TSR_ETIMEOUT. */
TSR_API tsr_status_t tsrCreateComm(const tsr_comm_options_t *options, tsr_comm_t *comm);

/* Destroys a rank's handle without waiting for the other ranks; a rank that waits for this one fails. Errors:
 * TSR_EINVAL. */
TSR_API tsr_status_t tsrDestroyComm(tsr_comm_t comm);

/* Forms communicators of the ranks that pass the same `color`, ordered by `key`, then by rank. All ranks call
 * it, as they call a collective. Sets *out to this rank's handle, or to NULL if `color` is negative. Parent
 * and children are independent: each is destroyed by itself. TSR_UNIMPLEMENTED: the implementation cannot.
 * (Appended in 1.4.) Errors: TSR_EINVAL, TSR_ETIMEOUT, TSR_UNIMPLEMENTED. */
TSR_API tsr_status_t tsrCommSplit(tsr_comm_t comm, int32_t color, int32_t key, tsr_comm_t *out);

/* Breaks the communicator: calls of any rank that wait for other ranks, and later ones, fail with
 * TSR_EDEVICE, this rank and `reason` (NULL: none). A call whose data is moving completes. The only function
 * that may be called while another thread uses the handle. A communicator that is broken keeps its first
 * reason. (Appended in 1.4.) Errors: TSR_EINVAL, TSR_UNIMPLEMENTED. */
TSR_API tsr_status_t tsrCommAbort(tsr_comm_t comm, const char *reason);

typedef struct tsr_comm_info {
  size_t struct_size;
  const char *implementation; /* static, as the strings below */
  const char *topology;       /* what connects the ranks: "process", "node", "network" */
  int32_t rank, size;
} tsr_comm_info_t;

/* Describes a communicator. Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrCommInfo(tsr_comm_t comm, tsr_comm_info_t *info);

/* Sets dst to the op over all ranks' src, element by element; `count` elements each. Errors: TSR_EINVAL,
 * TSR_ETIMEOUT. */
TSR_API tsr_status_t tsrAllReduce(tsr_comm_t comm, const void *src, void *dst, size_t count,
                                  tsr_dtype_t dtype, tsr_reduce_op_t op);

/* Sets dst to the src of rank `root`; `count` elements. The other ranks' src is not read. Errors: TSR_EINVAL,
 * TSR_ETIMEOUT. */
TSR_API tsr_status_t tsrBroadcast(tsr_comm_t comm, const void *src, void *dst, size_t count,
                                  tsr_dtype_t dtype, int32_t root);

/* Sets dst to the ranks' src one after another: `count` elements of each, size * count in dst. Errors:
 * TSR_EINVAL, TSR_ETIMEOUT. */
TSR_API tsr_status_t tsrAllGather(tsr_comm_t comm, const void *src, void *dst, size_t count,
                                  tsr_dtype_t dtype);

/* Sets dst to this rank's part of the op over all ranks' src: size * count elements in src, `count` in dst.
 * Errors: TSR_EINVAL, TSR_ETIMEOUT. */
TSR_API tsr_status_t tsrReduceScatter(tsr_comm_t comm, const void *src, void *dst, size_t count,
                                      tsr_dtype_t dtype, tsr_reduce_op_t op);

/* Sends part r of src to each rank r, and sets part r of dst to what rank r has sent to this rank: `count`
 * elements a part, size * count in src and in dst. (Appended in 1.4.) Errors: TSR_EINVAL, TSR_ETIMEOUT,
 * TSR_UNIMPLEMENTED. */
TSR_API tsr_status_t tsrAllToAll(tsr_comm_t comm, const void *src, void *dst, size_t count,
                                 tsr_dtype_t dtype);

/* Send and receive concern two ranks; the other ranks do not make these calls. tsrSend copies `count`
 * elements and returns without waiting for rank `peer`, which may be this rank. tsrRecv waits for the oldest
 * message that `peer` has sent with the same `tag`, 0 to 8191. If its dtype or count is another, the call is
 * TSR_EINVAL and the communicator broken. TSR_UNIMPLEMENTED: the implementation is older than 1.1. (Appended
 * in 1.4.) Errors: TSR_EINVAL, TSR_EOOM, TSR_UNIMPLEMENTED. */
TSR_API tsr_status_t tsrSend(tsr_comm_t comm, const void *src, size_t count, tsr_dtype_t dtype, int32_t peer,
                             int32_t tag);

/* As described there. Errors: TSR_EINVAL, TSR_ETIMEOUT, TSR_UNIMPLEMENTED. */
TSR_API tsr_status_t tsrRecv(tsr_comm_t comm, void *dst, size_t count, tsr_dtype_t dtype, int32_t peer,
                             int32_t tag);

/* Any of these calls, as a struct that can grow. */
typedef struct tsr_collective_call {
  size_t struct_size;
  int32_t kind;  /* tsr_collective_kind_t */
  int32_t dtype; /* tsr_dtype_t */
  int32_t op;    /* tsr_reduce_op_t, of the reducing kinds */
  int32_t root;  /* of TSR_BROADCAST */
  size_t count;  /* as for the function of that kind */
  const void *src;
  void *dst;
  const char
      *algorithm;      /* one the implementation has for the kind; NULL: the mapper's choice, else its own */
  uint64_t timeout_ns; /* 0: the communicator's */
  const char *where;   /* the call's place, for errors: "train.py:31"; NULL: none */
  int32_t peer;        /* of TSR_SEND and TSR_RECV: the other rank (appended in 1.4, as the next member) */
  int32_t tag;         /* of TSR_SEND and TSR_RECV: 0 to 8191 */
} tsr_collective_call_t;

/* Runs a collective. Errors: TSR_EINVAL, TSR_EOOM, TSR_ETIMEOUT, TSR_UNIMPLEMENTED. */
TSR_API tsr_status_t tsrCollective(tsr_comm_t comm, const tsr_collective_call_t *call);

/* Queues a collective on `stream` and returns. It runs when the work queued before it is done, and work
 * queued after it waits for it. Until then its buffers must not change; its strings are copied. A failure
 * that tsrCollective would return fails the stream instead. The ranks may use different streams, of any
 * contexts, but two ranks of a group must not share one stream, since they would wait for each other. While
 * queued calls are not done, a call that does not wait for them, on another stream or on none, is TSR_EINVAL.
 * tsrDestroyComm does not cancel queued calls. TSR_EINVAL also for a stream that is being captured.
 * TSR_UNIMPLEMENTED: the stream's backend cannot queue functions of the host. (Appended in 1.4.) Errors:
 * TSR_EINVAL, TSR_UNIMPLEMENTED. */
TSR_API tsr_status_t tsrCollectiveAsync(tsr_comm_t comm, const tsr_collective_call_t *call,
                                        tsr_stream_t stream);

/* Returns the decisions of mappers for this rank, as a JSON array in the order of the calls: kind, bytes,
 * ranks, topology, from, choice ("" leaves it to the implementation), by, calls, the predicted time and the
 * shortest measured one (docs/mappers.md). The text is valid until the next call of this function for `comm`.
 * (Appended in 1.3.) Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrCommDecisions(tsr_comm_t comm, const char **json);

/* ---- Traces (appended in 1.4) ----
 *
 * A trace reports the process's work to a callback: launches, copies and fills of every context, ranges
 * (tsrRangePush), collectives, and the calls that queue work. Failed work is not reported. */

typedef enum {
  TSR_TRACE_LAUNCH = 0, /* of a kernel; a function has one record per step */
  TSR_TRACE_COPY = 1,
  TSR_TRACE_FILL = 2,
  TSR_TRACE_RANGE = 3, /* from tsrRangePush to tsrRangePop */
  TSR_TRACE_COLLECTIVE = 4,
  TSR_TRACE_CALL = 5 /* a call that queues launches, copies, fills or a graph */
} tsr_trace_kind_t;

typedef struct tsr_trace_record {
  size_t struct_size;
  int32_t kind;        /* tsr_trace_kind_t */
  int32_t device;      /* ordinal of the context's device; -1 for collectives */
  const char *name;    /* of the kernel or the range, "all_reduce", "tsrLaunch"; "" for copies and fills */
  const char *backend; /* of the context; for collectives the communicator's implementation */
  int64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
  /* A number shared by the record of a call and those of the work that it queued; a replay of a graph counts
   * as the call. A collective that was not queued has its own number. 0: ranges, and work on a backend that
   * cannot tell which call queued it. */
  uint64_t correlation;
  uint64_t bytes;        /* bytes copied or filled, or this rank's input to a collective; else 0 */
  int64_t programs;      /* of a launch; else 0 */
  uint64_t thread;       /* the system's number of the thread of a call, a range or a collective; else 0 */
  tsr_context_t context; /* NULL for collectives. The handles may have been destroyed since */
  tsr_stream_t stream;   /* of a call and of work whose correlation is known; else NULL */
  tsr_comm_t comm;       /* of a collective; else NULL */
} tsr_trace_record_t;

/* `record->struct_size` is the library's: fields beyond it do not exist. The record and its strings are valid
 * during the callback. */
typedef void (*tsr_trace_fn)(void *user, const tsr_trace_record_t *record);

typedef struct tsr_trace_options {
  size_t struct_size;
  tsr_trace_fn record;
  void *user;
  uint32_t kinds; /* bits 1 << TSR_TRACE_...; 0: all */
} tsr_trace_options_t;

/* Starts the process's trace. Contexts that exist and those that are created while it runs take part. The
 * callback is called when something ends, from any thread, several at a time; it must return soon and must
 * not call the library. TSR_EINVAL: `record` is NULL, a bit of `kinds` is unknown, there is a trace already,
 * or the call comes from the callback. TSR_UNIMPLEMENTED: the backend of a context, which the text names, has
 * no activity records; there is no trace then. A context of such a backend that is created later is left out
 * with a warning in the log (W_TRACE). The child of a fork has no trace. Errors: TSR_EINVAL,
 * TSR_UNIMPLEMENTED. */
TSR_API tsr_status_t tsrTraceStart(const tsr_trace_options_t *options);

/* Ends the trace. Once it has returned, the callback is not called. Work that a synchronization found done
 * has been reported; work that is still running is not. TSR_EINVAL: there is no trace, or the call comes from
 * the callback. Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrTraceStop(void);

/* ---- Mappers (1.2) ----
 *
 * A mapper takes decisions that a program leaves open: which implementation computes an operation, where
 * tensors go, how collectives run. The compiler asks it about each program, and the answers become part of
 * the module. A collective call that names no algorithm asks it once for each kind, size and number of ranks.
 * An answer that is not legal fails that call with TSR_EINVAL, on this rank. */

struct tsr_mapper_api; /* of plugin.h */
struct tsr_mp_mapper;

/* Sets the mapper of this process; it overrides TESSERA_MAPPER. NULL or "" removes it. `spec` is NAME or
 * NAME(ARGUMENTS): default, random(SEED), logging(SPEC, FILE), replay(FILE), or a plugin's name. A call that
 * fails changes nothing. TSR_EINVAL: the specification is malformed (the text gives the position), or the
 * mapper refuses its arguments; TSR_ENOTFOUND: there is no such mapper; TSR_EIO: its file cannot be read or
 * written. The text begins with a stable code ("[E_MAPPER_SPEC]") that `tsr explain` knows. Errors:
 * TSR_EINVAL, TSR_ENOTFOUND, TSR_EIO. */
TSR_API tsr_status_t tsrSetMapper(const char *spec);

/* As tsrSetMapper, for a mapper that is part of the program: its table (plugin.h) and object. On success the
 * library owns `mapper`. It destroys it through the table when another mapper has been set and the last call
 * has been answered. The table must stay valid for the lifetime of the process. `name` is its name in errors
 * and metadata. C++: tessera::setMapper of mapper.hpp. Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrSetMapperTable(const struct tsr_mapper_api *api, struct tsr_mp_mapper *mapper,
                                       const char *name);

#ifdef __cplusplus
}
#endif

#endif
