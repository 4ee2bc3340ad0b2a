// The formats of compiled code. A format is part of the contract between compiler, runtime and backends
// (Format in sdk/schema/bundle.fbs, TSR_IMAGE_* in tessera/plugin.h). It does not belong to one backend:
// several backends may load the same format.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tessera {

enum class ImageFormat : uint8_t { Elf, Ptx, Hsaco, Spirv, Cubin, Emulated };

const char *name(ImageFormat format); // "elf"
std::string imageFormatNames();       // all names, separated by commas
/// Returns the format's TSR_IMAGE_* value of tessera/plugin.h.
uint32_t contractValue(ImageFormat format);
/// Detects the format of a raw image by its first bytes. Returns nullopt if no format matches.
std::optional<ImageFormat> detectFormat(std::string_view bytes);

} // namespace tessera
