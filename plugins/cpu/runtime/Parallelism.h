// How many threads a launch may use beside the one it runs on.
#pragma once

namespace tessera::cpu {

/// Returns whether the calling thread is inside a parallel region of OpenMP or a task of oneTBB. Its program
/// has then occupied the cores, and work that it starts should use one thread.
bool isInParallelRegion();

/// Returns the number of further threads that the process may use now: its cores, within what a
/// tbb::global_control of the program allows.
int helperLimit();

} // namespace tessera::cpu
