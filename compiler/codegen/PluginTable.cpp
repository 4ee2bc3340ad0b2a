#include "compiler/codegen/PluginTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include <tessera/thunk.hpp>

namespace tessera::codegen {
namespace {

constexpr uint32_t kMostTargets = 256; // of one plugin whose list has no end
constexpr size_t kMostText = 4096;     // bytes of one of its strings
constexpr size_t kMostMessages = 16 << 10;
constexpr size_t kMostImage = size_t(1) << 30;

std::string failed(const char *call, int32_t status, const std::string &why) {
  std::string text = std::string(call) + " failed with status " + std::to_string(status);
  return why.empty() ? text : text + ": " + why;
}

Error fault(const CodegenPlugin &plugin, const char *code, const std::string &what) {
  return {code, "codegen plugin " + plugin.name + " " + plugin.version + ": " + what,
          "tsr-conformance checks a plugin against the rules of plugin.h"};
}

/// Returns false if there is no string, or if it is too long to be a name.
bool copyText(const char *text, std::string &out) {
  if (!text) return false;
  const size_t length = strnlen(text, kMostText);
  out.assign(text, length);
  return length < kMostText && llvm::all_of(out, [](char c) { return llvm::isPrint(c); });
}

bool isArchitecture(llvm::StringRef name) {
  return !name.empty() && name.size() <= 64 && llvm::all_of(name, [](char c) {
    return llvm::isDigit(c) || (c >= 'a' && c <= 'z') || c == '-' || c == '_' || c == '.';
  });
}

std::optional<ImageFormat> formatOf(uint32_t contract) {
  switch (contract) {
  case TSR_IMAGE_ELF:
    return ImageFormat::Elf;
  case TSR_IMAGE_PTX:
    return ImageFormat::Ptx;
  case TSR_IMAGE_CUBIN:
    return ImageFormat::Cubin;
  case TSR_IMAGE_HSACO:
    return ImageFormat::Hsaco;
  case TSR_IMAGE_SPIRV:
    return ImageFormat::Spirv;
  default:
    return std::nullopt;
  }
}

/// Returns what is wrong with the row; null if nothing is.
const char *readRow(const tsr_cg_target_t &in, PluginRow &out) {
  if (!copyText(in.architecture, out.architecture) || !isArchitecture(out.architecture))
    return "its architecture is no name: 1 to 64 of a-z, 0-9, -, _ and .";
  LlvmMachine &m = out.machine;
  if (!copyText(in.triple, m.triple) || m.triple.empty()) return "it has no triple";
  if (!copyText(in.cpu, m.cpu)) return "it has no text for cpu";
  if (!copyText(in.features, m.features)) return "it has no text for features";
  const auto format = formatOf(in.image_format);
  if (!format) return "its image_format is none that a bundle can hold";
  out.format = *format;
  if (!llvm::isPowerOf2_32(in.vector_bytes) || in.vector_bytes < 4 || in.vector_bytes > 256)
    return "its vector_bytes is no power of two from 4 to 256";
  if (in.vector_registers < 1 || in.vector_registers > 1024) return "its vector_registers is not 1 to 1024";
  if (in.collapses_axes > 1) return "its collapses_axes is not 0 or 1";
  m.vectorBytes = in.vector_bytes, m.vectorRegisters = in.vector_registers;
  out.collapsesAxes = in.collapses_axes;
  return nullptr;
}

/// Keeps at most `most` bytes. The rest is dropped, or refused if every byte is needed.
struct Sink {
  std::string bytes;
  size_t most;
  bool dropsRest;

  static int32_t write(void *user, const void *data, uint64_t size) noexcept {
    auto &sink = *static_cast<Sink *>(user);
    if (size == 0) return TSR_SUCCESS;
    if (!data) return TSR_EINVAL;
    const size_t room = sink.most - sink.bytes.size();
    if (size > room && !sink.dropsRest) return TSR_EOOM;
    try {
      sink.bytes.append(static_cast<const char *>(data), std::min<uint64_t>(size, room));
    } catch (const std::exception &) {
      return TSR_EOOM;
    }
    return TSR_SUCCESS;
  }
  tsr_cg_sink_t api() { return {sizeof(tsr_cg_sink_t), this, write}; }
};

} // namespace

Expected<std::vector<PluginRow>> readTargets(const CodegenPlugin &plugin) {
  std::vector<PluginRow> out;
  for (uint32_t i = 0;; ++i) {
    tsr_cg_target_t row{};
    row.struct_size = sizeof row;
    thunk::Text why; // tables made by codegen.hpp do not throw; one written by hand may
    const int32_t status = thunk::guard(why, [&](std::string &) { return plugin.table.target(i, &row); });
    if (status == TSR_ENOTFOUND) return out;
    const std::string at = "target " + std::to_string(i) + ": ";
    if (status != TSR_SUCCESS)
      return fault(plugin, "E_TARGET_UNKNOWN", at + failed("target", status, why.str()));
    if (i == kMostTargets)
      return fault(plugin, "E_TARGET_UNKNOWN",
                   "it lists more than " + std::to_string(kMostTargets) + " targets");
    PluginRow read;
    if (const char *wrong = readRow(row, read)) return fault(plugin, "E_TARGET_UNKNOWN", at + wrong);
    if (llvm::any_of(out, [&](const PluginRow &r) { return r.architecture == read.architecture; }))
      return fault(plugin, "E_TARGET_UNKNOWN", at + "'" + read.architecture + "' is listed twice");
    out.push_back(std::move(read));
  }
}

Expected<PluginImage> compileIr(const CodegenPlugin &plugin, const std::string &architecture,
                                const std::string &ir, const std::vector<std::string> &kernels) {
  std::vector<const char *> names;
  for (const std::string &kernel : kernels)
    names.push_back(kernel.c_str());
  const tsr_cg_input_t input = {sizeof input, architecture.c_str(), ir.c_str(),
                                ir.size(),    names.data(),         names.size()};
  Sink image{{}, kMostImage, /*dropsRest=*/false}, messages{{}, kMostMessages, /*dropsRest=*/true};
  const tsr_cg_sink_t imageSink = image.api(), messageSink = messages.api();
  thunk::Text why, thrown; // separate, because guard() also writes when the slot returns a failure
  const int32_t status = thunk::guard(
      thrown, [&](std::string &) { return plugin.table.compile(&input, &imageSink, &messageSink, why); });
  if (status != TSR_SUCCESS) {
    Error error = fault(plugin, "E_CODEGEN_PLUGIN",
                        failed("compile", status, why.str().empty() ? thrown.str() : why.str()));
    error.hint = "--emit asm shows the LLVM IR that the plugin was given";
    return error;
  }
  if (image.bytes.empty()) return fault(plugin, "E_CODEGEN_PLUGIN", "compile succeeded and gave no image");
  return PluginImage{std::move(image.bytes), std::move(messages.bytes)};
}

} // namespace tessera::codegen
