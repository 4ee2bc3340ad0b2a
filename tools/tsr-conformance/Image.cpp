#include "tools/tsr-conformance/Image.h"
#include "core/bundle/ImageFormat.h"
#include "core/metadata/DescribeKernel.h"
#include "tools/tsr-conformance/Kernels.h"
#include <bit>
#include <fstream>
#include <iterator>
#include <tessera/backend_thunks.hpp>

namespace tessera::kit {
namespace {

std::string contents(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  expect(bool(in), "a file that can be read", path, "");
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Returns the number of programs along each axis, x first; the metadata has the outermost axis first.
std::vector<int64_t> gridOf(const KernelMetadata &m, int64_t n) {
  std::vector<int64_t> out;
  for (auto axis = m.axes.rbegin(); axis != m.axes.rend(); ++axis) {
    IndexExpr programs;
    std::string wrong;
    int64_t count = 0;
    expect(IndexExpr::parse(*axis, {m.params.back().name}, programs, wrong) && programs.evaluate(&n, count),
           "launch axes of the one dim", *axis + " " + wrong);
    out.push_back(count);
  }
  out.resize(3, 1);
  return out;
}

} // namespace

void launchImage(Subject &s) {
  if (s.options.image.empty())
    throw Skip{"no --image and --metadata: `tsr compile samples/saxpy/saxpy.py --target TARGET` writes them, "
               "with --emit object and metadata"};
  const std::string image = contents(s.options.image), document = contents(s.options.metadata);
  KernelMetadata m;
  std::string wrong;
  expect(KernelMetadata::fromYaml(document, m, wrong), "a metadata document of one kernel", wrong);
  expect(m.name == "saxpy" && m.params.size() == 4, "the kernel saxpy of samples/saxpy", m.name);

  tsr_be_image_t in{};
  in.struct_size = sizeof in;
  const std::optional<ImageFormat> format = detectFormat(image);
  expect(bool(format), "an image of one of the formats " + imageFormatNames(), s.options.image);
  in.format = contractValue(*format);
  in.data = image.data(), in.bytes = image.size();
  in.name = s.options.image.c_str();
  tsr_be_module_t *module = nullptr;
  tsr_be_kernel_t *kernel = nullptr;
  thunk::Text why;
  s.must("module_load", s.api().module_load(s.context(), &in, &module, why), why);
  KernelSpec spec = describeKernel(m, document, in.format); // the same call as in the runtime
  spec.name = entrySymbol(m.name);
  const tsr_be_kernel_desc_t desc = thunk::descOf(spec);
  const int32_t status = s.api().kernel_get(module, &desc, &kernel, why);
  s.api().module_unload(module);
  s.must("kernel_get", status, why);
  struct Release {
    Subject &s;
    tsr_be_kernel_t *kernel;
    ~Release() { s.api().kernel_release(kernel); }
  } release{s, kernel};
  Stream stream(s);
  for (int64_t n : {1, 7, 255, 4096, 4097, 100003}) {
    const auto count = static_cast<size_t>(n), bytes = count * sizeof(float);
    // Products and sums of these numbers are exact, so contraction makes no difference.
    std::vector<float> x(count), y(count), wanted(count), found(count);
    for (size_t i = 0; i < count; ++i) {
      x[i] = static_cast<float>(i % 509) - 250, y[i] = static_cast<float>(i % 127) * 0.5f;
      wanted[i] = 1.5f * x[i] + y[i];
    }
    const Memory dx(s, bytes), dy(s, bytes);
    stream.copy(dx, x.data(), bytes);
    stream.copy(dy, y.data(), bytes);
    const uint64_t values[] = {word(dx), word(dy), std::bit_cast<uint32_t>(1.5f), static_cast<uint64_t>(n)};
    const std::vector<int64_t> grid = gridOf(m, n);
    stream.launch(kernel, values, grid[0], grid[1], grid[2]);
    stream.copy(found.data(), dy, bytes, true);
    for (size_t i = 0; i < count; ++i)
      expect(found[i] == wanted[i],
             "element " + std::to_string(i) + " of " + std::to_string(n) + ": " + std::to_string(wanted[i]),
             std::to_string(found[i]));
  }
}

} // namespace tessera::kit
