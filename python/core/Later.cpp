#include "python/core/Later.h"
#include "python/core/Stream.h"
#include <algorithm>
#include <new>

namespace tessera::python {
namespace {

struct Left {
  Context *context;
  std::function<void()> end;
};
struct LeftStream {
  Context *context;
  tsr_stream_t handle;
};

constexpr int64_t kMostBytes = 256 << 20;
constexpr int64_t kOwnBytes = 256; // of an entry and what is behind it

std::vector<Left> &all() {
  static auto &left = *new std::vector<Left>;
  return left;
}
/// Streams that nobody refers to and whose work goes on.
std::vector<LeftStream> &streams() {
  static auto &left = *new std::vector<LeftStream>;
  return left;
}

bool hasWork(Context &context) {
  std::erase_if(streams(), [](const LeftStream &s) { return tsrStreamQuery(s.handle) != TSR_NOT_READY; });
  return std::ranges::find(streams(), &context, &LeftStream::context) != streams().end() || isBusy(context);
}

/// Ends what was left of a context.
void endAll(Context &context) {
  std::vector<Left> mine;
  const auto others = std::ranges::partition(all(), [&](const Left &l) { return l.context != &context; });
  std::ranges::move(others, std::back_inserter(mine));
  all().erase(others.begin(), others.end());
  std::erase_if(streams(), [&](const LeftStream &s) { return s.context == &context; });
  context.leftBytes = 0;
  WithoutGil released;
  for (const Left &l : mine)
    l.end();
}

} // namespace

void endLater(Context &context, int64_t bytes, std::function<void()> end, tsr_stream_t stream) {
  Left left{&context, std::move(end)};
  try {
    if (stream && tsrStreamQuery(stream) == TSR_NOT_READY) streams().push_back({&context, stream});
    if (hasWork(context)) {
      all().push_back(std::move(left));
      context.leftBytes += bytes + kOwnBytes;
      return;
    }
  } catch (const std::bad_alloc &) { // deallocators raise nothing: it ends now, and may wait
    if (stream) std::erase_if(streams(), [&](const LeftStream &s) { return s.handle == stream; });
  }
  WithoutGil released;
  left.end();
}

bool makeRoom(Context &context) {
  if (!context.leftBytes) return true;
  const bool isMuch = context.leftBytes > kMostBytes;
  if (isMuch && !waitForAll(&context)) return false;
  if (isMuch || !hasWork(context)) endAll(context);
  return true;
}

void forgetLater() {
  all().clear();
  streams().clear();
}

} // namespace tessera::python
