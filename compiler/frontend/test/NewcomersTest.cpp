// Programs as people write them who come from Triton, CUDA, Numba, NumPy, PyTorch or JAX: each error says
// what to write here.
#include "compiler/frontend/test/TestSupport.h"
#include <gmock/gmock.h>

namespace tessera::frontend::test {
namespace {

using testing::HasSubstr;

struct Newcomer {
  const char *name;
  std::string source;
  const char *says; // part of the rendered errors
};

void PrintTo(const Newcomer &n, std::ostream *os) { *os << n.name; } // found by GoogleTest

const std::string kHead = "import tessera as ts\n\n";
const std::string kParameters = "x: ts.Tensor[\"n\", ts.f32], y: ts.Tensor[\"n\", ts.f32], h: "
                                "ts.Tensor[\"n\", ts.f16], A: ts.Tensor[\"M\", "
                                "\"N\", ts.f32], B: ts.Tensor[\"N\", \"K\", ts.f32], s: ts.i32";

std::string indented(const std::string &text, const char *blanks) {
  std::string out = blanks;
  for (char c : text) {
    out += c;
    if (c == '\n') out += blanks;
  }
  return out;
}

std::string body(const std::string &text) { return kernelWith(text, kParameters); }
/// In a loop over tiles of 64 elements.
std::string tiles(const std::string &text) {
  return body("for i in ts.tile.parallel(0, n, 64):\n" + indented(text, "    "));
}
/// In the guard of a lane.
std::string lanes(const std::string &text) {
  return body("i = ts.tile.linear_id()\nif i < n:\n" + indented(text, "    "));
}
std::string kernel(const std::string &parameters, const std::string &text = "x[0] = 0.0") {
  return kernelWith(text, parameters);
}
std::string graph(const std::string &text) {
  std::string out =
      kernelWith(text, "x: ts.Tensor[\"M\", \"N\", ts.f32], y: ts.Tensor[\"M\", \"N\", ts.f32], w: "
                       "ts.Tensor[\"N\", \"K\", ts.f32], ids: ts.Tensor[\"M\", ts.i32]");
  return out.replace(out.find("@ts.kernel"), 10, "@ts.jit");
}

const std::vector<Newcomer> &newcomers() {
  static const std::vector<Newcomer> kPrograms = {
      // Triton
      {"TritonDecorator", "import triton\n@triton.jit\ndef add(x_ptr, n, BLOCK: tl.constexpr):\n    pass\n",
       "a kernel has @ts.kernel, after 'import tessera as ts'"},
      {"Constexpr", kernel("x: ts.Tensor[\"n\", ts.f32], BLOCK: ts.constexpr"),
       "tunables in @ts.kernel.autotune"},
      {"BlockAsScalar",
       kernel("x: ts.Tensor[\"n\", ts.f32], B: ts.i32",
              "for i in ts.tile.parallel(0, n, B):\n    x[i:i+64] = 0.0"),
       "use a literal, a tunable or a module constant"},
      {"ImportedTl", "import triton.language as tl\n" + tiles("y[i:i+64] = tl.load(x[i:i+64])"),
       "write ts.tile.load(...)"},
      {"Pointers", tiles("v = ts.tile.load(x + i + ts.tile.arange(64))"), "load a tile: x[i:i+64]"},
      {"PointersOfMatrix", tiles("v = ts.tile.load(A + i)"), "load a tile: A[i:i+64, 0:64]"},
      {"Append", tiles("v = []\nv.append(x[i:i+64])"), "write items = items + [x]"},
      {"AtomicPointer", tiles("ts.tile.atomic_add(y + i, 1.0)"), "write ts.tile.atomic_add(C[i], value)"},
      {"Dot", tiles("c = ts.tile.dot(A[i:i+64, 0:64], B[0:64, 0:64])"), "ts.tile.mma(a, b) of tiles"},
      {"ProgramId", body("pid = ts.program_id(0)"), "loop with ts.tile.parallel"},
      {"ShapeInArguments", graph("return ts.zeros(M, N)"), "a shape is one argument, a tuple"},
      {"ShapeOfTileInArguments", tiles("z = ts.tile.zeros(64, 4)"), "a shape is one argument, a tuple"},
      {"ZerosLike", tiles("y[i:i+64] = ts.tile.zeros_like(x[i:i+64])"),
       "write ts.tile.zeros(x.shape, x.dtype)"},
      {"KeepDims", tiles("v = ts.tile.sum(A[i:i+64, 0:64], 1, keep_dims=True)"), "write keepdims="},
      {"To", tiles("h[i:i+64] = x[i:i+64].to(ts.f16)"), "write ts.tile.cast(x, dtype)"},
      {"DevicePrint", tiles("ts.tile.device_print('x', x[i:i+64])"), "write ts.tile.print(\"x = {}\", x)"},
      {"StaticAssert", tiles("ts.tile.static_assert(n % 64 == 0)"), "is written in the parameter's type"},
      {"Lambda", tiles("y[i] = ts.tile.sum(x[i:i+64], lambda a, b: a + b)"),
       "use its name: ts.tile.associative_scan(x, 0, f)"},
      {"IntegerSum", body("acc = 0\nfor i in range(s):\n    acc += x[i]\ny[0] = acc"), "acc = 0.0"},
      {"IntegerTileSum",
       body("acc = ts.tile.zeros((64,), ts.i32)\nfor i in range(s):\n    acc += x[i:i+64]\ny[0:64] = acc"),
       "give 'acc' that dtype where it begins, as with ts.tile.zeros(shape, ts.f32)"},
      {"ScalarBecomesTile", body("acc = 0.0\nfor i in range(s):\n    acc += x[i:i+64]\ny[0:64] = acc"),
       "begin with a tile: acc = ts.tile.zeros((64,), ts.f32)"},
      {"LaunchInFile",
       kHead + "@ts.kernel\ndef k(x: ts.Tensor[\"n\", ts.f32]):\n    x[0] = 0.0\n\nk[(16,)](x)\n",
       "move host code into another file"},
      {"KernelWithJit", graph("for i in ts.tile.parallel(0, M, 64):\n    z = x"),
       "decorate the function with @ts.kernel"},
      {"PallasSlice", tiles("y[i:i+64] = x[pl.ds(i, 64)]"), "write the slice: x[i:i+64]"},
      // Masks
      {"MaskAnd", tiles("v = x[i:i+64]\ny[i:i+64] = ts.tile.where(v > 0 and v < 1, v, 0.0)"),
       "(a > 0) & (a < 1)"},
      {"MaskChained", tiles("v = x[i:i+64]\ny[i:i+64] = ts.tile.where(0 < v < 1, v, 0.0)"),
       "(a < b) & (b < c)"},
      {"MaskNot", tiles("v = x[i:i+64]\ny[i:i+64] = ts.tile.where(not v > 0, v, 0.0)"), "with ~"},
      {"IfOfTile", tiles("v = x[i:i+64]\nif v > 0:\n    y[i:i+64] = v"), "ts.tile.where(mask, a, b)"},
      {"WhereOfOne", tiles("v = ts.tile.where(x[i:i+64] > 0)"), "it is where(condition, a, b)"},
      {"BooleanIndex", tiles("v = x[i:i+64]\ny[i:i+64] = v[v > 0]"), "ts.tile.mask(x, mask)"},
      // CUDA and Numba
      {"NumbaDecorator", "from numba import cuda\n@cuda.jit\ndef add(x, y):\n    pass\n",
       "a kernel has @ts.kernel"},
      {"ThreadIndex", body("i = blockIdx.x * blockDim.x + threadIdx.x\nx[i] = 0.0"),
       "write ts.tile.linear_id()"},
      {"CudaGrid", body("i = cuda.grid(1)\nif i < n:\n    x[i] = 0.0"),
       "write ts.tile.linear_id(), and a guard: if i < n:"},
      {"CudaShared", body("t = cuda.shared.array(64, ts.f32)"), "write ts.tile.alloc_shared(shape, dtype)"},
      {"CudaAtomic", lanes("cuda.atomic.add(y, i, 1.0)"), "write ts.tile.atomic_add(C[i], value)"},
      {"SyncThreads", lanes("y[i] = x[i]\nts.tile.syncthreads()"), "write ts.tile.barrier()"},
      {"NoGuard", body("i = ts.tile.linear_id()\nA[i // N, i % N] = 0.0"),
       "put every write under a guard: if i < n:"},
      {"EarlyReturn", body("i = ts.tile.linear_id()\nif i >= n: return\ny[i] = x[i]"),
       "put the rest into the guard"},
      {"Ternary", lanes("y[i] = x[i] > 0 ? x[i] : 0"), "write a if condition else b"},
      {"Increment", lanes("c = 0\nc++\ny[i] = c"), "write += 1"},
      {"AndOfC", lanes("if x[i] > 0.0 && x[i] < 1.0:\n    y[i] = 0.0"), "write 'and' between scalars"},
      {"OrOfC", lanes("if x[i] > 0.0 || x[i] < 1.0:\n    y[i] = 0.0"), "write 'or' between scalars"},
      {"NotOfC", lanes("if !s:\n    y[i] = 0.0"), "write 'not' before a scalar"},
      {"Braces", lanes("if (s > 0) {\n    y[i] = 0.0\n}"), "write ':' and indent"},
      {"CommentOfC", lanes("// store\ny[i] = 0.0"), "a comment begins with #"},
      {"DeclarationOfC", lanes("float v = x[i]\ny[i] = v"), "write v = ..."},
      {"AssignmentInIf", lanes("if s = 0:\n    y[i] = 0.0"), "compare with =="},
      {"Expf", lanes("y[i] = expf(x[i])"), "write ts.tile.exp(x)"},
      {"Sqrtf", lanes("y[i] = ts.tile.sqrtf(x[i])"), "write ts.tile.sqrt(x)"},
      {"Len", body("i = ts.tile.linear_id()\nif i < len(x):\n    y[i] = x[i]"),
       "the name of the dim, or x.shape[0]"},
      {"Size", body("i = ts.tile.linear_id()\nif i < x.size:\n    y[i] = x[i]"),
       "the names of the dims, or x.shape[0]"},
      {"Prange", body("for i in prange(n):\n    y[i] = x[i]"), "write ts.tile.parallel(0, n, 64)"},
      {"Continue", lanes("for j in range(4):\n    continue"), "put an if around the rest of the body"},
      {"Break", lanes("for j in range(4):\n    break"), "put the condition into the loop"},
      {"Forever", lanes("while True:\n    y[i] = 0.0"), "a condition that becomes false"},
      {"Print", lanes("print(x[i])"), "write ts.tile.print"},
      {"FString", lanes("v = f'{x[i]}'"), "a kernel computes nothing from text"},
      {"Global", lanes("global counter"), "ts.tile.atomic_add"},
      {"GlobalCounter", "counter = 0\n" + lanes("counter += 1"), "constants of the module do not change"},
      {"GlobalArray", "import numpy as np\nT = np.array([1.0, 2.0])\n" + lanes("y[i] = T[0]"),
       "pass it as a tensor parameter"},
      {"GlobalTable", "T = [1.0, 2.0]\n" + lanes("y[i] = T[i % 2]"), "pass what a value indexes as a tensor"},
      // Python
      {"Class", kHead + "class Kernels:\n    pass\n", "write functions"},
      {"StarParameters", kHead + "@ts.kernel\ndef k(*tensors):\n    pass\n", "name every parameter"},
      {"StarArguments", tiles("a = (x[i:i+64], 1.0)\ny[i:i+64] = ts.tile.maximum(*a)"),
       "write the arguments out"},
      {"Generator", lanes("y[i] = sum(x[j] for j in range(4))"), "or a loop"},
      {"NestedFunction", lanes("def f(a):\n    return a\ny[i] = f(x[i])"), "move 'f' out of this one"},
      {"LocalAnnotation", lanes("v: ts.f32 = x[i]"), "leave it out: a value has its dtype"},
      {"Walrus", lanes("if (v := x[i]) > 0:\n    y[i] = v"), "assign on a line of its own"},
      {"In", lanes("if s in (1, 2):\n    y[i] = 0.0"), "compare with == or !="},
      {"NoImport", "@ts.kernel\ndef k(x: ts.Tensor[\"n\", ts.f32]):\n    x[0] = 0.0\n",
       "write 'import tessera as ts' at the top"},
      {"NoDecorator", kHead + "def k(x: ts.Tensor[\"n\", ts.f32]):\n    x[0] = 0.0\n",
       "put @ts.kernel in front of a function"},
      {"ReturnZero", tiles("y[i:i+64] = x[i:i+64]") + "    return 0\n",
       "a kernel returns tensors, or nothing"},
      // Types of parameters
      {"NdArray", kernel("x: np.ndarray"), "write the dims and the dtype"},
      {"TorchTensor", kernel("x: torch.Tensor"), "write the dims and the dtype"},
      {"RoundBrackets", kernel("x: ts.Tensor(\"n\", ts.f32)"), "in square brackets"},
      {"DtypeFirst", kernel("x: ts.Tensor[ts.f32, \"n\"]"), "the dtype follows the dims"},
      {"TorchDtype", kernel("x: ts.Tensor[\"n\", torch.float32]"), "write ts.f32"},
      {"UnquotedDim", kernel("x: ts.Tensor[n, ts.f32]"), "quote the name of a symbolic dim"},
      {"OptionalTensor", kernel("x: ts.Tensor[\"n\", ts.f32], b: ts.Tensor[\"n\", ts.f32] = None"),
       "a flag such as has_b: bool"},
      {"Mode", kernel("x: ts.Tensor[\"n\", ts.f32], mode: str = \"relu\""), "a flag (bool)"},
      // NumPy
      {"NumPyFunction", "import numpy as np\n" + tiles("y[i:i+64] = np.exp(x[i:i+64])"),
       "write ts.tile.exp(...)"},
      {"WholeTensor", body("y[:] = x[:] * 2.0"), "loop over parts of a constant extent"},
      {"SymbolicTile", body("v = ts.tile.zeros((n,))"), "loop over parts of a constant extent"},
      {"EndOfSlice", tiles("e = min(i + 64, n)\ny[i:e] = x[i:e]"),
       "elements past the end of a tensor are masked"},
      {"Ellipsis", tiles("y[i:i+64] = x[...]"), "write one index per dim"},
      {"SumMethod", tiles("y[i] = x[i:i+64].sum()"), "write ts.tile.sum(...)"},
      {"ShapeCall", tiles("m = x.shape()"), "an extent is x.shape[0]"},
      {"ArangeStep", tiles("v = ts.tile.arange(0, 64, 2)"), "it is arange(start, stop=None)"},
      {"ArangeDtype", tiles("v = ts.tile.arange(64, dtype=ts.f32)"), "ts.tile.cast(x, dtype)"},
      {"MatmulOperator", tiles("v = A[i:i+64, 0:64] @ B[0:64, 0:64]"), "write ts.tile.mma(a, b)"},
      {"NewAxis", tiles("v = x[i:i+64][:, np.newaxis]"), "None adds an axis"},
      {"IntegerDivision", lanes("y[i] = i / 2"), "floor with //"},
      {"Caret", lanes("y[i] = x[i] ^ 2"), "a power is written x ** y"},
      {"MaxOfTwo", tiles("y[i:i+64] = ts.tile.max(x[i:i+64], 0.0)"), "ts.tile.maximum(a, b)"},
      {"TwoBrackets", lanes("A[i][0] = 1.0"), "into one pair of brackets"},
      {"HalfStore", tiles("h[i:i+64] = x[i:i+64]"), "ts.tile.cast(VALUE, ts.f16)"},
      // PyTorch and JAX
      {"Cat", graph("return torch.cat([x, y], dim=1)"), "write ts.concat((a, b), axis=0)"},
      {"Dim", graph("return ts.softmax(x, dim=-1)"), "write axis="},
      {"View", graph("return x.view(-1)"), "write ts.reshape(x, shape)"},
      {"Float", graph("return x.float()"), "write ts.cast(x, ts.f32)"},
      {"InPlaceMethod", graph("return x.add_(y)"), "values do not change in place: write x + y"},
      {"InPlaceSlice", graph("x[:, 0] = 0.0\nreturn x"), "build a new one"},
      {"TMethod", graph("return x.t()"), "write x.T"},
      {"Linear", graph("return torch.nn.functional.linear(x, w)"), "write ts.matmul(x, w.T) + b"},
      {"ForeignModule", graph("return jax.lax.frobnicate(x)"), "kernels use tessera and math only"},
      {"Vmap", graph("return jax.vmap(f)(x)"), "they become axes of the grid"},
      {"AtSet", graph("return x.at[0].set(1.0)"), "build a new tensor"},
      {"Item", graph("return ts.sum(x).item()"), "one of rank 0 has one element"},
      {"Device", graph("return ts.zeros((M, N), device='cuda')"), "the launch chooses the device"},
      {"IfOfTensor", graph("if ts.sum(x) > 0:\n    x = x * 2.0\nreturn x"), "ts.where(mask, a, b)"},
      {"LoopOverDim", graph("for i in range(M):\n    x = x + 1.0\nreturn x"), "their bounds are constants"},
      {"IndexByMask", graph("return x[x > 0]"), "keep the shape: ts.where(mask, x, 0)"},
      {"IndexByNestedList", graph("return x[[[1, 0], [0, 1]]]"), "as a tensor of integers"},
      {"IndexByFlags", graph("return x[[True, False]]"), "keep the shape: ts.where(mask, x, 0)"},
      {"IndexByFlag", graph("return x[[0, ids[0] > 0]]"),
       "element 1 of a list of indices is an integer, found"},
      {"IndexByListOfFloats", graph("return x[[0, 0.5]]"),
       "element 1 of a list of indices is an integer, found a float literal"},
      {"IndexByLongList", graph("return x[[0] * 70]"), "a list of indices has at most 64 integers, found 70"},
      {"IndexByFloats", graph("return x[x]"), "ts.cast(indices, ts.i32)"},
      {"EinsumOfTwoDTypes", graph("return ts.einsum('ij,i->j', x, ids)"),
       "convert the i32 with ts.cast(x, ts.f32)"},
      {"ProductOfTwoDTypes", graph("return ids @ x"), "convert the i32 with ts.cast(x, ts.f32)"},
      {"MixOfTensors", graph("return x * ids[:, None]"), "convert the i32 with ts.cast(x, ts.f32)"},
  };
  return kPrograms;
}

class NewcomerProgram : public testing::TestWithParam<Newcomer> {};

TEST_P(NewcomerProgram, IsToldWhatToWrite) {
  const Newcomer &n = GetParam();
  const Outcome out = compile(n.source);
  ASSERT_FALSE(out.ok()) << out.text();
  EXPECT_THAT(out.text(), HasSubstr(n.says)) << n.source;
}

INSTANTIATE_TEST_SUITE_P(All, NewcomerProgram, testing::ValuesIn(newcomers()),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(Newcomers, AreNotToldOfConsequences) {
  // What an error causes further down is not an error of its own.
  EXPECT_EQ(compile(body("acc = 0\nfor i in range(s):\n    acc += x[i]\ny[0] = acc")).diags.size(), 1u);
  EXPECT_EQ(compile(lanes("y[i] = x[i] > 0 ? x[i] : 0")).diags.size(), 1u);
  EXPECT_EQ(compile(body("v = (x[0:4]\nw = v")).diags.size(), 1u);
  EXPECT_EQ(compile(lanes("try:\n    y[i] = x[i]\nexcept:\n    pass\nfinally:\n    pass")).diags.size(), 1u);
}

} // namespace
} // namespace tessera::frontend::test
