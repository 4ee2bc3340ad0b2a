/* Tessera's C ABI: contexts, memory, streams, events, modules, kernels and launches.
 *
 * C99, and all a program needs: link libtessera.so.
 *
 * Errors. Every call returns a status. What went wrong, in words, is tsrLastError(), a text of the calling
 * thread that stands until that thread's next failing call. Out parameters are written on success only. What
 * follows "Errors:" at a function is all it can find wrong, but for what any call may return: TSR_EOOM when
 * the host's memory runs out, TSR_EINTERNAL, TSR_EDEVICE from a GPU's driver, TSR_UNIMPLEMENTED from a
 * backend that lacks an optional part (a memset, events), and the failure of work queued earlier (see Order)
 * from calls that queue on a stream or wait for one.
 *
 * Threads. Every call may come from any thread, and a handle may be used by many threads at once. The one
 * thing a caller owes is not to destroy a handle while another thread's call is using it. Handles are
 * checked: NULL, a destroyed handle or one of another kind is TSR_EINVAL, not a crash.
 *
 * Processes. The library's threads take no signals meant for the process and keep the default floating-point
 * modes, whatever the caller's are. The child of a fork cannot use its parent's contexts, beyond destroying
 * them: work in it that needs them is TSR_EDEVICE. It may make its own. dlclose leaves the library mapped.
 *
 * Order. Work queued on one stream runs in the order it was queued; streams are independent of each other
 * (the default stream too) until an event ties them. Where a stream is NULL, the context's default stream is
 * meant. Work that fails after it was queued fails its stream: the next call on that stream returns the
 * failure and clears it, and so does a wait. Threads that share a stream share its failure: one of them is
 * told. What was queued behind the failing work is dropped; a plain (waiting) copy or fill that was dropped
 * always says so.
 *
 * Units. Sizes are bytes and times are nanoseconds unless a name says otherwise. Strings are UTF-8 and end in
 * NUL.
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

/* Same major: compatible. A library of a higher minor serves programs built against a lower one. */
#define TSR_ABI_MAJOR 1
#define TSR_ABI_MINOR 3

/* ---- Status (tsr_status_t: tessera/status.h) ---- */

/* The enumerator as text ("TSR_EINVAL"), and what it means in a few words. Never NULL; the text is static. */
TSR_API const char *tsrStatusName(tsr_status_t status);
TSR_API const char *tsrStatusString(tsr_status_t status);

/* What the last failing call of this thread had to say; "" before the first. Never NULL. */
TSR_API const char *tsrLastError(void);

/* The library's version, "0.1.0", and the ABI it was built with (either pointer may be NULL). */
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

/* One message: its stable code ("E_SHAPE_MISMATCH") and its text. The strings end with the callback. */
typedef void (*tsr_log_fn)(void *user, tsr_log_level_t level, const char *code, const char *text);

/* What the library has to say beside its statuses: warnings about the environment (W_ENVIRONMENT), which
 * backend a context got and why (N_BACKEND), fallbacks that were taken, each once (N_FALLBACK), failures of
 * queued work found only when its stream or context is destroyed (E_QUEUED_WORK). One callback for the
 * process, for messages of `level` and of more severe ones; NULL ends it. Without one the library is silent.
 * Called on the thread of the call that has something to say, possibly by several at a time, and without
 * locks held, so it may call the library; a call of it that is under way in another thread may end after this
 * function has returned. Errors: TSR_EINVAL. */
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

/* Every backend Tessera knows, whether usable here or not. `index` counts from 0; past the end:
 * TSR_ENOTFOUND. Errors: TSR_EINVAL, TSR_ENOTFOUND. */
TSR_API tsr_status_t tsrGetBackendInfo(size_t index, tsr_backend_info_t *info);

/* From now on contexts of this process are made on `name` unless their options say otherwise: it stands
 * before TESSERA_BACKEND. NULL: no longer. "level_zero" is "levelzero" wherever a name is read. A name that
 * cannot be used changes nothing. Errors: TSR_ENOTFOUND, TSR_UNIMPLEMENTED. */
TSR_API tsr_status_t tsrSelectBackend(const char *name);

enum {
  TSR_REPORT_PROBE =
      1 /* ask backends that have not been asked yet for their devices, in processes of their own */
};

/* Every plugin that was found and every one that is missing, with the reason why it is not used, as a JSON
 * object whose keys docs/plugins.md lists. The text stands until this thread's next call of it (appended
 * in 1.2). Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrGetLoadReport(uint32_t flags, const char **json);

/* Plugins whose probe crashed are not tried again until they, their driver or this library change. This
 * forgets that; `count` is how many there were (appended in 1.2). Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrResetQuarantine(uint32_t *count);

struct tsr_host_info; /* of plugin.h */
struct tsr_plugin_info;

/* Takes in a plugin that is part of the program: `query` answers as a file's tsrPluginQuery does, and passes
 * the same checks but for those of the file itself. It stands before the files of the plugin directories and
 * is used as they are: by TESSERA_BACKEND, tsrSelectBackend and the options of a context, as a mapper, as a
 * communicator's implementation, and in the automatic choice, which is made anew and asks its probe in this
 * process. What its answer points at stands until it is unregistered, or for ever. The text of a refusal
 * begins with a TSRP code (docs/plugins.md). TSR_EINVAL: the plugin breaks a rule, or a plugin of its name is
 * in use already; TSR_UNIMPLEMENTED: it wants another version of the contract or a feature that this library
 * has not. (Appended in 1.3.) Errors: TSR_EINVAL, TSR_UNIMPLEMENTED. */
TSR_API tsr_status_t tsrRegisterPlugin(int32_t (*query)(const struct tsr_host_info *host,
                                                        struct tsr_plugin_info *info));

/* Forgets a plugin that tsrRegisterPlugin took in: destroys its backend and calls its shutdown. TSR_EINVAL
 * while contexts, communicators or a mapper of it are there or another thread's call is using it; nothing has
 * happened then. A tsrSelectBackend of it ends. Names and other strings that it gave end, too. TSR_ENOTFOUND:
 * no such plugin was registered; others are never unloaded. (Appended in 1.3.)
 * Errors: TSR_EINVAL, TSR_ENOTFOUND. */
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

/* A backend's devices, asked about without a context. `backend` NULL: the one tsrCreateContext would use now.
 * The strings are static. Errors: TSR_EINVAL, TSR_ENOTFOUND, TSR_UNIMPLEMENTED. */
TSR_API tsr_status_t tsrGetDeviceCount(const char *backend, int32_t *count);
TSR_API tsr_status_t tsrGetBackendDeviceInfo(const char *backend, int32_t device, tsr_device_info_t *info);

/* The same and more as a JSON object, whose keys docs/c-abi.md lists.
 * Errors: TSR_EINVAL, TSR_ENOTFOUND, TSR_UNIMPLEMENTED. */
TSR_API tsr_status_t tsrGetBackendDeviceCapabilities(const char *backend, int32_t device, const char **json);

/* ---- Contexts ---- */

/* Where device memory of a context comes from, instead of the backend's own pools: each tsrAlloc, and each
 * temporary the library needs on the device, is one call of `alloc`, and one of `free` with the same size
 * when it is given back, at the latest when the context is destroyed. Nothing is pooled. `alloc` returns
 * memory the device can use, aligned to `alignment`, or NULL, which is TSR_EOOM for the call that needed it.
 * Called from any thread that calls the library, several at a time, without locks held; they must not call
 * the library. The struct is copied; `user` must outlive the context. */
typedef struct tsr_allocator {
  size_t struct_size;
  void *user;
  void *(*alloc)(void *user, size_t bytes, size_t alignment);
  void (*free)(void *user, void *ptr, size_t bytes);
} tsr_allocator_t;

typedef struct tsr_context_options {
  size_t struct_size;
  const char *backend; /* NULL: as tsrSelectBackend said, else TESSERA_BACKEND, else the best available */
  int32_t device;      /* ordinal, from 0 */
  const tsr_allocator_t *allocator; /* NULL: the backend's own (appended in 1.1) */
} tsr_context_options_t;

/* A context on device 0 of the default backend. A backend named by TESSERA_BACKEND or by the options that
 * cannot be used is an error (TSR_ENOTFOUND; TSR_UNIMPLEMENTED when known but not installed): there is no
 * substitute. Errors: TSR_EINVAL, TSR_ENOTFOUND, TSR_UNIMPLEMENTED. */
TSR_API tsr_status_t tsrCreateContext(tsr_context_t *context);
TSR_API tsr_status_t tsrCreateContextEx(const tsr_context_options_t *options, tsr_context_t *context);

/* Waits for all its work, then destroys it with every buffer, stream, event, module and kernel made from it;
 * those handles and device pointers are invalid afterwards. A failure of queued work nobody asked about is
 * returned; the context is destroyed all the same. Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrDestroyContext(tsr_context_t context);

/* The context's device. The strings live as long as the context. Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrGetDeviceInfo(tsr_context_t context, tsr_device_info_t *info);
TSR_API tsr_status_t tsrGetDeviceCapabilities(tsr_context_t context, const char **json);

/* ---- Memory ---- */

enum {
  TSR_MEM_DEVICE = 0,      /* memory of the device */
  TSR_MEM_PINNED_HOST = 1, /* host memory the device copies from and to fastest */
  TSR_MEM_MANAGED = 2      /* both may touch it between synchronisations */
};

/* `bytes` of memory, aligned to 64 bytes at least, contents undefined. 0 bytes gives a pointer that may be
 * freed and compared, no more. TSR_EOOM when there is not so much. Errors: TSR_EINVAL, TSR_EOOM. */
TSR_API tsr_status_t tsrAlloc(tsr_context_t context, size_t bytes, uint32_t flags, void **dptr);

/* Waits until the work queued in the context so far is done, then takes the block back. NULL is fine. A
 * pointer that tsrAlloc of this context did not return, or that was freed already, is TSR_EINVAL.
 * Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrFree(tsr_context_t context, void *dptr);

typedef struct tsr_memory_info {
  size_t struct_size;
  uint64_t total_bytes;  /* of the device */
  uint64_t free_bytes;   /* an estimate */
  uint64_t in_use_bytes; /* handed out by tsrAlloc of this context, and its streams' workspaces */
  uint64_t pooled_bytes; /* kept by this context for later calls */
} tsr_memory_info_t;

/* Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrGetMemoryInfo(tsr_context_t context, tsr_memory_info_t *info);

/* Gives pooled memory that is not in use, and the workspaces of idle streams, back to the system (small
 * blocks share pages: as soon as none of them is in use). Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrTrimMemory(tsr_context_t context);

/* Copies. Device ranges must lie inside one live allocation of the context, else TSR_EINVAL. D2D ranges may
 * overlap. The plain forms queue on the default stream and wait for it. The Async forms only queue: the host
 * range must stay as it is until the stream has passed the copy. Errors: TSR_EINVAL, TSR_EDEVICE. */
TSR_API tsr_status_t tsrMemcpyH2D(tsr_context_t context, void *dst, const void *src, size_t bytes);
TSR_API tsr_status_t tsrMemcpyD2H(tsr_context_t context, void *dst, const void *src, size_t bytes);
TSR_API tsr_status_t tsrMemcpyD2D(tsr_context_t context, void *dst, const void *src, size_t bytes);
TSR_API tsr_status_t tsrMemcpyH2DAsync(tsr_context_t context, void *dst, const void *src, size_t bytes,
                                       tsr_stream_t stream);
TSR_API tsr_status_t tsrMemcpyD2HAsync(tsr_context_t context, void *dst, const void *src, size_t bytes,
                                       tsr_stream_t stream);
TSR_API tsr_status_t tsrMemcpyD2DAsync(tsr_context_t context, void *dst, const void *src, size_t bytes,
                                       tsr_stream_t stream);

/* Fills with a byte (0 to 255, else TSR_EINVAL). Errors: TSR_EINVAL, TSR_EDEVICE. */
TSR_API tsr_status_t tsrMemset(tsr_context_t context, void *dst, int value, size_t bytes);
TSR_API tsr_status_t tsrMemsetAsync(tsr_context_t context, void *dst, int value, size_t bytes,
                                    tsr_stream_t stream);

/* ---- Streams ---- */

/* Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrCreateStream(tsr_context_t context, tsr_stream_t *stream);

/* Waits for its work, returns that work's failure if there was one, and destroys it in any case.
 * Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrDestroyStream(tsr_stream_t stream);

/* The context's default stream as a handle. It cannot be destroyed. Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrGetDefaultStream(tsr_context_t context, tsr_stream_t *stream);

/* Waits until the work queued so far is done. Errors: TSR_EINVAL, TSR_EDEVICE. */
TSR_API tsr_status_t tsrStreamSynchronize(tsr_stream_t stream);

/* The same with a limit: TSR_ETIMEOUT when it is still going on after timeout_ns.
 * Errors: TSR_EINVAL, TSR_ETIMEOUT, TSR_EDEVICE. */
TSR_API tsr_status_t tsrStreamSynchronizeFor(tsr_stream_t stream, uint64_t timeout_ns);

/* TSR_SUCCESS: all done. TSR_NOT_READY: still going on. Never waits.
 * Errors: TSR_EINVAL, TSR_NOT_READY, TSR_EDEVICE. */
TSR_API tsr_status_t tsrStreamQuery(tsr_stream_t stream);

/* Waits for every stream of the context. Returns the first failure found, of the default stream first.
 * Errors: TSR_EINVAL, TSR_EDEVICE. */
TSR_API tsr_status_t tsrSynchronize(tsr_context_t context);

/* ---- Events ---- */

/* Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrCreateEvent(tsr_context_t context, tsr_event_t *event);

/* May be destroyed while recorded or waited for: the queued work keeps what it needs. Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrDestroyEvent(tsr_event_t event);

/* Marks the point the stream's queue has reached. Recording again moves the event; waits queued before keep
 * the point they had. `stream` NULL: the default stream of the event's context.
 * Errors: TSR_EINVAL, TSR_EDEVICE. */
TSR_API tsr_status_t tsrEventRecord(tsr_event_t event, tsr_stream_t stream);

/* Work queued on `stream` after this call waits for the event's present point. An event never recorded holds
 * nothing back. Stream and event must be of one context. Errors: TSR_EINVAL, TSR_EDEVICE. */
TSR_API tsr_status_t tsrStreamWaitEvent(tsr_stream_t stream, tsr_event_t event);

/* The host's wait and its question; a never recorded event is done. A failure of the recording stream is not
 * reported here but by that stream. Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrEventSynchronize(tsr_event_t event);

/* Errors: TSR_EINVAL, TSR_NOT_READY. */
TSR_API tsr_status_t tsrEventQuery(tsr_event_t event);

/* Milliseconds between two recorded points. TSR_EINVAL: one was never recorded; TSR_NOT_READY: not passed
 * yet. Errors: TSR_EINVAL, TSR_NOT_READY. */
TSR_API tsr_status_t tsrEventElapsedMs(tsr_event_t start, tsr_event_t end, double *ms);

/* ---- Modules ---- */

typedef struct tsr_named_int {
  const char *name;
  int64_t value;
} tsr_named_int_t;

typedef struct tsr_source_options {
  size_t struct_size;
  const char *file_name; /* for diagnostics; NULL: "<source>" */
  const char *kernel;    /* NULL: every tile kernel of the source (graph functions only when named) */
  const char *target;    /* NULL: the context's device; else as the compiler spells it, of the same backend */
  const char *numerics;  /* "fast", "standard", "deterministic", "strict"; NULL: TESSERA_NUMERICS, else
                            standard */
  const tsr_named_int_t *dims; /* sizes the compiler may specialise on */
  size_t dim_count;
  const tsr_named_int_t *tunables; /* values instead of each tunable's first */
  size_t tunable_count;
  tsr_log_fn log; /* diagnostics, rendered with source line and caret, during the call and on its thread;
                     NULL: the first error is in tsrLastError only */
  void *log_user;
} tsr_source_options_t;

/* Compiles a Tessera source text of `len` bytes (no NUL needed). Loads libtessera-compiler.so on first use:
 * TSR_ENOTFOUND when it is not installed. TSR_ECOMPILE: the program is wrong. TSR_UNIMPLEMENTED: it is right,
 * but the target lacks something, which the text names. A mapper (tsrSetMapper) that fails or answers what is
 * not legal is TSR_EINVAL, one that does not answer within 10 seconds TSR_ETIMEOUT. `options` may be NULL.
 * Errors: TSR_EINVAL, TSR_ENOTFOUND, TSR_ECOMPILE, TSR_UNIMPLEMENTED, TSR_ETIMEOUT. */
TSR_API tsr_status_t tsrLoadModuleFromSource(tsr_context_t context, const char *source, size_t len,
                                             const tsr_source_options_t *options, tsr_module_t *module);

/* Loads a module compiled earlier: `size` bytes of a Tessera bundle (tsr compile --emit bundle), read during
 * the call. Of its images the one for this very processor is taken, else the one that asks for most of what
 * the processor has; where none can run, IR in the bundle is compiled, if the compiler is installed.
 * TSR_EINVAL: no bundle, cut, damaged, or an image that does not load; TSR_UNIMPLEMENTED: made by another
 * version of the format; TSR_ENOTFOUND: nothing in it runs here. The text begins with a stable code
 * ("[E_BUNDLE_CORRUPT]") that `tsr explain` knows. A bundle is code: load only what you trust.
 * Errors: TSR_EINVAL, TSR_ENOTFOUND, TSR_UNIMPLEMENTED. */
TSR_API tsr_status_t tsrLoadModule(tsr_context_t context, const void *image, size_t size,
                                   tsr_module_t *module);

typedef struct tsr_load_options {
  size_t struct_size;
  tsr_log_fn log; /* what the compiler says where IR is compiled, and a note per fallback; may be NULL */
  void *log_user;
} tsr_load_options_t;

/* The same from a file. TSR_EIO: it cannot be read. `options` may be NULL.
 * Errors: TSR_EINVAL, TSR_EIO, TSR_ENOTFOUND, TSR_UNIMPLEMENTED. */
TSR_API tsr_status_t tsrLoadModuleFromFile(tsr_context_t context, const char *path,
                                           const tsr_load_options_t *options, tsr_module_t *module);

typedef struct tsr_image {
  size_t struct_size;
  const void *data; /* an ELF shared object, PTX text, an HSACO, SPIR-V or a cubin; read during the call */
  size_t size;      /* bytes */
  const char *const *metadata; /* one YAML document per kernel, as tsrKernelMetadata gives it */
  size_t metadata_count;       /* at least 1 */
} tsr_image_t;

/* Loads one raw image. Its format is seen from its first bytes; each kernel's symbol is the name in its
 * metadata. TSR_EINVAL: no image of a known format, metadata that does not read, a missing symbol, another
 * machine's code. TSR_UNIMPLEMENTED: a format that the context's backend, which is named, does not load.
 * Errors: TSR_EINVAL, TSR_UNIMPLEMENTED. */
TSR_API tsr_status_t tsrLoadModuleEx(tsr_context_t context, const tsr_image_t *image, tsr_module_t *module);

/* Destroys the module and its kernel handles. Launches queued before still run: the code stays until they are
 * done. Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrUnloadModule(tsr_module_t module);

/* ---- Kernels and launches ---- */

/* A kernel is a tile kernel, or a graph function compiled whole: a plan of kernels launched in order, with
 * temporaries in between. Both are found, asked about and launched alike.
 * `name` NULL: the only kernel of the module, those that were generated for a function ("mlp.g0") not
 * counted. The handle is the module's; there is nothing to destroy.
 * Errors: TSR_EINVAL, TSR_ENOTFOUND. */
TSR_API tsr_status_t tsrGetKernel(tsr_module_t module, const char *name, tsr_kernel_t *kernel);

/* The kernel's metadata, a YAML document: parameters, tile sizes, resources, launch geometry (a function's:
 * its plan), fallbacks taken. Owned by the module. Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrKernelMetadata(tsr_kernel_t kernel, const char **yaml);

typedef enum { TSR_ARG_TENSOR = 0, TSR_ARG_RESULT = 1, TSR_ARG_SCALAR = 2, TSR_ARG_DIM = 3 } tsr_arg_kind_t;

typedef struct tsr_arg_info {
  size_t struct_size;
  const char *name;  /* the strings are the module's */
  const char *dtype; /* of the elements or the scalar, "f32"; "i64" for a dim */
  int32_t kind;      /* tsr_arg_kind_t */
  uint32_t bytes;    /* of one element, the scalar or the dim */
} tsr_arg_info_t;

/* What tsrLaunch expects as argument `index`, counted from 0. Past the last one: TSR_ENOTFOUND.
 * Errors: TSR_EINVAL, TSR_ENOTFOUND. */
TSR_API tsr_status_t tsrKernelArgInfo(tsr_kernel_t kernel, size_t index, tsr_arg_info_t *info);

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
 * symbolic dim as int64_t in order of first appearance: the order of `params` in the metadata. Values are
 * read during the call. A grid of 0,0,0 takes grid, block and shared memory from the metadata; any other grid
 * and block must equal what the metadata derives, and smem_bytes must be 0 or equal too. A grid without
 * programs does nothing, successfully. TSR_EINVAL names the first argument that is missing, null, misaligned
 * (to its dtype), negative (a dim), or larger by its dims than what its allocation has from the pointer on.
 * On the CPU a pointer to the host's own memory is taken as it is; Debug and sanitizer builds refuse it.
 * Errors: TSR_EINVAL, TSR_EOOM, TSR_EDEVICE. */
TSR_API tsr_status_t tsrLaunch(tsr_kernel_t kernel, tsr_stream_t stream, tsr_launch_t launch, void **args,
                               size_t nargs);

/* Functions. tsrLaunch queues every step of the function's plan; the grid must be 0,0,0. Temporaries lie in a
 * workspace of the stream, which serves all calls on that stream and only grows: a call that needs a larger
 * one waits for the stream first (TSR_EOOM when there is not so much; the next call starts afresh). It goes
 * with the stream, or in tsrTrimMemory while the stream is idle. When a step cannot be queued, those before
 * it are, and the error names function and step. A tensor that the function writes (a result, or a parameter
 * it updates) may share no byte with another tensor of the call, else TSR_EINVAL names both; tensors that are
 * only read may share memory. Tile kernels are not checked for this. */

/* Bytes of workspace that a launch with these arguments plans for: 0 for a tile kernel. `args` as for
 * tsrLaunch, but tensors are not looked at (their entries may be NULL). Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrKernelWorkspace(tsr_kernel_t kernel, void **args, size_t nargs, uint64_t *bytes);

/* tsrLaunch with room to grow. */
typedef struct tsr_launch_ex {
  size_t struct_size;
  tsr_launch_t geometry; /* as for tsrLaunch; all 0: from the metadata */
  void *const *args;
  size_t nargs;
  const char *label; /* stands before the text of an error this call returns; NULL: none */
  uint64_t flags;    /* 0; anything else is TSR_UNIMPLEMENTED */
} tsr_launch_ex_t;

/* Errors: TSR_EINVAL, TSR_EOOM, TSR_UNIMPLEMENTED, TSR_EDEVICE. */
TSR_API tsr_status_t tsrLaunchEx(tsr_kernel_t kernel, tsr_stream_t stream, const tsr_launch_ex_t *launch);

/* ---- Graphs ----
 *
 * Between begin and end of a capture a stream records what is queued on it instead of running it: launches,
 * asynchronous copies and fills, event records and waits, and graphs, which become part of the new one.
 * Arguments of launches are read, and everything is checked, when it is recorded; the memory behind the
 * pointers is read and written at each replay and must be there then. A call that fails records nothing and
 * the capture goes on. What would have to wait for the captured stream (the plain copies and fills on it,
 * synchronising, querying it, tsrSynchronize) is TSR_EINVAL until the capture ends. tsrFree and tsrTrimMemory
 * know nothing of captures. Events are what they were before the capture; each replay records them anew, and
 * a wait takes the point that an earlier record of the same graph makes, else the one the event has when the
 * replay is queued. */

/* TSR_EINVAL when the stream is being captured already. The default stream can be captured through its
 * handle. Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrStreamBeginCapture(tsr_stream_t stream);

/* Ends the capture. The graph belongs to the stream's context and may hold nothing. TSR_EINVAL: no capture is
 * going on, or `graph` is NULL. When ending fails, for want of memory too, the capture goes on with all it
 * has and can be ended again. Destroying a stream drops its capture. Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrStreamEndCapture(tsr_stream_t stream, tsr_graph_t *graph);

/* 1 in *capturing between begin and end, else 0. Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrStreamIsCapturing(tsr_stream_t stream, int32_t *capturing);

/* Queues the whole graph: its work runs in the order it was recorded, as if each piece had been queued now,
 * at a smaller cost. Any stream of the graph's context will do, any thread, and any number of replays at a
 * time: those on one stream follow each other, those on several run side by side, so work that writes memory
 * needs events between them. Temporaries inside the graph are the exception: replays of one graph that has
 * any take turns. A failure fails the stream as ever, and the rest of the graph is dropped.
 * Errors: TSR_EINVAL, TSR_EDEVICE. */
TSR_API tsr_status_t tsrGraphLaunch(tsr_graph_t graph, tsr_stream_t stream);

typedef struct tsr_graph_info {
  size_t struct_size;
  uint64_t nodes; /* the sum of what follows */
  uint64_t launches, copies, fills, event_records, event_waits;
} tsr_graph_info_t;

/* Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrGraphInfo(tsr_graph_t graph, tsr_graph_info_t *info);

/* Replays queued before still run. The kernels of a graph stay, though their module be unloaded.
 * Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrDestroyGraph(tsr_graph_t graph);

/* ---- Collectives (appended in 1.2) ----
 *
 * A communicator joins `size` ranks. Each rank has its own end of it, the handle, and all ranks make the same
 * calls in the same order: kind, count, dtype, op, root and algorithm are compared on every call before any
 * data moves, and ranks that disagree get TSR_EINVAL with both ranks and both calls in the text. A rank waits
 * for the others as long as the call's time allows; then TSR_ETIMEOUT names who is missing. After either the
 * communicator is broken: every later call on any rank's end fails and says since when and why.
 *
 * Calls block until this rank's part is done. Buffers are memory the host can read, the CPU backend's device
 * memory included; work that is queued on them must be done before. src may be dst for tsrAllReduce and
 * tsrBroadcast; otherwise buffers do not overlap. Elements are aligned to their size. Reduced results depend
 * on the values and the number of ranks only, and are the same on every rank (docs/collectives.md). */

typedef struct tsr_comm *tsr_comm_t; /* one rank's end; used by one call at a time */

typedef struct tsr_comm_options {
  size_t struct_size;
  const char *implementation; /* "inprocess" (NULL), or the name of a plugin: "openmpi", "mpich" */
  const char *id;      /* ranks that name the same id meet; required in one process, else NULL will do */
  int32_t rank;        /* from 0; -1: as the launcher (mpirun) says */
  int32_t size;        /* number of ranks; -1: as the launcher says */
  uint64_t timeout_ns; /* of every wait, that for the ranks to come included. 0: 30 s; UINT64_MAX: no limit */
} tsr_comm_options_t;

/* Returns when all ranks have come. Errors: TSR_EINVAL, TSR_ENOTFOUND, TSR_ETIMEOUT. */
TSR_API tsr_status_t tsrCreateComm(const tsr_comm_options_t *options, tsr_comm_t *comm);

/* Does not wait for the other ranks; one that waits for this rank then fails. Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrDestroyComm(tsr_comm_t comm);

typedef struct tsr_comm_info {
  size_t struct_size;
  const char *implementation; /* static, as the strings below */
  const char *topology;       /* what joins the ranks: "process", "node", "network" */
  int32_t rank, size;
} tsr_comm_info_t;

/* Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrCommInfo(tsr_comm_t comm, tsr_comm_info_t *info);

/* dst = the op over all ranks' src, element by element; `count` elements each.
 * Errors: TSR_EINVAL, TSR_ETIMEOUT. */
TSR_API tsr_status_t tsrAllReduce(tsr_comm_t comm, const void *src, void *dst, size_t count,
                                  tsr_dtype_t dtype, tsr_reduce_op_t op);

/* dst = src of rank `root`; `count` elements. The other ranks' src is not read.
 * Errors: TSR_EINVAL, TSR_ETIMEOUT. */
TSR_API tsr_status_t tsrBroadcast(tsr_comm_t comm, const void *src, void *dst, size_t count,
                                  tsr_dtype_t dtype, int32_t root);

/* dst = the ranks' src one after another: `count` elements of each, size * count in dst.
 * Errors: TSR_EINVAL, TSR_ETIMEOUT. */
TSR_API tsr_status_t tsrAllGather(tsr_comm_t comm, const void *src, void *dst, size_t count,
                                  tsr_dtype_t dtype);

/* dst = this rank's part of the op over all ranks' src: size * count elements in src, `count` in dst.
 * Errors: TSR_EINVAL, TSR_ETIMEOUT. */
TSR_API tsr_status_t tsrReduceScatter(tsr_comm_t comm, const void *src, void *dst, size_t count,
                                      tsr_dtype_t dtype, tsr_reduce_op_t op);

/* Any of the four, with room to grow. */
typedef struct tsr_collective_call {
  size_t struct_size;
  int32_t kind;  /* tsr_collective_kind_t */
  int32_t dtype; /* tsr_dtype_t */
  int32_t op;    /* tsr_reduce_op_t, of the reducing kinds */
  int32_t root;  /* of TSR_BROADCAST */
  size_t count;  /* as for the function of that kind */
  const void *src;
  void *dst;
  const char *algorithm; /* one the implementation has for the kind; NULL: its own choice */
  uint64_t timeout_ns;   /* 0: the communicator's */
  const char *where;     /* what errors call the call's place: "train.py:31"; NULL: nothing */
} tsr_collective_call_t;

/* Errors: TSR_EINVAL, TSR_ETIMEOUT. */
TSR_API tsr_status_t tsrCollective(tsr_comm_t comm, const tsr_collective_call_t *call);

/* ---- Mappers (1.2) ----
 *
 * A mapper decides what a program leaves open: which implementation computes an operation, where tensors go,
 * how collectives run. It is asked when a program is compiled, and what it chose is part of the module. */

struct tsr_mapper_api; /* of plugin.h */
struct tsr_mp_mapper;

/* From now on programs of this process are compiled as the mapper `spec` decides: it stands before
 * TESSERA_MAPPER. NULL or "": no longer. A spec is NAME or NAME(ARGUMENTS): default, random(SEED),
 * logging(SPEC, FILE), replay(FILE), or a plugin's name. What cannot be had changes nothing. TSR_EINVAL: the
 * spec is malformed, which the text points at, or the mapper refuses its arguments; TSR_ENOTFOUND: there is
 * no such mapper; TSR_EIO: its file cannot be read or written. The text begins with a stable code
 * ("[E_MAPPER_SPEC]") that `tsr explain` knows. Errors: TSR_EINVAL, TSR_ENOTFOUND, TSR_EIO. */
TSR_API tsr_status_t tsrSetMapper(const char *spec);

/* The same for a mapper of the program's own: its table (plugin.h) and object. On success the library owns
 * `mapper` and destroys it through the table, which must stand for ever, when another is set and the last
 * question is answered. `name` is how errors and metadata call it. C++: tessera::setMapper of mapper.hpp.
 * Errors: TSR_EINVAL. */
TSR_API tsr_status_t tsrSetMapperTable(const struct tsr_mapper_api *api, struct tsr_mp_mapper *mapper,
                                       const char *name);

#ifdef __cplusplus
}
#endif

#endif
