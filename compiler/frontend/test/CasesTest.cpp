// Every diagnostic code, made to appear: the source that does, and the text its caret range covers.
#include "compiler/frontend/test/TestSupport.h"
#include <gmock/gmock.h>
#include <set>

namespace tessera::frontend::test {
namespace {

struct Case {
  const char *code;
  std::string source;
  std::string caret; // what is underlined; "" for diagnostics without a place
  FrontendOptions options = {};
};

void PrintTo(const Case &c, std::ostream *os) { *os << c.code; } // found by GoogleTest

FrontendOptions withTunable(const char *name, int64_t value) {
  FrontendOptions o;
  o.tunables = {{name, value}};
  return o;
}

const std::string kHead = "import tessera as ts\n";
const std::string kVector = "x: ts.Tensor[\"n\", ts.f32]";

std::string repeated(const char *text, size_t n) {
  std::string out;
  for (size_t i = 0; i < n; ++i)
    out += text;
  return out;
}

std::string deep(size_t n) { return std::string(n, '(') + "1" + std::string(n, ')'); }

std::string manyCalls() {
  // Each helper calls the one before twice: 2^20 additions.
  std::string out = kHead + "def h0(a):\n    return a + 1.0\n";
  for (int i = 1; i < 20; ++i)
    out += "def h" + std::to_string(i) + "(a):\n    return h" + std::to_string(i - 1) + "(a) + h" +
           std::to_string(i - 1) + "(a)\n";
  return out + "@ts.kernel\ndef k(" + kVector + ", f: ts.f32):\n    x[0] = h19(f)\n";
}

/// A graph function of a tensor with leading dims.
std::string withLeading(const std::string &type,
                        const std::string &result = "ts.Tensor[..., \"N\", ts.f32]") {
  return kHead + "@ts.jit\ndef k(x: ts.Tensor[" + type + ", ts.f32])" +
         (result.empty() ? "" : " -> " + result) + ":\n    return x\n";
}

/// A graph function that calls another one whose tensors have leading dims.
std::string callsLeading(const std::string &first, const std::string &second, const std::string &body = "a") {
  return kHead + "@ts.jit\ndef g(a: ts.Tensor[..., \"N\", ts.f32], b: ts.Tensor[..., \"N\", ts.f32]) -> " +
         "ts.Tensor[..., \"N\", ts.f32]:\n    return " + body + "\n@ts.jit\ndef k(x: ts.Tensor[" + first +
         ", ts.f32], y: ts.Tensor[" + second + ", ts.f32]):\n    return g(x, y)\n";
}

FrontendOptions withLeadingDims(int64_t count) {
  FrontendOptions o;
  o.kernel = "k";
  o.dims = {{"...", count}};
  return o;
}

/// A graph function with these statements.
Case graph(const char *code, const std::string &body, std::string caret, const std::string &result = "") {
  return {code, graphWith(body, result), std::move(caret), withKernel("k")};
}

/// A graph function with these arguments of @ts.op.specialize.
std::string specialized(const std::string &arguments) {
  return kHead + "@ts.op.specialize(" + arguments +
         ")\ndef f(a: ts.Tensor[8, 8, ts.f32]):\n    return a @ a\n";
}

const std::vector<Case> &cases() {
  static const std::vector<Case> kCases = {
      // Reading the text
      {"E_SOURCE_TOO_LARGE", std::string((4 << 20) + 1, '#'), ""},
      {"E_CHARACTER", kernelWith("y = f $ 2"), "$"},
      {"E_CHARACTER", kernelWith("y = f \\ 2"), "\\"},
      {"E_STRING", kernelWith("y = 'abc"), "'abc"},
      {"E_STRING", kernelWith("y = f'{s}'"), "f'{s}'"},
      {"E_NUMBER", kernelWith("y = 99999999999999999999"), "99999999999999999999"},
      {"E_NUMBER", kernelWith("y = 1j"), "1j"},
      {"E_NUMBER", kernelWith("y = 0x"), "0x"},
      {"E_INDENTATION", kernelWith("y = 1\n  z = 2"), "      "},
      {"E_INDENTATION", "def f():\nx = 1\n", "x"},
      {"E_INDENTATION", "def f():\n        x = 1\n    y = 2\n", "    "},
      {"E_BRACKET", kernelWith("y = (f + 1"), "("},
      {"E_BRACKET", kernelWith("y = f + 1)"), ")"},
      {"E_BRACKET", kernelWith("y = (f + 1]"), "]"},
      {"E_NESTING", "x = " + deep(201) + "\n", "("},
      {"E_NESTING",
       "x = 1" +
           [] {
             std::string s;
             for (int i = 0; i < 400; ++i)
               s += " + 1";
             return s;
           }() +
           "\n",
       ""},
      {"E_SYNTAX", kernelWith("y = f +"), "\n"},
      {"E_SYNTAX", kernelWith("1 = f"), "1"},
      {"E_SYNTAX", kernelWith("y = ts.tile.exp(x=1, 2)"), "2"},
      {"E_UNSUPPORTED", kernelWith("y = lambda a: a"), "lambda"},
      {"E_UNSUPPORTED", kernelWith("class A:\n    pass"), "class"},
      {"E_UNSUPPORTED", kernelWith("y = [i for i in s]"), "s"},
      {"E_UNSUPPORTED", kernelWith("while s > 0:\n    break"), "break"},
      {"E_UNSUPPORTED", kernelWith("y = A[...]"), "..."},
      {"E_UNSUPPORTED", kernelWith("y: ts.f32 = f"), "y"},
      {"E_UNSUPPORTED", kernelWith("for i in A:\n    pass"), "A"},
      {"E_UNSUPPORTED", kernelWith("y = A[0:4, 0:4] @ B[0:4, 0:4]"), "A[0:4, 0:4] @ B[0:4, 0:4]"},
      {"E_UNSUPPORTED", "print('host code')\n", "print('host code')"},
      // Declarations
      {"E_IMPORT", "from tessera import tyle\n", "from tessera import tyle"},
      {"E_IMPORT", "import numpy as np\n" + kernelWith("y = np.exp(f)"), "np"},
      {"E_DECORATOR", kHead + "@ts.kernle\ndef k(" + kVector + "):\n    pass\n", "ts.kernle"},
      {"E_DECORATOR", kHead + "@ts.kernel(64)\ndef k(" + kVector + "):\n    pass\n", "64"},
      {"E_DECORATOR", kHead + "@ts.jit(fuse=True)\ndef k(" + kVector + "):\n    return x\n", "fuse"},
      {"E_DECORATOR", specialized("when={\"backend\": \"ptx\"}"),
       "ts.op.specialize(when={\"backend\": \"ptx\"})"},
      {"E_DECORATOR", specialized("when={\"backend\": \"ptx\"}, use={}"), "{}"},
      {"E_DECORATOR", specialized("when={\"device\": \"ptx\"}, use={\"tile_sizes\": [8, 8, 8]}"),
       "\"device\""},
      {"E_DECORATOR", specialized("when={\"backend\": 3}, use={\"tile_sizes\": [8, 8, 8]}"), "3"},
      {"E_DECORATOR", specialized("when=dict(arch=\"sm_80\"), use=dict(num_warps=4)"), "num_warps"},
      {"E_DECORATOR", specialized("when=dict(arch=\"sm_80\"), use=dict(tile_sizes=[8, 8])"), "[8, 8]"},
      {"E_DECORATOR", specialized("when=dict(arch=\"sm_80\"), use=dict(tile_sizes=[8, 0, 8])"), "[8, 0, 8]"},
      {"E_DECORATOR", specialized("when=dict(arch=\"sm_80\"), use=dict(tile_sizes=[8, 1024, 1024])"),
       "[8, 1024, 1024]"},
      {"E_DECORATOR",
       kHead +
           "@ts.kernel\n@ts.op.specialize(when=dict(arch=\"sm_80\"), use=dict(tile_sizes=[8, 8, 8]))\ndef "
           "k(" +
           kVector + "):\n    pass\n",
       "ts.op.specialize(when=dict(arch=\"sm_80\"), use=dict(tile_sizes=[8, 8, 8]))"},
      {"E_NAME_CLASH", kernelWith("M = 4\nfor i in ts.tile.parallel(0, M, 4):\n    B[i:i+4, 0:4] = 0.0"),
       "M"},
      {"E_NAME_CLASH",
       kernelWith("M = s + 1\ni, j = ts.tile.grid(ts.tile.ceildiv(M, 4), 1)\nB[i*4:i*4+4, 0:4] = 0.0"), "M"},
      {"E_TUNABLE_SPACE",
       kHead + "@ts.kernel.autotune(space=dict(B=[1]), key=1)\ndef k(" + kVector + "):\n    pass\n",
       "ts.kernel.autotune(space=dict(B=[1]), key=1)"},
      {"E_LITERAL_RANGE", kHead + "@ts.kernel\ndef k(" + kVector + ", a: ts.f32 = 1e300):\n    pass\n",
       "1e300"},
      {"E_LITERAL_RANGE", kHead + "@ts.kernel\ndef k(" + kVector + ", a: ts.f16 = -65520.0):\n    pass\n",
       "-65520.0"},
      {"E_LITERAL_RANGE", kHead + "@ts.kernel\ndef k(" + kVector + ", a: ts.bf16 = 3.4e38):\n    pass\n",
       "3.4e38"},
      {"E_POLICY",
       kHead + "@ts.kernel\ndef k(X: ts.Tensor[8, ts.i8 @accum(f32)]):\n    y = ts.tile.sum(X[0:8])\n",
       "X[0:8]"},
      {"E_UNIMPLEMENTED",
       kHead + "@ts.jit\ndef k(x: ts.Tensor[8, ts.f32 @accum(f64)]):\n    return ts.softmax(x)\n", "x"},
      {"E_DUPLICATE", kHead + "@ts.kernel\ndef k(" + kVector + ", x: ts.f32):\n    pass\n", "x"},
      {"E_DUPLICATE", "A = 1\nA = 2\n", "A"},
      {"E_NO_KERNEL", "A = 1\n", ""},
      {"E_UNKNOWN_KERNEL", kernelWith("pass"), "", withKernel("kk")},
      {"E_AMBIGUOUS_KERNEL", kernelWith("pass") + "@ts.kernel\ndef k2(" + kVector + "):\n    pass\n", ""},
      {"E_PARAMETER", kHead + "@ts.kernel\ndef k(x):\n    pass\n", "x"},
      {"E_PARAMETER", kHead + "@ts.kernel\ndef k(x: ts.Tensor[\"n\"]):\n    pass\n", "ts.Tensor[\"n\"]"},
      {"E_PARAMETER", kHead + "@ts.kernel\ndef k(x: ts.i32 = 1.5):\n    pass\n", "1.5"},
      {"E_PARAMETER", kHead + "@ts.kernel\ndef k(x: ts.Tensor[\"n\", ts.f32, ts.strides(1, 2)]):\n    pass\n",
       "ts.strides(1, 2)"},
      {"E_PARAMETER", kHead + "@ts.kernel\ndef k(x: ts.Tensor[\"n\", ts.f32, ts.strides(n=1)]):\n    pass\n",
       "ts.strides(n=1)"},
      {"E_PARAMETER", kHead + "@ts.kernel\ndef k(x: ts.Tensor[ts.f32, ts.strides()]):\n    pass\n",
       "ts.Tensor[ts.f32, ts.strides()]"},
      {"E_PARAMETER", kHead + "@ts.kernel\ndef k(x: ts.Tensor[\"n\", ts.f32, ts.strides]):\n    pass\n",
       "ts.strides"},
      {"E_DIM", kHead + "@ts.kernel\ndef k(x: ts.Tensor[\"n\", ts.f32, ts.strides(-1)]):\n    pass\n", "-1"},
      {"E_PARAMETER", kHead + "@ts.kernel\ndef k(x: ts.Tensor[\"n\", ts.strides(1), ts.f32]):\n    pass\n",
       "ts.strides(1)"},
      {"E_NAME_CLASH",
       kHead + "@ts.kernel\ndef k(x: ts.Tensor[\"n\", ts.f32, ts.strides(\"s\")], s: ts.i32):\n    pass\n",
       "s"},
      {"E_UNIMPLEMENTED", kHead + "@ts.jit\ndef k(x: ts.Tensor[8, ts.f32, ts.strides(2)]):\n    return x\n",
       "ts.strides(2)"},
      {"E_RETURN_TYPE",
       kHead + "@ts.kernel\ndef k(x: ts.Tensor[8, ts.f32, ts.strides(2)]) -> ts.Tensor[8, ts.f32]:\n    "
               "return x\n",
       "x"},
      {"E_DIM", kHead + "@ts.kernel\ndef k(x: ts.Tensor[\"n+\", ts.f32]):\n    pass\n", "\"n+\""},
      {"E_DIM", kHead + "@ts.kernel\ndef k(x: ts.Tensor[\"n/2\", ts.f32]):\n    pass\n", "\"n/2\""},
      {"E_DIM", kHead + "@ts.kernel\ndef k(x: ts.Tensor[\"f(n)\", ts.f32]):\n    pass\n", "\"f(n)\""},
      {"E_DIM", kHead + "@ts.kernel\ndef k(x: ts.Tensor[\"n//0\", ts.f32]):\n    pass\n", "\"n//0\""},
      {"E_DIM", kHead + "@ts.kernel\ndef k(x: ts.Tensor[\"4\", ts.f32]):\n    pass\n", "\"4\""},
      {"E_DIM", kHead + "@ts.kernel\ndef k(x: ts.Tensor[\"n - n\", ts.f32]):\n    pass\n", "\"n - n\""},
      {"E_DIM", kHead + "@ts.kernel\ndef k(x: ts.Tensor[\"n\", ts.f32, ts.strides(\"2*s\")]):\n    pass\n",
       "x"},
      {"E_NAME_CLASH", kHead + "@ts.kernel\ndef k(x: ts.Tensor[\"n+1\", ts.f32], n: ts.i32):\n    pass\n",
       "n"},
      {"E_DIM", kHead + "@ts.kernel\ndef k(x: ts.Tensor[n, ts.f32]):\n    pass\n", "n"},
      {"E_DIM", kHead + "@ts.kernel\ndef k(x: ts.Tensor[-1, ts.f32]):\n    pass\n", "-1"},
      {"E_DIM",
       kHead + "@ts.kernel\ndef k(x: ts.Tensor[\"" + std::string(513, 'n') + "\", ts.f32]):\n    pass\n",
       '"' + std::string(513, 'n') + '"'},
      {"E_DTYPE", kHead + "@ts.kernel\ndef k(x: ts.Tensor[\"n\", ts.f23]):\n    pass\n", "ts.f23"},
      {"E_DTYPE", kernelWith("y = ts.tile.zeros((4,), 3)"), "3"},
      {"E_POLICY", kHead + "@ts.kernel\ndef k(x: ts.Tensor[\"n\", ts.bf16 @acum(f32)]):\n    pass\n",
       "acum(f32)"},
      {"E_POLICY", kHead + "@ts.kernel\ndef k(x: ts.Tensor[\"n\", ts.bf16 @accum(i8)]):\n    pass\n", "i8"},
      {"E_POLICY", kHead + "@ts.kernel\ndef k(x: ts.Tensor[\"n\", ts.bf16 @round(up)]):\n    pass\n", "up"},
      {"E_POLICY", kHead + "@ts.kernel\ndef k(x: ts.Tensor[\"n\", ts.bf16 @loss_scale(0)]):\n    pass\n",
       "0"},
      {"E_NAME_CLASH", kHead + "@ts.kernel\ndef k(x: ts.Tensor[\"n\", ts.f32], n: ts.i32):\n    pass\n", "n"},
      {"E_TUNABLE_SPACE",
       kHead + "@ts.kernel.autotune(space=dict(B=64))\ndef k(" + kVector + "):\n    pass\n", "64"},
      {"E_TUNABLE_SPACE", kHead + "@ts.kernel.autotune\ndef k(" + kVector + "):\n    pass\n",
       "ts.kernel.autotune"},
      {"E_TUNABLE_VALUE",
       kHead + "@ts.kernel.autotune(space=dict(B=[64, 128]))\ndef k(" + kVector + "):\n    pass\n", "B",
       withTunable("B", 32)},
      {"E_TUNABLE_VALUE",
       kHead + "@ts.kernel.autotune(space=dict(BM=[64]))\ndef k(" + kVector + "):\n    pass\n", "k",
       withTunable("BN", 64)},
      {"E_DIM_VALUE", kernelWith("pass"), "k", withDims({{"M", -1}})},
      // Names
      {"E_UNDEFINED_NAME", kernelWith("y = g + 1"), "g"},
      {"E_UNDEFINED_NAME", kernelWith("y = z\nz = 1"), "z"},
      {"E_UNDEFINED_NAME", kernelWith("A[tile_q:tile_q+4, 0:4] = 0.0"), "tile_q"},
      {"E_MAYBE_UNDEFINED", kernelWith("if s > 0:\n    y = 1\nz = y"), "y"},
      {"E_MAYBE_UNDEFINED", kernelWith("for i in range(4):\n    y = i\nz = y"), "y"},
      {"E_UNKNOWN_ATTRIBUTE", kernelWith("y = ts.tile.row_mx(A[0:4, 0:4])"), "ts.tile.row_mx"},
      {"E_UNKNOWN_ATTRIBUTE", kernelWith("y = ts.tile.context().BLOCK"), "ts.tile.context().BLOCK"},
      {"E_UNKNOWN_ATTRIBUTE", kernelWith("y = A.shap"), "A.shap"},
      {"E_UNKNOWN_ATTRIBUTE", kernelWith("y = ts.tile.fmin(f, 1.0)"), "ts.tile.fmin"},
      {"E_TYPE", kernelWith("y = ts.tile.sign(s > 0)"), "ts.tile.sign(s > 0)"},
      {"E_TYPE", kernelWith("y = ts.tile.floor(s)"), "ts.tile.floor(s)"},
      {"E_TYPE", kernelWith("y = ts.tile.isnan(s)"), "ts.tile.isnan(s)"},
      {"E_TYPE", kernelWith("y = ts.tile.fmod(f, s)"), "ts.tile.fmod(f, s)"},
      {"E_TYPE", kernelWith("y = ts.tile.popcount(f)"), "ts.tile.popcount(f)"},
      {"E_TYPE", kernelWith("y = ts.tile.umulhi(s, f)"), "ts.tile.umulhi(s, f)"},
      {"E_TYPE", kernelWith("y = ts.tile.bitcast(f, ts.i64)"), "ts.tile.bitcast(f, ts.i64)"},
      {"E_TYPE", kernelWith("y = ts.tile.bitcast(1.0, ts.i32)"), "ts.tile.bitcast(1.0, ts.i32)"},
      {"E_TYPE", kernelWith("y = ts.tile.fill_masked(f, 1.0)"), "f"},
      {"E_TYPE", kernelWith("y = ts.tile.fill_masked(A[0:4, 0:4], A[0:4, 0:4])"), "A[0:4, 0:4]"},
      {"E_TYPE", kernelWith("y = ts.tile.where(A[0:4, 0:4] > 0 and f < 1, 1, 0)"), "A[0:4, 0:4] > 0"},
      {"E_TYPE", kernelWith("y = ts.tile.where(f < 1 or A[0:4, 0:4] > 0, 1, 0)"), "A[0:4, 0:4] > 0"},
      {"E_TYPE", kernelWith("y = not (A[0:4, 0:4] > 0)"), "(A[0:4, 0:4] > 0)"},
      {"E_UNDEFINED_NAME", kernelWith("y = M\nM = 3"), "M"},
      {"E_INDEX", kernelWith("y = A[0:4, 0:8][4]"), "4"},
      {"E_INDEX", kernelWith("y = A[0:4, 0:8][:, 3:9]"), "3:9"},
      {"E_INDEX", kernelWith("y = A[0:4, 0:8][:, 3:3]"), "3:3"},
      {"E_INDEX", kernelWith("y = A[0:4, 0:8][:, 0:8:2]"), "0:8:2"},
      {"E_INDEX", kernelWith("y = A[0:4, 0:8][0, 0, 0]"), "A[0:4, 0:8][0, 0, 0]"},
      {"E_CONSTANT", kernelWith("y = A[0:4, 0:8][s]"), "s"},
      {"E_CONSTANT", kernelWith("for i in ts.tile.static_range(M):\n    y = i"), "ts.tile.static_range(M)"},
      {"E_TOO_COMPLEX", kernelWith("for i in ts.tile.static_range(5000):\n    y = i"),
       "ts.tile.static_range(5000)"},
      {"E_LOOP_STEP", kernelWith("for i in ts.tile.static_range(0, 4, 0):\n    y = i"), "0"},
      {"E_MAYBE_UNDEFINED", kernelWith("for i in ts.tile.static_range(4):\n    y = i\nz = i"), "i"},
      {"E_LOOP_VARIABLE", kernelWith("for i in ts.tile.static_range(4):\n    i = 2"), "i"},
      {"E_GRID", kernelWith("y = ts.tile.static_range(4)"), "ts.tile.static_range(4)"},
      {"E_UNSUPPORTED", kernelWith("for i, j in ts.tile.grid(M, N):\n    pass"), "ts.tile.grid(M, N)"},
      {"E_NUMBER", kernelWith("y = 9223372036854775808"), "9223372036854775808"},
      {"E_NUMBER", kernelWith("y = -9223372036854775808 ** 2"), "9223372036854775808"},
      {"E_TYPE", kernelWith("y = s / 2"), "s / 2"},
      {"E_STORE_TYPE", kernelWith("A[0, 0:4] = 1.0\nts.tile.alloc_shared((4,), ts.i32)[0:4] = M"),
       "ts.tile.alloc_shared((4,), ts.i32)[0:4] = M"},
      {"E_NOT_CALLABLE", kernelWith("y = f(1)"), "f(1)"},
      {"E_NOT_CALLABLE",
       kHead + "@ts.kernel\ndef a(" + kVector + "):\n    pass\n@ts.kernel\ndef b(" + kVector +
           "):\n    a(x)\n",
       "a(x)", withKernel("b")},
      {"E_ARGUMENTS", kernelWith("y = ts.tile.exp(f, f)"), "ts.tile.exp(f, f)"},
      {"E_ARGUMENTS", kernelWith("y = ts.tile.sum(A[0:4, 0:4], axes=1)"), "axes"},
      {"E_ARGUMENTS", kernelWith("a, b = 1, 2, 3"), "a, b = 1, 2, 3"},
      {"E_ARGUMENTS", kernelWith("y = ts.tile.alloc_shared((4, 4), ts.f32, swizzle=\"xr\")"), "\"xr\""},
      {"E_RECURSION",
       kHead + "def h(a):\n    return h(a)\n@ts.kernel\ndef k(" + kVector +
           ", f: ts.f32):\n    x[0] = h(f)\n",
       "h(a)"},
      {"E_MODULE_CONSTANT",
       kHead + "Z = ts.tile.zeros((4,))\n@ts.kernel\ndef k(" + kVector + "):\n    y = Z\n",
       "ts.tile.zeros((4,))"},
      // Types
      {"E_TYPE", kernelWith("y = f & 1.0"), "f & 1.0"},
      {"E_TYPE", kernelWith("y = ts.tile.exp(s)"), "ts.tile.exp(s)"},
      {"E_TYPE", kernelWith("if A[0:4, 0:4] > 0.0:\n    pass"), "A[0:4, 0:4] > 0.0"},
      {"E_TYPE", kernelWith("y = ts.tile.where(f, 1.0, 2.0)"), "f"},
      {"E_TYPE_MIX", kernelWith("y = f * s"), "f * s"},
      {"E_TYPE_MIX", kernelWith("y = s * 0.5"), "s * 0.5"},
      {"E_SHAPE", kernelWith("y = A[0:4, 0:8] + B[0:4, 0:4]"), "A[0:4, 0:8] + B[0:4, 0:4]"},
      {"E_SHAPE", kernelWith("A[0:4, 0:8] = B[0:8, 0:4]"), "A[0:4, 0:8] = B[0:8, 0:4]"},
      {"E_REBIND", kernelWith("y = 0\nfor i in range(4):\n    y = f"), "y"},
      {"E_REBIND", kernelWith("y = ts.tile.zeros((4,))\nif s > 0:\n    y = ts.tile.zeros((8,))"), "y"},
      {"E_REBIND", kernelWith("y = (s, f)\nfor i in range(4):\n    y = (s, f, f)"), "y"},
      {"E_REBIND", kernelWith("y = (s, f)\nfor i in range(4):\n    y = [s, f]"), "y"},
      {"E_REBIND", kernelWith("y = (s, f)\nfor i in range(4):\n    y = (f, s)"), "y"},
      {"E_REBIND", kernelWith("y = (s, A)\nfor i in range(4):\n    y = (s, B)"), "y"},
      {"E_REBIND", kernelWith("y = [s, f]\nfor i in range(4):\n    y[0] = f"), "y[0]"},
      {"E_REBIND", kernelWith("if s > 0:\n    y = (s, f)\nelse:\n    y = (f, s)"), "y"},
      {"E_ITEM", kernelWith("y = (s, f)\ny[0] = 1"), "y[0]"},
      {"E_ITEM", kernelWith("y = (A[0, 0:4], f)\ny[0][1] = 1.0"), "y[0][1]"},
      {"E_ITEM", kernelWith("y = [s, f]\nz = y\nz[0] = 1"), "z[0]"},
      {"E_ITEM", kernelWith("y = [[s] * 2] * 2\ny[0][0] = 1"), "y[0][0]"},
      {"E_ITEM", kernelWith("y = [s, s]\nz = [0, s]\nfor i in range(4):\n    z = y"), "z"},
      {"E_ITEM",
       kHead + "def h(y):\n    y[0] = 1\n    return y\n@ts.kernel\ndef k(s: ts.i32):\n    y = [s, s]\n    y "
               "= h(y)\n",
       "y[0]"},
      {"E_INDEX", kernelWith("y = [s, f]\ny[2] = 1"), "2"},
      {"E_INDEX", kernelWith("y = [s, f]\nz = y[0:1]"), "y[0:1]"},
      {"E_CONSTANT", kernelWith("y = [s, f]\ny[s] = 1"), "s"},
      {"E_CONSTANT", kernelWith("y = [f] * s"), "[f] * s"},
      {"E_CONSTANT", kernelWith("y = [i for i in (1, 2) if s > 0]"), "s > 0"},
      {"E_UNSUPPORTED", kernelWith("y = [i for i in ts.tile.parallel(0, 4, 1)]"),
       "ts.tile.parallel(0, 4, 1)"},
      {"E_CONSTANT", kernelWith("y = [i for i in range(s)]"), "range(s)"},
      {"E_UNSUPPORTED", kernelWith("y = len(i for i in (1, 2))"), "for"},
      {"E_NESTING", kernelWith("y = [0 " + repeated("for i in (1, 2) ", 300) + "]"), "1"},
      {"E_MODULE_CONSTANT",
       kHead + "Z = [i for i in (1, 2)]\n@ts.kernel\ndef k(" + kVector + "):\n    y = Z\n",
       "[i for i in (1, 2)]"},
      {"E_ARGUMENTS", kernelWith("for i, j in enumerate(((1, 2, 3),)):\n    a, b = j"), "a, b = j"},
      {"E_ARGUMENTS", kernelWith("for a, b in ((1, 2, 3),):\n    pass"), "a, b"},
      {"E_TYPE", kernelWith("y = (s, f) + 1"), "(s, f) + 1"},
      {"E_TYPE", kernelWith("y = len(A)"), "A"},
      {"E_TOO_COMPLEX", kernelWith("y = [0] * 5000"), "[0] * 5000"},
      {"E_UNSUPPORTED", kernelWith("while True:\n    pass"), "True"},
      {"E_ASSUMPTION", kernelWith("ts.assume(f > 0.0)"), "f > 0.0"},
      {"E_ASSUMPTION", kernelWith("ts.assume(A[0, 0] > 0.0)"), "A[0, 0] > 0.0"},
      {"E_ASSUMPTION", kernelWith("ts.assume(M > 0 or N > 0)"), "M > 0 or N > 0"},
      {"E_ASSUMPTION", kernelWith("for i in range(4):\n    ts.assume(M > i)"), "M > i"},
      {"E_ASSUMPTION", kernelWith("if s > 0:\n    ts.assume(M > 0)"), "M > 0"},
      {"E_ASSUMPTION", kernelWith("ts.assume(1 > 2)"), "1 > 2"},
      {"E_ASSUMPTION", kernelWith("ts.assume(M % 4 == 0)\ny = ts.tile.zeros((M,))"), "M % 4 == 0",
       withDims({{"M", 6}})},
      {"E_ASSUMPTION",
       kHead + "@ts.jit\ndef g(x: ts.Tensor[\"M\", ts.f32]):\n    ts.assume(M - M > 0)\n    return x + x\n",
       "M - M > 0"},
      {"E_ASSUMPTION", kernelWith("ts.assume(u > 1)", "A: ts.Tensor[\"M\", ts.f32], u: ts.u64"), "u > 1"},
      {"E_ASSUMPTION",
       kHead + "@ts.jit\ndef g(x: ts.Tensor[\"M\", ts.f32], u: ts.u64):\n    ts.assume(u > 1)\n    return x "
               "+ x\n",
       "u > 1"},
      graph("E_ASSUMPTION", "ts.assume(f > 0.0)\nz = x", "f > 0.0"),
      // Leading dims
      {"E_DIM_NOT_STATIC", withLeading("..., \"N\""), "k"},
      {"E_PARAMETER", withLeading("..., \"N\"", ""), "k", withLeadingDims(1)},
      {"E_NAME_CLASH", withLeading("..., \"axis0\""), "k", withLeadingDims(1)},
      {"E_PARAMETER", withLeading("..., \"N\""), "k", withLeadingDims(8)},
      {"E_PARAMETER", withLeading("..., \"N\""), "k", withLeadingDims(-1)},
      {"E_PARAMETER", withLeading("\"N\", ..."), "..."},
      {"E_PARAMETER", kHead + "@ts.kernel\ndef k(x: ts.Tensor[..., \"N\", ts.f32]):\n    pass\n", "..."},
      {"E_KERNEL_ARGUMENT", callsLeading("\"A\", \"N\"", "\"B\", \"N\""), "g(x, y)", withKernel("k")},
      {"E_KERNEL_ARGUMENT", callsLeading("\"A\", \"N\"", "\"N\""), "g(x, y)", withKernel("k")},
      {"E_KERNEL_ARGUMENT", callsLeading("\"A\", \"N\"", "\"A\", \"A\", \"N\""), "g(x, y)", withKernel("k")},
      {"E_RETURN_TYPE", callsLeading("\"A\", \"N\"", "\"A\", \"N\"", "ts.sum(a, axis=0)"), "g(x, y)",
       withKernel("k")},
      {"E_STORE_TYPE", kernelWith("A[0, 0] = s"), "A[0, 0] = s"},
      {"E_STORE_TYPE", kernelWith("y = A[0:4, 0]\ny[0] = s"), "y[0] = s"},
      {"E_INDEX", kernelWith("y = A[0:4, 0]\ny[4] = 0.0"), "4"},
      {"E_INDEX", kernelWith("y = A[0:4, 0]\ny[:, None] = 0.0"), "y[:, None]"},
      {"E_CONSTANT", kernelWith("y = A[0:4, 0]\ny[s] = 0.0"), "s"},
      {"E_SHAPE", kernelWith("y = A[0:4, 0]\ny[0:2] = A[0:3, 0]"), "y[0:2] = A[0:3, 0]"},
      {"E_SHAPE", kernelWith("y = ts.tile.split(A[0, 0:8], 3)"), "3"},
      {"E_SHAPE", kernelWith("y = ts.tile.split(A[0:4, 0:8])"), "ts.tile.split(A[0:4, 0:8])"},
      {"E_TYPE", kernelWith("y = ts.tile.split(s, 2)"), "s"},
      {"E_SHAPE", kernelWith("y = ts.tile.join(A[0, 0:8], A[0, 0:4])"), "ts.tile.join(A[0, 0:8], A[0, 0:4])"},
      {"E_TYPE_MIX", kernelWith("y = ts.tile.interleave(A[0, 0:8], ts.tile.arange(8))"),
       "ts.tile.interleave(A[0, 0:8], ts.tile.arange(8))"},
      {"E_LITERAL_RANGE", kernelWith("y = ts.tile.full((4,), 300, ts.i8)"), "ts.tile.full((4,), 300, ts.i8)"},
      {"E_LITERAL_RANGE", kernelWith("y = s << 32"), "s << 32"},
      {"E_LITERAL_RANGE", kernelWith("y = ts.u8(s) + (300 if s > 3 else 0)"),
       "ts.u8(s) + (300 if s > 3 else 0)"},
      {"E_LITERAL_RANGE", kernelWith("c = ts.where(s > 3, 1, -1)\ny = ts.u32(s) * c"), "ts.u32(s) * c"},
      {"E_LITERAL_RANGE", kernelWith("y = ts.u8(s) + (3 if s > 3 else 2) * 100"),
       "ts.u8(s) + (3 if s > 3 else 2) * 100"},
      {"E_LITERAL_RANGE", kernelWith("y = ts.u8(s) + -(1 if s > 3 else 0)"),
       "ts.u8(s) + -(1 if s > 3 else 0)"},
      {"E_LITERAL_RANGE", kernelWith("y = ts.i8(s) + ((0 if s > 3 else 255 if s > 1 else 256) & 255)"),
       "ts.i8(s) + ((0 if s > 3 else 255 if s > 1 else 256) & 255)"},
      {"E_LITERAL_RANGE", kernelWith("y = ts.u8(s)\nif s > 0:\n    y = 256"), "y"},
      {"E_LITERAL_RANGE", kernelWith("y = ts.u8(s) + ts.where(ts.tile.arange(4) > s, 256, 0)"),
       "ts.u8(s) + ts.where(ts.tile.arange(4) > s, 256, 0)"},
      {"E_TYPE_MIX", kernelWith("y = f * ts.cast(s, ts.i32)"), "f * ts.cast(s, ts.i32)"},
      {"E_LITERAL_RANGE", kernelWith("y = math.sqrt(-1.0)"), "math.sqrt(-1.0)"},
      {"E_DIVISION_BY_ZERO", kernelWith("y = s // 0"), "s // 0"},
      {"E_DIVISION_BY_ZERO", kernelWith("y = 1 / 0"), "1 / 0"},
      {"E_CONSTANT", kernelWith("y = ts.tile.zeros((s,))"), "s"},
      // Tiles and tensors
      {"E_DIM_NOT_STATIC", kernelWith("y = A[0, :]"), ":"},
      {"E_DIM_NOT_STATIC", kernelWith("y = ts.tile.zeros((M // 2,))"), "M // 2"},
      {"E_SLICE", kernelWith("y = A[0, 0:s]"), "0:s"},
      {"E_SLICE", kernelWith("y = A[0, 4:4]"), "4:4"},
      {"E_SLICE", kernelWith("y = A[0, 0:8:0]"), "0"},
      {"E_INDEX", kernelWith("y = A[0, 0, 0]"), "A[0, 0, 0]"},
      {"E_INDEX", kernelWith("y = A[f, 0]"), "f"},
      {"E_INDEX", kernelWith("A[0:4] = B[0:4, 0]"), "A[0:4]"},
      {"E_INDEX", kernelWith("i = A[0:4, 0]\ny = A[i, 0]"), "i"},
      {"E_INDEX", kernelWith("i = ts.tile.arange(4)\ny = A[i, 0:8:2]"), "A[i, 0:8:2]"},
      {"E_TYPE", kernelWith("y = ts.tile.mask(f, f > 0.0)"), "f"},
      {"E_TYPE", kernelWith("y = ts.tile.mask(A[0:4, 0], A[0:4, 0])"), "A[0:4, 0]"},
      {"E_TYPE", kernelWith("y = ts.tile.load(A[0, 0], mask=f > 0.0)"), "A[0, 0]"},
      {"E_SHAPE", kernelWith("y = A[ts.tile.arange(4), ts.tile.arange(3)]"), "ts.tile.arange(3)"},
      {"E_INDEX", kernelWith("y = A[0:4, 0:4]\nz = y[-5]"), "-5"},
      {"E_TENSOR_VALUE", kernelWith("y = A + 1.0"), "A + 1.0"},
      {"E_TENSOR_VALUE", kernelWith("y = A.T"), "A.T"},
      {"E_TILE_SIZE", kernelWith("y = ts.tile.zeros((65536, 65536))"), "ts.tile.zeros((65536, 65536))"},
      {"E_TILE_SIZE", kernelWith("y = ts.tile.zeros((0,))"), "ts.tile.zeros((0,))"},
      {"E_AXIS", kernelWith("y = ts.tile.sum(A[0:4, 0:4], axis=2)"), "2"},
      {"E_AXIS", kernelWith("y = A[0, 0:4].T"), "A[0, 0:4].T"},
      {"E_AXIS", kernelWith("y = ts.tile.permute(A[0:4, 0:4], (0, 0))"), "(0, 0)"},
      {"E_AXIS", kernelWith("y = ts.tile.permute(A[0:4, 0:4], (0, 1, 2))"), "(0, 1, 2)"},
      {"E_TYPE", kernelWith("y = ts.tile.permute(s, (0,))"), "s"},
      {"E_MMA", kernelWith("y = ts.tile.mma(A[0:4, 0:8], B[0:4, 0:8])"),
       "ts.tile.mma(A[0:4, 0:8], B[0:4, 0:8])"},
      {"E_MMA", kernelWith("y = ts.tile.mma(A[0:4, 0:8], ts.tile.cast(B[0:8, 0:8], ts.bf16))"),
       "ts.tile.mma(A[0:4, 0:8], ts.tile.cast(B[0:8, 0:8], ts.bf16))"},
      {"E_MMA", kernelWith("y = ts.tile.mma(A[0:4, 0:8], B[0:8, 0:4], accumulator=ts.bf16)"), "ts.bf16"},
      {"E_SHARED_LIMIT", kernelWith("y = ts.tile.alloc_shared((1024, 1024), ts.f32)"),
       "ts.tile.alloc_shared((1024, 1024), ts.f32)"},
      {"E_ATOMIC", kernelWith("ts.tile.atomic_add(A, (0, 0), 1.0, order=\"relax\")"), "\"relax\""},
      {"E_ATOMIC", kernelWith("ts.tile.atomic_add(f, 0, 1.0)"), "f"},
      // Where it runs
      {"E_GRID", kernelWith("if s > 0:\n    for i in ts.tile.parallel(0, M, 4):\n        pass"), "for"},
      {"E_GRID", kernelWith("for i in ts.tile.parallel(0, M, 4):\n    pass\nA[0, 0] = 1.0"), "A[0, 0] = 1.0"},
      {"E_GRID", kernelWith("A[0, 0] = 1.0\nfor i in ts.tile.parallel(0, M, 4):\n    pass"), "for"},
      {"E_GRID",
       kernelWith(
           "for i in ts.tile.parallel(0, M, 4):\n    A[i, 0] = 1.0\n    for j in ts.tile.parallel(0, N, 4):\n"
           "        B[i, j] = 1.0"),
       "for"},
      {"E_GRID", kernelWith("i = ts.tile.linear_id()\nfor j in ts.tile.parallel(0, M, 4):\n    pass"), "for"},
      {"E_GRID",
       kernelWith(
           "for i in ts.tile.parallel(0, M, 4):\n    for j in ts.tile.parallel(0, i, 4):\n        pass"),
       "ts.tile.parallel(0, i, 4)"},
      {"E_GRID",
       kernelWith("for i in ts.tile.parallel(0, M, 4):\n    A[i, 0] = 1.0\n"
                  "for j in ts.tile.parallel(0, N, 4):\n    B[0, j] = A[0, j]"),
       "ts.tile.parallel(0, N, 4)"},
      {"E_GRID",
       kernelWith("for i in ts.tile.parallel(0, M, 4):\n    B[i, 0] = A[i, 0]\n"
                  "for j in ts.tile.parallel(0, N, 4):\n    ts.tile.atomic_add(A, (0, j), 1.0)"),
       "ts.tile.parallel(0, N, 4)"},
      {"E_GRID",
       kernelWith("for i in ts.tile.parallel(0, M, 4):\n    A[i, 0] = 1.0\n"
                  "for j in ts.tile.parallel(0, N, 4):\n    A[0, j] = 1.0"),
       "ts.tile.parallel(0, N, 4)"},
      {"E_GRID",
       kernelWith("for i in ts.tile.parallel(0, M, 4):\n    A[i, 0] = 1.0\nfor j in range(4):\n    pass"),
       "for"},
      {"E_MAYBE_UNDEFINED",
       kernelWith("for i in ts.tile.parallel(0, M, 4):\n    y = A[i, 0]\n"
                  "for j in ts.tile.parallel(0, N, 4):\n    B[0, j] = y"),
       "y"},
      {"E_GRID", kernelWith("i = ts.tile.grid(M, N)"), "i = ts.tile.grid(M, N)"},
      {"E_LOOP_STEP", kernelWith("for i in range(0, 4, 0):\n    pass"), "0"},
      {"E_LOOP_STEP", kernelWith("for i in ts.tile.parallel(0, M, -4):\n    pass"),
       "ts.tile.parallel(0, M, -4)"},
      {"E_LOOP_VARIABLE", kernelWith("for i in range(4):\n    i = 2"), "i"},
      {"E_ITERATOR",
       kHead + "@ts.kernel\ndef k(x: ts.Tensor[\"m\", \"M\", ts.f32]):\n    x[tile_m:tile_m+4, 0:4] = 0.0\n",
       "tile_m"},
      {"E_ITERATOR_STEP", kernelWith("A[tile_m:tile_m+4, 0:4] = B[tile_m:tile_m+8, 0:4]"), "tile_m:tile_m+4"},
      {"E_ITERATOR_STEP", kernelWith("A[tile_m, 0] = 0.0"), "tile_m"},
      {"E_ITERATOR_REDUCTION", kernelWith("A[tile_m:tile_m+4, 0:4] = B[tile_m:tile_m+4, tile_n:tile_n+4]"),
       "A[tile_m:tile_m+4, 0:4] = B[tile_m:tile_m+4, tile_n:tile_n+4]"},
      {"E_ITERATOR_REDUCTION",
       kernelWith("A[tile_m:tile_m+4, 0] = B[tile_m:tile_m+4, tile_n:tile_n+4][:, 0]"),
       "A[tile_m:tile_m+4, 0] = B[tile_m:tile_m+4, tile_n:tile_n+4][:, 0]"},
      {"E_ITERATOR_REDUCTION",
       kernelWith("A[tile_m:tile_m+4, 0:4] = ts.tile.max(B[tile_n:tile_n+4, tile_m:tile_m+4].T, axis=0)"),
       "A[tile_m:tile_m+4, 0:4] = ts.tile.max(B[tile_n:tile_n+4, tile_m:tile_m+4].T, axis=0)"},
      {"E_LINEAR_DOMAIN", kernelWith("i = ts.tile.linear_id()\nA[i // N, i % N] = 0.0"),
       "ts.tile.linear_id()"},
      {"E_LANE_TILE", kernelWith("i = ts.tile.linear_id()\nt = ts.tile.alloc_shared((4, 4), ts.f32)"),
       "ts.tile.alloc_shared((4, 4), ts.f32)"},
      {"E_LANE_TILE", kernelWith("i = ts.tile.linear_id()\nt = A[0:4, 0:4]"), "A[0:4, 0:4]"},
      {"E_DIVERGENT", kernelWith("i = ts.tile.linear_id()\nif i < M:\n    ts.tile.barrier()"),
       "ts.tile.barrier()"},
      {"E_DIVERGENT", kernelWith("i = ts.tile.local_id()\nif i == 0:\n    ts.tile.barrier()"),
       "ts.tile.barrier()"},
      {"E_RETURN_PLACE", kernelWith("if s > 0:\n    return\nA[0, 0] = 1.0"), "return"},
      {"E_RETURN_PLACE", kernelWith("return\nA[0, 0] = 1.0"), "A[0, 0] = 1.0"},
      {"E_RETURN_TYPE", kernelWith("return A"), "return A"},
      {"E_RETURN_TYPE",
       kHead + "@ts.kernel\ndef k(" + kVector +
           ") -> ts.Tensor[\"n\", ts.bf16]:\n    x[0] = 0.0\n    return x\n",
       "x"},
      {"E_RETURN_TYPE", kHead + "@ts.kernel\ndef k(" + kVector + ") -> ts.f32:\n    return x\n", "ts.f32"},
      // Graph functions
      graph("E_GRAPH_OP", "z = ts.tile.mma(x, w)", "ts.tile.mma(x, w)"),
      graph("E_GRAPH_OP", "t = ts.tile.linear_id()", "ts.tile.linear_id()"),
      graph("E_GRAPH_CONTROL", "if f > 0.0:\n    z = x", "f > 0.0"),
      graph("E_GRAPH_CONTROL", "if x > 0.0:\n    z = x", "x > 0.0"),
      graph("E_GRAPH_CONTROL", "while f > 0.0:\n    pass", "while"),
      graph("E_GRAPH_CONTROL", "for t in range(M):\n    pass", "range(M)"),
      graph("E_IN_PLACE", "x[0:4, :] = y[0:4, :]", "x[0:4, :]"),
      graph("E_IN_PLACE", "x[0, 0] += 1.0", "x[0, 0]"),
      graph("E_KERNEL_ARGUMENT", "scale(b, f)", "scale(b, f)"),
      graph("E_KERNEL_ARGUMENT", "scale(x, f * 2.0)", "scale(x, f * 2.0)"),
      graph("E_KERNEL_ARGUMENT", "z = twice(i)", "twice(i)"),
      graph("E_SHAPE", "z = x + w", "x + w"),
      graph("E_SHAPE", "z = x @ y", "x @ y"),
      graph("E_SHAPE", "z = x.reshape(M, 2)", "x.reshape(M, 2)"),
      graph("E_SHAPE", "z = x.reshape((M, 2))", "(M, 2)"),
      graph("E_SHAPE", "z = ts.reshape(x, (K * M, -1, -1))", "(K * M, -1, -1)"),
      graph("E_SHAPE", "z = ts.broadcast_to(x, (M, N))", "ts.broadcast_to(x, (M, N))"),
      graph("E_SHAPE", "z = ts.concat([x, w], axis=1)", "ts.concat([x, w], axis=1)"),
      graph("E_SHAPE", "z = ts.split(x, 2)", "ts.split(x, 2)"),
      graph("E_SHAPE", "z = ts.layer_norm(x, gamma=x[:, 0])", "ts.layer_norm(x, gamma=x[:, 0])"),
      graph("E_SHAPE", "z = ts.mse(x, x.T)", "ts.mse(x, x.T)"),
      graph("E_SHAPE", "z = ts.cross_entropy(w, i)", "ts.cross_entropy(w, i)"),
      graph("E_SHAPE", "z = ts.flash_attention(x, y, w)", "ts.flash_attention(x, y, w)"),
      graph("E_TYPE_MIX", "z = x @ (b.T)", "x @ (b.T)"),
      graph("E_TYPE_MIX", "z = x * i[:, None]", "x * i[:, None]"),
      graph("E_TYPE", "z = ts.embedding(x, y)", "y"),
      graph("E_TYPE", "z = ts.gelu(i)", "ts.gelu(i)"),
      graph("E_TYPE", "z = ts.cross_entropy(x, f)", "f"),
      graph("E_AXIS", "z = ts.softmax(x, axis=2)", "2"),
      graph("E_AXIS", "z = ts.sum(x, axis=(0, 0))", "(0, 0)"),
      graph("E_AXIS", "z = ts.transpose(x, (0, 0))", "(0, 0)"),
      graph("E_SLICE", "z = x[0:4:0]", "0"),
      graph("E_SLICE", "z = x[2:5:-1]", "2:5:-1"),
      graph("E_SLICE", "z = x[0:M + 1:2]", "0:M + 1:2"),
      graph("E_DIM_NOT_STATIC", "z = x[::M]", "M"),
      graph("E_SLICE", "z = x[5:2, :]", "5:2"),
      graph("E_SLICE", "z = x[:, K + 1:]", "K + 1:"),
      graph("E_LOOP_STEP", "z = ts.arange(0, 4, 0)", "0"),
      graph("E_DIM_NOT_STATIC", "z = ts.arange(0, 4, M)", "M"),
      graph("E_TYPE", "z = i / 2", "i / 2"),
      graph("E_SHAPE", "z = ts.broadcast_to(1.0, (3, 2 - 5))", "ts.broadcast_to(1.0, (3, 2 - 5))"),
      graph("E_INDEX", "z = x[0, 0, 0]", "x[0, 0, 0]"),
      graph("E_INDEX", "z = x[i > 0]", "i > 0"),
      graph("E_INDEX", "z = x[[[1, 0]]]", "[1, 0]"),
      graph("E_INDEX", "z = x[[0, 0.5]]", "0.5"),
      graph("E_INDEX", "z = x[[0, True]]", "True"),
      graph("E_INDEX", "z = x[[None]]", "None"),
      graph("E_INDEX", "z = x[[0, f]]", "f"),
      graph("E_INDEX", "z = x[[i[0] > 0]]", "i[0] > 0"),
      graph("E_INDEX", "z = x[[i]]", "i"),
      graph("E_INDEX", "z = x[(0, 0.5),]", "0.5"),
      graph("E_INDEX", "z = x[((0, 0.5),)]", "0.5"),
      graph("E_INDEX", "z = x[[0] * 65]", "[0] * 65"),
      graph("E_INDEX", "z = x[9223372036854775807]", "9223372036854775807"),
      graph("E_INDEX", "z = x[-9223372036854775808]", "-9223372036854775808"),
      graph("E_INDEX", "z = x[[0, 9223372036854775807]]", "[0, 9223372036854775807]"),
      graph("E_SLICE", "z = x[9223372036854775807::-1]", "9223372036854775807::-1"),
      graph("E_INDEX", "z = x[i, i, i]", "x[i, i, i]"),
      graph("E_TYPE", "z = x[y]", "y"),
      graph("E_CONSTANT", "z = x[f]", "f"),
      graph("E_SHAPE", "z = x[i, ts.arange(3)]", "x[i, ts.arange(3)]"),
      graph("E_SLICE", "z = x[5:2, i]", "5:2"),
      graph("E_CONSTANT", "z = x.reshape(f)", "f"),
      graph("E_CONSTANT", "z = ts.rms_norm(x, eps=f)", "f"),
      graph("E_TYPE", "z = ts.gather(x, y)", "y"),
      graph("E_AXIS", "z = ts.gather(x, i, axis=2)", "2"),
      graph("E_SHAPE", "z = ts.gather_elements(x, i)", "ts.gather_elements(x, i)"),
      graph("E_SHAPE", "z = ts.gather_nd(x, i)", "ts.gather_nd(x, i)"),
      graph("E_SHAPE", "z = ts.gather_nd(x, ts.full((4, 3), 0, ts.i32))",
            "ts.gather_nd(x, ts.full((4, 3), 0, ts.i32))"),
      graph("E_SHAPE", "z = ts.gather_nd(x, ts.full((4, 1), 0, ts.i32), batch_dims=1)",
            "ts.gather_nd(x, ts.full((4, 1), 0, ts.i32), batch_dims=1)"),
      graph("E_SHAPE", "z = ts.gather_nd(x, ts.full((4, 1), 0, ts.i32), batch_dims=3)",
            "ts.gather_nd(x, ts.full((4, 1), 0, ts.i32), batch_dims=3)"),
      graph("E_TYPE", "z = ts.scatter(x, f, y)", "f"),
      graph("E_UNIMPLEMENTED", "z = ts.scatter(ts.cast(x, ts.u64), i, ts.cast(x, ts.u64), reduction=\"max\")",
            "ts.cast(x, ts.u64)"),
      graph("E_TYPE", "z = ts.scatter(x, y, y)", "y"),
      graph("E_TYPE_MIX", "z = ts.scatter(x, i, b)", "b"),
      graph("E_SHAPE", "z = ts.scatter(x, i, w)", "ts.scatter(x, i, w)"),
      graph("E_SHAPE", "z = ts.scatter_elements(x, i, x[:, 0])", "ts.scatter_elements(x, i, x[:, 0])"),
      graph("E_SHAPE", "z = ts.scatter_nd(x, i, y)", "i"),
      graph("E_ARGUMENTS", "z = ts.scatter(x, i, y, reduction=\"mean\")", "\"mean\""),
      graph("E_TYPE", "z = ts.scatter(x > 0.0, i, y > 0.0, reduction=\"max\")", "x > 0.0"),
      graph("E_AXIS", "z = ts.sort(x, axis=2)", "2"),
      graph("E_AXIS", "z = ts.topk(x, 1, axis=-3)", "-3"),
      graph("E_CONSTANT", "z = ts.argsort(x, descending=f)", "f"),
      graph("E_CONSTANT", "z = ts.sort(x, descending=1)", "1"),
      graph("E_INDEX", "z = x[x > 0.0]", "x > 0.0"),
      graph("E_CONSTANT", "z = ts.sum(x, keepdims=1)", "1"),
      graph("E_UNIMPLEMENTED", "z = ts.cast(x, ts.tf32)", "ts.cast(x, ts.tf32)"),
      graph("E_TYPE", "z = ts.sort(ts.cast(x, ts.i4))", "ts.cast(x, ts.i4)"),
      graph("E_TYPE", "z = ts.sort(f)", "f"),
      graph("E_SHAPE", "z = ts.topk(x[0:3], 4, axis=0)", "4"),
      graph("E_SHAPE", "z = ts.topk(x, 0)", "0"),
      graph("E_SHAPE", "z = ts.topk(x, -1)", "-1"),
      graph("E_DIM_NOT_STATIC", "z = ts.topk(x, M)", "M"),
      graph("E_SHAPE", "z = ts.pad(x, (1, 2, 3))", "(1, 2, 3)"),
      graph("E_SHAPE", "z = ts.pad(x, -1)", "-1"),
      graph("E_SHAPE", "z = ts.pad(x[0:3], ((3, 0), (0, 0)), mode=\"reflect\")",
            "ts.pad(x[0:3], ((3, 0), (0, 0)), mode=\"reflect\")"),
      graph("E_CONSTANT", "z = ts.pad(x, f)", "f"),
      graph("E_CONSTANT", "z = ts.pad(x, 1, value=f * 2.0)", "f * 2.0"),
      graph("E_TYPE_MIX", "z = ts.pad(i, 1, value=1.5)", "1.5"),
      graph("E_ARGUMENTS", "z = ts.pad(x, 1, mode=\"mirror\")", "\"mirror\""),
      graph("E_SHAPE", "z = ts.repeat(x, -2, axis=0)", "ts.repeat(x, -2, axis=0)"),
      graph("E_CONSTANT", "z = ts.op.tile(x, f)", "f"),
      graph("E_ARGUMENTS", "z = ts.norm(x, ord=3)", "3"),
      graph("E_TYPE", "z = ts.norm(i)", "i"),
      graph("E_AXIS", "z = ts.cumsum(x, axis=2)", "2"),
      graph("E_TYPE", "z = ts.cummax(x > 0.0, axis=0)", "ts.cummax(x > 0.0, axis=0)"),
      graph("E_ARGUMENTS", "z = ts.einsum(\"ij,jk->ik\", x)", "\"ij,jk->ik\""),
      graph("E_ARGUMENTS", "z = ts.einsum(\"ij->ijk\", x)", "\"ij->ijk\""),
      graph("E_ARGUMENTS", "z = ts.einsum(\"ij->ii\", x)", "\"ij->ii\""),
      graph("E_ARGUMENTS", "z = ts.einsum(\"i->i\", x)", "\"i->i\""),
      graph("E_ARGUMENTS", "z = ts.einsum(\"ijk...->i\", x)", "\"ijk...->i\""),
      graph("E_ARGUMENTS", "z = ts.einsum(\"i...->i\", x)", "\"i...->i\""),
      graph("E_ARGUMENTS", "z = ts.einsum(\"i,1->i\", x, y)", "\"i,1->i\""),
      graph("E_ARGUMENTS", "z = ts.einsum(x, y)", "ts.einsum(x, y)"),
      graph("E_ARGUMENTS", "z = ts.einsum(\"ij\")", "ts.einsum(\"ij\")"),
      graph("E_SHAPE", "z = ts.einsum(\"ij,ij->i\", x, w)", "ts.einsum(\"ij,ij->i\", x, w)"),
      graph("E_TYPE_MIX", "z = ts.einsum(\"ij,ij->i\", x, b)", "b"),
      graph("E_TYPE", "z = ts.einsum(\"ij->i\", x > 0.0)", "x > 0.0"),
      graph("E_SHAPE", "z = ts.cross_entropy(x, i, weights=y)", "y"),
      graph("E_ARGUMENTS", "z = ts.cross_entropy(x, i, label_smoothing=1.5)", "1.5"),
      graph("E_ARGUMENTS", "z = ts.cross_entropy(x, i, reduction=\"max\")", "\"max\""),
      graph("E_TYPE", "z = ts.flash_attention(x, y, y, mask=x)", "x"),
      graph("E_TYPE", "z = ts.flash_attention(x, y, y, bias=x > 0.0)", "x > 0.0"),
      graph("E_SHAPE", "z = ts.flash_attention(x, y, y, bias=w)", "w"),
      graph("E_ARGUMENTS", "z = ts.flash_attention(x, y, y, softcap=0.0)", "0.0"),
      graph("E_ARGUMENTS", "z = ts.flash_attention(x, y, y, past_k=y)",
            "ts.flash_attention(x, y, y, past_k=y)"),
      graph("E_ARGUMENTS", "z = ts.softmax(x, axes=1)", "axes"),
      graph("E_ARGUMENTS", "z = ts.gelu(x, approximate=\"erf\")", "\"erf\""),
      graph("E_UNKNOWN_ATTRIBUTE", "z = x.softmax()", "x.softmax"),
      graph("E_RETURN_TYPE", "return x.T", "x.T", "ts.Tensor[\"M\", \"K\", ts.f32]"),
      graph("E_RETURN_TYPE", "return f", "f"),
      graph("E_RETURN_TYPE", "z = x", "ts.Tensor[ts.f32]", "ts.Tensor[ts.f32]"),
      graph("E_RETURN_TYPE", "z = x", "k"),
      graph("E_RETURN_TYPE", "return", "k"),
      graph("E_TOO_COMPLEX", "for t in range(5000):\n    z = x", "range(5000)"),
      graph("E_SHAPE", "z = x[:, :N // 2] + x[:, N // 2:]", "x[:, :N // 2] + x[:, N // 2:]"),
      graph("E_UNIMPLEMENTED", "z = ts.op.all_reduce(x)", "ts.op.all_reduce(x)"),
      // Limits
      {"E_TOO_COMPLEX", manyCalls(), ""},
      {"E_PARAMETER", kHead + "@ts.jit\ndef f(x, W):\n    return ts.gemm(x, W)\n", "W"},
      {"E_UNIMPLEMENTED", kHead + "@ts.jit\n@ts.autodiff\ndef f(x, W):\n    return ts.mse(x, W)\n",
       "ts.autodiff"},
      {"E_UNIMPLEMENTED", kernelWith("y = ts.op.softmax(A)"), "ts.op.softmax(A)"},
      {"E_UNIMPLEMENTED", kernelWith("y = ts.dist.all_reduce(A, axis=\"tp\")"),
       "ts.dist.all_reduce(A, axis=\"tp\")"},
  };
  return kCases;
}

class DiagnosticCase : public testing::TestWithParam<Case> {};

TEST_P(DiagnosticCase, AppearsWithItsCaret) {
  const Case &c = GetParam();
  Outcome out = compile(c.source, c.options);
  ASSERT_FALSE(out.ok()) << out.text();
  std::string all = out.text();
  const Diagnostic *found = nullptr;
  for (const Diagnostic &d : out.diags)
    if (d.code == c.code && (!found || marked(d) == c.caret)) found = &d;
  ASSERT_NE(found, nullptr) << "expected " << c.code << ", got\n" << all.substr(0, 2000);
  if (!c.caret.empty() && c.caret != "\n") EXPECT_EQ(marked(*found), c.caret) << all;
  EXPECT_FALSE(found->message.empty());
  EXPECT_TRUE(std::ranges::is_sorted(out.diags, {}, &Diagnostic::line)) << all;
  // A refused feature says so; a wrong program never claims to be merely unbuilt.
  EXPECT_EQ(out.status == CompileStatus::Unimplemented, std::string(c.code) == "E_UNIMPLEMENTED");
}

std::string caseName(const testing::TestParamInfo<Case> &info) {
  return std::string(info.param.code) + "_" + std::to_string(info.index);
}
INSTANTIATE_TEST_SUITE_P(All, DiagnosticCase, testing::ValuesIn(cases()), caseName);

TEST(DiagnosticTable, EveryCodeHasACase) {
  std::set<std::string> covered;
  for (const Case &c : cases())
    covered.insert(c.code);
  for (const DiagnosticInfo &d : allDiagnostics())
    EXPECT_TRUE(covered.count(d.code)) << d.code << " is never made to appear";
}

TEST(DiagnosticTable, EveryRowIsComplete) {
  std::set<std::string> seen;
  for (const DiagnosticInfo &d : allDiagnostics()) {
    EXPECT_TRUE(seen.insert(d.code).second) << d.code;
    EXPECT_TRUE(std::string(d.code).starts_with("E_"));
    EXPECT_GT(std::string(d.title).size(), 10u) << d.code;
    EXPECT_GT(std::string(d.explanation).size(), 40u) << d.code;
    EXPECT_EQ(findDiagnostic(d.code)->title, d.title);
  }
  EXPECT_EQ(findDiagnostic("E_NOTHING"), nullptr);
}

} // namespace

} // namespace tessera::frontend::test
