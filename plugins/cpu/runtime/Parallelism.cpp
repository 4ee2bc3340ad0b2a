#include "plugins/cpu/runtime/Parallelism.h"
#include "plugins/cpu/runtime/Topology.h"
#include <algorithm>
#include <tbb/global_control.h>
#include <tbb/task.h>
#include <tbb/task_arena.h>

// Defined if the program is linked with an OpenMP runtime; this library is not.
extern "C" int omp_in_parallel() __attribute__((weak));

namespace tessera::cpu {

bool isInParallelRegion() {
  if (omp_in_parallel && omp_in_parallel()) return true;
  // The index alone does not tell: a thread keeps it after its first parallel_for has ended. Asked first,
  // because current_context() would register a thread that has never used oneTBB.
  return tbb::this_task_arena::current_thread_index() != tbb::task_arena::not_initialized &&
         tbb::task::current_context() != nullptr;
}

int helperLimit() {
  const auto allowed = static_cast<int>(std::min<size_t>(
      tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism), 4096));
  return std::min(coreCount(), allowed) - 1;
}

} // namespace tessera::cpu
