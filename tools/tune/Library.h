// libtessera-tuner.so: the tuner for programs that are not linked with it, as the Python package, which opens
// it when something is tuned. It is of one build with libtessera.so and the compiler, and no public contract.
#pragma once

extern "C" {

/// Does one piece of work and returns. `request` is a JSON object whose "do" names it:
/// - tune: source, file, kernel, numerics, types, constants, pieces; sizes, in, scalars, budget, seed,
/// look_up,
///   database
/// - merge: files, database, look_up; export: database, look_up; list: database
/// Calls `report` in this thread with JSON objects: any number of {"progress": ...} and {"result": ...}, then
/// one
/// {"answer": ...}, which has "errors" or "diagnostics" if something failed. While `isStopped` returns
/// something else than 0, nothing more is measured. Throws nothing.
__attribute__((visibility("default"))) void tesseraTuner(const char *request,
                                                         void (*report)(void *user, const char *json),
                                                         int (*isStopped)(void *user), void *user);
}
