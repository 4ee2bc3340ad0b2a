#include "tests/conformance/Cases.h"
#include "numerics/Casts.h"
#include <bit>
#include <fstream>
#include <nlohmann/json.hpp>

namespace tessera::conformance {
namespace {

using nlohmann::json;

/// Reads each array from where it is in cases.bin, which may have hundreds of megabytes.
struct Reader {
  std::ifstream arrays;

  Numbers numbers(const json &j) {
    Numbers out;
    out.isFloat = j.at("kind") == "f8";
    out.bits.resize(j.at("count"));
    arrays.seekg(j.at("offset").get<std::streamoff>());
    if (!arrays.read(reinterpret_cast<char *>(out.bits.data()), std::streamsize(out.bits.size() * 8)))
      throw std::runtime_error("cases.bin is shorter than cases.json says");
    return out;
  }

  void tensor(const json &j, Tensor &out) const {
    auto dtype = parseDType(j.at("dtype").get<std::string>());
    if (!dtype) throw std::runtime_error("unknown dtype in cases.json");
    out.dtype = *dtype;
    out.shape = j.at("shape").get<std::vector<int64_t>>();
  }

  Run run(const json &j) {
    Run out;
    for (const auto &[name, value] : j.at("dims").items())
      out.dims.emplace_back(name, value.get<int64_t>());
    for (const auto &[name, value] : j.at("scalars").items())
      out.scalars[name] = value.is_boolean() ? double(value.get<bool>()) : value.get<double>();
    for (const auto &[name, value] : j.at("inputs").items()) {
      Input &in = out.inputs[name];
      tensor(value, in);
      in.values = numbers(value.at("values"));
    }
    for (const auto &[name, value] : j.at("outputs").items()) {
      Output &o = out.outputs[name];
      tensor(value, o);
      o.ulps = value.at("ulps");
      o.rtol = value.at("rtol");
      o.atol = value.at("atol");
      if (value.contains("want")) o.want = numbers(value.at("want"));
      if (value.contains("bound")) o.bound = numbers(value.at("bound"));
      if (value.contains("initial")) o.initial = numbers(value.at("initial"));
    }
    return out;
  }
};

host::NamedInts namedInts(const json &j) {
  host::NamedInts out;
  for (const auto &[name, value] : j.items())
    out.emplace_back(name, value.get<int64_t>());
  return out;
}

} // namespace

size_t Tensor::elements() const {
  size_t n = 1;
  for (int64_t extent : shape)
    n *= size_t(extent);
  return n;
}

std::vector<Program> readPrograms(const std::string &folder,
                                  const std::function<bool(const std::string &)> &isWanted) {
  Reader reader{std::ifstream(folder + "/cases.bin", std::ios::binary)};
  std::vector<Program> out;
  for (const json &j : json::parse(host::readText(folder + "/cases.json"))) {
    const std::string name = j.at("name");
    if (!isWanted(name)) continue;
    Program &p = out.emplace_back();
    p.name = name;
    p.source = j.at("source");
    p.error = j.at("error");
    p.options.fileName = p.name;
    p.options.isIr = j.at("is_ir");
    p.options.numerics = j.at("numerics");
    p.options.kernel = j.at("kernel");
    p.options.whole = j.at("whole");
    p.options.dims = namedInts(j.at("dims"));
    p.options.tunables = namedInts(j.at("tunables"));
    for (const json &r : j.at("runs"))
      p.runs.push_back(reader.run(r));
  }
  return out;
}

std::vector<std::byte> encode(const Numbers &numbers, DType dtype) {
  const size_t width = size_t(storageBytes(dtype));
  std::vector<std::byte> out(numbers.bits.size() * width);
  for (size_t i = 0; i < numbers.bits.size(); ++i)
    storeBits(&out[i * width], dtype,
              numbers.isFloat ? fromDouble(std::bit_cast<double>(numbers.bits[i]), dtype) : numbers.bits[i]);
  if (!isPacked(dtype)) return out;
  std::vector<std::byte> packed(size_t(tensorBytes(dtype, int64_t(out.size()))));
  packElements(out.data(), packed.data(), out.size());
  return packed;
}

} // namespace tessera::conformance
