// What emulated code calls. Each function works for the lane that calls it.
#include "emulator/Approximate.h"
#include "emulator/Block.h"
#include "emulator/Checker.h"
#include <bit>

using tessera::emulator::Block;
using tessera::emulator::Meeting;
using tessera::emulator::Request;

#define TESSERA_EMULATED extern "C" __attribute__((visibility("default")))

TESSERA_EMULATED uint32_t tsr_emu_coordinate(int32_t which) { return Block::current().coordinate(which); }

/// The address of a place in the block's shared memory, and of the same place in another block of the cluster
/// (mapa of PTX).
TESSERA_EMULATED void *tsr_emu_shared(int64_t offset) { return Block::current().ownShared() + offset; }
TESSERA_EMULATED void *tsr_emu_map_to_rank(void *place, uint32_t rank, int32_t site) {
  return Block::current().mapToRank(place, rank, site);
}
/// barrier.cluster of PTX.
TESSERA_EMULATED void tsr_emu_arrive_in_cluster(int32_t site) { Block::current().arriveInCluster(site); }
TESSERA_EMULATED void tsr_emu_await_cluster(int32_t site) { Block::current().awaitCluster(site); }

/// AMD's hidden arguments: the numbers of blocks along x, y and z.
TESSERA_EMULATED const void *tsr_emu_implicit_arguments() { return Block::current().gridSize(); }

/// Barrier `number`, of so many lanes; 0: of all.
TESSERA_EMULATED void tsr_emu_barrier(int32_t number, int32_t count, int32_t waits, int32_t site) {
  Block::current().barrier(number, count, waits != 0, site);
}
/// setmaxnreg of PTX.
TESSERA_EMULATED void tsr_emu_set_registers(int32_t count, int32_t atEntry, int32_t increases, int32_t site) {
  Block::current().setRegisters(count, atEntry, increases != 0, site);
}

TESSERA_EMULATED void tsr_emu_warp_barrier(uint32_t mask, int32_t site) {
  Request request;
  request.mask = mask;
  Block::current().meetWarp(request, site);
}

/// The value of lane `lane` of the warp, or, if `isXor`, of the own number xor `lane`.
TESSERA_EMULATED uint32_t tsr_emu_exchange(uint32_t value, uint32_t lane, int32_t isXor, int32_t site) {
  Request request{Meeting::Exchange, isXor, ~0u, value, lane, 0};
  return Block::current().meetWarp(request, site);
}

/// shfl.sync of PTX; `kind` is that of NVVM's attribute.
TESSERA_EMULATED uint32_t tsr_emu_shuffle(int32_t kind, uint32_t mask, uint32_t value, uint32_t lane,
                                          uint32_t clamp, int32_t site) {
  Request request{Meeting::Shuffle, kind, mask, value, lane, clamp};
  return Block::current().meetWarp(request, site);
}

/// vote.sync of PTX; `kind` is that of NVVM's attribute.
TESSERA_EMULATED uint32_t tsr_emu_vote(int32_t kind, uint32_t mask, uint32_t predicate, int32_t site) {
  Request request{Meeting::Vote, kind, mask, predicate, 0, 0};
  return Block::current().meetWarp(request, site);
}

/// A product of matrices, C += A * B; `a`, `b` and `c` are what the lane holds, one element after another.
TESSERA_EMULATED void tsr_emu_multiply(int32_t instruction, const void *a, const void *b, void *c,
                                       int32_t site) {
  Request request{.meeting = Meeting::Multiply, .kind = instruction, .mask = ~0u};
  request.matrix = {a, b, c};
  Block::current().meetWarp(request, site);
}

TESSERA_EMULATED uint32_t tsr_emu_approximate(int32_t which, uint32_t x) {
  using namespace tessera;
  return std::bit_cast<uint32_t>(
      emulator::approximate(static_cast<Approximated>(which), std::bit_cast<float>(x)));
}

/// cvt.rna.tf32.f32 of PTX: to the nearest of 10 mantissa bits, ties away from zero.
TESSERA_EMULATED uint32_t tsr_emu_to_tf32(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return value != value ? 0x7fffffff : (bits + 0x1000) & ~0x1fffu;
}

/// ldmatrix of PTX; `words` gets one word for each matrix.
TESSERA_EMULATED void tsr_emu_load_matrix(const void *row, int32_t count, int32_t isTransposed, void *words,
                                          int32_t site) {
  Request request{.meeting = Meeting::LoadMatrix, .kind = isTransposed, .mask = ~0u};
  request.value = static_cast<uint32_t>(count);
  request.matrix = {row, nullptr, words};
  Block::current().meetWarp(request, site);
}

/// stmatrix of PTX.
TESSERA_EMULATED void tsr_emu_store_matrix(const void *row, int32_t count, int32_t isTransposed, void *words,
                                           int32_t site) {
  Request request{.meeting = Meeting::StoreMatrix, .kind = isTransposed, .mask = ~0u};
  request.value = static_cast<uint32_t>(count);
  request.matrix = {row, nullptr, words};
  Block::current().meetWarp(request, site);
}

/// A 2D block read of Intel's compiler; `words` gets what the lane has of the block. The numbers of bytes and
/// rows are one less than those of the matrix.
TESSERA_EMULATED void tsr_emu_read_block(int32_t read, uint64_t address, uint32_t lastByte, uint32_t lastRow,
                                         uint32_t lastPitch, int32_t column, int32_t row, void *words,
                                         int32_t site) {
  Request request{.meeting = Meeting::ReadBlock, .mask = ~0u};
  request.block = {static_cast<tessera::EmulatedBlockRead>(read),
                   address,
                   lastByte,
                   lastRow,
                   lastPitch,
                   column,
                   row,
                   words};
  Block::current().meetWarp(request, site);
}

/// cp.async of PTX: `copied` bytes from global memory, then zeros, `bytes` in all.
TESSERA_EMULATED void tsr_emu_copy_async(void *to, const void *from, int32_t bytes, int32_t copied,
                                         int32_t site) {
  Block::current().copyAsync(to, from, bytes, copied, site);
}
TESSERA_EMULATED void tsr_emu_commit_copies() { Block::current().commitCopies(); }
TESSERA_EMULATED void tsr_emu_await_copies(int32_t pending) { Block::current().awaitCopies(pending); }

/// wgmma of PTX: `flags` has bit 0 (1) if neighbours of A (B) in memory are neighbours along k; `sums` are
/// what the lane holds.
TESSERA_EMULATED void tsr_emu_shared_product(int32_t instruction, int32_t n, int32_t flags, int32_t number,
                                             uint64_t a, uint64_t b, float *sums, int32_t site) {
  Block::current().startProduct({.instruction = static_cast<tessera::MatrixInstruction>(instruction),
                                 .n = n,
                                 .adds = (flags & 4) != 0,
                                 .isAlongK = {(flags & 1) != 0, (flags & 2) != 0},
                                 .descriptors = {a, b},
                                 .number = number,
                                 .sums = sums},
                                site);
}
TESSERA_EMULATED void tsr_emu_held_product(int32_t instruction, int32_t n, int32_t flags, int32_t number,
                                           const uint16_t *a, uint64_t b, float *sums, int32_t site) {
  Block::current().startProduct({.instruction = static_cast<tessera::MatrixInstruction>(instruction),
                                 .n = n,
                                 .adds = (flags & 4) != 0,
                                 .isAlongK = {true, (flags & 2) != 0},
                                 .descriptors = {0, b},
                                 .number = number,
                                 .sums = sums,
                                 .held = a},
                                site);
}
TESSERA_EMULATED void tsr_emu_fence_products() { Block::current().fenceProducts(); }
TESSERA_EMULATED void tsr_emu_commit_products() { Block::current().commitProducts(); }
TESSERA_EMULATED void tsr_emu_await_products(int32_t pending) { Block::current().awaitProducts(pending); }
/// The lane uses sums of product `number` for anything but a further product.
TESSERA_EMULATED void tsr_emu_use_sums(int32_t number, int32_t site) {
  Block::current().useSums(number, site);
}

/// mbarrier of PTX, and cp.async.bulk.tensor, whose bytes arrive in one.
TESSERA_EMULATED void tsr_emu_init_arrivals(void *word, uint32_t count, int32_t site) {
  Block::current().initArrivals(word, count, site);
}
TESSERA_EMULATED void tsr_emu_expect_bytes(void *word, uint32_t bytes, int32_t site) {
  Block::current().expectBytes(word, bytes, site);
}
TESSERA_EMULATED void tsr_emu_arrive(void *word, int32_t site) { Block::current().arrive(word, site); }
TESSERA_EMULATED void tsr_emu_await_bytes(void *word, uint32_t parity, int32_t site) {
  Block::current().awaitBytes(word, parity, site);
}
TESSERA_EMULATED void tsr_emu_copy_box(void *to, const tessera::EmulatedTensorMap *map,
                                       const int32_t *coordinates, void *word, uint32_t ranks, int32_t site) {
  Block::current().copyBox(to, map, coordinates, word, ranks, site);
}
/// cp.async.bulk.tensor of PTX from shared to global memory, and its groups.
TESSERA_EMULATED void tsr_emu_store_box(const tessera::EmulatedTensorMap *map, const int32_t *coordinates,
                                        const void *from, int32_t site) {
  Block::current().storeBox(map, coordinates, from, site);
}
TESSERA_EMULATED void tsr_emu_commit_stores() { Block::current().commitStores(); }
TESSERA_EMULATED void tsr_emu_await_stores(int32_t pending, int32_t onlyReads) {
  Block::current().awaitStores(pending, onlyReads != 0);
}
/// fence.mbarrier_init of PTX.
TESSERA_EMULATED void tsr_emu_fence_arrivals() {
  Block &block = Block::current();
  if (block.launch().checker) block.launch().checker->fenceArrivals();
}

/// fence.proxy.async of PTX.
TESSERA_EMULATED void tsr_emu_fence_proxy() {
  Block &block = Block::current();
  if (block.launch().checker) block.launch().checker->fenceProxy();
}

/// tcgen05 of PTX. `instruction` is that of i8 or of f16, `descriptor` says the rest; `words` gets what the
/// lane holds of `count` columns, by the shape 16x256b if `isHalf`, otherwise 32x32b.
TESSERA_EMULATED void tsr_emu_tensor_alloc(void *place, uint32_t columns, int32_t site) {
  Block::current().allocateTensor(place, columns, site);
}
TESSERA_EMULATED void tsr_emu_tensor_relinquish(int32_t site) { Block::current().relinquishTensor(site); }
TESSERA_EMULATED void tsr_emu_tensor_free(uint32_t address, uint32_t columns, int32_t site) {
  Block::current().freeTensor(address, columns, site);
}
TESSERA_EMULATED void tsr_emu_tensor_product(int32_t instruction, uint32_t address, uint64_t a, uint64_t b,
                                             uint32_t descriptor, int32_t adds, int32_t site) {
  Block::current().startTensorProduct(
      {.instruction = static_cast<tessera::MatrixInstruction>(instruction), .descriptors = {a, b}}, address,
      descriptor, adds != 0, site);
}
TESSERA_EMULATED void tsr_emu_tensor_commit(void *word, int32_t site) {
  Block::current().commitTensorProducts(word, site);
}
TESSERA_EMULATED void tsr_emu_tensor_load(uint32_t address, int32_t count, int32_t isHalf, uint32_t *words,
                                          int32_t number, int32_t site) {
  Block::current().loadTensor(address, static_cast<uint32_t>(count), isHalf != 0, words, number, site);
}
TESSERA_EMULATED void tsr_emu_tensor_await_loads() { Block::current().awaitTensorLoads(); }
TESSERA_EMULATED void tsr_emu_tensor_fence(int32_t isAfterMeeting) {
  Block::current().fenceTensor(isAfterMeeting != 0);
}

/// Counts fused multiply-adds.
TESSERA_EMULATED void tsr_emu_count(int64_t multiplyAdds) {
  Block::current().countMultiplyAdds(multiplyAdds);
}

TESSERA_EMULATED void tsr_emu_access(const void *address, int32_t bytes, int32_t flags, int32_t site) {
  Block &block = Block::current();
  using namespace tessera::access_flags;
  if (!(flags & kShared)) block.countAccess(flags & kWrite);
  if (block.launch().checker) block.launch().checker->access(address, bytes, flags, site);
  block.maybePause();
}

TESSERA_EMULATED void tsr_emu_atomic(const void *address, int32_t bytes, int32_t flags, int32_t site) {
  Block &block = Block::current();
  block.leave();
  if (block.launch().checker) block.launch().checker->atomic(address, bytes, flags, site);
}

TESSERA_EMULATED void tsr_emu_fence(int32_t flags) {
  Block &block = Block::current();
  if (block.launch().checker) block.launch().checker->fence(flags);
}
