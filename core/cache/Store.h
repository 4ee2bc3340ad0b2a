// The files of the compile cache: one directory of blobs with 128-bit keys, shared by any number of
// processes.
//
// An entry is one file: a header (magic, version, kind, key, length, checksum), then the bytes. It is written
// to a temporary file in the same directory and renamed, so a reader sees all of it or nothing and takes no
// lock. A damaged entry is deleted and counts as a miss; the next compilation writes it again.
//
// Static library tessera-cache. Thread-safe. No failure here makes a compilation fail.
#pragma once
#include "core/bundle/Hash.h"
#include "core/support/Expected.h"
#include <optional>
#include <string>
#include <string_view>

namespace tessera::cache {

enum class Kind : uint32_t { Bundle = 1, Alias = 2, Signatures = 3, Files = 4, Definition = 5 };

struct Statistics {
  uint64_t entries = 0, bytes = 0; // of whole files, including headers
};

class Store {
public:
  static constexpr uint64_t kDefaultLimit = uint64_t(1) << 30;

  /// Creates a store. The first put creates `directory`. If `directory` is empty, nothing is stored.
  explicit Store(std::string directory, uint64_t limit = kDefaultLimit)
      : directory_(std::move(directory)), limit_(limit) {}
  /// Returns the store given by the environment or the configuration file: TESSERA_CACHE_DIR ("off": none),
  /// else XDG_CACHE_HOME/tessera, else HOME/.cache/tessera. It holds about TESSERA_CACHE_SIZE bytes at most
  /// (suffix K, M or G; 0 keeps nothing).
  static Store ofEnvironment();

  const std::string &directory() const { return directory_; }
  uint64_t limit() const { return limit_; }
  explicit operator bool() const { return !directory_.empty(); }

  /// Returns the bytes stored under `key` and marks the entry as used. Returns nullopt if there is no valid
  /// entry of that kind.
  std::optional<std::string> get(Hash128 key, Kind kind) const;
  /// Stores `bytes`. Returns E_OUTPUT_WRITE on failure. Deletes the least recently used entries when it finds
  /// that the total size exceeds the limit. It does not look each time: the limit may be exceeded by a few
  /// hundredths.
  MaybeError put(Hash128 key, Kind kind, std::string_view bytes) const;

  Statistics statistics() const;
  /// Deletes every entry. Returns E_OUTPUT_WRITE if one could not be deleted.
  MaybeError clear() const;

private:
  bool looksForSpace(Hash128 key, uint64_t bytes) const;
  void evict() const;
  std::string directory_;
  uint64_t limit_;
};

} // namespace tessera::cache
