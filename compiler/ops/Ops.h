// The operations of typed kernels (Op) and of typed graph functions (GraphOp), as Functions.def lists them.
#pragma once
#include <cstdint>

namespace tessera::ops {

enum class Op : uint8_t {
#define TSR_OP(id, dump) id,
#include "compiler/ops/Functions.def"
};

enum class GraphOp : uint8_t {
#define TSR_GRAPH_OP(id, dump) id,
#include "compiler/ops/Functions.def"
};

/// Returns the name of an operation in dumps: "add", "logical_not".
const char *opName(Op);
const char *opName(GraphOp);

constexpr bool isComparison(Op op) { return op >= Op::Lt && op <= Op::Ne; }

} // namespace tessera::ops
