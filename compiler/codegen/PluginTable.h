// Calls the C table of a codegen plugin and checks every answer: whatever the plugin returns, throws or
// writes becomes a value or an error.
#pragma once
#include "compiler/codegen/TargetBackend.h"
#include "core/service/CodegenPlugins.h"

namespace tessera::codegen {

/// One target, as a row of the table describes it.
struct PluginRow {
  std::string architecture;
  LlvmMachine machine;
  ImageFormat format = ImageFormat::Elf;
  bool collapsesAxes = false;
  bool operator==(const PluginRow &) const = default;
};

/// The results of compile.
struct PluginImage {
  std::string bytes;
  std::string messages; // only their beginning; empty: none
};

/// Returns every target of the plugin. An error names the row and the rule that it breaks.
Expected<std::vector<PluginRow>> readTargets(const CodegenPlugin &);

/// Calls the plugin's compile. `kernels` are the symbols that the image must have.
Expected<PluginImage> compileIr(const CodegenPlugin &, const std::string &architecture, const std::string &ir,
                                const std::vector<std::string> &kernels);

} // namespace tessera::codegen
