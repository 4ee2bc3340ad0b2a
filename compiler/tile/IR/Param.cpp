// #tile.param: what each kind of parameter has, and which defaults a dtype holds.
#include "compiler/tile/IR/TileDialect.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "numerics/Casts.h"
#include <bit>

using namespace mlir;

namespace tessera::tile {
namespace {

/// Is `value` an integer or a float that `dtype` holds without rounding?
bool holds(DType dtype, Attribute value) {
  auto survives = [&](uint64_t bits, DType wide) {
    return castBits(castBits(bits, wide, dtype), dtype, wide) == bits;
  };
  auto real = dyn_cast<FloatAttr>(value);
  auto integer = dyn_cast<IntegerAttr>(value);
  if (real && isFloat(dtype) && real.getType().isF64())
    return real.getValue().isNaN() || survives(std::bit_cast<uint64_t>(real.getValueAsDouble()), DType::F64);
  if (integer && !isFloat(dtype) && integer.getType().isInteger(64))
    return survives(static_cast<uint64_t>(integer.getInt()), DType::I64);
  return integer && dtype == DType::Bool && integer.getType().isInteger(1);
}

} // namespace

LogicalResult ParamAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, StringAttr name,
                                ParamKind kind, std::optional<DType> dtype, Access access, ArrayAttr dims,
                                ArrayAttr strides, Attribute defaultValue, DictionaryAttr) {
  auto error = [&] { return emitError() << stringifyParamKind(kind) << " '" << name.getValue() << "' "; };
  if (name.getValue().empty()) return emitError() << "a parameter needs a name";
  const bool isInMemory = kind == ParamKind::Tensor || kind == ParamKind::Result;
  if (dtype.has_value() == (kind == ParamKind::Dim))
    return error() << (dtype ? "has a dtype; a dim has only a name" : "needs a dtype");
  if ((access != Access::None) != isInMemory)
    return error() << (isInMemory ? "needs access read, write or readwrite"
                                  : "has an access; only memory has one");
  if (static_cast<bool>(dims) != isInMemory)
    return error() << (isInMemory ? "needs dims" : "has dims; only a tensor or a result has them");
  if (dims && !llvm::all_of(dims, llvm::IsaPred<StringAttr>)) return error() << "needs dims that are strings";
  if (strides &&
      (!dims || strides.size() != dims.size() || !llvm::all_of(strides, llvm::IsaPred<StringAttr>)))
    return error() << "needs one stride per dim, each a string";
  if (!defaultValue) return success();
  if (kind != ParamKind::Scalar) return error() << "has a default; only a scalar may have one";
  if (holds(*dtype, defaultValue)) return success();
  return error() << "of dtype " << tessera::name(*dtype) << " cannot have the default " << defaultValue
                 << "; a default is an i64 or, of a float, an f64 that the dtype holds";
}

ParamAttr ParamAttr::getDimParam(MLIRContext *context, StringRef name) {
  return get(context, StringAttr::get(context, name), ParamKind::Dim, std::nullopt, Access::None, ArrayAttr(),
             ArrayAttr(), Attribute(), DictionaryAttr());
}

StringRef ParamAttr::getDim(unsigned dim) const { return cast<StringAttr>(getDims()[dim]).getValue(); }

StringRef ParamAttr::getStride(unsigned dim) const {
  return getStrides() ? cast<StringAttr>(getStrides()[dim]).getValue() : StringRef();
}

} // namespace tessera::tile
