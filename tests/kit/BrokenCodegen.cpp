// A code generator whose image is the IR itself, with one behaviour replaced.
#include "tessera_manifest.h"
#include "tests/kit/Broken.h"
#include <array>
#include <atomic>
#include <tessera/codegen.hpp>
#include <tessera/plugin.hpp>
#include <unistd.h>

namespace {
using namespace tessera;
using kit::is;

class Echo final : public Codegen {
public:
  std::span<const CodegenTarget> targets() const override {
    static std::array<CodegenTarget, 2> rows = {
        CodegenTarget{"v1", "x86_64-unknown-linux-gnu", "x86-64", ""},
        CodegenTarget{"v2", "aarch64-unknown-linux-gnu", "generic", ""}};
    if (is("twice")) rows[1].architecture = "v1";
    if (is("three")) rows[1].vectorBytes = 3;
    return rows;
  }
  void compile(const CodegenInput &in, CodegenOutput &out) override {
    const bool isIr = in.ir.starts_with("source_filename");
    if (is("crashes") && !isIr) std::abort();
    if (is("hangs") && !isIr)
      for (;;)
        pause();
    if (!isIr && !is("credulous")) throw StatusError(TSR_ECOMPILE, "this is no LLVM IR");
    if (in.architecture != "v1" && in.architecture != "v2" && !is("anywhere"))
      throw StatusError(TSR_EINVAL, "there is no such architecture");
    if (is("empty")) return;
    if (is("racy") && gettid() != getpid()) return out.image("another");
    static std::atomic<int> calls = 0;
    if (is("counts")) out.image(std::to_string(calls++));
    try {
      out.image(in.ir);
    } catch (const StatusError &) {
      if (!is("deaf")) throw;
    }
  }
};

/// Every other pass over both rows and the end gives a different answer.
int32_t moody(uint32_t index, tsr_cg_target_t *out) {
  static int calls = 0;
  const int32_t status = thunk::codegenTargetOf<Echo>(index, out);
  if (calls++ / 3 % 2 && status == TSR_SUCCESS) out->vector_registers = 32;
  return status;
}

int32_t past(uint32_t index, tsr_cg_target_t *out) {
  if (index > 1) return TSR_ENOTFOUND;
  const uint64_t size = out->struct_size;
  tsr_cg_target_t row = thunk::codegenRow(Echo().targets()[index]);
  std::memcpy(out, &row, sizeof row);
  out->struct_size = size;
  return TSR_SUCCESS;
}

} // namespace

extern "C" __attribute__((visibility("default"))) int32_t tsrPluginQuery(const tsr_host_info_t *,
                                                                         tsr_plugin_info_t *info) {
  static tsr_codegen_api_t codegen;
  codegen = *codegenTable<Echo>();
  if (is("moody")) codegen.target = moody;
  if (is("target_past")) codegen.target = past;
  tsr_plugin_info_t out{};
  out.abi_major = TSR_PLUGIN_ABI_MAJOR, out.built_minor = TSR_PLUGIN_ABI_MINOR;
  out.needs_minor = TSR_MANIFEST_NEEDS_MINOR;
  out.kinds = TSR_PLUGIN_CODEGEN;
  out.name = "broken", out.version = "1.0", out.description = "broken on purpose";
  out.features_required = out.features_optional = "";
  out.compiler_abi = TSR_MANIFEST_COMPILER_ABI;
  out.codegen = &codegen;
  thunk::copyOut(info, out);
  return TSR_SUCCESS;
}
