// The compile cache's files: blobs by 128-bit key in one directory, shared by any number of processes.
//
// An entry is one file: a header (magic, version, kind, key, length, checksum), then the bytes. It is written
// beside its place and renamed, so a reader sees all of it or nothing and takes no lock. An entry that is
// damaged in any way is no entry: it is deleted, and the next compilation writes it again.
//
// Static library tessera-cache. Thread-safe. Nothing here fails a compilation.
#pragma once
#include "core/bundle/Hash.h"
#include "core/support/Expected.h"
#include <optional>
#include <string>
#include <string_view>

namespace tessera::cache {

enum class Kind : uint32_t { Bundle = 1, Alias = 2, Signatures = 3, Files = 4 };

struct Statistics {
  uint64_t entries = 0, bytes = 0; // of whole files
};

class Store {
public:
  static constexpr uint64_t kDefaultLimit = uint64_t(1) << 30;

  /// `directory` is made on the first put. Empty: a store that keeps nothing.
  explicit Store(std::string directory, uint64_t limit = kDefaultLimit)
      : directory_(std::move(directory)), limit_(limit) {}
  /// As the environment, else the configuration file says: TESSERA_CACHE_DIR ("off": none), else
  /// XDG_CACHE_HOME/tessera, else HOME/.cache/tessera; at most TESSERA_CACHE_SIZE bytes (K, M, G may follow;
  /// 0 keeps nothing).
  static Store ofEnvironment();

  const std::string &directory() const { return directory_; }
  uint64_t limit() const { return limit_; }
  explicit operator bool() const { return !directory_.empty(); }

  /// The bytes put under `key`, and marks them as used now.
  std::optional<std::string> get(Hash128 key, Kind kind) const;
  /// E_OUTPUT_WRITE if they could not be kept. Deletes the entries unused the longest if the whole grows past
  /// the limit.
  MaybeError put(Hash128 key, Kind kind, std::string_view bytes) const;

  Statistics statistics() const;
  /// Deletes every entry; E_OUTPUT_WRITE if one is left.
  MaybeError clear() const;

private:
  void evict() const;
  std::string directory_;
  uint64_t limit_;
};

} // namespace tessera::cache
