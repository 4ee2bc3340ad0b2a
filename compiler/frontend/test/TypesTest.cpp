// Weak values, promotion, broadcasting, folding.
#include "compiler/frontend/test/TestSupport.h"
#include <gmock/gmock.h>

namespace tessera::frontend::test {
namespace {

using testing::HasSubstr;

const char *kParams =
    "A: ts.Tensor[\"M\", \"N\", ts.f32], H: ts.Tensor[\"M\", ts.bf16], h: ts.bf16, g: ts.f16, f: ts.f32, d: "
    "ts.f64, "
    "i8: ts.i8, i16: ts.i16, i: ts.i32, l: ts.i64, u: ts.u8, b: bool, Y: ts.Tensor[\"M\", ts.f32]";

std::string of(const std::string &body) { return compile(kernelWith(body, kParams)).text(); }

TEST(Types, LiteralsTakeTheOtherDType) {
  EXPECT_THAT(of("y = h * 2"), HasSubstr(": bf16 = mul(h, 2.0:bf16)"));
  EXPECT_THAT(of("y = 2.5 * f"), HasSubstr(": f32 = mul(2.5:f32, f)"));
  EXPECT_THAT(of("Y[0] = ts.f32(i8 + 1)"), HasSubstr("add(i8, 1:i8)"));
  EXPECT_THAT(of("y = f * M"), HasSubstr("mul(f, cast f32(dim M))"));
  EXPECT_THAT(of("y = i * 0.5"), HasSubstr("E_TYPE_MIX"));
}

TEST(Types, BareLiteralsBecomeVariablesOfTheirOwn) {
  EXPECT_THAT(of("y = 1\nfor k in range(4):\n    y = y + 1"), HasSubstr(": i32 = 1:i32"));
  EXPECT_THAT(of("y = 1.5\nfor k in range(4):\n    y = y + k"), HasSubstr(": f32 = 1.5:f32"));
  EXPECT_THAT(of("y = True\nif i > 0:\n    y = False"), HasSubstr(": bool = true"));
  EXPECT_THAT(of("c = 2\ny = f * c"), HasSubstr("E_TYPE_MIX"));
}

TEST(Types, DimsIdsAndLoopVariablesHave64Bits) {
  EXPECT_THAT(of("Y[0] = ts.f32(i + M)"), HasSubstr("add(cast i64(i), dim M)"));
  EXPECT_THAT(of("Y[0] = ts.f32(u + A.shape[0])"), HasSubstr("cast f32(add(cast i64(u), dim M))"));
  EXPECT_THAT(of("Y[0] = ts.f32(M - i8)"), HasSubstr("cast f32(sub(dim M, cast i64(i8)))"));
  EXPECT_THAT(of("for k in range(4):\n    y = k + ts.tile.arange(8)"),
              HasSubstr(": <8xi64> = add(broadcast(%k"));
  EXPECT_THAT(of("y = ts.tile.where(i > 0, i, M)"), HasSubstr(": i64 = select("));
  // A literal is as narrow as what it meets, and so is a choice of two; a dim whose value is known is not.
  EXPECT_THAT(of("y = i + (1 if b else 2)"), HasSubstr(": i32 = add(i, "));
  EXPECT_THAT(of("y = i + (1 if b else 5000000000)"), HasSubstr(": i64 = add(cast i64(i), "));
  std::string known =
      compile(kernelWith("y = ts.tile.zeros((M,))\nA[0, 0] = ts.f32(s + M)"), withDims({{"M", 8}})).text();
  EXPECT_THAT(known, HasSubstr("cast f32(add(cast i64(s), 8))"));
  // They become floats and i64 where those are wanted, and nothing narrower without a cast.
  EXPECT_THAT(of("Y[0] = M"), HasSubstr("store_elem Y[0] = cast f32(dim M)"));
  EXPECT_THAT(of("y = ts.i64(0)\nfor k in range(4):\n    y = k"), HasSubstr("carries"));
  EXPECT_THAT(of("y = 0\nfor k in range(4):\n    y = k"), HasSubstr("E_REBIND"));
  const char *ints = "Y: ts.Tensor[\"M\", ts.i32]";
  EXPECT_THAT(compile(kernelWith("Y[0] = M", ints)).text(), HasSubstr("E_STORE_TYPE"));
  EXPECT_THAT(compile(kernelWith("ts.tile.atomic_add(Y, 0, M)", ints)).text(), HasSubstr("E_"));
  // The hint names the value, which has another name than the tensor.
  const Outcome stored = compile(kernelWith("x[0] = M", "x: ts.Tensor[\"M\", ts.i32]"));
  ASSERT_FALSE(stored.diags.empty());
  EXPECT_EQ(stored.diags[0].hint, "convert the value: ts.tile.cast(VALUE, ts.i32)");
}

TEST(Types, HintsNameADTypeThatHoldsBoth) {
  auto hint = [](const std::string &body) {
    Outcome out = compile(kernelWith(body, kParams));
    return out.diags.empty() ? std::string() : out.diags[0].hint;
  };
  EXPECT_EQ(hint("y = l * 1.5"), "convert the i64 with ts.tile.cast(x, ts.f32)");
  EXPECT_EQ(hint("y = u + i"), "convert the u8 with ts.tile.cast(x, ts.i32)");
  EXPECT_EQ(hint("y = i + u"), "convert the u8 with ts.tile.cast(x, ts.i32)");
  EXPECT_EQ(hint("y = u + i8"), "convert both with ts.tile.cast(x, ts.i16)");
  EXPECT_EQ(hint("y = h + g"), "convert both with ts.tile.cast(x, ts.f32)");
  EXPECT_EQ(hint("y = b + i"), "convert the bool with ts.tile.cast(x, ts.i32)");
  EXPECT_EQ(hint("y = f + d"), "convert the f32 with ts.tile.cast(x, ts.f64)");
  EXPECT_EQ(hint("y = i * g"), "convert the i32 with ts.tile.cast(x, ts.f16)");
  // A variable that began as a bare literal begins with another one.
  EXPECT_EQ(hint("y = 0\nfor k in range(4):\n    y += f"), "give 'y' that dtype where it begins: y = 0.0");
  EXPECT_EQ(hint("y = 1\nz = y * A[0:4, 0:4]"), "give 'y' that dtype where it begins: y = 1.0");
  EXPECT_EQ(hint("y = 0\nfor k in range(4):\n    y += d"),
            "give 'y' that dtype where it begins: y = ts.f64(0)");
  EXPECT_EQ(hint("y = 1.5\nfor k in range(4):\n    y += d"),
            "give 'y' that dtype where it begins: y = ts.f64(1.5)");
  EXPECT_EQ(hint("y = 2\nfor k in range(4):\n    y += k"),
            "give 'y' that dtype where it begins: y = ts.i64(2)");
  EXPECT_EQ(hint("y = 2\nfor k in range(4):\n    y = f"), "give 'y' that dtype where it begins: y = 2.0");
}

TEST(Types, NarrowSignedIntegersWiden) {
  EXPECT_THAT(of("Y[0] = ts.f32(i8 + i16)"), HasSubstr("add(cast i16(i8), i16)"));
  EXPECT_THAT(of("Y[0] = ts.f32(i + l)"), HasSubstr("add(cast i64(i), l)"));
  for (const char *mix : {"u + i", "i + f", "h + g", "f + d", "b + i", "h + d"})
    EXPECT_THAT(of(std::string("y = ") + mix), HasSubstr("E_TYPE_MIX")) << mix;
}

TEST(Types, HalvesWithF32GiveF32) {
  EXPECT_THAT(of("y = h + f"), HasSubstr(": f32 = add(cast f32(h), f)"));
  EXPECT_THAT(of("y = f + g"), HasSubstr(": f32 = add(f, cast f32(g))"));
}

TEST(Types, DivisionIsOfFloatsAndFloorDivisionFloors) {
  for (const char *quotient : {"i / 2", "2 / i", "i / i8", "1 / M", "M / 2", "u / u", "(1 if b else 2) / 2"})
    EXPECT_THAT(of(std::string("y = ") + quotient), HasSubstr("E_TYPE")) << quotient;
  EXPECT_THAT(of("Y[0] = 1 / 4"), HasSubstr("= 0.25:f32"));
  EXPECT_THAT(of("y = f / M"), HasSubstr("div(f, cast f32(dim M))"));
  EXPECT_THAT(of("Y[0] = ts.f32(i // 2)"), HasSubstr("floordiv(i, 2:i32)"));
  EXPECT_THAT(of("Y[0] = f * (-7 // 2)"), HasSubstr("-4.0:f32"));
  EXPECT_THAT(of("Y[0] = f * (-7 % 4)"), HasSubstr("1.0:f32"));
}

TEST(Types, ConstantsFold) {
  EXPECT_THAT(of("Y[0] = math.sqrt(16.0) + math.pi * 0"), HasSubstr("= 4.0:f32"));
  EXPECT_THAT(of("Y[0] = -float('inf')"), HasSubstr("= -inf:f32"));
  EXPECT_THAT(of("Y[0] = 2 ** 10"), HasSubstr("= 1024.0:f32"));
  EXPECT_THAT(of("Y[0] = 1 if 3 > 2 else 0"), HasSubstr("= 1.0:f32"));
  EXPECT_THAT(of("Y[0] = max(3, 4) + min(1, 2) + abs(-2)"), HasSubstr("= 7.0:f32"));
  EXPECT_THAT(of("y = 9223372036854775807 + 1"), HasSubstr("E_LITERAL_RANGE"));
  EXPECT_THAT(of("y = 1 << 63"), HasSubstr("E_LITERAL_RANGE"));
  EXPECT_THAT(of("y = 1.0 // 0.0"), HasSubstr("E_DIVISION_BY_ZERO"));
  EXPECT_THAT(of("y = 0 ** -1"), HasSubstr("E_DIVISION_BY_ZERO"));
  EXPECT_THAT(of("y = ts.tile.full((4,), -9223372036854775808)"),
              HasSubstr("broadcast(-9223372036854775808)"));
  EXPECT_THAT(of("y = 9223372036854775808"), HasSubstr("E_NUMBER"));
  EXPECT_THAT(of("y = 1 - 9223372036854775808"), HasSubstr("E_NUMBER"));
  EXPECT_THAT(of("y = (-9223372036854775807 - 1) // -1"), HasSubstr("E_LITERAL_RANGE"));
}

TEST(Types, TilesBroadcastExplicitly) {
  EXPECT_THAT(of("y = A[0:4, 0:8] - A[0:4, 0][:, None]"),
              HasSubstr("sub(load A[0 +4, 0 +8]<4x8xf32>, broadcast(expand_dims axis 1(load A[0 +4, "
                        "0]<4xf32>))<4x8xf32>)"));
  EXPECT_THAT(of("y = A[0:4, 0:8] * 2"), HasSubstr("broadcast(2.0:f32)<4x8xf32>"));
  EXPECT_THAT(of("y = A[0:4, 0:8] + A[0, 0:8]"),
              HasSubstr("broadcast(expand_dims axis 0(load A[0, 0 +8]<8xf32>))<4x8xf32>"));
}

TEST(Types, ComparisonsGiveBoolAndStayExact) {
  EXPECT_THAT(of("y = A[0:4, 0:8] > 0"), HasSubstr(": <4x8xbool> = gt("));
  EXPECT_THAT(of("y = i < M"), HasSubstr("lt(cast i64(i), dim M)"));
  EXPECT_THAT(of("y = 0 < i < 9"), HasSubstr("land(lt(0:i32, "));
  EXPECT_THAT(of("y = not b or i"), HasSubstr("lor(not(b), ne(i, 0:i32))"));
}

TEST(Types, CastsAndDTypeCalls) {
  EXPECT_THAT(of("y = ts.tile.cast(A[0:4, 0:4], ts.fp8_e4m3)"), HasSubstr("cast fp8_e4m3("));
  EXPECT_THAT(of("y = ts.bf16(f)"), HasSubstr(": bf16 = cast bf16(f)"));
  EXPECT_THAT(of("y = ts.tile.cast(f, \"half\")"), HasSubstr("cast f16(f)"));
  EXPECT_THAT(of("y = ts.tile.cast(f, A.dtype)"), HasSubstr(": f32 = f"));
}

TEST(Types, SumsOfNarrowFloatsAccumulateInF32) {
  EXPECT_THAT(of("y = ts.tile.sum(H[0:8])"),
              HasSubstr(": bf16 = cast bf16(sum axis 0(cast f32(load H[0 +8]<8xbf16>)))"));
  EXPECT_THAT(of("y = ts.tile.max(H[0:8])"), HasSubstr(": bf16 = max axis 0(load H"));
  EXPECT_THAT(of("y = ts.tile.sum(A[0:4, 0:4] > 0.0)"), HasSubstr(": i32 = sum"));
  EXPECT_THAT(of("y = ts.tile.argmax(A[0:4, 0:4], axis=1)"), HasSubstr(": <4xi32> = argmax axis 1("));
  EXPECT_THAT(of("y = ts.tile.argmax(A[0:4, 0:4])"), HasSubstr(": i32 = argmax axis 0(reshape("));
  EXPECT_THAT(of("y = ts.tile.sum(A[0:4, 0:4], axis=-1, keepdims=True)"),
              HasSubstr(": <4x1xf32> = expand_dims axis 1("));
}

TEST(Types, IndicesWrapAsTheirDTypeDoes) {
  EXPECT_THAT(of("Y[i8 + i8] = 0.0"), HasSubstr("store_elem Y[cast i64(add(i8, i8))]"));
  EXPECT_THAT(of("Y[ts.i64(i8 * 2)] = 0.0"), HasSubstr("store_elem Y[cast i64(mul(i8, 2:i8))]"));
  EXPECT_THAT(of("Y[ts.i64(ts.i8(M))] = 0.0"), HasSubstr("store_elem Y[cast i64(cast i8(dim M))]"));
  EXPECT_THAT(of("y = Y[i8 * 3:i8 * 3 + 8]"), HasSubstr("load Y[cast i64(mul(i8, 3:i8)) +8]"));
  EXPECT_THAT(of("y = Y[ts.i64(i) + 4 - ts.i64(i):8]"), HasSubstr("load Y[4 +4]"));
  // What two narrow sums have in common does not cancel once they are widened, unless they are one sum.
  EXPECT_THAT(of("y = Y[ts.i64(i8 + i8):ts.i64(i8) + ts.i64(i8) + 4]"), HasSubstr("E_SLICE"));
  EXPECT_THAT(of("y = Y[ts.i64(i8 + i8):ts.i64(i8 + i8) + 4]"), HasSubstr("+4]"));
}

TEST(Types, RepeatedRoundsKeepIndexArithmeticWide) {
  // s is i32, yet the row's offset is computed in 64 bits.
  EXPECT_THAT(of("s = 1024\nfor k in range(M):\n    Y[k * s] = 0.0"), HasSubstr("store_elem Y[mul(%k."));
  EXPECT_THAT(of("s = 1024\nfor k in range(M):\n    Y[k * s] = 0.0"), testing::Not(HasSubstr("cast i32")));
}

TEST(Packed, IsMovedComparedAndCast) {
  const std::string parameters =
      "W: ts.Tensor[\"M\", \"N\", ts.i4], U: ts.Tensor[\"M\", \"N\", ts.u4], B: ts.Tensor[\"M\", "
      "\"N\", bool]";
  const std::string loop =
      "for i in ts.tile.parallel(0, M, 4):\n    w = W[i:i+4, 0:8]\n    u = U[i:i+4, 0:8]\n";
  const Outcome moved =
      compile(kernelWith(loop + "    B[i:i+4, 0:8] = (w < 3) | (u == 9)\n    W[i:i+4, 0:8] = ts.tile.where(w "
                                "< 0, w, ts.tile.zeros((4, 8), ts.i4))\n"
                                "    U[i:i+4, 0:8] = ts.tile.cast(ts.tile.cast(u, ts.i32) + 1, ts.u4)\n",
                         parameters));
  EXPECT_TRUE(moved.ok()) << moved.text();
  for (const char *value :
       {"w + w", "w * 2", "-w", "w << 1", "ts.tile.abs(w)", "ts.tile.max(w, axis=1)", "ts.tile.popcount(w)",
        "ts.tile.minimum(w, w)", "ts.tile.bitcast(w, ts.u4)", "ts.tile.sort(w)", "~u", "u // 3"}) {
    const Outcome out = compile(kernelWith(loop + "    y = " + value + "\n", parameters));
    ASSERT_FALSE(out.ok()) << value;
    EXPECT_EQ(out.diags.front().code, "E_TYPE") << value << out.text();
    EXPECT_NE(out.text().find("cast the elements"), std::string::npos) << out.text();
  }
  const Outcome scalar = compile(kernelWith("y = w\n", "w: ts.i4"));
  ASSERT_FALSE(scalar.ok());
  EXPECT_EQ(scalar.diags.front().code, "E_PARAMETER");
}

} // namespace
} // namespace tessera::frontend::test
