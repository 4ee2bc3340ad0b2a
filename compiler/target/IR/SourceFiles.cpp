#include "compiler/target/IR/SourceFiles.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace tessera::target {
namespace {
constexpr llvm::StringLiteral kSourceFiles = "target.source_files";
constexpr llvm::StringLiteral kLine = "line", kFile = "file", kFileLine = "file_line";
} // namespace

void setSourceFiles(ModuleOp module, const std::vector<SourcePiece> &pieces) {
  if (pieces.empty()) {
    module->removeAttr(kSourceFiles);
    return;
  }
  Builder b(module.getContext());
  SmallVector<Attribute> list;
  for (const SourcePiece &piece : pieces)
    list.push_back(b.getDictionaryAttr({b.getNamedAttr(kLine, b.getI64IntegerAttr(piece.line)),
                                        b.getNamedAttr(kFile, b.getStringAttr(piece.file)),
                                        b.getNamedAttr(kFileLine, b.getI64IntegerAttr(piece.fileLine))}));
  module->setAttr(kSourceFiles, b.getArrayAttr(list));
}

std::vector<SourcePiece> sourceFilesOf(Operation *op) {
  std::vector<SourcePiece> pieces;
  auto module = op->getParentOfType<ModuleOp>();
  auto list = module ? module->getAttrOfType<ArrayAttr>(kSourceFiles) : ArrayAttr();
  if (!list) return pieces;
  for (auto entry : list.getAsRange<DictionaryAttr>()) {
    auto number = [&](StringRef name) {
      return static_cast<uint32_t>(entry.getAs<IntegerAttr>(name).getInt());
    };
    pieces.push_back({number(kLine), number(kFileLine), entry.getAs<StringAttr>(kFile).str()});
  }
  return pieces;
}

} // namespace tessera::target
