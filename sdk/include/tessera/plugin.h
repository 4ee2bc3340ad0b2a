/* Tessera's plugin contract: what a shared object offers to the runtime, in C. C++ plugins derive from the
 * classes of plugin.hpp, which fills these tables.
 *
 * A plugin is an ELF shared object with one export, tsrPluginQuery, and a manifest in its .note.tessera
 * section, which the runtime reads before it loads anything. docs/plugins.md is the reference.
 *
 * Purity. tsrPluginQuery fills a struct and does nothing else: no threads, files, signals, driver calls,
 * output. Constructors of the object's globals are held to the same. The driver is first touched by `probe`
 * or `create`, and looked for at run time (dlopen), so that the plugin loads on a machine without it.
 *
 * Growth. Every struct begins with its size in bytes as its writer knows it; fields are only appended. A slot
 * that lies past the smaller of the two sizes, or is NULL, does not exist: the caller takes TSR_UNIMPLEMENTED
 * or, where the slot's comment says so, a way around. Slots marked [required] must be there. Each interface
 * has a version of its own: equal majors are compatible, a minor says how much of the table there is.
 *
 * Errors. A slot returns a tsr_status_t and, when it is no success, says why in the caller's tsr_text_t. No
 * exception, longjmp or exit crosses the boundary. Out parameters are written on success only.
 *
 * Threads. Every slot may be called from any thread, several at once, unless its comment says otherwise. The
 * caller does not destroy an object while another call uses it.
 *
 * Ownership. Pointers passed in are the caller's and are valid during the call; strings and tables a plugin
 * hands out stand as long as the object they came from (those of tsr_plugin_info_t: for ever). Strings are
 * UTF-8 and end in NUL. Sizes are bytes, times nanoseconds. */
#ifndef TESSERA_PLUGIN_H
#define TESSERA_PLUGIN_H

#include <stddef.h>
#include <stdint.h>
#include <tessera/status.h>
#include <tessera/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The contract's version. A plugin is loaded when the majors are equal, the host's minor is at least the one
 * the plugin needs, and the minor the plugin was built with is at least the host's floor. */
#define TSR_PLUGIN_ABI_MAJOR 1u
#define TSR_PLUGIN_ABI_MINOR 1u
#define TSR_PLUGIN_ABI_FLOOR 0u

/* Is `field` inside the struct that `ptr` points at, by the size its writer gave? */
#define TSR_HAS(ptr, type, field)                                                                            \
  ((ptr) != NULL && (ptr)->struct_size >= offsetof(type, field) + sizeof(((type *)0)->field))

/* A buffer of the caller for a text. The callee writes up to capacity - 1 bytes and a NUL, and the length
 * (without the NUL) the text would have had. */
typedef struct tsr_text {
  char *data;
  uint64_t capacity;
  uint64_t length;
} tsr_text_t;

typedef void (*tsr_plugin_log_fn)(void *user, int32_t level, const char *code, const char *text);

/* ---- The query ---- */

/* Who loads. It outlives the plugin. */
typedef struct tsr_host_info {
  uint64_t struct_size;
  uint32_t abi_major, abi_minor, abi_floor; /* TSR_PLUGIN_ABI_* of the host */
  uint32_t reserved;                        /* 0 */
  const char *version;                      /* of the host: "0.1.0" */
  const char *compiler_abi;                 /* exact id of the compiler beside the host; "" without one */
  tsr_plugin_log_fn log; /* levels as tsr_log_level_t; from any thread, not from within tsrPluginQuery */
  void *log_user;
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

/* What a backend found. It says nothing that would need a context. */
typedef struct tsr_probe {
  uint64_t struct_size;
  int32_t device_count; /* 0 with TSR_ENOTFOUND */
  int32_t score;   /* of the best device: 300 discrete GPU, 200 integrated GPU, 100 CPU, 0 never by choice */
  char driver[64]; /* version of the driver: "550.54.15"; "" without one */
  /* PCI address of each of the first TSR_PROBE_DEVICES devices, "0000:65:00.0", or "": the runtime uses it to
   * tell that two plugins mean one device. */
  char pci[TSR_PROBE_DEVICES][16];
} tsr_probe_t;

struct tsr_backend_api;
struct tsr_mapper_api;
struct tsr_collective_api;
struct tsr_numerics_api;
struct tsr_codegen_api;

/* Who is loaded. The first fields must equal what the manifest says. */
typedef struct tsr_plugin_info {
  uint64_t struct_size;
  uint32_t abi_major, built_minor, needs_minor;
  uint32_t kinds; /* TSR_PLUGIN_* */
  const char *name, *version, *description;
  const char *features_required; /* of the host, comma-separated: "graph_nodes@1"; "" */
  const char *features_optional; /* the same; unknown ones are ignored */
  const char *compiler_abi;      /* "" unless TSR_PLUGIN_CODEGEN */
  /* Looks for devices; may load the driver. TSR_SUCCESS: there is one; TSR_ENOTFOUND: there is none, `why`
   * tells the reason ("libcuda.so.1 is not installed"). Runs first in a process of its own, which has two
   * seconds, and may run again in the host. [required of backends] */
  int32_t (*probe)(tsr_probe_t *out, tsr_text_t *why);
  /* Ends every thread of the plugin and gives its driver back; called once, after every object is destroyed
   * and before static destructors, by the thread that ends the process; not at all when the program has left
   * objects of the plugin alive. May be NULL. */
  void (*shutdown)(void);
  const struct tsr_backend_api *backend; /* NULL unless the kind's bit is set */
  const struct tsr_mapper_api *mapper;
  const struct tsr_collective_api *collective;
  const struct tsr_numerics_api *numerics;
  const struct tsr_codegen_api *codegen; /* since 1.1 */
} tsr_plugin_info_t;

/* The one export. `info` comes with its struct_size set to what the host knows, everything else zero; the
 * plugin writes no byte past it. */
int32_t tsrPluginQuery(const tsr_host_info_t *host, tsr_plugin_info_t *info);
typedef int32_t (*tsr_plugin_query_fn)(const tsr_host_info_t *host, tsr_plugin_info_t *info);

/* ---- Backend 1.1 ---- */

#define TSR_BACKEND_API_MAJOR 1u
#define TSR_BACKEND_API_MINOR 1u

typedef struct tsr_be_backend tsr_be_backend_t; /* the plugin's own objects, opaque to the host */
typedef struct tsr_be_context tsr_be_context_t;
typedef struct tsr_be_stream tsr_be_stream_t;
typedef struct tsr_be_event tsr_be_event_t;
typedef struct tsr_be_module tsr_be_module_t;
typedef struct tsr_be_kernel tsr_be_kernel_t;
typedef struct tsr_be_graph tsr_be_graph_t;

typedef struct tsr_be_device {
  uint64_t struct_size;
  const char *name;         /* "NVIDIA H200" */
  const char *arch;         /* target name as the compiler spells it: "ptx:sm_90" */
  const char *capabilities; /* a JSON object with the keys of docs/c-abi.md */
  uint64_t memory_bytes, max_shared_bytes;
  uint32_t compute_units, vector_bytes;
} tsr_be_device_t;

typedef struct tsr_be_memory {
  uint64_t struct_size;
  uint64_t total, free, in_use, pooled;
} tsr_be_memory_t;

/* Where a context takes its device memory from; as tsr_allocator_t of tessera.h. */
typedef struct tsr_be_allocator {
  uint64_t struct_size;
  void *user;
  void *(*alloc)(void *user, uint64_t bytes, uint64_t alignment);
  void (*free)(void *user, void *ptr, uint64_t bytes);
} tsr_be_allocator_t;

/* Formats of code. */
enum {
  TSR_IMAGE_ELF = 1, /* a shared object for the host's processor */
  TSR_IMAGE_PTX = 2,
  TSR_IMAGE_CUBIN = 3,
  TSR_IMAGE_HSACO = 4,
  TSR_IMAGE_SPIRV = 5,
  TSR_IMAGE_HOST_KERNELS =
      6 /* `data` is an array of tsr_be_host_kernel_t: code that is in the process already */
};

typedef struct tsr_be_host_kernel {
  const char *name;
  const void *entry;
} tsr_be_host_kernel_t;

/* Something the host shares with a plugin: alive until the plugin has called `release(owner)`, which it does
 * exactly once, from any thread, when the last work that may use it is done. `release` may be NULL. */
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
  const char *name;   /* what errors call it: "gemm.tsrb" */
  tsr_be_keep_t keep; /* what the code needs (TSR_IMAGE_HOST_KERNELS); released also when the call fails */
} tsr_be_image_t;

/* The compiler exports a kernel under this prefix and its name, with '$' for '.': "mlp.g0" is
 * tsr_kernel_mlp$g0. Names of the user's choice therefore never meet a function that code calls. */
#define TSR_ENTRY_PREFIX "tsr_kernel_"

/* How a kernel takes a launch value. */
enum {
  TSR_ARGUMENT_POINTER = 0, /* to device memory */
  TSR_ARGUMENT_SCALAR = 1,
  TSR_ARGUMENT_DIM = 2 /* an extent of a tensor: an int64 */
};

/* The parameter that takes a launch value: the first `bytes` bytes of the value. Its size does not grow. Host
 * code takes the array of the values instead. */
typedef struct tsr_be_argument {
  uint32_t kind;   /* TSR_ARGUMENT_* */
  uint32_t bytes;  /* 1, 2, 4 or 8 */
  uint64_t offset; /* in a buffer of all parameters, each aligned to its size */
} tsr_be_argument_t;

typedef struct tsr_be_kernel_desc {
  uint64_t struct_size;
  const char *name;                     /* the entry point: the symbol in the image */
  const char *metadata;                 /* its metadata document, YAML; "" in tests */
  uint64_t scratch_bytes, shared_bytes; /* of one program */
  uint32_t value_count;                 /* 64-bit launch values, in the order of the kernel's parameters */
  uint32_t block[3];                    /* threads of one program; 1,1,1 where a program is a thread */
  /* Since 1.1. The host fills all of it from the metadata; a host of 1.0 ends before `cluster`. */
  uint32_t cluster[3];           /* programs that run together and see each other's shared memory; 1,1,1 */
  uint32_t image_format;         /* TSR_IMAGE_* of the module's image */
  uint64_t dynamic_shared_bytes; /* of shared_bytes, those that each launch has to ask for */
  /* Global memory of one program. Where it is not 0, each launch needs this much for every program of its
   * grid, in one piece aligned to 64 bytes; the backend provides it, and its address is the entry point's
   * last parameter, after the launch values. */
  uint64_t workspace_bytes;
  const tsr_be_argument_t *arguments; /* value_count of them, in the order of the values; NULL: not known */
} tsr_be_kernel_desc_t;

/* What a context can do beyond TSR_MEM_DEVICE: bits of mem_flags. The first two are flags of mem_alloc and
 * equal TSR_MEM_* of tessera.h. */
enum {
  TSR_BE_MEM_PINNED_HOST = 1,
  TSR_BE_MEM_MANAGED = 2,
  TSR_BE_MEM_PEER = 4 /* peer_enable gives kernels access to memory of other contexts */
};

/* What an activity record is about. */
enum {
  TSR_ACTIVITY_LAUNCH = 0,
  TSR_ACTIVITY_COPY = 1,
  TSR_ACTIVITY_FILL = 2,
  TSR_ACTIVITY_RANGE = 3 /* of the host: from range_push to range_pop */
};

/* A completed activity. Times are those of CLOCK_MONOTONIC, to which the backend converts its device's; a
 * backend that reports activities has event_timestamp on the same clock. */
typedef struct tsr_be_activity {
  uint64_t struct_size;
  uint32_t kind; /* TSR_ACTIVITY_* */
  uint32_t reserved;
  const char *name; /* of the kernel or the range; "" of copies and fills */
  int64_t begin_ns, end_ns;
  uint64_t bytes;   /* copied or filled; else 0 */
  int64_t programs; /* of a launch; else 0 */
  uint64_t stream;  /* a number that tells the streams of a context apart; 0 of ranges */
  uint64_t tag[2];  /* of activity_tag when the work was queued; 0, 0 of ranges and untagged work */
} tsr_be_activity_t;

/* Takes activity records: from any thread, several at once. `report` returns soon, queues no work and waits
 * for none. The record is the plugin's and valid during the call. */
typedef struct tsr_be_activity_sink {
  uint64_t struct_size;
  void *user;
  void (*report)(void *user, const tsr_be_activity_t *);
} tsr_be_activity_sink_t;

/* A function of the host's. `run` gets `keep.owner`, which the plugin releases once the function has returned
 * or was dropped. */
typedef struct tsr_be_call {
  uint64_t struct_size;
  int32_t (*run)(void *owner, tsr_text_t *why);
  tsr_be_keep_t keep; /* released also when stream_call fails */
} tsr_be_call_t;

enum { TSR_NODE_COPY = 0, TSR_NODE_FILL = 1, TSR_NODE_LAUNCH = 2, TSR_NODE_RECORD = 3, TSR_NODE_WAIT = 4 };

/* One piece of a graph: the arguments of one call on a stream. */
typedef struct tsr_be_node {
  uint64_t struct_size;
  uint32_t kind; /* TSR_NODE_* */
  uint32_t byte; /* of FILL */
  void *dst;
  const void *src;
  uint64_t bytes;
  tsr_be_kernel_t *kernel;
  const uint64_t *values; /* of LAUNCH: value_count of them */
  int64_t grid[3];
  tsr_be_event_t *event;
} tsr_be_node_t;

/* Calls on one stream are ordered. A call that queues returns a failure of work queued earlier, once, and
 * then queues nothing; what was queued behind failing work is dropped, records and waits still take effect.
 * Objects may be destroyed while queued work uses them: the plugin keeps what that work needs. The host has
 * checked handles, argument counts, nulls, alignment and geometry; the plugin checks what only it can know.
 */
typedef struct tsr_backend_api {
  uint64_t struct_size;
  uint32_t version_major, version_minor;

  /* [required] One per process. */
  int32_t (*create)(const tsr_host_info_t *host, tsr_be_backend_t **out, tsr_text_t *why);
  void (*destroy)(tsr_be_backend_t *);                                          /* [required] */
  int32_t (*device_count)(tsr_be_backend_t *, int32_t *count, tsr_text_t *why); /* [required] */
  int32_t (*device_info)(tsr_be_backend_t *, int32_t device, tsr_be_device_t *out,
                         tsr_text_t *why); /* [required] */

  /* [required] One device. `allocator` NULL: the plugin's own; it lives as long as the context. */
  int32_t (*context_create)(tsr_be_backend_t *, int32_t device, const tsr_be_allocator_t *allocator,
                            tsr_be_context_t **out, tsr_text_t *why);
  void (*context_destroy)(
      tsr_be_context_t *); /* [required] after everything made from it; frees all memory */

  /* [required] Aligned to 64 bytes at least; 0 bytes gives a pointer of its own. flags: TSR_MEM_*. */
  int32_t (*mem_alloc)(tsr_be_context_t *, uint64_t bytes, uint32_t flags, void **out, tsr_text_t *why);
  int32_t (*mem_free)(tsr_be_context_t *, void *ptr, tsr_text_t *why); /* [required] no queued work uses it */
  /* Bytes from `ptr` to the end of the live allocation it points into; TSR_ENOTFOUND: into none of this
   * context. Without it ranges are not checked. */
  int32_t (*mem_available)(tsr_be_context_t *, const void *ptr, uint64_t *bytes);
  int32_t (*mem_info)(tsr_be_context_t *, tsr_be_memory_t *out, tsr_text_t *why);
  void (*mem_trim)(tsr_be_context_t *); /* gives pooled memory back */

  int32_t (*stream_create)(tsr_be_context_t *, tsr_be_stream_t **out, tsr_text_t *why); /* [required] */
  void (*stream_destroy)(tsr_be_stream_t *);                                            /* [required] waits */
  /* [required] Either side host or device; ranges may overlap. wait 1: returns when the copy is done, or with
   * the failure that kept it from being done. */
  int32_t (*stream_copy)(tsr_be_stream_t *, void *dst, const void *src, uint64_t bytes, int32_t wait,
                         tsr_text_t *why);
  int32_t (*stream_fill)(tsr_be_stream_t *, void *dst, uint32_t byte, uint64_t bytes, int32_t wait,
                         tsr_text_t *why);
  /* [required] `values` is read during the call. grid: programs per axis, x fastest. */
  int32_t (*stream_launch)(tsr_be_stream_t *, tsr_be_kernel_t *, const uint64_t *values,
                           const int64_t grid[3], tsr_text_t *why);
  int32_t (*stream_record)(tsr_be_stream_t *, tsr_be_event_t *, tsr_text_t *why);
  int32_t (*stream_wait)(tsr_be_stream_t *, tsr_be_event_t *, tsr_text_t *why);
  /* [required] Until the work queued so far is done; UINT64_MAX: however long. */
  int32_t (*stream_synchronize)(tsr_be_stream_t *, uint64_t timeout_ns, tsr_text_t *why);
  /* Waits as stream_synchronize does and leaves a failure for the next call. Without it the host
   * synchronizes. */
  void (*stream_drain)(tsr_be_stream_t *);
  int32_t (*stream_query)(tsr_be_stream_t *, tsr_text_t *why); /* TSR_NOT_READY; never waits */
  int32_t (*stream_is_idle)(tsr_be_stream_t *); /* 1: all done; leaves a failure be; never waits */

  int32_t (*event_create)(tsr_be_context_t *, tsr_be_event_t **out, tsr_text_t *why);
  void (*event_destroy)(tsr_be_event_t *);
  int32_t (*event_query)(tsr_be_event_t *); /* TSR_SUCCESS: passed or never recorded; TSR_NOT_READY */
  int32_t (*event_synchronize)(tsr_be_event_t *, tsr_text_t *why);
  /* On a clock common to the context's streams. TSR_EINVAL: never recorded; TSR_NOT_READY. */
  int32_t (*event_timestamp)(tsr_be_event_t *, int64_t *nanoseconds);

  int32_t (*module_load)(tsr_be_context_t *, const tsr_be_image_t *, tsr_be_module_t **out,
                         tsr_text_t *why);  /* [required] */
  void (*module_unload)(tsr_be_module_t *); /* [required] kernels of it may live on */
  int32_t (*kernel_get)(tsr_be_module_t *, const tsr_be_kernel_desc_t *, tsr_be_kernel_t **out,
                        tsr_text_t *why);    /* [required] */
  void (*kernel_release)(tsr_be_kernel_t *); /* [required] */

  /* A recorded sequence, replayed often. Without these the host queues the nodes one by one. Waits of the
   * graph take the point their event has at the launch, or the one an earlier node records. `keep` is
   * released once the graph is destroyed and its last launch done; also when the call fails. */
  int32_t (*graph_create)(tsr_be_context_t *, const tsr_be_node_t *nodes, uint64_t count, tsr_be_keep_t keep,
                          tsr_be_graph_t **out, tsr_text_t *why);
  int32_t (*graph_launch)(tsr_be_stream_t *, tsr_be_graph_t *, tsr_text_t *why);
  void (*graph_destroy)(tsr_be_graph_t *);

  /* May `context`'s kernels touch memory of `peer`'s device? Turns it on. */
  int32_t (*peer_enable)(tsr_be_context_t *context, tsr_be_context_t *peer, tsr_text_t *why);
  void (*range_push)(tsr_be_context_t *, const char *name); /* the profiler's ranges, per thread */
  void (*range_pop)(tsr_be_context_t *);

  /* Since 1.1. */

  /* Bits TSR_BE_MEM_*. The host refuses other flags before it calls mem_alloc. Without it mem_alloc decides.
   */
  uint32_t (*mem_flags)(tsr_be_context_t *);
  /* From here on reports what the context completes: each launch, copy and fill of its streams, those in
   * graphs too, and each range that begins after this, in the thread that ends it. `sink` is read during the
   * call and replaces the one before; NULL ends the reports. Once this has returned, the sink before is not
   * called, and has got all that a synchronization found done. Work that fails is not reported; work that was
   * queued earlier may be. Not called from `report`. */
  int32_t (*activity_report)(tsr_be_context_t *, const tsr_be_activity_sink_t *sink, tsr_text_t *why);
  /* The two numbers become the tag of the records of work that the calling thread queues in the context from
   * here on, in each node of a graph that it launches too; 0, 0 ends it. The host calls it while it takes
   * reports. Without it there are no tags. */
  void (*activity_tag)(tsr_be_context_t *, uint64_t first, uint64_t second);
  /* Queues a function of the host's: it runs once what was queued before it is done, on a thread that may
   * block, and what is queued after it waits for it. A status other than TSR_SUCCESS fails the stream, as
   * failing work does, with the function's text. It may wait for other streams and other processes; it does
   * not call this stream. `call` is read during this call. */
  int32_t (*stream_call)(tsr_be_stream_t *, const tsr_be_call_t *call, tsr_text_t *why);
} tsr_backend_api_t;

/* ---- Mapper 1.0 ---- */

#define TSR_MAPPER_API_MAJOR 1u
#define TSR_MAPPER_API_MINOR 0u

typedef struct tsr_mp_mapper tsr_mp_mapper_t;

/* A part of a tensor that wants a place. */
typedef struct tsr_mp_region {
  uint64_t struct_size;
  const char *name;  /* of the tensor: "W1" */
  const char *axis;  /* mesh axis it is split on: "tp"; "" when it is whole */
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
  const char *const *groups; /* names of groups of ranks that share a fast link: "local_switch" */
  uint64_t group_count;
} tsr_mp_mesh_t;

typedef struct tsr_mp_collective {
  uint64_t struct_size;
  const char *kind; /* "all_reduce", "broadcast", "all_gather", "reduce_scatter" */
  uint64_t bytes;   /* that one rank gives */
  uint32_t ranks;
  uint32_t reserved;
  const char *topology;          /* of the group: "process", "node", "network" */
  const char *const *algorithms; /* the legal answers; no answer leaves it to the implementation, which may
                                    go by the size */
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
  const int64_t *dims;          /* -1: not known when this is asked */
  uint64_t dim_count;
} tsr_mp_variant_t;

/* What a hook chose. The host hands it over empty: that stands for the default. */
typedef struct tsr_mp_answer {
  uint64_t struct_size;
  tsr_text_t choice;   /* a name from the legal set of the call */
  double predicted_ns; /* the time the mapper expects of it; negative, as it comes: not said */
} tsr_mp_answer_t;

/* For place the legal set is the mesh's devices, groups and axis names; the other calls list theirs. The host
 * checks every answer: one outside of the set, or one that comes later than 10 seconds, is an error of the
 * work that asked. choose_collective is asked once for each different call, whose answer is kept: every rank
 * has to get the same one. The hooks are called on a thread of the host's, several at once where several ask.
 */
typedef struct tsr_mapper_api {
  uint64_t struct_size;
  uint32_t version_major, version_minor;
  /* [required] `arguments`: what stood in the parentheses of TESSERA_MAPPER=name(arguments), or "". */
  int32_t (*create)(const tsr_host_info_t *host, const char *arguments, tsr_mp_mapper_t **out,
                    tsr_text_t *why);
  void (*destroy)(tsr_mp_mapper_t *); /* [required] */
  int32_t (*place)(tsr_mp_mapper_t *, const tsr_mp_region_t *, const tsr_mp_mesh_t *, tsr_mp_answer_t *,
                   tsr_text_t *why);
  int32_t (*choose_collective)(tsr_mp_mapper_t *, const tsr_mp_collective_t *, tsr_mp_answer_t *,
                               tsr_text_t *why);
  int32_t (*choose_variant)(tsr_mp_mapper_t *, const tsr_mp_variant_t *, tsr_mp_answer_t *, tsr_text_t *why);
} tsr_mapper_api_t;

/* ---- Collective 1.0 ---- */

#define TSR_COLLECTIVE_API_MAJOR 1u
#define TSR_COLLECTIVE_API_MINOR 0u

typedef struct tsr_cl_comm tsr_cl_comm_t; /* one rank's end of a communicator */

typedef struct tsr_cl_options {
  uint64_t struct_size;
  const char *id;      /* ranks that name the same id meet; "" where the launcher says who belongs together */
  int32_t rank;        /* -1: as the launcher (mpirun) says */
  int32_t size;        /* number of ranks; -1: as the launcher says */
  uint64_t timeout_ns; /* of every wait that names none of its own, the meeting of the ranks included;
                          UINT64_MAX: however long */
} tsr_cl_options_t;

/* One call. Every rank must make the same call in the same order: kind, count, dtype, op, root, algorithm and
 * sequence number are its signature, compared on each call before any data moves; a mismatch is TSR_EINVAL on
 * the ranks that see it, whose text names both ranks and both calls, and breaks the communicator. */
typedef struct tsr_cl_call {
  uint64_t struct_size;
  uint32_t kind;   /* TSR_ALL_REDUCE ... */
  int32_t dtype;   /* TSR_DTYPE_* */
  uint32_t op;     /* TSR_REDUCE_*, of the reducing kinds, else not looked at */
  int32_t root;    /* of broadcast, else not looked at */
  uint64_t count;  /* elements: of the whole vector (all_reduce, broadcast); of one rank's part (all_gather:
                      what it gives, reduce_scatter: what it gets) */
  const void *src; /* may equal dst for all_reduce and broadcast; else they do not overlap */
  void *dst;
  const char *algorithm; /* one of those the plugin lists; NULL or "": its own choice */
  uint64_t timeout_ns;   /* 0: the communicator's */
  const char *where;     /* "train.py:31", for errors; NULL or "" */
} tsr_cl_call_t;

typedef struct tsr_collective_api {
  uint64_t struct_size;
  uint32_t version_major, version_minor;
  /* [required] Meets the other ranks. */
  int32_t (*comm_create)(const tsr_host_info_t *host, const tsr_cl_options_t *, tsr_cl_comm_t **out,
                         tsr_text_t *why);
  void (*comm_destroy)(tsr_cl_comm_t *);                               /* [required] */
  int32_t (*comm_info)(tsr_cl_comm_t *, int32_t *rank, int32_t *size); /* [required] */
  /* [required] Blocks until this rank's part is done and its memory is the caller's again. One call at a time
   * on one rank's end. TSR_ETIMEOUT: the text names who is missing. After it, and after a mismatch, the
   * communicator is broken: further calls on any rank's end fail and say since when and why. */
  int32_t (*run)(tsr_cl_comm_t *, const tsr_cl_call_t *, tsr_text_t *why);
  /* The algorithms for a kind, the default first, comma-separated: "ring,tree". */
  const char *(*algorithms)(uint32_t kind);
  const char *topology; /* "process", "node" or "network" */
} tsr_collective_api_t;

/* ---- NumericsProfile 1.0 ---- */

#define TSR_NUMERICS_API_MAJOR 1u
#define TSR_NUMERICS_API_MINOR 0u

/* What a profile permits: 1 or 0 each. What the code generation of a target cannot honour is refused when a
 * kernel is compiled, never ignored. */
typedef struct tsr_numerics_profile {
  uint64_t struct_size;
  const char *name;
  uint8_t contraction;       /* a * b + c may become an fma */
  uint8_t reassociation;     /* sums may be regrouped */
  uint8_t approximate;       /* functions may exceed the documented ulps */
  uint8_t reduced_multiply;  /* f32 matmul operands may be rounded to tf32 */
  uint8_t unordered_atomics; /* float atomics may land in any order, and products come from libraries */
  uint8_t fixed_reductions;  /* reductions follow the documented tree whatever the tiling */
  uint8_t frozen_tunables;   /* a tunable that would alter a reduction keeps its first value */
  uint8_t reserved;          /* 0 */
} tsr_numerics_profile_t;

typedef struct tsr_numerics_api {
  uint64_t struct_size;
  uint32_t version_major, version_minor;
  /* [required] The profiles, counted from 0; past the end: TSR_ENOTFOUND. Pure. */
  int32_t (*profile)(uint32_t index, tsr_numerics_profile_t *out);
} tsr_numerics_api_t;

/* ---- Codegen 1.0 ----
 *
 * A code generator for targets that the compiler does not know: the compiler lowers a program to LLVM IR, the
 * plugin makes an image of it, and the runtime backend of the plugin's name runs the image. The plugin `NAME`
 * serves the targets `NAME:ARCHITECTURE`.
 *
 * The IR is one module in LLVM's text form, of the LLVM version the compiler is built with, verified and
 * optimised for the target's triple, processor and features. Every kernel of it is a function
 *
 *   void KERNEL(const uint64_t *values, int64_t begin, int64_t end, uint8_t *scratch);
 *
 * that runs the programs [begin, end) of the linearised grid, last axis fastest. values[i] is the i-th launch
 * value: a pointer, the bits of a scalar zero-extended, or an int64 dim. `scratch` is aligned to 64 bytes,
 * has the kernel's scratch_bytes, and belongs to the call alone. The module may call functions of the C
 * library and of libm. */

#define TSR_CODEGEN_API_MAJOR 1u
#define TSR_CODEGEN_API_MINOR 0u

/* One target, a row of the plugin's table. Its strings stay valid for the lifetime of the process. */
typedef struct tsr_cg_target {
  uint64_t struct_size;
  const char *architecture; /* what follows the colon: 1 to 64 of a-z, 0-9, -, _ and . */
  /* As LLVM names them. The triple is of a 64-bit little-endian machine that the compiler's LLVM knows. */
  const char *triple, *cpu, *features; /* cpu, features: "" leaves them to LLVM */
  uint32_t image_format;               /* TSR_IMAGE_* of what compile makes; not TSR_IMAGE_HOST_KERNELS */
  uint32_t vector_bytes;               /* of a vector register: a power of two, 4 to 256 */
  uint32_t vector_registers;           /* of that width: 1 to 1024 */
  uint8_t collapses_axes;              /* 1: axes of elementwise work may become one; 0 */
  uint8_t reserved[3];                 /* 0 */
} tsr_cg_target_t;

/* What compile makes code of; all of it is the caller's and valid during the call. */
typedef struct tsr_cg_input {
  uint64_t struct_size;
  const char *architecture; /* of one of the plugin's targets */
  const char *ir;           /* LLVM IR as text; ends in NUL, which `ir_bytes` does not count */
  uint64_t ir_bytes;
  const char *const *kernels; /* the symbols that the image must have */
  uint64_t kernel_count;
} tsr_cg_input_t;

/* Takes bytes of the plugin, any number of calls, from the thread that called compile. */
typedef struct tsr_cg_sink {
  uint64_t struct_size;
  void *user;
  /* Appends. TSR_EOOM, TSR_EINVAL (no data): nothing was taken, and compile should fail with that status. */
  int32_t (*write)(void *user, const void *data, uint64_t bytes);
} tsr_cg_sink_t;

typedef struct tsr_codegen_api {
  uint64_t struct_size;
  uint32_t version_major, version_minor;
  /* [required] The targets, counted from 0; past the end: TSR_ENOTFOUND. Pure. */
  int32_t (*target)(uint32_t index, tsr_cg_target_t *out);
  /* [required] Makes an image, which goes to `image`; empty is no image. What a user should read of a
   * compilation that succeeds, warnings for example, goes to `messages` as text, of which the host keeps the
   * beginning. Called by several threads at once. The image may depend on the input and the plugin alone: the
   * host keeps it in the compile cache for as long as the plugin's file does not change. */
  int32_t (*compile)(const tsr_cg_input_t *, const tsr_cg_sink_t *image, const tsr_cg_sink_t *messages,
                     tsr_text_t *why);
} tsr_codegen_api_t;

#ifdef __cplusplus
}
#endif
#endif
