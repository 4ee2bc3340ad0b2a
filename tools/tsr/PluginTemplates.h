// The projects that `tsr new-plugin` writes.
#pragma once
#include <string>
#include <vector>

namespace tessera::cli {

/// "my_mapper" -> "MyMapper"
std::string classNameOf(const std::string &name);

struct TemplateFile {
  std::string name, text;
};

std::vector<TemplateFile> mapperTemplate(const std::string &name);
/// Returns samples/codegen_c/codegen.c under another name.
std::vector<TemplateFile> codegenTemplate(const std::string &name);
/// Returns plugins/null under another name.
std::vector<TemplateFile> backendTemplate(const std::string &name);

} // namespace tessera::cli
