// Work spread over the cores: references in double precision are slow otherwise.
#pragma once
#include <cstddef>
#include <functional>

namespace tessera::bench {

/// Calls body(i) for i in [0, count), once each, on every core the process may use; `body` must not throw.
void forEachRow(size_t count, const std::function<void(size_t)> &body);

} // namespace tessera::bench
