// Prepares, once per kernel, the checks of a launch: kinds, sizes and alignments of the arguments, and the
// expressions of the grid.
#pragma once
#include "core/metadata/KernelMetadata.h"
#include <cstdint>
#include <string>
#include <tessera/backend.hpp>
#include <vector>

namespace tessera {

/// Immutable and thread-safe.
class LaunchPlan {
public:
  [[nodiscard]] static bool make(const KernelMetadata &, LaunchPlan &out, std::string &why);

  size_t argumentCount() const { return arguments_.size(); }

  /// Checks `args` and `launch` against the kernel and reads them. values[i] receives the i-th launch value
  /// (in CpuKernelFn's form), `grid` the number of programs per axis. Allocates only on failure or when the
  /// kernel has more than kSmall arguments. Returns false and fills `why` when an argument is wrong.
  [[nodiscard]] bool bind(const tsr_launch_t &launch, void *const *args, size_t nargs, uint64_t *values,
                          LaunchGrid &grid, std::string &why) const;

  size_t count(MetadataParam::Kind) const;
  size_t rank(size_t index) const { return arguments_[index].extentsEnd - arguments_[index].extentsBegin; }
  /// Computes the dims from the extents of the tensors, and the extents of the results. `values[i]` of
  /// a dim is its value or -1; all dims have values afterwards. `extents` has those of the tensors, then
  /// those of the results. Returns an error if an extent differs or a dim stays open.
  [[nodiscard]] MaybeError solveDims(uint64_t *values, int64_t *extents) const;

  /// Bytes from the first to the last element of tensor `index` for these values, or -1 when argument `index`
  /// is not a tensor. Valid after a successful bind.
  int64_t tensorBytes(size_t index, const uint64_t *values) const;
  const std::string &name(size_t index) const { return arguments_[index].name; }
  bool isTensor(size_t index) const {
    return arguments_[index].kind == MetadataParam::Kind::Tensor ||
           arguments_[index].kind == MetadataParam::Kind::Result;
  }
  bool hasStrides(size_t index) const { return isStrided(arguments_[index]); }
  /// "x [M, 64] = [3, 64]", or "x [M, 64] = [3, 64] with strides [ld, 1] = [80, 1]": a tensor, its dims and
  /// their extents for these values.
  std::string describe(size_t index, const uint64_t *values) const;
  /// The values in the form expressions expect: scalars sign-extended. `slots` has room for argumentCount().
  void slots(const uint64_t *values, int64_t *slots) const;
  /// The programs per axis of the kernel, outermost first, for these values. Valid after a successful bind.
  std::vector<int64_t> axisCounts(const uint64_t *values) const;
  /// Returns whether the grid, or a condition of the program, depends on argument `index`.
  bool gridReads(size_t index) const;

  static constexpr size_t kSmall = 64;

private:
  /// How one dim or stride of a tensor is given: as an argument, an expression of arguments, or a constant.
  struct Extent {
    int32_t argument = -1, expression = -1; // an index, or -1
    int64_t constant = 0;
    std::string text;
  };
  struct Argument {
    MetadataParam::Kind kind;
    uint8_t bytes; // of an element or of the scalar
    bool isSigned, isBool;
    DType dtype;
    int64_t expected = -1; // the dim this image was specialised for, or -1
    bool isWritten = false;
    uint32_t extentsBegin, extentsEnd; // of dims
    uint32_t stridesEnd;               // from extentsEnd on: one per dim, or none if it is contiguous
    std::string name;
  };

  class Solver;
  bool bindArgument(size_t index, const void *source, uint64_t &value, std::string &why) const;
  std::string tensorsWith(size_t dim) const;
  /// Returns -1 when an expression overflows, divides by zero or is negative.
  int64_t extent(const Extent &, const uint64_t *values) const;
  /// The elements from the first to the last.
  bool elements(const Argument &, const uint64_t *values, int64_t &out) const;
  bool isApart(const Argument &, const uint64_t *values) const;
  bool isStrided(const Argument &a) const { return a.extentsEnd != a.stridesEnd; }
  std::string list(uint32_t begin, uint32_t end) const;
  std::string list(uint32_t begin, uint32_t end, const uint64_t *values) const;
  /// What the first condition of the kernel that does not hold says, with the dims in it; "" if all hold.
  std::string brokenCondition(const uint64_t *values) const;
  bool deriveGrid(const uint64_t *values, LaunchGrid &grid, std::string &why) const;

  std::vector<Argument> arguments_;
  std::vector<Extent> extents_;
  std::vector<IndexExpr> axes_, derived_; // `derived_`: the extents that are expressions
  std::vector<std::string> axisTexts_;
  struct Check {
    IndexExpr value; // not negative
    std::string says;
  };
  std::vector<Check> checks_;
  int64_t block_[3];
  int64_t sharedBytes_ = 0;
};

} // namespace tessera
