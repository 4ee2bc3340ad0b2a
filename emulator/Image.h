// Emulated code: the shared object that compiler/codegen/emulate made of one GPU image.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::emulator {

/// An operation of the program, for reports.
struct Site {
  std::string file;
  int line = 0, column = 0;
  std::string operation; // "llvm.store"
  std::string place() const;
};

/// Immutable after it is loaded.
class Image {
public:
  /// What a lane does; `values` are the launch values, followed by the address of the workspace if there is
  /// one.
  using Entry = void (*)(const uint64_t *values);

  /// Fills `why` and returns null if the bytes are no emulated code for this processor. Runs no code of the
  /// image, but maps it, so load only images of trusted bundles.
  static std::shared_ptr<const Image> load(std::string_view bytes, std::string &why);
  ~Image();
  Image(const Image &) = delete;
  Image &operator=(const Image &) = delete;

  /// Null if there is no kernel of that symbol.
  Entry find(const std::string &symbol) const;
  const Site &site(int32_t number) const;

private:
  Image() = default;
  void *object_ = nullptr;
  std::vector<Site> sites_;
};

} // namespace tessera::emulator
