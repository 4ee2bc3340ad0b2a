// Kernels: syntax, verification and the folding of extents.
#include "compiler/tile/IR/IndexExprAttr.h"
#include "compiler/tile/IR/KernelChecks.h"
#include "compiler/tile/IR/KernelSyntax.h"
#include "compiler/tile/IR/TileDialect.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tessera::tile;

ParseResult KernelOp::parse(OpAsmParser &p, OperationState &state) {
  return parseKernel(p, state, /*withGrid=*/true);
}

void KernelOp::print(OpAsmPrinter &p) { printKernel(p, *this, getGrid()); }

void KernelOp::getAsmBlockArgumentNames(Region &body, OpAsmSetValueNameFn setName) {
  nameArguments(body, getParams(), setName);
}

llvm::SmallVector<tessera::IndexExpr> tessera::tile::restsOfClusters(KernelOp kernel) {
  llvm::SmallVector<IndexExpr> rests;
  const size_t axes = kernel.getGrid().size();
  if (kernel.programsOfCluster() == 1) return rests;
  for (auto [axis, programs] : llvm::zip(llvm::seq(axes - 2, axes), *kernel.getCluster()))
    if (const IndexExpr &count = cast<IndexExprAttr>(kernel.getGrid()[axis]).getExpr(); programs > 1) {
      const std::optional<int64_t> known = count.asConstant();
      rests.push_back(known ? IndexExpr::constant(*known % programs)
                            : IndexExpr::binary(IndexExpr::Code::Mod, count, IndexExpr::constant(programs)));
    }
  return rests;
}

LogicalResult KernelOp::verify() {
  if (failed(verifyParams(*this, getParams()))) return failure();
  if (getGrid().size() > 64)
    return emitOpError() << "has a grid of " << getGrid().size() << " axes; at most 64";
  if (getGroupRows() && getGrid().size() < 2)
    return emitOpError() << "group_rows groups rows of two axes; the grid has " << getGrid().size();
  if (auto cluster = getCluster()) {
    if (cluster->size() != 2)
      return emitOpError() << "has a cluster of [" << *cluster << "]; it has two extents";
    if ((*cluster)[0] < 1 || (*cluster)[1] < 1)
      return emitOpError() << "has a cluster of [" << *cluster << "] programs; extents are at least 1";
    if ((*cluster)[0] > 1 && (*cluster)[1] > 1)
      return emitOpError() << "has a cluster of [" << *cluster
                           << "] programs, which is no row and no column of them";
    if (getGrid().size() < 2)
      return emitOpError() << "has a cluster of rows and columns; its grid needs two axes and has "
                           << getGrid().size();
  }
  if (failed(verifyIndexExprs(*this, getGrid().getValue(), indexNames(getArgumentTypes(), getParams()))))
    return failure();
  for (const IndexExpr &rest : restsOfClusters(*this))
    if (rest.asConstant().value_or(0))
      return emitOpError() << "has a cluster of [" << *getCluster()
                           << "] programs, which does not divide its grid";
  if (auto bytes = getVectorBytes(); bytes && *bytes != 16 && *bytes != 32 && *bytes != 64)
    return emitOpError() << "has vectors of " << *bytes << " bytes; 16, 32 and 64 are possible";
  if (auto lanes = getLanesPerProgram(); lanes && (*lanes < 1 || *lanes > INT32_MAX))
    return emitOpError() << "has " << *lanes << " lanes per program";
  return success();
}

LogicalResult ProgramIdOp::verify() {
  auto kernel = (*this)->getParentOfType<KernelOp>();
  if (kernel && getAxis() >= kernel.getGrid().size())
    return emitOpError() << "axis " << getAxis() << " is outside the grid of " << kernel.getGrid().size()
                         << " axes";
  return success();
}

LogicalResult DimOp::verify() {
  ViewType view = getView().getType();
  if (static_cast<int64_t>(getDim()) >= view.getRank())
    return emitOpError() << "dim " << getDim() << " is outside " << view;
  return success();
}

OpFoldResult DimOp::fold(FoldAdaptor) {
  ViewType view = getView().getType();
  Builder b(getContext());
  if (!view.isDynamicDim(getDim())) return b.getIndexAttr(view.getShape()[getDim()]);
  // The kernel's parameter names the argument that holds the extent.
  auto arg = dyn_cast<BlockArgument>(getView());
  auto kernel = arg ? dyn_cast<KernelOp>(arg.getOwner()->getParentOp()) : KernelOp();
  if (!kernel) return {};
  StringRef text = kernel.getParam(arg).getDim(getDim());
  int64_t extent = 0;
  if (!text.getAsInteger(10, extent)) return b.getIndexAttr(extent);
  if (Value dim = findDim(kernel, kernel.getParams(), text)) return dim;
  return {};
}
