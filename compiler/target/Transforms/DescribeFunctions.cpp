// target-describe-functions: writes the host plan of every graph function as metadata. The functions contain
// only launches and reshapes at this point, and the document replaces them.
#include "compiler/schedule/IR/FunctionVariants.h"
#include "compiler/schedule/IR/ScheduleDialect.h"
#include "compiler/target/Transforms/KernelMetadata.h"
#include "compiler/target/Transforms/Passes.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/KernelSyntax.h"
#include "core/metadata/HostPlan.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace tessera {
#define GEN_PASS_DEF_TARGETDESCRIBEFUNCTIONS
#include "compiler/target/Transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// Writes the plan of one function.
class PlanWriter {
public:
  PlanWriter(graph::FuncOp function, KernelMetadata &metadata)
      : function_(function), metadata_(metadata), plan_(metadata.plan.emplace()) {}

  LogicalResult run() {
    nameArguments();
    nameReturns();
    addChecks();
    for (Operation &op : function_.getBody().front().without_terminator()) {
      if (auto launch = dyn_cast<graph::LaunchOp>(op)) {
        if (failed(addStep(launch))) return failure();
      } else if (auto call = dyn_cast<graph::LibraryCallOp>(op)) {
        addStep(call);
      } else if (!isa<graph::ReshapeOp, graph::EmptyOp, graph::DimOp, arith::ConstantOp>(op)) {
        return op.emitOpError("is no work of the host");
      }
    }
    return success();
  }

private:
  void nameArguments() {
    SmallVector<BlockArgument> tensors, scalars;
    for (BlockArgument arg : function_.getBody().getArguments())
      (isa<graph::TensorType>(arg.getType()) ? tensors : scalars).push_back(arg);
    size_t nextTensor = 0, nextScalar = 0;
    for (auto param : function_.getParamsAttr().getAsRange<tile::ParamAttr>()) {
      std::string name = param.getName().str();
      if (param.isTensor()) names_[tensors[nextTensor++]] = name;
      if (param.isScalar()) names_[scalars[nextScalar++]] = name;
      taken_.insert(name);
    }
  }

  void nameReturns() {
    auto names = function_.getReturnsAttr().getAsRange<StringAttr>();
    for (auto [value, name] :
         llvm::zip_equal(function_.getBody().front().getTerminator()->getOperands(), names))
      names_.try_emplace(graph::storageOf(value), name.str());
  }

  const std::string &nameOf(Value v) {
    Value root = graph::storageOf(v);
    std::string &name = names_[root];
    if (name.empty()) {
      do
        name = "t" + std::to_string(nextBuffer_++);
      while (taken_.contains(name));
      auto type = cast<graph::TensorType>(root.getType());
      PlanBuffer buffer{name, *dtypeOfMemory(type.getElementType()), {}};
      for (int64_t d = 0; d < type.getRank(); ++d)
        buffer.dims.push_back(type.dimText(d));
      plan_.buffers.push_back(std::move(buffer));
    }
    return name;
  }

  /// Returns the dtypes of a kernel's scalars, in order: an i8 constant is a u8 if the kernel's parameter is
  /// one.
  static SmallVector<DType> scalarTypes(graph::LaunchOp launch) {
    auto kernel = SymbolTable::lookupNearestSymbolFrom<FunctionOpInterface>(launch, launch.getKernelAttr());
    SmallVector<DType> types;
    if (ArrayAttr params = tile::paramsOf(kernel))
      for (auto param : params.getAsRange<tile::ParamAttr>())
        if (param.isScalar()) types.push_back(*param.getDtype());
    return types;
  }

  static std::string literal(Attribute value, bool isUnsignedType) {
    if (auto real = dyn_cast<FloatAttr>(value)) {
      llvm::SmallString<32> text;
      const APFloat &number = real.getValue();
      if (number.isInfinity()) return number.isNegative() ? "-.inf" : ".inf";
      if (number.isNaN()) return ".nan";
      number.toString(text, /*FormatPrecision=*/17, /*FormatMaxPadding=*/0);
      return text.str().str();
    }
    auto integer = cast<IntegerAttr>(value);
    if (integer.getType().isInteger(1)) return integer.getValue().isZero() ? "false" : "true";
    return isUnsignedType ? std::to_string(integer.getValue().getZExtValue())
                          : std::to_string(integer.getInt());
  }

  /// A fallback of a kernel is a fallback of the function that launches it (decision D4). Each is listed
  /// once.
  void noteFallbacks(graph::LaunchOp launch) {
    auto kernel = SymbolTable::lookupNearestSymbolFrom<tile::KernelOp>(launch, launch.getKernelAttr());
    if (!kernel || !kernel.getFallbacksAttr()) return;
    for (auto text : kernel.getFallbacksAttr().getAsRange<StringAttr>())
      if (!llvm::is_contained(metadata_.fallbacks, text.getValue().str()))
        metadata_.fallbacks.push_back(text.getValue().str());
  }

  /// `checks = [{says = "...", value = "N - K"}]`
  void addChecks() {
    if (!function_.getChecksAttr()) return;
    for (auto check : function_.getChecksAttr().getAsRange<DictionaryAttr>())
      plan_.checks.push_back({check.getAs<StringAttr>("value").str(), check.getAs<StringAttr>("says").str()});
  }

  /// Arguments in the order of the kernel's parameters: tensors, results, scalars, dims.
  LogicalResult addStep(graph::LaunchOp launch) {
    noteFallbacks(launch);
    PlanStep step;
    step.kernel = launch.getKernel().str();
    for (Value operand : launch.getOperands())
      if (isa<graph::TensorType>(operand.getType())) step.args.push_back(nameOf(operand));
    for (auto [number, result] : llvm::enumerate(launch.getResults()))
      if (!launch.updatedOperand(static_cast<unsigned>(number))) step.args.push_back(nameOf(result));
    SmallVector<DType> scalars = scalarTypes(launch);
    size_t nextScalar = 0;
    for (Value operand : launch.getOperands()) {
      if (isa<graph::TensorType>(operand.getType())) continue;
      bool isUnsignedType = nextScalar < scalars.size() && isUnsigned(scalars[nextScalar]);
      ++nextScalar;
      if (auto constant = operand.getDefiningOp<arith::ConstantOp>())
        step.args.push_back(literal(constant.getValue(), isUnsignedType));
      else if (auto dim = operand.getDefiningOp<graph::DimOp>())
        step.args.push_back(dim.getExpression().text());
      else
        step.args.push_back(names_[operand]);
    }
    if (!launch.getDims()) return launch.emitOpError("has no dims yet; run schedule-outline first");
    for (auto dim : launch.getDimsAttr().getAsRange<tile::IndexExprAttr>())
      step.args.push_back(dim.text());
    addDecision(launch);
    plan_.steps.push_back(std::move(step));
    return success();
  }

  void addStep(graph::LibraryCallOp call) {
    PlanStep step;
    step.kernel = call.getCallee().str();
    step.isLibraryCall = true;
    for (Value operand : call.getOperands())
      step.args.push_back(nameOf(operand));
    step.args.push_back(nameOf(call.getResult()));
    for (auto dim : call.getDims().getAsRange<tile::IndexExprAttr>())
      step.args.push_back(dim.text());
    addDecision(call);
    plan_.steps.push_back(std::move(step));
  }

  /// What a mapper or a person chose for the next step.
  void addDecision(Operation *op) {
    auto attr = op->getAttrOfType<DictionaryAttr>(schedule::kDecision);
    if (!attr) return;
    MetadataDecision decision;
    decision.op = "matmul";
    decision.step = static_cast<int64_t>(plan_.steps.size());
    if (auto choice = attr.getAs<StringAttr>("choice")) decision.choice = choice.str();
    if (auto by = attr.getAs<StringAttr>("by")) decision.by = by.str();
    if (auto legal = attr.getAs<ArrayAttr>("legal"))
      for (Attribute name : legal)
        if (auto text = dyn_cast<StringAttr>(name)) decision.legal.push_back(text.str());
    if (!llvm::is_contained(decision.legal, decision.choice)) decision.legal.clear(); // the text was edited
    if (auto predicted = attr.getAs<FloatAttr>("predicted_ns"))
      if (double ns = predicted.getValueAsDouble(); ns >= 0) decision.predictedNs = ns;
    metadata_.decisions.push_back(std::move(decision));
  }

  graph::FuncOp function_;
  KernelMetadata &metadata_;
  HostPlan &plan_;
  DenseMap<Value, std::string> names_; // by the value that storageOf returns
  llvm::StringSet<> taken_;
  int nextBuffer_ = 0;
};

struct TargetDescribeFunctions : impl::TargetDescribeFunctionsBase<TargetDescribeFunctions> {
  using TargetDescribeFunctionsBase::TargetDescribeFunctionsBase;

  void runOnOperation() override {
    SmallVector<graph::FuncOp> functions = llvm::to_vector(getOperation().getOps<graph::FuncOp>());
    llvm::StringMap<std::vector<MetadataVariant>> variants; // by the function they are of
    for (graph::FuncOp function : functions)
      if (schedule::variantOf(function) && failed(addVariant(function, variants))) return signalPassFailure();
    for (graph::FuncOp function : functions) {
      if (!function.getParamsAttr()) continue;
      KernelMetadata metadata = target::describeFunction(function, targetName);
      metadata.variants = variants.lookup(function.getSymName());
      if (failed(PlanWriter(function, metadata).run())) return signalPassFailure();
      OpBuilder b(function);
      target::FunctionInfoOp::create(b, function.getLoc(), function.getSymName(), metadata.toYaml());
    }
    for (graph::FuncOp function : functions)
      function.erase();
  }

  static LogicalResult addVariant(graph::FuncOp function,
                                  llvm::StringMap<std::vector<MetadataVariant>> &variants) {
    FlatSymbolRefAttr of = schedule::variantOf(function);
    auto general = SymbolTable::lookupNearestSymbolFrom<graph::FuncOp>(function, of);
    if (!general || schedule::variantOf(general) || general.getParamsAttr() != function.getParamsAttr())
      return function.emitOpError() << "is a variant of " << of << ", which is no function with its params";
    MetadataVariant variant{function.getSymName().str(), {}};
    for (auto condition : function->getAttrOfType<ArrayAttr>(schedule::kWhen).getAsRange<StringAttr>())
      variant.when.push_back(condition.getValue().str());
    variants[general.getSymName()].push_back(std::move(variant));
    return success();
  }
};

} // namespace
} // namespace tessera
