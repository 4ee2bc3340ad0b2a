// All codes: the tool's own, then the compiler's. Each has a file in explain/.
#include "compiler/pipeline/Codes.h"
#include "tools/tsr/Report.h"
#include <algorithm>

namespace tessera::cli {

namespace {

constexpr CodeText toolCodes[] = {
    {"E_UNKNOWN_COMMAND", "there is no such command", "`tsr help` lists the commands."},
    {"E_UNKNOWN_OPTION", "the command has no such option", "`tsr COMMAND --help` lists what it takes."},
    {"E_OPTION_VALUE", "an option's value is missing or malformed",
     "Options that name a parameter take NAME=VALUE, for example --scalar alpha=2.0. The others take one "
     "value,\n"
     "either as --option VALUE or as --option=VALUE. Numbers are decimal."},
    {"E_OPTION_REPEATED", "an option that takes one value was given twice",
     "Only --in, --out, --scalar, --set and --dim may be repeated, each for another name."},
    {"E_NO_FILE", "the command needs a source file",
     "Give exactly one file: tsr run FILE ... A file is a Tessera source (.py or .tsr)."},
    {"E_FILE_READ", "a file cannot be read", "The message holds the reason the operating system gave."},
    {"E_NPY_FORMAT", "an input is not a .npy file this tool reads",
     "Inputs are NumPy .npy files of version 1.0, 2.0 or 3.0 holding float16/32/64, int8/16/32/64, uint8, "
     "uint16 or\n"
     "bool, in C or Fortran order. numpy.save writes such files; .npz archives and pickled objects are "
     "not read.\n"
     "The file's size must be exactly what its header promises."},
    {"E_ARG_UNKNOWN", "the kernel has no such parameter, or it is of another kind",
     "--in and --out name tensors, --scalar names scalars. --out takes what the kernel writes or returns; a\n"
     "returned value that is no parameter is called result (result0, result1, ... for a tuple)."},
    {"E_ARG_DUPLICATE", "one parameter was given twice", "Each name may appear once per option."},
    {"E_ARG_MISSING", "a parameter has no value",
     "Every tensor the kernel reads needs --in NAME=FILE, every scalar without a default --scalar "
     "NAME=VALUE.\n"
     "A tensor that is only written needs no --in: it starts as zeros."},
    {"E_ARG_DTYPE", "a file's dtype is not the parameter's",
     "f64 f32 f16 read float64/32/16 files, i64 i32 i16 i8 u64 u32 u16 u8 the integer of that width, bool "
     "reads bool.\n"
     "i4 reads int8 and u4 uint8, an element per byte; with --raw both read uint8 with two elements per "
     "byte.\n"
     "bf16, fp8, fp6 and fp4 read float32, converted as the language casts; with --raw they read their "
     "bits as\n"
     "uint16 (bf16) or uint8. tf32 is stored as float32. Convert in NumPy with array.astype(...)."},
    {"E_ARG_RANK", "a file's number of dims is not the parameter's", "Reshape the array before saving it."},
    {"E_ARG_SHAPE", "an extent differs from the one the parameter declares",
     "A dim written as a number in the annotation is fixed."},
    {"E_ARG_COUNT", "a call has too many arguments", "In Python: the message has the parameters."},
    {"E_ARG_TYPE", "an argument is of another kind than its parameter",
     "In Python: a tensor is an array of NumPy, a ts.Array, a buffer or a tensor with __dlpack__; a scalar "
     "is "
     "a number or\n"
     "a NumPy scalar. A bool is no number, and masked arrays are refused, since a kernel does not see the "
     "mask."},
    {"E_ARG_RANGE", "a number does not fit in the dtype of its parameter",
     "In Python: a scalar is not wrapped or clamped. Floats may be rounded, but not to infinity."},
    {"E_ARG_STRIDES", "the strides of an array are not those of its parameter",
     "In Python: a tensor without ts.strides in its type is contiguous, and no stride is negative. Pass\n"
     "np.ascontiguousarray(x), or declare the strides. Arrays are never copied unseen."},
    {"E_ARG_ALIGNMENT", "the elements of an array are not aligned to their size",
     "In Python: pass a copy, x.copy()."},
    {"E_ARG_READONLY", "a kernel writes an array that is read-only", "In Python: pass a copy, x.copy()."},
    {"E_ARG_OVERLAP", "a tensor that is written shares memory with another",
     "In Python: a kernel's programs run in any order, so what they read must not be what others write."},
    {"E_ARG_DEVICE", "an array is not in the memory of the device that the kernel runs on",
     "In Python: ts.asarray(x) makes an array of the current device. Nothing is moved unseen."},
    {"E_ARG_DLPACK", "a tensor of DLPack cannot be taken",
     "In Python: DLPack 0.x and 1.x are read, each capsule once, with elements of one lane of a dtype of the "
     "language."},
    {"E_CAPTURE", "a function uses an object that the compiler cannot take",
     "In Python: a kernel may use functions, other kernels, numbers, strings, dtypes and tuples of them from "
     "around it, and\n"
     "attributes of modules and objects that are such values. Pass anything else as an argument. A name has "
     "one meaning in\n"
     "all the functions of a kernel."},
    {"E_CAPTURING", "a call waits for work that is being captured",
     "In Python: calls in the block of ts.runtime.capture() are recorded and do not run, so there is nothing "
     "to\n"
     "wait for. Convert, print and copy arrays before or after it."},
    {"E_NO_SOURCE", "the source text of a function is not at hand",
     "In Python: the compiler reads the text of a function from its file, as the module linecache has it. "
     "Compile a text\n"
     "with ts.compile(text), or load a bundle with ts.load(path)."},
    {"E_CALL", "a function of kernels is called outside of one",
     "In Python: the functions of ts.tile exist in the text of a kernel, a function with @ts.kernel."},
    {"E_DIM_CLASH", "one symbolic dim got two values",
     "A symbol has one value per call. Both parameters (or --dim) that give it one are named in the "
     "message."},
    {"E_DIM_UNKNOWN", "the kernel has no such symbolic dim",
     "--dim names a symbol of the kernel's annotations."},
    {"E_DIM_MISSING", "a symbolic dim has no value", "No input carries it. Give it with --dim NAME=VALUE."},
    {"E_DIM_NEGATIVE", "a dim of a result would be negative",
     "It follows from the inputs' dims as the message says: x[K:] of an x of N elements has N - K."},
    {"E_SCALAR_VALUE", "a scalar's value does not fit its dtype",
     "Integers are decimal and within the dtype's range; bools are true or false; floats also take inf "
     "and nan."},
    {"E_TUNABLE_UNKNOWN", "the kernel has no such tunable",
     "--set names an entry of @ts.kernel.autotune's space."},
    {"E_KERNEL_UNKNOWN", "the file has no such kernel, or --kernel is needed to choose one",
     "--kernel names a @ts.kernel or @ts.jit function of the file; it may be left out where there is one."},
    {"E_BACKEND_UNKNOWN", "there is no such backend",
     "`tsr backends` lists the backends and why one is not usable."},
    {"E_BACKEND_UNUSABLE", "the backend is known and cannot be used here",
     "The message has the TSRP code and the remedy; `tsr backends --why NAME` says more. There is no "
     "substitute: another backend is used only when it is named, or when none is."},
    {"E_EMU_RACE", "two accesses to one place, of which one writes, are not ordered",
     "The emulator's checker found it: on a GPU either may come first. The message has both places of the "
     "program.\nWithin a block a barrier orders them; blocks are ordered only by atomics."},
    {"E_EMU_NOT_AWAITED", "shared memory is accessed while an asynchronous copy into it is not awaited",
     "A copy may be done at any time until its lane waits for its group (cp.async.wait_group). The other "
     "lanes "
     "see it after a barrier that follows. A product that reads shared memory (wgmma) likewise reads it, "
     "and\n"
     "writes its sums, at any time until wgmma.wait_group. Products of tcgen05.mma are awaited by the word "
     "that\ntcgen05.commit arrives in, and loads of their sums by tcgen05.wait::ld."},
    {"E_EMU_UNINITIALIZED", "shared memory is read before it is written",
     "A GPU does not clear shared memory: it has what an earlier block left."},
    {"E_EMU_BOUNDS", "an access is outside of the memory it belongs to",
     "Either of the block's shared memory, or of every allocation of the device."},
    {"E_EMU_ALIGNMENT", "an access is at an address that its instruction does not take",
     "A view of a tensor that begins between elements, or a kernel that promises more than it was given."},
    {"E_EMU_DIVERGENCE", "only a part of the lanes reaches an operation of all of them",
     "Every lane of a block must reach the same barrier, every lane of a warp the same exchange."},
    {"E_EMU_FENCE", "a fence is missing before a product that reads shared memory",
     "wgmma reads shared memory by another way than the lanes' own accesses. Each lane that wrote executes\n"
     "fence.proxy.async before the barrier; wgmma.fence comes before the first of several products.\n"
     "Accesses to tensor memory need tcgen05.fence before and after what threads meet in."},
    {"E_EMU_ALLOCATION", "tensor memory is used without being allocated, or is not freed",
     "A block allocates columns once (tcgen05.alloc), and frees them before it ends (tcgen05.dealloc)."},
    {"E_EMU_OPERANDS", "lanes hold different elements where a matrix instruction needs the same ones",
     "wmma takes each element of A and B twice, from lane l and from lane l + 16."},
    {"E_EMU_DEADLOCK", "lanes wait for each other and none can go on", "The message lists where they wait."},
    {"E_OUTPUT_WRITE", "an output cannot be written",
     "Outputs are written beside their final name and renamed when complete, so the directory must be "
     "writable\n"
     "and have room. Nothing is left half-written."},
    {"E_BUNDLE_FORMAT", "the file is no Tessera bundle",
     "A bundle (.tsrb) has the letters TSRB at byte 8; `tsr compile FILE --emit bundle` makes one."},
    {"E_BUNDLE_TRUNCATED", "a bundle ends too early",
     "Its header says how long it is. The file was cut, as by a copy that broke off: copy or compile it "
     "again."},
    {"E_BUNDLE_CORRUPT", "a bundle is damaged",
     "Its structure, its checksum, an image's hash or a rule of docs/bundles.md does not hold. Nothing of "
     "it is used.\n"
     "Copy or compile it again."},
    {"E_BUNDLE_VERSION", "a bundle is of another version of the format",
     "A library reads bundles of its own major version and of minor versions up to its own. Compile the "
     "source with\n"
     "this version, or install the one that made the file."},
    {"E_BUNDLE_NO_IMAGE", "a bundle has no code this device can run",
     "The message lists the targets it holds and what keeps each from running. Compile with more targets, "
     "or keep IR\n"
     "with --embed-ir graph, which the compiler turns into code where no image fits."},
    {"E_MAPPER_SPEC", "the name of a mapper is malformed",
     "TESSERA_MAPPER, --mapper and tsrSetMapper take NAME or NAME(ARGUMENTS): default, random(SEED),\n"
     "logging(MAPPER, FILE), replay(FILE), or the name of a plugin. The caret shows where it goes wrong."},
    {"E_MAPPER_UNKNOWN", "there is no such mapper",
     "It is none of default, random, logging and replay, and no plugin of that name was found."},
    {"E_MAPPER_ANSWER", "a mapper chose what is not possible",
     "The message names the mapper, what it was asked, its answer and the answers that are legal. Nothing "
     "is\n"
     "compiled. A mapper that chooses nothing leaves the default."},
    {"E_MAPPER_FAILED", "a mapper failed",
     "It threw, refused, or could not be made; the message contains its error text."},
    {"E_MAPPER_TIMEOUT", "a mapper did not answer within 10 seconds",
     "Its hook may still be running; it is not asked again until it has returned. Hooks decide from what "
     "they\n"
     "are given: measure and read files when the mapper is made."},
    {"E_MAPPER_REPLAY", "replay has no answer",
     "The file cannot be read, is no file of decisions, or has none about the question, which the message\n"
     "names. Log the decisions again: --mapper 'logging(default, FILE)'."},
    {"E_MAPPER_LOG", "the decisions cannot be written",
     "logging(MAPPER, FILE) writes FILE beside and renames it, after each decision: its directory must be\n"
     "writable."},
    {"E_IMAGE_LOAD", "a bundle's image does not load",
     "It is code for another machine than its target says, is damaged, or lacks a kernel's symbol."},
    {"E_OUT_OF_MEMORY", "the tensors or the compiler do not fit in memory",
     "The message says how much was wanted. Check the values given with --dim, and the limit on the "
     "process (ulimit -v)."},
    {"E_NO_COMPILER", "libtessera-compiler.so could not be loaded",
     "The compiler is its own shared object beside libtessera.so and comes from the same build."},
    {"E_LAUNCH_REFUSED", "the runtime refused an argument",
     "The message names the argument. The tool checks what it can before, so this is rare."},
    {"E_PROGRAM", "the program does not compile", "The compiler's own diagnostics say where and why."},
    {"E_INTERNAL", "the compiler or the backend failed",
     "That is a defect of Tessera, not of your program. The crash pack named in the message holds what is "
     "needed\n"
     "to reproduce it: source, options, IR snapshots as far as they got, metadata and log."},
    {"W_VARIANT", "a variant that was chosen does not fit a call",
     "A mapper, or the text of the IR, pinned a variant of a kernel. Its condition does not hold for the\n"
     "sizes in the message, so that the general code of the kernel runs; or the body of a product that it "
     "names\n"
     "does not apply to the operands, so that product.panels runs. It is reported once for each "
     "kernel."},
    {"W_NUMERICS", "a setting names another profile than the code has",
     "TESSERA_NUMERICS, or numerics in the configuration file, chooses the profile of compilations that name "
     "none.\n"
     "A bundle, an image or a text of IR has the profile that it was compiled with, which the message names. "
     "Compile\n"
     "it again, or remove the setting."},
    {"W_CPU_STATE", "code for a better processor is not used",
     "The processor has registers that the system does not let this process use: Linux saves tile registers "
     "of\n"
     "AMX only for processes that ask for them, and refuses, for example, if a thread's stack for signals is "
     "too\n"
     "small or a sandbox forbids arch_prctl. The next best image of the bundle runs instead."},
    {"W_PLUGIN", "a backend that looked usable is not",
     "The plugin answered its probe, and yet no context can be made with it; the next best backend was "
     "tried. The message begins with the plugin's own code (TSRP-...). tsr backends --why NAME shows all "
     "there is to know of it; TESSERA_BACKENDS_DISABLE=NAME keeps it from being tried."},
    {"E_TUNE_EMPTY", "there is no configuration to choose from",
     "The kernel declares no space, the numerics profile freezes tunables (strict), or every configuration "
     "of "
     "the\n"
     "space is illegal; the message then has the reason of each."},
    {"E_TUNE_BACKEND", "another backend than cpu is to be tuned",
     "Configurations are measured on the CPU, and choices belong to its processor. On an emulated device the "
     "time is that of\n"
     "the emulator. Unset TESSERA_BACKEND, or say --backend cpu, to tune for the CPU (docs/tuning.md)."},
    {"E_TUNE_SPACE", "the space of a kernel is too large",
     "Configurations are all combinations of the tunables' values. Declare fewer values."},
    {"E_TUNE_DEFAULT", "a kernel's default configuration is illegal",
     "The default consists of the first value of each tunable. Code for which nothing was measured uses it. "
     "Others of the space "
     "are "
     "legal."},
    {"E_TUNE_WRONG", "a configuration computes other results than the default",
     "It is never chosen. This is a defect of the kernel, whose results then depend on its tunables, or of "
     "the\n"
     "compiler."},
    {"E_TUNE_DATABASE", "the tuner's database cannot be used",
     "The message has the reason: the file is locked by another process, corrupt, read-only, of another "
     "version, absent, has conditions that cannot be read, "
     "or no\n"
     "database of the tuner. Nothing is measured then. --database names another file (docs/tuning.md)."},
    {"E_NO_TUNER", "the tuner of the Python package cannot be loaded",
     "ts.autotune opens libtessera-tuner.so, which is beside libtessera.so. It is in the package "
     "libtessera-compiler."},
    {"W_TUNED", "a tuned configuration is not used",
     "The look-up file is corrupt, unreadable or of a newer version, the kernel no longer compiles with its "
     "tuned\n"
     "configuration, or it adds in another order than the default, which profile deterministic fixes. The "
     "default is\n"
     "used. TESSERA_TUNED names another file, or is off; `tsr tune --export` writes the file again "
     "(docs/tuning.md)."},
    {"W_CACHE", "compiled code is not kept in the cache",
     "The message holds the reason: the directory cannot be written to, or the disk is full. The program "
     "runs; the next\n"
     "start compiles it again. TESSERA_CACHE_DIR names another directory, or is off; `tsr cache path` "
     "shows the one in use."},
    {"E_CONFIG", "the configuration file is wrong",
     "It is the file TESSERA_CONFIG names, else the first of ./tessera.yaml, "
     "~/.config/tessera/tessera.yaml and\n"
     "/etc/tessera/tessera.yaml. All of it is checked before any of it holds; the message has the line.\n"
     "TESSERA_CONFIG=off reads none."},
    {"W_TRACE", "a context is left out of the trace",
     "It was created during a trace, and its backend keeps no records of what its device does. The records\n"
     "of every other context are complete."},
    {"W_ENVIRONMENT", "an environment variable has no effect",
     "Its name starts with TESSERA_, but it is none that this version of the library reads, its value is not "
     "of the\n"
     "form that the message names, or it names a directory, file or backend that is not there. docs/cli.md "
     "lists them."},
};

constexpr CodeText frontendCodes[] = {
#define TSR_DIAGNOSTIC(code, title, explanation) {#code, title, explanation},
#include "compiler/frontend/diagnostics/DiagnosticCodes.def"
#undef TSR_DIAGNOSTIC
};

std::vector<CodeText> gather() {
  std::vector<CodeText> all(std::begin(toolCodes), std::end(toolCodes));
  auto add = [&](const CodeText &text) {
    if (std::none_of(all.begin(), all.end(), [&](const CodeText &c) { return c.code == text.code; }))
      all.push_back(text);
  };
  for (const CodeText &text : frontendCodes)
    add(text);
  for (const frontend::DiagnosticInfo &info : kPipelineCodes)
    add({info.code, info.title, info.explanation});
  return all;
}

} // namespace

const std::vector<CodeText> &knownCodes() {
  static const std::vector<CodeText> codes = gather();
  return codes;
}

} // namespace tessera::cli
