#include "core/plugin/SearchPath.h"
#include "core/config/Config.h"
#include "core/plugin/Manifest.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <set>
#include <sys/stat.h>
#include <tessera/plugin.h>
#include <unistd.h>

namespace tessera {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kPrefix = "libtessera-", kSuffix = ".so";

/// Returns the directory `tessera` beside libtessera.so or, in a program of a folder `bin` that links its
/// objects, in the sibling folder `lib`.
std::string ownDirectory() {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<const void *>(&searchPath), &info) || !info.dli_fname) return "";
  std::error_code ignored;
  fs::path self = fs::canonical(info.dli_fname, ignored);
  if (self.empty()) return "";
  fs::path home = self.parent_path();
  if (home.filename() == "bin") home = home.parent_path() / "lib";
  return (home / "tessera").string();
}

std::string octal(mode_t mode) {
  char out[8];
  snprintf(out, sizeof out, "%04o", static_cast<unsigned>(mode & 07777));
  return out;
}

PluginError checkOne(const fs::path &path, bool ancestor) {
  struct stat s;
  if (::stat(path.c_str(), &s) != 0)
    return {refusal::kUnreadable, path.string() + " cannot be examined: " + std::strerror(errno), ""};
  if (s.st_uid != 0 && s.st_uid != geteuid())
    return {refusal::kOwner,
            path.string() + " belongs to user " + std::to_string(s.st_uid) + ", not to root or user " +
                std::to_string(geteuid()),
            "chown it, or install the plugin elsewhere"};
  if ((s.st_mode & (S_IWGRP | S_IWOTH)) && !(ancestor && (s.st_mode & S_ISVTX)))
    return {refusal::kWritable,
            path.string() + " is writable by users other than its owner (mode " + octal(s.st_mode) + ")",
            "chmod go-w " + path.string()};
  return {};
}

} // namespace

std::string fileNameOf(uint32_t kind, const std::string &name) {
  std::string prefix = kind == TSR_PLUGIN_BACKEND ? "" : kindList(kind) + "-";
  return std::string(kPrefix) + prefix + name + std::string(kSuffix);
}

FileName nameOfFile(const std::string &path) {
  std::string name = fs::path(path).filename().string();
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return {};
  name = name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
  for (uint32_t kind : {TSR_PLUGIN_MAPPER, TSR_PLUGIN_COLLECTIVE, TSR_PLUGIN_NUMERICS, TSR_PLUGIN_CODEGEN})
    if (const std::string prefix = kindList(kind) + "-"; name.starts_with(prefix))
      return {name.substr(prefix.size()), kind};
  return {name, TSR_PLUGIN_BACKEND};
}

SearchPath searchPath() {
  SearchPath out;
  std::set<std::string> seen;
  auto isNew = [&](const std::string &directory) {
    std::error_code error;
    const fs::path canonical = fs::weakly_canonical(directory, error);
    return seen.insert(error ? directory : (canonical / "").lexically_normal().string()).second;
  };
  const std::string given = setting("TESSERA_PLUGIN_PATH").value;
  for (size_t at = 0; at < given.size();) {
    size_t end = std::min(given.find(':', at), given.size());
    std::string entry = given.substr(at, end - at);
    at = end + 1;
    if (entry.empty()) continue;
    if (entry[0] != '/' ? !seen.insert(entry).second : !isNew(entry)) continue;
    if (entry[0] != '/')
      out.refused.push_back(
          {entry,
           {refusal::kPathNotAbsolute, "an entry of TESSERA_PLUGIN_PATH is not absolute",
            "write the whole path: plugins are never looked for in the current directory"}});
    else
      out.directories.push_back(entry);
  }
  out.own = ownDirectory();
  if (!out.own.empty() && isNew(out.own)) out.directories.push_back(out.own);
  return out;
}

PluginError listPlugins(const std::string &directory, std::vector<std::string> &files) {
  std::error_code error;
  fs::directory_iterator it(directory, error), end;
  if (error == std::errc::no_such_file_or_directory) return {};
  for (; !error && it != end; it.increment(error)) {
    std::string name = it->path().filename().string();
    if (name.starts_with(kPrefix) && name.ends_with(kSuffix)) files.push_back(it->path().string());
  }
  std::sort(files.begin(), files.end());
  if (error) return {refusal::kDirectoryUnreadable, "the directory cannot be read: " + error.message(), ""};
  return {};
}

PluginError checkPermissions(const std::string &directory, const std::string &path) {
  std::error_code error;
  const fs::path home = fs::canonical(directory, error);
  if (error) return {refusal::kUnreadable, directory + " cannot be examined: " + error.message(), ""};
  const fs::path file = fs::canonical(path, error);
  if (error) return {refusal::kUnreadable, "it cannot be examined: " + error.message(), ""};
  if (file.parent_path() != home)
    return {refusal::kSymlink, "it is a symbolic link to " + file.string() + ", outside " + home.string(),
            "put the file itself there, or name its own directory in TESSERA_PLUGIN_PATH"};
  if (!fs::is_regular_file(file, error)) return {refusal::kNotAFile, "it is not a regular file", ""};
  if (PluginError e = checkOne(file, false)) return e;
  bool ancestor = false; // a sticky bit is accepted on ancestors only, not on the directory itself
  for (fs::path p = home;; p = p.parent_path()) {
    if (PluginError e = checkOne(p, ancestor)) return e;
    if (p == p.root_path()) return {};
    ancestor = true;
  }
}

} // namespace tessera
