// Products of matrices in shared memory: what lanes do from their start until they are awaited.
#include "emulator/Block.h"
#include "emulator/Checker.h"
#include <algorithm>
#include <array>
#include <utility>

namespace tessera::emulator {

void Block::startProduct(const SharedProduct &product, int32_t site) {
  Lane &own = lanes_[static_cast<size_t>(running_)];
  if (!own.isFenced)
    launch_->report.add("E_EMU_FENCE", {site, -1},
                        launch_->kernel.image->site(site).place() + ": " + who(running_) +
                            " starts a product without wgmma.fence after it may have used the registers");
  Request request{.meeting = Meeting::SharedProduct, .mask = ~0u};
  request.product = product;
  own.products.push_back({product.number, site, own.productGroups, {}});
  meetWarp(request, site);
}

void Block::completeProduct(int first, int last) {
  const int lastLane = running_;
  const Lane &own = lanes_[static_cast<size_t>(running_)];
  const int32_t site = own.site;
  const SharedProduct &product = own.request.product;
  const std::string here = launch_->kernel.image->site(site).place() + ": ";
  std::array<float *, kWarpgroup> sums{};
  std::array<const uint16_t *, kWarpgroup> held{};
  bool isUniform = true;
  for (int lane = first; lane < last; ++lane) {
    const SharedProduct &other = lanes_[static_cast<size_t>(lane)].request.product;
    sums[static_cast<size_t>(lane - first)] = other.sums;
    held[static_cast<size_t>(lane - first)] = other.held;
    isUniform &= std::ranges::equal(other.descriptors, product.descriptors);
  }
  if (last - first != kWarpgroup) {
    launch_->report.add("E_EMU_DIVERGENCE", {site, -1},
                        here + "a product of a warpgroup is reached by the last " +
                            std::to_string(last - first) + " lanes of " + who(-1) + "; it needs 128");
    end();
  }
  if (!isUniform) {
    launch_->report.add("E_EMU_OPERANDS", {site, -1},
                        here + "lanes of one warpgroup of " + who(-1) + " have different matrix descriptors");
    end();
  }
  std::vector<uint32_t> chunks;
  for (int operand : {0, 1})
    if (operand == 1 || !product.held)
      forEachChunk(product, operand, [&](uint32_t offset) { chunks.push_back(offset); });
  const auto base = static_cast<uint32_t>(static_cast<uint64_t>(rankOf(first)) * kArenaBytes); // of the block
  for (uint32_t &offset : chunks) {
    if (offset + 16 > sharedBytes_) {
      launch_->report.add("E_EMU_BOUNDS", {site, -1},
                          here + "a product of " + who(first) + " reads byte " + std::to_string(offset) +
                              " of shared memory, of which the block has " + std::to_string(sharedBytes_) +
                              " bytes");
      end();
    }
    offset += base;
  }
  running_ = first; // on whose account it is
  if (launch_->checker)
    for (uint32_t offset : chunks)
      launch_->checker->startRead(offset, 16, site);
  running_ = lastLane;
  const auto reads = std::make_shared<Reads>(std::move(chunks), kWarpgroup);
  for (int lane = first; lane < last; ++lane)
    lanes_[static_cast<size_t>(lane)].products.back().reads = reads;
  counts_.inMatrices +=
      product.held ? multiply(product, shared_ + base, sums, held) : multiply(product, shared_ + base, sums);
  ++counts_.instructions;
}

void Block::awaitProducts(int32_t pending) {
  Lane &own = lanes_[static_cast<size_t>(running_)];
  own.isFenced = false;
  std::erase_if(own.products, [&](const Product &product) {
    if (product.group >= own.productGroups - pending) return false;
    if (--product.reads->lanes == 0 && launch_->checker)
      for (uint32_t offset : product.reads->chunks)
        launch_->checker->endRead(offset, 16, product.site);
    return true;
  });
}

void Block::useSums(int32_t number, int32_t site) {
  for (const Product &product : lanes_[static_cast<size_t>(running_)].products)
    if (product.number == number) {
      const Image &image = *launch_->kernel.image;
      launch_->report.add("E_EMU_NOT_AWAITED", {product.site, site},
                          image.site(site).place() + ": " + who(running_) + " uses sums of the product at " +
                              image.site(product.site).place() + ", which was not awaited");
    }
  for (const TensorLoad &load : lanes_[static_cast<size_t>(running_)].loads)
    if (load.number == number && !load.isAwaited)
      failTensor("E_EMU_NOT_AWAITED", site,
                 "uses what it loads from tensor memory at " +
                     launch_->kernel.image->site(load.site).place() + ", before tcgen05.wait::ld");
}

} // namespace tessera::emulator
