#include "core/objects/Objects.h"
#include "core/log/LastError.h"
#include <utility>

namespace tessera {

std::vector<std::shared_ptr<StreamObject>> ContextObject::streams() const {
  std::vector<std::shared_ptr<StreamObject>> out;
  if (defaultStream) out.push_back(defaultStream);
  std::lock_guard lock(mutex_);
  for (auto &[key, stream] : streams_)
    out.push_back(stream);
  return out;
}

StreamObject *ContextObject::onlyStream() const {
  std::lock_guard lock(mutex_);
  return streams_.empty() ? defaultStream.get() : nullptr;
}

void ContextObject::noteWork(StreamObject &stream) noexcept {
  std::lock_guard lock(mutex_);
  if (std::exchange(stream.isListed, true)) return;
  stream.nextWorking = std::exchange(working_, &stream);
}

void ContextObject::unlist(StreamObject &stream) {
  if (!std::exchange(stream.isListed, false)) return;
  StreamObject **at = &working_;
  while (*at != &stream)
    at = &(*at)->nextWorking;
  *at = stream.nextWorking;
}

void ContextObject::drain() {
  constexpr size_t kFew = 8; // looking at so many costs less than noting their work again
  std::vector<std::shared_ptr<StreamObject>> working;
  {
    std::lock_guard lock(mutex_);
    for (StreamObject *s = working_; s; s = s->nextWorking)
      working.push_back(s->shared_from_this());
  }
  for (auto &stream : working)
    stream->device->drain();
  if (working.size() <= kFew) return;
  std::lock_guard lock(mutex_);
  for (auto &stream : working)
    if (stream->isListed && stream->device->takeNote()) unlist(*stream);
}

bool makeStream(ContextObject &context, StreamObject &out, std::string &why) {
  auto below = context.device->createStream(why);
  if (!below) return false;
  out.context = &context;
  out.device =
      std::make_unique<CapturableStream>(std::move(below), [&context, &out] { context.noteWork(out); });
  return true;
}

namespace {
template <class T> constexpr const char *kNoun = "";
template <> constexpr const char *kNoun<ContextObject> = "context";
template <> constexpr const char *kNoun<ModuleObject> = "module";
template <> constexpr const char *kNoun<KernelObject> = "kernel";
template <> constexpr const char *kNoun<StreamObject> = "stream";
template <> constexpr const char *kNoun<EventObject> = "event";
template <> constexpr const char *kNoun<GraphObject> = "graph";
template <> constexpr const char *kNoun<CommObject> = "communicator";

template <class T> tsr_status_t find(typename T::Handle handle, T *&out) {
  if ((out = lookup<T>(handle))) return TSR_SUCCESS;
  return fail(TSR_EINVAL,
              std::string("the ") + kNoun<T> +
                  (handle ? " handle is not valid (destroyed, or of another kind)" : " handle is NULL"));
}

} // namespace

template <class T> tsr_status_t resolve(typename T::Handle handle, T *&out) {
  if (tsr_status_t status = find(handle, out)) return status;
  if (!out->isInherited()) return TSR_SUCCESS;
  return fail(TSR_EDEVICE,
              std::string("the ") + kNoun<T> +
                  " was made in the parent process of a fork, whose threads do not exist in this "
                  "one: make a new context in the child");
}

template <class T> tsr_status_t resolveToDestroy(typename T::Handle handle, T *&out) {
  if (tsr_status_t status = find(handle, out)) return status;
  if (out->isInherited()) std::exchange(out, nullptr)->retire();
  return TSR_SUCCESS;
}

#define TESSERA_RESOLVE(Object)                                                                              \
  template tsr_status_t resolve(Object::Handle, Object *&);                                                  \
  template tsr_status_t resolveToDestroy(Object::Handle, Object *&);
TESSERA_RESOLVE(ContextObject)
TESSERA_RESOLVE(ModuleObject)
TESSERA_RESOLVE(KernelObject)
TESSERA_RESOLVE(StreamObject)
TESSERA_RESOLVE(EventObject)
TESSERA_RESOLVE(GraphObject)
TESSERA_RESOLVE(CommObject)
#undef TESSERA_RESOLVE

tsr_status_t resolveStream(ContextObject &context, tsr_stream_t stream, StreamObject *&out) {
  if (!stream) {
    out = context.defaultStream.get();
    return TSR_SUCCESS;
  }
  if (tsr_status_t status = resolve(stream, out)) return status;
  if (out->context != &context) return fail(TSR_EINVAL, "the stream belongs to another context");
  return TSR_SUCCESS;
}

} // namespace tessera
