// target-docs -o FILE: writes docs/support-matrix.md from the tables of the targets.
#include "compiler/codegen/gpu/GpuTarget.h"
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>

using namespace tessera;

namespace {

/// A column of the tables.
struct Column {
  std::string name;
  const codegen::Capabilities *capabilities;
  const gpu::Architecture *gpu = nullptr; // null: the CPU
};

std::vector<Column> columns() {
  std::vector<Column> out;
  for (const char *name : {"cpu:x86-64-v3", "cpu:sapphirerapids"}) {
    auto target = codegen::findTarget(name);
    if (target) out.push_back({name, &(*target)->capabilities()});
  }
  for (const gpu::GpuTarget *target : gpu::gpuTargets())
    out.push_back({target->name(), &target->capabilities(), &target->architecture()});
  return out;
}

using Cell = std::function<std::string(const Column &)>;

void writeRow(std::ostream &out, const std::string &title, const Cell &cell) {
  out << "| " << title << " |";
  for (const Column &c : columns())
    out << ' ' << cell(c) << " |";
  out << '\n';
}

void writeHead(std::ostream &out, const std::string &title) {
  writeRow(out, title, [](const Column &c) { return "`" + c.name + "`"; });
  writeRow(out, "---", [](const Column &) { return "---"; });
}

std::string bytes(int64_t n) { return std::to_string(n >> 10) + " KiB"; }
std::string mark(bool has, const char *otherwise) { return has ? "✓" : otherwise; }

/// How a product of operands of the dtype is computed.
std::string product(const Column &c, DType dtype) {
  if (c.gpu && !hasWord(c.gpu->dtypes, name(dtype))) return "–";
  auto instructionsOf = [&](DType factor) {
    std::string names;
    for (const MatrixProduct &row : c.capabilities->matrixInstructions)
      if (hasWord(row.dtypes, name(factor)))
        names += (names.empty() ? "`" : ", `") + std::string(row.instruction) + "`";
    return names;
  };
  if (std::string own = instructionsOf(dtype); !own.empty()) return "✓ " + own;
  for (const auto &[factor, instruction] : c.capabilities->tileProducts)
    if (factor == dtype)
      return "✓ `" + std::string(instruction) +
             "` ([not executed on hardware](decisions/0129-products-by-amx.md))";
  if (!c.gpu && info(dtype).bits < 32 && llvm::is_contained(c.capabilities->products, dtype))
    return "✓ [a body](decisions/0060-narrow-products.md)";
  // The narrowest dtype that has all values.
  DType best = isFloat(dtype) ? DType::F32 : DType::I32;
  if (!holds(best, dtype) || best == dtype) return "✓";
  auto offer = [&](DType factor) {
    if (holds(factor, dtype) && info(factor).bits < info(best).bits) best = factor;
  };
  for (DType factor : c.capabilities->narrowProducts)
    offer(factor);
  for (const DTypeInfo &row : allDTypes())
    if (!instructionsOf(row.dtype).empty()) offer(row.dtype);
  if (best == dtype) return "✓";
  const std::string instructions = instructionsOf(best);
  return std::string("△ in ") + name(best) + (instructions.empty() ? "" : ", " + instructions);
}

void writePage(std::ostream &out) {
  out << "# Support matrix\n\n"
         "What each [target](targets.md) has, as far as this release uses it. The target `docs` writes this "
         "page from the tables "
         "of code\ngeneration (`plugins/*/Architectures.h`); a test compares it. An [emulated "
         "device](emulator.md) has the "
         "limits of its architecture.\n\n"
         "✓ by instructions for it; △ by other means; – not available.\n\n"
         "## Devices\n\n";
  writeHead(out, "capability");
  auto ofGpu = [](auto cell) {
    return [cell](const Column &c) { return c.gpu ? cell(*c.gpu) : std::string("–"); };
  };
  writeRow(out, "arithmetic of f32 and i32", [](const Column &) { return "✓"; });
  writeRow(out, "matrix instructions", [](const Column &c) {
    std::string names;
    for (const MatrixProduct &row : c.capabilities->matrixInstructions)
      names += (names.empty() ? "`" : ", `") + std::string(row.instruction) + "`";
    return !names.empty() ? names : c.gpu ? std::string("–") : std::string("△ vector multiply-adds");
  });
  writeRow(out, "a warp loads matrices from shared memory",
           ofGpu([](const auto &gpu) { return mark(gpu.loadsMatrices, "△ single elements"); }));
  writeRow(out, "asynchronous copies into shared memory",
           ofGpu([](const auto &gpu) { return mark(gpu.copiesAsync, "△ synchronous"); }));
  writeRow(out, "copies of boxes of tensors by an engine (TMA)",
           ofGpu([](const auto &gpu) { return mark(gpu.copiesBoxes, "–"); }));
  writeRow(out, "2D blocks of tensors as factors in registers",
           ofGpu([](const auto &gpu) { return mark(gpu.readsBlocks, "–"); }));
  writeRow(out, "minimum and maximum of f32 in one instruction",
           ofGpu([](const auto &gpu) { return mark(gpu.propagatesNaN, "△ comparisons"); }));
  writeRow(out, "lanes of a warp", ofGpu([](const auto &gpu) { return std::to_string(gpu.warpSize); }));
  writeRow(out, "threads of a block", ofGpu([](const auto &gpu) { return std::to_string(gpu.threads); }));
  writeRow(out, "shared memory of a block", ofGpu([](const auto &gpu) { return bytes(gpu.maxShared); }));
  writeRow(out, "of these without a request at launch",
           ofGpu([](const auto &gpu) { return bytes(gpu.staticShared); }));
  out << "\n## Products by the dtype of their operands\n\n"
         "Instructions are explained in [layouts](layouts.md). A product whose tile the warps of a block do "
         "not divide, and "
         "one of the profile\n`strict`, uses multiply-adds.\n\n";
  writeHead(out, "dtype");
  for (const DTypeInfo &row : allDTypes())
    if (row.dtype != DType::Bool && !isPacked(row.dtype))
      writeRow(out, std::string("`") + row.name + "`",
               [&](const Column &c) { return product(c, row.dtype); });
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3 || std::strcmp(argv[1], "-o") != 0) {
    std::cerr << "usage: target-docs -o FILE\n";
    return 1;
  }
  std::ofstream out(argv[2]);
  writePage(out);
  return out.flush() ? 0 : 1;
}
