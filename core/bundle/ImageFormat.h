// The formats of compiled code. A format belongs to the contract between compiler, runtime and backends
// (Format in sdk/schema/bundle.fbs, TSR_IMAGE_* in tessera/plugin.h), not to one vendor's backend: several
// may load the same format.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tessera {

enum class ImageFormat : uint8_t { Elf, Ptx, Hsaco, Spirv, Cubin };

const char *name(ImageFormat format); // "elf"
std::string imageFormatNames();       // of all, separated by commas
/// TSR_IMAGE_* of tessera/plugin.h.
uint32_t contractValue(ImageFormat format);
/// The format of a raw image by its first bytes; none if no format fits.
std::optional<ImageFormat> detectFormat(std::string_view bytes);

} // namespace tessera
