#include "python/core/Later.h"
#include "python/core/Stream.h"
#include <algorithm>

namespace tessera::python {
namespace {

struct Left {
  Context *context;
  int64_t bytes;
  std::function<void()> end;
};

constexpr size_t kMostLeft = 1000;
constexpr int64_t kMostBytes = 256 << 20;

std::vector<Left> &all() {
  static auto &left = *new std::vector<Left>;
  return left;
}

/// Ends what was left of a context.
void endAll(Context &context) {
  std::vector<Left> mine;
  const auto others = std::ranges::partition(all(), [&](const Left &l) { return l.context != &context; });
  std::ranges::move(others, std::back_inserter(mine));
  all().erase(others.begin(), others.end());
  WithoutGil released;
  for (const Left &l : mine)
    l.end();
}

} // namespace

void endLater(Context &context, int64_t bytes, std::function<void()> end) {
  if (isBusy(context)) return all().push_back({&context, bytes, std::move(end)});
  WithoutGil released;
  end();
}

bool makeRoom(Context &context) {
  size_t count = 0;
  int64_t bytes = 0;
  for (const Left &l : all())
    if (l.context == &context) ++count, bytes += l.bytes;
  if (!count) return true;
  const bool isMuch = count > kMostLeft || bytes > kMostBytes;
  if (isMuch && !waitForAll(&context)) return false;
  if (isMuch || !isBusy(context)) endAll(context);
  return true;
}

void forgetLater() { all().clear(); }

} // namespace tessera::python
