#include "core/tuning/TunedFile.h"
#include "core/bundle/Hash.h"
#include "core/config/Config.h"
#include "core/config/Names.h"
#include "core/metadata/Guard.h"
#include "core/support/Fork.h"
#include "core/support/InputFile.h"
#include "core/tuning/tuned_generated.h"
#include <algorithm>
#include <cstring>
#include <mutex>
#include <sys/stat.h>

namespace tessera {
namespace {

constexpr uint16_t kMajor = 1, kMinor = 0;
constexpr size_t kMostBytes = size_t{64} << 20;
constexpr size_t kPrefix = sizeof(flatbuffers::uoffset_t);

Error refuse(std::string message) {
  return {"W_TUNED", std::move(message), "tsr tune --export writes it again; TESSERA_TUNED=off ignores it"};
}

const fb::TunedTable *verified(const char *bytes, size_t size) {
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t *>(bytes), size, /*max_depth=*/8,
                                 /*max_tables=*/4'000'000);
  return fb::VerifySizePrefixedTunedTableBuffer(verifier) ? fb::GetSizePrefixedTunedTable(bytes) : nullptr;
}

size_t checksumOffset(const char *bytes, const fb::TunedTable *root) {
  return static_cast<size_t>(reinterpret_cast<const char *>(root->checksum()) - bytes);
}

Expected<TunedRow> copy(const fb::TunedRow &row) {
  TunedRow out{row.kernel()->str(), row.arch()->str(), row.numerics()->str(), row.compiler()->str(), {}, {},
               row.gain()};
  for (const flatbuffers::String *condition : *row.when()) {
    out.when.push_back(condition->str());
    if (Expected<Guard> guard = Guard::parse(out.when.back()); !guard)
      return refuse("condition '" + out.when.back() + "': " + guard.error().message);
  }
  for (const fb::TunedValue *value : *row.values())
    out.values.emplace_back(value->name()->str(), value->value());
  return out;
}

Expected<std::vector<TunedRow>> readAligned(const char *bytes, size_t size) {
  const std::string_view all(bytes, size);
  if (size < 12 || all.substr(8, 4) != fb::TunedTableIdentifier())
    return refuse(
        "not a look-up file of tuned configurations: the file identifier TSRT is missing at byte 8");
  flatbuffers::uoffset_t stated;
  std::memcpy(&stated, bytes, sizeof stated);
  if (size_t{stated} + kPrefix != size)
    return refuse("it has " + std::to_string(size) + " bytes, its header says " +
                  std::to_string(size_t{stated} + kPrefix));
  const fb::TunedTable *root = verified(bytes, size);
  if (!root) return refuse("an offset or a length inside points outside");
  if (root->major() != kMajor || root->minor() > kMinor)
    return refuse("its version is " + std::to_string(root->major()) + "." + std::to_string(root->minor()) +
                  ", this library reads " + std::to_string(kMajor) + ".0 to " + std::to_string(kMajor) + "." +
                  std::to_string(kMinor));
  const Hash128 sum = hashWithHole(all, checksumOffset(bytes, root));
  if (sum != Hash128{root->checksum()->low(), root->checksum()->high()})
    return refuse("the checksum does not agree with the contents");
  std::vector<TunedRow> out;
  for (const fb::TunedRow *row : *root->rows()) {
    Expected<TunedRow> read = copy(*row);
    if (!read) return read.error();
    out.push_back(std::move(*read));
  }
  return out;
}

/// What identifies the contents of a file.
struct Stamp {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = -1;
  timespec changed = {};
  bool operator==(const Stamp &o) const {
    return device == o.device && inode == o.inode && size == o.size && changed.tv_sec == o.changed.tv_sec &&
           changed.tv_nsec == o.changed.tv_nsec;
  }
};

struct Known {
  std::mutex mutex;
  HeldAcrossFork heldAcrossFork{mutex};
  std::string path;
  Stamp stamp;
  std::shared_ptr<const TunedRows> rows;
};

// Never destroyed: threads may compile after static destructors.
Known &known = *new Known;
const auto &none = *new auto(std::make_shared<const TunedRows>());

std::shared_ptr<const TunedRows> readPath(const std::string &path) {
  auto out = std::make_shared<TunedRows>();
  Expected<std::string> bytes = readFile(path, kMostBytes);
  if (!bytes) {
    out->error = refuse(path + ": " + bytes.error().message);
    return out;
  }
  Expected<std::vector<TunedRow>> rows = readTuned(*bytes);
  if (rows)
    out->rows = std::move(*rows);
  else
    out->error = Error{rows.error().code, path + ": " + rows.error().message, rows.error().hint};
  return out;
}

} // namespace

std::string writeTuned(const std::vector<TunedRow> &rows) {
  flatbuffers::FlatBufferBuilder b(4096);
  std::vector<flatbuffers::Offset<fb::TunedRow>> out;
  for (const TunedRow &row : rows) {
    std::vector<flatbuffers::Offset<fb::TunedValue>> values;
    for (const auto &[name, value] : row.values)
      values.push_back(fb::CreateTunedValue(b, b.CreateString(name), value));
    auto when = b.CreateVectorOfStrings(row.when);
    auto kernel = b.CreateString(row.kernel), arch = b.CreateString(row.arch);
    auto numerics = b.CreateString(row.numerics), compiler = b.CreateString(row.compiler);
    out.push_back(
        fb::CreateTunedRow(b, kernel, arch, numerics, compiler, when, b.CreateVector(values), row.gain));
  }
  const fb::Checksum none(0, 0);
  fb::FinishSizePrefixedTunedTableBuffer(b,
                                         fb::CreateTunedTable(b, kMajor, kMinor, b.CreateVector(out), &none));
  std::string bytes(reinterpret_cast<const char *>(b.GetBufferPointer()), b.GetSize());
  const size_t at = checksumOffset(bytes.data(), fb::GetSizePrefixedTunedTable(bytes.data()));
  const Hash128 sum = hashWithHole(bytes, at);
  const fb::Checksum sealed(sum.low, sum.high);
  std::memcpy(bytes.data() + at, &sealed, sizeof sealed);
  return bytes;
}

Expected<std::vector<TunedRow>> readTuned(std::string_view bytes) {
  if (bytes.size() > kMostBytes) return refuse("larger than " + std::to_string(kMostBytes) + " bytes");
  // FlatBuffers reads 64-bit words in place.
  std::vector<uint64_t> aligned(bytes.size() / sizeof(uint64_t) + 1);
  std::memcpy(aligned.data(), bytes.data(), bytes.size());
  return readAligned(reinterpret_cast<const char *>(aligned.data()), bytes.size());
}

std::string tunedDirectory() {
  std::string own = environment("XDG_DATA_HOME");
  if (!own.starts_with('/')) {
    own = environment("HOME");
    if (!own.starts_with('/')) return "";
    own += "/.local/share";
  }
  return own + "/tessera";
}

std::string tunedPath() {
  if (const std::string named = setting("TESSERA_TUNED").value; !named.empty())
    return named == "off" ? "" : named;
  const std::string directory = tunedDirectory();
  return directory.empty() ? "" : directory + "/tuned.tsrt";
}

std::shared_ptr<const TunedRows> tunedRows() {
  const std::string path = tunedPath();
  struct stat status = {};
  if (path.empty() || (::stat(path.c_str(), &status) != 0 && errno == ENOENT)) return none;
  const Stamp stamp{status.st_dev, status.st_ino, status.st_size, status.st_mtim};
  std::lock_guard lock(known.mutex);
  if (!known.rows || known.path != path || !(known.stamp == stamp)) {
    known.rows = readPath(path);
    known.path = path;
    known.stamp = stamp;
  }
  return known.rows;
}

} // namespace tessera
