/* A code generator in C: the system's clang makes a shared object from the LLVM IR that the compiler passes
 * to it. CMake defines CLANG, the path of clang. The backend in this folder loads the result. */
#define _XOPEN_SOURCE 700 /* mkdtemp, posix_spawn */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tessera/plugin.h>
#include <unistd.h>

#include "tessera_manifest.h" /* written by tessera_add_plugin */

extern char **environ;

#if defined(__aarch64__)
#define TRIPLE "aarch64-unknown-linux-gnu"
#define CPU "generic"
#else
#define TRIPLE "x86_64-unknown-linux-gnu"
#define CPU "x86-64"
#endif

/* The targets: only one, which every processor of this architecture can run. */
static int32_t target(uint32_t index, tsr_cg_target_t *out) {
  tsr_cg_target_t row;
  const uint64_t room = out->struct_size < sizeof row ? out->struct_size : sizeof row;
  if (index > 0) return TSR_ENOTFOUND;
  memset(&row, 0, sizeof row);
  row.struct_size = room;
  row.architecture = "baseline";
  row.triple = TRIPLE, row.cpu = CPU, row.features = "";
  row.image_format = TSR_IMAGE_ELF;
  row.vector_bytes = 16, row.vector_registers = 16;
  row.collapses_axes = 1;
  memcpy(out, &row, room); /* a host of another minor version knows more or fewer fields */
  return TSR_SUCCESS;
}

static int32_t fail(tsr_text_t *why, int32_t status, const char *what, const char *detail) {
  int length;
  if (!why) return status;
  length = snprintf(why->data, why->data ? why->capacity : 0, "%s: %s", what, detail);
  why->length = length > 0 ? (uint64_t)length : 0;
  return status;
}

/* A folder of its own for each compilation, with the paths of the files in it. */
typedef struct {
  char folder[4096];
  char ir[4096 + 16], image[4096 + 16], errors[4096 + 16];
} work_t;

static int open_work(work_t *work) {
  const char *temporary = getenv("TMPDIR");
  int length = snprintf(work->folder, sizeof work->folder, "%s/codegen-XXXXXX",
                        temporary && *temporary ? temporary : "/tmp");
  if (length < 0 || (size_t)length >= sizeof work->folder) return errno = ENAMETOOLONG, -1;
  if (!mkdtemp(work->folder)) return -1;
  snprintf(work->ir, sizeof work->ir, "%s/module.ll", work->folder);
  snprintf(work->image, sizeof work->image, "%s/image.so", work->folder);
  snprintf(work->errors, sizeof work->errors, "%s/errors", work->folder);
  return 0;
}

static void close_work(const work_t *work) {
  unlink(work->ir);
  unlink(work->image);
  unlink(work->errors);
  rmdir(work->folder);
}

static int write_file(const char *path, const char *data, uint64_t bytes) {
  FILE *file = fopen(path, "wb");
  int failed;
  if (!file) return -1;
  failed = fwrite(data, 1, bytes, file) != bytes;
  return fclose(file) || failed ? -1 : 0;
}

/* Runs clang with its errors redirected to a file. Returns its exit status, or -1 with errno set. */
static int run_clang(const work_t *work) {
  char *words[] = {CLANG,
                   "-x",
                   "ir",
                   "--target=" TRIPLE,
                   "-O2",
                   "-ffp-contract=off",
                   "-fPIC",
                   "-shared",
                   "-w",
                   "-o",
                   (char *)work->image,
                   (char *)work->ir,
                   "-lm",
                   NULL};
  posix_spawn_file_actions_t files;
  pid_t child;
  int status, failed;
  if ((errno = posix_spawn_file_actions_init(&files))) return -1;
  failed = posix_spawn_file_actions_addopen(&files, 2, work->errors, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (!failed) failed = posix_spawn(&child, CLANG, &files, NULL, words, environ);
  posix_spawn_file_actions_destroy(&files);
  if (failed) return errno = failed, -1;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Copies a file to the host, piece by piece. */
static int32_t send_file(const char *path, const tsr_cg_sink_t *sink, tsr_text_t *why) {
  char piece[65536];
  size_t bytes;
  int32_t status = TSR_SUCCESS;
  FILE *file = fopen(path, "rb");
  if (!file) return fail(why, TSR_EIO, path, strerror(errno));
  while (status == TSR_SUCCESS && (bytes = fread(piece, 1, sizeof piece, file)) > 0)
    status = sink->write(sink->user, piece, bytes);
  if (status != TSR_SUCCESS)
    fail(why, status, path, "the host takes no more");
  else if (ferror(file))
    status = fail(why, TSR_EIO, path, strerror(errno));
  fclose(file);
  return status;
}

/* The first bytes of what clang wrote to its error stream. */
static const char *first_error(const char *path, char *text, size_t capacity) {
  FILE *file = fopen(path, "rb");
  size_t bytes = file ? fread(text, 1, capacity - 1, file) : 0;
  text[bytes] = 0;
  if (file) fclose(file);
  return bytes ? text : "it gives no reason";
}

static int32_t compile(const tsr_cg_input_t *in, const tsr_cg_sink_t *image, const tsr_cg_sink_t *messages,
                       tsr_text_t *why) {
  work_t work;
  char text[512];
  int32_t status;
  int exited;
  (void)messages; /* clang was asked for no warnings */
  if (strcmp(in->architecture, "baseline") != 0)
    return fail(why, TSR_EINVAL, in->architecture, "no such target");
  if (open_work(&work)) return fail(why, TSR_EIO, "a temporary folder", strerror(errno));
  if (write_file(work.ir, in->ir, in->ir_bytes))
    status = fail(why, TSR_EIO, work.ir, strerror(errno));
  else if ((exited = run_clang(&work)) < 0)
    status = fail(why, TSR_EIO, CLANG, strerror(errno));
  else if (exited)
    status = fail(why, TSR_ECOMPILE, CLANG, first_error(work.errors, text, sizeof text));
  else
    status = send_file(work.image, image, why);
  close_work(&work);
  return status;
}

static const tsr_codegen_api_t kTable = {sizeof(tsr_codegen_api_t), TSR_CODEGEN_API_MAJOR,
                                         TSR_CODEGEN_API_MINOR, target, compile};

__attribute__((visibility("default"))) int32_t tsrPluginQuery(const tsr_host_info_t *host,
                                                              tsr_plugin_info_t *info) {
  tsr_plugin_info_t out;
  const uint64_t room = info->struct_size < sizeof out ? info->struct_size : sizeof out;
  (void)host;
  memset(&out, 0, sizeof out);
  out.struct_size = room;
  out.abi_major = TSR_PLUGIN_ABI_MAJOR;
  out.built_minor = TSR_PLUGIN_ABI_MINOR;
  out.needs_minor = TSR_MANIFEST_NEEDS_MINOR;
  out.kinds = TSR_MANIFEST_KINDS;
  out.name = TSR_MANIFEST_NAME;
  out.version = TSR_MANIFEST_VERSION;
  out.description = TSR_MANIFEST_DESCRIPTION;
  out.features_required = TSR_MANIFEST_FEATURES_REQUIRED;
  out.features_optional = TSR_MANIFEST_FEATURES_OPTIONAL;
  out.compiler_abi = TSR_MANIFEST_COMPILER_ABI;
  out.codegen = &kTable;
  memcpy(info, &out, room);
  return TSR_SUCCESS;
}
