#include "tools/npy/Npy.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace tessera::npy {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A file of the given version with any header text.
std::string fileOf(const std::string &dict, const std::string &data = "", int major = 1) {
  std::string file("\x93NUMPY", 6);
  file += char(major);
  file += '\0';
  size_t n = dict.size();
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i)
    file += char((n >> (8 * i)) & 0xff);
  return file + dict + data;
}

std::string dictOf(const std::string &descr, const std::string &shape, bool fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': " + shape + ", }\n";
}

/// Fills `out` and returns "", or returns "CODE: message".
std::string errorOf(Expected<Array> array, Array &out) {
  if (!array) return array.error().code + ": " + array.error().message;
  out = std::move(*array);
  return "";
}

std::string decodeText(const std::string &file, Array &out) {
  return errorOf(decode(std::as_bytes(std::span(file))), out);
}

void expectRefused(const std::string &file, const char *reason) {
  Array a;
  EXPECT_THAT(decodeText(file, a), AllOf(StartsWith("E_NPY_FORMAT: "), HasSubstr(reason)));
}

template <typename T> std::string bytesOf(std::initializer_list<T> values) {
  return std::string(reinterpret_cast<const char *>(values.begin()), values.size() * sizeof(T));
}

TEST(Npy, ReadsEveryVersion) {
  for (int major : {1, 2, 3}) {
    Array a;
    ASSERT_EQ(decodeText(fileOf(dictOf("<i2", "(3,)"), bytesOf<int16_t>({1, -2, 3}), major), a), "");
    EXPECT_EQ(a.type, (ElementType{'i', 2}));
    EXPECT_EQ(a.shape, std::vector<int64_t>{3});
    EXPECT_EQ(reinterpret_cast<const int16_t *>(a.data.data())[1], -2);
  }
}

TEST(Npy, ReadsEveryElementType) {
  for (const char *t : {"<f8", "<f4", "<f2", "<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1", "|b1"}) {
    Array a;
    int bytes = t[2] - '0';
    EXPECT_EQ(decodeText(fileOf(dictOf(t, "(2,)"), std::string(2 * bytes, '\1')), a), "");
    EXPECT_EQ(toString(a.type), t + 1);
  }
}

TEST(Npy, SwapsBigEndian) {
  Array a;
  ASSERT_EQ(decodeText(fileOf(dictOf(">i4", "(1,)"), std::string("\0\0\1\2", 4)), a), "");
  EXPECT_EQ(*reinterpret_cast<const int32_t *>(a.data.data()), 0x102);
}

TEST(Npy, BringsFortranOrderIntoRowMajor) {
  Array a;
  // The 2x3 matrix 0 1 2 / 3 4 5, stored by columns.
  ASSERT_EQ(decodeText(fileOf(dictOf("<i4", "(2, 3)", true), bytesOf<int32_t>({0, 3, 1, 4, 2, 5})), a), "");
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(reinterpret_cast<const int32_t *>(a.data.data())[i], i);
}

TEST(Npy, NormalisesBools) {
  Array a;
  ASSERT_EQ(decodeText(fileOf(dictOf("|b1", "(3,)"), std::string("\0\1\7", 3)), a), "");
  EXPECT_EQ(std::to_integer<int>(a.data.data()[2]), 1);
}

TEST(Npy, ReadsScalarsAndEmptyArrays) {
  Array a;
  ASSERT_EQ(decodeText(fileOf(dictOf("<f4", "()"), bytesOf<float>({2.5f})), a), "");
  EXPECT_TRUE(a.shape.empty());
  ASSERT_EQ(decodeText(fileOf(dictOf("<f4", "(0, 5)")), a), "");
  EXPECT_EQ(a.shape, (std::vector<int64_t>{0, 5}));
  EXPECT_EQ(a.data.size(), 0u);
}

TEST(Npy, RefusesHostileHeaders) {
  const std::string f4 = bytesOf<float>({1.f});
  expectRefused("", "magic");
  expectRefused("PK\3\4 this is a zip file", "magic");
  expectRefused(fileOf(dictOf("<f4", "(1,)"), f4, 4), "version");
  expectRefused(std::string("\x93NUMPY\x01\x00\xff\x00{", 11), "inside the header");
  expectRefused(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff{", 13), "claims");
  expectRefused(std::string("\x93NUMPY\x02\x00\x01\x00", 10), "inside the header");
  expectRefused(fileOf(dictOf("<f4", "(2,)"), f4), "truncated");
  expectRefused(fileOf(dictOf("<f4", "(1,)"), f4 + "x"), "trailing");
  expectRefused(fileOf(dictOf("<f4", "(4611686018427387904, 4)"), f4), "addressed");
  expectRefused(fileOf(dictOf("<f4", "(0, 4611686018427387904, 4)")), "addressed");
  expectRefused(fileOf(dictOf("<f4", "(99999999999999999999,)"), f4), "tuple");
  expectRefused(fileOf(dictOf("<f4", "(-1,)"), f4), "tuple");
  expectRefused(fileOf(dictOf("<f4", "(1)"), f4), "tuple");
  expectRefused(fileOf(dictOf("<f4", "(1, ,)"), f4), "tuple");
  std::string manyOnes = "(";
  for (int i = 0; i < 33; ++i)
    manyOnes += "1,";
  expectRefused(fileOf(dictOf("<f4", manyOnes + ")"), f4), "rank");
  expectRefused(fileOf(dictOf("<c8", "(1,)"), f4), "dtype");
  expectRefused(fileOf(dictOf("|O", "(1,)"), f4), "dtype");
  expectRefused(fileOf(dictOf("<f16", "(1,)"), f4), "dtype");
  expectRefused(fileOf("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", f4), "structured");
  expectRefused(fileOf("{'descr': '<f4', 'shape': (1,)}", f4), "not a dict");
  expectRefused(fileOf("{'descr': '<f4', 'descr': '<f4'}", f4), "repeated");
  expectRefused(fileOf("{'descr': '<f4', 'fortran_order': 1, 'shape': (1,)}", f4), "not a dict");
  expectRefused(fileOf("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} import os", f4),
                "not a dict");
  expectRefused(fileOf("__import__('os').system('id')", f4), "not a dict");
}

TEST(Npy, WritesWhatItReads) {
  for (std::vector<int64_t> shape : {std::vector<int64_t>{}, {0}, {7}, {2, 3}, {1, 2, 3, 4}}) {
    std::string header = makeHeader({'f', 8}, shape);
    EXPECT_EQ(header.size() % 64, 0u);
    Expected<Header> h = parseHeader(std::as_bytes(std::span(header)));
    ASSERT_TRUE(h) << h.error().message;
    EXPECT_EQ(h->shape, shape);
    EXPECT_EQ(h->type, (ElementType{'f', 8}));
    EXPECT_EQ(h->dataOffset, header.size());
  }
}

class NpyFile : public ::testing::Test {
protected:
  void SetUp() override {
    char name[] = "/tmp/npytest-XXXXXX";
    int fd = mkstemp(name);
    ASSERT_GE(fd, 0);
    ::close(fd);
    path_ = name;
  }
  void TearDown() override { std::remove(path_.c_str()); }
  void fill(const std::string &text) { std::ofstream(path_, std::ios::binary) << text; }
  std::string path_;
};

TEST_F(NpyFile, ReadsAFileLargerThanItsHead) {
  std::vector<int32_t> values(100000);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = int32_t(i * 7);
  std::string data(reinterpret_cast<const char *>(values.data()), values.size() * 4);
  fill(fileOf(dictOf("<i4", "(100000,)"), data));
  Array a;
  ASSERT_EQ(errorOf(read(path_), a), "");
  ASSERT_EQ(a.data.size(), data.size());
  EXPECT_EQ(std::memcmp(a.data.data(), data.data(), data.size()), 0);
}

TEST_F(NpyFile, RefusesTruncatedAndOverlongFiles) {
  Array a;
  fill(fileOf(dictOf("<i4", "(100000,)"), "abc"));
  EXPECT_THAT(errorOf(read(path_), a), AllOf(StartsWith("E_NPY_FORMAT: "), HasSubstr("truncated")));
  // A header that promises terabytes is refused before memory is allocated.
  fill(fileOf(dictOf("<i4", "(1000000000000,)"), "abc"));
  EXPECT_THAT(errorOf(read(path_), a), AllOf(StartsWith("E_NPY_FORMAT: "), HasSubstr("truncated")));
  fill(fileOf(dictOf("<i4", "(1,)"), "abcdefgh"));
  EXPECT_THAT(errorOf(read(path_), a), AllOf(StartsWith("E_NPY_FORMAT: "), HasSubstr("trailing")));
}

TEST_F(NpyFile, AllocatesOnlyWhatAPipeDelivers) {
  auto readPipe = [&](const std::string &text, Array &out) {
    std::remove(path_.c_str());
    EXPECT_EQ(::mkfifo(path_.c_str(), 0600), 0);
    std::thread writer([&] { fill(text); });
    std::string error = errorOf(read(path_), out);
    writer.join();
    return error;
  };
  Array a;
  std::string data(400000, '\7');
  ASSERT_EQ(readPipe(fileOf(dictOf("<i4", "(100000,)"), data), a), "");
  ASSERT_EQ(a.data.size(), data.size());
  EXPECT_EQ(std::memcmp(a.data.data(), data.data(), data.size()), 0);
  // The header promises terabytes, the file holds half a megabyte: it is refused for its length, not because
  // memory ran out.
  EXPECT_THAT(readPipe(fileOf(dictOf("<i4", "(1000000000000,)"), data), a),
              AllOf(StartsWith("E_NPY_FORMAT: "), HasSubstr("truncated")));
}

TEST_F(NpyFile, SaysWhyAFileCannotBeOpened) {
  Array a;
  EXPECT_THAT(errorOf(read(path_ + ".none"), a),
              AllOf(StartsWith("E_FILE_READ: "), HasSubstr("No such file")));
  EXPECT_THAT(errorOf(read("/tmp"), a), AllOf(StartsWith("E_FILE_READ: "), HasSubstr("directory")));
}

} // namespace
} // namespace tessera::npy
