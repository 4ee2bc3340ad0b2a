// What the importer makes of single operations and statements: each program is imported, verified and
// searched.
#include "compiler/graph/Import/Import.h"
#include "compiler/graph/test/ProgramBuilder.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera::frontend::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string import(const Kernel &kernel, bool withPlaces = false) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = graph::importKernel(context, kernel, "k.py", "standard");
  if (!module) return "no module";
  if (failed(mlir::verify(*module))) return "not valid";
  std::string text;
  llvm::raw_string_ostream out(text);
  mlir::OpPrintingFlags flags;
  module->print(out, withPlaces ? flags.enableDebugInfo() : flags);
  return text;
}

Symbol symbol(std::string name, Type type) { return {std::move(name), std::move(type), {4, 1, 4, 2}}; }

/// `out[:]` = value, with `x` : `in`, in a program of one turn.
Kernel unary(DType in, Type result, const std::function<ExprPtr(ExprPtr)> &build,
             std::vector<int64_t> shape = {8}) {
  Kernel k;
  k.name = "f";
  k.loc = {1, 1, 1, 2};
  std::vector<Dim> dims, outDims;
  std::vector<ExprPtr> starts;
  for (int64_t extent : shape) {
    dims.push_back({extent, ""});
    starts.push_back(integer(0));
  }
  for (int64_t extent : result.shape)
    outDims.push_back({extent, ""});
  if (result.kind == Type::Scalar) outDims.push_back({1, ""});
  k.params.push_back(tensor("x", in, dims, true, false));
  k.params.push_back(tensor("out", result.dtype, outDims, false, true));
  ExprPtr value = build(load(0, tile(in, shape), shape, std::move(starts)));
  std::vector<ExprPtr> zeros;
  for (size_t i = 0; i < outDims.size(); ++i)
    zeros.push_back(integer(0));
  k.body.push_back(store(1, std::move(value), result.shape, std::move(zeros)));
  return k;
}

std::string onTile(Op op, DType t, DType result = DType::F32, std::vector<int64_t> ints = {}) {
  return import(unary(t, tile(result, {8}), [&](ExprPtr x) {
    ExprPtr y = op >= Op::Add && op <= Op::Ne && op != Op::Invert
                    ? load(0, tile(t, {8}), {8}, list(integer(0)))
                    : nullptr;
    ExprPtr e = make(op, tile(result, {8}), std::move(x));
    if (y || op == Op::Minimum || op == Op::Maximum) {
      if (!y) y = load(0, tile(t, {8}), {8}, list(integer(0)));
      e->args.push_back(std::move(y));
    }
    return withInts(std::move(e), ints);
  }));
}

TEST(Import, SignatureFollowsTheArgumentOrder) {
  Kernel k;
  k.name = "scale";
  k.loc = {1, 1, 1, 2};
  k.dims = {"M", "D"};
  k.specialized = {{"D", 64}};
  k.tunables = {{"BLOCK", 32}};
  k.params.push_back(scalarParam("alpha", DType::F32));
  k.params.back().defaultValue = 2.0;
  k.params.push_back(tensor("x", DType::BF16, {{1, "M"}, {1, "D"}, {3, ""}}, true, true));
  k.params.push_back(tensor("result", DType::U8, {{1, "M"}}, false, true));
  k.params.back().isResult = true;
  std::string text = import(k);
  EXPECT_THAT(text,
              HasSubstr("schedule.kernel @scale(%x: !tile.view<?x64x3xbf16>, %result: !tile.view<?xui8>, "
                        "%alpha: f32, %M: index, %D: index)"));
  EXPECT_THAT(text, HasSubstr("dims = [\"M\", \"D\", \"3\"]"));
  EXPECT_THAT(text, HasSubstr("dims = [\"M\"]"));
  EXPECT_THAT(text, HasSubstr("default_value = 2.000000e+00 : f64"));
  EXPECT_THAT(text, HasSubstr("specialized = {D = 64 : i64}, tunables = {BLOCK = 32 : i64}"));
  EXPECT_THAT(text, HasSubstr("graph.launch @scale(readwrite %arg0, %arg1) : "
                              "(!graph.tensor<[\"M\", \"D\", 3], bf16>, f32) -> "
                              "(!graph.tensor<[\"M\", \"D\", 3], bf16>, !graph.tensor<[\"M\"], ui8>)"));
  EXPECT_THAT(text, HasSubstr("schedule.grid () = () to () step () names []"));
}

TEST(Import, GridBoundsAreText) {
  Kernel k;
  k.name = "g";
  k.dims = {"M", "B*H"};
  k.params.push_back(tensor("x", DType::F32, {{1, "M"}, {1, "B*H"}}, true, false));
  k.params.push_back(scalarParam("n", DType::I32));
  k.symbols = {symbol("b", scalar(DType::I64)), symbol("i", scalar(DType::I64))};
  Type i64 = scalar(DType::I64);
  GridAxis batch;
  batch.symbol = 0;
  batch.lo = integer(0), batch.hi = dim("B*H"), batch.step = integer(1);
  batch.isBatch = true;
  GridAxis rows;
  rows.symbol = 1;
  rows.lo = make(Op::Neg, i64, integer(3));
  rows.hi = make(Op::Sub, i64, dim("M"),
                 make(Op::Sub, i64, make(Op::Cast, i64, param(1, scalar(DType::I32))), integer(1)));
  rows.step = make(Op::Maximum, i64, integer(1), make(Op::FloorDiv, i64, dim("M"), integer(4)));
  k.grid.push_back(std::move(batch));
  k.grid.push_back(std::move(rows));
  EXPECT_THAT(import(k),
              HasSubstr("schedule.grid (%b, %i) = (\"0\", \"-3\") to (\"B*H\", \"M - (n - 1)\") step "
                        "(\"1\", \"max(1, M // 4)\") names [\"b\", \"i\"] attributes "
                        "{batch = array<i1: true, false>}"));
}

TEST(Import, LaunchBoundsThatNeedMoreAreRefused) {
  Kernel k;
  k.name = "g";
  k.laneCount = make(Op::Pow, scalar(DType::I64), integer(2), integer(3));
  EXPECT_EQ(import(k), "no module");
}

TEST(Import, LanesLoadAndStoreElements) {
  Kernel k;
  k.name = "inc";
  k.dims = {"n"};
  k.params.push_back(tensor("x", DType::F32, {{1, "n"}}, true, true));
  k.laneCount = dim("n");
  auto lane = [] { return make(Op::LaneId, scalar(DType::I64)); };
  ExprPtr sum = make(Op::Add, scalar(DType::F32), load(0, scalar(DType::F32), {}, list(lane())), real(1));
  k.body.push_back(store(0, std::move(sum), {}, list(lane())));
  std::string text = import(k);
  EXPECT_THAT(text, HasSubstr("schedule.lanes %lane to \"n\""));
  EXPECT_THAT(text, HasSubstr("tile.load_elem %x["));
  EXPECT_THAT(text, HasSubstr("tile.store_elem"));
}

TEST(Import, PlacesAreThoseOfTheSource) {
  EXPECT_THAT(import(unary(DType::F32, tile(DType::F32, {8}), [](ExprPtr x) { return x; }), true),
              HasSubstr("loc(\"k.py\":7:5)"));
}

TEST(Import, IntegerOperationsKnowTheSign) {
  EXPECT_THAT(onTile(Op::Minimum, DType::U8, DType::U8), HasSubstr("arith.minui"));
  EXPECT_THAT(onTile(Op::Minimum, DType::I8, DType::I8), HasSubstr("arith.minsi"));
  EXPECT_THAT(onTile(Op::Maximum, DType::F16, DType::F16), HasSubstr("arith.maximumf"));
  EXPECT_THAT(onTile(Op::Lt, DType::U8, DType::Bool), HasSubstr("arith.cmpi ult"));
  EXPECT_THAT(onTile(Op::Lt, DType::I32, DType::Bool), HasSubstr("arith.cmpi slt"));
  EXPECT_THAT(onTile(Op::Shr, DType::U8, DType::U8), HasSubstr("arith.shrui"));
  EXPECT_THAT(onTile(Op::Shr, DType::I16, DType::I16), HasSubstr("arith.shrsi"));
  EXPECT_THAT(onTile(Op::FloorDiv, DType::U8, DType::U8), HasSubstr("arith.divui"));
  EXPECT_THAT(onTile(Op::Abs, DType::U8, DType::U8), Not(HasSubstr("arith.maxsi")));
  EXPECT_THAT(onTile(Op::Max, DType::U8, DType::U8, {0}),
              HasSubstr("not valid")); // a full reduction is a scalar
}

TEST(Import, ComparisonsAreIeee) {
  EXPECT_THAT(onTile(Op::Le, DType::F32, DType::Bool), HasSubstr("arith.cmpf ole"));
  EXPECT_THAT(onTile(Op::Eq, DType::BF16, DType::Bool), HasSubstr("arith.cmpf oeq"));
  EXPECT_THAT(onTile(Op::Ne, DType::F8E4M3, DType::Bool), HasSubstr("arith.cmpf une"));
}

TEST(Import, IntegerDivisionIsGuardedUnlessTheDivisorIsLiteral) {
  EXPECT_THAT(onTile(Op::FloorDiv, DType::I32, DType::I32), HasSubstr("arith.select"));
  auto byThree = [](Op op) {
    return import(unary(DType::I32, tile(DType::I32, {8}), [&](ExprPtr x) {
      return make(op, tile(DType::I32, {8}), std::move(x),
                  make(Op::Broadcast, tile(DType::I32, {8}), integer(3, DType::I32)));
    }));
  };
  EXPECT_THAT(byThree(Op::FloorDiv), HasSubstr("arith.floordivsi"));
  EXPECT_THAT(byThree(Op::FloorDiv), Not(HasSubstr("arith.select")));
  EXPECT_THAT(byThree(Op::Mod), HasSubstr("arith.remsi"));
  EXPECT_THAT(byThree(Op::Shl), Not(HasSubstr("arith.minui")));
}

TEST(Import, EveryElementwiseOperationOnFloatsIsValid) {
  for (DType t : {DType::F64, DType::F32, DType::TF32, DType::F16, DType::BF16, DType::F8E4M3, DType::F8E5M2,
                  DType::F6E2M3, DType::F6E3M2, DType::F4E2M1})
    for (Op op : {Op::Neg,     Op::Add,     Op::Sub,     Op::Mul, Op::Div,  Op::FloorDiv, Op::Mod,  Op::Pow,
                  Op::Minimum, Op::Maximum, Op::Abs,     Op::Exp, Op::Exp2, Op::Log,      Op::Log2, Op::Sqrt,
                  Op::Rsqrt,   Op::Tanh,    Op::Sigmoid, Op::Erf, Op::Sin,  Op::Cos})
      EXPECT_THAT(onTile(op, t, t), HasSubstr("tile.store")) << name(t) << " " << int(op);
}

TEST(Import, EveryElementwiseOperationOnIntegersIsValid) {
  for (DType t : {DType::I64, DType::I32, DType::I16, DType::I8, DType::U8})
    for (Op op : {Op::Neg, Op::Add, Op::Sub, Op::Mul, Op::FloorDiv, Op::Mod, Op::Pow, Op::And, Op::Or,
                  Op::Xor, Op::Invert, Op::Shl, Op::Shr, Op::Minimum, Op::Maximum, Op::Abs})
      EXPECT_THAT(onTile(op, t, t), HasSubstr("tile.store")) << name(t) << " " << int(op);
  for (Op op : {Op::And, Op::Or, Op::Xor, Op::Invert})
    EXPECT_THAT(onTile(op, DType::Bool, DType::Bool), HasSubstr("tile.store"));
}

TEST(Import, LiteralsRoundAsTheLanguageCasts) {
  auto stored = [](double v, DType t) {
    return import(
        unary(t, tile(t, {8}), [&](ExprPtr) { return make(Op::Broadcast, tile(t, {8}), real(v, t)); }));
  };
  EXPECT_THAT(stored(1e9, DType::F8E4M3), HasSubstr("4.480000e+02 : f8E4M3FN"));      // saturates
  EXPECT_THAT(stored(1.0001, DType::TF32), HasSubstr("arith.constant 1.000000e+00")); // 10 bits of mantissa
  EXPECT_THAT(stored(-INFINITY, DType::F32), HasSubstr("0xFF800000"));
}

TEST(Import, ShapesAndCasts) {
  auto shape = [](Op op, Type to, std::vector<int64_t> ints = {}) {
    return import(
        unary(DType::F32, to, [&](ExprPtr x) { return withInts(make(op, to, std::move(x)), ints); }, {4, 8}));
  };
  EXPECT_THAT(shape(Op::Cast, tile(DType::U8, {4, 8})), HasSubstr("tile.cast %0 from f32 to u8"));
  EXPECT_THAT(shape(Op::Transpose, tile(DType::F32, {8, 4})), HasSubstr("tile.transpose"));
  EXPECT_THAT(shape(Op::Reshape, tile(DType::F32, {32})), HasSubstr("tile.reshape"));
  EXPECT_THAT(shape(Op::ExpandDims, tile(DType::F32, {4, 1, 8}), {1}),
              HasSubstr("tile.expand_dims %0 axis 1"));
  EXPECT_THAT(shape(Op::Sum, tile(DType::F32, {4}), {1}), HasSubstr("tile.reduce sum %0 axis 1"));
  EXPECT_THAT(shape(Op::ArgMin, tile(DType::I32, {8}), {0}), HasSubstr("tile.arg_reduce min %0 axis 0"));
  EXPECT_THAT(shape(Op::CumMax, tile(DType::F32, {4, 8}), {1}), HasSubstr("tile.scan max %0 axis 1"));
}

TEST(Import, CausalMaskHidesLaterKeys) {
  std::string text = import(unary(DType::F32, tile(DType::F32, {4, 8}),
                                  [](ExprPtr x) {
                                    return make(Op::CausalMask, tile(DType::F32, {4, 8}), std::move(x),
                                                integer(16), integer(0));
                                  },
                                  {4, 8}));
  EXPECT_THAT(text, HasSubstr("arith.cmpi sgt"));
  EXPECT_THAT(text, HasSubstr("arith.select"));
}

TEST(Import, ProductsTakeBuffersWhereTheyLie) {
  Kernel k = unary(DType::BF16, tile(DType::F32, {16, 16}),
                   [](ExprPtr x) {
                     ExprPtr buffer = make(Op::BufferRead, tile(DType::BF16, {16, 8}));
                     buffer->symbol = 0;
                     return withInts(
                         make(Op::Mma, tile(DType::F32, {16, 16}), std::move(x), std::move(buffer)), {0, 1});
                   },
                   {16, 8});
  k.symbols.push_back(symbol("buf", {Type::Buffer, DType::BF16, {16, 8}}));
  k.symbols.back().swizzle = "xor";
  Stmt write = statement(Stmt::BufferWrite,
                         list(load(0, tile(DType::BF16, {16, 8}), {16, 8}, list(integer(0), integer(0)))));
  write.symbol = 0;
  k.body.insert(k.body.begin(), std::move(write));
  std::string text = import(k);
  EXPECT_THAT(text, HasSubstr("tile.alloc_shared : !tile.buffer<16x8xbf16, xor>"));
  EXPECT_THAT(text,
              HasSubstr("{trans_b} : tensor<16x8xbf16>, !tile.buffer<16x8xbf16, xor>, tensor<16x16xf32>"));
}

/// i = 0, x = 0; then the statement; then out[0] = x.
std::string around(Stmt stmt) {
  Kernel k;
  k.name = "c";
  k.dims = {"n"};
  k.params.push_back(tensor("out", DType::I64, {{1, "n"}}, false, true));
  Type i64 = scalar(DType::I64);
  k.symbols = {symbol("x", i64), symbol("i", i64), symbol("inner", i64)};
  k.body.push_back(assign(0, integer(0)));
  stmt.carried = {0};
  k.body.push_back(std::move(stmt));
  k.body.push_back(store(0, var(0, i64), {}, list(integer(0))));
  return import(k);
}

ExprPtr x() { return var(0, scalar(DType::I64)); }

TEST(Import, LoopsCarryWhatTheyRebind) {
  Stmt loop = statement(Stmt::For, list(integer(0), dim("n"), integer(2)));
  loop.symbol = 1;
  loop.ints = {3};
  loop.isReductionIterator = true;
  loop.body.push_back(assign(2, var(1, scalar(DType::I64)))); // does not escape
  loop.body.push_back(assign(0, make(Op::Add, scalar(DType::I64), x(), var(2, scalar(DType::I64)))));
  std::string text = around(std::move(loop));
  EXPECT_THAT(text, HasSubstr("iter_args("));
  EXPECT_THAT(text, HasSubstr("{schedule.iterator = \"reduction\", schedule.most_stages = 3 : i64}"));
  EXPECT_THAT(text, Not(HasSubstr("arith.maxsi")));
}

TEST(Import, StepsThatMayNotBePositiveAreGuarded) {
  Stmt loop = statement(Stmt::For, list(integer(0), dim("n"), dim("n")));
  loop.symbol = 1;
  loop.body.push_back(assign(0, integer(1)));
  std::string text = around(std::move(loop));
  EXPECT_THAT(text, HasSubstr("arith.cmpi sgt"));
  EXPECT_THAT(text, HasSubstr("arith.maxsi"));
}

TEST(Import, WhileEvaluatesItsConditionEveryTurn) {
  Stmt loop = statement(Stmt::While, list(make(Op::Lt, scalar(DType::Bool), x(), dim("n"))));
  loop.body.push_back(assign(0, make(Op::Add, scalar(DType::I64), x(), integer(1))));
  std::string text = around(std::move(loop));
  EXPECT_THAT(text, HasSubstr("scf.while"));
  EXPECT_THAT(text, HasSubstr("scf.condition"));
}

TEST(Import, BranchesYieldWhatTheyRebind) {
  Stmt branch = statement(Stmt::If, list(make(Op::Eq, scalar(DType::Bool), x(), integer(0))));
  branch.body.push_back(assign(0, integer(5)));
  std::string text = around(std::move(branch));
  EXPECT_THAT(text, HasSubstr("scf.if"));
  EXPECT_THAT(text, HasSubstr("} else {"));
}

TEST(Import, LogicIsShortOnlyWhereItShows) {
  auto cond = [](ExprPtr right) {
    Stmt branch =
        statement(Stmt::If, list(make(Op::LogicalAnd, scalar(DType::Bool),
                                      make(Op::Lt, scalar(DType::Bool), x(), dim("n")), std::move(right))));
    branch.body.push_back(assign(0, integer(5)));
    return around(std::move(branch));
  };
  EXPECT_THAT(
      cond(make(Op::LogicalNot, scalar(DType::Bool), make(Op::Eq, scalar(DType::Bool), x(), integer(3)))),
      HasSubstr("arith.andi"));
  ExprPtr atomic = make(Op::Atomic, scalar(DType::I64), integer(0), integer(1));
  atomic->param = 0;
  std::string text = cond(make(Op::Eq, scalar(DType::Bool), std::move(atomic), integer(0)));
  EXPECT_THAT(text, HasSubstr("scf.if"));
  EXPECT_THAT(text, HasSubstr("tile.atomic add relaxed device"));
}

TEST(Import, AtomicsOnTilesBroadcastTheirScalars) {
  Kernel k = unary(DType::F32, tile(DType::F32, {8}), [](ExprPtr) {
    ExprPtr indices = make(Op::Arange, tile(DType::I32, {8}), integer(0, DType::I32));
    ExprPtr cas = make(Op::Atomic, tile(DType::F32, {8}), std::move(indices), real(0), real(1));
    cas->atomic = AtomicKind::Cas;
    cas->order = MemoryOrder::AcqRel;
    cas->scope = MemoryScope::System;
    cas->param = 0;
    return cas;
  });
  std::string text = import(k);
  EXPECT_THAT(text, HasSubstr("tile.atomic_cas acq_rel system"));
  EXPECT_THAT(text, HasSubstr("tensor<8xf32>, !tile.view<8xf32> -> tensor<8xf32>"));
}

TEST(Import, AsynchronousCopies) {
  Kernel k = unary(DType::F32, tile(DType::F32, {8}), [](ExprPtr) {
    ExprPtr part = withInts(make(Op::BufferRead, tile(DType::F32, {8}), integer(1), integer(0)), {-1, 8});
    part->symbol = 0;
    return part;
  });
  k.params[0].dims = {{2, ""}, {8, ""}};
  k.body[0].exprs[0] = withInts(make(Op::BufferRead, tile(DType::F32, {8}), integer(1), integer(0)), {-1, 8});
  k.body[0].exprs[0]->symbol = 0;
  k.symbols.push_back(symbol("buf", {Type::Buffer, DType::F32, {2, 8}}));
  auto source = [] { return load(0, tile(DType::F32, {2, 8}), {2, 8}, list(integer(0), integer(0))); };
  Block body;
  body.push_back(statement(Stmt::Prefetch, list(source())));
  body.push_back(statement(Stmt::CpAsync, list(source())));
  body.back().symbol = 0;
  body.push_back(statement(Stmt::CommitGroup));
  body.push_back(statement(Stmt::WaitGroup));
  body.back().ints = {1};
  body.push_back(statement(Stmt::Barrier));
  body.push_back(statement(Stmt::Fence));
  body.push_back(std::move(k.body[0]));
  k.body = std::move(body);
  std::string text = import(k);
  EXPECT_THAT(text, HasSubstr("tile.prefetch %x["));
  EXPECT_THAT(text, HasSubstr("extents [2, 8] to %"));
  EXPECT_THAT(text, HasSubstr("tile.wait_group 1"));
  EXPECT_THAT(text, HasSubstr("tile.fence seq_cst group"));
  EXPECT_THAT(text, HasSubstr("extents [-1, 8] : !tile.buffer<2x8xf32, none> -> tensor<8xf32>"));
}

TEST(Import, RandomAndGroups) {
  std::string text = import(unary(DType::I64, tile(DType::F32, {8}), [](ExprPtr x) {
    return make(Op::Rand, tile(DType::F32, {8}), integer(42), std::move(x));
  }));
  EXPECT_THAT(text, HasSubstr("tile.rand"));
  ExprPtr sum = make(Op::GroupReduce, scalar(DType::I32), make(Op::LocalId, scalar(DType::I32)));
  sum->text = "sum";
  Stmt use = assign(2, std::move(sum));
  text = around(std::move(use));
  EXPECT_THAT(text, HasSubstr("tile.group_info local_id : i32"));
  EXPECT_THAT(text, HasSubstr("tile.group_reduce sum"));
}

} // namespace
} // namespace tessera::frontend::testing
