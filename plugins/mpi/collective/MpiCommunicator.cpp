#include "plugins/mpi/collective/MpiCommunicator.h"
#include <climits>
#include <cstring>
#include <new>

namespace tessera::mpi {
namespace {

#ifndef TESSERA_MPI_MOST_ELEMENTS // a test defines a smaller value
#define TESSERA_MPI_MOST_ELEMENTS (size_t{1} << 30)
#endif
// of all ranks in one call, because MPI counts in int
constexpr size_t kMostElements = TESSERA_MPI_MOST_ELEMENTS;
constexpr size_t kOrderedBytes = size_t{256} << 10; // per rank and exchange
constexpr size_t kPartBytes = size_t{4} << 20;      // per rank, when a call is too large for MPI

std::string describeCall(const Message &m) {
  return collective::describe(m.signature, std::string(m.where, strnlen(m.where, sizeof m.where)),
                              kAlgorithms);
}

Message messageOf(const collective::Signature &signature, const char *where) {
  Message m;
  m.signature = signature;
  if (where) std::strncpy(m.where, where, sizeof m.where - 1);
  return m;
}

} // namespace

MpiCommunicator::MpiCommunicator(MPI_Comm comm, std::string id, uint64_t timeoutNs)
    : comm_(comm), id_(std::move(id)), timeoutNs_(timeoutNs),
      agreement_(comm, Session::get().rank(), Session::get().size(), 0, describeCall) {}

MpiCommunicator::~MpiCommunicator() {
  if (broken_) return; // its messages may still be in transit
  Session::get().locked([&] {
    int over = 0;
    MPI_Comm comm = comm_;
    if (!MPI_Finalized(&over) && !over) MPI_Comm_free(&comm);
  });
}

tsr_status_t MpiCommunicator::run(const tsr_cl_call_t &call, std::string &why) {
  const std::string name = "communicator '" + id_ + "', rank " + std::to_string(rank()) + ": ";
  std::unique_lock turn(busy_, std::try_to_lock);
  if (!turn) {
    why = name + "another thread is in a call of this rank; one at a time";
    return TSR_EINVAL;
  }
  if (broken_) {
    why = name + "it is broken (" + since_ + "); destroy it and make a new one";
    return broken_;
  }
  uint8_t algorithm;
  const bool reduces = collective::reduces(call.kind);
  if (!collective::check(call, size(), reduces ? kAlgorithms : "native", algorithm, why)) {
    why = name + why;
    return TSR_EINVAL;
  }
  const auto signature = collective::signatureOf(call, calls_, algorithm);
  const Deadline deadline(call.timeout_ns ? call.timeout_ns : timeoutNs_);
  broken_ = agreement_.reach(messageOf(signature, call.where), deadline, why);
  const bool needsOrder =
      reduces && !mpiReduces(static_cast<DType>(call.dtype), static_cast<CombineOp>(call.op));
  try {
    if (!broken_ && call.count) broken_ = move(call, algorithm == 2 || needsOrder, why);
  } catch (const std::bad_alloc &) { // between parts: the other ranks are in the call
    broken_ = TSR_EOOM;
    why = "out of memory";
  }
  ++calls_;
  if (broken_) {
    since_ = why;
    why = name + why + "; the communicator is broken";
  }
  return broken_;
}

tsr_status_t MpiCommunicator::move(const tsr_cl_call_t &call, bool inOrder, std::string &why) {
  const size_t bytes = collective::kBytes[call.dtype];
  const bool byRank = collective::dividesSource(call.kind) || collective::dividesTarget(call.kind);
  const size_t fits =
      byRank ? std::max<size_t>(1, kMostElements / static_cast<size_t>(size())) : kMostElements;
  auto step = &MpiCommunicator::native;
  size_t most = fits;
  if (inOrder) {
    step = &MpiCommunicator::ordered;
    most = kOrderedBytes / bytes;
  } else if (byRank && call.count > fits) {
    step = &MpiCommunicator::packed;
    most = std::min(fits, kPartBytes / bytes);
  }
  for (size_t from = 0; from < call.count; from += most)
    if (tsr_status_t status = (this->*step)(call, from, std::min(most, call.count - from), why))
      return status;
  return TSR_SUCCESS;
}

/// Copies elements `from` to from + n of each rank's part of `src` to given_, one part after the other.
void MpiCommunicator::pack(const tsr_cl_call_t &call, size_t from, size_t n) {
  const size_t bytes = collective::kBytes[call.dtype], ranks = static_cast<size_t>(size());
  const auto *src = static_cast<const std::byte *>(call.src);
  given_.resize(ranks * n * bytes);
  for (size_t r = 0; r < ranks; ++r)
    std::memcpy(given_.data() + r * n * bytes, src + (r * call.count + from) * bytes, n * bytes);
}

/// Computes a piece of a call with parts for the ranks that is too large for MPI: the parts' pieces are
/// separate in the caller's buffers, and contiguous in given_ and taken_.
tsr_status_t MpiCommunicator::packed(const tsr_cl_call_t &call, size_t from, size_t n, std::string &why) {
  const size_t bytes = collective::kBytes[call.dtype], ranks = static_cast<size_t>(size());
  auto *dst = static_cast<std::byte *>(call.dst);
  tsr_cl_call_t part = call;
  part.count = n;
  part.src = static_cast<const std::byte *>(call.src) + from * bytes;
  part.dst = dst + from * bytes;
  if (collective::dividesSource(call.kind)) {
    pack(call, from, n);
    part.src = given_.data();
  }
  if (!collective::dividesTarget(call.kind)) return native(part, 0, n, why);
  taken_.resize(ranks * n * bytes);
  part.dst = taken_.data();
  if (tsr_status_t status = native(part, 0, n, why)) return status;
  for (size_t r = 0; r < ranks; ++r)
    std::memcpy(dst + (r * call.count + from) * bytes, taken_.data() + r * n * bytes, n * bytes);
  return TSR_SUCCESS;
}

tsr_status_t MpiCommunicator::native(const tsr_cl_call_t &call, size_t from, size_t n, std::string &why) {
  const auto t = static_cast<DType>(call.dtype);
  const size_t at = from * collective::kBytes[call.dtype];
  const auto *src = static_cast<const std::byte *>(call.src) + at;
  auto *dst = static_cast<std::byte *>(call.dst) + at;
  const MPI_Datatype type = typeOf(t);
  const int count = static_cast<int>(n);
  const char *name = "MPI_Iallreduce";
  MPI_Request request = MPI_REQUEST_NULL;
  if (call.kind == TSR_BROADCAST && rank() == call.root && src != dst)
    std::memcpy(dst, src, n * collective::kBytes[call.dtype]);
  Session &session = Session::get();
  const int code = session.locked([&] {
    const MPI_Op op = collective::reduces(call.kind) ? opOf(t, static_cast<CombineOp>(call.op)) : MPI_SUM;
    if (op == MPI_OP_NULL) return int{MPI_ERR_OP};
    switch (call.kind) {
    case TSR_ALL_REDUCE:
      return MPI_Iallreduce(src == dst ? MPI_IN_PLACE : src, dst, count, type, op, comm_, &request);
    case TSR_BROADCAST:
      name = "MPI_Ibcast";
      return MPI_Ibcast(dst, count, type, call.root, comm_, &request);
    case TSR_ALL_GATHER:
      name = "MPI_Iallgather";
      return MPI_Iallgather(src, count, type, dst, count, type, comm_, &request);
    case TSR_ALL_TO_ALL:
      name = "MPI_Ialltoall";
      return MPI_Ialltoall(src, count, type, dst, count, type, comm_, &request);
    default:
      name = "MPI_Ireduce_scatter_block";
      return MPI_Ireduce_scatter_block(src, dst, count, type, op, comm_, &request);
    }
  });
  if (code) {
    why = mpiError(name, code);
    return TSR_EDEVICE;
  }
  return session.wait(Deadline(UINT64_MAX), request, name, why); // all ranks are in this call
}

tsr_status_t MpiCommunicator::ordered(const tsr_cl_call_t &call, size_t from, size_t n, std::string &why) {
  const auto t = static_cast<DType>(call.dtype);
  const size_t bytes = collective::kBytes[call.dtype], ranks = static_cast<size_t>(size());
  const auto *src = static_cast<const std::byte *>(call.src);
  const bool scatter = call.kind == TSR_REDUCE_SCATTER;
  const char *name = scatter ? "MPI_Ialltoall" : "MPI_Iallgather";
  taken_.resize(ranks * n * bytes);
  if (scatter) pack(call, from, n);
  MPI_Request request = MPI_REQUEST_NULL;
  Session &session = Session::get();
  const int count = static_cast<int>(n);
  const int code = session.locked([&] {
    const MPI_Datatype type = typeOf(t);
    return scatter
               ? MPI_Ialltoall(given_.data(), count, type, taken_.data(), count, type, comm_, &request)
               : MPI_Iallgather(src + from * bytes, count, type, taken_.data(), count, type, comm_, &request);
  });
  if (code) why = mpiError(name, code);
  if (code) return TSR_EDEVICE;
  if (tsr_status_t status = session.wait(Deadline(UINT64_MAX), request, name, why)) return status;
  std::vector<const void *> sources(ranks);
  for (size_t r = 0; r < ranks; ++r)
    sources[r] = taken_.data() + r * n * bytes;
  combine(static_cast<std::byte *>(call.dst) + from * bytes, sources.data(), size(), n, t,
          static_cast<CombineOp>(call.op));
  return TSR_SUCCESS;
}

} // namespace tessera::mpi
