#include "plugins/cpu/codegen/products/Archive.h"
#include <array>

// Archives.S
#define TESSERA_ARCHIVE(LEVEL)                                                                               \
  extern "C" const char tessera_products_##LEVEL[], tessera_products_##LEVEL##_end[];
TESSERA_ARCHIVE(v3)
TESSERA_ARCHIVE(v4)
#undef TESSERA_ARCHIVE

namespace tessera::cpu::product {

#define TESSERA_V3 "+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+movbe"
#define TESSERA_V4 TESSERA_V3 ",+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"

std::span<const Archive> archives() {
  auto bytes = [](const char *begin, const char *end) {
    return std::string_view(begin, static_cast<size_t>(end - begin));
  };
  static const std::array all = {
      Archive{"v4", TESSERA_V4, bytes(tessera_products_v4, tessera_products_v4_end)},
      Archive{"v3", TESSERA_V3, bytes(tessera_products_v3, tessera_products_v3_end)},
  };
  return all;
}

std::span<const BodyRow> bodies() {
  static constexpr std::array all = {
      BodyRow{DType::F32, "f32", TESSERA_V3},
      BodyRow{DType::F64, "f64", TESSERA_V3},
      BodyRow{DType::BF16, "bf16.amx", TESSERA_V4 ",+avx512bf16,+amx-tile,+amx-bf16", false,
              "tdpbf16ps.16x16x32"},
      BodyRow{DType::BF16, "bf16.dot", TESSERA_V4 ",+avx512bf16"},
      BodyRow{DType::BF16, "bf16", TESSERA_V3},
      BodyRow{DType::F16, "f16", TESSERA_V3},
      BodyRow{DType::I8, "i8.amx", TESSERA_V4 ",+avx512vnni,+amx-tile,+amx-int8", true, "tdpbssd.16x16x64"},
      BodyRow{DType::I8, "i8.dot", TESSERA_V4 ",+avx512vnni"},
      BodyRow{DType::I8, "i8", TESSERA_V3},
      BodyRow{DType::U8, "u8.amx", TESSERA_V4 ",+amx-tile,+amx-int8", true, "tdpbuud.16x16x64"},
  };
  return all;
}

std::string_view tileInstructionOf(std::string_view body) {
  for (const BodyRow &row : bodies())
    if (row.name == body) return row.tileInstruction;
  return "";
}

} // namespace tessera::cpu::product
