#include "compiler/schedule/Transforms/MissingExpressions.h"

using namespace mlir;

namespace tessera::schedule {

SmallVector<tile::IndexExprAttr> missingExpressions(ValueRange inputs, TypeRange results,
                                                    ArrayRef<Attribute> extents,
                                                    ArrayRef<Attribute> distances) {
  std::vector<IndexExpr> known; // the dims that are not constants
  auto note = [&](Type type) {
    if (auto tensor = dyn_cast<graph::TensorType>(type))
      for (Attribute dim : tensor.getDims())
        if (auto expr = dyn_cast<tile::IndexExprAttr>(dim)) known.push_back(expr.getExpr());
  };
  llvm::for_each(inputs.getTypes(), note);
  llvm::for_each(results, note);
  llvm::SmallSetVector<tile::IndexExprAttr, 4> missing;
  for (Attribute extent : extents)
    if (auto expr = dyn_cast<tile::IndexExprAttr>(extent); expr && !llvm::is_contained(known, expr.getExpr()))
      missing.insert(expr);
  for (Attribute distance : distances)
    if (auto expr = cast<tile::IndexExprAttr>(distance); !expr.getExpr().bind(known)) missing.insert(expr);
  return missing.takeVector();
}

} // namespace tessera::schedule
