#include "core/bundle/Bundle.h"
#include "core/bundle/Hash.h"
#include "core/bundle/Rules.h"
#include "core/bundle/bundle_generated.h"
#include <cstring>
#include <memory>

namespace tessera {
namespace {

constexpr size_t kPrefix = sizeof(flatbuffers::uoffset_t);
constexpr size_t kHeader = kPrefix + sizeof(flatbuffers::uoffset_t) + flatbuffers::kFileIdentifierLength;

fb::Hash toSchema(Hash128 h) { return {h.low, h.high}; }
Hash128 fromSchema(const fb::Hash &h) { return {h.low(), h.high()}; }

std::string text(const flatbuffers::String *s) { return s ? s->str() : std::string(); }

/// Returns the offset of the checksum. `root` must point into `bytes`.
size_t checksumOffset(const char *bytes, const fb::Bundle *root) {
  return static_cast<size_t>(reinterpret_cast<const char *>(root->checksum()) - bytes);
}

/// Returns the root if the buffer's structure is valid, else null.
const fb::Bundle *verified(const char *bytes, size_t size) {
  if (size < kHeader) return nullptr;
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t *>(bytes), size, /*max_depth=*/8,
                                 /*max_tables=*/kMaxImages + 4 * kMaxEntries);
  return fb::VerifySizePrefixedBundleBuffer(verifier) ? fb::GetSizePrefixedBundle(bytes) : nullptr;
}

bool inRange(const fb::Bundle *root) {
  if (root->images())
    for (const fb::Image *image : *root->images()) {
      if (image->format() > fb::Format_MAX) return false;
      for (const fb::Entry *entry : *image->entries())
        if (entry->kind() > fb::Kind_MAX) return false;
    }
  return true;
}

BundleImage copy(const fb::Image &image) {
  BundleImage out;
  out.target = image.target()->str();
  if (image.features())
    for (const flatbuffers::String *feature : *image.features())
      out.features.push_back(feature->str());
  out.format = static_cast<ImageFormat>(image.format());
  out.data.assign(reinterpret_cast<const char *>(image.data()->data()), image.data()->size());
  out.hash = hexadecimal(fromSchema(*image.hash()));
  for (const fb::Entry *entry : *image.entries())
    out.entries.push_back(
        {entry->name()->str(), static_cast<EntryKind>(entry->kind()), entry->metadata()->str()});
  return out;
}

Bundle copy(const fb::Bundle &root) {
  Bundle out;
  out.abiMajor = root.abi_major();
  out.abiMinor = root.abi_minor();
  out.producer = text(root.producer());
  out.sourceName = text(root.source_name());
  out.decisions = text(root.decisions());
  if (root.images())
    for (const fb::Image *image : *root.images())
      out.images.push_back(copy(*image));
  if (root.ir())
    for (const fb::Ir *ir : *root.ir())
      out.ir.push_back({ir->level()->str(), ir->entry()->str(), ir->text()->str()});
  return out;
}

std::string version(uint16_t major, uint16_t minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

/// Implements readBundle for bytes aligned to 8. Returns false with `error` filled; the caller prepends the
/// name.
bool readAligned(const char *bytes, size_t size, Bundle &bundle, BundleError &error) {
  auto refuse = [&](const char *code, std::string message, const char *hint) {
    error = {code, std::move(message), hint};
    return false;
  };
  constexpr const char *again = "copy or compile the file again";
  std::string_view all(bytes, size);
  if (!isBundle(all))
    return refuse("E_BUNDLE_FORMAT", "not a Tessera bundle: the file identifier TSRB is missing at byte 8",
                  "tsr compile FILE --emit bundle makes bundles");
  flatbuffers::uoffset_t stated;
  std::memcpy(&stated, bytes, sizeof stated);
  size_t expected = static_cast<size_t>(stated) + kPrefix;
  if (expected > size)
    return refuse(
        "E_BUNDLE_TRUNCATED",
        "ends after " + std::to_string(size) + " bytes, its header says " + std::to_string(expected), again);
  if (expected < size)
    return refuse("E_BUNDLE_CORRUPT",
                  std::to_string(size - expected) + " bytes follow the " + std::to_string(expected) +
                      " its header says",
                  again);
  if (size > kMaxBundleBytes)
    return refuse("E_BUNDLE_CORRUPT", "larger than the " + std::to_string(kMaxBundleBytes) + " bytes allowed",
                  "split the source");
  const fb::Bundle *root = verified(bytes, size);
  if (!root) return refuse("E_BUNDLE_CORRUPT", "an offset or a length inside points outside", again);
  if (root->abi_major() != kBundleAbiMajor || root->abi_minor() > kBundleAbiMinor)
    return refuse("E_BUNDLE_VERSION",
                  "its ABI is " + version(root->abi_major(), root->abi_minor()) + ", this library reads " +
                      version(kBundleAbiMajor, 0) + " to " + version(kBundleAbiMajor, kBundleAbiMinor),
                  "compile the source again with this version, or install the one that made the file");
  if (hashWithHole(all, checksumOffset(bytes, root)) != fromSchema(*root->checksum()))
    return refuse("E_BUNDLE_CORRUPT", "the checksum does not agree with the contents", again);
  if (!inRange(root)) return refuse("E_BUNDLE_CORRUPT", "an image format or entry kind is unknown", again);
  if (root->images())
    for (const fb::Image *image : *root->images())
      if (hash128({reinterpret_cast<const char *>(image->data()->data()), image->data()->size()}) !=
          fromSchema(*image->hash()))
        return refuse("E_BUNDLE_CORRUPT",
                      "the image for " + image->target()->str() + " does not have its hash", again);
  Bundle out = copy(*root);
  if (std::string why = brokenRule(out); !why.empty()) return refuse("E_BUNDLE_CORRUPT", why, again);
  bundle = std::move(out);
  return true;
}

} // namespace

const char *name(EntryKind kind) { return kind == EntryKind::Function ? "function" : "kernel"; }

bool isBundle(std::string_view bytes) {
  return bytes.size() >= kHeader &&
         bytes.substr(kHeader - flatbuffers::kFileIdentifierLength, flatbuffers::kFileIdentifierLength) ==
             fb::BundleIdentifier();
}

bool readBundle(std::string_view bytes, const std::string &name, Bundle &bundle, BundleError &error) {
  bool read;
  if (reinterpret_cast<uintptr_t>(bytes.data()) % alignof(uint64_t) == 0) {
    read = readAligned(bytes.data(), bytes.size(), bundle, error);
  } else {
    auto aligned = std::make_unique<char[]>(bytes.size());
    std::memcpy(aligned.get(), bytes.data(), bytes.size());
    read = readAligned(aligned.get(), bytes.size(), bundle, error);
  }
  if (!read) error.message = name + ": " + error.message;
  return read;
}

bool resealBundle(std::string &bytes) {
  const fb::Bundle *root = verified(bytes.data(), bytes.size());
  if (!root) return false;
  size_t at = checksumOffset(bytes.data(), root);
  fb::Hash sum = toSchema(hashWithHole(bytes, at));
  std::memcpy(bytes.data() + at, &sum, sizeof sum);
  return true;
}

bool writeBundle(const Bundle &bundle, std::string &bytes, BundleError &error) {
  std::string why = brokenRule(bundle);
  size_t total = bundle.decisions.size();
  for (const BundleImage &image : bundle.images) {
    total += image.data.size();
    for (const BundleEntry &entry : image.entries)
      total += entry.name.size() + entry.metadata.size();
  }
  for (const BundleIr &ir : bundle.ir)
    total += ir.text.size();
  if (why.empty() &&
      total > kMaxBundleBytes / 2) // leaves space for tables, so that the builder never overflows
    why = "its contents take " + std::to_string(total) + " bytes, at most " +
          std::to_string(kMaxBundleBytes / 2) + " are allowed";
  if (!why.empty()) {
    error = {"E_BUNDLE_CORRUPT", "the bundle cannot be written: " + why, ""};
    return false;
  }

  flatbuffers::FlatBufferBuilder b(total + 4096);
  std::vector<flatbuffers::Offset<fb::Image>> images;
  for (const BundleImage &image : bundle.images) {
    std::vector<flatbuffers::Offset<fb::Entry>> entries;
    for (const BundleEntry &entry : image.entries)
      entries.push_back(fb::CreateEntry(b, b.CreateString(entry.name), static_cast<fb::Kind>(entry.kind),
                                        b.CreateString(entry.metadata)));
    fb::Hash hash = toSchema(hash128(image.data));
    auto features = b.CreateVectorOfStrings(image.features);
    auto data = b.CreateVector(reinterpret_cast<const uint8_t *>(image.data.data()), image.data.size());
    images.push_back(fb::CreateImage(b, b.CreateString(image.target), features,
                                     static_cast<fb::Format>(image.format), data, &hash,
                                     b.CreateVector(entries)));
  }
  std::vector<flatbuffers::Offset<fb::Ir>> texts;
  for (const BundleIr &ir : bundle.ir)
    texts.push_back(
        fb::CreateIr(b, b.CreateString(ir.level), b.CreateString(ir.entry), b.CreateString(ir.text)));
  fb::Hash none(0, 0);
  auto root = fb::CreateBundle(b, bundle.abiMajor, bundle.abiMinor, b.CreateString(bundle.producer),
                               b.CreateString(bundle.sourceName), b.CreateVector(images),
                               b.CreateVector(texts), b.CreateString(bundle.decisions), &none);
  fb::FinishSizePrefixedBundleBuffer(b, root);
  bytes.assign(reinterpret_cast<const char *>(b.GetBufferPointer()), b.GetSize());
  if (!resealBundle(bytes)) { // the verifier has a limit that the rules do not cover
    error = {"E_BUNDLE_CORRUPT", "the bundle cannot be written: it does not read back", ""};
    return false;
  }
  return true;
}

} // namespace tessera
