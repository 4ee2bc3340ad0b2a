// The C table between host and implementation: exceptions, smaller structs, missing slots.
#include <gmock/gmock.h>
#include <stdexcept>
#include <tessera/collective.hpp>

using namespace tessera;
using testing::_;
using testing::HasSubstr;
using testing::Return;

namespace {

class FakeEnd : public Communicator {
public:
  int rank() const override { return 1; }
  int size() const override { return 3; }
  MOCK_METHOD(tsr_status_t, run, (const tsr_cl_call_t &, std::string &), (override));
};

struct FakeCollective : Collective {
  std::unique_ptr<Communicator> create(const tsr_cl_options_t &o, tsr_status_t &status,
                                       std::string &why) override {
    if (std::string(o.id) == "throws") throw std::runtime_error("thrown in create");
    if (std::string(o.id) == "memory") throw std::bad_alloc();
    if (std::string(o.id) == "refuses") {
      status = TSR_ETIMEOUT;
      why = "nobody came";
      return nullptr;
    }
    auto end = std::make_unique<testing::NiceMock<FakeEnd>>();
    last = end.get();
    return end;
  }
  const char *algorithms(uint32_t kind) const override { return kind ? "" : "ring,tree"; }
  const char *topology() const override { return "network"; }
  FakeEnd *last = nullptr;
};

FakeCollective &fake() {
  static FakeCollective f;
  return f;
}
Collective &get() { return fake(); }

const tsr_collective_api_t &table() { return *thunk::collectiveTable<get>(); }

std::unique_ptr<Communicator> create(Collective &c, const char *id, tsr_status_t &status, std::string &why) {
  tsr_cl_options_t o = {sizeof o, id, 0, 1, 0};
  return c.create(o, status, why);
}

TEST(Table, CarriesCallsAndTexts) {
  TableCollective host(&table(), nullptr);
  EXPECT_STREQ(host.topology(), "network");
  EXPECT_STREQ(host.algorithms(TSR_ALL_REDUCE), "ring,tree");
  EXPECT_STREQ(host.algorithms(TSR_BROADCAST), "");
  tsr_status_t status = TSR_SUCCESS;
  std::string why;
  auto end = create(host, "good", status, why);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->rank(), 1);
  EXPECT_EQ(end->size(), 3);
  tsr_cl_call_t call{};
  call.struct_size = sizeof call;
  call.count = 77;
  EXPECT_CALL(*fake().last, run(testing::Field(&tsr_cl_call_t::count, 77u), _))
      .WillOnce(Return(TSR_SUCCESS))
      .WillOnce([](const tsr_cl_call_t &, std::string &text) {
        text = "late";
        return TSR_ETIMEOUT;
      })
      .WillOnce(
          [](const tsr_cl_call_t &, std::string &) -> tsr_status_t { throw std::runtime_error("in run"); })
      .WillOnce([](const tsr_cl_call_t &, std::string &) -> tsr_status_t { throw 7; });
  EXPECT_EQ(end->run(call, why), TSR_SUCCESS);
  EXPECT_EQ(end->run(call, why), TSR_ETIMEOUT);
  EXPECT_EQ(why, "late");
  EXPECT_EQ(end->run(call, why), TSR_EINTERNAL);
  EXPECT_EQ(why, "in run");
  EXPECT_EQ(end->run(call, why), TSR_EINTERNAL);
}

TEST(Table, CreateFailsInWords) {
  TableCollective host(&table(), nullptr);
  const std::tuple<const char *, tsr_status_t, const char *> cases[] = {
      {"throws", TSR_EINTERNAL, "thrown in create"},
      {"memory", TSR_EOOM, "out of memory"},
      {"refuses", TSR_ETIMEOUT, "nobody came"}};
  for (auto [id, want, text] : cases) {
    tsr_status_t status = TSR_SUCCESS;
    std::string why;
    EXPECT_FALSE(create(host, id, status, why));
    EXPECT_EQ(status, want);
    EXPECT_EQ(why, text);
  }
}

TEST(Table, WhatIsMissingIsUnimplemented) {
  auto told = [](tsr_collective_api_t api) {
    TableCollective host(&api, nullptr);
    tsr_status_t status = TSR_SUCCESS;
    std::string why;
    EXPECT_FALSE(create(host, "good", status, why));
    EXPECT_EQ(status, TSR_UNIMPLEMENTED);
    return why;
  };
  auto with = [](auto change) {
    tsr_collective_api_t api = table();
    change(api);
    return api;
  };
  EXPECT_THAT(told(with([](auto &a) { a.run = nullptr; })), HasSubstr("lacks run"));
  EXPECT_THAT(told(with([](auto &a) { a.comm_create = nullptr; })), HasSubstr("lacks comm_create"));
  EXPECT_THAT(told(with([](auto &a) { a.comm_destroy = nullptr; })), HasSubstr("lacks comm_destroy"));
  EXPECT_THAT(told(with([](auto &a) { a.comm_info = nullptr; })), HasSubstr("lacks comm_info"));
  EXPECT_THAT(told(with([](auto &a) { a.struct_size = offsetof(tsr_collective_api_t, run); })),
              HasSubstr("lacks run"));
  EXPECT_THAT(told(with([](auto &a) { a.struct_size = 8; })), HasSubstr("lacks its version"));
  EXPECT_THAT(told(with([](auto &a) { a.version_major = 2; })), HasSubstr("lacks interface version 1"));
  TableCollective none(nullptr, nullptr);
  tsr_status_t status = TSR_SUCCESS;
  std::string why;
  EXPECT_FALSE(create(none, "good", status, why));
  EXPECT_EQ(status, TSR_UNIMPLEMENTED);
  // The optional tail.
  tsr_collective_api_t shorter = table();
  shorter.struct_size = offsetof(tsr_collective_api_t, algorithms);
  TableCollective host(&shorter, nullptr);
  EXPECT_STREQ(host.algorithms(0), "");
  EXPECT_STREQ(host.topology(), "process");
  EXPECT_TRUE(create(host, "good", status, why));
}

} // namespace
