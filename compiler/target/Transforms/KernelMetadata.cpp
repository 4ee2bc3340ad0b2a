#include "compiler/target/Transforms/KernelMetadata.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/KernelChecks.h"
#include "compiler/tile/IR/KernelVariants.h"
#include "compiler/tile/IR/Product.h"
#include "compiler/tile/IR/Profiles.h"
#include "core/metadata/Reports.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace tessera::target {
namespace {

std::vector<std::string> strings(ArrayAttr array) {
  std::vector<std::string> list;
  if (array)
    for (auto value : array.getAsRange<StringAttr>())
      list.push_back(value.str());
  return list;
}

void append(DictionaryAttr entries, std::vector<std::pair<std::string, int64_t>> &list) {
  if (!entries) return;
  for (NamedAttribute entry : entries)
    if (auto value = dyn_cast<IntegerAttr>(entry.getValue()))
      list.emplace_back(entry.getName().str(), value.getInt());
}

MetadataParam::Kind kindOf(tile::ParamAttr param) {
  switch (param.getKind()) {
  case tile::ParamKind::Tensor:
    return MetadataParam::Kind::Tensor;
  case tile::ParamKind::Result:
    return MetadataParam::Kind::Result;
  case tile::ParamKind::Scalar:
    return MetadataParam::Kind::Scalar;
  case tile::ParamKind::Dim:
    return MetadataParam::Kind::Dim;
  }
  llvm_unreachable("unknown kind of parameter");
}

MetadataParam describe(tile::ParamAttr attribute) {
  MetadataParam param;
  param.name = attribute.getName().str();
  param.kind = kindOf(attribute);
  if (attribute.getDtype()) param.dtype = *attribute.getDtype();
  param.dims = strings(attribute.getDims());
  param.strides = strings(attribute.getStrides());
  param.reads = tile::reads(attribute.getAccess());
  param.writes = tile::writes(attribute.getAccess());
  auto limits = attribute.getPolicy() ? attribute.getPolicy().getAs<DenseI64ArrayAttr>(tile::kLimits)
                                      : DenseI64ArrayAttr();
  if (limits && limits.size() == 2) param.limits = {limits[0], limits[1]};
  if (auto value = dyn_cast_if_present<FloatAttr>(attribute.getDefaultValue()))
    param.defaultValue = value.getValueAsDouble();
  if (auto value = dyn_cast_if_present<IntegerAttr>(attribute.getDefaultValue()))
    param.defaultValue = param.dtype == DType::Bool ? int64_t{!value.getValue().isZero()} : value.getInt();
  return param;
}

/// The statements print and assert_ that write to a hidden tensor; empty for a parameter of the source.
std::vector<MetadataReport> reportsOf(tile::ParamAttr param) {
  std::vector<MetadataReport> list;
  auto entries = param.getPolicy() ? param.getPolicy().getAs<ArrayAttr>("reports") : ArrayAttr();
  if (!entries) return list;
  for (auto entry : entries.getAsRange<DictionaryAttr>()) {
    auto text = [&](StringRef name) {
      auto value = entry.getAs<StringAttr>(name);
      return value ? value.str() : std::string();
    };
    MetadataReport r;
    r.isAssert = text("kind") == "assert";
    r.isOfLane = text("of") == "lane";
    r.place = text("at");
    r.text = text("text");
    for (const std::string &type : strings(entry.getAs<ArrayAttr>("values")))
      (void)reports::parseType(type, r.values.emplace_back());
    list.push_back(std::move(r));
  }
  return list;
}

/// Of each product the instruction that its fragment names. Passes copy products (a peeled iteration, a
/// loop without masks); those of one place are alike and are described once.
std::vector<MetadataProduct> productsOf(tile::KernelOp kernel) {
  std::vector<MetadataProduct> list;
  kernel.walk([&](tile::MmaOp mma) {
    if (!mma.getFragment()) return; // before tile-vectorize
    const Type a = mma.getA().getType();
    auto buffer = dyn_cast<tile::BufferType>(a);
    auto in = dtypeOfMemory(buffer ? buffer.getElementType() : getElementTypeOrSelf(a));
    const auto acc = dtypeOfMemory(getElementTypeOrSelf(mma.getResult()));
    if (!in || !acc) return;
    const auto row = mma.getFragment()->getRow();
    if (in == DType::I8 && mma.getIsUnsigned()) in = DType::U8;
    if (in == DType::F32 && row) in = DType::TF32; // no instruction multiplies f32
    MetadataProduct product{mma.getFragment()->str(), *in, *acc, placeOf(mma)};
    if (!llvm::is_contained(list, product)) list.push_back(std::move(product));
  });
  return list;
}

/// A `while` loop that reads memory may wait for another thread's write. Every other loop ends by itself.
bool mayWait(tile::KernelOp kernel) {
  auto reads = [](MemoryEffectOpInterface op) {
    return op.hasEffect<MemoryEffects::Read>() ? WalkResult::interrupt() : WalkResult::advance();
  };
  return kernel
      .walk([&](scf::WhileOp loop) {
        return loop.walk(reads).wasInterrupted() ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

} // namespace

std::string placeOf(Operation *op) {
  auto where = op->getLoc()->findInstanceOf<FileLineColLoc>();
  return where ? llvm::formatv("{0}:{1}", llvm::sys::path::filename(where.getFilename().getValue()),
                               where.getLine())
                     .str()
               : "";
}

KernelMetadata describeFunction(graph::FuncOp function, StringRef target) {
  KernelMetadata m;
  m.name = function.getSymName().str();
  m.target = target.str();
  m.numerics = function.getNumerics().str();
  m.permits = permitsOf(function);
  for (auto entry : function.getParamsAttr().getAsRange<tile::ParamAttr>())
    m.params.push_back(describe(entry));
  append(function.getSpecializedAttr(), m.specialized);
  m.fallbacks = strings(function.getFallbacksAttr());
  return m;
}

KernelMetadata describeKernel(tile::KernelOp kernel, StringRef target) {
  KernelMetadata m;
  m.name = kernel.getSymName().str();
  m.target = target.str();
  m.numerics = kernel.getNumerics().str();
  m.permits = permitsOf(kernel);
  ArrayRef<Attribute> params = kernel.getParams().getValue();
  for (auto entry :
       llvm::map_range(params.drop_front(tile::unpassedArguments(kernel)), llvm::CastTo<tile::ParamAttr>))
    if (std::vector<MetadataReport> reports = reportsOf(entry); reports.empty())
      m.params.push_back(describe(entry));
    else
      m.reports = std::move(reports);
  append(kernel.getTunablesAttr(), m.tile);
  append(kernel.getDecisionsAttr(), m.tile);
  append(kernel.getSpecializedAttr(), m.specialized);
  m.products = productsOf(kernel);
  m.sharedBytes = kernel.getSharedBytes().value_or(0);
  m.scratchBytes = kernel.getScratchBytes().value_or(0);
  m.vectorBytes = kernel.getVectorBytes().value_or(0);
  for (auto axis : kernel.getGrid().getAsRange<tile::IndexExprAttr>())
    m.axes.push_back(axis.text());
  if (ArrayAttr checks = tile::checksOf(kernel))
    for (auto check : checks.getAsRange<DictionaryAttr>())
      m.checks.push_back({check.getAs<StringAttr>("value").str(), check.getAs<StringAttr>("says").str()});
  for (const IndexExpr &rest : tile::restsOfClusters(kernel))
    if (!rest.asConstant()) // the verifier has seen that it is 0
      m.checks.push_back({IndexExpr::binary(IndexExpr::Code::Sub, IndexExpr::constant(0), rest).text(),
                          rest.text() + " == 0"});
  m.variants = tile::variantsOf(kernel);
  m.lanesPerProgram = kernel.getLanesPerProgram().value_or(1);
  m.epilogue = strings(kernel.getEpilogueAttr());
  m.fallbacks = strings(kernel.getFallbacksAttr());
  m.mayWait = mayWait(kernel);
  m.sharesOperands = kernel->hasAttr(tile::kProduct);
  return m;
}

} // namespace tessera::target
