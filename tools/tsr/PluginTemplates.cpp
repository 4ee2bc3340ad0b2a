#include "tools/tsr/PluginTemplates.h"
#include "PluginSources.h" // plugins/null/runtime/Null.cpp, its conformance.yaml and samples/codegen_c/codegen.c, made by CMake
#include <cctype>
#include <string_view>

namespace tessera::cli {

std::string classNameOf(const std::string &name) {
  std::string camel;
  bool upper = true;
  for (char c : name) {
    if (c != '_') camel += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = c == '_';
  }
  return camel;
}

namespace {

/// Replaces @NAME@ by the plugin's name and @CLASS@ by the name of its class.
std::string fill(std::string_view text, const std::string &name) {
  std::string out(text);
  for (const auto &[key, value] :
       {std::pair<std::string_view, std::string>{"@NAME@", name}, {"@CLASS@", classNameOf(name)}})
    for (size_t at = 0; (at = out.find(key, at)) != out.npos; at += value.size())
      out.replace(at, key.size(), value);
  return out;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

constexpr std::string_view kCMake = R"template(cmake_minimum_required(VERSION 3.25)
project(@NAME@ LANGUAGES C CXX)
find_package(tessera REQUIRED)

tessera_add_plugin(@NAME@ MANIFEST plugin.json SOURCES @NAME@.cpp)

# The test loads the plugin the way a user's program would.
enable_testing()
add_executable(@NAME@-test test.cpp)
target_compile_features(@NAME@-test PRIVATE cxx_std_20)
target_link_libraries(@NAME@-test PRIVATE tessera::tessera)
add_dependencies(@NAME@-test @NAME@)
add_test(NAME @NAME@ COMMAND @NAME@-test)
set_tests_properties(@NAME@ PROPERTIES ENVIRONMENT "TESSERA_PLUGIN_PATH=$<TARGET_FILE_DIR:@NAME@>;TESSERA_CACHE_DIR=off")

# The kit checks it against every rule of the contract; it is installed next to tsr.
find_program(TSR_CONFORMANCE tsr-conformance HINTS ${tessera_DIR}/../../../bin ${tessera_DIR}/../../../../bin)
if(TSR_CONFORMANCE)
  add_test(NAME @NAME@-conformance COMMAND ${TSR_CONFORMANCE} --plugin $<TARGET_FILE:@NAME@>@EXPECT@)
endif()
)template";

constexpr std::string_view kMapperManifest = R"template({
  "name": "@NAME@",
  "version": "0.1.0",
  "description": "chooses what programs leave open",
  "kinds": ["mapper"]
}
)template";

constexpr std::string_view kMapperSource =
    R"template(// Makes the choices that programs leave open. Each hook returns a name from the legal set of its call, or
// "" for the default. Several threads may call hooks at once.
#include <charconv>
#include <tessera/mapper.hpp>
#include <tessera/plugin.hpp>

namespace {

class @CLASS@ : public tessera::Mapper {
public:
  /// `arguments` is the text in the parentheses of TESSERA_MAPPER=@NAME@(256): products with M >= 256 use BLAS.
  explicit @CLASS@(std::string_view arguments) {
    const char *end = arguments.data() + arguments.size();
    if (arguments.empty()) return;
    if (auto [rest, wrong] = std::from_chars(arguments.data(), end, large_); rest != end || wrong != std::errc())
      throw std::invalid_argument("expected a number, as in @NAME@(256)");
  }

  Choice place(const Region &region, const Mesh &mesh) override {
    return region.axis == "tp" && mesh.offers("local_switch") ? "local_switch" : "";
  }

  Choice chooseCollective(const CollectiveCall &call) override {
    return call.bytes > 1 << 20 && call.offers("ring") ? "ring" : "";
  }

  Choice chooseVariant(const VariantCall &call) override {
    // An extent is -1 if it is known only at run time.
    return call.op == "matmul" && call.dim("M") >= large_ && call.offers("blas") ? "blas" : "";
  }

private:
  int64_t large_ = 512;
};

} // namespace

TSR_PLUGIN(@CLASS@);
)template";

constexpr std::string_view kMapperTest =
    R"template(// Compiles a program with the mapper and checks that the metadata records its decision.
#include <cstdio>
#include <tessera/tessera.hpp>

int main() try {
  tessera::check(tsrSetMapper("@NAME@"));
  const std::string source = "import tessera as ts\n"
                             "@ts.jit\n"
                             "def f(x: ts.Tensor['M', 'M', ts.f32]) -> ts.Tensor['M', 'M', ts.f32]:\n"
                             "    return ts.matmul(x, x)\n";
  tessera::Context context("cpu");
  tessera::Module module = context.load(source, {.kernel = "f"});
  const std::string metadata = module.kernel("f").metadata();
  std::printf("%s", metadata.c_str());
  return metadata.find("by: @NAME@") == metadata.npos;
} catch (const tessera::Error &e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
)template";

constexpr std::string_view kBackendManifest = R"template({
  "name": "@NAME@",
  "version": "0.1.0",
  "description": "takes work and does nothing with it",
  "kinds": ["backend"]
}
)template";

constexpr std::string_view kBackendTest =
    R"template(// Allocates memory on the backend, copies into it and back.
#include <cstdio>
#include <tessera/tessera.hpp>
#include <vector>

int main() try {
  tessera::Context context("@NAME@");
  const std::vector<float> sent = {1, 2, 3};
  std::vector<float> got(sent.size());
  auto buffer = context.upload<float>(sent);
  buffer.download(got);
  std::printf("%g %g %g\n", got[0], got[1], got[2]);
  return got != sent;
} catch (const tessera::Error &e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
)template";

constexpr std::string_view kCodegenCMake = R"template(cmake_minimum_required(VERSION 3.25)
project(@NAME@ LANGUAGES C CXX)
find_package(tessera REQUIRED)

# It reads the text of LLVM IR, which an older clang does not.
find_program(CLANG NAMES clang-22 REQUIRED)
tessera_add_plugin(@NAME@ MANIFEST plugin.json SOURCES @NAME@.c)
target_compile_definitions(@NAME@ PRIVATE CLANG="${CLANG}")

# The test compiles a kernel for the target the plugin adds; the kit checks the plugin against every rule of the contract.
# Both programs are beside the installed library.
enable_testing()
find_program(TSR tsr HINTS ${tessera_DIR}/../../../bin ${tessera_DIR}/../../../../bin)
if(TSR)
  add_test(NAME @NAME@ COMMAND ${TSR} compile ${CMAKE_CURRENT_SOURCE_DIR}/add.py --target @NAME@:baseline --emit bundle
           -o ${CMAKE_CURRENT_BINARY_DIR}/add.tsrb)
  set_tests_properties(@NAME@ PROPERTIES ENVIRONMENT
    "TESSERA_PLUGIN_PATH=$<TARGET_FILE_DIR:@NAME@>;TESSERA_CACHE_DIR=off")
endif()
find_program(TSR_CONFORMANCE tsr-conformance HINTS ${tessera_DIR}/../../../bin ${tessera_DIR}/../../../../bin)
if(TSR_CONFORMANCE)
  add_test(NAME @NAME@-conformance COMMAND ${TSR_CONFORMANCE} --plugin $<TARGET_FILE:@NAME@>)
endif()
)template";

constexpr std::string_view kCodegenManifest = R"template({
  "name": "@NAME@",
  "version": "0.1.0",
  "description": "makes images of kernels",
  "kinds": ["codegen"]
}
)template";

constexpr std::string_view kCodegenKernel = R"template(import tessera as ts


@ts.kernel
def add(x: ts.Tensor["n", ts.f32], y: ts.Tensor["n", ts.f32]):
    i = ts.tile.linear_id()
    if i < n:
        y[i] = x[i] + y[i]
)template";

constexpr std::string_view kReadme = R"template(# @NAME@

A Tessera @KIND@. `@NAME@.@SUFFIX@` is all of its code; `plugin.json` says what it is.

```sh
cmake -S . -B build -DCMAKE_PREFIX_PATH=/where/tessera/is/installed
cmake --build build
ctest --test-dir build
cmake --install build --prefix /where/tessera/is/installed
```

`ctest` also runs `tsr-conformance`, where it is installed@GAPS@.

To use it without installing, name its folder and itself:

```sh
TESSERA_PLUGIN_PATH=$PWD/build @USE@
```
)template";

std::string readme(const std::string &name, const char *kind, const char *suffix, const char *use,
                   const char *gaps) {
  std::string text = replaced(replaced(std::string(kReadme), "@KIND@", kind), "@USE@", use);
  text = replaced(text, "@SUFFIX@", suffix);
  return fill(replaced(text, "@GAPS@", gaps), name);
}

} // namespace

std::vector<TemplateFile> mapperTemplate(const std::string &name) {
  return {{"CMakeLists.txt", fill(replaced(std::string(kCMake), "@EXPECT@", ""), name)},
          {"plugin.json", fill(kMapperManifest, name)},
          {name + ".cpp", fill(kMapperSource, name)},
          {"test.cpp", fill(kMapperTest, name)},
          {"README.md", readme(name, "mapper", "cpp", "TESSERA_MAPPER=@NAME@ tsr run ...", "")}};
}

std::vector<TemplateFile> codegenTemplate(const std::string &name) {
  const std::string source =
      replaced(kCodegenSource, "The backend beside it (backend.cpp) loads what this makes.",
               "A backend plugin @NAME@ loads\n * what this makes.");
  return {{"CMakeLists.txt", fill(kCodegenCMake, name)},
          {"plugin.json", fill(kCodegenManifest, name)},
          {name + ".c", fill(source, name)},
          {"add.py", std::string(kCodegenKernel)},
          {"README.md",
           readme(name, "code generator", "c", "tsr compile FILE --target @NAME@:baseline ...", "")}};
}

std::vector<TemplateFile> backendTemplate(const std::string &name) {
  std::string source = kNullBackendSource;
  source = replaced(source,
                    "Copy this folder\n// to begin a backend of your own; docs/extending/write-a-backend.md "
                    "walks through it.",
                    "Fill it\n// in from the top: memory, copies, code, launches.");
  source = replaced(replaced(source, "NullBackend", "@CLASS@Backend"), "\"null", "\"@NAME@");
  const std::string expect = "\n           --expect ${CMAKE_CURRENT_SOURCE_DIR}/conformance.yaml";
  return {
      {"CMakeLists.txt", fill(replaced(std::string(kCMake), "@EXPECT@", expect), name)},
      {"plugin.json", fill(kBackendManifest, name)},
      {"conformance.yaml", kNullBackendGaps},
      {name + ".cpp", fill(source, name)},
      {"test.cpp", fill(kBackendTest, name)},
      {"README.md",
       readme(name, "backend", "cpp", "TESSERA_BACKEND=@NAME@ tsr run ...",
              "; `conformance.yaml` names what the plugin does not do\nyet, and shrinks as you fill it in")}};
}

} // namespace tessera::cli
