// Kernels with a product (tile.product): the entry describes the product and calls its body, which Tessera's
// build has compiled (plugins/cpu/codegen/products) and the linker takes from the archive by name. The kernel
// itself becomes the epilogue, which the body calls for each block of results.
//
//   func @f(values, begin, end, scratch) {
//     %problem = alloca; ...fill it in...
//     call @tsr.p.f32.nn(%problem, begin, end, scratch)
//   }
#include "compiler/tile/IR/DTypes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "plugins/cpu/codegen/InternalFunction.h"
#include "plugins/cpu/codegen/Lowering.h"
#include "plugins/cpu/codegen/products/Leaves.h"
#include <cstddef>
#include <tessera/backend.hpp>

using namespace mlir;

namespace tessera::cpu {

using product::Problem;

int64_t productScratch(const tile::Product &product, Type element) {
  const int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  int64_t total = product::kPanelBytes + product::kRowsOfABytes;
  if (product.c < 0) total += product::resultBytes(product.blockRows, product.blockColumns, bytes);
  return static_cast<int64_t>(llvm::alignTo(static_cast<uint64_t>(total), 8));
}

func::FuncOp KernelLowering::declareBody(StringRef name, TypeRange inputs) {
  auto module = function_->getParentOfType<ModuleOp>();
  if (auto known = module.lookupSymbol<func::FuncOp>(name)) return known;
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(module.getBody());
  auto function = func::FuncOp::create(b_, name, b_.getFunctionType(inputs, TypeRange()));
  function.setPrivate();
  return function;
}

FailureOr<func::FuncOp> KernelLowering::lowerProduct(const tile::Product &product, StringRef name,
                                                     func::FuncOp epilogue, int64_t epilogueScratch,
                                                     int64_t digitsOffset) {
  if (product.leaf && product.c >= 0)
    return kernel_.emitOpError("has a product in leaves, which only an epilogue can join");
  beginFunction(entrySymbol(kernel_.getName()));
  // No launch passes the product, which is the first argument.
  Type pointer = LLVM::LLVMPointerType::get(b_.getContext());
  bindKernelArguments([&](BlockArgument arg) -> Value {
    if (arg.getArgNumber() == 0) return LLVM::ZeroOp::create(b_, pointer);
    return emitArgument(arg, arg.getArgNumber() - 1);
  });
  auto tensor = [&](int64_t argument) {
    return views_[kernel_.getArgument(static_cast<unsigned>(argument))];
  };
  View a = tensor(product.a), b = tensor(product.b), whole = tensor(0);
  Type element = cast<tile::ViewType>(kernel_.getArgumentTypes()[0]).getElementType();
  for (const View *view : {&a, &b})
    if (!isConstantIntValue(view->strides.back(), 1))
      return kernel_.emitOpError("has a product of a tensor whose last axis has a stride");

  auto allocate = [&](int64_t words) {
    Value count = LLVM::ConstantOp::create(b_, b_.getI64Type(), b_.getI64IntegerAttr(words));
    return LLVM::AllocaOp::create(b_, pointer, b_.getI64Type(), count, 8).getResult();
  };
  Value problem = allocate(sizeof(Problem) / 8);
  auto putWord = [&](Value to, int64_t word, Value value) {
    if (value.getType().isIndex()) value = toI64(value);
    LLVM::StoreOp::create(b_, value,
                          LLVM::GEPOp::create(b_, pointer, b_.getI64Type(), to,
                                              ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(word)}));
  };
  auto set = [&](size_t byte, Value value) { putWord(problem, static_cast<int64_t>(byte / 8), value); };
  set(offsetof(Problem, a), a.data);
  set(offsetof(Problem, b), b.data);
  set(offsetof(Problem, rows), whole.sizes[0]);
  set(offsetof(Problem, columns), whole.sizes[1]);
  set(offsetof(Problem, depth), a.sizes[a.sizes.size() - (product.transA ? 2 : 1)]);
  set(offsetof(Problem, strideA), a.strides[a.strides.size() - 2]);
  set(offsetof(Problem, strideB), b.strides[b.strides.size() - 2]);
  set(offsetof(Problem, blockRows), constant(product.blockRows));
  set(offsetof(Problem, blockColumns), constant(product.blockColumns));
  set(offsetof(Problem, batchAxes), constant(static_cast<int64_t>(product.batchA.size())));
  auto stride = [&](const View &view, int64_t axis) {
    return axis < 0 ? constant(0) : view.strides[static_cast<size_t>(axis)];
  };
  const View *c = product.c < 0 ? nullptr : &views_[kernel_.getArgument(static_cast<unsigned>(product.c))];
  for (size_t i = 0; i < product.batchA.size(); ++i) {
    set(offsetof(Problem, batchExtent) + 8 * i, axisCounts_[i]);
    set(offsetof(Problem, batchA) + 8 * i, stride(a, product.batchA[i]));
    set(offsetof(Problem, batchB) + 8 * i, stride(b, product.batchB[i]));
    set(offsetof(Problem, batchC) + 8 * i, c ? stride(*c, product.batchC[i]) : constant(0));
  }
  if (c) {
    if (!isConstantIntValue(c->strides.back(), 1))
      return kernel_.emitOpError("stores a product to a tensor whose last axis has a stride");
    set(offsetof(Problem, c), c->data);
    set(offsetof(Problem, strideC), c->strides[c->strides.size() - 2]);
  } else {
    set(offsetof(Problem, c), LLVM::ZeroOp::create(b_, pointer));
    const auto count = static_cast<int64_t>(kernel_.getNumArguments());
    Value values = allocate(count);
    for (int64_t i = 1; i < count; ++i) {
      auto from = LLVM::GEPOp::create(b_, pointer, b_.getI64Type(), values_,
                                      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i - 1)});
      putWord(values, i, LLVM::LoadOp::create(b_, b_.getI64Type(), from));
    }
    Value code = func::ConstantOp::create(b_, epilogue.getFunctionType(), epilogue.getName());
    set(offsetof(Problem, epilogue), UnrealizedConversionCastOp::create(b_, pointer, code).getResult(0));
    set(offsetof(Problem, values), values);
    set(offsetof(Problem, slot), constant(0));
  }
  set(offsetof(Problem, epilogueScratch), constant(epilogueScratch));
  int64_t way = 0;
  if (auto name = kernel_->getAttrOfType<StringAttr>(tile::kProductWay))
    way = llvm::find(product::kWayNames, name.getValue()) - std::begin(product::kWayNames);
  if (way == std::size(product::kWayNames))
    return kernel_.emitOpError("has a product by a way that bodies do not have");
  set(offsetof(Problem, way), constant(way));
  Value isReplaced = LLVM::ZeroOp::create(b_, pointer);
  if (way > 0)
    isReplaced = LLVM::GEPOp::create(
        b_, pointer, b_.getI8Type(), function_.getArgument(3),
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(epilogueScratch + productScratch(product, element))});
  set(offsetof(Problem, isReplaced), isReplaced);
  set(offsetof(Problem, isChain), constant(permits_.fixedReductions ? 1 : 0));
  // n is an operand as it is, t a transposed one.
  const std::string body =
      ("tsr.p." + name + "." + (product.transA ? "t" : "n") + (product.transB ? "t" : "n")).str();
  Vec<Value> arguments = {problem, function_.getArgument(1), function_.getArgument(2),
                          function_.getArgument(3)};
  func::FuncOp callee = declareBody(body, ValueRange(arguments).getTypes());
  if (product.leaf) {
    Value leaves = allocate(sizeof(product::Leaves) / 8);
    auto put = [&](size_t byte, Value value) { putWord(leaves, static_cast<int64_t>(byte / 8), value); };
    Value code = func::ConstantOp::create(b_, callee.getFunctionType(), callee.getName());
    put(offsetof(product::Leaves, body), UnrealizedConversionCastOp::create(b_, pointer, code).getResult(0));
    put(offsetof(product::Leaves, steps), constant(product.leaf));
    // Steps of k are rows of a transposed A, and of a B that is not transposed.
    auto bytes = [&](const View &view, bool areRows) {
      const int64_t ofElements = product.leaf * view.element.getIntOrFloatBitWidth() / 8;
      return areRows
                 ? b_.createOrFold<arith::MulIOp>(view.strides[view.strides.size() - 2], constant(ofElements))
                 : constant(ofElements);
    };
    put(offsetof(product::Leaves, bytesOfA), bytes(a, product.transA));
    put(offsetof(product::Leaves, bytesOfB), bytes(b, !product.transB));
    put(offsetof(product::Leaves, digits), constant(digitsOffset));
    arguments.insert(arguments.begin() + 1, leaves);
    const bool isTransposed =
        !product.transA && product.transB && a.element == element && b.element == element;
    const StringRef dtype = element.isF64() ? "f64" : "f32";
    callee = declareBody(("tsr.p." + dtype + (isTransposed ? ".transposed" : ".leaves")).str(),
                         ValueRange(arguments).getTypes());
  }
  func::CallOp::create(b_, callee, arguments);
  func::ReturnOp::create(b_);
  return function_;
}

} // namespace tessera::cpu
