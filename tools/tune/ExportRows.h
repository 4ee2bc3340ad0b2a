// Writes the look-up file of a database that is open.
#pragma once
#include "tools/tune/Database.h"

namespace tessera::tune {

/// Replaces the look-up file by the choices of the database, of which `count` becomes the number. Does
/// nothing if `path` is empty.
[[nodiscard]] MaybeError exportRows(TuneDatabase &, const std::string &path, size_t &count);

} // namespace tessera::tune
