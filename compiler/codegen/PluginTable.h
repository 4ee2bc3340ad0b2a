// The C table of a codegen plugin, called with every answer checked: whatever the plugin returns, throws or
// writes becomes a value or an error.
#pragma once
#include "compiler/codegen/TargetBackend.h"
#include "core/service/CodegenPlugins.h"

namespace tessera::codegen {

/// A row of the table.
struct PluginRow {
  std::string architecture;
  LlvmMachine machine;
  ImageFormat format = ImageFormat::Elf;
  bool collapsesAxes = false;
  bool operator==(const PluginRow &) const = default;
};

/// What compile gave.
struct PluginImage {
  std::string bytes;
  std::string messages; // the beginning of them; empty: none
};

/// Every target of the plugin. An error names the row and what it breaks.
Expected<std::vector<PluginRow>> readTargets(const CodegenPlugin &);

/// Calls the plugin's compile. `kernels` are the symbols the image must have.
Expected<PluginImage> compileIr(const CodegenPlugin &, const std::string &architecture, const std::string &ir,
                                const std::vector<std::string> &kernels);

} // namespace tessera::codegen
