#include "plugins/ptx/codegen/MatrixVendor.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace tessera::ptx {
namespace {

/// A lane's elements of a factor in the registers of mma: words of as many elements as fit, pairs of f16,
/// single f64. f32 is rounded to tf32.
SmallVector<Value> registersOf(ImplicitLocOpBuilder &b, DType dtype, Value factor) {
  auto type = cast<VectorType>(factor.getType());
  if (dtype != DType::F64 && dtype != DType::TF32) {
    const int64_t words = type.getDimSize(0) * type.getElementTypeBitWidth() / 32;
    factor = vector::BitCastOp::create(b, VectorType::get({words}, b.getI32Type()), factor);
  }
  SmallVector<Value> all;
  for (int64_t i = 0; i < cast<VectorType>(factor.getType()).getDimSize(0); ++i) {
    Value one = vector::ExtractOp::create(b, factor, i);
    if (dtype == DType::F16) one = LLVM::BitcastOp::create(b, VectorType::get({2}, b.getF16Type()), one);
    if (dtype == DType::TF32)
      one = NVVM::ConvertFloatToTF32Op::create(b, b.getI32Type(), one, NVVM::FPRoundingMode::RNA);
    all.push_back(one);
  }
  return all;
}

Value number(ImplicitLocOpBuilder &b, int64_t value) {
  return LLVM::ConstantOp::create(b, b.getI32Type(), b.getI32IntegerAttr(int32_t(value)));
}

/// The address of tensor memory as the instructions take it.
Value tensorPointer(ImplicitLocOpBuilder &b, Value address) {
  constexpr unsigned kTensorSpace = 6;
  return LLVM::IntToPtrOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), kTensorSpace), address);
}

/// One instruction, on the registers of its factors.
SmallVector<Value> emitMma(ImplicitLocOpBuilder &b, const layout::Fragment &f, DType dtype,
                           ArrayRef<Value> left, ArrayRef<Value> right, ValueRange c) {
  Type type = LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(c.getTypes()));
  Value result;
  if (dtype == DType::F8E4M3 || dtype == DType::F8E5M2) { // NVVM has no operation for it
    const StringRef factor = dtype == DType::F8E4M3 ? "e4m3" : "e5m2";
    SmallVector<Value> operands(left);
    llvm::append_range(operands, right);
    llvm::append_range(operands, c);
    const std::string name = ("llvm.nvvm.mma.m16n8k32.row.col.f32." + factor + "." + factor + ".f32").str();
    result = LLVM::CallIntrinsicOp::create(b, type, b.getStringAttr(name), operands).getResult(0);
  } else {
    using Types = NVVM::MMATypes;
    const auto kind = llvm::StringSwitch<Types>(tessera::name(dtype))
                          .Case("f64", Types::f64)
                          .Case("tf32", Types::tf32)
                          .Case("bf16", Types::bf16)
                          .Case("i8", Types::s8)
                          .Case("u8", Types::u8)
                          .Default(Types::f16);
    const bool isInteger = dtype == DType::I8 || dtype == DType::U8;
    result = NVVM::MmaOp::create(
        b, type, left, right, c, ArrayRef<int64_t>{f.m, int64_t(c.size()) * 32 / f.m, f.k}, std::nullopt,
        isInteger ? std::optional(NVVM::MMAIntOverflow::wrapped) : std::nullopt, std::array{kind, kind},
        std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  }
  SmallVector<Value> elements;
  for (int64_t i = 0; i < int64_t(c.size()); ++i)
    elements.push_back(LLVM::ExtractValueOp::create(b, result, i));
  return elements;
}

} // namespace

SmallVector<Value> MatrixVendor::emitProduct(ImplicitLocOpBuilder &b, const layout::Fragment &f, DType dtype,
                                             Value x, Value y, ValueRange c) const {
  return emitMma(b, f, dtype, registersOf(b, dtype, x), registersOf(b, dtype, y), c);
}

/// PTX ISA, "Matrix Descriptor" of wgmma and "Shared memory descriptor" of tcgen05: addresses and distances
/// count 16 bytes.
Value MatrixVendor::emitDescriptor(ImplicitLocOpBuilder &b, const layout::Fragment &f, Value address,
                                   int64_t panelBytes, int64_t panelStep, int64_t groupBytes) const {
  const uint64_t swizzle = panelBytes == 128 ? 1 : panelBytes == 64 ? 2 : 3;
  const uint64_t fixed = uint64_t(panelStep / 16 & 0x3fff) << 16 | uint64_t(groupBytes / 16) << 32 |
                         uint64_t(f.hasTensorMemory()) << 46 | swizzle << 62;
  auto constant = [&](Type type, uint64_t value) -> Value {
    return LLVM::ConstantOp::create(b, type, b.getIntegerAttr(type, int64_t(value)));
  };
  Type word = b.getI32Type(), both = b.getI64Type();
  Value bits = LLVM::PtrToIntOp::create(b, word, address);
  bits = LLVM::AndOp::create(b, bits, constant(word, 0x3ffff));
  bits = LLVM::LShrOp::create(b, bits, constant(word, 4));
  return LLVM::OrOp::create(b, LLVM::ZExtOp::create(b, both, bits), constant(both, fixed));
}

Value MatrixVendor::emitSharedProduct(ImplicitLocOpBuilder &b, const layout::Fragment &f, DType dtype,
                                      SharedMatrix x, SharedMatrix y, Value sums, bool adds) const {
  using NVVM::MMALayout;
  using Types = NVVM::WGMMATypes;
  MLIRContext *context = b.getContext();
  const auto factor = llvm::StringSwitch<Types>(tessera::name(dtype))
                          .Case("bf16", Types::bf16)
                          .Case("fp8_e4m3", Types::e4m3)
                          .Case("fp8_e5m2", Types::e5m2)
                          .Case("tf32", Types::tf32)
                          .Default(Types::f16);
  return NVVM::WgmmaMmaAsyncOp::create(
      b, sums.getType(), sums, x.descriptor, y.descriptor, NVVM::MMAShapeAttr::get(context, f.m, f.n, f.k),
      factor, factor, Types::f32, adds ? NVVM::WGMMAScaleOut::one : NVVM::WGMMAScaleOut::zero,
      NVVM::WGMMAScaleIn::one, NVVM::WGMMAScaleIn::one, x.isAlongK ? MMALayout::row : MMALayout::col,
      y.isAlongK ? MMALayout::col : MMALayout::row, NVVM::MMAIntOverflowAttr());
}

/// NVVM's operation takes descriptors only. The emulator reads this text (VendorOps.cpp).
Value MatrixVendor::emitHeldProduct(ImplicitLocOpBuilder &b, const layout::Fragment &f, DType dtype, Value x,
                                    SharedMatrix y, Value sums, bool adds) const {
  const std::string factor = dtype == DType::BF16 ? "bf16" : "f16", columns = std::to_string(f.n);
  const int64_t count = f.n / 2; // sums of a lane
  auto registers = [](int64_t first, int64_t number) {
    std::string all;
    for (int64_t i = first; i < first + number; ++i)
      all += (i > first ? ", $" : "$") + std::to_string(i);
    return "{" + all + "}";
  };
  SmallVector<Value> operands;
  std::string constraints, tied;
  for (int64_t i = 0; i < count; ++i) {
    operands.push_back(LLVM::ExtractValueOp::create(b, sums, i));
    constraints += "=f,", tied += std::to_string(i) + ",";
  }
  llvm::append_range(operands, registersOf(b, DType::BF16, x)); // words
  operands.push_back(y.descriptor);
  const std::string text = "{\n.reg .pred p;\nsetp.ne.b32 p, " + std::to_string(int(adds)) +
                           ", 0;\nwgmma.mma_async.sync.aligned.m64n" + columns + "k16.f32." + factor + "." +
                           factor + " " + registers(0, count) + ", " + registers(2 * count, 4) + ", $" +
                           std::to_string(2 * count + 4) + ", p, 1, 1, " + (y.isAlongK ? "0" : "1") +
                           ";\n}\n";
  return LLVM::InlineAsmOp::create(b, sums.getType(), operands, text, constraints + tied + "r,r,r,r,l",
                                   /*has_side_effects=*/true, /*is_align_stack=*/false,
                                   LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(),
                                   ArrayAttr())
      .getResult(0);
}

void MatrixVendor::emitProductFence(ImplicitLocOpBuilder &b) const { NVVM::WgmmaFenceAlignedOp::create(b); }
void MatrixVendor::emitProductCommit(ImplicitLocOpBuilder &b) const {
  NVVM::WgmmaGroupSyncAlignedOp::create(b);
}
void MatrixVendor::emitProductWait(ImplicitLocOpBuilder &b, int64_t pending) const {
  NVVM::WgmmaWaitGroupSyncOp::create(b, uint64_t(pending));
}

void MatrixVendor::emitTensorAlloc(ImplicitLocOpBuilder &b, Value place, int64_t columns) const {
  NVVM::Tcgen05AllocOp::create(b, place, number(b, columns));
  NVVM::Tcgen05RelinquishAllocPermitOp::create(b);
}

void MatrixVendor::emitTensorFree(ImplicitLocOpBuilder &b, Value memory, int64_t columns) const {
  NVVM::Tcgen05DeallocOp::create(b, tensorPointer(b, memory), number(b, columns));
}

void MatrixVendor::emitTensorProduct(ImplicitLocOpBuilder &b, const layout::Fragment &f, DType dtype,
                                     SharedMatrix x, SharedMatrix y, Value sums, Value adds) const {
  // PTX ISA, "Instruction descriptor": dtypes of the sums, A and B, which of these are stored along m and
  // n, and the extents.
  using Kind = NVVM::Tcgen05MMAKind;
  struct Code {
    Kind kind;
    uint32_t sum, factor;
  };
  const auto [kind, sum, factor] = llvm::StringSwitch<Code>(tessera::name(dtype))
                                       .Case("bf16", {Kind::F16, 1, 1})
                                       .Case("tf32", {Kind::TF32, 1, 2})
                                       .Case("fp8_e4m3", {Kind::F8F6F4, 1, 0})
                                       .Case("fp8_e5m2", {Kind::F8F6F4, 1, 1})
                                       .Case("u8", {Kind::I8, 2, 0})
                                       .Case("i8", {Kind::I8, 2, 1})
                                       .Default({Kind::F16, 1, 0});
  const uint32_t descriptor = sum << 4 | factor << 7 | factor << 10 | uint32_t(!x.isAlongK) << 15 |
                              uint32_t(!y.isAlongK) << 16 | uint32_t(f.n / 8) << 17 |
                              uint32_t(f.m / 16) << 24;
  NVVM::Tcgen05MMAOp::create(b, kind, NVVM::CTAGroupKind::CTA_1, NVVM::Tcgen05MMACollectorOp::DISCARD,
                             /*aShift=*/false, tensorPointer(b, sums), x.descriptor, y.descriptor,
                             number(b, descriptor), adds, Value(), Value());
}

void MatrixVendor::emitTensorCommit(ImplicitLocOpBuilder &b, Value word) const {
  NVVM::Tcgen05CommitOp::create(b, word, Value());
}

SmallVector<Value> MatrixVendor::emitTensorLoad(ImplicitLocOpBuilder &b, const layout::Fragment &f,
                                                Value from, int64_t count) const {
  // Of 64 rows 16 are in the lanes of a warp, and each of its threads has parts of two.
  const bool isHalf = f.m == 64;
  const int64_t words = isHalf ? count / 2 : count;
  Value loaded = NVVM::Tcgen05LdOp::create(b, VectorType::get({words}, b.getI32Type()), /*pack=*/false,
                                           isHalf ? NVVM::Tcgen05LdStShape::SHAPE_16X256B
                                                  : NVVM::Tcgen05LdStShape::SHAPE_32X32B,
                                           tensorPointer(b, from), Value());
  SmallVector<Value> all;
  for (int64_t i = 0; i < words; ++i)
    all.push_back(LLVM::ExtractElementOp::create(b, loaded, number(b, i)));
  return all;
}

void MatrixVendor::emitTensorLoadWait(ImplicitLocOpBuilder &b) const {
  NVVM::Tcgen05WaitOp::create(b, NVVM::Tcgen05WaitKind::LOAD);
}

void MatrixVendor::emitTensorFence(ImplicitLocOpBuilder &b, bool isAfterMeeting) const {
  NVVM::Tcgen05FenceOp::create(b, isAfterMeeting ? NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC
                                                 : NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC);
}

} // namespace tessera::ptx
