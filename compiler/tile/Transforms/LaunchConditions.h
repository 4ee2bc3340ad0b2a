// Conditions of launches on the addresses and sizes of tensors, under which a variant of a kernel runs
// (core/metadata/Guard.h).
#pragma once
#include "compiler/tile/IR/TileDialect.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include <optional>
#include <string>
#include <vector>

namespace tessera::tile {

inline std::optional<int64_t> numberOf(llvm::StringRef text) {
  int64_t number = 0;
  return text.getAsInteger(10, number) ? std::nullopt : std::optional(number);
}

/// Is it a number, or a dim of the kernel?
inline bool isKnownSize(KernelOp kernel, llvm::StringRef text) {
  return numberOf(text) || llvm::any_of(kernel.getParams().getAsRange<ParamAttr>(), [&](ParamAttr p) {
           return p.getKind() == ParamKind::Dim && p.getName() == text;
         });
}

/// Conditions on sizes: kept if they depend on the launch.
class LaunchConditions {
public:
  /// "K % 8 == 0"
  void add(llvm::StringRef size, const llvm::Twine &rest, bool holds) {
    if (!numberOf(size))
      addText((size + rest).str());
    else
      isPossible_ &= holds;
  }
  void addText(std::string text) {
    if (!llvm::is_contained(list_, text)) list_.push_back(std::move(text));
  }
  /// No launch fulfils them.
  bool isPossible() const { return isPossible_; }
  const std::vector<std::string> &list() const { return list_; }

private:
  std::vector<std::string> list_;
  bool isPossible_ = true;
};

} // namespace tessera::tile
