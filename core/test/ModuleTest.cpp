#include "core/test/Support.h"

using namespace tessera;
using namespace tessera::test;

namespace {

using Modules = RuntimeTest;

TEST_F(Modules, KernelsByName) {
  auto m = module({compiled(kSaxpyYaml, saxpy), compiled(kDigitYaml, digit)});
  tsr_kernel_t k = nullptr;
  ASSERT_OK(tsrGetKernel(m, "digit", &k));
  const char *yaml = nullptr;
  ASSERT_OK(tsrKernelMetadata(k, &yaml));
  EXPECT_STREQ(yaml, kDigitYaml);
  EXPECT_EQ(tsrGetKernel(m, "gemm", &k), TSR_ENOTFOUND);
  EXPECT_TRUE(lastErrorHas("no kernel 'gemm' in the module; it has: saxpy, digit"));
  EXPECT_EQ(tsrGetKernel(m, nullptr, &k), TSR_ENOTFOUND);
  EXPECT_TRUE(lastErrorHas("more than one kernel"));
  EXPECT_EQ(tsrGetKernel(m, "digit", nullptr), TSR_EINVAL);
  EXPECT_EQ(tsrGetKernel(nullptr, "digit", &k), TSR_EINVAL);
  EXPECT_EQ(tsrKernelMetadata(k, nullptr), TSR_EINVAL);
  EXPECT_EQ(tsrKernelMetadata(nullptr, &yaml), TSR_EINVAL);
}

TEST_F(Modules, UnloadingEndsTheKernelHandles) {
  auto m = module({compiled(kDigitYaml, digit)});
  tsr_kernel_t k = nullptr;
  ASSERT_OK(tsrGetKernel(m, nullptr, &k));
  ASSERT_OK(tsrUnloadModule(m));
  EXPECT_EQ(tsrUnloadModule(m), TSR_EINVAL);
  EXPECT_EQ(tsrUnloadModule(nullptr), TSR_EINVAL);
  EXPECT_EQ(launch(k, nullptr, alloc<int64_t>(1), int32_t{1}), TSR_EINVAL);
}

TEST_F(Modules, CodeOutlivesItsModuleUntilTheLaunchesAreDone) {
  static std::atomic<bool> codeAlive;
  codeAlive = true;
  std::shared_ptr<void> code(new int, [](void *p) {
    delete static_cast<int *>(p);
    codeAlive = false;
  });
  auto check = [](const uint64_t *v, int64_t, int64_t, uint8_t *) {
    *reinterpret_cast<int64_t *>(v[0]) = codeAlive.load() ? 1 : 2;
  };
  auto m = module({compiled(kDigitYaml, check, std::move(code))});
  tsr_kernel_t k = nullptr;
  ASSERT_OK(tsrGetKernel(m, nullptr, &k));
  auto *held = holdStream(nullptr);
  auto *word = alloc<int64_t>(1);
  ASSERT_OK(launch(k, nullptr, word, int32_t{0}));
  ASSERT_OK(tsrUnloadModule(m));
  EXPECT_TRUE(codeAlive);
  open(held);
  ASSERT_OK(tsrSynchronize(context));
  EXPECT_EQ(*word, 1);
  EXPECT_FALSE(codeAlive);
}

TEST_F(Modules, BadImagesAreRefused) {
  tsr_module_t m = nullptr;
  EXPECT_EQ(createModule(context, {compiled("{name: x}", digit)}, &m), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("kernel metadata: line 1: target: missing"));
  EXPECT_EQ(createModule(context, {compiled(kDigitYaml, nullptr)}, &m), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("kernel digit has no code for this CPU"));
  EXPECT_EQ(createModule(context, {compiled(kDigitYaml, digit), compiled(kDigitYaml, digit)}, &m),
            TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("two kernels of the module are named digit"));
  EXPECT_EQ(createModule(nullptr, {}, &m), TSR_EINVAL);
  EXPECT_EQ(m, nullptr);
  m = module({});
  tsr_kernel_t k = nullptr;
  EXPECT_EQ(tsrGetKernel(m, nullptr, &k), TSR_ENOTFOUND);
}

TEST_F(Modules, ArgumentsAreDescribed) {
  tsr_kernel_t k = kernel(kSaxpyYaml, saxpy);
  tsr_arg_info_t info{};
  EXPECT_EQ(tsrKernelArgInfo(k, 0, &info), TSR_EINVAL); // struct_size is not set
  info.struct_size = sizeof info;
  ASSERT_OK(tsrKernelArgInfo(k, 2, &info));
  EXPECT_STREQ(info.name, "alpha");
  EXPECT_STREQ(info.dtype, "f32");
  EXPECT_EQ(info.kind, TSR_ARG_SCALAR);
  EXPECT_EQ(info.bytes, 4u);
  ASSERT_OK(tsrKernelArgInfo(k, 3, &info));
  EXPECT_STREQ(info.dtype, "i64");
  EXPECT_EQ(info.kind, TSR_ARG_DIM);
  EXPECT_EQ(info.bytes, 8u);
  EXPECT_EQ(tsrKernelArgInfo(k, 4, &info), TSR_ENOTFOUND);
  EXPECT_TRUE(lastErrorHas("kernel saxpy takes 4 arguments"));
  EXPECT_EQ(tsrKernelArgInfo(k, 0, nullptr), TSR_EINVAL);
  EXPECT_EQ(tsrKernelArgInfo(nullptr, 0, &info), TSR_EINVAL);
}

TEST_F(Modules, SignaturesHaveShapesAccessAndDefaults) {
  const char *yaml = R"yaml({name: shapes, target: cpu, numerics: standard, params: [
    {name: A, kind: tensor, dtype: bf16, dims: [M, "64", "B*H"], access: read},
    {name: C, kind: tensor, dtype: f32, dims: [], access: readwrite},
    {name: D, kind: tensor, dtype: f32, dims: [M, "4"], strides: [ld, 1], access: read},
    {name: result, kind: result, dtype: f32, dims: [M], access: write},
    {name: alpha, kind: scalar, dtype: f32, default: 1.5},
    {name: count, kind: scalar, dtype: i32, default: -2},
    {name: none, kind: scalar, dtype: i32},
    {name: M, kind: dim}, {name: "B*H", kind: dim}, {name: ld, kind: dim}], specialized: {"B*H": 32}, launch: {axes: []}})yaml";
  tsr_kernel_t k = kernel(yaml, saxpy);
  tsr_kernel_info_t kernelInfo{};
  EXPECT_EQ(tsrGetKernelInfo(k, &kernelInfo), TSR_EINVAL); // struct_size is not set
  kernelInfo.struct_size = sizeof kernelInfo;
  ASSERT_OK(tsrGetKernelInfo(k, &kernelInfo));
  EXPECT_STREQ(kernelInfo.name, "shapes");
  EXPECT_STREQ(kernelInfo.target, "cpu");
  EXPECT_STREQ(kernelInfo.numerics, "standard");
  EXPECT_EQ(kernelInfo.is_function, 0);
  EXPECT_EQ(kernelInfo.is_generated, 0);
  EXPECT_EQ(kernelInfo.arg_count, 10u);
  EXPECT_EQ(kernelInfo.result_count, 1u);

  auto arg = [&](size_t index) {
    tsr_arg_info_t info{};
    info.struct_size = sizeof info;
    EXPECT_OK(tsrKernelArgInfo(k, index, &info));
    return info;
  };
  struct {
    uint32_t rank;
    int32_t isRead, isWritten, hasDefault;
  } expected[] = {{3, 1, 0, 0}, {0, 1, 1, 0}, {2, 1, 0, 0}, {1, 0, 1, 0}, {0, 1, 0, 1},
                  {0, 1, 0, 1}, {0, 1, 0, 0}, {0, 1, 0, 0}, {0, 1, 0, 0}, {0, 1, 0, 0}};
  for (size_t i = 0; i < std::size(expected); ++i) {
    const tsr_arg_info_t info = arg(i);
    EXPECT_EQ(info.rank, expected[i].rank) << i;
    EXPECT_EQ(info.is_read, expected[i].isRead) << i;
    EXPECT_EQ(info.is_written, expected[i].isWritten) << i;
    EXPECT_EQ(info.has_default, expected[i].hasDefault) << i;
  }
  float alpha;
  const uint64_t alphaBits = arg(4).default_bits, countBits = arg(5).default_bits;
  std::memcpy(&alpha, &alphaBits, sizeof alpha);
  EXPECT_EQ(alpha, 1.5f);
  int32_t count;
  std::memcpy(&count, &countBits, sizeof count);
  EXPECT_EQ(count, -2);

  auto dim = [&](size_t axis, size_t index = 0) {
    tsr_dim_info_t info{};
    info.struct_size = sizeof info;
    EXPECT_OK(tsrKernelArgDim(k, index, axis, &info));
    return info;
  };
  EXPECT_STREQ(dim(0).text, "M");
  EXPECT_EQ(dim(0).kind, TSR_DIM_NAMED);
  EXPECT_EQ(dim(0).argument, 7);
  EXPECT_EQ(dim(0).value, -1);
  EXPECT_STREQ(dim(1).text, "64");
  EXPECT_EQ(dim(1).kind, TSR_DIM_CONSTANT);
  EXPECT_EQ(dim(1).argument, -1);
  EXPECT_EQ(dim(1).value, 64);
  EXPECT_EQ(dim(2).kind, TSR_DIM_NAMED);
  EXPECT_EQ(dim(2).argument, 8);
  EXPECT_EQ(dim(2).value, 32); // the code was compiled for it
  EXPECT_EQ(dim(0).stride_text, nullptr);
  EXPECT_EQ(dim(0).stride_kind, TSR_DIM_CONTIGUOUS);
  EXPECT_EQ(dim(0).stride_argument, -1);
  EXPECT_EQ(dim(0).stride_value, -1);
  EXPECT_STREQ(dim(0, 2).text, "M");
  EXPECT_STREQ(dim(0, 2).stride_text, "ld");
  EXPECT_EQ(dim(0, 2).stride_kind, TSR_DIM_NAMED);
  EXPECT_EQ(dim(0, 2).stride_argument, 9);
  EXPECT_EQ(dim(0, 2).stride_value, -1);
  EXPECT_STREQ(dim(1, 2).stride_text, "1");
  EXPECT_EQ(dim(1, 2).stride_kind, TSR_DIM_CONSTANT);
  EXPECT_EQ(dim(1, 2).stride_argument, -1);
  EXPECT_EQ(dim(1, 2).stride_value, 1);

  tsr_dim_info_t info{};
  EXPECT_EQ(tsrKernelArgDim(k, 0, 0, &info), TSR_EINVAL); // struct_size is not set
  info.struct_size = sizeof info;
  EXPECT_EQ(tsrKernelArgDim(k, 0, 3, &info), TSR_ENOTFOUND);
  EXPECT_TRUE(lastErrorHas("kernel shapes: argument 0 (A) has rank 3"));
  EXPECT_EQ(tsrKernelArgDim(k, 1, 0, &info), TSR_ENOTFOUND);
  EXPECT_EQ(tsrKernelArgDim(k, 4, 0, &info), TSR_ENOTFOUND);
  EXPECT_EQ(tsrKernelArgDim(k, 10, 0, &info), TSR_ENOTFOUND);
  EXPECT_EQ(tsrKernelArgDim(k, SIZE_MAX, SIZE_MAX, &info), TSR_ENOTFOUND);
  EXPECT_EQ(tsrKernelArgDim(nullptr, 0, 0, &info), TSR_EINVAL);
  EXPECT_EQ(tsrGetKernelInfo(nullptr, &kernelInfo), TSR_EINVAL);
}

// A program built with an older header has a shorter struct. Fields past it are not written.
TEST_F(Modules, OlderStructsAreNotOverrun) {
  tsr_kernel_t k = kernel(kSaxpyYaml, saxpy);
  tsr_arg_info_t info;
  std::memset(&info, 0x5a, sizeof info);
  info.struct_size = offsetof(tsr_arg_info_t, rank);
  ASSERT_OK(tsrKernelArgInfo(k, 0, &info));
  EXPECT_STREQ(info.name, "x");
  EXPECT_EQ(info.rank, 0x5a5a5a5au);
  EXPECT_EQ(info.default_bits, 0x5a5a5a5a5a5a5a5au);
}

TEST_F(Modules, KernelsAreListed) {
  tsr_module_t m = module({compiled(kDigitYaml, digit), compiled(kSaxpyYaml, saxpy)});
  std::string names;
  tsr_kernel_t k = nullptr;
  size_t count = 0;
  for (; tsrGetModuleKernel(m, count, &k) == TSR_SUCCESS; ++count) {
    tsr_kernel_info_t info{};
    info.struct_size = sizeof info;
    ASSERT_OK(tsrGetKernelInfo(k, &info));
    names += std::string(info.name) + " ";
  }
  EXPECT_EQ(names, "digit saxpy ");
  EXPECT_EQ(tsrGetModuleKernel(m, count, &k), TSR_ENOTFOUND);
  EXPECT_TRUE(lastErrorHas("the module has 2 kernels"));
  EXPECT_EQ(tsrGetModuleKernel(m, 0, nullptr), TSR_EINVAL);
  EXPECT_EQ(tsrGetModuleKernel(nullptr, 0, &k), TSR_EINVAL);
  ASSERT_OK(tsrGetModuleKernel(m, 0, &k));
  ASSERT_OK(tsrUnloadModule(m));
  EXPECT_EQ(tsrGetModuleKernel(m, 0, &k), TSR_EINVAL); // destroyed
  tsr_kernel_info_t kernelInfo{};
  kernelInfo.struct_size = sizeof kernelInfo;
  EXPECT_EQ(tsrGetKernelInfo(k, &kernelInfo), TSR_EINVAL);
  tsr_dim_info_t dim{};
  dim.struct_size = sizeof dim;
  EXPECT_EQ(tsrKernelArgDim(k, 0, 0, &dim), TSR_EINVAL);
}

class FromSource : public RuntimeTest {
protected:
  tsr_status_t load(const tsr_source_options_t *options) {
    const char source[] = "not a program";
    return tsrLoadModuleFromSource(context, source, sizeof source - 1, options, &m);
  }
  tsr_module_t m = nullptr;
  tsr_source_options_t options = [] {
    tsr_source_options_t o{};
    o.struct_size = sizeof o;
    return o;
  }();
};

TEST_F(FromSource, Arguments) {
  EXPECT_EQ(tsrLoadModuleFromSource(nullptr, "", 0, nullptr, &m), TSR_EINVAL);
  EXPECT_EQ(tsrLoadModuleFromSource(context, nullptr, 0, nullptr, &m), TSR_EINVAL);
  EXPECT_EQ(tsrLoadModuleFromSource(context, "", 0, nullptr, nullptr), TSR_EINVAL);
  options.struct_size = 0;
  EXPECT_EQ(load(&options), TSR_EINVAL);
  options.struct_size = sizeof options;
  options.target = "ptx:sm_90";
  EXPECT_EQ(load(&options), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("target 'ptx:sm_90' is not of the context's backend cpu"));
  options.target = nullptr;
  options.numerics = "loose";
  EXPECT_EQ(load(&options), TSR_EINVAL);
  EXPECT_TRUE(
      lastErrorHas("numerics 'loose': there is no such profile; available: fast, standard, deterministic, "
                   "strict"));
  options.numerics = "standart";
  EXPECT_EQ(load(&options), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("did you mean standard?"));
  options.numerics = "";
  EXPECT_EQ(load(&options), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("numerics '': expected a profile's name"));
  options.numerics = nullptr;
  setenv("TESSERA_NUMERICS", "exact", 1);
  EXPECT_EQ(load(&options), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("TESSERA_NUMERICS 'exact'"));
  unsetenv("TESSERA_NUMERICS");
  options.dim_count = 1;
  EXPECT_EQ(load(&options), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("dims is NULL"));
  options.dim_count = 0;
  tsr_named_int_t unnamed = {nullptr, 3};
  options.tunables = &unnamed;
  options.tunable_count = 1;
  EXPECT_EQ(load(&options), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("tunables[0] has no name"));
}

/// Without the compiler: a clear error. With it: the program's own error.
TEST_F(FromSource, InvalidProgramOrNoCompiler) {
  tsr_status_t status = load(&options);
  if (status == TSR_ENOTFOUND) {
    EXPECT_TRUE(lastErrorHas("the compiler is not installed"));
    EXPECT_TRUE(lastErrorHas("install the package libtessera-compiler"));
  } else {
    EXPECT_EQ(status, TSR_ECOMPILE) << tsrLastError();
  }
  EXPECT_EQ(m, nullptr);
}

} // namespace
