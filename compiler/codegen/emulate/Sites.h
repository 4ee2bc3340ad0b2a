// The sites of an emulated image: the operations that a report of the emulator can name.
#pragma once
#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringMap.h"
#include <string>
#include <vector>

namespace tessera::emulate {

/// Numbers sites from 0, in order of their first use.
class Sites {
public:
  /// Returns the site of `op`. Operations of one kind at one place share a site.
  int32_t number(mlir::Operation *op);
  /// Emits the table: a global string with a line "file\tline\tcolumn\toperation" for each site.
  void emit(mlir::OpBuilder &, mlir::Location) const;

private:
  std::vector<std::string> lines_;   // by number
  llvm::StringMap<int32_t> numbers_; // by line
};

} // namespace tessera::emulate
