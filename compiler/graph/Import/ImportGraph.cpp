// Imports the frame of a graph function: its signature, its values in order, and what it returns.
#include "compiler/graph/Import/ImportGraph.h"
#include "compiler/graph/Import/Import.h"
#include "compiler/graph/Import/ImportParams.h"
#include "compiler/graph/Import/Importer.h"
#include "compiler/schedule/IR/ScheduleDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace tessera::graph {

using frontend::GraphFunction;
using frontend::Param;

Location GraphImporter::locationOf(frontend::Range range) const {
  return FileLineColLoc::get(file_, range.line, range.col);
}

TensorType GraphImporter::typeOf(const std::vector<frontend::Dim> &dims, DType dtype) {
  return tensorType(b_.getContext(), dims, dtype);
}

mlir::Type GraphImporter::typeOf(const Param &param) {
  if (!param.isTensor) return elementTypeInValues(b_.getContext(), param.dtype);
  return typeOf(param.dims, param.dtype);
}

Value GraphImporter::arg(const GraphValue &v, size_t i) const {
  return i < v.args.size() && v.args[i] >= 0 ? values_[v.args[i]] : Value();
}

Value GraphImporter::toTensor(Value value) {
  if (isa<TensorType>(value.getType())) return value;
  auto type = TensorType::get(b_.getContext(), b_.getArrayAttr({}), value.getType());
  return BroadcastOp::create(b_, loc_, type, value);
}

Value GraphImporter::tensorArg(const GraphValue &v, size_t i) { return toTensor(arg(v, i)); }

ArrayAttr GraphImporter::describeChecks() {
  SmallVector<Attribute> checks;
  for (const GraphFunction::Check &c : function_.checks)
    checks.push_back(describeCheck(b_, c.value, c.says));
  return b_.getArrayAttr(checks);
}

void GraphImporter::run(StringRef numerics) {
  OpBuilder::InsertionGuard guard(b_);
  Location loc = locationOf(function_.loc);
  Block *body = new Block;
  values_.resize(function_.values.size());
  SmallVector<Attribute> params;
  // The first values are the parameters; their dims are those of this instance.
  for (int index : argumentOrder(function_.params)) {
    const Param &param = function_.params[index];
    params.push_back(describe(b_, param));
    if (param.isResult) continue;
    const GraphValue &value = function_.values[index];
    Type type = param.isTensor ? Type(typeOf(value.dims, param.dtype)) : typeOf(param);
    values_[index] = body->addArgument(type, locationOf(param.loc));
  }
  for (const std::string &dim : function_.dims)
    params.push_back(tile::ParamAttr::getDimParam(b_.getContext(), dim));

  SmallVector<Type> results;
  SmallVector<Attribute> returns;
  for (const GraphFunction::Output &output : function_.outputs) {
    const GraphValue &value = function_.values[output.value];
    results.push_back(typeOf(value.dims, value.dtype));
    returns.push_back(b_.getStringAttr(function_.params[output.param].name));
  }
  OperationState state(loc, FuncOp::getOperationName());
  state.addAttribute("sym_name", b_.getStringAttr(function_.name));
  state.addAttribute("function_type",
                     TypeAttr::get(b_.getFunctionType(llvm::to_vector(body->getArgumentTypes()), results)));
  state.addAttribute("numerics", b_.getStringAttr(numerics));
  state.addAttribute("params", b_.getArrayAttr(params));
  state.addAttribute("returns", b_.getArrayAttr(returns));
  if (!function_.specialized.empty())
    state.addAttribute("specialized", schedule::describeInts(b_, function_.specialized));
  if (!function_.unused.empty()) state.addAttribute("fallbacks", describeLines(b_, function_.unused));
  if (!function_.checks.empty()) state.addAttribute("checks", describeChecks());
  state.addRegion()->push_back(body);
  b_.create(state);
  b_.setInsertionPointToEnd(body);
  for (auto [index, value] : llvm::enumerate(function_.values)) {
    if (value.op == frontend::GraphOp::Param) continue;
    loc_ = locationOf(value.loc);
    if (value.op == frontend::GraphOp::Launch)
      launches_[static_cast<int>(index)] = importLaunch(value);
    else
      values_[index] = import(value);
  }
  SmallVector<Value> returned;
  for (const GraphFunction::Output &output : function_.outputs)
    returned.push_back(values_[output.value]);
  ReturnOp::create(b_, loc, returned);
}

OwningOpRef<ModuleOp> importGraph(MLIRContext &context, const GraphFunction &function,
                                  const std::string &fileName, const std::string &numerics) {
  context.loadDialect<GraphDialect, schedule::ScheduleDialect, tile::TileDialect, arith::ArithDialect,
                      math::MathDialect, scf::SCFDialect, tensor::TensorDialect>();
  OpBuilder b(&context);
  auto file = b.getStringAttr(fileName);
  OwningOpRef<ModuleOp> module(
      ModuleOp::create(FileLineColLoc::get(file, function.loc.line, function.loc.col)));
  b.setInsertionPointToEnd(module->getBody());
  GraphImporter(b, function, file).run(numerics);
  for (const frontend::Kernel &kernel : function.kernels)
    if (!KernelImporter(b, kernel, file).importKernel(numerics)) return {};
  return module;
}

} // namespace tessera::graph
