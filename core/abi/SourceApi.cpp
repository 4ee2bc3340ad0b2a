// Compiles source texts to a module, a bundle or the text of one IR level.
#include "core/abi/Structs.h"
#include "core/objects/Backends.h"
#include "core/objects/LoadBundle.h"
#include "core/objects/Modules.h"
#include "core/plugin/Profiles.h"
#include "core/support/OutputFile.h"

using namespace tessera;

namespace {

tsr_status_t readPairs(const tsr_named_int_t *entries, size_t count, const char *what,
                       std::vector<std::pair<std::string, int64_t>> &out) {
  if (count && !entries) return fail(TSR_EINVAL, std::string(what) + " is NULL, yet its count is not 0");
  for (size_t i = 0; i < count; ++i) {
    if (!entries[i].name)
      return fail(TSR_EINVAL, std::string(what) + "[" + std::to_string(i) + "] has no name");
    out.emplace_back(entries[i].name, entries[i].value);
  }
  return TSR_SUCCESS;
}

tsr_status_t readTexts(const tsr_named_text_t *entries, size_t count, const char *what,
                       std::vector<std::pair<std::string, std::string>> &out) {
  if (count && !entries) return fail(TSR_EINVAL, std::string(what) + " is NULL, yet its count is not 0");
  for (size_t i = 0; i < count; ++i) {
    const std::string entry = std::string(what) + "[" + std::to_string(i) + "]";
    if (!entries[i].name) return fail(TSR_EINVAL, entry + " has no name");
    if (!entries[i].text) return fail(TSR_EINVAL, entry + " (" + entries[i].name + ") has no text");
    out.emplace_back(entries[i].name, entries[i].text);
  }
  return TSR_SUCCESS;
}

tsr_status_t readPieces(const tsr_source_options_t &o, std::vector<SourcePiece> &out) {
  if (o.piece_count && !o.pieces) return fail(TSR_EINVAL, "pieces is NULL, yet its count is not 0");
  uint32_t last = 0;
  for (size_t i = 0; i < o.piece_count; ++i) {
    const tsr_source_piece_t &piece = o.pieces[i];
    const std::string entry = "pieces[" + std::to_string(i) + "]";
    if (!piece.file) return fail(TSR_EINVAL, entry + " has no file");
    if (!piece.file_line) return fail(TSR_EINVAL, entry + ": lines are counted from 1, found file_line 0");
    if (piece.line <= last)
      return fail(TSR_EINVAL, entry + ": line " + std::to_string(piece.line) + " does not follow line " +
                                  std::to_string(last));
    last = piece.line;
    out.push_back({piece.line, piece.file_line, piece.file});
  }
  return TSR_SUCCESS;
}

/// Reads all options except the target.
tsr_status_t compileOptions(const tsr_source_options_t &o, CompileOptions &out) {
  if (o.file_name) out.fileName = o.file_name;
  if (o.kernel && *o.kernel) out.kernels = {o.kernel};
  if (o.numerics && !*o.numerics) return fail(TSR_EINVAL, "numerics '': expected a profile's name, or NULL");
  auto profile = chooseProfile(o.numerics ? o.numerics : "");
  if (!profile) {
    const Error &error = profile.error();
    return fail(TSR_EINVAL, (error.code == "E_CONFIG" ? "E_CONFIG " : "") + error.message +
                                (error.hint.empty() ? "" : "; " + error.hint));
  }
  out.numerics = profile->name;
  out.permits = profile->permits;
  if (tsr_status_t status = readPairs(o.dims, o.dim_count, "dims", out.dims)) return status;
  if (o.exact_dims != 0 && o.exact_dims != 1)
    return fail(TSR_EINVAL, "exact_dims is 0 or 1, found " + std::to_string(o.exact_dims));
  if (o.reserved != 0) return fail(TSR_EINVAL, "reserved is 0, found " + std::to_string(o.reserved));
  out.exactDims = o.exact_dims;
  if (tsr_status_t status = readPairs(o.tunables, o.tunable_count, "tunables", out.tunables)) return status;
  if (tsr_status_t status = readTexts(o.types, o.type_count, "types", out.supplied.types)) return status;
  if (tsr_status_t status = readPieces(o, out.supplied.pieces)) return status;
  return readTexts(o.constants, o.constant_count, "constants", out.supplied.constants);
}

/// A compilation without a context.
struct Request {
  std::string_view source;
  CompileOptions options;
  Log log;
};

/// Returns the target for a call without a context that names none.
tsr_status_t defaultTarget(std::string &out) {
  Selection selected;
  if (tsr_status_t status = selectDevice(nullptr, 0, selected)) return status;
  std::string why;
  const DeviceInfo *info = selected.backend->deviceInfo(0, why);
  if (!info) return fail(TSR_EDEVICE, why);
  out = info->arch;
  return TSR_SUCCESS;
}

tsr_status_t readRequest(const char *source, size_t len, const tsr_source_options_t *options, Request &out) {
  if (tsr_status_t status = requireOut(source, "source")) return status;
  tsr_source_options_t o{};
  if (tsr_status_t status = readOptions(options, o)) return status;
  if (tsr_status_t status = compileOptions(o, out.options)) return status;
  std::string target;
  if (o.target)
    target = o.target;
  else if (tsr_status_t status = defaultTarget(target))
    return status;
  out.options.targets = {target};
  out.source = {source, len};
  out.log = {o.log, o.log_user, o.diagnose, o.diagnose_user};
  return TSR_SUCCESS;
}

} // namespace

tsr_status_t tsrLoadModuleFromSource(tsr_context_t handle, const char *source, size_t len,
                                     const tsr_source_options_t *options, tsr_module_t *module) {
  return guarded([&] {
    ContextObject *context;
    if (tsr_status_t status = resolve(handle, context)) return status;
    if (tsr_status_t status = requireOut(source, "source")) return status;
    if (tsr_status_t status = requireOut(module, "module")) return status;
    tsr_source_options_t o{};
    if (tsr_status_t status = readOptions(options, o)) return status;
    CompileOptions compile;
    const std::string target = o.target ? o.target : context->device->info().arch;
    if (target.substr(0, target.rfind(':')) != context->backend->name())
      return fail(TSR_EINVAL,
                  "target '" + target + "' is not of the context's backend " + context->backend->name());
    compile.targets = {target};
    if (tsr_status_t status = compileOptions(o, compile)) return status;
    std::string bundle;
    Log log{o.log, o.log_user, o.diagnose, o.diagnose_user};
    if (tsr_status_t status = compileSource({source, len}, compile, log, bundle)) return status;
    return loadBundle(handle, bundle, compile.fileName, log, module);
  });
}

tsr_status_t tsrCompile(const char *source, size_t len, const tsr_source_options_t *options,
                        const void **bundle, size_t *size) {
  return guarded([&] {
    if (tsr_status_t status = requireOut(bundle, "bundle")) return status;
    if (tsr_status_t status = requireOut(size, "size")) return status;
    Request request;
    if (tsr_status_t status = readRequest(source, len, options, request)) return status;
    std::string bytes;
    if (tsr_status_t status = compileSource(request.source, request.options, request.log, bytes))
      return status;
    thread_local std::string kept;
    kept = std::move(bytes);
    *bundle = kept.data();
    *size = kept.size();
    return TSR_SUCCESS;
  });
}

tsr_status_t tsrCompileToFile(const char *source, size_t len, const tsr_source_options_t *options,
                              const char *path) {
  return guarded([&] {
    if (tsr_status_t status = requireOut(path, "path")) return status;
    Request request;
    if (tsr_status_t status = readRequest(source, len, options, request)) return status;
    auto orFail = [&](const MaybeError &error) {
      return error ? fail(TSR_EIO, std::string(path) + ": " + error->message) : TSR_SUCCESS;
    };
    OutputFile file; // opened before the compilation, so that a path that cannot be written fails early
    if (tsr_status_t status = orFail(file.open(path))) return status;
    std::string bytes;
    if (tsr_status_t status = compileSource(request.source, request.options, request.log, bytes))
      return status;
    if (tsr_status_t status = orFail(file.write(bytes))) return status;
    if (tsr_status_t status = orFail(file.finish())) return status;
    return orFail(file.commit());
  });
}

tsr_status_t tsrInspectIr(const char *source, size_t len, const tsr_source_options_t *options, int32_t level,
                          const char **text) {
  return guarded([&] {
    if (tsr_status_t status = requireOut(text, "text")) return status;
    static_assert(int(Emit::Graph) == TSR_IR_GRAPH && int(Emit::Schedule) == TSR_IR_SCHEDULE &&
                  int(Emit::Tile) == TSR_IR_TILE && int(Emit::Target) == TSR_IR_TARGET &&
                  int(Emit::Assembly) == TSR_IR_ASSEMBLY);
    if (level < TSR_IR_GRAPH || level > TSR_IR_ASSEMBLY)
      return fail(TSR_EINVAL, "level: expected 0 to " + std::to_string(TSR_IR_ASSEMBLY) +
                                  " (tsr_ir_level_t), found " + std::to_string(level));
    Request request;
    if (tsr_status_t status = readRequest(source, len, options, request)) return status;
    std::string out;
    if (tsr_status_t status =
            inspectSource(request.source, request.options, request.log, static_cast<Emit>(level), out))
      return status;
    thread_local std::string kept;
    kept = std::move(out);
    *text = kept.c_str();
    return TSR_SUCCESS;
  });
}

tsr_status_t tsrReadDefinition(const char *text, size_t len, const tsr_source_options_t *options,
                               tsr_definition_info_t *info) {
  return guarded([&] {
    if (tsr_status_t status = requireOut(text, "text")) return status;
    tsr_source_options_t o{};
    if (tsr_status_t status = readOptions(options, o)) return status;
    CompileOptions compile;
    if (o.file_name) compile.fileName = o.file_name;
    if (tsr_status_t status = readPieces(o, compile.supplied.pieces)) return status;
    Definition found;
    const Log log{o.log, o.log_user, o.diagnose, o.diagnose_user};
    if (tsr_status_t status = readDefinition({text, len}, compile, log, found)) return status;
    thread_local Definition kept;
    thread_local std::vector<tsr_free_name_t> names;
    thread_local std::vector<const char *> returns;
    kept = std::move(found);
    names.clear(), returns.clear();
    for (const FreeName &name : kept.names)
      names.push_back({name.name.c_str(), name.line, name.col});
    for (const std::string &name : kept.returns)
      returns.push_back(name.c_str());
    tsr_definition_info_t out{};
    out.name = kept.name.c_str();
    out.bytes = kept.bytes;
    out.names = names.data();
    out.name_count = names.size();
    out.returns = returns.data();
    out.return_count = returns.size();
    return writeInfo(out, info);
  });
}
