// Creates modules from compiled code: bundles in memory and in files, raw images.
#include "core/abi/Structs.h"
#include "core/bundle/Rules.h"
#include "core/objects/LoadBundle.h"
#include "core/plugin/KnownBackends.h"
#include "core/support/InputFile.h"
#include <memory>

using namespace tessera;

namespace {

tsr_status_t readBundleFile(const char *path, std::string &bytes) {
  auto read = readFile(path, kMaxBundleBytes);
  if (!read) return fail(TSR_EIO, std::string(path) + ": " + read.error().message);
  bytes = std::move(*read);
  return TSR_SUCCESS;
}

/// Reads a raw image and its kernels' metadata documents. The entries get no symbol, since a document does
/// not contain it.
tsr_status_t readImage(const tsr_image_t &given, BundleImage &out) {
  out.data.assign(static_cast<const char *>(given.data), given.size);
  const std::optional<ImageFormat> format = detectFormat(out.data);
  if (!format)
    return fail(TSR_EINVAL, "the image (" + std::to_string(given.size) +
                                " bytes) has no known format; the formats are " + imageFormatNames());
  out.format = *format;
  // The bytes name no target. Messages refer to the image by the backend that loads its format.
  const KnownBackend *backend = backendOfFormat(name(*format));
  out.target = backend ? backend->name : name(*format);
  for (size_t i = 0; i < given.metadata_count; ++i) {
    const std::string which = "metadata[" + std::to_string(i) + "]";
    if (!given.metadata[i]) return fail(TSR_EINVAL, which + " is NULL");
    KernelMetadata m;
    std::string why;
    if (!KernelMetadata::fromYaml(given.metadata[i], m, why)) return fail(TSR_EINVAL, which + ": " + why);
    out.entries.push_back({"", m.plan ? EntryKind::Function : EntryKind::Kernel, given.metadata[i]});
  }
  return TSR_SUCCESS;
}

/// Ends a call that loads compiled code, whose profile nothing changes any more.
tsr_status_t loaded(tsr_status_t status, tsr_module_t module, const char *name, Log log = {}) {
  if (status == TSR_SUCCESS) noteNumerics(module, name, log);
  return status;
}

} // namespace

tsr_status_t tsrLoadModule(tsr_context_t handle, const void *image, size_t size, tsr_module_t *module) {
  return guarded([&] {
    ContextObject *context;
    if (tsr_status_t status = resolve(handle, context)) return status;
    if (tsr_status_t status = requireOut(image, "image")) return status;
    if (tsr_status_t status = requireOut(module, "module")) return status;
    if (size == 0) return fail(TSR_EINVAL, "the image is empty");
    return loaded(loadBundle(handle, {static_cast<const char *>(image), size}, "the image", {}, module),
                  *module, "the image");
  });
}

tsr_status_t tsrLoadModuleFromFile(tsr_context_t handle, const char *path, const tsr_load_options_t *options,
                                   tsr_module_t *module) {
  return guarded([&] {
    ContextObject *context;
    if (tsr_status_t status = resolve(handle, context)) return status;
    if (tsr_status_t status = requireOut(path, "path")) return status;
    if (tsr_status_t status = requireOut(module, "module")) return status;
    tsr_load_options_t o{};
    if (tsr_status_t status = readOptions(options, o)) return status;
    std::string bytes;
    if (tsr_status_t status = readBundleFile(path, bytes)) return status;
    const Log log{o.log, o.log_user};
    return loaded(loadBundle(handle, bytes, path, log, module), *module, path, log);
  });
}

tsr_status_t tsrLoadModuleEx(tsr_context_t handle, const tsr_image_t *image, tsr_module_t *module) {
  return guarded([&] {
    ContextObject *context;
    if (tsr_status_t status = resolve(handle, context)) return status;
    if (tsr_status_t status = requireOut(image, "image")) return status;
    if (tsr_status_t status = requireOut(module, "module")) return status;
    tsr_image_t given{};
    if (tsr_status_t status = readOptions(image, given)) return status;
    if (tsr_status_t status = requireOut(given.data, "image: data")) return status;
    if (!given.metadata || !given.metadata_count)
      return fail(TSR_EINVAL, "image: metadata is missing: a document per kernel is needed");
    BundleImage read;
    if (tsr_status_t status = readImage(given, read)) return status;
    return loaded(loadImage(handle, read, "the image", module), *module, "the image");
  });
}
