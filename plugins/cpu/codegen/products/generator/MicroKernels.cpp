#include "plugins/cpu/codegen/products/generator/MicroKernels.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/DialectConversion.h"
#include "llvm/ADT/SmallVector.h"

using namespace mlir;

namespace tessera::cpu::product {
namespace {

/// Steps of k in one iteration: enough to hide the loop's own instructions.
constexpr int64_t kUnroll = 2;

// Sums, a row of B and a broadcast element of A stay in registers: 16 of them on v3, 32 on v4. Six rows of A
// fit the ways of a first-level cache even where their stride is a power of two; blocks of one or two
// vectors, of narrow products, need more rows to keep the multipliers busy. bodies/Vectors.h has the same
// numbers. Blocks of 12 rows of one vector of v3 would spill.
constexpr int64_t kRowsV3[] = {10, 6}, kRowsV4[] = {16, 8, 6, 6};
constexpr Level kLevels[] = {{"v3", "x86-64-v3", 32, kRowsV3}, {"v4", "x86-64-v4", 64, kRowsV4}};

/// A family of each level with vectors of at least so many bytes.
struct Row {
  const char *name;
  Multiply multiply;
  int64_t bytes, vectorBytes;
  const char *features;
};
constexpr Row kFamilies[] = {
    {"f32", Multiply::Fma, 4, 32, ""},
    {"f64", Multiply::Fma, 8, 32, ""},
    {"bf16.dot", Multiply::DotsOfBf16, 4, 64, "+avx512bf16"},
    {"i16", Multiply::PairsOfI16, 4, 32, ""},
    {"i8.dot", Multiply::QuadsOfBytes, 4, 64, "+avx512vnni"},
    {"i8.amx", Multiply::TilesOfI8, 4, 64, "+amx-tile,+amx-int8"},
    {"u8.amx", Multiply::TilesOfU8, 4, 64, "+amx-tile,+amx-int8"},
    {"bf16.amx", Multiply::TilesOfBf16, 4, 64, "+amx-tile,+amx-bf16"},
};
/// Tiles of a block each way: four of sums, two of A and two of B are all eight.
constexpr int64_t kBlockTiles = 2, kTileRows = 16, kTileWords = 16;

/// Emits one micro-kernel.
class Emitter {
public:
  Emitter(ModuleOp module, const Level &level, const Family &family, int64_t rows, int64_t vectors)
      : b_(module.getLoc(), OpBuilder::atBlockEnd(module.getBody())), family_(family), rows_(rows),
        vectors_(vectors), lanes_(level.vectorBytes / family.bytes), hasSlowMasks_(level.vectorBytes < 64) {
    const bool isFma = family.multiply == Multiply::Fma;
    const bool isInteger =
        family.multiply == Multiply::PairsOfI16 || family.multiply == Multiply::QuadsOfBytes;
    Type f32 = b_.getF32Type(), i32 = b_.getI32Type();
    Type sum = isInteger ? i32 : family.bytes == 4 ? f32 : Type(b_.getF64Type());
    element_ = isFma ? sum : i32;
    vector_ = VectorType::get({lanes_}, sum);
    line_ = VectorType::get({lanes_}, element_);
    pointer_ = LLVM::LLVMPointerType::get(b_.getContext());
  }

  void emit() {
    Type i64 = b_.getI64Type();
    Type inputs[] = {i64, pointer_, i64, pointer_, i64, pointer_, i64, i64, i64};
    auto f =
        func::FuncOp::create(b_, microKernelName(family_, rows_, vectors_), b_.getFunctionType(inputs, {}));
    f.setArgAttr(5, LLVM::LLVMDialect::getNoAliasAttrName(), b_.getUnitAttr());
    b_.setInsertionPointToStart(f.addEntryBlock());
    auto in = f.getArguments();
    c_ = in[5];
    auto inBytes = [&](Value stride) { return times(stride, integer(family_.bytes)); };
    strideA_ = multiples(inBytes(in[2]), family_.transposed ? 2 : rows_);
    strideB_ = multiples(inBytes(in[4]), 4);
    isFresh_ = arith::CmpIOp::create(b_, arith::CmpIPredicate::ne, in[8], integer(0));
    if (hasSlowMasks_) {
      Value isWhole = arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, in[7], integer(lanes_));
      auto whole = scf::IfOp::create(b_, isWhole, /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPointToStart(whole.thenBlock());
      isWhole_ = true;
      compute(in);
      b_.setInsertionPointToStart(whole.elseBlock());
      isWhole_ = false;
      compute(in);
    } else {
      compute(in);
    }
    func::ReturnOp::create(b_);
  }

private:
  /// C += A * B of the arguments `in`.
  void compute(ValueRange in) {
    auto inBytes = [&](Value stride) { return times(stride, integer(family_.bytes)); };
    // Computed where C is read and again where it is written: in loops their registers are needed for A.
    auto findRowsOfC = [&] { strideC_ = multiples(inBytes(in[6]), rows_); };
    if (!isWhole_) mask_ = lanesBelow(in[7]);
    SmallVector<Type> types(static_cast<size_t>(rows_ * vectors_), vector_);
    auto start = scf::IfOp::create(b_, types, isFresh_, /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPointToStart(start.thenBlock());
      if (family_.multiply == Multiply::QuadsOfBytes) {
        Value row = LLVM::IntToPtrOp::create(b_, pointer_, in[8]);
        SmallVector<Value> first;
        forBlock([&](int64_t, int64_t v) {
          first.push_back(LLVM::LoadOp::create(b_, vector_, offset(row, v * lanes_), 4));
        });
        scf::YieldOp::create(b_, first);
      } else {
        scf::YieldOp::create(b_, SmallVector<Value>(types.size(), zeros(vector_)));
      }
      b_.setInsertionPointToStart(start.elseBlock());
      findRowsOfC();
      SmallVector<Value> loaded;
      forBlock([&](int64_t r, int64_t v) { loaded.push_back(load(vector_, addressOfC(r, v), v)); });
      scf::YieldOp::create(b_, loaded);
    }
    SmallVector<Value> state = {in[0], in[1], in[3]};
    llvm::append_range(state, start.getResults());
    // Tails of columns that have code of their own are short of it.
    if (isWhole_ || !hasSlowMasks_) loop(kUnroll, state);
    loop(1, state);
    findRowsOfC();
    size_t i = 3;
    SmallVector<Value> tails;
    forBlock([&](int64_t r, int64_t v) {
      Value sum = state[i++];
      if (hasSlowMasks_ && !isWhole_ && v + 1 == vectors_)
        tails.push_back(sum);
      else
        store(addressOfC(r, v), v, sum);
    });
    if (!tails.empty()) storeInParts(in[7], tails);
  }

  /// Stores the first `count` elements of the last vector of each row: a half of a vector, a quarter and so
  /// on, as the bits of the count say. A masked store takes 17 cycles on Zen 3, other ones one or two.
  void storeInParts(Value count, SmallVector<Value> rows) {
    Value column = offset(c_, (vectors_ - 1) * lanes_);
    for (int64_t part = lanes_ / 2; part > 0; part /= 2) {
      auto lanesFrom = [&](int64_t first) {
        SmallVector<int32_t> lanes;
        for (int64_t i = 0; i < part; ++i)
          lanes.push_back(static_cast<int32_t>(first + i));
        SmallVector<Value> out;
        for (Value row : rows)
          out.push_back(LLVM::ShuffleVectorOp::create(b_, row, row, lanes));
        return out;
      };
      auto yield = [&](SmallVector<Value> rest, Value next) {
        rest.push_back(next);
        scf::YieldOp::create(b_, rest);
      };
      SmallVector<Type> types(rows.size(), VectorType::get({part}, vector_.getElementType()));
      types.push_back(pointer_);
      Value bit = arith::AndIOp::create(b_, count, integer(part));
      Value has = arith::CmpIOp::create(b_, arith::CmpIPredicate::ne, bit, integer(0));
      auto stored = scf::IfOp::create(b_, types, has, /*withElseRegion=*/true);
      {
        OpBuilder::InsertionGuard guard(b_);
        b_.setInsertionPointToStart(stored.thenBlock());
        for (auto [r, lanes] : llvm::enumerate(lanesFrom(0)))
          LLVM::StoreOp::create(b_, lanes, multiple(column, strideC_, static_cast<int64_t>(r)),
                                static_cast<unsigned>(family_.bytes));
        yield(lanesFrom(part), offset(column, part)); // nothing reads what the last part yields
        b_.setInsertionPointToStart(stored.elseBlock());
        yield(lanesFrom(0), column);
      }
      const auto next = stored.getResults().drop_back();
      rows.assign(next.begin(), next.end());
      column = stored.getResults().back();
    }
  }

  Value integer(int64_t n) { return arith::ConstantOp::create(b_, b_.getI64IntegerAttr(n)); }
  Value zeros(VectorType type) { return arith::ConstantOp::create(b_, b_.getZeroAttr(type)); }
  Value plus(Value x, Value y) { return arith::AddIOp::create(b_, x, y); }
  Value times(Value x, Value y) { return arith::MulIOp::create(b_, x, y); }
  void forBlock(llvm::function_ref<void(int64_t, int64_t)> body) {
    for (int64_t r = 0; r < rows_; ++r)
      for (int64_t v = 0; v < vectors_; ++v)
        body(r, v);
  }
  Value lanesBelow(Value count) {
    SmallVector<int32_t> numbers(static_cast<size_t>(lanes_));
    for (auto [i, n] : llvm::enumerate(numbers))
      n = static_cast<int32_t>(i);
    auto type = VectorType::get({lanes_}, b_.getI32Type());
    Value lane = arith::ConstantOp::create(b_, DenseElementsAttr::get(type, ArrayRef(numbers)));
    Value narrow = arith::TruncIOp::create(b_, b_.getI32Type(), count);
    Value end = vector::BroadcastOp::create(b_, type, narrow);
    return arith::CmpIOp::create(b_, arith::CmpIPredicate::slt, lane, end);
  }
  /// Returns the odd multiples of a stride below `count`.
  SmallVector<Value> multiples(Value stride, int64_t count) {
    SmallVector<Value> out;
    for (int64_t n = 1; n < std::max<int64_t>(count, 2); n += 2)
      out.push_back(times(stride, integer(n)));
    return out;
  }
  /// Returns the address `n` strides after `base`: an odd multiple times a power of two, the scale of an
  /// address.
  Value multiple(Value base, ArrayRef<Value> odd, int64_t n) {
    if (n == 0) return base;
    const int64_t scale = n & -n;
    auto type = LLVM::LLVMArrayType::get(b_.getI8Type(), static_cast<unsigned>(scale));
    return LLVM::GEPOp::create(b_, pointer_, type, base,
                               ArrayRef<LLVM::GEPArg>{odd[static_cast<size_t>(n / scale / 2)]});
  }
  Value offset(Value base, int64_t elements) {
    return LLVM::GEPOp::create(b_, pointer_, element_, base,
                               ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(elements)});
  }
  Value addressOfC(int64_t r, int64_t v) { return offset(multiple(c_, strideC_, r), v * lanes_); }
  /// Only the last vector has columns that do not exist.
  Value load(VectorType type, Value from, int64_t v) {
    const auto alignment = static_cast<unsigned>(family_.bytes);
    if (isWhole_ || v + 1 < vectors_) return LLVM::LoadOp::create(b_, type, from, alignment);
    return LLVM::MaskedLoadOp::create(b_, type, from, mask_, zeros(type),
                                      b_.getI32IntegerAttr(static_cast<int32_t>(alignment)),
                                      /*nontemporal=*/UnitAttr());
  }
  void store(Value to, int64_t v, Value value) {
    const auto alignment = static_cast<unsigned>(family_.bytes);
    if (isWhole_ || v + 1 < vectors_)
      LLVM::StoreOp::create(b_, value, to, alignment);
    else
      LLVM::MaskedStoreOp::create(b_, value, to, mask_,
                                  b_.getI32IntegerAttr(static_cast<int32_t>(alignment)));
  }

  /// Repeats `steps` steps of k while the count of those that are left is at least that. `state` is the
  /// count, the addresses of A and B, and the sums. One address of each operand moves: those of the other
  /// rows differ from it by multiples of the stride, which instructions of x86 add.
  void loop(int64_t steps, SmallVector<Value> &state) {
    auto loop = scf::WhileOp::create(b_, ValueRange(state).getTypes(), state);
    OpBuilder::InsertionGuard guard(b_);
    SmallVector<Location> locations(state.size(), b_.getLoc());
    Block *before = b_.createBlock(&loop.getBefore(), {}, ValueRange(state).getTypes(), locations);
    Value more = arith::CmpIOp::create(b_, arith::CmpIPredicate::sge, before->getArgument(0), integer(steps));
    scf::ConditionOp::create(b_, more, before->getArguments());
    Block *body = b_.createBlock(&loop.getAfter(), {}, ValueRange(state).getTypes(), locations);
    SmallVector<Value> next(body->getArguments());
    for (int64_t u = 0; u < steps; ++u)
      step(u, next);
    next[0] = plus(next[0], integer(-steps));
    next[1] = family_.transposed ? multiple(next[1], strideA_, steps) : offset(next[1], steps);
    next[2] = multiple(next[2], strideB_, steps);
    scf::YieldOp::create(b_, next);
    state.assign(loop.getResults().begin(), loop.getResults().end());
  }

  void step(int64_t u, MutableArrayRef<Value> state) {
    Value row = multiple(state[2], strideB_, u);
    SmallVector<Value> line;
    // Words are packed in whole vectors.
    const bool isPacked = family_.multiply != Multiply::Fma;
    for (int64_t v = 0; v < vectors_; ++v)
      line.push_back(isPacked ? LLVM::LoadOp::create(b_, line_, offset(row, v * lanes_), 4).getResult()
                              : load(line_, offset(row, v * lanes_), v));
    for (int64_t r = 0; r < rows_; ++r) {
      Value from = family_.transposed ? offset(multiple(state[1], strideA_, u), r)
                                      : offset(multiple(state[1], strideA_, r), u);
      Value x = LLVM::LoadOp::create(b_, element_, from);
      Value all = vector::BroadcastOp::create(b_, line_, x);
      for (int64_t v = 0; v < vectors_; ++v) {
        Value &sum = state[static_cast<size_t>(3 + r * vectors_ + v)];
        sum = multiplyAdd(all, line[static_cast<size_t>(v)], sum);
      }
    }
  }

  Value multiplyAdd(Value x, Value y, Value sum) {
    auto call = [&](const char *instruction, ValueRange operands) {
      return LLVM::CallIntrinsicOp::create(b_, vector_, b_.getStringAttr(instruction), operands).getResult(0);
    };
    auto as = [&](Type element, int64_t count, Value v) {
      return LLVM::BitcastOp::create(b_, VectorType::get({count * lanes_}, element), v).getResult();
    };
    switch (family_.multiply) {
    case Multiply::Fma:
      return math::FmaOp::create(b_, x, y, sum);
    case Multiply::DotsOfBf16: {
      Type bf16 = b_.getBF16Type();
      return call("llvm.x86.avx512bf16.dpbf16ps.512", {sum, as(bf16, 2, x), as(bf16, 2, y)});
    }
    case Multiply::PairsOfI16: {
      Type i16 = b_.getI16Type();
      const char *pairs = lanes_ == 16 ? "llvm.x86.avx512.pmaddw.d.512" : "llvm.x86.avx2.pmadd.wd";
      return arith::AddIOp::create(b_, sum, call(pairs, {as(i16, 2, x), as(i16, 2, y)}));
    }
    case Multiply::QuadsOfBytes: {
      Type i8 = b_.getI8Type();
      return call("llvm.x86.avx512.vpdpbusd.512", {sum, as(i8, 4, x), as(i8, 4, y)});
    }
    case Multiply::TilesOfI8:
    case Multiply::TilesOfU8:
    case Multiply::TilesOfBf16:
      break;
    }
    llvm_unreachable("a way to multiply");
  }

  ImplicitLocOpBuilder b_;
  const Family &family_;
  int64_t rows_, vectors_, lanes_;
  /// Do masks cost so much that blocks of whole vectors have code of their own? Is that what is emitted?
  bool hasSlowMasks_, isWhole_ = false;
  Type element_;             // of A
  VectorType vector_, line_; // of sums, and of elements or words of B
  Type pointer_;
  Value c_, mask_, isFresh_;
  SmallVector<Value> strideA_, strideB_, strideC_; // odd multiples, in bytes
};

/// Emits one micro-kernel of tiles. Registers are fixed, so that no tile is ever spilled: sums are the tiles
/// 0 to 3, those of A 4 and 5, those of B 6 and 7.
class TileEmitter {
public:
  TileEmitter(ModuleOp module, const Family &family, int64_t rows, int64_t columns)
      : b_(module.getLoc(), OpBuilder::atBlockEnd(module.getBody())), family_(family), rows_(rows),
        columns_(columns) {}

  void emit() {
    Type i64 = b_.getI64Type(), pointer = LLVM::LLVMPointerType::get(b_.getContext());
    Type inputs[] = {i64, pointer, i64, pointer, i64, pointer, i64, i64, i64};
    auto f =
        func::FuncOp::create(b_, microKernelName(family_, rows_, columns_), b_.getFunctionType(inputs, {}));
    b_.setInsertionPointToStart(f.addEntryBlock());
    auto in = f.getArguments();
    const Value strideA = inBytes(in[2]), strideB = inBytes(in[4]), strideC = inBytes(in[6]);
    Value isFresh = arith::CmpIOp::create(b_, arith::CmpIPredicate::ne, in[8], integer(0));
    auto start = scf::IfOp::create(b_, isFresh, /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPointToStart(start.thenBlock());
      forBlock([&](int64_t r, int64_t c) { call("llvm.x86.tilezero", {tile(sum(r, c))}); });
      b_.setInsertionPointToStart(start.elseBlock());
      forBlock([&](int64_t r, int64_t c) { load(sum(r, c), place(in[5], strideC, r, c), strideC); });
    }
    loop({in[0], in[1], in[3]}, strideA, strideB);
    forBlock([&](int64_t r, int64_t c) {
      call("llvm.x86.tilestored64", {tile(sum(r, c)), place(in[5], strideC, r, c), strideC});
    });
    func::ReturnOp::create(b_);
  }

private:
  static int64_t sum(int64_t r, int64_t c) { return r * kBlockTiles + c; }
  static int64_t ofA(int64_t r) { return kBlockTiles * kBlockTiles + r; }
  static int64_t ofB(int64_t c) { return kBlockTiles * kBlockTiles + kBlockTiles + c; }
  Value integer(int64_t n) { return arith::ConstantOp::create(b_, b_.getI64IntegerAttr(n)); }
  Value tile(int64_t n) { return LLVM::ConstantOp::create(b_, b_.getI8Type(), b_.getI8IntegerAttr(n)); }
  Value inBytes(Value words) { return arith::MulIOp::create(b_, words, integer(family_.bytes)); }
  Value bytesAfter(Value base, LLVM::GEPArg bytes) {
    return LLVM::GEPOp::create(b_, base.getType(), b_.getI8Type(), base, ArrayRef<LLVM::GEPArg>{bytes});
  }
  /// The address of a tile of an operand whose first one is at `base`.
  Value place(Value base, Value stride, int64_t r, int64_t c) {
    if (r) base = bytesAfter(base, Value(arith::MulIOp::create(b_, stride, integer(r * kTileRows))));
    return c ? bytesAfter(base, static_cast<int32_t>(c * kTileWords * family_.bytes)) : base;
  }
  void forBlock(llvm::function_ref<void(int64_t, int64_t)> body) {
    for (int64_t r = 0; r < rows_; ++r)
      for (int64_t c = 0; c < columns_; ++c)
        body(r, c);
  }
  void call(const char *instruction, ValueRange operands) {
    LLVM::CallIntrinsicOp::create(b_, b_.getStringAttr(instruction), operands);
  }
  void load(int64_t to, Value from, Value stride) { call("llvm.x86.tileloadd64", {tile(to), from, stride}); }
  const char *multiply() {
    switch (family_.multiply) {
    case Multiply::TilesOfI8:
      return "llvm.x86.tdpbssd";
    case Multiply::TilesOfU8:
      return "llvm.x86.tdpbuud";
    default:
      return "llvm.x86.tdpbf16ps";
    }
  }

  /// Repeats a step while words are left. `state` is their count, and the addresses of A and B.
  void loop(ValueRange state, Value strideA, Value strideB) {
    const Value rowsOfB = arith::MulIOp::create(b_, strideB, integer(kTileWords));
    auto loop = scf::WhileOp::create(b_, state.getTypes(), state);
    OpBuilder::InsertionGuard guard(b_);
    SmallVector<Location> locations(state.size(), b_.getLoc());
    Block *before = b_.createBlock(&loop.getBefore(), {}, state.getTypes(), locations);
    Value more = arith::CmpIOp::create(b_, arith::CmpIPredicate::sgt, before->getArgument(0), integer(0));
    scf::ConditionOp::create(b_, more, before->getArguments());
    Block *body = b_.createBlock(&loop.getAfter(), {}, state.getTypes(), locations);
    const Value count = body->getArgument(0), a = body->getArgument(1), b = body->getArgument(2);
    for (int64_t c = 0; c < columns_; ++c)
      load(ofB(c), place(b, strideB, 0, c), strideB);
    for (int64_t r = 0; r < rows_; ++r) {
      load(ofA(r), place(a, strideA, r, 0), strideA);
      for (int64_t c = 0; c < columns_; ++c)
        call(multiply(), {tile(sum(r, c)), tile(ofA(r)), tile(ofB(c))});
    }
    Value next[] = {arith::AddIOp::create(b_, count, integer(-kTileWords)),
                    bytesAfter(a, static_cast<int32_t>(kTileWords * family_.bytes)), bytesAfter(b, rowsOfB)};
    scf::YieldOp::create(b_, next);
  }

  ImplicitLocOpBuilder b_;
  const Family &family_;
  int64_t rows_, columns_; // in tiles
};

LogicalResult toLlvm(ModuleOp module) {
  PassManager structured(module->getContext());
  structured.addPass(createSCFToControlFlowPass());
  if (failed(structured.run(module))) return failure();
  MLIRContext &context = *module->getContext();
  LLVMTypeConverter types(&context);
  RewritePatternSet patterns(&context);
  populateVectorToLLVMConversionPatterns(types, patterns);
  arith::populateArithToLLVMConversionPatterns(types, patterns);
  populateMathToLLVMConversionPatterns(types, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
  populateFuncToLLVMConversionPatterns(types, patterns);
  LLVMConversionTarget target(context);
  target.addLegalOp<ModuleOp>();
  return applyFullConversion(module, target, std::move(patterns));
}

} // namespace

ArrayRef<Level> levels() { return kLevels; }

bool isTiled(Multiply multiply) {
  return multiply == Multiply::TilesOfI8 || multiply == Multiply::TilesOfU8 ||
         multiply == Multiply::TilesOfBf16;
}

SmallVector<Family> families(const Level &level) {
  SmallVector<Family> out;
  for (const Row &row : kFamilies)
    for (bool transposed : {false, true})
      if (level.vectorBytes >= row.vectorBytes && !(transposed && isTiled(row.multiply)))
        out.push_back({row.name, row.multiply, row.bytes, transposed, row.features});
  return out;
}

std::string microKernelName(const Family &family, int64_t rows, int64_t vectors) {
  return std::string("tsr.mk.") + family.name + (family.transposed ? ".t." : ".n.") + std::to_string(rows) +
         "x" + std::to_string(vectors);
}

OwningOpRef<ModuleOp> microKernels(MLIRContext &context, const Level &level, const Family &family) {
  context.loadDialect<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect,
                      math::MathDialect, scf::SCFDialect, vector::VectorDialect>();
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  for (int64_t rows = 1; rows <= kBlockTiles && isTiled(family.multiply); ++rows)
    for (int64_t columns = 1; columns <= kBlockTiles; ++columns)
      TileEmitter(*module, family, rows, columns).emit();
  for (auto [before, most] : llvm::enumerate(isTiled(family.multiply) ? ArrayRef<int64_t>() : level.rows))
    for (int64_t rows = 1; rows <= most; ++rows)
      Emitter(*module, level, family, rows, static_cast<int64_t>(before) + 1).emit();
  if (failed(toLlvm(*module))) return {};
  return module;
}

} // namespace tessera::cpu::product
