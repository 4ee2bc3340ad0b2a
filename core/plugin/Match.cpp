#include "core/plugin/Match.h"
#include "core/support/HostCpu.h"
#include <algorithm>
#include <cstdlib>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <sys/utsname.h>
#include <tessera/plugin.h>
#include <unistd.h>

namespace tessera {
namespace fs = std::filesystem;
namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
constexpr const char *kTriplet = "x86_64-linux-gnu";
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
constexpr const char *kTriplet = "aarch64-linux-gnu";
#else
#error "name this machine's ELF architecture"
#endif

#if defined(__SANITIZE_ADDRESS__) || (defined(__has_feature) && __has_feature(address_sanitizer))
constexpr const char *kSanitizer = "address";
#elif defined(__SANITIZE_THREAD__) || (defined(__has_feature) && __has_feature(thread_sanitizer))
constexpr const char *kSanitizer = "thread";
#else
constexpr const char *kSanitizer = "";
#endif

/// The features of this runtime, each with its highest version.
constexpr struct {
  std::string_view name;
  int version;
} kFeatures[] = {{"graph_nodes", 1}, {"host_kernels", 1}, {"log", 1}};

bool hasFeature(std::string_view wanted) {
  size_t at = wanted.find('@');
  std::string_view name = wanted.substr(0, at);
  int version = at == wanted.npos ? 1 : std::atoi(std::string(wanted.substr(at + 1)).c_str());
  for (auto &row : kFeatures)
    if (row.name == name) return version >= 1 && version <= row.version;
  return false;
}

std::string featureNames() {
  std::string out;
  for (auto &row : kFeatures)
    out += (out.empty() ? "" : ", ") + std::string(row.name) + "@" + std::to_string(row.version);
  return out;
}

std::string abi(uint32_t major, uint32_t minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

std::string firstLine(const fs::path &path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  while (!line.empty() && (line.back() == ' ' || line.back() == '\r'))
    line.pop_back();
  return line;
}

std::string join(const std::vector<std::string> &parts, const char *between) {
  std::string out;
  for (const std::string &part : parts)
    out += (out.empty() ? "" : between) + part;
  return out;
}

} // namespace

PluginError matchContract(const Manifest &m, const tsr_host_info_t &host) {
  if (m.abiMajor != host.abi_major)
    return {refusal::kAbiMajor,
            "it is built for plugin ABI " + abi(m.abiMajor, m.builtMinor) + ", this runtime provides " +
                abi(host.abi_major, host.abi_minor) + ", and majors do not mix",
            m.abiMajor > host.abi_major ? "upgrade libtessera1"
                                        : "rebuild the plugin against this libtessera-dev"};
  if (m.needsMinor > host.abi_minor)
    return {refusal::kAbiNewer,
            "it needs plugin ABI " + abi(m.abiMajor, m.needsMinor) + ", this runtime provides " +
                abi(host.abi_major, host.abi_minor),
            "upgrade libtessera1"};
  if (m.builtMinor < host.abi_floor)
    return {refusal::kAbiOlder,
            "it was built with plugin ABI " + abi(m.abiMajor, m.builtMinor) + "; this runtime takes " +
                abi(host.abi_major, host.abi_floor) + " and newer",
            "rebuild the plugin against this libtessera-dev"};
  for (const std::string &feature : m.featuresRequired)
    if (!hasFeature(feature))
      return {refusal::kFeature, "it requires feature " + feature + "; this runtime has " + featureNames(),
              "upgrade libtessera1"};
  if ((m.kinds & TSR_PLUGIN_CODEGEN) && m.compilerAbi != host.compiler_abi)
    return {refusal::kCompilerAbi,
            "it exchanges IR with compiler " + (m.compilerAbi.empty() ? "(none named)" : m.compilerAbi) +
                ", this runtime's is " + (*host.compiler_abi ? host.compiler_abi : "not installed"),
            "install both from one release"};
  return {};
}

PluginError matchRuntime(const PluginFile &file, const tsr_host_info_t &host) {
  const Manifest &m = file.manifest;
  if (file.machine != kMachine || m.triplet != kTriplet)
    return {refusal::kArchitecture,
            "it is built for " + m.triplet + " (ELF machine " + std::to_string(file.machine) +
                "), this process is " + kTriplet,
            "install the package of this architecture"};
  if (PluginError error = matchContract(m, host)) return error;
  if (m.sanitizer != kSanitizer)
    return {refusal::kSanitizer,
            "it is built with " + (m.sanitizer.empty() ? "no" : "the " + m.sanitizer) +
                " sanitizer, this process with " + (*kSanitizer ? "the " + std::string(kSanitizer) : "no") +
                (*kSanitizer ? " sanitizer" : "ne"),
            "build both the same way"};
  if (std::string_view missing = firstMissing(m.isa); !missing.empty())
    return {refusal::kIsa,
            "it is built for processors with " + join(m.isa, ", ") +
                "; this one, or its operating system, has no " + std::string(missing),
            "install a build for an older processor"};
  return {};
}

std::vector<std::string> gpuVendors(const MachineRoot &root) {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator it(root.sys + "/bus/pci/devices", error), end; !error && it != end;
       it.increment(error)) {
    // PCI classes: 0x03 display controllers, 0x12 processing accelerators.
    std::string kind = firstLine(it->path() / "class"), vendor = firstLine(it->path() / "vendor");
    if ((kind.starts_with("0x03") || kind.starts_with("0x12")) && vendor.size() > 2)
      if (std::string id = vendor.substr(2); std::find(out.begin(), out.end(), id) == out.end())
        out.push_back(id);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string moduleVersion(const std::string &name, const MachineRoot &root) {
  if (name.empty() || name.find('/') != name.npos || name == "..") return "";
  fs::path module = fs::path(root.sys) / "module" / name;
  std::error_code error;
  if (!fs::exists(module, error)) return "";
  if (std::string version = firstLine(module / "version"); !version.empty()) return version;
  utsname kernel;
  return uname(&kernel) == 0 ? kernel.release : "unknown";
}

int compareVersions(std::string_view a, std::string_view b) {
  auto next = [](std::string_view &s) {
    unsigned long value = 0;
    size_t i = 0;
    for (; i < s.size() && s[i] >= '0' && s[i] <= '9'; ++i)
      value = value * 10 + static_cast<unsigned long>(s[i] - '0');
    s.remove_prefix(std::min(s.size(), i + 1));
    return value;
  };
  while (!a.empty() || !b.empty()) {
    unsigned long x = next(a), y = next(b);
    if (x != y) return x < y ? -1 : 1;
  }
  return 0;
}

PluginError matchHardware(const Manifest &m, const MachineRoot &root) {
  if (!m.pciVendors.empty()) {
    auto found = gpuVendors(root);
    bool any = std::any_of(m.pciVendors.begin(), m.pciVendors.end(), [&](const std::string &vendor) {
      return std::find(found.begin(), found.end(), vendor) != found.end();
    });
    if (!any)
      return {refusal::kHardware,
              "no PCI device of vendor " + join(m.pciVendors, ", ") + " is in this machine; it has " +
                  (found.empty() ? "no GPU" : "vendors " + join(found, ", ")),
              ""};
  }
  if (!m.deviceNodes.empty()) {
    std::string why;
    for (const std::string &node : m.deviceNodes) {
      std::string path = root.dev + node;
      if (access(path.c_str(), R_OK | W_OK) == 0) {
        why.clear();
        break;
      }
      bool there = access(path.c_str(), F_OK) == 0;
      why +=
          (why.empty() ? "" : "; ") + node + (there ? " may not be opened by this user" : " does not exist");
    }
    if (!why.empty())
      return {refusal::kDeviceNode, why,
              why.find("may not") != why.npos ? "add the user to the node's group (often render or video)"
                                              : "load the vendor's kernel driver"};
  }
  if (!m.minDriver.empty() && !m.driverModule.empty()) {
    std::string found = moduleVersion(m.driverModule, root);
    if (found.empty())
      return {refusal::kDriver, "the kernel driver " + m.driverModule + " is not loaded",
              "load it, or install it"};
    if (compareVersions(found, m.minDriver) < 0)
      return {refusal::kDriver,
              "the kernel driver " + m.driverModule + " is " + found + "; it needs " + m.minDriver,
              "upgrade the driver"};
  }
  return {};
}

} // namespace tessera
