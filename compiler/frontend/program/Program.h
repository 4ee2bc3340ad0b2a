// The typed, elaborated form of one tile kernel, which the frontend passes to Graph IR.
//
// All abbreviations of the language are expanded: helpers are inlined, weak literals have a dtype, implicit
// conversions are Cast nodes, implicit tile iterators are grid axes and For loops, `+=` is a load, an
// addition and a store, and tiles broadcast through explicit Broadcast nodes. It does not use MLIR, so that
// fuzzers and sanitizers can build this layer alone.
#pragma once
#include "compiler/ops/Ops.h"
#include "numerics/Casts.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::frontend {

/// A half-open source range; lines and columns count from 1.
struct Range {
  uint32_t line = 0, col = 0, endLine = 0, endCol = 0;
};

struct Type {
  enum Kind : uint8_t { None, Scalar, Tile, Buffer, Tensor };
  Kind kind = None;
  DType dtype = DType::F32;
  std::vector<int64_t> shape; // Tile and Buffer: static extents (never empty). Tensor: empty, see Param::dims

  bool operator==(const Type &) const = default;
};

/// One tensor dim. A plain integer is {n, ""}. A name or a product of names, "B*H", is a symbol: one int64 in
/// the ABI, named by its text. Other texts are expressions of symbols in the normal form of DimExpr, "2*K +
/// 1".
struct Dim {
  int64_t constant = 1;
  std::string symbol; // empty: the constant is the extent

  bool operator==(const Dim &) const = default;
};

/// Index of a local variable, shared buffer or loop/grid variable in Kernel::symbols.
using SymbolId = int;

using ops::Op;
using ops::opName;

enum class AtomicKind : uint8_t { Add, Max, Min, Xchg, Cas };
enum class MemoryOrder : uint8_t { Relaxed, Acquire, Release, AcqRel, SeqCst };
enum class MemoryScope : uint8_t { Group, Device, System };

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct Expr {
  Op op;
  Type type;
  Range loc;
  std::vector<ExprPtr> args;
  int64_t intValue = 0;
  double floatValue = 0;
  SymbolId symbol = -1;
  int param = -1; // index into Kernel::params (inputs and result tensors)
  std::vector<int64_t> ints;
  std::string text;
  AtomicKind atomic = AtomicKind::Add;
  MemoryOrder order = MemoryOrder::Relaxed;
  MemoryScope scope = MemoryScope::Device;
};

struct Stmt;
using Block = std::vector<Stmt>;

struct Stmt {
  enum Kind : uint8_t {
    Assign,      // symbol = exprs[0]; defines it or rebinds it with the same type
    StoreTile,   // tensor param[exprs[1..] = starts] = exprs[0]; ints as LoadTile
    StoreElem,   // tensor param[exprs[1..]] = exprs[0]; dropped when out of range
    BufferWrite, // buffer symbol[exprs[1..] starts, or none: the whole] = exprs[0]
    CpAsync,     // buffer symbol = exprs[0], a LoadTile
    CommitGroup,
    WaitGroup /* ints[0] */,
    Barrier,
    Prefetch, // exprs[0]: a LoadTile that is only prefetched
    Fence,    // order, scope
    Eval,     // exprs[0] for its effect (an atomic)
    For,      // symbol from exprs[0] below exprs[1] by exprs[2] (all i64); ints[0] = stages (0: unspecified)
    While,    // condition exprs[0] (evaluated before each iteration), body
    If,       // exprs[0]; body, orelse
  };
  Kind kind;
  Range loc;
  SymbolId symbol = -1;
  int param = -1;
  std::vector<ExprPtr> exprs;
  std::vector<int64_t> ints;
  Block body, orelse;
  std::vector<SymbolId>
      carried; // For, While, If: outer variables that are assigned inside, in order of first definition
  MemoryOrder order = MemoryOrder::SeqCst;
  MemoryScope scope = MemoryScope::Group;
  bool isReductionIterator = false; // For: created for an implicit tile iterator
};

struct Symbol {
  std::string name;
  Type type;
  Range loc;
  std::string swizzle = "none"; // buffers: "none" or "xor"
  int64_t align = 16;           // buffers, bytes
};

/// The suffix `@accum(f32) @round(rne) @loss_scale(128.0)` of a dtype (decision D14).
struct Policy {
  std::optional<DType> accum;
  std::string round = "rne";
  double lossScale = 1.0;
};

/// A statement print or assert_ (core/metadata/Reports.h).
struct Report {
  bool isAssert = false, isOfLane = false;
  std::string file, text;
  Range loc;
  std::vector<Type> values; // scalars and tiles
};

struct Param {
  std::string name;
  Range loc;
  bool isTensor = false;
  bool isInt = false; // an integer of Python, declared `int`: it takes the dtype of a float that it meets
  DType dtype = DType::F32;
  std::vector<Dim> dims;    // tensors
  std::vector<Dim> strides; // one per dim, in elements; empty: the tensor is contiguous
  Policy policy;
  bool reads = false, writes = false, atomics = false; // effects on a tensor
  bool returned = false;                               // named in `return`
  bool isResult =
      false; // a caller-allocated output that is no parameter of the source ("result", "result0", ...)
  std::optional<Number> defaultValue; // scalars
  std::vector<Report> reports;        // not empty: the hidden tensor that these statements write
};

/// One axis of the launch grid: it has ceildiv(hi - lo, step) programs, and its variable is lo + id * step.
struct GridAxis {
  SymbolId symbol = -1;
  ExprPtr lo, hi, step; // i64 expressions of dims, integer scalar parameters and constants only
  bool isBatch = false; // an implicit batch axis
};

/// A condition on dims and integer scalars: a launch is refused if the value is negative.
struct LaunchCheck {
  ExprPtr value;    // i64, of the same form as the bounds of the grid
  std::string says; // "K % 4 == 0"
};

struct Kernel {
  std::string name;
  Range loc;
  std::vector<Param> params;     // parameters in source order, then results that are not parameters
  std::vector<std::string> dims; // every symbolic dim in order of first appearance (decision D15)
  std::vector<std::pair<std::string, int64_t>> specialized; // dims whose value this instance was compiled for
  std::vector<std::pair<std::string, int64_t>> tunables;    // the values of this instance
  std::vector<Symbol> symbols;
  std::vector<GridAxis> grid;      // outermost first; empty without lanes: one program
  ExprPtr laneCount;               // linear_id programs: number of lanes (i64 of dims/params), else null
  std::vector<LaunchCheck> checks; // what the program assumes
  Block body;                      // of one tile program; of one lane when laneCount is set
  int64_t sharedBytes = 0;         // counted before dead code is removed
  std::vector<std::string> unused; // requests of the program that have no effect, one line each
};

/// Prints a kernel as stable, readable text: declarations, grid, then one line per statement.
std::string dump(const Kernel &);

/// Returns a deep copy of an expression.
ExprPtr clone(const Expr &);

} // namespace tessera::frontend
