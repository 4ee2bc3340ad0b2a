// Imports the frame of a kernel: module, host function, signature and parallel construct.
#include "compiler/graph/Import/Import.h"
#include "compiler/frontend/program/DimExpr.h"
#include "compiler/graph/IR/GraphDialect.h"
#include "compiler/graph/Import/ImportParams.h"
#include "compiler/graph/Import/Importer.h"
#include "compiler/schedule/IR/KernelFrame.h"
#include "compiler/tile/IR/KernelChecks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace tessera::graph {

using frontend::Kernel;
using frontend::Param;

Location KernelImporter::locationOf(frontend::Range range) const {
  return FileLineColLoc::get(file_, range.line, range.col);
}

int64_t KernelImporter::specializedValue(const std::string &dim) const {
  std::vector<std::string> names;
  std::vector<int64_t> values;
  for (auto &[name, value] : kernel_.specialized) {
    names.push_back(name);
    values.push_back(value);
  }
  IndexExpr expr;
  std::string why;
  int64_t extent = 0;
  const bool isKnown = IndexExpr::parse(dim, names, expr, why) && expr.evaluate(values.data(), extent);
  return isKnown && extent >= 0 ? extent : ShapedType::kDynamic;
}

mlir::Type KernelImporter::argumentType(const Param &param) {
  if (!param.isTensor) return elementTypeInValues(b_.getContext(), param.dtype);
  SmallVector<int64_t> shape;
  for (const frontend::Dim &dim : param.dims)
    shape.push_back(dim.symbol.empty() ? dim.constant : specializedValue(dim.symbol));
  return tile::ViewType::get(b_.getContext(), shape, elementTypeInMemory(b_.getContext(), param.dtype));
}

bool KernelImporter::importKernel(StringRef numerics) {
  OpBuilder::InsertionGuard guard(b_);
  tile_.at(locationOf(kernel_.loc));
  schedule::KernelFrame frame(b_, tile_.loc(), kernel_.name, numerics);
  params_.resize(kernel_.params.size());
  for (int index : argumentOrder(kernel_.params)) {
    const Param &param = kernel_.params[index];
    params_[index] = frame.addParam(describe(b_, param), argumentType(param), locationOf(param.loc));
  }
  for (const std::string &dim : kernel_.dims)
    dims_[dim] = frame.addDim(dim);
  schedule::KernelOp kernel = frame.kernel();
  using schedule::describeInts;
  if (!kernel_.specialized.empty()) kernel.setSpecializedAttr(describeInts(b_, kernel_.specialized));
  if (!kernel_.tunables.empty()) kernel.setTunablesAttr(describeInts(b_, kernel_.tunables));
  if (!kernel_.unused.empty()) kernel.setFallbacksAttr(describeLines(b_, kernel_.unused));
  SmallVector<Attribute> checks;
  for (const frontend::LaunchCheck &c : kernel_.checks)
    checks.push_back(describeCheck(b_, indexExpr(*c.value).text(), c.says));
  if (!checks.empty()) kernel->setDiscardableAttr(tile::kChecks, b_.getArrayAttr(checks));
  if (kernel_.laneCount)
    lane_ = tile_.toI64(frame.openLanes(indexExpr(*kernel_.laneCount)));
  else
    importGrid(frame);
  importBody();
  frame.close();
  return !failed_;
}

void KernelImporter::importGrid(schedule::KernelFrame &frame) {
  std::vector<schedule::KernelFrame::Axis> axes;
  for (const frontend::GridAxis &axis : kernel_.grid) {
    const frontend::Symbol &symbol = kernel_.symbols[axis.symbol];
    axes.push_back({indexExpr(*axis.lo), indexExpr(*axis.hi), indexExpr(*axis.step), symbol.name,
                    locationOf(symbol.loc), axis.isBatch});
  }
  tile_.at(locationOf(kernel_.loc));
  SmallVector<Value> variables = frame.openGrid(axes);
  for (auto [axis, variable] : llvm::zip_equal(kernel_.grid, variables))
    values_[axis.symbol] = tile_.toI64(variable);
}

void KernelImporter::importBody() {
  // Shared buffers live as long as the program. They are symbols without a statement of their own.
  for (auto [id, symbol] : llvm::enumerate(kernel_.symbols)) {
    if (symbol.type.kind != frontend::Type::Buffer) continue;
    auto swizzle = symbol.swizzle == "xor" ? tile::Swizzle::Xor : tile::Swizzle::None;
    auto type = tile::BufferType::get(b_.getContext(), symbol.type.shape,
                                      elementTypeInBuffer(b_.getContext(), symbol.type.dtype), swizzle);
    values_[id] = tile::AllocSharedOp::create(b_, locationOf(symbol.loc), type, symbol.align, IntegerAttr());
  }
  importBlock(kernel_.body);
}

/// Creates graph.func @name.host: the kernel as a caller sees it, with whole tensors.
static void createHostFunction(OpBuilder &b, const Kernel &kernel, Location loc, StringRef numerics) {
  auto typeOf = [&](const Param &param) -> Type {
    if (!param.isTensor) return elementTypeInValues(b.getContext(), param.dtype);
    return tensorType(b.getContext(), param.dims, param.dtype);
  };

  Block *body = new Block;
  SmallVector<Value> operands;
  SmallVector<Attribute> effects;
  SmallVector<Type> updated, results;
  for (int index : argumentOrder(kernel.params)) {
    const Param &param = kernel.params[index];
    if (param.isResult) {
      results.push_back(typeOf(param));
      continue;
    }
    operands.push_back(body->addArgument(typeOf(param), loc));
    const tile::Access effect = accessOf(param);
    effects.push_back(tile::AccessAttr::get(b.getContext(), effect));
    if (tile::writes(effect)) updated.push_back(typeOf(param));
  }
  llvm::append_range(updated, results);

  OperationState state(loc, FuncOp::getOperationName());
  state.addAttribute("sym_name", b.getStringAttr(kernel.name + ".host"));
  state.addAttribute("function_type",
                     TypeAttr::get(b.getFunctionType(llvm::to_vector(body->getArgumentTypes()), updated)));
  state.addAttribute("numerics", b.getStringAttr(numerics));
  state.addRegion()->push_back(body);
  b.create(state);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(body);
  // A dim that is in expressions only is no extent of a tensor: the launch passes it as an argument.
  ArrayAttr dims;
  if (frontend::hasExpressions(kernel)) {
    SmallVector<Attribute> symbols;
    for (const std::string &dim : kernel.dims)
      symbols.push_back(tile::IndexExprAttr::get(b.getContext(), IndexExpr::symbol(dim)));
    dims = b.getArrayAttr(symbols);
  }
  auto launch = LaunchOp::create(b, loc, updated, FlatSymbolRefAttr::get(b.getContext(), kernel.name),
                                 operands, b.getArrayAttr(effects), dims);
  ReturnOp::create(b, loc, launch.getResults());
}

OwningOpRef<ModuleOp> importKernel(MLIRContext &context, const Kernel &kernel, const std::string &fileName,
                                   const std::string &numerics) {
  context.loadDialect<GraphDialect, schedule::ScheduleDialect, tile::TileDialect, arith::ArithDialect,
                      math::MathDialect, scf::SCFDialect, tensor::TensorDialect>();
  OpBuilder b(&context);
  auto file = b.getStringAttr(fileName);
  KernelImporter importer(b, kernel, file);
  Location loc = importer.locationOf(kernel.loc);
  OwningOpRef<ModuleOp> module(ModuleOp::create(loc));
  b.setInsertionPointToEnd(module->getBody());
  createHostFunction(b, kernel, loc, numerics);
  if (!importer.importKernel(numerics)) return {};
  return module;
}

} // namespace tessera::graph
