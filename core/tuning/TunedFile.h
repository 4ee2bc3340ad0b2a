// The look-up file of tuned configurations (sdk/schema/tuned.fbs): written by `tsr tune`, read when something
// is compiled. Neither SQLite nor the compiler is needed to read it.
//
// Static library tessera-tuned. Thread-safe.
#pragma once
#include "core/support/Expected.h"
#include "core/tuning/TunedKey.h"
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// A configuration that measurements chose, and what it is for.
struct TunedRow {
  std::string kernel, arch, numerics, compiler; // core/tuning/TunedKey.h; a profile; a build id
  std::vector<std::string> when;                // conditions over the dims
  NamedValues values;                           // of all tunables
  double gain = 1;                              // median of default time / time
  bool operator==(const TunedRow &) const = default;
};

/// Returns the bytes of a file with these rows. Equal rows give equal bytes.
std::string writeTuned(const std::vector<TunedRow> &);
/// Reads the bytes of a file. Errors have code W_TUNED and a message that does not name the file.
Expected<std::vector<TunedRow>> readTuned(std::string_view bytes);

/// Returns the path of this process's file: TESSERA_TUNED ("off": none), else tessera/tuned.tsrt in
/// XDG_DATA_HOME, else in ~/.local/share. Empty: there is none.
std::string tunedPath();
/// Returns the directory of the user's own file and of the tuner's database; empty if there is none.
std::string tunedDirectory();

/// The rows of this process's file, or the error that it has. An absent file has no rows. The file is read
/// again if it was replaced.
struct TunedRows {
  std::vector<TunedRow> rows;
  MaybeError error; // names the file
};
std::shared_ptr<const TunedRows> tunedRows();

} // namespace tessera
