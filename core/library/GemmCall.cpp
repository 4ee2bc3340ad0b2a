#include "core/library/GemmCall.h"

namespace tessera {

std::string GemmCall::name() const {
  std::string out = std::string("blas.gemm.") + tessera::name(dtype) + ".";
  out += transA ? 't' : 'n';
  out += transB ? 't' : 'n';
  if (batchA || batchB) out += std::string(".") + (batchA ? "a" : "") + (batchB ? "b" : "");
  return out;
}

std::optional<GemmCall> GemmCall::parse(std::string_view text) {
  // There are few calls, so the name of each is compared.
  for (int bits = 0; bits < 32; ++bits) {
    GemmCall call;
    call.dtype = bits & 1 ? DType::F64 : DType::F32;
    call.transA = bits & 2;
    call.transB = bits & 4;
    call.batchA = bits & 8;
    call.batchB = bits & 16;
    if (call.name() == text) return call;
  }
  return std::nullopt;
}

std::string GemmCall::dims() const {
  std::string out = transA ? "KM" : "MK";
  if (batchA || batchB) out.insert(batchA ? 0 : out.size(), "B"); // B's batch dim follows A's M and K
  return out + "N";
}

KernelMetadata GemmCall::metadata() const {
  KernelMetadata m;
  m.name = name();
  m.target = "cpu";
  m.numerics = "standard";
  auto tensor = [&](const char *name, std::vector<std::string> dims, bool batched, MetadataParam::Kind kind) {
    MetadataParam p;
    p.name = name;
    p.kind = kind;
    p.dtype = dtype;
    p.dims = std::move(dims);
    if (batched) p.dims.insert(p.dims.begin(), "B");
    p.reads = kind == MetadataParam::Kind::Tensor;
    p.writes = !p.reads;
    m.params.push_back(std::move(p));
  };
  using Dims = std::vector<std::string>;
  tensor("a", transA ? Dims{"K", "M"} : Dims{"M", "K"}, batchA, MetadataParam::Kind::Tensor);
  tensor("b", transB ? Dims{"N", "K"} : Dims{"K", "N"}, batchB, MetadataParam::Kind::Tensor);
  tensor("c", {"M", "N"}, batchA || batchB, MetadataParam::Kind::Result);
  for (char dim : dims()) {
    MetadataParam p;
    p.name = std::string(1, dim);
    p.kind = MetadataParam::Kind::Dim;
    m.params.push_back(std::move(p));
  }
  return m;
}

} // namespace tessera
