// MakeBundle IMAGE OUT: a bundle of the kernels in Kernels.c, so that threads_test.py needs no compiler.
#include "core/bundle/Bundle.h"
#include <fstream>
#include <iostream>
#include <iterator>

namespace {

std::string metadata(const std::string &name) {
  return "{name: " + name + R"yaml(, target: cpu, numerics: standard, params: [
  {name: x, kind: tensor, dtype: f32, dims: [n], access: read},
  {name: y, kind: tensor, dtype: f32, dims: [n], access: write},
  {name: a, kind: scalar, dtype: f32},
  {name: n, kind: dim}], launch: {axes: ["ceildiv(n, 16)"], may_wait: false}})yaml";
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  std::ifstream in(argv[1], std::ios::binary);
  tessera::BundleImage image;
  image.target = "cpu:x86-64";
  image.data.assign(std::istreambuf_iterator<char>(in), {});
  for (const char *name : {"add", "slow"})
    image.entries.push_back({name, tessera::EntryKind::Kernel, metadata(name)});
  tessera::Bundle bundle;
  bundle.images = {image};
  std::string bytes;
  tessera::BundleError error;
  if (!tessera::writeBundle(bundle, bytes, error)) {
    std::cerr << error.text() << '\n';
    return 1;
  }
  std::ofstream out(argv[2], std::ios::binary);
  out << bytes;
  return out.flush() ? 0 : 1;
}
