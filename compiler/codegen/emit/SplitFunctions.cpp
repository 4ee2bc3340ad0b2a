#include "compiler/codegen/emit/SplitFunctions.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <tuple>

namespace tessera::emit {
namespace {

using namespace mlir;

using Globals = SmallVector<LLVM::GlobalOp>;

constexpr int64_t kPartOperations = 500; // a smaller part would cost more to set up than it saves
constexpr int64_t kParts = 8;

struct Function {
  LLVM::LLVMFuncOp op;
  int64_t operations = 0, index = 0;
  Globals globals = {}; // that it alone uses, such as the shared memory of a kernel
};

int64_t operationsIn(Operation *op) {
  int64_t count = 0;
  op->walk([&](Operation *) { ++count; });
  return count;
}

/// Returns the name of the function that `op` calls or takes the address of; empty if it does neither.
StringRef functionOf(Operation *op) {
  if (auto call = dyn_cast<LLVM::CallOp>(op)) return call.getCallee().value_or("");
  auto address = dyn_cast<LLVM::AddressOfOp>(op);
  return address ? address.getGlobalName() : StringRef();
}

bool isInternal(const Function &f) {
  const LLVM::Linkage linkage = LLVM::LLVMFuncOp(f.op).getLinkage();
  return linkage == LLVM::Linkage::Internal || linkage == LLVM::Linkage::Private;
}

/// Turns internal functions into hidden ones, which every part may call.
void exposeInternals(ModuleOp module, ArrayRef<Function> functions) {
  std::string suffix;
  for (Function f : functions)
    if (suffix.empty() && f.op.getLinkage() == LLVM::Linkage::External) suffix = "." + f.op.getName().str();
  llvm::DenseMap<StringRef, FlatSymbolRefAttr> renamed;
  for (Function f : functions) {
    if (!isInternal(f)) continue;
    auto before = f.op.getSymNameAttr();
    auto name = StringAttr::get(module.getContext(), before.getValue() + suffix);
    renamed[before.getValue()] = FlatSymbolRefAttr::get(name);
    SymbolTable::setSymbolName(f.op, name);
    f.op.setLinkage(LLVM::Linkage::External);
    f.op.setVisibility_(LLVM::Visibility::Hidden);
  }
  // Only calls and addresses refer to functions. MLIR's own replacement visits every attribute, once per
  // name.
  module.walk([&](Operation *op) {
    auto to = renamed.find(functionOf(op));
    if (to == renamed.end()) return;
    if (auto call = dyn_cast<LLVM::CallOp>(op)) call.setCalleeAttr(to->second);
    if (auto address = dyn_cast<LLVM::AddressOfOp>(op)) address.setGlobalNameAttr(to->second);
  });
}

/// Declares in `part` the functions of other parts that it uses.
void declareCallees(ModuleOp part, SymbolTable &all) {
  llvm::SmallPtrSet<Operation *, 8> declared;
  OpBuilder b = OpBuilder::atBlockBegin(part.getBody());
  part.walk([&](Operation *op) {
    StringRef name = functionOf(op);
    if (name.empty()) return;
    auto callee = all.lookup<LLVM::LLVMFuncOp>(name);
    if (!callee || callee->getParentOp() == part || !declared.insert(callee).second) return;
    b.insert(callee.cloneWithoutRegions());
  });
}

/// Gives each global to the function that uses it. Returns false if there is not one such function.
bool assignGlobals(ModuleOp module, MutableArrayRef<Function> functions) {
  llvm::DenseMap<StringRef, Function *> users;
  for (Function &f : functions)
    f.op.walk([&](LLVM::AddressOfOp address) {
      auto [known, isNew] = users.try_emplace(address.getGlobalName(), &f);
      if (!isNew && known->second != &f) known->second = nullptr;
    });
  for (auto global : module.getOps<LLVM::GlobalOp>()) {
    Function *user = users.lookup(global.getSymName());
    if (!user || global.getInitializerBlock()) return false;
    user->globals.push_back(global);
  }
  return true;
}

} // namespace

std::vector<OwningOpRef<ModuleOp>> splitFunctions(OwningOpRef<ModuleOp> module, bool keepsCallees) {
  std::vector<OwningOpRef<ModuleOp>> parts;
  std::vector<Function> functions;
  int64_t total = 0;
  for (Operation &op : *module->getBody()) {
    auto f = dyn_cast<LLVM::LLVMFuncOp>(op);
    if (!f && !isa<LLVM::GlobalOp>(op)) {
      functions.clear();
      break;
    }
    if (!f || f.isExternal()) continue;
    functions.push_back({f, operationsIn(f), int64_t(functions.size())});
    total += functions.back().operations;
  }
  if (keepsCallees && llvm::any_of(functions, isInternal)) functions.clear();
  const int64_t count = std::min<int64_t>({kParts, total / kPartOperations, int64_t(functions.size())});
  if (count < 2 || !assignGlobals(*module, functions)) {
    parts.push_back(std::move(module));
    return parts;
  }
  exposeInternals(*module, functions);
  SymbolTable all(*module); // finds functions by name wherever they are moved

  std::vector<int64_t> load(count, 0);
  for (int64_t i = 0; i < count; ++i)
    parts.push_back(ModuleOp::create(module->getLoc(), module->getName()));
  llvm::sort(functions, [](const Function &a, const Function &b) {
    return std::tie(b.operations, a.index) < std::tie(a.operations, b.index);
  });
  for (const Function &f : functions) {
    auto least = llvm::min_element(load);
    *least += f.operations;
    Block *body = parts[least - load.begin()]->getBody();
    for (LLVM::GlobalOp global : f.globals)
      global->moveBefore(body, body->end());
    f.op->moveBefore(body, body->end());
  }
  for (auto &part : parts)
    declareCallees(*part, all);
  return parts;
}

} // namespace tessera::emit
