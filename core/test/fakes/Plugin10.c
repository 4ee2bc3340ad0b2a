/* A backend as a plugin author wrote it for plugin ABI 1.0, compiled against that version's plugin.h: its
 * table, its query's answer and the structs it knows end where they ended then. Work is done before a call
 * returns. */
#include <stdlib.h>
#include <string.h>
#include <tessera/plugin.h>

#if TSR_PLUGIN_ABI_MINOR != 0 || defined(TSR_CODEGEN_API_MAJOR)
#error "this is not the header of plugin ABI 1.0"
#endif

uint32_t plugin10Block; /* of the last kernel */

static int32_t probe(tsr_probe_t *out, tsr_text_t *why) {
  (void)why;
  out->device_count = 1;
  out->score = 0;
  return 0;
}
static int32_t create(const tsr_host_info_t *host, tsr_be_backend_t **out, tsr_text_t *why) {
  (void)host, (void)why;
  *out = malloc(1);
  return 0;
}
static void destroy(tsr_be_backend_t *b) { free(b); }
static int32_t deviceCount(tsr_be_backend_t *b, int32_t *count, tsr_text_t *why) {
  (void)b, (void)why;
  *count = 1;
  return 0;
}
static int32_t deviceInfo(tsr_be_backend_t *b, int32_t device, tsr_be_device_t *out, tsr_text_t *why) {
  (void)b, (void)device, (void)why;
  out->name = "device of 1.0", out->arch = "plugin10:any", out->capabilities = "{}";
  out->memory_bytes = 1 << 30;
  return 0;
}
static int32_t contextCreate(tsr_be_backend_t *b, int32_t device, const tsr_be_allocator_t *allocator,
                             tsr_be_context_t **out, tsr_text_t *why) {
  (void)b, (void)device, (void)allocator, (void)why;
  *out = malloc(1);
  return 0;
}
static void contextDestroy(tsr_be_context_t *c) { free(c); }
static int32_t memAlloc(tsr_be_context_t *c, uint64_t bytes, uint32_t flags, void **out, tsr_text_t *why) {
  (void)c, (void)flags, (void)why;
  *out = aligned_alloc(64, (bytes / 64 + 1) * 64);
  return *out ? 0 : 1;
}
static int32_t memFree(tsr_be_context_t *c, void *p, tsr_text_t *why) {
  (void)c, (void)why;
  free(p);
  return 0;
}
static int32_t streamCreate(tsr_be_context_t *c, tsr_be_stream_t **out, tsr_text_t *why) {
  (void)c, (void)why;
  *out = malloc(1);
  return 0;
}
static void streamDestroy(tsr_be_stream_t *s) { free(s); }
static int32_t streamCopy(tsr_be_stream_t *s, void *dst, const void *src, uint64_t bytes, int32_t wait,
                          tsr_text_t *why) {
  (void)s, (void)wait, (void)why;
  memmove(dst, src, bytes);
  return 0;
}
static int32_t streamLaunch(tsr_be_stream_t *s, tsr_be_kernel_t *k, const uint64_t *values,
                            const int64_t grid[3], tsr_text_t *why) {
  (void)s, (void)k, (void)why;
  *(int64_t *)values[0] += grid[0] * (int32_t)values[1];
  return 0;
}
static int32_t streamSynchronize(tsr_be_stream_t *s, uint64_t timeout, tsr_text_t *why) {
  (void)s, (void)timeout, (void)why;
  return 0;
}
static int32_t moduleLoad(tsr_be_context_t *c, const tsr_be_image_t *image, tsr_be_module_t **out,
                          tsr_text_t *why) {
  (void)c, (void)why;
  if (image->keep.release) image->keep.release(image->keep.owner);
  *out = malloc(1);
  return 0;
}
static void moduleUnload(tsr_be_module_t *m) { free(m); }
static int32_t kernelGet(tsr_be_module_t *m, const tsr_be_kernel_desc_t *desc, tsr_be_kernel_t **out,
                         tsr_text_t *why) {
  (void)m, (void)why;
  plugin10Block = desc->block[0];
  *out = malloc(1);
  return 0;
}
static void kernelRelease(tsr_be_kernel_t *k) { free(k); }

static const tsr_backend_api_t api = {
    .struct_size = sizeof(tsr_backend_api_t),
    .version_major = TSR_BACKEND_API_MAJOR,
    .version_minor = TSR_BACKEND_API_MINOR,
    .create = create,
    .destroy = destroy,
    .device_count = deviceCount,
    .device_info = deviceInfo,
    .context_create = contextCreate,
    .context_destroy = contextDestroy,
    .mem_alloc = memAlloc,
    .mem_free = memFree,
    .stream_create = streamCreate,
    .stream_destroy = streamDestroy,
    .stream_copy = streamCopy,
    .stream_launch = streamLaunch,
    .stream_synchronize = streamSynchronize,
    .module_load = moduleLoad,
    .module_unload = moduleUnload,
    .kernel_get = kernelGet,
    .kernel_release = kernelRelease,
};

int32_t plugin10Query(const tsr_host_info_t *host, tsr_plugin_info_t *info) {
  tsr_plugin_info_t out = {0};
  uint64_t size = info->struct_size < sizeof out ? info->struct_size : sizeof out;
  (void)host;
  out.struct_size = size;
  out.abi_major = TSR_PLUGIN_ABI_MAJOR;
  out.built_minor = TSR_PLUGIN_ABI_MINOR;
  out.kinds = TSR_PLUGIN_BACKEND;
  out.name = "plugin10", out.version = "1.0", out.description = "built for plugin ABI 1.0";
  out.features_required = out.features_optional = out.compiler_abi = "";
  out.probe = probe;
  out.backend = &api;
  memcpy(info, &out, size);
  return 0;
}
