// lld in this process: an object file in memory becomes a shared object in memory.
#pragma once
#include <string>
#include <string_view>

namespace tessera::emit {

/// Links one ELF object into a shared object, every symbol resolved. False with lld's words when it cannot.
/// Any thread may call it; calls run one after the other, since lld keeps global state.
[[nodiscard]] bool linkShared(std::string_view object, std::string &image, std::string &why);

} // namespace tessera::emit
