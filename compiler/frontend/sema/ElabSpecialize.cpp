// `@ts.op.specialize(when={"backend": "rocm"}, use={"tile_sizes": [128, 128, 32]})` of a graph function: a
// request for some backends, which changes how fast the function's products are and never what they give.
#include "compiler/frontend/sema/Elaborator.h"
#include "compiler/frontend/sema/ModuleData.h"

namespace tessera::frontend {
namespace {

constexpr std::string_view kWhen[] = {"backend", "arch"};
constexpr std::string_view kUse[] = {"tile_sizes"};
constexpr size_t kTileRank = 3;
constexpr int64_t kMostTileElements = 1 << 18; // as schedule.group has it

std::string keysText(std::span<const std::string_view> keys) {
  std::string out;
  for (std::string_view key : keys)
    out += (out.empty() ? "\"" : ", \"") + std::string(key) + "\"";
  return out;
}

} // namespace

const std::vector<ast::Keyword> *dictItems(const ast::Expr &e) {
  const bool isDict = e.kind == ast::Expr::Dict ||
                      (e.kind == ast::Expr::Call && e.items.size() == 1 && dottedName(*e.items[0]) == "dict");
  return isDict && !e.keywords.empty() ? &e.keywords : nullptr;
}

/// Reads one decorator; false: it has errors, which are reported.
bool Elaborator::readSpecialization(const ast::Expr &decorator, Specialization &out) {
  const char *form =
      "write @ts.op.specialize(when={\"backend\": \"rocm\"}, use={\"tile_sizes\": [128, 128, 32]})";
  const ast::Expr *when = nullptr, *use = nullptr;
  if (decorator.kind == ast::Expr::Call)
    for (const ast::Keyword &k : decorator.keywords)
      (k.name == "when" ? when : use) = k.name == "when" || k.name == "use" ? k.value.get() : nullptr;
  if (!when || !use || decorator.items.size() != 1 || decorator.keywords.size() != 2) {
    fail(Code::E_DECORATOR, decorator.loc, "@ts.op.specialize takes two arguments, when= and use=", form);
    return false;
  }
  auto items = [&](const ast::Expr &e, std::span<const std::string_view> keys,
                   const char *what) -> const std::vector<ast::Keyword> * {
    const std::vector<ast::Keyword> *found = dictItems(e);
    if (!found) fail(Code::E_DECORATOR, e.loc, std::string(what) + "= is a dict and not empty", form);
    for (size_t i = 0; found && i < found->size(); ++i) {
      const ast::Keyword &k = (*found)[i];
      const auto isSame = [&](const ast::Keyword &other) { return other.name == k.name; };
      const bool isKnown = std::ranges::find(keys, k.name) != keys.end();
      if (isKnown && std::ranges::find_if(*found, isSame) == found->begin() + static_cast<ptrdiff_t>(i))
        continue;
      fail(Code::E_DECORATOR, k.loc,
           std::string(what) + "= " + (isKnown ? "has '" + k.name + "' twice" : "has no '" + k.name + "'"),
           std::string("the keys of ") + what + "= are " + keysText(keys));
      found = nullptr;
    }
    return found;
  };
  const std::vector<ast::Keyword> *conditions = items(*when, kWhen, "when");
  const std::vector<ast::Keyword> *requests = items(*use, kUse, "use");
  if (!conditions || !requests) return false;

  for (const ast::Keyword &k : *conditions) {
    if (k.value->kind != ast::Expr::Str || k.value->text.empty()) {
      fail(Code::E_DECORATOR, k.value->loc, "'" + k.name + "' of when= is a name in quotes",
           k.name == "backend" ? "as \"cpu\", \"ptx\", \"rocm\" or \"levelzero\"" : "as \"sm_90\"");
      return false;
    }
    (k.name == "backend" ? out.backend : out.arch) = k.value->text;
  }
  const ast::Expr &sizes = *requests->front().value;
  const Value list = evaluate(sizes);
  if (list.isError()) return false;
  if (list.kind != Value::Tuple || list.items.size() != kTileRank ||
      !std::ranges::all_of(list.items, [](const Value &v) { return v.isConstInt(); })) {
    fail(Code::E_DECORATOR, sizes.loc,
         "tile_sizes are three integers, the rows, columns and depth of a product's tile, found " +
             describe(list),
         "as [128, 128, 32]");
    return false;
  }
  for (size_t i = 0; i < kTileRank; ++i) {
    const int64_t size = list.items[i].intValue;
    bool fits = size >= 1 && size <= kMostTileElements;
    for (size_t j = 0; fits && j < i; ++j)
      fits = out.tileSizes[j] * size <= kMostTileElements;
    if (!fits) {
      fail(Code::E_DECORATOR, sizes.loc,
           "tile_sizes are at least 1, and no two of them multiply to more than " +
               std::to_string(kMostTileElements),
           "as [128, 128, 32]");
      return false;
    }
    out.tileSizes[i] = size;
  }
  return true;
}

void Elaborator::declareSpecializations(const FunctionDecl &f) {
  for (const ast::Expr *decorator : f.specialize) {
    if (f.kind != FunctionDecl::Graph) {
      fail(Code::E_DECORATOR, decorator->loc,
           "@ts.op.specialize is for graph functions, and '" + f.stmt->text + "' is a kernel",
           "the tile of a kernel is in its text: make its extents tunables with @ts.kernel.autotune");
      continue;
    }
    Specialization one;
    if (readSpecialization(*decorator, one)) specializations_.push_back(std::move(one));
  }
}

std::vector<Specialization> Elaborator::specializationsInForce() const {
  std::vector<Specialization> out;
  for (auto it = frames_.rbegin(); it != frames_.rend(); ++it)
    out.insert(out.end(), (*it)->specializations.begin(), (*it)->specializations.end());
  return out;
}

} // namespace tessera::frontend
