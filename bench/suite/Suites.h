// The suites, each a list of cases.
#pragma once
#include "bench/suite/Suite.h"

namespace tessera::bench {

Suite gemmSuite();
Suite batchedSuite();
Suite narrowSuite();
Suite fusedSuite();
Suite attentionSuite();
Suite normSuite();
Suite elementwiseSuite();
Suite reduceSuite();
Suite strictSuite();

/// Softmax, or layer_norm if the name begins so, of [rows, columns].
Case rowCase(const std::string &family, std::string name, int64_t rows, int64_t columns);
Case attentionCase(const std::string &family, std::string name, const AttentionShape &);

/// Sorts the rows of a suite's table by their scores and keeps the `count` lowest.
void keepSlowest(Table &, size_t count);

} // namespace tessera::bench
