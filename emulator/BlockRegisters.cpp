// Registers that groups of warps give back and get (setmaxnreg of PTX).
#include "emulator/Block.h"

namespace tessera::emulator {

void Block::setRegisters(int32_t count, int32_t atEntry, bool increases, int32_t site) {
  meetWarp({.meeting = Meeting::SetRegisters, .mask = ~0u}, site);
  const int64_t all = int64_t{atEntry} * blockLanes_;
  auto fail = [&](const std::string &what) {
    launch_->report.add("E_EMU_OPERANDS", {site, -1},
                        launch_->kernel.image->site(site).place() + ": " + what);
    end();
  };
  if (all > launch_->registers)
    fail("the block needs " + std::to_string(all) + " registers, " + std::to_string(atEntry) +
         " for each of " + std::to_string(blockLanes_) + " threads; a unit has " +
         std::to_string(launch_->registers));
  const int rank = rankOf(running_), group = running_ - (running_ - rank * blockLanes_) % kWarpgroup;
  int64_t &held = registers_.try_emplace(group, atEntry).first->second,
          &free = freeRegisters_[static_cast<size_t>(rank)];
  if (increases ? count < held : count > held)
    fail(who(running_) + " has " + std::to_string(held) + " registers and " +
         (increases ? "asks for " : "gives back all but ") + std::to_string(count));
  while (held != count) { // the group's first lane takes them for all
    const int64_t missing = (count - held) * kWarpgroup;
    if (missing > free) {
      stop(State::AtRegisters, site);
      continue;
    }
    free -= missing, held = count;
    wake(State::AtRegisters);
  }
}

/// Reports lanes that wait for registers for ever.
bool Block::explainRegisters() {
  const auto [waiting, first] = lanesIn(State::AtRegisters);
  if (!waiting) return false;
  const int32_t site = lanes_[static_cast<size_t>(first)].site;
  launch_->report.add("E_EMU_DEADLOCK", {site, -1},
                      launch_->kernel.image->site(site).place() + ": " + who(-1) +
                          " cannot go on: " + std::to_string(waiting) +
                          " lanes wait for registers, of which its other lanes have given back " +
                          std::to_string(freeRegisters_[static_cast<size_t>(rankOf(first))]));
  return true;
}

} // namespace tessera::emulator
