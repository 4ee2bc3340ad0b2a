#include "compiler/tile/test/math/VectorJit.h"
#include "compiler/tile/IR/TileFunctions.h"
#include "compiler/tile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include <sstream>

using namespace mlir;

namespace tessera::tile::test {
namespace {

template <class T> T must(llvm::Expected<T> value) {
  if (!value) llvm::report_fatal_error(value.takeError());
  return std::move(*value);
}

/// What an _mlir_ciface_ function takes for a memref of rank 1.
struct MemRef1D {
  void *base, *data;
  int64_t offset, size, stride;
};

void emitLoop(ModuleOp module, const Body &body, ArrayRef<Type> inputs, Type output,
              ArrayRef<int64_t> shape) {
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  Location loc = b.getUnknownLoc();
  SmallVector<Type> arguments;
  for (Type t : inputs)
    arguments.push_back(MemRefType::get({ShapedType::kDynamic}, t));
  arguments.push_back(MemRefType::get({ShapedType::kDynamic}, output));
  auto function = func::FuncOp::create(b, loc, "f", b.getFunctionType(arguments, {}));
  function->setAttr("llvm.emit_c_interface", b.getUnitAttr());
  b.setInsertionPointToStart(function.addEntryBlock());
  int64_t step = 1;
  for (int64_t extent : shape)
    step *= extent;
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value stride = arith::ConstantIndexOp::create(b, loc, step);
  Value size = memref::DimOp::create(b, loc, function.getArguments().back(), zero);
  auto loop = scf::ForOp::create(b, loc, zero, size, stride);
  OpBuilder in = OpBuilder::atBlockBegin(loop.getBody());
  Value index = loop.getInductionVar();
  SmallVector<Value> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Value memory = function.getArgument(unsigned(i));
    if (shape.empty()) {
      values.push_back(memref::LoadOp::create(in, loc, memory, index));
      continue;
    }
    Value flat = vector::LoadOp::create(in, loc, VectorType::get({step}, inputs[i]), memory, index);
    if (shape.size() > 1)
      flat = vector::ShapeCastOp::create(in, loc, VectorType::get(shape, inputs[i]), flat);
    values.push_back(flat);
  }
  Value result = body(in, loc, values);
  Value memory = function.getArguments().back();
  if (shape.empty()) {
    memref::StoreOp::create(in, loc, result, memory, index);
  } else {
    if (shape.size() > 1)
      result = vector::ShapeCastOp::create(in, loc, VectorType::get({step}, output), result);
    vector::StoreOp::create(in, loc, result, memory, index);
  }
  func::ReturnOp::create(b, loc);
}

std::unique_ptr<llvm::TargetMachine> targetMachine(const std::string &cpu) {
  std::string error;
  llvm::Triple triple("x86_64-unknown-linux-gnu");
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) llvm::report_fatal_error(llvm::StringRef(error));
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, cpu, "", llvm::TargetOptions(), llvm::Reloc::PIC_, std::nullopt,
                                  llvm::CodeGenOptLevel::Aggressive));
}

void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  module.setDataLayout(machine.createDataLayout());
  module.setTargetTriple(machine.getTargetTriple());
  llvm::LoopAnalysisManager lam;
  llvm::FunctionAnalysisManager fam;
  llvm::CGSCCAnalysisManager cam;
  llvm::ModuleAnalysisManager mam;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(mam);
  builder.registerCGSCCAnalyses(cam);
  builder.registerFunctionAnalyses(fam);
  builder.registerLoopAnalyses(lam);
  builder.crossRegisterProxies(lam, fam, cam, mam);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, mam);
}

} // namespace

MLIRContext &context() {
  static MLIRContext *instance = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    registerAllPasses();
    DialectRegistry registry;
    registerAllDialects(registry);
    registry.insert<TileDialect>();
    registerAllExtensions(registry);
    registerBuiltinDialectTranslation(registry);
    registerLLVMDialectTranslation(registry);
    auto *made = new MLIRContext(registry);
    made->loadAllAvailableDialects();
    return made;
  }();
  return *instance;
}

struct VectorJit::State {
  std::unique_ptr<llvm::LLVMContext> llvmContext = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> module; // unoptimized
  std::unique_ptr<llvm::orc::LLJIT> jit;
  void *entry = nullptr;
};

VectorJit::VectorJit(const Body &body, std::vector<Type> inputs, Type output, std::vector<int64_t> shape,
                     const Options &options)
    : state_(std::make_unique<State>()) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context()));
  emitLoop(*module, body, inputs, output, shape);
  PassManager passes(&context());
  if (options.expandMath) passes.addPass(tessera::createTileExpandMath());
  if (options.expandMinMax) passes.addPass(tessera::createTileExpandMinMax());
  if (options.expandHalf) passes.addPass(tessera::createTileExpandHalf());
  if (failed(parsePassPipeline("convert-vector-to-scf{full-unroll=true},convert-scf-to-cf,convert-vector-to-"
                               "llvm,expand-strided-metadata,"
                               "finalize-memref-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,convert-math-"
                               "to-llvm,convert-arith-to-llvm,convert-ub-to-llvm,"
                               "reconcile-unrealized-casts",
                               passes)) ||
      failed(verify(*module)) || failed(passes.run(*module)))
    llvm::report_fatal_error("lowering failed");
  state_->module = translateModuleToLLVMIR(*module, *state_->llvmContext);

  auto host = must(llvm::orc::JITTargetMachineBuilder::detectHost());
  if (!options.cpu.empty()) {
    host.setCPU(options.cpu);
    host.getFeatures() = llvm::SubtargetFeatures();
  }
  host.setCodeGenOptLevel(llvm::CodeGenOptLevel::Aggressive);
  auto machine = must(host.createTargetMachine());
  // The JIT owns its context, so it gets a copy by way of another translation.
  auto ownContext = std::make_unique<llvm::LLVMContext>();
  auto copy = translateModuleToLLVMIR(*module, *ownContext);
  optimize(*copy, *machine);
  state_->jit = must(llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(host)).create());
  auto &jit = *state_->jit;
  jit.getMainJITDylib().addGenerator(must(
      llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(jit.getDataLayout().getGlobalPrefix())));
  if (auto error = jit.addIRModule(llvm::orc::ThreadSafeModule(std::move(copy), std::move(ownContext))))
    llvm::report_fatal_error(std::move(error));
  state_->entry = must(jit.lookup("_mlir_ciface_f")).toPtr<void *>();
}

VectorJit::~VectorJit() = default;

void VectorJit::run(std::vector<const void *> inputs, void *output, size_t count) const {
  std::vector<MemRef1D> refs;
  for (const void *input : inputs)
    refs.push_back({const_cast<void *>(input), const_cast<void *>(input), 0, int64_t(count), 1});
  refs.push_back({output, output, 0, int64_t(count), 1});
  using R = MemRef1D *;
  switch (refs.size()) {
  case 2:
    reinterpret_cast<void (*)(R, R)>(state_->entry)(&refs[0], &refs[1]);
    break;
  case 3:
    reinterpret_cast<void (*)(R, R, R)>(state_->entry)(&refs[0], &refs[1], &refs[2]);
    break;
  default:
    llvm::report_fatal_error("one or two inputs");
  }
}

std::string VectorJit::assembly(const std::string &cpu) const {
  auto machine = targetMachine(cpu);
  auto copy = llvm::CloneModule(*state_->module);
  optimize(*copy, *machine);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager emitter;
  if (machine->addPassesToEmitFile(emitter, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
    llvm::report_fatal_error("no assembly");
  emitter.run(*copy);
  return std::string(text);
}

std::vector<std::string> VectorJit::externalCalls(const std::string &cpu) const {
  std::vector<std::string> calls;
  std::istringstream lines(assembly(cpu));
  for (std::string line, word; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string target;
    if (!(words >> word) || (word != "callq" && word != "jmp") || !(words >> target)) continue;
    if (word == "jmp" && target.find("@PLT") == std::string::npos) continue;  // a tail call, not a branch
    if (target.rfind("f@", 0) != 0 && target != "f") calls.push_back(target); // the C wrapper calls f
  }
  return calls;
}

} // namespace tessera::tile::test
