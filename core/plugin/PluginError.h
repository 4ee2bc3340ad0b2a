// The reasons for which a plugin is refused: one stable code each, listed in docs/plugins.md.
#pragma once
#include <string>

namespace tessera {

struct PluginError {
  int code = 0;     // 104 of "TSRP-104"; 0: none
  std::string text; // what was found and what was expected
  std::string fix;  // how to fix it, or ""
  explicit operator bool() const { return code != 0; }
  /// Formats the error: "TSRP-104 PATH: TEXT / fix: FIX".
  std::string render(const std::string &path) const;
};

namespace refusal {
// The search path and the files in it.
inline constexpr int kPathNotAbsolute = 1, kDirectoryUnreadable = 2;
inline constexpr int kOwner = 10, kWritable = 11, kSymlink = 12, kNotAFile = 13, kUnreadable = 14;
// The plugin's note.
inline constexpr int kNotElf = 20, kNoNote = 21, kNoteMalformed = 22, kNoteTooLarge = 23, kNoteTwice = 24,
                     kFileName = 25;
// The plugin's requirements.
inline constexpr int kAbiMajor = 101, kFeature = 102, kCompilerAbi = 103, kAbiNewer = 104, kAbiOlder = 105,
                     kArchitecture = 110, kIsa = 111, kHardware = 113, kDeviceNode = 114, kSanitizer = 115,
                     kInterface = 116, kKind = 117, kDriver = 118;
// Decisions by the user and by earlier runs.
inline constexpr int kDisabled = 120, kQuarantined = 121, kDuplicate = 122, kNameTaken = 123;
// The probe.
inline constexpr int kProbeCrashed = 201, kProbeTimeout = 202, kProbeExited = 203, kNoDevice = 204,
                     kProbeFailed = 205, kSameDevice = 206, kNoProber = 207;
// The load.
inline constexpr int kLoad = 301, kNoExport = 302, kExtraExport = 303, kQuery = 304, kNoteLies = 305,
                     kSlot = 306, kCreate = 307;
// The request itself.
inline constexpr int kNotInstalled = 401;
} // namespace refusal

} // namespace tessera
