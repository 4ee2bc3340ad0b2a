#include "core/Backends.h"
#include "core/Environment.h"
#include "core/LastError.h"
#include <atomic>
#include <cctype>
#include <iterator>

namespace tessera {
namespace {

constexpr const char *kReserved = "not part of this release";

constexpr BackendEntry kTable[] = {
    {"cpu", "the host's processor", [] { return &cpuBackend(); }, ""},
    {"ptx", "NVIDIA GPUs", nullptr, kReserved},
    {"rocm", "AMD GPUs", nullptr, kReserved},
    {"levelzero", "Intel GPUs", nullptr, kReserved},
};

std::string availableNames() {
  std::string out;
  for (const BackendEntry &row : kTable)
    if (row.get) out += (out.empty() ? "" : ", ") + std::string(row.name);
  return out;
}

std::atomic<Backend *> selectedByCall{nullptr};

/// `asked`: how the name was given, for the text.
tsr_status_t find(std::string name, const std::string &asked, Backend *&out, std::string &why) {
  if (name == "level_zero") name = "levelzero";
  for (const BackendEntry &row : kTable) {
    if (name != row.name) continue;
    if (!row.get) {
      why = asked + ": " + row.reason + "; available: " + availableNames();
      return TSR_UNIMPLEMENTED;
    }
    out = row.get();
    return TSR_SUCCESS;
  }
  std::string_view names[std::size(kTable)];
  for (size_t i = 0; i < std::size(kTable); ++i)
    names[i] = kTable[i].name;
  why = asked + ": there is no such backend; available: " + availableNames();
  for (char &c : name)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (auto near = nearestName(name, std::begin(names), std::end(names)); !near.empty())
    why += "; did you mean " + std::string(near) + "?";
  return TSR_ENOTFOUND;
}

} // namespace

const BackendEntry *backendTable(size_t &count) {
  count = std::size(kTable);
  return kTable;
}

tsr_status_t selectBackend(const char *requested, Selection &out, std::string &why) {
  if (requested) {
    out.reason = "the context's options";
    return find(requested, "backend '" + std::string(requested) + "'", out.backend, why);
  }
  if (Backend *chosen = selectedByCall.load(std::memory_order_acquire)) {
    out = {chosen, "tsrSelectBackend"};
    return TSR_SUCCESS;
  }
  if (std::string name = environment("TESSERA_BACKEND"); !name.empty()) {
    out.reason = "TESSERA_BACKEND";
    return find(name, "TESSERA_BACKEND=" + name, out.backend, why);
  }
  for (const BackendEntry &row : kTable)
    if (row.get) {
      out = {row.get(), "the best available"};
      break;
    }
  return TSR_SUCCESS; // the CPU is always there
}

tsr_status_t selectDevice(const char *requested, int32_t device, Selection &out) {
  std::string why;
  if (tsr_status_t status = selectBackend(requested, out, why)) return fail(status, why);
  int devices = out.backend->deviceCount();
  if (device >= 0 && device < devices) return TSR_SUCCESS;
  return fail(TSR_ENOTFOUND, "backend " + std::string(out.backend->name()) + " has " +
                                 std::to_string(devices) + " device(s), there is no device " +
                                 std::to_string(device));
}

tsr_status_t setSelectedBackend(const char *name, std::string &why) {
  Backend *backend = nullptr;
  if (name)
    if (tsr_status_t status = find(name, "backend '" + std::string(name) + "'", backend, why)) return status;
  selectedByCall.store(backend, std::memory_order_release);
  return TSR_SUCCESS;
}

} // namespace tessera
