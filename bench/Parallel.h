// Distributes work over the cores: references in double precision would be slow otherwise.
#pragma once
#include <cstddef>
#include <functional>

namespace tessera::bench {

/// Calls body(i) once for each i in [0, count), on every core that the process may use. `body` must not
/// throw.
void forEachRow(size_t count, const std::function<void(size_t)> &body);

} // namespace tessera::bench
