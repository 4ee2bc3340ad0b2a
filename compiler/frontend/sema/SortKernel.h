// The kernels that sort the rows of a whole tensor, as texts of the tile language (GraphSort.cpp launches
// them). There are two ways to sort a row that is too long for a tile: DigitSort is for targets where one
// thread runs a program, MergeSort for those where threads share its tiles.
#pragma once
#include "compiler/frontend/program/DimExpr.h"
#include "compiler/frontend/sema/KernelText.h"
#include "compiler/frontend/sema/Value.h"
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tessera::frontend {

/// What both have in common: keys, and rows that fit a tile.
///
/// A key is a signed integer in the order of the elements, as SortRules.cpp has them. Positions are packed
/// into the lower half of an i64 whose upper half is the key; those of 64-bit keys have a tensor of their
/// own.
class SortKernel {
public:
  virtual ~SortKernel() = default;

  /// A tensor that the kernels need beside x, the one that is sorted: a result, or memory for long rows.
  struct Buffer {
    std::string name;
    DType dtype;
    bool isResult;
  };
  struct Launch {
    std::string text;
    std::vector<std::string> tensors; // the kernel's first parameters: "x" and names of buffers
    std::vector<int64_t> numbers;     // the others
  };

  /// May a row be longer than the tiles?
  bool isLong() const { return isLong_; }
  /// Results first.
  virtual std::vector<Buffer> buffers() const = 0;
  virtual std::vector<Launch> launches() = 0;
  /// The extent of a buffer's rows, for rows of `extent` elements; nothing if it has no expression.
  std::optional<DimExpr> extentOf(const Buffer &, const DimExpr &extent) const;

protected:
  /// `extent` of a row if it is known when compiling; `k` of topk. `largestWideTop` is the largest tile in
  /// which topk sorts keys of 64 bits.
  SortKernel(FunctionId, DType, bool isDescending, std::optional<int64_t> extent, int64_t k,
             int64_t largestWideTop);

  virtual std::optional<DimExpr> extentForLong(const DimExpr &extent) const = 0;
  /// `extent` times 1 if a row of `of` elements is longer than the tiles, else times 0.
  std::optional<DimExpr> ifLong(const DimExpr &extent, const DimExpr &of) const;
  /// The results, with which buffers() begins.
  std::vector<Buffer> results() const;

  /// Begins a text with the functions key and value, between elements and keys, which are i32, or i64 of
  /// elements of 64 bits.
  void writeKeys(KernelText &) const;
  /// Sorts row r of x if it fits a tile: the branches of an `if` whose `else` the caller adds.
  void writeTiles(KernelText &, int depth) const;
  void writeTile(KernelText &, int depth, int64_t tile) const;

  bool hasPositions() const { return function_ != FunctionId::Sort; }
  bool isPacked() const { return hasPositions() && !isWide_; }
  DType keyDType() const;
  std::string keyName() const { return std::string("ts.") + tessera::name(keyDType()); }

  FunctionId function_;
  DType dtype_;
  bool isDescending_, isWide_;
  int64_t k_, largestTile_;
  std::vector<int64_t> tiles_; // a row takes the smallest one that holds it
  bool isLong_ = false;        // may a row be longer than the tiles?
  std::string name_;

private:
  int64_t largest() const { return static_cast<int64_t>(~uint64_t(0) >> (65 - info(dtype_).bits)); }
  int64_t infinity() const;
  void writeRanks(KernelText &, int depth, int64_t tile) const;
};

/// One kernel, of which a program sorts a row. Long rows are sorted by the digits of their keys, a byte each,
/// from the least significant one on: counts of the digits give the place where the elements of each digit
/// begin, and every element moves to the next place of its digit. Such a pass keeps the order of equal
/// digits. topk first finds the key of the last element that it takes, digit by digit from the most
/// significant one on, and sorts only what is not above it.
class DigitSort : public SortKernel {
public:
  DigitSort(FunctionId, DType, bool isDescending, std::optional<int64_t> extent, int64_t k);
  std::vector<Buffer> buffers() const override;
  std::vector<Launch> launches() override;

protected:
  std::optional<DimExpr> extentForLong(const DimExpr &extent) const override;

private:
  std::string row(const Buffer &) const;
  std::string digit(const std::string &k, int64_t j) const;
  void writeElement(int depth, const char *at);
  void writeLoad(int depth, bool isA);
  void writeStore(int depth, bool isA);
  void writeResult(int depth);
  void writePasses(int depth, const std::string &count, const std::function<void(int)> &first);
  void writeTop(int depth);

  int64_t digits_;
  bool hasSortedCandidates_; // does topk take more than fits a tile?
  KernelText t_;
};

/// Sorts parts of a long row in tiles, one program each. The sorted runs are then merged, four at a time, by
/// launches with a lane for each element: how many elements of the three other runs precede it, which it
/// searches in them, gives its place. The first parameters of the launches choose the length of the runs, so
/// that all of them launch one kernel. Launches that the length of the rows does not need do nothing.
///
/// topk keeps the first elements of each part only.
class MergeSort : public SortKernel {
public:
  MergeSort(FunctionId, DType, bool isDescending, const DimExpr &extent, int64_t k);
  std::vector<Buffer> buffers() const override;
  std::vector<Launch> launches() override;

protected:
  std::optional<DimExpr> extentForLong(const DimExpr &extent) const override;

private:
  std::string runsText() const;
  std::string mergeText() const;
  std::string resultParameters() const;
  void writeRun(KernelText &, int depth) const;
  bool hasApart() const { return hasPositions() && isWide_; }
  DType storedDType() const { return isPacked() ? DType::I64 : keyDType(); }

  std::optional<int64_t> known_; // extent of a row
  bool isCut_ = false;           // are k elements of each part kept, and not all of them?
};

} // namespace tessera::frontend
