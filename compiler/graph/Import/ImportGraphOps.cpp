// Imports one value of a graph function as operations of the graph dialect.
#include "compiler/graph/Import/ImportGraph.h"
#include "compiler/graph/Import/ImportParams.h"
#include "compiler/graph/Import/Importer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tessera::graph {

using frontend::GraphOp;
using frontend::Op;

static std::optional<UnaryKind> unaryKind(Op op) {
  switch (op) {
  case Op::Neg:
    return UnaryKind::Neg;
  case Op::Abs:
    return UnaryKind::Abs;
  case Op::Invert:
    return UnaryKind::Not;
#define TSR_FLOAT_FUNCTION(id, name, text)                                                                   \
  case Op::id:                                                                                               \
    return UnaryKind::id;
#define TSR_EXACT_FUNCTION(id, mathOp, name, text)                                                           \
  case Op::id:                                                                                               \
    return UnaryKind::id;
#include "compiler/ops/Functions.def"
  default:
    return std::nullopt;
  }
}

static BinaryKind binaryKind(Op op) {
  switch (op) {
  case Op::Minimum:
    return BinaryKind::Minimum;
  case Op::Maximum:
    return BinaryKind::Maximum;
  case Op::And:
    return BinaryKind::And;
  case Op::Or:
    return BinaryKind::Or;
  case Op::Xor:
    return BinaryKind::Xor;
  case Op::Shl:
    return BinaryKind::Shl;
  case Op::Shr:
    return BinaryKind::Shr;
#define TSR_FLOAT_FUNCTION2(id, name, parameters, text)                                                      \
  case Op::id:                                                                                               \
    return BinaryKind::id;
#include "compiler/ops/Functions.def"
  default:
    break;
  }
  if (op >= Op::Lt && op <= Op::Ne) // Lt Le Gt Ge Eq Ne, in both
    return static_cast<BinaryKind>(static_cast<int>(BinaryKind::Lt) + static_cast<int>(op) -
                                   static_cast<int>(Op::Lt));
  return static_cast<BinaryKind>(static_cast<int>(op) -
                                 static_cast<int>(Op::Add)); // Add Sub Mul Div FloorDiv Mod Pow Fmod
}

static ReduceKind reduceKind(Op op) {
  switch (op) {
  case Op::Prod:
    return ReduceKind::Prod;
  case Op::Max:
    return ReduceKind::Max;
  case Op::Min:
    return ReduceKind::Min;
  case Op::ArgMax:
    return ReduceKind::ArgMax;
  case Op::ArgMin:
    return ReduceKind::ArgMin;
  default:
    return ReduceKind::Sum;
  }
}

Value GraphImporter::importConstant(const GraphValue &v) {
  Type type = elementTypeInValues(b_.getContext(), v.dtype);
  if (auto floats = dyn_cast<FloatType>(type))
    return arith::ConstantOp::create(b_, loc_, b_.getFloatAttr(floats, v.number));
  return arith::ConstantOp::create(b_, loc_, b_.getIntegerAttr(type, v.integer));
}

Value GraphImporter::importElementwise(const GraphValue &v) {
  TensorType type = typeOf(v.dims, v.dtype);
  if (v.args.size() == 1) return UnaryOp::create(b_, loc_, type, *unaryKind(v.function), tensorArg(v, 0));
  Value lhs = arg(v, 0), rhs = arg(v, 1);
  if (!isa<TensorType>(lhs.getType()) && !isa<TensorType>(rhs.getType())) lhs = toTensor(lhs);
  return BinaryOp::create(b_, loc_, type, binaryKind(v.function), lhs, rhs);
}

Value GraphImporter::importReduction(const GraphValue &v) {
  ReduceKind kind = v.op == GraphOp::Mean ? ReduceKind::Mean : reduceKind(v.function);
  if (v.ints.empty()) return arg(v, 0); // one element, of rank 0
  return ReduceOp::create(b_, loc_, typeOf(v.dims, v.dtype), kind, arg(v, 0), v.ints, v.keepDims,
                          IntegerAttr());
}

/// The requests for a product; null: there are none.
ArrayAttr GraphImporter::specializationsOf(const GraphValue &v) {
  SmallVector<Attribute> out;
  for (const frontend::Specialization &s : v.specializations) {
    NamedAttrList items;
    if (!s.backend.empty()) items.append("backend", b_.getStringAttr(s.backend));
    if (!s.arch.empty()) items.append("arch", b_.getStringAttr(s.arch));
    items.append("tile_sizes", b_.getDenseI64ArrayAttr(s.tileSizes));
    out.push_back(items.getDictionary(b_.getContext()));
  }
  return out.empty() ? ArrayAttr() : b_.getArrayAttr(out);
}

Value GraphImporter::import(const GraphValue &v) {
  TensorType type = typeOf(v.dims, v.dtype);
  auto expressions = [&](const std::vector<std::string> &texts) {
    return b_.getArrayAttr(llvm::map_to_vector(texts, [&](const std::string &text) -> Attribute {
      return tile::IndexExprAttr::fromText(b_.getContext(), text);
    }));
  };
  auto unary = [&](UnaryKind kind) -> Value {
    return UnaryOp::create(b_, loc_, type, kind, tensorArg(v, 0));
  };
  switch (v.op) {
  case GraphOp::Param:
  case GraphOp::Launch:
    break;
  case GraphOp::Constant:
    return importConstant(v);
  case GraphOp::Extent:
    return DimOp::create(b_, loc_, type, tile::IndexExprAttr::fromText(b_.getContext(), v.texts[0]));
  case GraphOp::Empty:
    return EmptyOp::create(b_, loc_, type);
  case GraphOp::Elementwise:
    return importElementwise(v);
#define TSR_ACTIVATION(id, name, text)                                                                       \
  case GraphOp::id:                                                                                          \
    return unary(UnaryKind::id);
#include "compiler/ops/Functions.def"
  case GraphOp::Gelu:
    return unary(UnaryKind::Gelu);
  case GraphOp::GeluTanh:
    return unary(UnaryKind::GeluTanh);
  case GraphOp::Select:
    return SelectOp::create(b_, loc_, type, arg(v, 0), arg(v, 1), arg(v, 2));
  case GraphOp::Cast:
    return CastOp::create(b_, loc_, type, arg(v, 0));
  case GraphOp::Matmul:
    return MatmulOp::create(b_, loc_, type, arg(v, 0), arg(v, 1), v.ints[0] != 0, v.ints[1] != 0,
                            specializationsOf(v));
  case GraphOp::Reduce:
  case GraphOp::Mean:
    return importReduction(v);
  case GraphOp::Softmax:
  case GraphOp::LogSoftmax:
    return SoftmaxOp::create(b_, loc_, type, arg(v, 0), v.ints[0], v.op == GraphOp::LogSoftmax);
  case GraphOp::LayerNorm:
    return LayerNormOp::create(b_, loc_, type, arg(v, 0), arg(v, 1), arg(v, 2), v.ints[0],
                               llvm::APFloat(v.number));
  case GraphOp::RmsNorm:
    return RmsNormOp::create(b_, loc_, type, arg(v, 0), arg(v, 1), v.ints[0], llvm::APFloat(v.number));
  case GraphOp::Transpose:
    return TransposeOp::create(b_, loc_, type, arg(v, 0), v.ints);
  case GraphOp::Reshape:
    // the value can be used under both names, since values are immutable
    if (arg(v, 0).getType() == type) return arg(v, 0);
    return ReshapeOp::create(b_, loc_, type, arg(v, 0));
  case GraphOp::Broadcast:
    return BroadcastOp::create(b_, loc_, type, arg(v, 0));
  case GraphOp::Concat: {
    SmallVector<Value> inputs;
    for (size_t i = 0; i < v.args.size(); ++i)
      inputs.push_back(arg(v, i));
    return ConcatOp::create(b_, loc_, type, inputs, v.ints[0]);
  }
  case GraphOp::Slice:
    return SliceOp::create(b_, loc_, type, arg(v, 0), expressions(v.texts),
                           v.ints.empty() ? DenseI64ArrayAttr() : b_.getDenseI64ArrayAttr(v.ints));
  case GraphOp::Pad:
    return PadOp::create(b_, loc_, type, arg(v, 0), arg(v, 1), expressions(v.texts));
  case GraphOp::Gather: {
    SmallVector<Value> indices;
    for (size_t i = 1; i < v.args.size(); ++i)
      indices.push_back(tensorArg(v, i));
    return GatherOp::create(b_, loc_, type, arg(v, 0), indices, v.ints);
  }
  case GraphOp::Scan:
    return ScanOp::create(b_, loc_, type, static_cast<ScanKind>(v.ints[1]), arg(v, 0), Value(), v.ints[0],
                          IntegerAttr());
  case GraphOp::Iota:
    return IotaOp::create(b_, loc_, type, v.ints[0]);
  case GraphOp::Attention: {
    FloatAttr scale = std::isnan(v.number) ? FloatAttr() : b_.getF64FloatAttr(v.number);
    FloatAttr softcap;
    if (v.args.size() > 5) softcap = b_.getF64FloatAttr(function_.values[v.args[5]].number);
    return AttentionOp::create(b_, loc_, type, arg(v, 0), arg(v, 1), arg(v, 2), arg(v, 3), arg(v, 4), scale,
                               softcap, v.ints[0] ? b_.getUnitAttr() : UnitAttr());
  }
  case GraphOp::Mse:
    return importMse(v);
  case GraphOp::CrossEntropy:
    return importCrossEntropy(v);
  case GraphOp::LaunchResult:
    return launches_.at(v.args[0])->getResult(static_cast<unsigned>(v.ints[0]));
  }
  llvm_unreachable("parameters and launches are imported by run()");
}

/// The results are the operands that the kernel writes, in order, then the kernel's own results.
Operation *GraphImporter::importLaunch(const GraphValue &v) {
  const frontend::Kernel &kernel = function_.kernels[v.kernel];
  SmallVector<Value> operands;
  SmallVector<Attribute> effects;
  for (size_t i = 0; i < v.args.size(); ++i)
    operands.push_back(arg(v, i));
  for (int index : argumentOrder(kernel.params)) {
    const frontend::Param &param = kernel.params[index];
    if (!param.isResult) effects.push_back(tile::AccessAttr::get(b_.getContext(), accessOf(param)));
  }
  // The results are the LaunchResult values that follow this one.
  int self = static_cast<int>(&v - function_.values.data());
  SmallVector<Type> types;
  for (const GraphValue &other : llvm::drop_begin(function_.values, self + 1)) {
    if (other.op != GraphOp::LaunchResult || other.args[0] != self) break;
    types.push_back(typeOf(other.dims, other.dtype));
  }
  ArrayAttr dims;
  if (!v.kernelDims.empty()) dims = tensorType(b_.getContext(), v.kernelDims, DType::F32).getDims();
  return LaunchOp::create(b_, loc_, types, FlatSymbolRefAttr::get(b_.getContext(), kernel.name), operands,
                          b_.getArrayAttr(effects), dims);
}

} // namespace tessera::graph
