#include "core/objects/Handles.h"
#include "core/test/Support.h"

using namespace tessera;
using namespace tessera::test;

namespace {

TEST(HandleTable, FindsOnlyLiveObjects) {
  HandleTable &table = HandleTable::get();
  int a = 0, b = 0;
  uintptr_t ha = table.insert(HandleKind::Stream, &a), hb = table.insert(HandleKind::Stream, &b);
  EXPECT_EQ(table.find(HandleKind::Stream, ha), &a);
  EXPECT_EQ(table.find(HandleKind::Stream, hb), &b);
  EXPECT_EQ(table.find(HandleKind::Event, ha), nullptr);
  table.erase(ha);
  EXPECT_EQ(table.find(HandleKind::Stream, ha), nullptr);
  uintptr_t again = table.insert(HandleKind::Stream, &b); // reuses the slot but not the handle
  EXPECT_NE(again, ha);
  EXPECT_EQ(table.find(HandleKind::Stream, ha), nullptr);
  table.erase(again);
  table.erase(hb);
}

TEST(HandleTable, ArbitraryValuesAreNotHandles) {
  HandleTable &table = HandleTable::get();
  int local = 0;
  for (uintptr_t value : {uintptr_t{0}, uintptr_t{1}, reinterpret_cast<uintptr_t>(&local), UINTPTR_MAX,
                          uintptr_t{4} << 60, (uintptr_t{4} << 60) | 0xFFFFFFFF})
    EXPECT_EQ(table.find(HandleKind::Stream, value), nullptr);
}

TEST(HandleTable, ManyObjects) {
  HandleTable &table = HandleTable::get();
  std::vector<uintptr_t> handles;
  std::vector<int> objects(5000);
  for (int &o : objects)
    handles.push_back(table.insert(HandleKind::Event, &o));
  for (size_t i = 0; i < objects.size(); ++i)
    EXPECT_EQ(table.find(HandleKind::Event, handles[i]), &objects[i]);
  for (uintptr_t h : handles)
    table.erase(h);
}

using Mistaken = RuntimeTest;

TEST_F(Mistaken, AHandleOfAnotherKindIsInvalid) {
  auto s = stream();
  EXPECT_EQ(tsrEventQuery(reinterpret_cast<tsr_event_t>(s)), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("the event handle is not valid"));
  EXPECT_EQ(tsrStreamQuery(reinterpret_cast<tsr_stream_t>(context)), TSR_EINVAL);
  EXPECT_EQ(tsrDestroyContext(reinterpret_cast<tsr_context_t>(s)), TSR_EINVAL);
  int local = 0;
  EXPECT_EQ(tsrStreamQuery(reinterpret_cast<tsr_stream_t>(&local)), TSR_EINVAL);
}

} // namespace
