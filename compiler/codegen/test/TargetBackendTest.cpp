// The registry of targets: names, aliases, refusals, threads.
#include "compiler/codegen/TargetBackend.h"
#include <gmock/gmock.h>
#include <set>
#include <thread>

namespace tessera::codegen {
namespace {

using testing::HasSubstr;

/// Every name that a backend offers, of every backend.
std::vector<std::string> allNames() {
  std::vector<std::string> names;
  for (const TargetBackend *backend : targetBackends())
    for (std::string &name : backend->targetNames())
      names.push_back(std::move(name));
  return names;
}

TEST(TargetBackends, HaveNamesOfTheirOwnAndTheCpuIsFirst) {
  ASSERT_GE(targetBackends().size(), 2u);
  EXPECT_EQ(targetBackends().front()->name(), "cpu");
  std::set<std::string> names;
  for (const TargetBackend *backend : targetBackends()) {
    EXPECT_TRUE(names.insert(backend->name().str()).second) << backend->name().str();
    for (llvm::StringRef alias : backend->aliases())
      EXPECT_TRUE(names.insert(alias.str()).second) << alias.str();
    EXPECT_FALSE(backend->targetNames().empty()) << backend->name().str();
  }
}

TEST(FindTarget, EveryOfferedNameIsATargetOfItsBackend) {
  for (const TargetBackend *backend : targetBackends())
    for (const std::string &name : backend->targetNames()) {
      auto found = findTarget(name);
      ASSERT_TRUE(bool(found)) << name << ": " << found.error().message;
      EXPECT_EQ(&(*found)->backend(), backend);
      EXPECT_EQ((*found)->name(), name);
      EXPECT_TRUE(llvm::StringRef((*found)->imageName()).starts_with(backend->name().str() + ":")) << name;
    }
}

TEST(FindTarget, AnAliasIsTheSameTargetByItsOwnName) {
  int aliases = 0;
  for (const TargetBackend *backend : targetBackends())
    for (llvm::StringRef alias : backend->aliases()) {
      const std::string name = backend->targetNames().back();
      auto found = findTarget(alias.str() + name.substr(name.find(':')));
      ASSERT_TRUE(bool(found)) << alias.str();
      EXPECT_EQ((*found)->name(), name);
      ++aliases;
    }
  EXPECT_GT(aliases, 0);
}

TEST(FindTarget, AnUnknownBackendIsRefusedWithEveryTarget) {
  for (const char *text : {"", "gpu", "gpu:v1", ":", "CPU", " cpu"}) {
    auto found = findTarget(text);
    ASSERT_FALSE(bool(found)) << text;
    EXPECT_EQ(found.error().code, "E_TARGET_UNKNOWN");
    EXPECT_THAT(found.error().message, HasSubstr("'" + std::string(text) + "'"));
    for (const TargetBackend *backend : targetBackends())
      EXPECT_THAT(found.error().hint, HasSubstr(backend->targets())) << text;
  }
}

TEST(FindTarget, ASlipOfThePenIsNamed) {
  for (const TargetBackend *backend : targetBackends()) {
    const std::string name = backend->name().str();
    auto found = findTarget(name + "x");
    ASSERT_FALSE(bool(found)) << name;
    EXPECT_THAT(found.error().hint, HasSubstr("did you mean " + name + "?"));
  }
}

TEST(FindTarget, AnUnknownArchitectureIsRefusedWithThoseOfItsBackend) {
  for (const TargetBackend *backend : targetBackends())
    for (const char *architecture : {":", ":no_such_processor"}) {
      const std::string text = backend->name().str() + architecture;
      auto found = findTarget(text);
      ASSERT_FALSE(bool(found)) << text;
      EXPECT_EQ(found.error().code, "E_TARGET_UNKNOWN");
      EXPECT_THAT(found.error().message, HasSubstr("target '" + text + "'"));
      if (backend != targetBackends().front()) // LLVM's processors are too many to list
        EXPECT_THAT(found.error().message + found.error().hint, HasSubstr(backend->targets()));
    }
}

TEST(FindTarget, GivesEveryThreadTheSameObject) {
  const std::vector<std::string> names = allNames();
  std::vector<std::vector<const Target *>> found(8);
  std::vector<std::thread> threads;
  for (auto &mine : found)
    threads.emplace_back([&] {
      for (const std::string &name : names)
        mine.push_back(*findTarget(name));
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const auto &other : found)
    EXPECT_EQ(other, found.front());
  EXPECT_EQ(std::set(found[0].begin(), found[0].end()).size(), names.size());
}

/// Tiles of wgmma's 64 rows leave no shared memory for the factors of wide heads.
TEST(ProposeTile, WideHeadsHaveFewRows) {
  TileRequest request{schedule::GroupKind::Attention, 3, std::nullopt, 256};
  request.product = DType::F16;
  const Target &target = **findTarget("ptx:sm_90a");
  EXPECT_EQ(target.proposeTile(request)[0], 128);
  for (int64_t columns : {257, 320, 512}) {
    request.columns = columns;
    EXPECT_EQ(target.proposeTile(request)[0], 32) << columns;
  }
}

/// One row is not multiplied with 63 others. More rows than an instruction has share a tile.
TEST(ProposeTile, FewRowsAreThoseOfAnInstruction) {
  for (const char *name : {"ptx:sm_80", "ptx:sm_90a", "ptx:sm_100a", "ptx:sm_120"})
    for (DType product : {DType::BF16, DType::F8E4M3}) {
      const Target &target = **findTarget(name);
      TileRequest request{schedule::GroupKind::Matmul, 2, 1, 4096};
      request.product = product;
      if (product != DType::BF16 && llvm::StringRef(name) == "ptx:sm_80")
        continue; // has no instruction for it
      for (int64_t rows : {1, 7, 16}) {
        request.rows = rows;
        EXPECT_EQ(target.proposeTile(request)[0], 16) << name;
      }
      for (int64_t rows : {17, 64, 4096}) {
        request.rows = rows;
        EXPECT_GT(target.proposeTile(request)[0], 16) << name;
      }
      request.rows = std::nullopt;
      EXPECT_GE(target.proposeTile(request)[0], 64) << name;
    }
}

} // namespace
} // namespace tessera::codegen
