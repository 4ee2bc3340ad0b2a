#include "compiler/tile/IR/DTypes.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace tessera {

Type elementTypeInValues(MLIRContext *context, DType dtype) {
  Builder b(context);
  switch (dtype) {
  case DType::F64:
    return b.getF64Type();
  case DType::F32:
  case DType::TF32:
    return b.getF32Type();
  case DType::F16:
    return b.getF16Type();
  case DType::BF16:
    return b.getBF16Type();
  case DType::F8E4M3:
    return Float8E4M3FNType::get(context);
  case DType::F8E5M2:
    return Float8E5M2Type::get(context);
  case DType::F6E2M3:
    return Float6E2M3FNType::get(context);
  case DType::F6E3M2:
    return Float6E3M2FNType::get(context);
  case DType::F4E2M1:
    return Float4E2M1FNType::get(context);
  case DType::I64:
  case DType::U64:
    return b.getI64Type();
  case DType::I32:
  case DType::U32:
    return b.getI32Type();
  case DType::I16:
  case DType::U16:
    return b.getI16Type();
  case DType::I8:
  case DType::U8:
  case DType::I4:
  case DType::U4:
    return b.getI8Type();
  case DType::Bool:
    return b.getI1Type();
  }
  llvm_unreachable("dtype out of range");
}

Type elementTypeInMemory(MLIRContext *context, DType dtype) {
  if (isUnsigned(dtype)) return IntegerType::get(context, info(dtype).bits, IntegerType::Unsigned);
  if (isPacked(dtype)) return IntegerType::get(context, info(dtype).bits);
  return elementTypeInValues(context, dtype);
}

Type elementTypeInBuffer(MLIRContext *context, DType dtype) {
  return elementTypeInMemory(context, dtype == DType::I4   ? DType::I8
                                      : dtype == DType::U4 ? DType::U8
                                                           : dtype);
}

bool isPacked(Type memory) { return memory.isInteger(4); }

Type loadedElementType(Type memory) {
  if (isPacked(memory)) return IntegerType::get(memory.getContext(), 8);
  if (auto i = llvm::dyn_cast<IntegerType>(memory); i && i.isUnsigned())
    return IntegerType::get(memory.getContext(), i.getWidth());
  return memory;
}

int64_t storageBytes(Type memory) {
  return memory.isIntOrFloat() ? std::max<int64_t>(1, memory.getIntOrFloatBitWidth() / 8) : 8;
}

std::optional<DType> dtypeOfMemory(Type memory) {
  // In order, so that f32 is found before tf32; elementTypeInMemory distinguishes u8 from i8.
  for (const DTypeInfo &row : allDTypes())
    if (row.dtype != DType::TF32 && elementTypeInMemory(memory.getContext(), row.dtype) == memory)
      return row.dtype;
  return std::nullopt;
}

} // namespace tessera
