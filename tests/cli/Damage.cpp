// bundle-damage KIND IN OUT: writes a bundle whose checksums are right but whose contents are wrong, to test
// that it is refused.
//   version   has the next ABI major           machine   its first image is code for RISC-V
//   feature   requires what no processor has   metadata  its first document is not metadata
#include "core/bundle/Bundle.h"
#include <cstdio>
#include <elf.h>
#include <fstream>
#include <iterator>

using namespace tessera;

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  std::ifstream in(argv[2], std::ios::binary);
  std::string kind = argv[1], bytes{std::istreambuf_iterator<char>(in), {}};
  Bundle bundle;
  BundleError error;
  if (!readBundle(bytes, argv[2], bundle, error)) {
    std::fprintf(stderr, "%s\n", error.text().c_str());
    return 1;
  }
  if (kind == "version")
    ++bundle.abiMajor;
  else if (kind == "machine")
    bundle.images.at(0).data.at(offsetof(Elf64_Ehdr, e_machine)) = static_cast<char>(EM_RISCV);
  else if (kind == "feature")
    for (BundleImage &image : bundle.images)
      image.features.push_back("telepathy");
  else if (kind == "metadata")
    bundle.images.at(0).entries.at(0).metadata = "{name: x}";
  else
    return 2;
  if (!writeBundle(bundle, bytes, error)) {
    std::fprintf(stderr, "%s\n", error.text().c_str());
    return 1;
  }
  std::ofstream(argv[3], std::ios::binary) << bytes;
  return 0;
}
