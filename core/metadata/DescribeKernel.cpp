#include "core/metadata/DescribeKernel.h"
#include "numerics/DType.h"

namespace tessera {
namespace {

using Kind = MetadataParam::Kind;

tsr_be_argument_t argumentOf(const MetadataParam &p, uint64_t &end) {
  tsr_be_argument_t a{};
  a.kind = p.kind == Kind::Scalar ? TSR_ARGUMENT_SCALAR
           : p.kind == Kind::Dim  ? TSR_ARGUMENT_DIM
                                  : TSR_ARGUMENT_POINTER;
  a.bytes = p.kind == Kind::Scalar ? static_cast<uint32_t>(storageBytes(p.dtype)) : sizeof(uint64_t);
  a.offset = (end + a.bytes - 1) / a.bytes * a.bytes;
  end = a.offset + a.bytes;
  return a;
}

} // namespace

KernelSpec describeKernel(const KernelMetadata &m, std::string yaml, uint32_t format) {
  KernelSpec spec;
  spec.metadata = std::move(yaml);
  spec.valueCount = static_cast<uint32_t>(m.params.size() + m.hasReports());
  spec.scratchBytes = static_cast<size_t>(m.scratchBytes);
  spec.sharedBytes = static_cast<size_t>(m.sharedBytes);
  for (int i = 0; i < 3; ++i) {
    spec.block[i] = static_cast<uint32_t>(m.block[i]);
    spec.cluster[i] = static_cast<uint32_t>(m.cluster[i]);
  }
  spec.imageFormat = format;
  spec.dynamicSharedBytes = static_cast<size_t>(m.dynamicSharedBytes);
  spec.workspaceBytes = static_cast<size_t>(m.workspaceBytes);
  uint64_t end = 0;
  if (m.hasReports()) spec.arguments.push_back(argumentOf({}, end)); // a tensor
  for (const MetadataParam &p : m.params)
    spec.arguments.push_back(argumentOf(p, end));
  return spec;
}

} // namespace tessera
