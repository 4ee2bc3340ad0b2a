#include "python/core/Replays.h"
#include <algorithm>

namespace tessera::python {
namespace {

bool isFree(const Replay &r) {
  return std::ranges::all_of(r.results, [](const Ref &result) { return Py_REFCNT(result.get()) <= 2; });
}

} // namespace

std::shared_ptr<Replay> Replays::find(const Code &code, TypeKind kind, void *const *pointers,
                                      const uint64_t *scalars, const int64_t *dims) {
  std::vector<uint64_t> key = {reinterpret_cast<uint64_t>(&code), static_cast<uint64_t>(kind)};
  for (size_t i = 0; i < code.tensors; ++i)
    key.push_back(reinterpret_cast<uint64_t>(pointers[i]));
  for (size_t i = 0; i < code.scalars; ++i)
    key.push_back(scalars[code.tensors + code.results + i]);
  for (size_t i = 0; i < code.dims; ++i)
    key.push_back(static_cast<uint64_t>(dims[i]));
  auto first = [&](auto found) {
    std::rotate(list_.begin(), found, found + 1);
    return list_.front();
  };
  const auto usable = [&](const auto &r) { return r->key == key && (!r->graph || isFree(*r)); };
  if (auto found = std::ranges::find_if(list_, usable); found != list_.end()) return first(found);
  const bool isKnown = std::ranges::any_of(list_, [&](const auto &r) { return r->key == key; });
  if (list_.size() >= kMost) list_.pop_back();
  list_.insert(list_.begin(), std::make_shared<Replay>(Replay{std::move(key), {}, {}}));
  return isKnown ? list_.front() : nullptr;
}

} // namespace tessera::python
