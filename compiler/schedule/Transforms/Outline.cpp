// schedule-outline: every fusion group becomes a kernel and a launch of it.
//
//   %1 = schedule.group matmul(%x, %w, %b)      schedule.kernel @mlp.g0(...) { ... }
//                                          ->
//                                               %1 = graph.launch @mlp.g0(%x, %w, %b)
//
// A group whose variant is a library's becomes a call of the library:
//
//   %1 = schedule.group matmul(%x, %w) {variant = "blas"}   ->
//   %1 = graph.library_call "blas.gemm.f32.nn"(%x, %w) dims ["M", "K", "N"]
#include "compiler/schedule/IR/FunctionVariants.h"
#include "compiler/schedule/IR/GroupVariants.h"
#include "compiler/schedule/Transforms/GroupProgram.h"
#include "compiler/schedule/Transforms/Passes.h"
#include "compiler/schedule/Transforms/Variants.h"
#include "compiler/tile/IR/KernelVariants.h"

namespace tessera {
#define GEN_PASS_DEF_SCHEDULEOUTLINE
#include "compiler/schedule/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::schedule;

namespace {

struct ScheduleOutline : impl::ScheduleOutlineBase<ScheduleOutline> {
  using ScheduleOutlineBase::ScheduleOutlineBase;

  void runOnOperation() override {
    auto found = codegen::findTarget(target);
    if (!found) {
      getOperation().emitError() << found.error().message;
      return signalPassFailure();
    }
    const SmallVector<graph::FuncOp> functions = llvm::to_vector(getOperation().getOps<graph::FuncOp>());
    for (graph::FuncOp function : functions) {
      for (auto group : llvm::to_vector(function.getBody().front().getOps<GroupOp>()))
        if (failed(group.getVariant() == kBlas ? callLibrary(function, group, **found)
                                               : outline(function, group, **found)))
          return signalPassFailure();
      for (auto launch : function.getBody().front().getOps<graph::LaunchOp>()) {
        if (failed(bindDims(launch, /*isFunction=*/static_cast<bool>(function.getParamsAttr()))))
          return signalPassFailure();
        if (function.getParamsAttr()) adopt(function, launch);
      }
    }
    for (Outlined &done : outlined_)
      done.group.erase();
    for (graph::FuncOp function : functions)
      if (isRedundant(function)) function.erase();
  }

private:
  /// The function that a variant is of; the function itself if it is none.
  static StringRef familyOf(graph::FuncOp function) {
    FlatSymbolRefAttr general = variantOf(function);
    return general ? general.getValue() : function.getSymName();
  }

  /// A variant that launches the same kernels as its function in the same way is of no use.
  static bool isRedundant(graph::FuncOp variant) {
    if (!variantOf(variant)) return false;
    auto general = SymbolTable::lookupNearestSymbolFrom<graph::FuncOp>(variant, variantOf(variant));
    return general && general != variant && general.getSpecializedAttr() == variant.getSpecializedAttr() &&
           general.getChecksAttr() == variant.getChecksAttr() &&
           OperationEquivalence::isRegionEquivalentTo(&general.getBody(), &variant.getBody(),
                                                      OperationEquivalence::IgnoreLocations);
  }

  /// Gives a kernel that a function calls a name of the function's (@f.k), so that an image can hold it
  /// beside the kernel that is launched by itself.
  void adopt(graph::FuncOp function, graph::LaunchOp launch) {
    std::string prefix = familyOf(function).str() + ".";
    if (launch.getKernel().starts_with(prefix)) return;
    auto name = StringAttr::get(&getContext(), prefix + launch.getKernel().str());
    auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(launch, launch.getKernelAttr());
    if (failed(SymbolTable::replaceAllSymbolUses(kernel, name, getOperation()))) return;
    kernel.setSymNameAttr(name);
  }

  /// Derives the dims of a user's kernel from the tensors that it is launched on. Those of a function are
  /// contiguous; for the kernel by itself a stride stands for itself.
  LogicalResult bindDims(graph::LaunchOp launch, bool isFunction) {
    if (launch.getDims()) return success();
    auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(launch, launch.getKernelAttr());
    if (!kernel) return launch.emitOpError("launches no kernel of this module");
    SmallVector<Value> tensors;
    for (Value operand : launch.getOperands())
      if (isa<graph::TensorType>(operand.getType())) tensors.push_back(operand);
    size_t updated = llvm::count_if(launch->getOpOperands(), [&](OpOperand &operand) {
      return launch.writes(operand.getOperandNumber());
    });
    llvm::append_range(tensors, launch.getResults().drop_front(updated));
    llvm::StringMap<Attribute> bound;
    SmallVector<Attribute> dims;
    size_t next = 0;
    OpBuilder b(launch);
    for (auto param : kernel.getParams().getAsRange<tile::ParamAttr>()) {
      if (ArrayAttr names = param.getDims()) {
        auto type = cast<graph::TensorType>(tensors[next++].getType());
        auto bind = [&](StringRef name, const IndexExpr &value) {
          bound.try_emplace(name, tile::IndexExprAttr::get(&getContext(), value));
        };
        for (auto [d, name] : llvm::enumerate(names.getAsRange<StringAttr>()))
          bind(name.getValue(), type.getExtent(static_cast<int64_t>(d)));
        IndexExpr stride = IndexExpr::constant(1);
        for (unsigned d = names.size(); param.getStrides() && d-- > 0;) {
          StringRef text = param.getStride(d);
          bind(text, isFunction ? stride : IndexExpr::symbol(text.str()));
          const auto is = numberIn(text), has = numberIn(stride.text());
          const auto known = is ? is : numberIn(cast<tile::IndexExprAttr>(bound[text]).text());
          if (isFunction && (known || has) && known != has)
            return launch.emitOpError()
                   << "passes contiguous tensors, but stride " << d << " of parameter '"
                   << param.getName().getValue() << "' is \"" << text << "\", not " << stride.text();
          IndexExpr extent = type.getExtent(d);
          const auto whole = numberIn(extent.text());
          if (has && whole && *has <= INT32_MAX && *whole <= INT32_MAX)
            stride = IndexExpr::constant(*has * *whole);
          else
            stride = has == 1 ? std::move(extent)
                              : IndexExpr::binary(IndexExpr::Code::Mul, std::move(stride), extent);
        }
      } else if (param.isDim()) {
        Attribute value = bound.lookup(param.getName().getValue());
        if (!value)
          return launch.emitOpError()
                 << "needs dims: no tensor has '" << param.getName().getValue() << "' as an extent by itself";
        dims.push_back(value);
      }
    }
    launch.setDimsAttr(b.getArrayAttr(dims));
    return success();
  }

  static std::optional<int64_t> numberIn(StringRef text) {
    int64_t number = 0;
    return text.getAsInteger(10, number) ? std::nullopt : std::optional(number);
  }

  /// A group that has its kernel. It is kept until the end, so that later groups can be compared with it.
  struct Outlined {
    GroupOp group;
    std::string kernel;
    SmallVector<Attribute> dims;
  };
  std::vector<Outlined> outlined_; // groups that got a kernel of their own

  /// The author of a decision does not distinguish kernels.
  static DictionaryAttr propertiesOf(GroupOp group) {
    NamedAttrList attrs(group->getAttrDictionary());
    attrs.erase(schedule::kDecision);
    return attrs.getDictionary(group.getContext());
  }

  static SmallVector<DType> scalarsOf(GroupOp group) {
    SmallVector<DType> out;
    for (BlockArgument arg : group.getBody().getArguments())
      if (!isa<graph::TensorType>(arg.getType())) out.push_back(scalarDType(group, arg));
    return out;
  }

  static bool isSame(GroupOp a, GroupOp b) {
    return propertiesOf(a) == propertiesOf(b) && scalarsOf(a) == scalarsOf(b) &&
           a.getInputs().getTypes() == b.getInputs().getTypes() && a.getResultTypes() == b.getResultTypes() &&
           OperationEquivalence::isRegionEquivalentTo(&a.getBody(), &b.getBody(),
                                                      OperationEquivalence::IgnoreLocations);
  }

  /// Returns the kernel of `group`: that of an identical group of the function (the layers of a model are
  /// identical) or of one that it is a variant of, or a new one.
  FailureOr<Outlined> kernelOf(graph::FuncOp function, GroupOp group, const codegen::Target &target) {
    size_t own = 0;
    for (const Outlined &other : outlined_) {
      auto owner = other.group->getParentOfType<graph::FuncOp>();
      own += owner == function;
      if (familyOf(owner) == familyOf(function) &&
          owner.getSpecializedAttr() == function.getSpecializedAttr() && isSame(group, other.group))
        return Outlined{group, other.kernel, other.dims};
    }
    Outlined made{group, function.getSymName().str() + ".g" + std::to_string(own), {}};
    if (failed(buildBodies(group, target, made))) return failure();
    outlined_.push_back(made);
    return made;
  }

  /// Builds one body of a group as the kernel `name`.
  LogicalResult buildBody(GroupOp group, VariantAttr variant, StringRef name, const codegen::Target &target,
                          SmallVectorImpl<Attribute> &dims) {
    if (variant && !isTileProgram(variant.getBody())) return target.buildBody(group, variant, name, dims);
    const SmallVector<int64_t> tile(group.getTile());
    if (variant) group.setTile(tileOf(group, variant));
    const bool fitsTile = variant && variant.getBody() == kRowBody;
    const LogicalResult built =
        GroupProgram(group, name, target.capabilities().products, fitsTile).build(dims);
    group.setTile(tile);
    return built;
  }

  /// Builds the kernel of a group, and one for each other variant that a launch may choose.
  LogicalResult buildBodies(GroupOp group, const codegen::Target &target, Outlined &made) {
    tessera::Expected<std::vector<MetadataVariant>> chosen = launchVariants(group, made.kernel);
    if (!chosen) return group.emitOpError() << chosen.error().message;
    ArrayAttr variants = group.getVariantsAttr();
    auto last = variants ? cast<VariantAttr>(variants.getValue().back()) : VariantAttr();
    if (failed(buildBody(group, last, made.kernel, target, made.dims))) return failure();
    if (chosen->empty()) return success();
    auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(group->getParentOp(),
                                                                 StringAttr::get(&getContext(), made.kernel));
    kernel->setAttr(tile::kVariants, tile::describeVariants(&getContext(), *chosen));
    for (const MetadataVariant &v : *chosen) {
      if (v.entry.empty()) continue;
      const auto *of =
          llvm::find_if(variants, [&](Attribute a) { return cast<VariantAttr>(a).getName() == v.name; });
      SmallVector<Attribute> dims;
      if (failed(buildBody(group, cast<VariantAttr>(*of), v.entry, target, dims))) return failure();
      if (dims != made.dims)
        return group.emitOpError() << "the kernel of variant \"" << v.name
                                   << "\" has other dims than the general one";
    }
    return success();
  }

  /// Records in the metadata who chose. If the schedule was edited to another choice, the text did.
  static void keepDecision(GroupOp group, Operation *step) {
    if (!group.getVariant()) return;
    auto decision = group->getAttrOfType<DictionaryAttr>(schedule::kDecision);
    Builder b(group.getContext());
    if (!decision || decision.getAs<StringAttr>("choice") != group.getVariantAttr())
      decision = b.getDictionaryAttr(
          {b.getNamedAttr("by", b.getStringAttr("ir")), b.getNamedAttr("choice", group.getVariantAttr())});
    step->setAttr(schedule::kDecision, decision);
  }

  LogicalResult callLibrary(graph::FuncOp function, GroupOp group, const codegen::Target &target) {
    auto product = dyn_cast<graph::MatmulOp>(group.getBody().front().front());
    if (!product) return group.emitOpError("of variant \"blas\" does not begin with graph.matmul");
    std::string why = whyNoLibrary(function, target);
    std::optional<GemmCall> call = why.empty() ? gemmCallOf(product, why) : std::nullopt;
    if (!why.empty())
      return emitError(group.getLoc())
             << "TSR_UNIMPLEMENTED: graph.matmul has no variant 'blas' here: " << why;
    OpBuilder b(group);
    Value operands[] = {group.getInputs().front(), group.getInputs().back()};
    auto step = graph::LibraryCallOp::create(b, group.getLoc(), group.getResultTypes().front(), call->name(),
                                             operands, b.getArrayAttr(gemmDims(*call, product)));
    keepDecision(group, step);
    group.replaceAllUsesWith(step->getResults());
    group.erase();
    return success();
  }

  LogicalResult outline(graph::FuncOp function, GroupOp group, const codegen::Target &target) {
    size_t before = outlined_.size();
    FailureOr<Outlined> made = kernelOf(function, group, target);
    if (failed(made)) return failure();
    bool isNew = outlined_.size() > before;

    OpBuilder b(group);
    SmallVector<Value> operands;
    SmallVector<Attribute> effects;
    for (bool wantsTensors : {true, false})
      for (Value input : group.getInputs())
        if (isa<graph::TensorType>(input.getType()) == wantsTensors) {
          operands.push_back(input);
          effects.push_back(
              tile::AccessAttr::get(&getContext(), wantsTensors ? tile::Access::Read : tile::Access::None));
        }
    auto launch = graph::LaunchOp::create(b, group.getLoc(), group.getResultTypes(),
                                          FlatSymbolRefAttr::get(&getContext(), made->kernel), operands,
                                          b.getArrayAttr(effects), b.getArrayAttr(made->dims));
    keepDecision(group, launch);
    group.replaceAllUsesWith(launch.getResults());
    if (!isNew) group.erase();
    return success();
  }
};

} // namespace
} // namespace tessera
