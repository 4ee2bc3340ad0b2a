// Code generators in C++: they compile the compiler's LLVM IR to an image for a new target.
//
//   struct Mine : tessera::Codegen {
//     std::span<const tessera::CodegenTarget> targets() const override { return kTargets; }
//     void compile(const tessera::CodegenInput &in, tessera::CodegenOutput &out) override {
//       out.image(assemble(in.ir)); // throws: the compilation fails with that text
//     }
//   };
//   TSR_PLUGIN(Mine);
//
// docs/extending/write-a-codegen-plugin.md develops one, from the first file to a running program.
#pragma once
#include <concepts>
#include <span>
#include <string_view>
#include <tessera/plugin.h>
#include <tessera/thunk.hpp>
#include <vector>

namespace tessera {

/// One row of tsr_codegen_api_t::target, which defines the fields. Strings are static.
struct CodegenTarget {
  const char *architecture = "", *triple = "", *cpu = "", *features = "";
  uint32_t imageFormat = TSR_IMAGE_ELF;
  uint32_t vectorBytes = 16, vectorRegisters = 16;
  bool collapsesAxes = true;
};

/// The input of compile; valid during the call.
struct CodegenInput {
  std::string_view architecture;
  std::string_view ir; // LLVM IR as text, one module
  std::vector<std::string_view> kernels;
};

/// Receives the image and messages, in any number of pieces. Throws StatusError if the host accepts no more.
class CodegenOutput {
public:
  virtual ~CodegenOutput() = default;
  virtual void image(std::string_view bytes) = 0;
  virtual void message(std::string_view text) = 0;
};

/// A code generator. There is one object for the lifetime of the process; several threads may call it
/// concurrently.
class Codegen {
public:
  virtual ~Codegen() = default;
  /// Returns the targets, the same at every call.
  virtual std::span<const CodegenTarget> targets() const = 0;
  /// Compiles one module to an image. An exception ends the compilation with its text (StatusError: also with
  /// its status).
  virtual void compile(const CodegenInput &in, CodegenOutput &out) = 0;
};

namespace thunk {

inline tsr_cg_target_t codegenRow(const CodegenTarget &t) {
  tsr_cg_target_t out{};
  out.struct_size = sizeof out;
  out.architecture = t.architecture, out.triple = t.triple, out.cpu = t.cpu, out.features = t.features;
  out.image_format = t.imageFormat;
  out.vector_bytes = t.vectorBytes, out.vector_registers = t.vectorRegisters;
  out.collapses_axes = t.collapsesAxes;
  return out;
}

/// Adapts the host's two sinks.
class Sinks final : public CodegenOutput {
public:
  Sinks(const tsr_cg_sink_t *image, const tsr_cg_sink_t *messages) : image_(image), messages_(messages) {}
  void image(std::string_view bytes) override { put(image_, bytes, "image"); }
  void message(std::string_view text) override { put(messages_, text, "message"); }

private:
  static void put(const tsr_cg_sink_t *sink, std::string_view bytes, const char *what) {
    if (bytes.empty()) return;
    if (const int32_t status = sink->write(sink->user, bytes.data(), bytes.size()); status != TSR_SUCCESS)
      throw StatusError(static_cast<tsr_status_t>(status), std::string("the host does not take the ") + what);
  }
  const tsr_cg_sink_t *image_, *messages_;
};

/// Implements tsr_codegen_api_t::target. Exceptions of the object propagate.
inline int32_t codegenTarget(const Codegen &codegen, uint32_t index, tsr_cg_target_t *out) {
  const std::span<const CodegenTarget> all = codegen.targets();
  if (index >= all.size()) return TSR_ENOTFOUND;
  copyOut(out, codegenRow(all[index]));
  return TSR_SUCCESS;
}

/// Implements tsr_codegen_api_t::compile. Exceptions of the object propagate.
inline int32_t codegenCompile(Codegen &codegen, const tsr_cg_input_t *in, const tsr_cg_sink_t *image,
                              const tsr_cg_sink_t *messages) {
  CodegenInput input{in->architecture, {in->ir, in->ir_bytes}, {}};
  for (uint64_t i = 0; i < in->kernel_count; ++i)
    input.kernels.emplace_back(in->kernels[i]);
  Sinks sinks(image, messages);
  codegen.compile(input, sinks);
  return TSR_SUCCESS;
}

/// Returns the plugin's only object.
template <std::derived_from<Codegen> C> C &codegenObject() {
  static C object;
  return object;
}
template <std::derived_from<Codegen> C> int32_t codegenTargetOf(uint32_t index, tsr_cg_target_t *out) {
  return guard(nullptr, [&](std::string &) { return codegenTarget(codegenObject<C>(), index, out); });
}
template <std::derived_from<Codegen> C>
int32_t codegenCompileOf(const tsr_cg_input_t *in, const tsr_cg_sink_t *image, const tsr_cg_sink_t *messages,
                         tsr_text_t *why) {
  return guard(why, [&](std::string &) { return codegenCompile(codegenObject<C>(), in, image, messages); });
}

} // namespace thunk

/// Returns the class's C table for tsr_plugin_info_t::codegen.
template <std::derived_from<Codegen> C> const tsr_codegen_api_t *codegenTable() noexcept {
  static constexpr tsr_codegen_api_t table = {sizeof(tsr_codegen_api_t), TSR_CODEGEN_API_MAJOR,
                                              TSR_CODEGEN_API_MINOR, thunk::codegenTargetOf<C>,
                                              thunk::codegenCompileOf<C>};
  return &table;
}

namespace thunk {

/// TSR_PLUGIN's handling of a code generator.
template <std::derived_from<Codegen> C> void offer(Of<C>, tsr_plugin_info_t &info) {
  info.codegen = codegenTable<C>();
}

} // namespace thunk
} // namespace tessera
