#include "compiler/tile/IR/KernelVariants.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace tessera::tile {
namespace {

constexpr llvm::StringLiteral kTexts[] = {"name", "entry", "body", "order", "cost"};

/// The members of a variant in the order of kTexts.
template <class Variant> auto textsOf(Variant &v) {
  return std::array{&v.name, &v.entry, &v.body, &v.order, &v.cost};
}

} // namespace

ArrayAttr describeVariants(MLIRContext *context, const std::vector<MetadataVariant> &variants) {
  Builder b(context);
  SmallVector<Attribute> list;
  for (const MetadataVariant &v : variants) {
    NamedAttrList entry;
    for (auto [key, text] : llvm::zip_equal(kTexts, textsOf(v)))
      if (!text->empty()) entry.append(key, b.getStringAttr(*text));
    if (!v.when.empty()) entry.append("when", b.getStrArrayAttr(llvm::to_vector_of<StringRef>(v.when)));
    NamedAttrList params;
    for (const auto &[name, value] : v.params)
      params.append(name, b.getStringAttr(value));
    if (!params.empty()) entry.append("params", params.getDictionary(context));
    if (v.isPinned) entry.append("pinned", b.getUnitAttr());
    list.push_back(entry.getDictionary(context));
  }
  return b.getArrayAttr(list);
}

std::vector<MetadataVariant> variantsOf(Operation *kernel) {
  std::vector<MetadataVariant> out;
  auto list = kernel->getAttrOfType<ArrayAttr>(kVariants);
  if (!list) return out;
  for (auto entry : list.getAsRange<DictionaryAttr>()) {
    MetadataVariant &v = out.emplace_back();
    for (auto [key, text] : llvm::zip_equal(kTexts, textsOf(v)))
      if (auto value = entry.getAs<StringAttr>(key)) *text = value.str();
    if (auto when = entry.getAs<ArrayAttr>("when"))
      for (auto guard : when.getAsRange<StringAttr>())
        v.when.push_back(guard.str());
    if (auto params = entry.getAs<DictionaryAttr>("params"))
      for (NamedAttribute p : params)
        v.params.emplace_back(p.getName().str(), cast<StringAttr>(p.getValue()).str());
    v.isPinned = entry.contains("pinned");
  }
  return out;
}

bool isVariantList(Attribute attribute) {
  auto list = dyn_cast<ArrayAttr>(attribute);
  return list && llvm::all_of(list, [](Attribute value) {
           auto entry = dyn_cast<DictionaryAttr>(value);
           return entry && entry.getAs<StringAttr>("name") && llvm::all_of(entry, [](NamedAttribute part) {
                    const StringRef key = part.getName();
                    if (key == "when") {
                      auto guards = dyn_cast<ArrayAttr>(part.getValue());
                      return guards && llvm::all_of(guards, llvm::IsaPred<StringAttr>);
                    }
                    if (key == "params") {
                      auto params = dyn_cast<DictionaryAttr>(part.getValue());
                      return params && llvm::all_of(params, [](NamedAttribute p) {
                               return isa<StringAttr>(p.getValue());
                             });
                    }
                    return key == "pinned"
                               ? isa<UnitAttr>(part.getValue())
                               : llvm::is_contained(kTexts, key) && isa<StringAttr>(part.getValue());
                  });
         });
}

} // namespace tessera::tile
