#include "tests/shims/ze/Spirv.h"
#include <algorithm>
#include <cstring>
#include <map>

namespace tessera::shim {
namespace {

enum Op : uint16_t {
  kEntryPoint = 15,
  kExecutionMode = 16,
  kTypeBool = 20,
  kTypeInt = 21,
  kTypeFloat = 22,
  kTypeVector = 23,
  kTypeArray = 28,
  kTypeStruct = 30,
  kTypePointer = 32,
  kConstant = 43,
  kFunction = 54,
  kFunctionParameter = 55,
  kVariable = 59
};
constexpr uint32_t kWorkgroup = 4, kLocalSize = 17, kSubgroupSize = 35;

struct Type {
  uint64_t bytes = 0;
  bool isPointer = false;
  uint32_t pointee = 0;
  bool isLocal = false; // a pointer to memory of the group
};

class Reader {
public:
  explicit Reader(SpirvModule &out) : out_(out) {}

  void read(std::span<const uint32_t> words) {
    for (size_t at = 5; at < words.size();) {
      const size_t count = words[at] >> 16;
      if (count == 0 || at + count > words.size()) return;
      instruction(static_cast<uint16_t>(words[at]), words.subspan(at + 1, count - 1));
      at += count;
    }
    for (OwnKernel &kernel : out_.kernels) // all shared memory of the module: one kernel's own in our modules
      kernel.staticShared = sharedOf(kernel);
  }

private:
  void instruction(uint16_t op, std::span<const uint32_t> w) {
    switch (op) {
    case kEntryPoint: { // model, function, name, interface
      OwnKernel kernel;
      const auto *name = reinterpret_cast<const char *>(&w[2]);
      kernel.name = name;
      ids_.push_back(w[1]);
      const size_t nameWords = kernel.name.size() / 4 + 1;
      interfaces_.emplace_back(w.begin() + 2 + static_cast<std::ptrdiff_t>(nameWords), w.end());
      out_.kernels.push_back(std::move(kernel));
      break;
    }
    case kExecutionMode:
      if (OwnKernel *kernel = kernelOf(w[0])) {
        if (w[1] == kLocalSize) std::copy_n(&w[2], 3, kernel->block);
        if (w[1] == kSubgroupSize) kernel->subGroup = w[2];
      }
      break;
    case kTypeBool:
      types_[w[0]] = {1};
      break;
    case kTypeInt:
    case kTypeFloat:
      types_[w[0]] = {w[1] / 8};
      break;
    case kTypeVector:
      types_[w[0]] = {types_[w[1]].bytes * w[2]};
      break;
    case kTypeArray:
      types_[w[0]] = {types_[w[1]].bytes * constants_[w[2]]};
      break;
    case kTypeStruct:
      for (uint32_t member : w.subspan(1))
        types_[w[0]].bytes += types_[member].bytes;
      break;
    case kTypePointer:
      types_[w[0]] = {8, true, w[2], w[1] == kWorkgroup};
      break;
    case kConstant:
      constants_[w[1]] = w[2] | (w.size() > 3 ? uint64_t{w[3]} << 32 : 0);
      break;
    case kVariable:
      if (w[2] == kWorkgroup) shared_[w[1]] = types_[types_[w[0]].pointee].bytes;
      break;
    case kFunction:
      current_ = w[1];
      break;
    case kFunctionParameter:
      if (OwnKernel *kernel = kernelOf(current_)) {
        const Type &type = types_[w[0]];
        if (type.isLocal) {
          kernel->hasDynamicShared = true; // the last one
          break;
        }
        const uint64_t offset = (kernel->parameterBytes + type.bytes - 1) / type.bytes * type.bytes;
        kernel->parameters.push_back({offset, type.bytes, type.isPointer});
        kernel->parameterBytes = offset + type.bytes;
      }
      break;
    default:
      break;
    }
  }
  OwnKernel *kernelOf(uint32_t function) {
    const auto found = std::ranges::find(ids_, function);
    return found == ids_.end() ? nullptr : &out_.kernels[static_cast<size_t>(found - ids_.begin())];
  }
  uint64_t sharedOf(const OwnKernel &kernel) const {
    const auto index = static_cast<size_t>(&kernel - out_.kernels.data());
    uint64_t sum = 0;
    for (auto [variable, bytes] : shared_)
      if (out_.kernels.size() == 1 || std::ranges::count(interfaces_[index], variable)) sum += bytes;
    return sum;
  }

  SpirvModule &out_;
  std::vector<uint32_t> ids_; // of the kernels' functions
  std::vector<std::vector<uint32_t>> interfaces_;
  std::map<uint32_t, Type> types_;
  std::map<uint32_t, uint64_t> constants_, shared_;
  uint32_t current_ = 0;
};

} // namespace

bool readSpirv(std::string_view image, SpirvModule &out, std::string &why) {
  constexpr uint32_t kMagic = 0x07230203;
  std::vector<uint32_t> words(image.size() / 4);
  std::memcpy(words.data(), image.data(), words.size() * 4);
  if (words.size() < 5 || image.size() % 4 || words[0] != kMagic)
    return why = "the input is no SPIR-V module", false;
  out.version = words[1];
  Reader(out).read(words);
  return true;
}

} // namespace tessera::shim
