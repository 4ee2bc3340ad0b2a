// How the stages of the frontend report errors: a sink that has the source text, and the closed set of codes.
#pragma once
#include "compiler/frontend/diagnostics/SourceText.h"
#include "compiler/frontend/program/Program.h"
#include "core/service/CompilerService.h"
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace tessera::frontend {

/// One enumerator per row of DiagnosticCodes.def, so that a code without an explanation cannot be used.
enum class Code : uint8_t {
#define TSR_DIAGNOSTIC(code, title, explanation) code,
#include "compiler/frontend/diagnostics/DiagnosticCodes.def"
#undef TSR_DIAGNOSTIC
};

const char *codeName(Code);

/// Collects the diagnostics of one run over one source. Not thread-safe: each run has its own sink.
class DiagnosticSink {
public:
  explicit DiagnosticSink(const SourceText &source) : source_(source) {}

  /// Reports an error. A second error with the same code at the same location is dropped, and so are errors
  /// past the limit of a hundred.
  void error(Code, Range, std::string message, std::string hint = {});

  /// The source text of a range, to the end of its first line.
  std::string textOf(Range) const;

  bool hasErrors() const { return !diagnostics_.empty(); }
  bool has(Code) const;
  /// Are there errors, all of one code?
  bool onlyCode(Code) const;
  size_t count() const { return diagnostics_.size(); }
  /// Returns the lines that have errors.
  std::vector<uint32_t> lines() const;

  /// Adds the diagnostics that `other`, of the same source, has collected.
  void merge(DiagnosticSink &&other);
  /// Appends all diagnostics to `out` in line order.
  void flush(std::vector<Diagnostic> &out);

private:
  static constexpr size_t kLimit = 100;
  const SourceText &source_;
  std::vector<Diagnostic> diagnostics_;
  std::set<std::tuple<Code, uint32_t, uint32_t>> seen_;
};

} // namespace tessera::frontend
