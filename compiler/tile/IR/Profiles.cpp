#include "compiler/tile/IR/Profiles.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace tessera {
namespace {

std::string_view view(StringRef text) { return {text.data(), text.size()}; }

/// Returns false, with the reason in `why`, if `list` is not a list of permissions.
bool read(Attribute list, NumericsPermissions &out, std::string &why) {
  auto array = dyn_cast<ArrayAttr>(list);
  if (!array) return why = "is no list of permissions", false;
  std::vector<std::string> names;
  for (Attribute name : array) {
    auto text = dyn_cast<StringAttr>(name);
    if (!text) return why = "has a permission that is no text", false;
    names.push_back(text.str());
  }
  std::string unknown;
  if (parsePermissions(names, out, unknown)) return true;
  why = "has the unknown permission '" + unknown + "'";
  return false;
}

} // namespace

/// An inherent attribute of kernels and functions of three dialects. This file does not know two of them.
constexpr llvm::StringLiteral kNumerics = "numerics";

void setProfile(ModuleOp module, StringRef name, const NumericsPermissions &permits) {
  Builder b(module.getContext());
  SmallVector<Attribute> names;
  for (const std::string &permission : permissionNames(permits))
    names.push_back(b.getStringAttr(permission));
  module->setAttr(kProfiles, b.getDictionaryAttr(b.getNamedAttr(name, b.getArrayAttr(names))));
}

StringRef profileOf(Operation *kernel) {
  auto name = kernel->getAttrOfType<StringAttr>(kNumerics);
  return name ? name.getValue() : StringRef("standard");
}

arith::FastMathFlags relaxationsOf(const NumericsPermissions &permits) {
  using enum arith::FastMathFlags;
  if (!permits.reassociation) return none;
  return reassoc | (permits.contraction ? contract : none) | (permits.approximate ? arcp : none);
}

std::optional<NumericsPermissions> permitsOf(Operation *kernel) {
  const StringRef name = profileOf(kernel);
  if (const NumericsPermissions *builtin = builtinProfile(view(name))) return *builtin;
  auto module = kernel->getParentOfType<ModuleOp>();
  auto table = module ? module->getAttrOfType<DictionaryAttr>(kProfiles) : DictionaryAttr();
  NumericsPermissions out;
  std::string why;
  Attribute list = table ? table.get(name) : Attribute();
  return list && read(list, out, why) ? std::optional(out) : std::nullopt;
}

LogicalResult checkProfileTable(ModuleOp module) {
  Attribute attribute = module->getAttr(kProfiles);
  if (!attribute) return success();
  auto table = dyn_cast<DictionaryAttr>(attribute);
  if (!table) return module.emitError() << kProfiles << " is no dictionary of profiles";
  for (NamedAttribute row : table) {
    NumericsPermissions permits;
    std::string why;
    const NumericsPermissions *builtin = builtinProfile(view(row.getName().getValue()));
    if (!isProfileName(view(row.getName().getValue())))
      why = "is no profile's name";
    else if (read(row.getValue(), permits, why) && builtin && *builtin != permits)
      why = "is built in and permits something else";
    if (!why.empty()) return module.emitError() << kProfiles << ": " << row.getName() << " " << why;
  }
  return success();
}

} // namespace tessera
