#include "compiler/pipeline/Snapshots.h"
#include "core/support/OutputFile.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tessera {
namespace {

class Snapshots : public PassInstrumentation {
public:
  Snapshots(std::string directory, int &count) : directory_(std::move(directory)), count_(count) {}

  void runAfterPass(Pass *pass, Operation *op) override {
    StringRef name = pass->getArgument();
    if (name.empty()) // an adaptor of nested pass managers
      return;
    std::string path;
    llvm::raw_string_ostream(path) << directory_ << '/' << llvm::format("%03d", ++count_) << '-' << name
                                   << ".mlir";
    Operation *root = op;
    while (root->getParentOp())
      root = root->getParentOp();
    std::string text;
    llvm::raw_string_ostream stream(text);
    root->print(stream, OpPrintingFlags().enableDebugInfo(false));
    stream << '\n';
    OutputFile file;
    MaybeError error = file.open(path, OutputFile::Pipe::Refuse);
    if (!error) error = file.write(text);
    if (!error) error = file.commit();
    if (error) op->emitWarning() << "cannot write " << path << ": " << error->message;
  }

private:
  std::string directory_;
  int &count_;
};

} // namespace

std::unique_ptr<PassInstrumentation> makeSnapshots(std::string directory, int &count) {
  return std::make_unique<Snapshots>(std::move(directory), count);
}

} // namespace tessera
