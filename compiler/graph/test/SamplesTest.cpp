// Every sample from source text through phases 1 and 2: valid at each level, and its text reads back as
// itself.
#include "compiler/frontend/Frontend.h"
#include "compiler/graph/Import/Import.h"
#include "compiler/pipeline/Passes.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "gtest/gtest.h"
#include <filesystem>
#include <fstream>
#include <sstream>

namespace tessera {
namespace {

std::string textOf(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module.print(out);
  return text;
}

void expectSound(mlir::ModuleOp module, const char *level) {
  ASSERT_TRUE(succeeded(mlir::verify(module))) << level;
  std::string text = textOf(module);
  auto again = mlir::parseSourceString<mlir::ModuleOp>(text, module.getContext());
  ASSERT_TRUE(again) << level << "\n" << text;
  EXPECT_EQ(textOf(*again), text) << level;
}

class Samples : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(Samples, AreSoundUpToTileIr) {
  std::ifstream file(GetParam());
  std::stringstream source;
  source << file.rdbuf();
  std::vector<Diagnostic> diags;
  std::vector<Signature> kernels;
  ASSERT_EQ(frontend::signatures(source.str(), GetParam().filename(), kernels, diags), CompileStatus::Ok);
  for (const Signature &signature : kernels) {
    SCOPED_TRACE(signature.kernel);
    frontend::FrontendOptions options;
    options.kernel = signature.kernel;
    if (signature.isGraphFunction) {
      frontend::Program program;
      CompileStatus status = frontend::compileToProgram(source.str(), options, program, diags);
      if (status != CompileStatus::Ok &&
          diags.front().code == "E_DIM_NOT_STATIC") { // an extent of a kernel's tile
        for (const std::string &dim : signature.dims)
          options.dims.emplace_back(dim, 64);
        diags.clear();
        status = frontend::compileToProgram(source.str(), options, program, diags);
      }
      ASSERT_EQ(status, CompileStatus::Ok) << render(diags.front(), false);
      mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
      auto module = graph::importGraph(context, std::get<frontend::GraphFunction>(program),
                                       GetParam().filename(), "standard");
      ASSERT_TRUE(module);
      expectSound(*module, "graph");
      continue;
    }
    for (const std::string &dim : signature.dims)
      options.dims.emplace_back(dim, 64);
    frontend::Kernel kernel;
    ASSERT_EQ(frontend::compileToProgram(source.str(), options, kernel, diags), CompileStatus::Ok)
        << render(diags.front(), false);

    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    auto module = graph::importKernel(context, kernel, GetParam().filename(), "standard");
    ASSERT_TRUE(module);
    expectSound(*module, "import");
    mlir::PassManager pm(&context);
    pm.addPass(mlir::createCanonicalizerPass());
    pm.addNestedPass<schedule::KernelOp>(createGraphSinkIndexCasts());
    pm.addPass(mlir::createCSEPass());
    pm.addNestedPass<schedule::KernelOp>(createScheduleDecide());
    ASSERT_TRUE(succeeded(pm.run(*module)));
    expectSound(*module, "schedule");
    mlir::PassManager expand(&context);
    expand.addPass(createScheduleExpand());
    expand.addPass(mlir::createCanonicalizerPass());
    expand.addPass(mlir::createCSEPass());
    ASSERT_TRUE(succeeded(expand.run(*module)));
    expectSound(*module, "tile");
  }
}

std::vector<std::filesystem::path> sampleFiles() {
  std::vector<std::filesystem::path> files;
  std::filesystem::recursive_directory_iterator entries(TESSERA_SAMPLES_DIR);
  for (const auto &entry : entries) {
    if (entry.path().filename() == "python") entries.disable_recursion_pending(); // programs of CPython
    if ((entry.path().extension() == ".py" && entry.path().filename() != "check.py") ||
        entry.path().extension() == ".tsr")
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

INSTANTIATE_TEST_SUITE_P(All, Samples, ::testing::ValuesIn(sampleFiles()),
                         [](const auto &info) { return info.param.parent_path().filename().string(); });

} // namespace
} // namespace tessera
