// How lanes load the operands of matrix instructions that take them from registers.
#pragma once
#include "compiler/codegen/gpu/BytePermutations.h"
#include "compiler/codegen/gpu/Lowering.h"
#include "compiler/layout/Products.h"

namespace tessera::gpu {

/// Loads the parts of one operand that instructions take.
struct KernelLowering::OperandLoader {
  using Value = mlir::Value;

  KernelLowering &lowering;
  Place place;
  bool isTransposed; // in memory
  const layout::Fragment &fragment;
  layout::Operand operand;
  layout::TileLayout own; // of one instruction's operand
  std::optional<layout::MatrixLoad> matrices;
  Vec<Value> thread; // what this thread adds to the index

  OperandLoader(KernelLowering &l, Place p, bool isStoredTransposed, const layout::Fragment &f,
                layout::Operand which)
      : lowering(l), place(std::move(p)), isTransposed(isStoredTransposed), fragment(f), operand(which),
        own(f.layout(which)) {
    const bool isShared =
        mlir::cast<mlir::LLVM::LLVMPointerType>(place.data.getType()).getAddressSpace() == kSharedSpace;
    const unsigned bytes = place.element.getIntOrFloatBitWidth() / 8;
    if (l.target_.loadsMatrices && isShared && place.shape[1] * bytes % 16 == 0)
      matrices = layout::matrixLoad(f, operand, bytes, isTransposed);
    layout::TileLayout lanes = own;
    if (matrices) lanes.lane = matrices->lane;
    thread = l.threadIndex(lanes);
  }

  /// Returns the operand whose first element is at `row`, `column`: for each instruction a vector in the
  /// order of its registers.
  Vec<Value> operator()(Value row, Value column) {
    return matrices ? loadMatrices(row, column) : loadVectors(row, column);
  }

private:
  /// The registers of each instruction of a form with interleaved rows or columns; else of the only one.
  Vec<std::vector<int64_t>> parts() const {
    const auto [rows, columns] = fragment.times();
    Vec<std::vector<int64_t>> all;
    for (int64_t i = 0; i < (operand == layout::Operand::A ? rows : columns); ++i)
      all.push_back(fragment.registersOf(operand, i, i));
    return all;
  }

  /// Where register `number` of the operand is.
  Value address(Value row, Value column, int64_t number) {
    Vec<Value> at = lowering.registerIndex(own, thread, number);
    for (auto [index, base] : llvm::zip(at, std::array{row, column}))
      index = mlir::arith::AddIOp::create(lowering.b_, base, index);
    if (isTransposed) std::swap(at[0], at[1]);
    return lowering.placeAddress(place, at);
  }

  /// Words of 32 bits as registers.
  Value elementsOf(mlir::ArrayRef<Value> words, int64_t count) {
    mlir::ImplicitLocOpBuilder &b = lowering.b_;
    Value all = mlir::vector::FromElementsOp::create(
        b, mlir::VectorType::get({int64_t(words.size())}, b.getI32Type()), words);
    auto type = mlir::VectorType::get({count}, target::registerElement(place.element));
    return mlir::vector::BitCastOp::create(b, type, all);
  }

  Vec<Value> loadMatrices(Value row, Value column) {
    mlir::ImplicitLocOpBuilder &b = lowering.b_;
    Vec<Value> words =
        lowering.vendor_.emitLoadMatrix(b, address(row, column, 0), matrices->count, matrices->isTransposed);
    if (!matrices->words.empty()) { // those of the registers, from those of the matrices
      const Vec<Value> pairs = std::exchange(words, {});
      for (auto [first, second, isOdd] : matrices->words)
        words.push_back(lowering.vendor_.emitBytes(b, pairs[first], pairs[second],
                                                   {isOdd, 2 + isOdd, 4 + isOdd, 6 + isOdd}));
    }
    // Words have neighbours along k; each instruction of a form has a part of them.
    Vec<Value> loaded;
    const auto all = parts();
    const size_t count = words.size() / all.size();
    for (size_t i = 0; i < all.size(); ++i)
      loaded.push_back(elementsOf(llvm::ArrayRef(words).slice(i * count, count), int64_t(all[i].size())));
    return loaded;
  }

  /// Registers that are neighbours in memory, up to 16 bytes, where each such vector is aligned.
  Vec<Value> loadVectors(Value row, Value column) {
    mlir::ImplicitLocOpBuilder &b = lowering.b_;
    mlir::Type memory = target::inMemoryElement(place.element);
    const int64_t bytes = memory.getIntOrFloatBitWidth() / 8;
    const unsigned shift = own.unit.shift(isTransposed ? 0 : 1);
    int64_t width = 1, inVector = 0; // the bits of register numbers that count elements of a vector
    Vec<int64_t> steps = {0};        // the register of each element of a vector
    for (; width * bytes < 16 && place.shape[1] % (2 * width) == 0; width *= 2) {
      const auto next = llvm::find(own.reg, layout::Bits(width) << shift);
      if (next == own.reg.end()) break;
      const int64_t bit = int64_t(1) << (next - own.reg.begin());
      inVector |= bit;
      for (int64_t i = 0; i < width; ++i)
        steps.push_back(steps[i] + bit);
    }
    if (inVector >= width && bytes <= 2 && lowering.vendor_.permutesBytes())
      return loadWords(row, column, inVector, steps);
    Vec<Value> elements(own.registers());
    for (int64_t r = 0; r < own.registers(); ++r) {
      if (r & inVector) continue;
      mlir::Type vector = width > 1 ? mlir::Type(mlir::VectorType::get({width}, memory)) : memory;
      Value v = mlir::LLVM::LoadOp::create(b, vector, address(row, column, r), unsigned(width * bytes));
      for (int64_t i = 0; i < width; ++i)
        elements[r + steps[i]] = lowering.lane(v, i);
    }
    Vec<Value> loaded;
    for (const std::vector<int64_t> &registers : parts()) {
      Vec<Value> ofPart;
      for (int64_t r : registers)
        ofPart.push_back(elements[r]);
      auto type = mlir::VectorType::get({int64_t(registers.size())}, target::registerElement(place.element));
      loaded.push_back(mlir::vector::FromElementsOp::create(b, type, ofPart));
    }
    return loaded;
  }

  /// The same where the elements of a vector are in registers that are not neighbours: their bytes get to
  /// their places by permutations of words.
  Vec<Value> loadWords(Value row, Value column, int64_t inVector, mlir::ArrayRef<int64_t> steps) {
    mlir::ImplicitLocOpBuilder &b = lowering.b_;
    const int64_t bytes = target::inMemoryElement(place.element).getIntOrFloatBitWidth() / 8,
                  all = bytes * int64_t(steps.size());
    Vec<BytePermutations::Byte> bytesOf(bytes * own.registers());
    for (int64_t r = 0; r < own.registers(); ++r) {
      if (r & inVector) continue;
      const int64_t count = llvm::divideCeil(all, 4);
      mlir::Type type = count > 1 ? mlir::Type(mlir::VectorType::get({count}, b.getI32Type()))
                                  : b.getIntegerType(unsigned(8 * all));
      Value v = mlir::LLVM::LoadOp::create(b, type, address(row, column, r), unsigned(all));
      if (all < 4) v = mlir::arith::ExtUIOp::create(b, b.getI32Type(), v);
      for (int64_t i = 0; i < all; ++i)
        bytesOf[bytes * (r + steps[i / bytes]) + i % bytes] = {lowering.lane(v, i / 4), i % 4};
    }
    BytePermutations permutations(lowering.vendor_, b);
    Vec<Value> loaded;
    for (const std::vector<int64_t> &registers : parts()) {
      Vec<BytePermutations::Byte> ofPart;
      for (int64_t r : registers)
        for (int64_t i = 0; i < bytes; ++i)
          ofPart.push_back(bytesOf[bytes * r + i]);
      Vec<Value> words;
      for (size_t i = 0; i < ofPart.size(); i += 4)
        words.push_back(permutations.word(llvm::ArrayRef(ofPart).slice(i, 4)));
      loaded.push_back(elementsOf(words, int64_t(registers.size())));
    }
    return loaded;
  }
};

} // namespace tessera::gpu
