#include "compiler/pipeline/OrderOfSums.h"
#include "compiler/pipeline/Compilation.h"
#include "compiler/tile/IR/TileDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "numerics/NumericsProfile.h"

using namespace mlir;

namespace tessera {
namespace {

bool isFloat(Type type) { return isa<FloatType>(getElementTypeOrSelf(type)); }

/// What the order of sums follows from, as text: each reduction, scan and product of floats with the types of
/// its operands, and the step of each loop that carries floats from one iteration to the next.
std::string orderOfSums(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto reduce = dyn_cast<tile::ReduceOp>(op); reduce && isFloat(reduce.getInput().getType()))
      out << "reduce " << tile::stringifyReduceKind(reduce.getKind()) << ' ' << reduce.getInput().getType()
          << ' ' << reduce.getAxis() << ' ' << reduce.getOrderAttr() << '\n';
    else if (auto scan = dyn_cast<tile::ScanOp>(op); scan && isFloat(scan.getInput().getType()))
      out << "scan " << tile::stringifyScanKind(scan.getKind()) << ' ' << scan.getInput().getType() << ' '
          << scan.getAxis() << '\n';
    else if (auto mma = dyn_cast<tile::MmaOp>(op); mma && isFloat(mma.getAcc().getType()))
      out << "mma " << mma.getA().getType() << ' ' << mma.getB().getType() << '\n';
    else if (auto loop = dyn_cast<LoopLikeOpInterface>(op)) {
      if (llvm::none_of(loop.getRegionIterArgs(), [](Value v) { return isFloat(v.getType()); })) return;
      out << "loop";
      if (auto serial = dyn_cast<scf::ForOp>(op))
        out << ' ' << getConstantIntValue(serial.getStep()).value_or(0);
      out << '\n';
    }
  });
  return text;
}

/// nullopt: it does not compile.
std::optional<std::string> orderOf(std::string_view source, CompileOptions options) {
  std::vector<Diagnostic> unsaid; // the compilation proper reports errors and warnings
  options.tuned.clear();
  options.embedIr.clear();
  options.printIrAfterAll.clear();
  Compilation c(std::move(options), unsaid);
  if (c.begin(source) != CompileStatus::Ok || c.advance(Level::Tile) != CompileStatus::Ok)
    return std::nullopt;
  return orderOfSums(c.module());
}

} // namespace

void dropReorderedBodies(std::string_view source, CompileOptions &options, std::vector<Diagnostic> &diags) {
  const NumericsPermissions *builtin = builtinProfile(options.numerics);
  const NumericsPermissions permits = options.permits ? *options.permits
                                      : builtin       ? *builtin
                                                      : NumericsPermissions();
  if (permits.unorderedAtomics || !options.tunables.empty()) return;
  std::erase_if(options.tuned, [&](const TunedBody &body) {
    CompileOptions one = options;
    one.kernels = {body.kernel};
    one.targets = {body.target};
    const std::optional<std::string> general = orderOf(source, one);
    one.tunables = body.values;
    const std::optional<std::string> tuned = orderOf(source, std::move(one));
    if (!general || !tuned || *general == *tuned) return false;
    Diagnostic d;
    d.severity = Diagnostic::Severity::Warning;
    d.code = "W_TUNED";
    d.file = options.fileName;
    d.message = body.kernel + " is not compiled with its tuned configuration";
    for (const auto &[name, value] : body.values)
      d.message += " " + name + "=" + std::to_string(value);
    d.message += ": it adds in another order, which numerics profile " + options.numerics + " fixes";
    d.hint = "the default is used";
    diags.push_back(std::move(d));
    return true;
  });
}

} // namespace tessera
