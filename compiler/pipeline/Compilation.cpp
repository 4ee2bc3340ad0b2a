#include "compiler/pipeline/Compilation.h"
#include "compiler/codegen/common/TileLowering.h"
#include "compiler/graph/Import/Import.h"
#include "compiler/pipeline/CheckProfiles.h"
#include "compiler/pipeline/IrText.h"
#include "compiler/pipeline/Passes.h"
#include "compiler/pipeline/Snapshots.h"
#include "compiler/schedule/IR/FunctionVariants.h"
#include "compiler/schedule/Transforms/Variants.h"
#include "compiler/support/DiagnosticCode.h"
#include "compiler/target/IR/SourceFiles.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/KernelVariants.h"
#include "compiler/tile/IR/Profiles.h"
#include "core/metadata/KernelMetadata.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"

#include <mutex>

using namespace mlir;

namespace tessera {

namespace {

std::unique_ptr<MLIRContext> makeContext() {
  DialectRegistry registry;
  registry.insert<graph::GraphDialect, schedule::ScheduleDialect, tile::TileDialect, target::TargetDialect,
                  arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect, mlir::gpu::GPUDialect,
                  LLVM::LLVMDialect, math::MathDialect, scf::SCFDialect, tensor::TensorDialect,
                  vector::VectorDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  // A kernel is small: threads would cost more than they save.
  auto context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

/// Contexts that compilations have finished with, for the next ones: to make one with its dialects, and to
/// destroy it, takes as long as an eighth of compiling a small kernel. Types and attributes stay in a
/// context, so that one of them is destroyed after every sixteen compilations. Thread-safe.
class IdleContexts {
public:
  std::unique_ptr<MLIRContext> take() {
    {
      std::lock_guard lock(mutex_);
      if (!idle_.empty()) return idle_.pop_back_val();
    }
    return makeContext();
  }
  void give(std::unique_ptr<MLIRContext> context) {
    std::lock_guard lock(mutex_);
    if (++given_ % kUses != 0 && idle_.size() < kMost) idle_.push_back(std::move(context));
  }

private:
  static constexpr size_t kMost = 2;
  static constexpr unsigned kUses = 16;
  std::mutex mutex_;
  SmallVector<std::unique_ptr<MLIRContext>, kMost> idle_;
  unsigned given_ = 0;
};

IdleContexts &idleContexts() {
  static IdleContexts contexts;
  return contexts;
}

/// Returns line `number` (from 1) of `source`, without its line end.
std::string lineOf(std::string_view source, uint32_t number) {
  size_t begin = 0;
  for (uint32_t i = 1; i < number && begin != std::string_view::npos; ++i) {
    begin = source.find('\n', begin);
    if (begin != std::string_view::npos) ++begin;
  }
  if (begin == std::string_view::npos) return {};
  return std::string(source.substr(begin, source.find('\n', begin) - begin));
}

} // namespace

Compilation::Compilation(CompileOptions options, std::vector<Diagnostic> &diags)
    : options_(std::move(options)), diags_(diags) {}
Compilation::~Compilation() {
  module_ = nullptr;
  handler_.reset();
  if (context_) idleContexts().give(std::move(context_));
}

CompileStatus Compilation::fail(CompileStatus status, std::string code, std::string message,
                                std::string hint) {
  Diagnostic d;
  d.code = std::move(code);
  d.message = std::move(message);
  d.hint = std::move(hint);
  d.file = options_.fileName;
  diags_.push_back(std::move(d));
  return status;
}

CompileStatus Compilation::checkOptions() {
  auto found = codegen::findTarget(options_.targets.front());
  if (!found)
    return fail(CompileStatus::BadProgram, found.error().code, found.error().message, found.error().hint);
  target_ = *found;
  return CompileStatus::Ok;
}

/// A profile that freezes tunables makes each keep its first value. A chosen value is refused, since the
/// compiler cannot know which tunables alter a reduction.
CompileStatus Compilation::checkProfile(std::string_view source) {
  const NumericsPermissions *builtin = builtinProfile(options_.numerics);
  if (!options_.permits && !builtin)
    return fail(CompileStatus::BadProgram, "E_NUMERICS_UNKNOWN",
                "unknown numerics profile '" + options_.numerics + "'",
                "the built-in profiles are fast, standard, deterministic and strict");
  if (!options_.permits) options_.permits = *builtin;
  if (!options_.permits->frozenTunables || options_.tunables.empty()) return CompileStatus::Ok;
  std::vector<Signature> signatures;
  std::vector<Diagnostic> said;
  (void)frontend::signatures(source, options_.fileName, signatures, said, options_.supplied);
  for (const Signature &s : signatures)
    for (const auto &[tunable, space] : s.tunables)
      for (const auto &[name, value] : options_.tunables)
        if (name == tunable && !space.empty() && value != space.front() &&
            (options_.kernels.empty() || options_.kernels.front() == s.kernel))
          return fail(CompileStatus::Unimplemented, "E_UNIMPLEMENTED",
                      "TSR_UNIMPLEMENTED: numerics profile '" + options_.numerics +
                          "' (frozen_tunables): " + name + " of " + s.kernel + " keeps its first value, " +
                          std::to_string(space.front()) + ", on backend " + backendName().str() + ", not " +
                          std::to_string(value));
  return CompileStatus::Ok;
}

CompileStatus Compilation::begin(std::string_view source) {
  source_ = source;
  if (auto status = checkOptions(); status != CompileStatus::Ok) return status;
  if (options_.isIr) return beginWithIr(source);
  frontend::FrontendOptions frontendOptions;
  frontendOptions.fileName = options_.fileName;
  if (!options_.kernels.empty()) frontendOptions.kernel = options_.kernels.front();
  frontendOptions.dims = options_.dims;
  frontendOptions.tunables = options_.tunables;
  frontendOptions.supplied = options_.supplied;
  frontendOptions.sharesTiles = target_->capabilities().threads > 0;
  frontend::Program program;
  if (auto status = frontend::compileToProgram(source, frontendOptions, program, diags_);
      status != CompileStatus::Ok)
    return status;
  if (auto *kernel = std::get_if<frontend::Kernel>(&program))
    kernel_ = std::move(*kernel);
  else
    function_ = std::move(std::get<frontend::GraphFunction>(program));
  if (!entry_.empty() && !function_) kernel_.name = entry_;
  if (auto status = checkProfile(source); status != CompileStatus::Ok) return status;
  makeContextAndHandler();
  module_ = function_ ? graph::importGraph(*context_, *function_, options_.fileName, options_.numerics)
                      : graph::importKernel(*context_, kernel_, options_.fileName, options_.numerics);
  if (!module_) return passFailure("the program has no Graph IR form");
  setProfile(*module_, options_.numerics, *options_.permits);
  if (failed(checkProfiles(*module_, backendName(), target_->capabilities().fixesReductions)))
    return passFailure("the numerics profile is refused");
  guardArithmetic(*module_);
  reached_ = Level::Graph;
  setScheduleOptions();
  return CompileStatus::Ok;
}

/// Returns "N == 1000" for each dim of the function that has a value, less those that its code is bound to.
std::vector<std::string> Compilation::conditions() const {
  std::vector<std::string> out;
  for (const auto &dim : options_.dims)
    if (llvm::is_contained(function_->dims, dim.first) && !llvm::is_contained(function_->specialized, dim))
      out.push_back(dim.first + " == " + std::to_string(dim.second));
  return out;
}

/// Turns the caller's scheduling options into attributes, which the text of Schedule IR shows. The values of
/// dims are hints for a variant of the function; the function itself is for all other values.
void Compilation::setScheduleOptions() {
  if (!function_) return;
  Builder b(context_.get());
  NamedAttrList hints;
  for (auto &[name, value] : options_.dims)
    hints.append(name, b.getI64IntegerAttr(value));
  const std::vector<std::string> when = options_.exactDims ? std::vector<std::string>() : conditions();
  for (auto function : llvm::to_vector(module_->getOps<graph::FuncOp>())) {
    if (!options_.fuse) function->setAttr(tile::kFusion, b.getStringAttr("none"));
    if (hints.empty()) continue;
    graph::FuncOp hinted = function;
    if (!when.empty()) {
      hinted = function.clone();
      hinted.setSymName(function.getSymName().str() + ".v0");
      hinted->setAttr(schedule::kVariantOf, FlatSymbolRefAttr::get(function.getSymNameAttr()));
      hinted->setAttr(schedule::kWhen, b.getStrArrayAttr(SmallVector<StringRef>(when.begin(), when.end())));
      module_->push_back(hinted);
    }
    hinted->setAttr(schedule::kHints, hints.getDictionary(context_.get()));
  }
}

/// Only after Graph IR: IR that a bundle keeps must be usable for other targets too.
void Compilation::setDecisions() {
  for (auto function : module_->getOps<graph::FuncOp>())
    if (DictionaryAttr decisions = decisionsOf(function.getSymName()))
      function->setAttr(schedule::kVariants, decisions);
}

bool Compilation::addBodies(const std::vector<MetadataVariant> &variants) {
  bool isMade = false;
  module_->walk([&](tile::KernelOp kernel) {
    const bool reports = llvm::any_of(kernel.getParams().getAsRange<tile::ParamAttr>(), [](auto param) {
      return param.getPolicy() && param.getPolicy().contains("reports");
    });
    if (kernel.getSymName() != kernel_.name || reports) return;
    kernel->setAttr(tile::kVariants, tile::describeVariants(context_.get(), variants));
    isMade = true;
  });
  return isMade;
}

void Compilation::prepareChoices() {
  for (auto function : module_->getOps<graph::FuncOp>())
    if (function.getParamsAttr()) function->setAttr(schedule::kVariants, DictionaryAttr::get(context_.get()));
}

/// Returns the decisions about one function by the number of their operation; null if there are none.
DictionaryAttr Compilation::decisionsOf(StringRef function) const {
  Builder b(context_.get());
  NamedAttrList all;
  for (const VariantDecision &d : options_.decisions) {
    auto [name, number] = StringRef(d.id).rsplit(':');
    if (name != function || d.target != target_->name()) continue;
    NamedAttrList one;
    one.append("choice", b.getStringAttr(d.variant));
    one.append("by", b.getStringAttr(d.by));
    SmallVector<StringRef> legal(d.legal.begin(), d.legal.end());
    one.append("legal", b.getStrArrayAttr(legal));
    if (d.predictedNs >= 0) one.append("predicted_ns", b.getF64FloatAttr(d.predictedNs));
    all.append(number, one.getDictionary(context_.get()));
  }
  return all.empty() ? DictionaryAttr() : all.getDictionary(context_.get());
}

void Compilation::listChoices(std::vector<VariantChoice> &out) const {
  for (auto function : module().getOps<graph::FuncOp>()) {
    std::vector<VariantChoice> found;
    auto hints = function->getAttrOfType<DictionaryAttr>(schedule::kHints);
    function.walk([&](graph::MatmulOp op) {
      auto number = op->getAttrOfType<IntegerAttr>(schedule::kChoice);
      if (!number) return;
      VariantChoice c;
      c.target = target_->name();
      c.id = function.getSymName().str() + ":" + std::to_string(number.getInt());
      c.op = "matmul";
      if (auto dtype = dtypeOfMemory(op.getA().getType().getElementType())) c.dtype = name(*dtype);
      c.file = options_.fileName;
      if (auto where = op.getLoc()->findInstanceOf<FileLineColLoc>()) {
        c.line = where.getLine();
        c.col = where.getColumn();
        toFile(options_.supplied.pieces, c.file, c.line);
      }
      c.variants = {schedule::kTile.str()};
      // A list of one variant only predicts the time.
      if (auto group = op->getParentOfType<schedule::GroupOp>();
          group && group.getVariants() && group.getVariants()->size() > 1)
        for (auto v : group.getVariants()->getAsRange<schedule::VariantAttr>())
          c.variants.push_back(v.getName().str());
      std::string why = schedule::whyNoLibrary(function, *target_);
      if (why.empty() && schedule::gemmCallOf(op, why))
        c.variants.push_back(schedule::kBlas.str());
      else
        c.refused.emplace_back(schedule::kBlas.str(), why);
      auto result = op.getResult().getType(), a = op.getA().getType();
      auto extent = [&](const char *dim, graph::TensorType type, int64_t axis) {
        int64_t value = -1;
        if (axis >= 0) {
          std::string text = type.dimText(axis);
          if (auto known = hints ? hints.getAs<IntegerAttr>(text) : IntegerAttr())
            value = known.getInt();
          else if (StringRef(text).getAsInteger(10, value))
            value = -1;
        }
        c.dims.emplace_back(dim, value);
      };
      extent("M", result, result.getRank() - 2);
      extent("N", result, result.getRank() - 1);
      extent("K", a, op.getTransA() ? a.getRank() - 2 : a.getRank() - 1);
      found.push_back(std::move(c));
    });
    // in the program's order, which the groups need not have
    llvm::sort(found, [](const auto &x, const auto &y) {
      return std::pair(x.line, x.col) != std::pair(y.line, y.col)
                 ? std::pair(x.line, x.col) < std::pair(y.line, y.col)
                 : x.id < y.id;
    });
    llvm::move(found, std::back_inserter(out));
  }
}

void Compilation::makeContextAndHandler() {
  context_ = idleContexts().take();
  handler_ = std::make_unique<ScopedDiagnosticHandler>(context_.get(), [this](mlir::Diagnostic &d) {
    report(d);
    return success();
  });
}

CompileStatus Compilation::beginWithIr(std::string_view source) {
  // An error in the IR is an error in the program: a person wrote or edited it.
  failure_ = CompileStatus::BadProgram;
  makeContextAndHandler();
  if (auto line = lineTooDeep(source)) {
    mlir::emitError(FileLineColLoc::get(context_.get(), options_.fileName, *line, 1))
        << "brackets nest deeper than " << kMaxIrDepth << " levels";
    return failure_;
  }
  module_ = parseSourceString<ModuleOp>(source, context_.get(), options_.fileName);
  if (!module_ || failed(checkIrText(*module_))) return passFailure("the IR does not parse");
  if (failed(checkProfiles(*module_, backendName(), target_->capabilities().fixesReductions)))
    return passFailure("the numerics profile is refused");
  // The schedule's passes keep every decision that they find, so Schedule IR enters the pipeline where Graph
  // IR does.
  if (module_->getOps<tile::KernelOp>().empty()) return CompileStatus::Ok;
  reached_ = Level::Tile;
  // Lowering trusts the plan of tiles in memory, so the plan is never read from text. Planning unedited IR
  // again changes nothing.
  PassManager pm(context_.get(), ModuleOp::getOperationName());
  pm.addNestedPass<tile::KernelOp>(createTileFuse());
  pm.addNestedPass<tile::KernelOp>(createTilePlanMemory());
  return succeeded(pm.run(*module_)) ? CompileStatus::Ok : passFailure("no places for the tiles");
}

/// Converts an error of MLIR to a diagnostic at the source line of its op.
void Compilation::report(mlir::Diagnostic &d) {
  // Warnings without a code come from MLIR and are about its IR.
  const bool isWarning = d.getSeverity() == DiagnosticSeverity::Warning && !codeOf(d).empty();
  if (d.getSeverity() != DiagnosticSeverity::Error && !isWarning) return;
  tessera::Diagnostic out;
  out.message = d.str();
  if (isWarning) {
    out.severity = tessera::Diagnostic::Severity::Warning;
    out.code = codeOf(d).str();
    out.file = options_.fileName;
    diags_.push_back(std::move(out));
    return;
  }
  bool unimplemented = out.message.find("TSR_UNIMPLEMENTED") != std::string::npos;
  failure_ = unimplemented ? CompileStatus::Unimplemented : CompileStatus::BackendFailure;
  out.code = unimplemented ? "E_UNIMPLEMENTED" : options_.isIr ? "E_IR_INVALID" : "E_INTERNAL";
  if (options_.isIr && !unimplemented) failure_ = CompileStatus::BadProgram;
  if (StringRef code = codeOf(d); !code.empty()) { // the pass found an error in the program
    out.code = code.str();
    failure_ = CompileStatus::BadProgram;
  }
  out.hint = hintOf(d);
  out.file = options_.fileName;
  if (auto where = d.getLocation()->findInstanceOf<FileLineColLoc>()) {
    out.line = std::max(where.getLine(), 1u); // the location of a whole text has line 0
    out.col = std::max(where.getColumn(), 1u);
    out.endCol = out.col + 1;
    if (where.getFilename() == options_.fileName)
      out.sourceLine = lineOf(source_, out.line);
    else
      out.file = where.getFilename().str(); // IR text has the name of its source in its locations
  }
  diags_.push_back(std::move(out));
}

CompileStatus Compilation::passFailure(const char *what) {
  bool said =
      llvm::any_of(diags_, [](const auto &d) { return d.severity == tessera::Diagnostic::Severity::Error; });
  return said ? failure_ : fail(CompileStatus::BackendFailure, "E_INTERNAL", what);
}

CompileStatus Compilation::advance(Level level) {
  if (reached_ < Level::Schedule && level >= Level::Schedule) setDecisions();
  PassManager pm(context_.get(), ModuleOp::getOperationName());
  PipelineOptions options{*target_, options_.printIrAfterAll};
  if (!options_.printIrAfterAll.empty())
    pm.addInstrumentation(makeSnapshots(options_.printIrAfterAll, snapshots_));
  for (int l = static_cast<int>(reached_) + 1; l <= static_cast<int>(level); ++l)
    addPassesTo(static_cast<Level>(l), pm, options);
  // Once per level, not once per pass: verifying everything costs about as much as a pass.
  pm.enableVerifier(!options_.printIrAfterAll.empty());
  if (level == Level::Target) target::setSourceFiles(*module_, options_.supplied.pieces);
  const bool ran = succeeded(pm.run(*module_));
  target::setSourceFiles(*module_, {});
  if (!ran || failed(verify(*module_))) return passFailure("a compiler pass failed without saying why");
  reached_ = level;
  return CompileStatus::Ok;
}

std::string Compilation::text() const {
  std::string out;
  llvm::raw_string_ostream stream(out);
  module_.get()->print(stream);
  stream << '\n';
  return out;
}

CompileStatus Compilation::entries(std::vector<BundleEntry> &out) {
  std::string why;
  Operation *unsound = nullptr;
  auto add = [&](Operation *info, StringRef name, EntryKind kind, StringRef metadata) {
    KernelMetadata meta;
    out.push_back({name.str(), kind, metadata.str()});
    // Only text that a person wrote can lead to an invalid document. Reading it back takes 3% of a
    // compilation.
    if (options_.isIr && !unsound && !KernelMetadata::fromYaml(out.back().metadata, meta, why))
      unsound = info;
  };
  module_.get()->walk([&](target::FunctionInfoOp info) {
    add(info, info.getFunction(), EntryKind::Function, info.getMetadata());
  });
  module_.get()->walk(
      [&](target::KernelInfoOp info) { add(info, info.getEntry(), EntryKind::Kernel, info.getMetadata()); });
  if (unsound) {
    mlir::emitError(unsound->getLoc()) << "the metadata it makes breaks a rule: " << why;
    return failure_;
  }
  if (out.empty())
    return fail(CompileStatus::BackendFailure, "E_INTERNAL", "the target module has no kernel");
  return CompileStatus::Ok;
}

CompileStatus Compilation::emitAssembly(std::string &text) {
  auto made = target_->emitAssembly(*image());
  if (!made) return backendFailure(made.error());
  text = std::move(*made);
  return CompileStatus::Ok;
}

CompileStatus Compilation::makeUnit(codegen::CodeUnit &out) {
  if (auto status = entries(out.entries); status != CompileStatus::Ok) return status;
  auto made = target_->emitObjects(image());
  if (!made) return backendFailure(made.error());
  out.objects = std::move(*made);
  return CompileStatus::Ok;
}

CompileStatus Compilation::emitObject(std::string &bytes) {
  codegen::CodeUnit unit;
  if (auto status = makeUnit(unit); status != CompileStatus::Ok) return status;
  auto joined = target_->joinObjects(std::move(unit.objects));
  if (!joined) return backendFailure(joined.error());
  bytes = std::move(*joined);
  return CompileStatus::Ok;
}

CompileStatus Compilation::backendFailure(const Error &error) {
  return fail(CompileStatus::BackendFailure, error.code,
              (error.code == "E_BACKEND" ? "LLVM could not compile the kernel: " : "") + error.message,
              error.hint);
}

OwningOpRef<ModuleOp> Compilation::image() const {
  OwningOpRef<ModuleOp> out = ModuleOp::create(UnknownLoc::get(context_.get()), "image");
  OpBuilder b = OpBuilder::atBlockEnd(out->getBody());
  module_.get()->walk([&](target::ModuleOp module) {
    for (Operation &op : module.getBody().front())
      if (!isa<target::KernelInfoOp, target::FunctionInfoOp>(op)) b.clone(op);
  });
  return out;
}

} // namespace tessera
