// The sites of an emulated image: the operations that a report of the emulator can name.
#pragma once
#include "core/service/CompilerService.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringMap.h"
#include <string>
#include <vector>

namespace tessera::emulate {

/// Numbers sites from 0, in order of their first use.
class Sites {
public:
  /// `pieces`: the files that the source's lines come from.
  explicit Sites(std::vector<SourcePiece> pieces) : pieces_(std::move(pieces)) {}
  /// Returns the site of `op`. Operations of one kind at one place share a site.
  int32_t number(mlir::Operation *op);
  /// Emits the table: a global string with a line "file\tline\tcolumn\toperation" for each site.
  void emit(mlir::OpBuilder &, mlir::Location) const;

private:
  const std::vector<SourcePiece> pieces_;
  std::vector<std::string> lines_;   // by number
  llvm::StringMap<int32_t> numbers_; // by line
};

} // namespace tessera::emulate
