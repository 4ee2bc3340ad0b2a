#include "compiler/codegen/emulate/Sites.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Location.h"

using namespace mlir;

namespace tessera::emulate {
namespace {

/// The first place in a file that the location contains.
FileLineColLoc placeOf(Location location) {
  FileLineColLoc found;
  location->walk([&](Location inner) {
    found = dyn_cast<FileLineColLoc>(inner);
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

} // namespace

int32_t Sites::number(Operation *op) {
  std::string line;
  llvm::raw_string_ostream text(line);
  if (FileLineColLoc place = placeOf(op->getLoc())) {
    std::string file = place.getFilename().str();
    uint32_t number = place.getLine();
    toFile(pieces_, file, number);
    text << file << '\t' << number << '\t' << place.getColumn();
  } else {
    text << "\t0\t0";
  }
  text << '\t';
  if (auto call = dyn_cast<LLVM::CallOp>(op); call && call.getCallee())
    text << *call.getCallee();
  else
    text << op->getName();
  auto [found, isNew] = numbers_.try_emplace(line, int32_t(lines_.size()));
  if (isNew) lines_.push_back(line);
  return found->second;
}

void Sites::emit(OpBuilder &b, Location location) const {
  std::string table;
  for (const std::string &line : lines_)
    table += line + '\n';
  table.push_back('\0');
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), table.size());
  LLVM::GlobalOp::create(b, location, type, /*isConstant=*/true, LLVM::Linkage::External, "tsr_emu_sites",
                         b.getStringAttr(table));
}

} // namespace tessera::emulate
