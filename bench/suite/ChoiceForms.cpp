#include "bench/suite/ChoiceForms.h"
#include <algorithm>
#include <fmt/format.h>
#include <regex>

namespace tessera::bench {
namespace {

std::string scheduleOf(const std::string &source) {
  tsr_source_options_t options = {};
  options.struct_size = sizeof options;
  const char *text = nullptr;
  host::check(tsrInspectIr(source.data(), source.size(), &options, TSR_IR_SCHEDULE, &text), "tsrInspectIr");
  return text;
}

std::string sourceOf(const RowProgram &p) {
  return fmt::format(
      "import tessera as ts\n\n\n@ts.jit\ndef f(x: ts.Tensor[\"R\", \"C\", ts.{}]):\n    return {}\n",
      name(p.input), p.expression);
}

/// Returns the text of Schedule IR in which `variant` is pinned, for all extents.
std::string pin(const std::string &schedule, const std::string &variant) {
  static const std::regex condition("when = \"[^\"]*\""), list("variants = \\[");
  return std::regex_replace(std::regex_replace(schedule, condition, "when = \"R >= 0\""), list,
                            "variant = \"" + variant + "\", $&", std::regex_constants::format_first_only);
}

} // namespace

Forms formsOf(const RowProgram &p, Lab &lab) {
  const std::string source = sourceOf(p), schedule = scheduleOf(source);
  Forms out{&lab.kernel(source, "f"), {}, {}};
  static const std::regex entry("#schedule.variant<\"([^\"]+)\"");
  for (std::sregex_iterator at(schedule.begin(), schedule.end(), entry), end; at != end; ++at)
    out.names.push_back((*at)[1]);
  for (const std::string &variant : out.names)
    out.forced.push_back(&lab.kernel(pin(schedule, variant), "f", {}, /*isIr=*/true));
  return out;
}

namespace {

/// Does a product without gaps share vectors of AVX-512? Its rows of C are two vectors, one, half of one or a
/// quarter of at least four elements.
bool sharesVectors(const Product &p, bool isWide, int64_t lanes) {
  if (p.transposeB || p.k != p.n || (p.transposeA && p.m != p.n)) return false;
  if (p.n == 2 * lanes || p.n == lanes)
    return isWide && p.m % std::min<int64_t>(p.n, p.n == lanes ? p.n : 8) == 0;
  return p.n >= 4 && (p.n == lanes / 2 || p.n == lanes / 4) && p.m % p.n == 0 && (isWide || p.m <= 16);
}

/// The bodies that can compute a product; any other would leave it to panels.
std::vector<std::string> bodiesOf(const Product &p) {
  const bool isWide = p.input == DType::F32 || p.input == DType::F64, isInteger = p.input == DType::I8;
  const int64_t lanes = p.input == DType::F64 ? 8 : 16, few = isInteger ? 4 : 8;
  std::vector<std::string> out = {"panels"};
  if (!p.transposeA &&
      (p.transposeB ? p.m <= few || p.n <= few : p.n == 1 || (!isInteger && p.n <= lanes / 2)))
    out.push_back("dot");
  if (!p.transposeB && p.m == 1) out.push_back("row");
  if (!p.transposeB && p.m <= 48) out.push_back("skinny");
  if (p.m == 2 && p.n == 2 && p.k == 2 && (p.transposeA || !p.transposeB)) out.push_back("two_by_two");
  if (sharesVectors(p, isWide, lanes)) out.push_back("shared");
  if (!isWide) return out;
  if (!p.transposeB && p.m <= 48 && p.n <= std::min<int64_t>(64, 4 * lanes)) out.push_back("small");
  if (p.transposeA && p.n <= 6) out.push_back("columns");
  if (p.k * p.n <= 2 * lanes) out.push_back("flat");
  return out;
}

} // namespace

Forms formsOf(const Product &p, Lab &lab) {
  const std::string source = productSource(p, /*gelu=*/false), schedule = scheduleOf(source);
  Forms out{&lab.kernel(source, "f"), bodiesOf(p), {}};
  static const std::regex body("body = \"tile\"");
  for (const std::string &name : out.names)
    out.forced.push_back(&lab.kernel(std::regex_replace(schedule, body, "body = \"product." + name + "\""),
                                     "f", {}, /*isIr=*/true));
  return out;
}

} // namespace tessera::bench
