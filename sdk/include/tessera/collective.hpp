// Collectives in C++: the base class of an implementation, the table of plugin.h made from it, and the object
// that the host makes from such a table. Both sides compile this into themselves; only C crosses the
// boundary.
//
// Shapes. A call has `count` elements of one dtype. With p ranks:
//   all_reduce      src count      -> dst count      every rank gets the op over all ranks' src, element-wise
//   broadcast       src count      -> dst count      every rank gets the root's src; others' src is not read
//   all_gather      src count      -> dst p * count  dst holds the ranks' src, in the order of ranks
//   reduce_scatter  src p * count  -> dst count      rank r gets the op over part r of all ranks' src
//   all_to_all      src p * count  -> dst p * count  part q of rank r's dst is part r of rank q's src
//   send            src count                        the peer's recv of the same tag gets src
//   recv                              dst count      dst is the src of the peer's send of the same tag
// Buffers are plain memory of the process, contiguous and aligned to their elements. src may be dst for
// all_reduce and broadcast; otherwise they do not overlap. The buffers belong to the caller, and nobody else
// may access them until the call returns. Counts are elements and times are nanoseconds.
//
// Threads. Many threads may use a Collective at once. A Communicator may be used by one call at a time; abort
// may be called beside it. The
// Communicators of different ranks are independent objects. Errors are statuses with a text in `why`, never
// exceptions.
#pragma once
#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <tessera/collective_call.hpp>
#include <tessera/plugin.h>
#include <tessera/thunk.hpp>

namespace tessera {

/// One rank's endpoint of a communicator. Destruction does not wait for the other ranks.
class Communicator {
public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Blocks until this rank's part is done. `call` has all fields, but they are not checked.
  virtual tsr_status_t run(const tsr_cl_call_t &call, std::string &why) = 0;
  /// Forms communicators of the ranks with the same color, ordered by key, then by rank; all ranks call it.
  /// `out` is this rank's, or null if `color` is negative.
  virtual collective::Outcome split(int32_t /*color*/, int32_t /*key*/,
                                    std::unique_ptr<Communicator> & /*out*/) {
    return {TSR_UNIMPLEMENTED, "this implementation does not split communicators"};
  }
  /// Breaks the communicator: waiting and later calls of all ranks fail with TSR_EDEVICE and `reason`.
  virtual collective::Outcome abort(const std::string & /*reason*/) {
    return {TSR_UNIMPLEMENTED, "this implementation does not abort communicators"};
  }
};

/// An implementation of collectives: a factory of communicators.
class Collective {
public:
  virtual ~Collective() = default;
  /// Creates a communicator: waits for the other ranks for at most options.timeout_ns. Returns null with
  /// `status` and `why` filled on failure.
  virtual std::unique_ptr<Communicator> create(const tsr_cl_options_t &options, tsr_status_t &status,
                                               std::string &why) = 0;
  /// Returns the names for tsr_cl_call_t::algorithm, the default first, comma-separated; static. "" for an
  /// unknown kind.
  virtual const char *algorithms(uint32_t kind) const = 0;
  /// Returns "process", "node" or "network"; static.
  virtual const char *topology() const = 0;
};

namespace thunk {

/// The slots of tsr_collective_api_t for the Collective that Get returns. It must live as long as the
/// process.
template <Collective &(*Get)()> struct CollectiveSlots {
  static int32_t create(const tsr_host_info_t *, const tsr_cl_options_t *options, tsr_cl_comm_t **out,
                        tsr_text_t *why) noexcept {
    return guard(why, [&](std::string &text) -> int32_t {
      tsr_status_t status = TSR_EINTERNAL;
      auto made = Get().create(copyIn(options), status, text);
      if (!made) return status;
      *out = reinterpret_cast<tsr_cl_comm_t *>(made.release());
      return TSR_SUCCESS;
    });
  }
  static void destroy(tsr_cl_comm_t *comm) noexcept {
    guardVoid([&] { delete of(comm); });
  }
  static int32_t info(tsr_cl_comm_t *comm, int32_t *rank, int32_t *size) noexcept {
    return guard(nullptr, [&](std::string &) -> int32_t {
      *rank = of(comm)->rank();
      *size = of(comm)->size();
      return TSR_SUCCESS;
    });
  }
  static int32_t run(tsr_cl_comm_t *comm, const tsr_cl_call_t *call, tsr_text_t *why) noexcept {
    return guard(why, [&](std::string &text) -> int32_t { return of(comm)->run(copyIn(call), text); });
  }
  static int32_t split(tsr_cl_comm_t *comm, int32_t color, int32_t key, tsr_cl_comm_t **out,
                       tsr_text_t *why) noexcept {
    return guard(why, [&](std::string &text) -> int32_t {
      std::unique_ptr<Communicator> made;
      const tsr_status_t status = of(comm)->split(color, key, made).moveTo(text);
      *out = reinterpret_cast<tsr_cl_comm_t *>(made.release());
      return status;
    });
  }
  static int32_t abort(tsr_cl_comm_t *comm, const char *reason, tsr_text_t *why) noexcept {
    return guard(why, [&](std::string &text) -> int32_t {
      return of(comm)->abort(reason ? reason : "").moveTo(text);
    });
  }
  static const char *algorithms(uint32_t kind) noexcept {
    const char *out = "";
    guardVoid([&] { out = Get().algorithms(kind); });
    return out;
  }
  static Communicator *of(tsr_cl_comm_t *comm) { return reinterpret_cast<Communicator *>(comm); }
};

/// Returns the table for tsr_plugin_info_t::collective.
template <Collective &(*Get)()> const tsr_collective_api_t *collectiveTable() noexcept {
  using Slots = CollectiveSlots<Get>;
  static const tsr_collective_api_t table = {sizeof(tsr_collective_api_t),
                                             TSR_COLLECTIVE_API_MAJOR,
                                             TSR_COLLECTIVE_API_MINOR,
                                             &Slots::create,
                                             &Slots::destroy,
                                             &Slots::info,
                                             &Slots::run,
                                             &Slots::algorithms,
                                             Get().topology(),
                                             &Slots::split,
                                             &Slots::abort};
  return &table;
}

/// Returns the C for TSR_PLUGIN(C): one per process, made on first use. C may have a static shutdown(), which
/// is called as tsr_plugin_info_t::shutdown.
template <std::derived_from<Collective> C> Collective &onlyOne() {
  static C object;
  return object;
}
template <std::derived_from<Collective> C> void offer(Of<C>, tsr_plugin_info_t &info) {
  info.collective = collectiveTable<onlyOne<C>>();
  if constexpr (requires { C::shutdown(); }) info.shutdown = []() { guardVoid([] { C::shutdown(); }); };
}

} // namespace thunk

/// Wraps a plugin's table as a Collective. If the table lacks a required slot, create returns
/// TSR_UNIMPLEMENTED. Without `algorithms` there are none, and without `topology` it is "process". The table
/// lives as long as the process; `host` must outlive this object.
class TableCollective final : public Collective {
public:
  TableCollective(const tsr_collective_api_t *api, const tsr_host_info_t *host) : api_(api), host_(host) {}

  std::unique_ptr<Communicator> create(const tsr_cl_options_t &options, tsr_status_t &status,
                                       std::string &why) override {
    if (!complete(why)) {
      status = TSR_UNIMPLEMENTED;
      return nullptr;
    }
    thunk::Text text;
    tsr_cl_comm_t *made = nullptr;
    status = static_cast<tsr_status_t>(api_->comm_create(host_, &options, &made, text));
    if (status != TSR_SUCCESS) {
      why = text.str();
      return nullptr;
    }
    auto out = Comm::adopt(api_, made, status);
    if (!out) why = "comm_info failed";
    return out;
  }
  const char *algorithms(uint32_t kind) const override {
    const char *list = TSR_HAS(api_, tsr_collective_api_t, algorithms) && api_->algorithms && hasKind(kind)
                           ? api_->algorithms(kind)
                           : "";
    return list ? list : "";
  }
  /// Returns whether the table's version has calls of `kind`.
  bool hasKind(uint32_t kind) const { return collective::hasKind(api_->version_minor, kind); }
  const char *topology() const override {
    return TSR_HAS(api_, tsr_collective_api_t, topology) && api_->topology ? api_->topology : "process";
  }

private:
  struct Comm final : Communicator {
    Comm(const tsr_collective_api_t *api, tsr_cl_comm_t *comm) : api_(api), comm_(comm) {}
    ~Comm() override { api_->comm_destroy(comm_); }
    /// Asks for rank and size. Returns null with `status` filled on failure.
    static std::unique_ptr<Comm> adopt(const tsr_collective_api_t *api, tsr_cl_comm_t *comm,
                                       tsr_status_t &status) {
      auto out = std::make_unique<Comm>(api, comm);
      status = static_cast<tsr_status_t>(api->comm_info(comm, &out->rank_, &out->size_));
      return status == TSR_SUCCESS ? std::move(out) : nullptr;
    }
    int rank() const override { return rank_; }
    int size() const override { return size_; }
    tsr_status_t run(const tsr_cl_call_t &call, std::string &why) override {
      char buffer[1024];
      tsr_text_t text = {buffer, sizeof buffer, 0};
      buffer[0] = 0;
      auto status = static_cast<tsr_status_t>(api_->run(comm_, &call, &text));
      if (status != TSR_SUCCESS) why.assign(buffer, strnlen(buffer, sizeof buffer - 1));
      return status;
    }
    collective::Outcome split(int32_t color, int32_t key, std::unique_ptr<Communicator> &out) override {
      if (!TSR_HAS(api_, tsr_collective_api_t, comm_split) || !api_->comm_split)
        return Communicator::split(color, key, out);
      thunk::Text text;
      tsr_cl_comm_t *made = nullptr;
      auto status = static_cast<tsr_status_t>(api_->comm_split(comm_, color, key, &made, text));
      if (status != TSR_SUCCESS) return {status, text.str()};
      if (!made) return {};
      out = adopt(api_, made, status);
      if (!out) return {status, "comm_info failed"};
      return {};
    }
    collective::Outcome abort(const std::string &reason) override {
      if (!TSR_HAS(api_, tsr_collective_api_t, comm_abort) || !api_->comm_abort)
        return Communicator::abort(reason);
      thunk::Text text;
      const auto status = static_cast<tsr_status_t>(api_->comm_abort(comm_, reason.c_str(), text));
      return {status, text.str()};
    }
    const tsr_collective_api_t *const api_;
    tsr_cl_comm_t *const comm_;
    int32_t rank_ = -1, size_ = 0;
  };

  bool complete(std::string &why) const {
    const char *missing = nullptr;
    if (!TSR_HAS(api_, tsr_collective_api_t, version_minor))
      missing = "its version";
    else if (api_->version_major != TSR_COLLECTIVE_API_MAJOR)
      missing = "interface version 1";
    else if (!TSR_HAS(api_, tsr_collective_api_t, comm_create) || !api_->comm_create)
      missing = "comm_create";
    else if (!TSR_HAS(api_, tsr_collective_api_t, comm_destroy) || !api_->comm_destroy)
      missing = "comm_destroy";
    else if (!TSR_HAS(api_, tsr_collective_api_t, comm_info) || !api_->comm_info)
      missing = "comm_info";
    else if (!TSR_HAS(api_, tsr_collective_api_t, run) || !api_->run)
      missing = "run";
    if (missing) why = std::string("the plugin's table of collectives lacks ") + missing;
    return !missing;
  }

  const tsr_collective_api_t *const api_;
  const tsr_host_info_t *const host_;
};

} // namespace tessera
