// The error codes of the compiler after the frontend. DiagnosticCodes.def has the frontend's.
#pragma once
#include "compiler/frontend/Frontend.h"
#include <string_view>

namespace tessera {

inline constexpr frontend::DiagnosticInfo kPipelineCodes[] = {
    {"E_TARGET_UNKNOWN", "the target is none the compiler knows",
     "A target is cpu (the machine you are on), cpu:NAME with a CPU name LLVM knows for x86-64 (x86-64-v3, "
     "skylake-avx512, znver4, ...), KIND:ARCHITECTURE of a GPU, or NAME:ARCHITECTURE of a codegen plugin; "
     "the "
     "message lists them. Code for another CPU than this one can be written to a file but not run."},
    {"E_NUMERICS_UNKNOWN", "there is no such numerics profile",
     "The built-in profiles are fast, standard, deterministic and strict; numerics plugins bring others "
     "(docs/numerics.md). What a backend does not honour is refused with E_UNIMPLEMENTED, never ignored."},
    {"E_LEVEL_UNKNOWN", "there is no such IR level", "inspect_ir takes graph, schedule, tile or target."},
    {"E_IR_INVALID", "the IR breaks a rule of its level",
     "tsr compile FILE.mlir takes what --emit graph, schedule and tile write, edited or not. The message "
     "names the "
     "operation and the rule; docs/ir describes every operation."},
    {"E_VARIANT", "a list of variants cannot be chosen from",
     "The message names the variant and the fault: a name that is no dim, scalar or machine constant, a "
     "division "
     "by 0, a parameter outside of the limits of its body, a last variant with a condition, so that sizes "
     "are "
     "left without one, or a choice between orders of summation that the numerics profile does not permit. "
     "docs/mappers.md describes the parts of a variant. The same list is checked in Schedule IR and where a "
     "bundle is loaded."},
    {"E_IR_SIZE", "the program becomes too much code",
     "Tiles become loops, so that their size costs no code; but every operation that is written, in each "
     "helper "
     "that is "
     "called, becomes code of its own, functions like sin dozens of instructions. A program may become "
     "500,000 "
     "operations; beyond that LLVM would take minutes and gigabytes. Write a loop (for i in range(...)), or "
     "split the "
     "program into kernels."},
    {"E_BACKEND", "LLVM could not turn the kernel into machine code",
     "The message holds LLVM's reason. This is a defect of the compiler, not of the program: the crash pack "
     "that "
     "`tsr run` names holds what a report needs."},
    {"E_CODEGEN_PLUGIN", "a codegen plugin made no image of the kernel",
     "The code generator of the target is a plugin, which `tsr backends` lists. The message holds its "
     "reason. What the plugin was given is LLVM IR, which --emit asm shows."},
    {"W_CODEGEN_PLUGIN", "a codegen plugin has a remark",
     "The text is the plugin's. A bundle with a remark is compiled again the next time: the cache does not "
     "keep it."},
    {"E_ASSERT", "an assertion of a kernel failed",
     "The launch of a kernel returns this when a condition of ts.tile.assert_ did not hold. The message has "
     "the "
     "line, the first program in the order of the grid, the text and the number of failures. The kernel has "
     "run to "
     "its end: what it wrote is in its tensors. Assertions are compiled if the constant __debug__ is true "
     "(TESSERA_DEBUG=on)."},
    {"E_INTERNAL", "the compiler failed",
     "A pass refused its input or broke a rule of the IR. This is a defect of the compiler, not of the "
     "program: the "
     "crash pack that `tsr run` names holds what a report needs."},
};

/// Null if the code is none of these.
inline const frontend::DiagnosticInfo *findPipelineCode(std::string_view code) {
  for (const frontend::DiagnosticInfo &info : kPipelineCodes)
    if (code == info.code) return &info;
  return nullptr;
}

} // namespace tessera
