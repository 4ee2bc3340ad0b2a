// What a backend receives besides calls: kernel descriptors, memory flags, the sink for activity records.
#include "core/test/fakes/FakeFixture.h"
#include <array>

using namespace tessera;
using namespace tessera::test;
using testing::ElementsAre;

namespace {

class Descriptor : public FakeContextTest {
protected:
  void SetUp() override {
    backend.made->context = [this](MockDeviceContext &c) { device = &c; };
    backend.made->kernel = [this](MockDeviceKernel &k) { spec = k.spec; };
    begin();
  }
  MockDeviceContext *device = nullptr;
  KernelSpec spec; // of the last kernel
};

/// Metadata as written for a GPU: 256 threads per program, shared memory, a workspace.
constexpr char kGpuYaml[] = R"yaml({name: wide, target: "ptx:sm_90", numerics: standard, params: [
  {name: x, kind: tensor, dtype: bf16, dims: [M, N], access: read},
  {name: on, kind: scalar, dtype: bool},
  {name: step, kind: scalar, dtype: f16},
  {name: alpha, kind: scalar, dtype: f32},
  {name: seed, kind: scalar, dtype: i64},
  {name: M, kind: dim}, {name: N, kind: dim}],
  resources: {smem_per_cta: 60000, dynamic_smem: 50000, workspace_per_program: 4096, scratch_bytes: 0, vector_bytes: 0},
  launch: {axes: ["ceildiv(M, 64)", N], block: [256, 2, 1], cluster: [2, 1, 1], persistent: true,
    may_wait: false, shares_operands: true}})yaml";

TEST_F(Descriptor, HasWhatTheMetadataSays) {
  ASSERT_NE(kernel(kGpuYaml), nullptr);
  EXPECT_THAT(spec.block, ElementsAre(256, 2, 1));
  EXPECT_THAT(spec.cluster, ElementsAre(2, 1, 1));
  EXPECT_EQ(spec.imageFormat, uint32_t(TSR_IMAGE_PTX));
  EXPECT_EQ(spec.sharedBytes, 60000u);
  EXPECT_EQ(spec.dynamicSharedBytes, 50000u);
  EXPECT_EQ(spec.workspaceBytes, 4096u);
  EXPECT_TRUE(spec.isPersistent);
  EXPECT_FALSE(spec.mayWait);
  EXPECT_TRUE(spec.sharesOperands);
  EXPECT_EQ(spec.valueCount, 7u);
  std::vector<std::array<uint64_t, 3>> found;
  for (const tsr_be_argument_t &a : spec.arguments)
    found.push_back({a.kind, a.bytes, a.offset});
  using A = std::array<uint64_t, 3>;
  EXPECT_THAT(found, ElementsAre(A{TSR_ARGUMENT_POINTER, 8, 0}, A{TSR_ARGUMENT_SCALAR, 1, 8},
                                 A{TSR_ARGUMENT_SCALAR, 2, 10}, A{TSR_ARGUMENT_SCALAR, 4, 12},
                                 A{TSR_ARGUMENT_SCALAR, 8, 16}, A{TSR_ARGUMENT_DIM, 8, 24},
                                 A{TSR_ARGUMENT_DIM, 8, 32}));
}

TEST_F(Descriptor, OfAThreadPerProgramIsAllOnes) {
  ASSERT_NE(kernel(), nullptr);
  EXPECT_THAT(spec.block, ElementsAre(1, 1, 1));
  EXPECT_THAT(spec.cluster, ElementsAre(1, 1, 1));
  EXPECT_EQ(spec.dynamicSharedBytes + spec.workspaceBytes, 0u);
  EXPECT_EQ(spec.arguments.size(), 2u);
  EXPECT_TRUE(spec.mayWait);
  EXPECT_FALSE(spec.sharesOperands);
}

TEST_F(Descriptor, AHostOf10FillsFewerFields) {
  tsr_be_kernel_desc_t d{};
  d.struct_size = offsetof(tsr_be_kernel_desc_t, cluster);
  d.name = "old";
  d.value_count = 3;
  d.block[0] = 256, d.block[1] = d.block[2] = 1;
  d.cluster[0] = 7; // past the host's size, like the next two
  d.workspace_bytes = d.persistent = d.never_waits = d.shares_operands = 7;
  d.forced_body = reinterpret_cast<const char *>(1);
  d.arguments = reinterpret_cast<const tsr_be_argument_t *>(1);
  const KernelSpec old = thunk::specOf(&d);
  EXPECT_THAT(old.block, ElementsAre(256, 1, 1));
  EXPECT_THAT(old.cluster, ElementsAre(1, 1, 1));
  EXPECT_EQ(old.workspaceBytes, 0u);
  EXPECT_FALSE(old.isPersistent);
  EXPECT_TRUE(old.mayWait);
  EXPECT_FALSE(old.sharesOperands);
  EXPECT_EQ(old.forcedBody, "");
  EXPECT_TRUE(old.arguments.empty());
}

TEST_F(Descriptor, ImpossibleMetadataIsRefused) {
  for (auto [launch, resources, what] : {
           std::tuple{"block: [4294967296, 1, 1]", "", "launch.block"},
           std::tuple{"cluster: [4294967296, 1, 1]", "", "launch.cluster"},
           std::tuple{"cluster: [0, 1, 1]", "", "launch.cluster"},
           std::tuple{"cluster: [1, 1]", "", "launch.cluster"},
           std::tuple{"block: [1, 1, 1]", "smem_per_cta: 8, dynamic_smem: 9", "resources.dynamic_smem"},
       }) {
    const std::string yaml =
        std::string("{name: k, target: cpu, numerics: standard, params: [], resources: {") + resources +
        "}, launch: {" + launch + "}}";
    tsr_module_t module = nullptr;
    EXPECT_EQ(load(module, yaml.c_str()), TSR_EINVAL) << yaml;
    EXPECT_TRUE(lastErrorHas(what)) << tsrLastError();
  }
}

TEST_F(Descriptor, UnsupportedKindsOfMemoryAreRefused) {
  EXPECT_CALL(*device, memoryFlags).WillRepeatedly(Return(TSR_BE_MEM_PINNED_HOST));
  EXPECT_CALL(*device, alloc(_, TSR_MEM_MANAGED, _, _)).Times(0);
  EXPECT_CALL(*device, alloc(8, TSR_MEM_PINNED_HOST, _, _));
  void *p = nullptr;
  EXPECT_EQ(tsrAlloc(context, 8, TSR_MEM_MANAGED, &p), TSR_UNIMPLEMENTED);
  EXPECT_TRUE(lastErrorHas("the backend has no managed memory"));
  EXPECT_OK(tsrAlloc(context, 8, TSR_MEM_PINNED_HOST, &p));
}

TEST_F(Descriptor, ATraceTagsWorkWithItsCallAndStream) {
  std::vector<tsr_trace_record_t> records;
  const tsr_trace_options_t trace = {sizeof trace,
                                     [](void *user, const tsr_trace_record_t *r) {
                                       static_cast<std::vector<tsr_trace_record_t> *>(user)->push_back(*r);
                                     },
                                     &records, 0};
  ASSERT_OK(tsrTraceStart(&trace));
  std::vector<ActivityTag> tags;
  ON_CALL(*device, tagActivities).WillByDefault([&](const ActivityTag &tag) { tags.push_back(tag); });
  EXPECT_OK(tsrMemset(context, word, 0, 8));
  ASSERT_EQ(tags.size(), 2u); // set, and ended
  EXPECT_EQ(tags[1], ActivityTag{});
  tsr_be_activity_t activity{};
  activity.struct_size = sizeof activity;
  activity.kind = TSR_ACTIVITY_FILL;
  activity.name = "";
  activity.tag[0] = tags[0][0], activity.tag[1] = tags[0][1];
  device->activities(activity);
  activity.kind = TSR_ACTIVITY_RANGE + 1; // of a later version
  device->activities(activity);
  ASSERT_OK(tsrTraceStop());
  EXPECT_FALSE(device->activities);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].kind, TSR_TRACE_CALL);
  EXPECT_EQ(records[1].kind, TSR_TRACE_FILL);
  EXPECT_EQ(records[0].correlation, records[1].correlation);
  tsr_stream_t standard = nullptr;
  EXPECT_OK(tsrGetDefaultStream(context, &standard));
  EXPECT_EQ(records[1].stream, standard);
}

TEST_F(Descriptor, ActivitiesReachTheCurrentSink) {
  DeviceContext &context = *lookup<ContextObject>(this->context)->device;
  std::vector<std::string> first, second;
  tsr_be_activity_t activity{};
  activity.struct_size = sizeof activity;
  activity.name = "gemm";
  std::string why;
  EXPECT_OK(context.reportActivities([&](const auto &a) { first.push_back(a.name); }, why));
  device->activities(activity);
  EXPECT_OK(context.reportActivities([&](const auto &a) { second.push_back(a.name); }, why));
  device->activities(activity);
  EXPECT_OK(context.reportActivities(nullptr, why));
  EXPECT_FALSE(device->activities);
  EXPECT_THAT(first, ElementsAre("gemm"));
  EXPECT_THAT(second, ElementsAre("gemm"));
}

TEST_F(Descriptor, ARefusedSinkLeavesTheCurrentOne) {
  DeviceContext &context = *lookup<ContextObject>(this->context)->device;
  int calls = 0;
  tsr_be_activity_t activity{};
  activity.struct_size = sizeof activity;
  std::string why;
  EXPECT_OK(context.reportActivities([&](const auto &) { ++calls; }, why));
  EXPECT_CALL(*device, reportActivities).WillOnce(Fail(TSR_EDEVICE, "another profiler has it"));
  EXPECT_EQ(context.reportActivities([](const auto &) {}, why), TSR_EDEVICE);
  EXPECT_EQ(why, "another profiler has it");
  device->activities(activity);
  EXPECT_EQ(calls, 1);
}

} // namespace
