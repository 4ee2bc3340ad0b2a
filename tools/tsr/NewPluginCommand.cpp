// `tsr new-plugin`: creates a small project that builds and passes its test.
#include "core/plugin/KnownBackends.h"
#include "core/support/Escaped.h"
#include "tools/options/Options.h"
#include "tools/tsr/Commands.h"
#include "tools/tsr/PluginTemplates.h"
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <stdlib.h>

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

const CommandSpec newPluginSpec = {
    "new-plugin",
    "KIND NAME [options]",
    "write a project for a mapper, a backend or a code generator of your own",
    "Writes a folder with a plugin's source, its manifest, CMake files and a test. KIND is mapper, "
    "backend or codegen. The\n"
    "project needs no more than an installed Tessera: it is built with cmake and tested with ctest. A folder "
    "that is\n"
    "there already is left alone.",
    {
        {"dir", 0, OptionSpec::Value, "DIR", "the folder to make (default: ./NAME)"},
    },
    2,
    "  tsr new-plugin mapper my_mapper\n"
    "  tsr new-plugin backend toy --dir ~/toy-backend\n"
    "  tsr new-plugin codegen toy\n",
    "tsr",
    &commonOptions(),
    {"mapper", "backend", "codegen"},
};

/// Returns who already uses a name, and why that matters; "" when it is free. The name becomes the name of a
/// plugin, of CMake targets and of classes.
std::string_view ownerOf(const std::string &name) {
  constexpr std::string_view kTessera[] = {"default", "logging", "random", "replay", "tessera"};
  constexpr std::string_view kCMake[] = {"all",
                                         "clean",
                                         "depend",
                                         "edit_cache",
                                         "help",
                                         "install",
                                         "list_install_components",
                                         "package",
                                         "package_source",
                                         "preinstall",
                                         "rebuild_cache",
                                         "test"};
  constexpr std::string_view kClasses[] = {"Choice", "CollectiveCall", "Mapper",     "Mesh",
                                           "Names",  "Region",         "VariantCall"};
  auto isIn = [](const auto &list, const std::string &word) {
    return std::find(std::begin(list), std::end(list), word) != std::end(list);
  };
  if (isOwnName(name) || isIn(kTessera, name)) return "is the name of something that comes with Tessera";
  if (isIn(kCMake, name)) return "is the name of a target that CMake makes itself";
  if (isIn(kClasses, classNameOf(name)))
    return "would name a class as tessera/mapper.hpp names one of its own";
  return "";
}

MaybeError checkName(const std::string &name) {
  auto isLower = [](char c) { return c >= 'a' && c <= 'z'; };
  const bool ok = !name.empty() && name.size() <= 32 && isLower(name[0]) &&
                  std::all_of(name.begin(), name.end(),
                              [&](char c) { return isLower(c) || (c >= '0' && c <= '9') || c == '_'; });
  if (!ok)
    return Error{"E_OPTION_VALUE", fmt::format("'{}' cannot be the name of a plugin", name),
                 "a name is a small letter, then up to 31 small letters, digits or _"};
  if (const std::string_view owner = ownerOf(name); !owner.empty())
    return Error{"E_OPTION_VALUE", fmt::format("'{}' cannot be the name of a plugin: it {}", name, owner),
                 "choose another name"};
  return std::nullopt;
}

/// Writes the whole folder under another name, then renames it: it exists either completely or not at all.
MaybeError writeFolder(const fs::path &folder, const std::vector<TemplateFile> &files) {
  std::error_code error;
  if (fs::symlink_status(folder, error).type() != fs::file_type::not_found)
    return Error{"E_OUTPUT_WRITE", fmt::format("{} exists already", folder.string()),
                 "--dir names another folder; what is there is left alone"};
  const fs::path parent = folder.has_parent_path() ? folder.parent_path() : fs::path(".");
  std::string beside = (parent / ".tsr-new-XXXXXX").string();
  auto cannot = [&](const std::string &what, int number) {
    return Error{"E_OUTPUT_WRITE", fmt::format("{}: {}", what, std::strerror(number)), ""};
  };
  if (!::mkdtemp(beside.data())) return cannot(parent.string(), errno);
  auto undo = [&](Error e) {
    fs::remove_all(beside, error);
    return e;
  };
  for (const TemplateFile &file : files) {
    std::ofstream out(fs::path(beside) / file.name, std::ios::binary);
    out << file.text;
    out.close();
    if (!out) return undo(cannot((folder / file.name).string(), errno));
  }
  fs::permissions(beside, fs::perms(0755), error);
  if (::renameat2(AT_FDCWD, beside.c_str(), AT_FDCWD, folder.c_str(), RENAME_NOREPLACE) != 0)
    return undo(cannot(folder.string(), errno));
  return std::nullopt;
}

int newPluginMain(const Arguments &args, const std::string &) {
  const std::string usage = fmt::format("usage: tsr new-plugin {}", newPluginSpec.synopsis);
  if (args.positional().size() != 2) return fail(Error{"E_OPTION_VALUE", "expected KIND and NAME", usage});
  const std::string &kind = args.positional()[0], &name = args.positional()[1];
  if (kind != "mapper" && kind != "backend" && kind != "codegen")
    return fail(Error{"E_OPTION_VALUE", fmt::format("there is no template for {}", kind),
                      suggest(kind, {"mapper", "backend", "codegen"})});
  if (auto e = checkName(name)) return fail(*e);
  fs::path folder = args.value("dir", name);
  if (!folder.has_filename()) folder = folder.parent_path(); // "x/"
  if (auto e = writeFolder(folder, kind == "mapper"    ? mapperTemplate(name)
                                   : kind == "backend" ? backendTemplate(name)
                                                       : codegenTemplate(name)))
    return fail(*e);
  fmt::print("{0}: a {1} to build and test:\n"
             "  cmake -S {0} -B {0}/build && cmake --build {0}/build && ctest --test-dir {0}/build\n",
             escaped(folder.string()), kind);
  return exitOk;
}

} // namespace

const Command newPluginCommand = {newPluginSpec, newPluginMain};

} // namespace tessera::cli
