// Says in one line what a compiler of an older standard would say in hundreds.
#pragma once
#if __cplusplus <= 201703L
#error                                                                                                       \
    "Tessera's C++ headers need C++20: compile with -std=c++20 or link CMake's tessera::tessera. <tessera/tessera.h> is C99."
#endif
