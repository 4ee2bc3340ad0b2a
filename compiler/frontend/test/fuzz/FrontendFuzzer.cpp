// Any bytes: parse, list signatures, and elaborate every kernel and graph function, with and without known
// dims. Looks for crashes, leaks and endless loops; a program that is accepted must also survive being
// dumped.
#include "compiler/frontend/Frontend.h"

using namespace tessera;
using namespace tessera::frontend;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view source(reinterpret_cast<const char *>(data), size);
  std::vector<Diagnostic> diags;
  auto module = Module::parse(source, "fuzz.py", diags);
  std::vector<Signature> signatures;
  CompileStatus listed = module->signatures(signatures, diags);
  for (const Signature &s : signatures) {
    for (bool known : {false, true}) {
      FrontendOptions options;
      options.kernel = s.kernel;
      if (known)
        for (const std::string &dim : s.dims)
          options.dims.emplace_back(dim, 16);
      Program program;
      std::vector<Diagnostic> why;
      if (module->instantiate(options, program, why) == CompileStatus::Ok) {
        if (const auto *graph = std::get_if<GraphFunction>(&program)) {
          if (dump(*graph).empty()) __builtin_trap();
          continue;
        }
        const Kernel &kernel = std::get<Kernel>(program);
        if (dump(kernel).empty() || !validateShapes(kernel, {}).text().empty()) continue;
      } else if (why.empty()) {
        __builtin_trap(); // a failure without a reason
      }
      diags.insert(diags.end(), why.begin(), why.end());
    }
  }
  if (listed != CompileStatus::Ok && diags.empty()) __builtin_trap();
  for (const Diagnostic &d : diags)
    if (render(d, false).empty() || !findDiagnostic(d.code)) __builtin_trap();
  return 0;
}
