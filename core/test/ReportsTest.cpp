// The records of print and assert_, as a kernel writes them, and their text.
#include "core/metadata/Reports.h"
#include <bit>
#include <gtest/gtest.h>

using namespace tessera;
using reports::kHeader, reports::kValuesAt;

namespace {

using Values = std::vector<MetadataReport::Value>;

/// The memory of a launch.
struct Memory {
  std::vector<int64_t> words = std::vector<int64_t>(reports::kWords, kUnwritten);
  static constexpr int64_t kUnwritten = static_cast<int64_t>(0xA5A5A5A5A5A5A5A5);

  Memory() { std::fill_n(words.begin(), kHeader, 0); }
  void add(int64_t statement, int64_t program, const std::vector<int64_t> &values) {
    ++words[static_cast<size_t>(1 + statement)];
    auto at = words.begin() + kHeader + words[0];
    *at++ = statement;
    *at++ = program;
    std::copy(values.begin(), values.end(), at);
    words[0] += kValuesAt + std::ssize(values);
  }
};

int64_t word(double v) { return std::bit_cast<int64_t>(v); }

KernelMetadata with(std::vector<MetadataReport> list) {
  KernelMetadata m;
  m.reports = std::move(list);
  return m;
}

/// The message of one record.
std::string shown(const std::string &format, const Values &values, const std::vector<int64_t> &words) {
  Memory memory;
  memory.add(0, 0, words);
  const auto text = reports::read(with({{false, false, "k.py:3", format, values}}), memory.words, {});
  EXPECT_EQ(text.lines.size(), 1u);
  const std::string head = "k.py:3: program 0: ";
  EXPECT_TRUE(text.lines[0].starts_with(head)) << text.lines[0];
  return text.lines[0].substr(head.size());
}

TEST(Reports, EveryDtypeHasItsForm) {
  EXPECT_EQ(shown("{} {}", {{DType::F32, {}}, {DType::F64, {}}}, {word(double(0.1f)), word(0.1)}), "0.1 0.1");
  EXPECT_EQ(shown("{}", {{DType::F16, {3}}}, {word(NAN), word(-INFINITY), word(-0.0)}), "[nan -inf -0]");
  EXPECT_EQ(shown("{}", {{DType::I8, {2}}}, {-5, 7}), "[-5 7]");
  EXPECT_EQ(shown("{} {}", {{DType::U64, {}}, {DType::I64, {}}}, {-1, -1}), "18446744073709551615 -1");
  EXPECT_EQ(shown("{}", {{DType::Bool, {2}}}, {1, 0}), "[True False]");
  EXPECT_EQ(shown("{:x} {:d}", {{DType::I16, {}}, {DType::I16, {}}}, {-1, -1}), "ffff -1");
  EXPECT_EQ(shown("{:.2f} {:.1e} {:g}", {{DType::F32, {}}, {DType::F32, {}}, {DType::F32, {}}},
                  {word(2.345), word(1500), word(0.25)}),
            "2.35 1.5e+03 0.25");
}

TEST(Reports, TilesAreNestedAndAbridged) {
  EXPECT_EQ(shown("x {{{}}}", {{DType::I32, {2, 2}}}, {1, 2, Memory::kUnwritten, 4}), "x {[[1 2] [. 4]]}");
  EXPECT_EQ(shown("x", {{DType::I32, {}}, {DType::I32, {1, 1}}}, {1, 2}), "x 1 [[2]]");
  EXPECT_EQ(shown("{} {}", {{DType::I64, {3}}, {DType::I32, {1}}},
                  {Memory::kUnwritten, 5, Memory::kUnwritten, 1, 1, Memory::kUnwritten, 7}),
            "[-6510615555426900571 5 .] [7]");
  EXPECT_EQ(shown("{}", {{DType::I64, {}}}, {Memory::kUnwritten}), "-6510615555426900571");
  EXPECT_EQ(shown("", {{DType::I32, {}}}, {1}), "1");
  std::vector<int64_t> many(1200);
  for (size_t i = 0; i < many.size(); ++i)
    many[i] = static_cast<int64_t>(i);
  EXPECT_EQ(shown("{}", {{DType::I32, {1200}}}, many), "[0 1 2 ... 1197 1198 1199]");
  EXPECT_EQ(shown("{}", {{DType::I32, {2, 600}}}, many),
            "[[0 1 2 ... 597 598 599] [600 601 602 ... 1197 1198 1199]]");
}

TEST(Reports, AreInTheOrderOfPrograms) {
  Memory memory;
  memory.add(0, 5, {50});
  memory.add(1, 2, {});
  memory.add(0, 2, {20});
  memory.add(0, 5, {51});
  const MetadataReport number{false, false, "k.py:3", "{}", {{DType::I32, {}}}};
  const MetadataReport bare{false, true, "k.py:4", "here", {}};
  const int64_t deep[] = {2, 1, 3, 2};
  EXPECT_EQ(reports::read(with({number, bare}), memory.words, deep).lines.back(),
            "k.py:3: program (0, 0, 2, 1): 51");
  const int64_t grid[] = {2, 4};
  EXPECT_EQ(reports::read(with({number, bare}), memory.words, grid).lines,
            (std::vector<std::string>{"k.py:4: lane 2: here", "k.py:3: program (0, 2): 20",
                                      "k.py:3: program (1, 1): 50", "k.py:3: program (1, 1): 51"}));
}

TEST(Reports, WhatIsLeftOutIsCounted) {
  Memory memory;
  for (int i = 0; i < 3; ++i)
    memory.add(0, i, {i});
  memory.words[1] = 70; // the others were over the limit
  const auto text =
      reports::read(with({{false, false, "k.py:3", "{}", {{DType::I32, {}}}}}), memory.words, {});
  ASSERT_EQ(text.lines.size(), 4u);
  EXPECT_EQ(text.lines[3], "k.py:3: 3 of 70 records shown");
  EXPECT_EQ(text.failure, "");
}

TEST(Reports, ARecordThatDoesNotFitIsLeftOut) {
  Memory memory;
  const int64_t n = 50000;
  const std::vector<int64_t> values(n, 1);
  memory.add(0, 0, values);
  memory.add(0, 1, values);
  memory.words[0] += kValuesAt + n; // the third one's place; its stores were dropped
  memory.words[1] += 1;
  memory.words[static_cast<size_t>(kHeader + 2 * (kValuesAt + n))] = 0;
  memory.words[static_cast<size_t>(kHeader + 2 * (kValuesAt + n) + 1)] = 2;
  const auto text =
      reports::read(with({{false, false, "k.py:3", "{}", {{DType::I32, {n}}}}}), memory.words, {});
  ASSERT_EQ(text.lines.size(), 3u);
  EXPECT_EQ(text.lines[2], "k.py:3: 2 of 3 records shown");
}

TEST(Reports, TheFirstFailureIsOfTheFirstProgram) {
  Memory memory;
  memory.add(0, 9, {90});
  memory.add(0, 4, {40});
  const auto text =
      reports::read(with({{true, false, "k.py:3", "x is {}", {{DType::I32, {}}}}}), memory.words, {});
  EXPECT_TRUE(text.lines.empty());
  EXPECT_EQ(text.failure, "k.py:3: assertion failed in program 4: x is 40 (2 failures)");
}

TEST(Reports, FormatsAreChecked) {
  auto why = [](const char *format, std::vector<DType> values) {
    return reports::checkFormat(format, values);
  };
  EXPECT_EQ(why("x", {DType::F32, DType::I32}), "");
  EXPECT_EQ(why("{} {:.3f} {:x}", {DType::Bool, DType::F16, DType::U8}), "");
  EXPECT_EQ(why("{} {}", {DType::F32}), "it has 2 {} for 1 values");
  EXPECT_EQ(why("{:x}", {DType::F32}), "a form of integers for value 1, which is f32");
  EXPECT_EQ(why("{:.2f}", {DType::I32}), "a form of floats for value 1, which is i32");
  EXPECT_EQ(why("{:d}", {DType::Bool}), "a form of integers for value 1, which is bool");
  EXPECT_EQ(why("{", {}), "a { has no }; a brace is written {{");
  EXPECT_EQ(why("}", {}), "a single } is written }}");
  EXPECT_EQ(why("{x}", {DType::F32}), "'{x}': values are given in their order, with {} or {:.3f}");
  EXPECT_EQ(why("{:>8}", {DType::F32}), "'{:>8}': a form is {}, {:d}, {:x}, or {:.3f} with f, e or g");
  EXPECT_EQ(why("{:.f}", {DType::F32}), "'{:.f}': a precision is a number up to 99");
  EXPECT_EQ(why("{:.2d}", {DType::I32}), "'{:.2d}': a form is {}, {:d}, {:x}, or {:.3f} with f, e or g");
}

TEST(Reports, TypesAsText) {
  for (const char *text : {"f32", "u64[8]", "fp8_e4m3[3, 4]"}) {
    MetadataReport::Value v;
    ASSERT_TRUE(reports::parseType(text, v)) << text;
    EXPECT_EQ(reports::typeText(v), text);
  }
  for (const char *text :
       {"", "f33", "f32[", "f32[]", "f32[0]", "f32[2", "f32[2]x", "f32[2,,3]", "f32[99999999]", "f32 [2]"}) {
    MetadataReport::Value v;
    EXPECT_FALSE(reports::parseType(text, v)) << text;
  }
}

} // namespace
