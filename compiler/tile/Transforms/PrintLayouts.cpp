// tile-print-layouts: draws the layouts of a module, for people and tests. It is in no pipeline.
//
//   tensor<16x8xf32, #layout>    ->    #tile.layout<...>
//                                             0    1    2 ...
//                                        0  0:0  0:1  1:0 ...
#include "compiler/layout/Drawing.h"
#include "compiler/tile/Transforms/Passes.h"
#include "compiler/tile/Transforms/TileUtils.h"

namespace tessera {
#define GEN_PASS_DEF_TILEPRINTLAYOUTS
#include "compiler/tile/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::tile;

namespace {

struct PrintLayouts : impl::TilePrintLayoutsBase<PrintLayouts> {
  void runOnOperation() override {
    SetVector<Attribute> layouts;
    auto add = [&](Type type) {
      auto tile = dyn_cast<RankedTensorType>(type);
      if (tile && tile.getEncoding()) layouts.insert(tile.getEncoding());
    };
    getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
      llvm::for_each(op->getResultTypes(), add);
      for (Region &region : op->getRegions())
        for (Block &block : region)
          llvm::for_each(block.getArgumentTypes(), add);
    });
    for (Attribute attribute : layouts) {
      std::string drawing;
      if (auto layout = dyn_cast<LayoutAttr>(attribute)) drawing = layout::draw(layout.getValue());
      if (auto layout = dyn_cast<SharedLayoutAttr>(attribute)) drawing = layout::draw(layout.getValue());
      llvm::outs() << attribute << "\n" << drawing;
    }
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace tessera
