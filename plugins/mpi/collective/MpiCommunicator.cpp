#include "plugins/mpi/collective/MpiCommunicator.h"
#include <climits>
#include <cstring>
#include <new>

namespace tessera::mpi {

using collective::Outcome;

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

/// Tags of messages between two ranks; an Agreement uses 0 to 2. MPI guarantees tags up to 32767.
int headTag(int32_t tag) { return 3 + 2 * tag; }
int dataTag(int32_t tag) { return 4 + 2 * tag; }
static_assert(4 + 2 * collective::kMostTag <= 32767);

int rankIn(MPI_Comm comm) {
  return Session::get().locked([&] {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    return rank;
  });
}

int sizeOf(MPI_Comm comm) {
  return Session::get().locked([&] {
    int size = 1;
    MPI_Comm_size(comm, &size);
    return size;
  });
}

} // namespace

struct MpiCommunicator::Outgoing {
  Message head;
  std::unique_ptr<std::byte[]> data;
  std::vector<MPI_Request> requests;
};

MpiCommunicator::MpiCommunicator(MPI_Comm comm, std::string id, uint64_t timeoutNs)
    : comm_(comm), rank_(rankIn(comm)), size_(sizeOf(comm)), id_(std::move(id)),
      name_("communicator '" + id_ + "', rank " + std::to_string(rank_) + ": "), timeoutNs_(timeoutNs),
      agreement_(comm, rank_, size_, 0, describeCall, abort_) {}

MpiCommunicator::~MpiCommunicator() {
  forgetSent();
  for (auto &message : outgoing_)
    (void)message.release(); // MPI may still read it
  if (broken_) return;       // its messages may still be in transit
  Session::get().locked([&] {
    int over = 0;
    MPI_Comm comm = comm_;
    if (!MPI_Finalized(&over) && !over) MPI_Comm_free(&comm);
  });
}

/// Begins a call, which ends when `turn` unlocks. Fails if another thread is in one, or if the communicator
/// is broken.
Outcome MpiCommunicator::begin(std::unique_lock<std::mutex> &turn) {
  turn = std::unique_lock(busy_, std::try_to_lock);
  if (!turn) return {TSR_EINVAL, name_ + "another thread is in a call of this rank; one at a time"};
  if (!broken_) return {};
  return {broken_, name_ + "it is broken (" + since_ + "); destroy it and make a new one"};
}

/// Breaks the communicator, unless `status` is a success.
Outcome MpiCommunicator::breaks(tsr_status_t status, std::string text) {
  if (!(broken_ = status)) return {};
  since_ = std::move(text);
  return {status, name_ + since_ + "; the communicator is broken"};
}

tsr_status_t MpiCommunicator::run(const tsr_cl_call_t &call, std::string &why) {
  std::unique_lock<std::mutex> turn;
  if (Outcome o = begin(turn); o.failed()) return o.moveTo(why);
  Outcome o = call.kind == TSR_SEND ? send(call) : call.kind == TSR_RECV ? receive(call) : runOnAll(call);
  return o.moveTo(why);
}

Outcome MpiCommunicator::runOnAll(const tsr_cl_call_t &call) {
  uint8_t algorithm;
  std::string why;
  const bool reduces = collective::reduces(call.kind);
  if (!collective::check(call, size_, reduces ? kAlgorithms : "native", algorithm, why))
    return {TSR_EINVAL, name_ + why};
  const auto signature = collective::signatureOf(call, calls_, algorithm);
  const Deadline deadline(call.timeout_ns ? call.timeout_ns : timeoutNs_);
  tsr_status_t status = agreement_.reach(messageOf(signature, call.where), deadline, why);
  const bool needsOrder =
      reduces && !mpiReduces(static_cast<DType>(call.dtype), static_cast<CombineOp>(call.op));
  try {
    if (!status && call.count) status = move(call, algorithm == 2 || needsOrder, why);
  } catch (const std::bad_alloc &) { // between parts: the other ranks are in the call
    status = TSR_EOOM;
    why = "out of memory";
  }
  ++calls_;
  return breaks(status, why);
}

/// Frees the messages that MPI has sent.
void MpiCommunicator::forgetSent() {
  outgoing_.remove_if([](const std::unique_ptr<Outgoing> &message) {
    return Session::get().locked([&] {
      int done = 0, over = 0;
      if (MPI_Finalized(&over) || over) return false;
      return !MPI_Testall(static_cast<int>(message->requests.size()), message->requests.data(), &done,
                          MPI_STATUSES_IGNORE) &&
             done;
    });
  });
}

/// A message is a head, which says what is sent, and its elements in as many parts as MPI needs.
Outcome MpiCommunicator::send(const tsr_cl_call_t &call) {
  uint8_t algorithm;
  std::string why;
  if (!collective::check(call, size_, "", algorithm, why)) return {TSR_EINVAL, name_ + why};
  forgetSent();
  const size_t bytes = call.count * collective::kBytes[call.dtype];
  auto message = std::make_unique<Outgoing>();
  message->head = messageOf(collective::signatureOf(call, 0, 0), call.where);
  message->data.reset(new (std::nothrow) std::byte[bytes]);
  if (!message->data)
    return {TSR_EOOM, name_ + "no memory for a message of " + std::to_string(bytes) + " bytes"};
  if (bytes) std::memcpy(message->data.get(), call.src, bytes); // a NULL src is allowed without elements
  message->requests.assign(1 + (bytes + kMostElements - 1) / kMostElements, MPI_REQUEST_NULL);
  const int code = Session::get().locked([&] {
    int failed = MPI_Isend(&message->head, sizeof(Message), MPI_BYTE, call.peer, headTag(call.tag), comm_,
                           &message->requests[0]);
    for (size_t part = 0, at = 0; at < bytes && !failed; at += kMostElements)
      failed = MPI_Isend(message->data.get() + at, static_cast<int>(std::min(kMostElements, bytes - at)),
                         MPI_BYTE, call.peer, dataTag(call.tag), comm_, &message->requests[++part]);
    return failed;
  });
  outgoing_.push_back(std::move(message));
  if (!code) return {};
  why = mpiError("MPI_Isend", code);
  agreement_.giveUp(TSR_EDEVICE, why);
  return breaks(TSR_EDEVICE, why);
}

Outcome MpiCommunicator::receive(const tsr_cl_call_t &call) {
  uint8_t algorithm;
  std::string why;
  if (!collective::check(call, size_, "", algorithm, why)) return {TSR_EINVAL, name_ + why};
  Session &session = Session::get();
  const Message wanted = messageOf(collective::signatureOf(call, 0, 0), call.where);
  const Deadline deadline(call.timeout_ns ? call.timeout_ns : timeoutNs_);
  auto head = std::make_unique<Message>();
  MPI_Request request = MPI_REQUEST_NULL;
  int code = session.locked([&] {
    return MPI_Irecv(head.get(), sizeof(Message), MPI_BYTE, call.peer, headTag(call.tag), comm_, &request);
  });
  Outcome ended;
  int turn = 0;
  tsr_status_t status = code ? TSR_EDEVICE : session.wait(deadline, [&] {
    int done = 0;
    if ((code = MPI_Test(&request, &done, MPI_STATUS_IGNORE))) return Session::Poll::Failed;
    if (done) return Session::Poll::Done;
    ended = agreement_.own();
    if (!ended.failed() && ++turn % 64 == 0) ended = agreement_.others();
    return ended.failed() ? Session::Poll::Failed : Session::Poll::Again;
  });
  if (code) why = mpiError("MPI_Irecv", code);
  if (status == TSR_ETIMEOUT)
    why = describeCall(wanted) + ": " + collective::list({call.peer}) + " did not send within " +
          collective::duration(deadline.total());
  if (status) (void)head.release(); // MPI may still write it
  if (ended.failed()) status = ended.moveTo(why);
  if (!status &&
      (head->signature.count != wanted.signature.count || head->signature.dtype != wanted.signature.dtype)) {
    why = collective::mismatchOfPair(call.peer, describeCall(*head), rank_, describeCall(wanted));
    status = TSR_EINVAL;
  }
  if (status) {
    agreement_.giveUp(status, why);
    return breaks(status, why);
  }
  const size_t bytes = call.count * collective::kBytes[call.dtype];
  for (size_t at = 0; at < bytes && !status; at += kMostElements) {
    code = session.locked([&] {
      return MPI_Irecv(static_cast<std::byte *>(call.dst) + at,
                       static_cast<int>(std::min(kMostElements, bytes - at)), MPI_BYTE, call.peer,
                       dataTag(call.tag), comm_, &request);
    });
    if (code) why = mpiError("MPI_Irecv", code);
    status = code ? TSR_EDEVICE : session.wait(Deadline(UINT64_MAX), request, "MPI_Irecv", why);
  }
  return breaks(status, why);
}

Outcome MpiCommunicator::split(int32_t color, int32_t key, std::unique_ptr<Communicator> &out) {
  std::unique_lock<std::mutex> turn;
  if (Outcome o = begin(turn); o.failed()) return o;
  Session &session = Session::get();
  // MPI_Comm_split blocks with MPI's lock. Ranks that split two communicators in different orders must not
  // wait for each other there: they time out in the agreement.
  std::lock_guard creating(session.creating);
  Message m;
  m.signature.kind = collective::kSplit;
  m.signature.sequence = calls_++;
  std::string text;
  const tsr_status_t reached = agreement_.reach(m, Deadline(timeoutNs_), text);
  if (Outcome o = breaks(reached, text); o.failed()) return o;
  MPI_Comm part = MPI_COMM_NULL;
  const int code = session.locked([&] {
    const int failed = MPI_Comm_split(comm_, color < 0 ? MPI_UNDEFINED : color, key, &part);
    if (!failed && part != MPI_COMM_NULL) MPI_Comm_set_errhandler(part, MPI_ERRORS_RETURN);
    return failed;
  });
  if (code) return breaks(TSR_EDEVICE, mpiError("MPI_Comm_split", code));
  if (part == MPI_COMM_NULL) return {};
  const std::string id = id_ + "/" + std::to_string(m.signature.sequence) + "." + std::to_string(color);
  out = std::make_unique<MpiCommunicator>(part, id, timeoutNs_);
  return {};
}

Outcome MpiCommunicator::abort(const std::string &reason) {
  abort_.ask(reason);
  std::lock_guard turn(busy_);
  if (broken_) return {}; // among others by the call that was in progress
  const Outcome own = agreement_.own();
  breaks(own.status, own.text);
  agreement_.giveUp(own.status, own.text);
  return {};
}

tsr_status_t MpiCommunicator::move(const tsr_cl_call_t &call, bool inOrder, std::string &why) {
  const size_t bytes = collective::kBytes[call.dtype];
  const bool byRank = call.kind != TSR_ALL_REDUCE && call.kind != TSR_BROADCAST;
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

/// Computes a part of a call that is too large for MPI: the ranks' parts are separate in the caller's
/// buffers, and contiguous in given_ and taken_.
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
