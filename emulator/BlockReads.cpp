#include "emulator/BlockReads.h"
#include "emulator/Block.h"
#include "emulator/Checker.h"
#include <bit>
#include <cstring>

namespace tessera::emulator {

bool BlockRead::isSame(const BlockRead &other) const {
  return read == other.read && address == other.address && lastByte == other.lastByte &&
         lastRow == other.lastRow && lastPitch == other.lastPitch && column == other.column &&
         row == other.row;
}

int32_t BlockRead::elementBytes() const {
  using enum EmulatedBlockRead;
  return read == U8M8K32 || read == TransformU8K32 ? 1 : read == TransposeU32K8 ? 4 : 2;
}

std::string breachOf(const BlockRead &r, bool &isAlignment) {
  constexpr int64_t kMost = 1 << 24;
  const int64_t width = int64_t{r.lastByte} + 1, height = int64_t{r.lastRow} + 1,
                pitch = int64_t{r.lastPitch} + 1;
  isAlignment = true;
  if (r.address % 64) return "the address of the matrix is no multiple of 64";
  if (pitch % 16) return "its rows are " + std::to_string(pitch) + " bytes apart, no multiple of 16";
  if (width % 4) return "its rows have " + std::to_string(width) + " bytes, no multiple of 4";
  if (int64_t{r.column} * r.elementBytes() % 4)
    return "the block begins with byte " + std::to_string(int64_t{r.column} * r.elementBytes()) +
           " of a row, no multiple of 4";
  isAlignment = false;
  if (width < 64 || width > kMost) return "its rows have " + std::to_string(width) + " bytes";
  if (pitch < width || pitch > kMost)
    return "its rows of " + std::to_string(width) + " bytes are " + std::to_string(pitch) + " bytes apart";
  if (height > kMost) return "it has " + std::to_string(height) + " rows";
  return "";
}

// Without transform and transposition a lane has 16 bits of each of 8 rows. A transformed block has a column
// of elements in each lane, two or four rows in a word. A transposed one has a row in each lane, of 8 words.
int piecesOf(EmulatedBlockRead read) {
  using enum EmulatedBlockRead;
  return read == TransformU16K16 ? 16 : read == TransformU8K32 ? 32 : 8;
}

BlockPiece pieceOf(const BlockRead &r, int lane, int number) {
  const int64_t first = int64_t{r.column} * r.elementBytes();
  BlockPiece piece{};
  switch (r.read) {
  case EmulatedBlockRead::U16M8K16:
  case EmulatedBlockRead::U8M8K32:
    piece = {int64_t{r.row} + number, first + 2 * lane, 2, false};
    break;
  case EmulatedBlockRead::TransformU16K16:
    piece = {int64_t{r.row} + number, first + 2 * lane, 2, false};
    break;
  case EmulatedBlockRead::TransformU8K32:
    piece = {int64_t{r.row} + number, first + lane, 1, false};
    break;
  case EmulatedBlockRead::TransposeU32K8:
    piece = {int64_t{r.row} + lane, first + 4 * number, 4, false};
    break;
  }
  // Rows end with whole words, so that a piece is inside or outside as a whole.
  piece.isInside = piece.row >= 0 && piece.row <= int64_t{r.lastRow} && piece.byte >= 0 &&
                   piece.byte <= int64_t{r.lastByte};
  return piece;
}

/// All lanes of a sub-group have reached a block read.
void Block::completeBlockRead(int first, int last) {
  const int lastLane = running_;
  const Lane &own = lanes_[static_cast<size_t>(running_)];
  const int32_t site = own.site;
  const BlockRead &common = own.request.block;
  auto fail = [&](const char *code, const std::string &what) {
    launch_->report.add(code, {site, -1}, launch_->kernel.image->site(site).place() + ": " + what);
    end();
  };
  if (last - first != kBlockLanes)
    fail("E_EMU_DIVERGENCE", "a sub-group of " + who(-1) + " has " + std::to_string(last - first) +
                                 " lanes; block reads are for 16");
  for (int lane = first; lane < last; ++lane)
    if (!lanes_[static_cast<size_t>(lane)].request.block.isSame(common))
      fail("E_EMU_OPERANDS", who(first) + " and " + who(lane) + ", of one sub-group, read different blocks");
  bool isAlignment = false;
  if (const std::string why = breachOf(common, isAlignment); !why.empty())
    fail(isAlignment ? "E_EMU_ALIGNMENT" : "E_EMU_OPERANDS", who(first) + " reads a block: " + why);
  for (int lane = first; lane < last; ++lane) {
    running_ = lane; // on whose account it is
    auto *to = static_cast<uint8_t *>(lanes_[static_cast<size_t>(lane)].request.block.words);
    for (int i = 0; i < piecesOf(common.read); ++i) {
      const BlockPiece piece = pieceOf(common, lane - first, i);
      if (piece.isInside) {
        const auto *from = reinterpret_cast<const uint8_t *>(
            common.address + static_cast<uint64_t>(piece.row * (int64_t{common.lastPitch} + 1) + piece.byte));
        if (launch_->checker) launch_->checker->access(from, piece.bytes, 0, site);
        std::memcpy(to, from, static_cast<size_t>(piece.bytes));
        counts_.readInBlocks += piece.bytes;
      } else {
        std::memset(to, 0, static_cast<size_t>(piece.bytes));
      }
      to += piece.bytes;
    }
  }
  running_ = lastLane;
  ++counts_.blocks;
}

} // namespace tessera::emulator
