// What makes an error appear and what is right in its place: the files of explain/, for `tsr explain`.
#pragma once
#include <span>
#include <string_view>

namespace tessera::cli {

/// The example of one code. A comment "wrong" begins the first half and a comment "right" the second one.
struct CodeExample {
  std::string_view code;
  /// "tsr": two programs, "mlir": two modules, "console": commands after "$ ", "txt": what the tests do not
  /// run, because no program and no command of this machine gives the error.
  std::string_view kind;
  std::string_view text;
};

std::span<const CodeExample> codeExamples();

/// Null if there is no such code.
const CodeExample *exampleOf(std::string_view code);

} // namespace tessera::cli
