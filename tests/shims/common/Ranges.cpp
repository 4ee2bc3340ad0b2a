// A vendor's library of profiler ranges. Keeps what it is told, for tests to read.
#include <string>

namespace {
auto &told = *new std::string;
int depth = 0;
} // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED int PUSH_RANGE(const char *name) { return told += std::string(name) + " ", depth++; }
EXPORTED int POP_RANGE() { return told += "pop ", --depth; }
EXPORTED const char *shimRangesTold() { return told.c_str(); }
