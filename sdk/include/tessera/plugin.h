/* Tessera's plugin contract in C: the interface between a plugin and the runtime. C++ plugins derive from the
 * classes of plugin.hpp, which fills these tables.
 *
 * A plugin is an ELF shared object with one export, tsrPluginQuery, and a manifest in its .note.tessera
 * section, which the runtime reads before it loads anything. docs/plugins.md is the reference.
 *
 * Purity. tsrPluginQuery fills a struct and does nothing else: no threads, files, signals, driver calls or
 * output. The same holds for the constructors of the object's globals. Only `probe` and `create` and later
 * calls may use the driver, which they load at run time (dlopen), so that the plugin loads on a machine
 * without it.
 *
 * Versions. Every struct begins with its size in bytes in its writer's version; fields are only appended. A
 * slot past the smaller of the two sizes, or a NULL slot, does not exist: the caller reports
 * TSR_UNIMPLEMENTED or uses the fallback in the slot's comment. Slots marked [required] must exist. Each
 * interface has its own version: equal majors are compatible, and the minor states which slots the table has.
 *
 * Errors. A slot returns a tsr_status_t and, on failure, writes the reason to the caller's tsr_text_t. No
 * exception, longjmp or exit may cross the boundary. Out parameters are written on success only.
 *
 * Threads. Every slot may be called from any thread, and several times concurrently, unless its comment says
 * otherwise. The caller does not destroy an object while another call uses it.
 *
 * Ownership. Pointers passed in belong to the caller and are valid during the call. Strings and tables that a
 * plugin returns are valid as long as the object they came from (those of tsr_plugin_info_t: for the lifetime
 * of the process). Strings are UTF-8 and end in NUL. Sizes are bytes and times are nanoseconds. */
#ifndef TESSERA_PLUGIN_H
#define TESSERA_PLUGIN_H

#include <stddef.h>
#include <stdint.h>
#include <tessera/status.h>
#include <tessera/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The contract's version. A plugin is loaded if the majors are equal, the host's minor is at least the minor
 * that the plugin needs, and the minor that the plugin was built with is at least the host's floor. */
#define TSR_PLUGIN_ABI_MAJOR 1u
#define TSR_PLUGIN_ABI_MINOR 1u
#define TSR_PLUGIN_ABI_FLOOR 0u

/* Whether `field` is inside the struct that `ptr` points to, by the size its writer has set. */
#define TSR_HAS(ptr, type, field)                                                                            \
  ((ptr) != NULL && (ptr)->struct_size >= offsetof(type, field) + sizeof(((type *)0)->field))

/* A buffer of the caller for a text. The callee writes at most capacity - 1 bytes and a NUL. It sets `length`
 * to the length of the whole text, without the NUL, even if the text is cut. */
typedef struct tsr_text {
  char *data;
  uint64_t capacity;
  uint64_t length;
} tsr_text_t;

typedef void (*tsr_plugin_log_fn)(void *user, int32_t level, const char *code, const char *text);

/* ---- The query ---- */

/* The runtime that loads the plugin. The struct outlives the plugin. */
typedef struct tsr_host_info {
  uint64_t struct_size;
  uint32_t abi_major, abi_minor, abi_floor; /* TSR_PLUGIN_ABI_* of the host */
  uint32_t reserved;                        /* 0 */
  const char *version;                      /* of the host: "0.1.0" */
  const char *compiler_abi;                 /* exact id of the installed compiler; "" without one */
  tsr_plugin_log_fn log; /* levels as tsr_log_level_t; from any thread, but not within tsrPluginQuery */
  void *log_user;
  /* For a backend's `create`: the part of the backend's name after the first colon, for a plugin with several
   * kinds of devices ("emulated:sm_80" of "ptx:emulated:sm_80"); "" for the plugin's own devices. The devices
   * of the backend "P:V" or "P:V:..." have architectures that begin with "P:V:". Appended in 1.1. */
  const char *variant;
} tsr_host_info_t;

/* Bits of tsr_plugin_info_t::kinds. */
enum {
  TSR_PLUGIN_BACKEND = 1,
  TSR_PLUGIN_MAPPER = 2,
  TSR_PLUGIN_COLLECTIVE = 4,
  TSR_PLUGIN_NUMERICS = 8,
  TSR_PLUGIN_CODEGEN = 16 /* compiler_abi must equal the host's; since 1.1 */
};

#define TSR_PROBE_DEVICES 16

/* The result of a backend's probe, which creates no context. */
typedef struct tsr_probe {
  uint64_t struct_size;
  int32_t device_count; /* 0 with TSR_ENOTFOUND */
  int32_t score;   /* of the best device: 300 discrete GPU, 200 integrated GPU, 100 CPU, 0 never automatic */
  char driver[64]; /* version of the driver: "550.54.15"; "" without one */
  /* PCI address of each of the first TSR_PROBE_DEVICES devices, "0000:65:00.0", or "". The runtime uses it to
   * detect that two plugins drive the same device. */
  char pci[TSR_PROBE_DEVICES][16];
} tsr_probe_t;

struct tsr_backend_api;
struct tsr_mapper_api;
struct tsr_collective_api;
struct tsr_numerics_api;
struct tsr_codegen_api;

/* The plugin's answer. The fields up to compiler_abi must equal those of the manifest. */
typedef struct tsr_plugin_info {
  uint64_t struct_size;
  uint32_t abi_major, built_minor, needs_minor;
  uint32_t kinds; /* TSR_PLUGIN_* */
  const char *name, *version, *description;
  const char *features_required; /* features of the host, comma-separated: "graph_nodes@1"; or "" */
  const char *features_optional; /* in the same form; unknown ones are ignored */
  const char *compiler_abi;      /* "" unless TSR_PLUGIN_CODEGEN */
  /* Looks for devices and may load the driver. TSR_SUCCESS: there is at least one. TSR_ENOTFOUND: there is
   * none, and `why` has the reason ("libcuda.so.1 is not installed"). It runs first in a separate process
   * with a limit of two seconds, and may run again in the host. [required of backends] */
  int32_t (*probe)(tsr_probe_t *out, tsr_text_t *why);
  /* Ends every thread of the plugin and releases its driver. It is called once, by the thread that ends the
   * process, after every object is destroyed and before static destructors. It is not called if the program
   * has left objects of the plugin alive. May be NULL. */
  void (*shutdown)(void);
  const struct tsr_backend_api *backend; /* NULL unless the kind's bit is set */
  const struct tsr_mapper_api *mapper;
  const struct tsr_collective_api *collective;
  const struct tsr_numerics_api *numerics;
  const struct tsr_codegen_api *codegen; /* since 1.1 */
} tsr_plugin_info_t;

/* The only export. The host sets the struct_size of `info` to the size it knows and everything else to zero.
 * The plugin writes no byte past that size. */
int32_t tsrPluginQuery(const tsr_host_info_t *host, tsr_plugin_info_t *info);
typedef int32_t (*tsr_plugin_query_fn)(const tsr_host_info_t *host, tsr_plugin_info_t *info);

/* ---- Backend 1.1 ---- */

#define TSR_BACKEND_API_MAJOR 1u
#define TSR_BACKEND_API_MINOR 1u

typedef struct tsr_be_backend tsr_be_backend_t; /* objects of the plugin, opaque to the host */
typedef struct tsr_be_context tsr_be_context_t;
typedef struct tsr_be_stream tsr_be_stream_t;
typedef struct tsr_be_event tsr_be_event_t;
typedef struct tsr_be_module tsr_be_module_t;
typedef struct tsr_be_kernel tsr_be_kernel_t;
typedef struct tsr_be_graph tsr_be_graph_t;

typedef struct tsr_be_device {
  uint64_t struct_size;
  const char *name;         /* "NVIDIA H200" */
  const char *arch;         /* target name in the compiler's spelling: "ptx:sm_90" */
  const char *capabilities; /* a JSON object with the keys listed in docs/c-abi.md */
  uint64_t memory_bytes, max_shared_bytes;
  uint32_t compute_units, vector_bytes;
} tsr_be_device_t;

typedef struct tsr_be_memory {
  uint64_t struct_size;
  uint64_t total, free, in_use, pooled;
} tsr_be_memory_t;

/* The allocator of a context's device memory; as tsr_allocator_t of tessera.h. */
typedef struct tsr_be_allocator {
  uint64_t struct_size;
  void *user;
  void *(*alloc)(void *user, uint64_t bytes, uint64_t alignment);
  void (*free)(void *user, void *ptr, uint64_t bytes);
} tsr_be_allocator_t;

/* Formats of compiled code. */
enum {
  TSR_IMAGE_ELF = 1, /* a shared object for the host's processor */
  TSR_IMAGE_PTX = 2,
  TSR_IMAGE_CUBIN = 3,
  TSR_IMAGE_HSACO = 4,
  TSR_IMAGE_SPIRV = 5,
  TSR_IMAGE_HOST_KERNELS =
      6,                 /* `data` is an array of tsr_be_host_kernel_t: code that is already in the process */
  TSR_IMAGE_EMULATED = 7 /* GPU code for the emulator: a shared object for the host's processor */
};

typedef struct tsr_be_host_kernel {
  const char *name;
  const void *entry;
} tsr_be_host_kernel_t;

/* An object of the host that a plugin uses. It stays alive until the plugin calls `release(owner)`. The
 * plugin calls it exactly once, from any thread, when the last work that may use the object is done.
 * `release` may be NULL. */
typedef struct tsr_be_keep {
  void *owner;
  void (*release)(void *owner);
} tsr_be_keep_t;

typedef struct tsr_be_image {
  uint64_t struct_size;
  uint32_t format; /* TSR_IMAGE_* */
  uint32_t reserved;
  const void *data;   /* valid during the call */
  uint64_t bytes;     /* of data */
  const char *name;   /* for error messages: "gemm.tsrb" */
  tsr_be_keep_t keep; /* keeps the code alive (TSR_IMAGE_HOST_KERNELS); also released if the call fails */
} tsr_be_image_t;

/* The compiler exports a kernel under this prefix followed by its name, with '$' for '.': "mlp.g0" becomes
 * tsr_kernel_mlp$g0. So a name that the user chose cannot clash with a function that the code calls. */
#define TSR_ENTRY_PREFIX "tsr_kernel_"

/* The kind of parameter that takes a launch value. */
enum {
  TSR_ARGUMENT_POINTER = 0, /* to device memory */
  TSR_ARGUMENT_SCALAR = 1,
  TSR_ARGUMENT_DIM = 2 /* an extent of a tensor: an int64 */
};

/* The parameter that takes a launch value: the first `bytes` bytes of the value. This struct never grows.
 * Host code takes the array of values instead. */
typedef struct tsr_be_argument {
  uint32_t kind;   /* TSR_ARGUMENT_* */
  uint32_t bytes;  /* 1, 2, 4 or 8 */
  uint64_t offset; /* in a buffer of all parameters, each aligned to its size */
} tsr_be_argument_t;

/* A number that is known when a kernel is launched: a launch value, or a constant. This struct never grows.
 */
typedef struct tsr_be_number {
  int64_t value; /* the index of the launch value; -1: it is `constant` */
  int64_t constant;
} tsr_be_number_t;

/* A tensor of which a kernel copies boxes into shared memory by a description that the driver encodes (CUDA's
 * tensor maps). Arrays begin with the outermost axis and have `rank` entries. This struct never grows. */
typedef struct tsr_be_tensor_map {
  uint32_t value;         /* the index of the launch value that is the tensor's address */
  uint32_t element_bytes; /* 1, 2, 4 or 8 */
  uint32_t rank;          /* 1 to 5 */
  uint32_t swizzle; /* bytes of a row of the box, whose 16-byte units change places in shared memory: 32, 64,
                       128 */
  tsr_be_number_t extents[5];
  tsr_be_number_t strides[5]; /* in elements; the constant 0: the tensor is contiguous from this axis on */
  uint32_t box[5];
} tsr_be_tensor_map_t;

typedef struct tsr_be_kernel_desc {
  uint64_t struct_size;
  const char *name;                     /* the entry point's symbol in the image */
  const char *metadata;                 /* the kernel's metadata document, YAML; "" in tests */
  uint64_t scratch_bytes, shared_bytes; /* per program */
  uint32_t value_count;                 /* 64-bit launch values, in the order of the kernel's parameters */
  uint32_t block[3];                    /* threads per program; 1,1,1 if a program is one thread */
  /* Since 1.1. The host fills all of the following from the metadata. The struct of a 1.0 host ends before
   * `cluster`. */
  uint32_t cluster[3];           /* programs that run together and access each other's shared memory */
  uint32_t image_format;         /* TSR_IMAGE_* of the module's image */
  uint64_t dynamic_shared_bytes; /* the part of shared_bytes that each launch must request */
  /* Global memory per thread block, of which there is one for each program unless the kernel is `persistent`.
   * If it is not 0, each launch needs this much for every thread block, in one piece aligned to 64 bytes. The
   * backend provides the block and passes its address as the entry point's next parameter after the launch
   * values. */
  uint64_t workspace_bytes;
  const tsr_be_argument_t *arguments; /* value_count entries, in the order of the values; NULL: unknown */
  /* After all other parameters the entry point has one of 128 bytes, aligned to 64, for each of these. The
   * backend encodes it at each launch. */
  const tsr_be_tensor_map_t *tensor_maps;
  uint64_t tensor_map_count;
  /* 1: the launch has at most as many thread blocks as the device runs at once, and a block runs the program
   * of its own number and each one that is a multiple of the number of blocks further. 0: a block for each
   * program. */
  uint64_t persistent;
  /* Not "": the body of a product that the program forces, and what it computes. The entry point sets the
   * last 8 bytes of the scratch of a call to 1 if it could not compute the operands, so that product.panels
   * did; otherwise it leaves them as they are. The backend reports the first such launch of a kernel. */
  const char *forced_body;
  uint64_t never_waits; /* 1: it is known not to run until another thread writes to memory; 0: it may */
  uint64_t
      shares_operands; /* 1: a call packs what its consecutive programs read; few long ranges are faster */
} tsr_be_kernel_desc_t;

/* Features of a context beyond TSR_MEM_DEVICE: bits of mem_flags. The first two are also flags of mem_alloc
 * and equal TSR_MEM_* of tessera.h. */
enum {
  TSR_BE_MEM_PINNED_HOST = 1,
  TSR_BE_MEM_MANAGED = 2,
  TSR_BE_MEM_PEER = 4 /* peer_enable gives kernels access to memory of other contexts */
};

/* Kinds of activity records. */
enum {
  TSR_ACTIVITY_LAUNCH = 0,
  TSR_ACTIVITY_COPY = 1,
  TSR_ACTIVITY_FILL = 2,
  TSR_ACTIVITY_RANGE = 3 /* of a host thread, from range_push to range_pop */
};

/* A completed activity. Times are of CLOCK_MONOTONIC; the backend converts device times to it. In a backend
 * that reports activities, event_timestamp uses the same clock. */
typedef struct tsr_be_activity {
  uint64_t struct_size;
  uint32_t kind; /* TSR_ACTIVITY_* */
  uint32_t reserved;
  const char *name; /* of the kernel or the range; "" for copies and fills */
  int64_t begin_ns, end_ns;
  uint64_t bytes;   /* bytes copied or filled; else 0 */
  int64_t programs; /* of a launch; else 0 */
  uint64_t stream;  /* a number that identifies the stream within the context; 0 for ranges */
  uint64_t tag[2];  /* the activity_tag when the work was queued; 0, 0 for ranges and untagged work */
} tsr_be_activity_t;

/* Receives activity records from any thread, and from several concurrently. `report` must return soon, and
 * must neither queue nor wait for work. The record belongs to the plugin and is valid during the call. */
typedef struct tsr_be_activity_sink {
  uint64_t struct_size;
  void *user;
  void (*report)(void *user, const tsr_be_activity_t *);
} tsr_be_activity_sink_t;

/* A function of the host. `run` is called with `keep.owner`. The plugin releases the owner once the function
 * has returned or was dropped. */
typedef struct tsr_be_call {
  uint64_t struct_size;
  int32_t (*run)(void *owner, tsr_text_t *why);
  tsr_be_keep_t keep; /* also released if stream_call fails */
} tsr_be_call_t;

enum { TSR_NODE_COPY = 0, TSR_NODE_FILL = 1, TSR_NODE_LAUNCH = 2, TSR_NODE_RECORD = 3, TSR_NODE_WAIT = 4 };

/* One node of a graph: the arguments of one call on a stream. */
typedef struct tsr_be_node {
  uint64_t struct_size;
  uint32_t kind; /* TSR_NODE_* */
  uint32_t byte; /* the value for FILL */
  void *dst;
  const void *src;
  uint64_t bytes;
  tsr_be_kernel_t *kernel;
  const uint64_t *values; /* for LAUNCH: the kernel's value_count entries */
  int64_t grid[3];
  tsr_be_event_t *event;
} tsr_be_node_t;

/* Calls on one stream are ordered. If queued work has failed, the next call that queues returns that failure,
 * once, and queues nothing. Work queued after the failing work is dropped, but records and waits still take
 * effect. Objects may be destroyed while queued work uses them: the plugin keeps what that work needs. The
 * host has checked handles, argument counts, nulls, alignment and geometry. The plugin checks what only it
 * can know. */
typedef struct tsr_backend_api {
  uint64_t struct_size;
  uint32_t version_major, version_minor;

  /* [required] Creates the backend. There is one per process. */
  int32_t (*create)(const tsr_host_info_t *host, tsr_be_backend_t **out, tsr_text_t *why);
  void (*destroy)(tsr_be_backend_t *);                                          /* [required] */
  int32_t (*device_count)(tsr_be_backend_t *, int32_t *count, tsr_text_t *why); /* [required] */
  int32_t (*device_info)(tsr_be_backend_t *, int32_t device, tsr_be_device_t *out,
                         tsr_text_t *why); /* [required] */

  /* [required] Creates a context on one device. `allocator` NULL: the plugin's own; otherwise it lives as
   * long as the context. */
  int32_t (*context_create)(tsr_be_backend_t *, int32_t device, const tsr_be_allocator_t *allocator,
                            tsr_be_context_t **out, tsr_text_t *why);
  void (*context_destroy)(
      tsr_be_context_t *); /* [required] after everything made from it; frees all memory */

  /* [required] Allocates memory aligned to at least 64 bytes. 0 bytes gives a unique pointer. flags:
   * TSR_MEM_*. */
  int32_t (*mem_alloc)(tsr_be_context_t *, uint64_t bytes, uint32_t flags, void **out, tsr_text_t *why);
  int32_t (*mem_free)(tsr_be_context_t *, void *ptr, tsr_text_t *why); /* [required] no queued work uses it */
  /* Sets `bytes` to the distance from `ptr` to the end of the live allocation it points into. TSR_ENOTFOUND:
   * it points into none of this context. Without this slot ranges are not checked. */
  int32_t (*mem_available)(tsr_be_context_t *, const void *ptr, uint64_t *bytes);
  int32_t (*mem_info)(tsr_be_context_t *, tsr_be_memory_t *out, tsr_text_t *why);
  void (*mem_trim)(tsr_be_context_t *); /* returns pooled memory to the system */

  int32_t (*stream_create)(tsr_be_context_t *, tsr_be_stream_t **out, tsr_text_t *why); /* [required] */
  void (*stream_destroy)(tsr_be_stream_t *);                                            /* [required] waits */
  /* [required] Either pointer may be host or device memory; the ranges may overlap. wait 1: returns when the
   * copy is done, or with the failure that prevented it. */
  int32_t (*stream_copy)(tsr_be_stream_t *, void *dst, const void *src, uint64_t bytes, int32_t wait,
                         tsr_text_t *why);
  int32_t (*stream_fill)(tsr_be_stream_t *, void *dst, uint32_t byte, uint64_t bytes, int32_t wait,
                         tsr_text_t *why);
  /* [required] `values` is read during the call. grid: programs per axis. A compiled kernel reads one number,
   * that of its program in the linearised grid: on a device whose blocks have axes, the launch has
   * grid[0] * grid[1] * grid[2] blocks along x. */
  int32_t (*stream_launch)(tsr_be_stream_t *, tsr_be_kernel_t *, const uint64_t *values,
                           const int64_t grid[3], tsr_text_t *why);
  int32_t (*stream_record)(tsr_be_stream_t *, tsr_be_event_t *, tsr_text_t *why);
  int32_t (*stream_wait)(tsr_be_stream_t *, tsr_be_event_t *, tsr_text_t *why);
  /* [required] Waits until the work queued so far is done. timeout_ns UINT64_MAX: no limit. */
  int32_t (*stream_synchronize)(tsr_be_stream_t *, uint64_t timeout_ns, tsr_text_t *why);
  /* Waits as stream_synchronize does, but leaves a failure for the next call. Without this slot the host
   * calls stream_synchronize. */
  void (*stream_drain)(tsr_be_stream_t *);
  int32_t (*stream_query)(tsr_be_stream_t *, tsr_text_t *why); /* TSR_NOT_READY; never waits */
  int32_t (*stream_is_idle)(tsr_be_stream_t *); /* 1: all work is done; never waits or clears a failure */

  int32_t (*event_create)(tsr_be_context_t *, tsr_be_event_t **out, tsr_text_t *why);
  void (*event_destroy)(tsr_be_event_t *);
  int32_t (*event_query)(tsr_be_event_t *); /* TSR_SUCCESS: completed or never recorded; or TSR_NOT_READY */
  int32_t (*event_synchronize)(tsr_be_event_t *, tsr_text_t *why);
  /* On a clock common to the context's streams. TSR_EINVAL: never recorded; TSR_NOT_READY: not completed. */
  int32_t (*event_timestamp)(tsr_be_event_t *, int64_t *nanoseconds);

  int32_t (*module_load)(tsr_be_context_t *, const tsr_be_image_t *, tsr_be_module_t **out,
                         tsr_text_t *why);  /* [required] */
  void (*module_unload)(tsr_be_module_t *); /* [required] its kernels may outlive it */
  int32_t (*kernel_get)(tsr_be_module_t *, const tsr_be_kernel_desc_t *, tsr_be_kernel_t **out,
                        tsr_text_t *why);    /* [required] */
  void (*kernel_release)(tsr_be_kernel_t *); /* [required] */

  /* Graphs: a recorded sequence that is replayed often. Without these slots the host queues the nodes one by
   * one. A wait in the graph waits for the record that an earlier node makes or, if there is none, for the
   * state the event has at the launch. `keep` is released when the graph is destroyed and its last launch is
   * done, or if the call fails. */
  int32_t (*graph_create)(tsr_be_context_t *, const tsr_be_node_t *nodes, uint64_t count, tsr_be_keep_t keep,
                          tsr_be_graph_t **out, tsr_text_t *why);
  int32_t (*graph_launch)(tsr_be_stream_t *, tsr_be_graph_t *, tsr_text_t *why);
  void (*graph_destroy)(tsr_be_graph_t *);

  /* Lets the kernels of `context` access memory of `peer`'s device. */
  int32_t (*peer_enable)(tsr_be_context_t *context, tsr_be_context_t *peer, tsr_text_t *why);
  void (*range_push)(tsr_be_context_t *, const char *name); /* the profiler's ranges, per thread */
  void (*range_pop)(tsr_be_context_t *);

  /* Since 1.1. */

  /* Returns bits TSR_BE_MEM_*. The host refuses other flags before it calls mem_alloc. Without this slot
   * mem_alloc decides. */
  uint32_t (*mem_flags)(tsr_be_context_t *);
  /* Starts reporting what the context completes: each launch, copy and fill of its streams, including those
   * in graphs, and each range that begins after this call, in the thread that ends it. `sink` is read during
   * the call and replaces the previous one; NULL ends the reports. When this call returns, the previous sink
   * has received all work that a synchronization found done, and it is not called again. Failed work is not
   * reported. Work queued before this call may be reported. This slot is not called from `report`. */
  int32_t (*activity_report)(tsr_be_context_t *, const tsr_be_activity_sink_t *sink, tsr_text_t *why);
  /* Sets the tag of the records of work that the calling thread queues in the context from now on. The nodes
   * of a graph that it launches get the tag too. 0, 0 removes the tag. The host calls this while it receives
   * reports. Without this slot there are no tags. */
  void (*activity_tag)(tsr_be_context_t *, uint64_t first, uint64_t second);
  /* Queues a function of the host. It runs when the work queued before it is done, on a thread that may
   * block, and work queued after it waits for it. A status other than TSR_SUCCESS fails the stream with the
   * function's text, as failing work does. The function may wait for other streams and other processes, but
   * does not call this stream. `call` is read during this call. */
  int32_t (*stream_call)(tsr_be_stream_t *, const tsr_be_call_t *call, tsr_text_t *why);
  /* Gives the stream as the device's own interface knows it: *api names the interface and with it the type of
   * *handle (tsr_native_stream_t), and lives as long as the plugin. Both are the same for the life of the
   * stream. Work that is queued through the handle is ordered with the stream's. */
  int32_t (*stream_native)(tsr_be_stream_t *, const char **api, void **handle, tsr_text_t *why);
  /* Makes what is queued from now on come after what `handle` holds now: a stream of another library on the
   * context's device, of the interface `api` (tsr_native_stream_t). TSR_EINVAL: another interface than the
   * plugin's, or the other stream records a graph. Both are read during the call. */
  int32_t (*stream_wait_native)(tsr_be_stream_t *, const char *api, void *handle, tsr_text_t *why);
  /* The reverse: makes what is queued on `handle` from now on come after what the stream holds now. May wait
   * until the functions of the host that the stream holds have returned. */
  int32_t (*native_wait_stream)(tsr_be_stream_t *, const char *api, void *handle, tsr_text_t *why);
} tsr_backend_api_t;

/* ---- Mapper 1.0 ---- */

#define TSR_MAPPER_API_MAJOR 1u
#define TSR_MAPPER_API_MINOR 0u

typedef struct tsr_mp_mapper tsr_mp_mapper_t;

/* A part of a tensor that needs a place. */
typedef struct tsr_mp_region {
  uint64_t struct_size;
  const char *name;  /* of the tensor: "W1" */
  const char *axis;  /* the mesh axis it is split along: "tp"; "" if it is not split */
  const char *dtype; /* "bf16" */
  const int64_t *shape;
  uint32_t rank;
  uint32_t reserved;
} tsr_mp_region_t;

typedef struct tsr_mp_axis {
  const char *name; /* "tp" */
  uint64_t size;    /* ranks */
} tsr_mp_axis_t;

typedef struct tsr_mp_mesh {
  uint64_t struct_size;
  const tsr_mp_axis_t *axes;
  uint64_t axis_count;
  const char *const *devices; /* "ptx:0"; row-major over the axes */
  uint64_t device_count;
  const char *const *groups; /* names of groups of ranks with a fast link: "local_switch" */
  uint64_t group_count;
} tsr_mp_mesh_t;

typedef struct tsr_mp_collective {
  uint64_t struct_size;
  const char *kind; /* "all_reduce", "broadcast", "all_gather", "reduce_scatter", "all_to_all" */
  uint64_t bytes;   /* bytes that one rank contributes */
  uint32_t ranks;
  uint32_t reserved;
  const char *topology; /* of the group: "process", "node", "network" */
  /* The legal answers; an empty answer leaves it to the implementation, which may decide by size */
  const char *const *algorithms;
  uint64_t algorithm_count;
} tsr_mp_collective_t;

typedef struct tsr_mp_variant {
  uint64_t struct_size;
  const char *op;              /* "matmul" */
  const char *arch;            /* "cpu:znver3", "ptx:sm_90" */
  const char *dtype;           /* of the operands */
  const char *const *variants; /* the legal answers, the default first */
  uint64_t variant_count;
  const char *const *dim_names; /* "M", "N", "K" */
  const int64_t *dims;          /* -1: not known yet */
  uint64_t dim_count;
} tsr_mp_variant_t;

/* A hook's answer. The host passes it empty, which means the default. */
typedef struct tsr_mp_answer {
  uint64_t struct_size;
  tsr_text_t choice;   /* a name from the call's legal set */
  double predicted_ns; /* the expected time; negative (as initialised): not given */
} tsr_mp_answer_t;

/* For `place` the legal set consists of the mesh's devices, groups and axis names; the other calls list
 * theirs. The host checks every answer. An answer outside the set, or one that takes longer than 10 seconds,
 * is an error of the work that asked. The host asks choose_collective once for each different call and keeps
 * the answer, since every rank must get the same one. Hooks run on a thread of the host, several concurrently
 * if several calls ask. */
typedef struct tsr_mapper_api {
  uint64_t struct_size;
  uint32_t version_major, version_minor;
  /* [required] `arguments`: the text in the parentheses of TESSERA_MAPPER=name(arguments), or "". */
  int32_t (*create)(const tsr_host_info_t *host, const char *arguments, tsr_mp_mapper_t **out,
                    tsr_text_t *why);
  void (*destroy)(tsr_mp_mapper_t *); /* [required] */
  int32_t (*place)(tsr_mp_mapper_t *, const tsr_mp_region_t *, const tsr_mp_mesh_t *, tsr_mp_answer_t *,
                   tsr_text_t *why);
  int32_t (*choose_collective)(tsr_mp_mapper_t *, const tsr_mp_collective_t *, tsr_mp_answer_t *,
                               tsr_text_t *why);
  int32_t (*choose_variant)(tsr_mp_mapper_t *, const tsr_mp_variant_t *, tsr_mp_answer_t *, tsr_text_t *why);
} tsr_mapper_api_t;

/* ---- Collective 1.1 ---- */

#define TSR_COLLECTIVE_API_MAJOR 1u
#define TSR_COLLECTIVE_API_MINOR 1u

typedef struct tsr_cl_comm tsr_cl_comm_t; /* one rank's endpoint of a communicator */

typedef struct tsr_cl_options {
  uint64_t struct_size;
  const char *id;      /* ranks with the same id form the group; "" if the launcher defines the group */
  int32_t rank;        /* -1: from the launcher (mpirun) */
  int32_t size;        /* number of ranks; -1: from the launcher */
  uint64_t timeout_ns; /* for every wait that names none, creation included; UINT64_MAX: no limit */
} tsr_cl_options_t;

/* One call. Every rank must make the same calls in the same order. A call's signature consists of kind,
 * count, dtype, op, root, algorithm and sequence number. The ranks compare it on each call before any data
 * moves. A mismatch is TSR_EINVAL on the ranks that detect it, with both ranks and both calls in the text,
 * and breaks the communicator.
 *
 * TSR_SEND and TSR_RECV (1.1) concern two ranks and are not among these calls. A send copies its elements and
 * returns without waiting for the receiver; src NULL is an error, dst is ignored, and for a recv the other
 * way round. A recv takes the oldest message that its peer has sent to it with its tag. A message of another
 * dtype or count is a mismatch. */
typedef struct tsr_cl_call {
  uint64_t struct_size;
  uint32_t kind; /* TSR_ALL_REDUCE ...; TSR_ALL_TO_ALL only if the table has 1.1 */
  int32_t dtype; /* TSR_DTYPE_* */
  uint32_t op;   /* TSR_REDUCE_*, for the reducing kinds; else ignored */
  int32_t root;  /* for broadcast; else ignored */
  /* Elements: of the whole vector (all_reduce, broadcast, send, recv), or of one rank's part (all_gather: its
   * input, reduce_scatter: its output, all_to_all: what it sends to one rank) */
  uint64_t count;
  const void *src; /* may equal dst for all_reduce and broadcast; otherwise they do not overlap */
  void *dst;
  const char *algorithm; /* one that the plugin lists; NULL or "": the plugin's choice */
  uint64_t timeout_ns;   /* 0: the communicator's */
  const char *where;     /* the caller's location, for errors: "train.py:31"; NULL or "": none */
  int32_t peer;          /* of send and recv: the other rank, which may be this one (appended in 1.1) */
  int32_t tag;           /* of send and recv: 0 to 8191 (appended in 1.1) */
} tsr_cl_call_t;

typedef struct tsr_collective_api {
  uint64_t struct_size;
  uint32_t version_major, version_minor;
  /* [required] Waits for the other ranks and creates the communicator. */
  int32_t (*comm_create)(const tsr_host_info_t *host, const tsr_cl_options_t *, tsr_cl_comm_t **out,
                         tsr_text_t *why);
  void (*comm_destroy)(tsr_cl_comm_t *);                               /* [required] */
  int32_t (*comm_info)(tsr_cl_comm_t *, int32_t *rank, int32_t *size); /* [required] */
  /* [required] Blocks until this rank's part is done and its buffers belong to the caller again. Only one
   * call at a time may use one rank's endpoint. TSR_ETIMEOUT: the text names the missing ranks. After a
   * timeout or a mismatch the communicator is broken: further calls on any rank's endpoint fail with the call
   * that broke it and the reason. */
  int32_t (*run)(tsr_cl_comm_t *, const tsr_cl_call_t *, tsr_text_t *why);
  /* Returns the algorithms for a kind, the default first, comma-separated: "ring,tree". */
  const char *(*algorithms)(uint32_t kind);
  const char *topology; /* "process", "node" or "network" */
  /* Appended in 1.1. A call like `run`, which all ranks make: forms a communicator of the ranks with the same
   * color, ordered by key, then by rank. With a negative color *out is NULL. The communicators are destroyed
   * independently of each other. Absent: TSR_UNIMPLEMENTED. */
  int32_t (*comm_split)(tsr_cl_comm_t *, int32_t color, int32_t key, tsr_cl_comm_t **out, tsr_text_t *why);
  /* Appended in 1.1. Breaks the communicator: calls in which ranks wait for each other fail with TSR_EDEVICE,
   * this rank and `reason`, as do later calls; a call whose data is moving completes. May be called while
   * another thread is in `run` of this rank. Absent: TSR_UNIMPLEMENTED. */
  int32_t (*comm_abort)(tsr_cl_comm_t *, const char *reason, tsr_text_t *why);
} tsr_collective_api_t;

/* ---- NumericsProfile 1.0 ---- */

#define TSR_NUMERICS_API_MAJOR 1u
#define TSR_NUMERICS_API_MINOR 0u

/* The permissions of a profile: 1 or 0 each. If a target's code generation cannot honour a requirement, the
 * compilation fails; it is never ignored. */
typedef struct tsr_numerics_profile {
  uint64_t struct_size;
  const char *name;
  uint8_t contraction;       /* a * b + c may become an fma */
  uint8_t reassociation;     /* sums may be regrouped */
  uint8_t approximate;       /* functions may exceed the documented ulps */
  uint8_t reduced_multiply;  /* f32 matmul operands may be rounded to tf32 */
  uint8_t unordered_atomics; /* float atomics may run in any order, and products may come from libraries */
  uint8_t fixed_reductions;  /* reductions follow the documented tree whatever the tiling */
  uint8_t frozen_tunables;   /* a tunable that would change a reduction keeps its first value */
  uint8_t reserved;          /* 0 */
} tsr_numerics_profile_t;

typedef struct tsr_numerics_api {
  uint64_t struct_size;
  uint32_t version_major, version_minor;
  /* [required] Returns a profile by index, from 0. Past the end: TSR_ENOTFOUND. Has no side effects. */
  int32_t (*profile)(uint32_t index, tsr_numerics_profile_t *out);
} tsr_numerics_api_t;

/* ---- Codegen 1.0 ----
 *
 * A code generator for targets that the compiler does not support itself. The compiler lowers a program to
 * LLVM IR, the plugin compiles it to an image, and the runtime backend of the plugin's name runs the image.
 * The plugin `NAME` serves the targets `NAME:ARCHITECTURE`.
 *
 * The IR is one module in LLVM's text form, of the LLVM version that the compiler is built with, verified and
 * optimised for the target's triple, processor and features. Every kernel in it is a function
 *
 *   void KERNEL(const uint64_t *values, int64_t begin, int64_t end, uint8_t *scratch);
 *
 * that runs the programs [begin, end) of the linearised grid, last axis fastest. values[i] is the i-th launch
 * value: a pointer, the bits of a scalar zero-extended, or an int64 dim. `scratch` is aligned to 64 bytes,
 * has the kernel's scratch_bytes, and is private to the call. The module may call functions of the C library
 * and of libm. */

#define TSR_CODEGEN_API_MAJOR 1u
#define TSR_CODEGEN_API_MINOR 0u

/* One target: a row of the plugin's table. Its strings stay valid for the lifetime of the process. */
typedef struct tsr_cg_target {
  uint64_t struct_size;
  const char *architecture; /* the part after the colon: 1 to 64 of a-z, 0-9, -, _ and . */
  /* In LLVM's spelling. The triple must be of a 64-bit little-endian machine that the compiler's LLVM
   * supports. */
  const char *triple, *cpu, *features; /* cpu, features: "" means LLVM's default */
  uint32_t image_format;               /* TSR_IMAGE_* of compile's output; not TSR_IMAGE_HOST_KERNELS */
  uint32_t vector_bytes;               /* bytes per vector register: a power of two, 4 to 256 */
  uint32_t vector_registers;           /* number of such registers: 1 to 1024 */
  /* 1: axes of elementwise work may be collapsed into one, and adjacent axes reduced as one, in parts of a
   * fixed size that programs of their own reduce; else 0. */
  uint8_t collapses_axes;
  uint8_t reserved[3]; /* 0 */
} tsr_cg_target_t;

/* The input of compile. All of it belongs to the caller and is valid during the call. */
typedef struct tsr_cg_input {
  uint64_t struct_size;
  const char *architecture; /* of one of the plugin's targets */
  const char *ir;           /* LLVM IR as text; ends in a NUL, which `ir_bytes` does not count */
  uint64_t ir_bytes;
  const char *const *kernels; /* the symbols that the image must export */
  uint64_t kernel_count;
} tsr_cg_input_t;

/* Receives bytes from the plugin, in any number of calls, from the thread that called compile. */
typedef struct tsr_cg_sink {
  uint64_t struct_size;
  void *user;
  /* Appends the bytes. TSR_EOOM or TSR_EINVAL (no data): nothing was appended, and compile should fail with
   * that status. */
  int32_t (*write)(void *user, const void *data, uint64_t bytes);
} tsr_cg_sink_t;

typedef struct tsr_codegen_api {
  uint64_t struct_size;
  uint32_t version_major, version_minor;
  /* [required] Returns a target by index, from 0. Past the end: TSR_ENOTFOUND. Has no side effects. */
  int32_t (*target)(uint32_t index, tsr_cg_target_t *out);
  /* [required] Compiles the module and writes the image to `image`; an empty image is an error. Messages for
   * the user of a successful compilation, such as warnings, go to `messages` as text, of which the host keeps
   * the beginning. Several threads may call this concurrently. The image must depend only on the input and
   * the plugin: the host keeps it in the compile cache until the plugin's file changes. */
  int32_t (*compile)(const tsr_cg_input_t *, const tsr_cg_sink_t *image, const tsr_cg_sink_t *messages,
                     tsr_text_t *why);
} tsr_codegen_api_t;

#ifdef __cplusplus
}
#endif
#endif
