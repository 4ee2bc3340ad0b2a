#include "core/metadata/DescribeKernel.h"
#include "numerics/DType.h"
#include <algorithm>
#include <cctype>

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

tsr_be_tensor_map_t tensorMapOf(const MetadataTensorMap &map, const KernelMetadata &m) {
  const auto slot = [&](const std::string &name) { // of a launch value
    return std::ranges::find(m.params, name, &MetadataParam::name) - m.params.begin() + m.hasReports();
  };
  const auto number = [&](const std::string &text) { // dims may have names such as "2*S"
    const bool isConstant = std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c); });
    return isConstant ? tsr_be_number_t{-1, std::stoll(text)} : tsr_be_number_t{slot(text), 0};
  };
  tsr_be_tensor_map_t out{};
  out.value = static_cast<uint32_t>(slot(map.param));
  const MetadataParam &tensor = m.params[out.value - m.hasReports()];
  out.element_bytes = static_cast<uint32_t>(storageBytes(tensor.dtype));
  out.rank = static_cast<uint32_t>(tensor.dims.size());
  out.swizzle = static_cast<uint32_t>(map.swizzle);
  for (size_t axis = 0; axis < tensor.dims.size(); ++axis) {
    out.extents[axis] = number(tensor.dims[axis]);
    out.strides[axis] = tensor.strides.empty() ? tsr_be_number_t{-1, 0} : number(tensor.strides[axis]);
    out.box[axis] = static_cast<uint32_t>(map.box[axis]);
  }
  return out;
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
  for (const MetadataTensorMap &map : m.tensorMaps)
    spec.tensorMaps.push_back(tensorMapOf(map, m));
  spec.isPersistent = m.isPersistent;
  spec.forcedBody = m.forcedBody;
  spec.mayWait = m.mayWait, spec.sharesOperands = m.sharesOperands;
  return spec;
}

} // namespace tessera
