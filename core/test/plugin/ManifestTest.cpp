// The note parser: what it reads, and that no damaged file is accepted or read past its end.
#include "core/plugin/Manifest.h"
#include "core/test/plugin/PluginFixture.h"
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <fstream>
#include <random>
#include <sstream>
#include <unistd.h>

using namespace tessera;
using namespace tessera::test;

namespace {

class Notes : public PluginTest {
protected:
  void SetUp() override {
    PluginTest::SetUp();
    std::ifstream in(install("sound"), std::ios::binary);
    std::ostringstream out;
    out << in.rdbuf();
    sound = out.str();
  }
  PluginError read(const std::string &bytes) {
    auto path = root / "file";
    std::ofstream(path, std::ios::binary) << bytes;
    int fd = open(path.c_str(), O_RDONLY);
    PluginError error = readManifest(fd, file);
    close(fd);
    return error;
  }
  Elf64_Phdr *notes(std::string &bytes) {
    Elf64_Ehdr head;
    std::memcpy(&head, bytes.data(), sizeof head);
    auto *segments = reinterpret_cast<Elf64_Phdr *>(bytes.data() + head.e_phoff);
    for (int i = 0; i < head.e_phnum; ++i)
      if (segments[i].p_type == PT_NOTE) return &segments[i];
    return nullptr;
  }
  std::string sound;
  PluginFile file;
};

TEST_F(Notes, AreReadCompletely) {
  ASSERT_EQ(read(sound).code, 0);
  EXPECT_EQ(file.manifest.name, "sound");
  EXPECT_EQ(file.manifest.version, "1.2.3");
  EXPECT_EQ(file.manifest.kinds, uint32_t(TSR_PLUGIN_BACKEND));
  EXPECT_EQ(file.manifest.abiMajor, TSR_PLUGIN_ABI_MAJOR);
}

TEST_F(Notes, EmptyAndShortFilesAreNotElf) {
  for (size_t size : {0, 1, 16, 63})
    EXPECT_EQ(read(sound.substr(0, size)).code, refusal::kNotElf) << size;
}

TEST_F(Notes, EveryTruncationIsAnErrorOrComplete) {
  for (size_t size = 0; size < 8192 && size < sound.size(); size += 61)
    if (PluginError e = read(sound.substr(0, size)); !e) EXPECT_EQ(file.manifest.name, "sound");
}

TEST_F(Notes, AHugeNoteIsNotRead) {
  std::string bytes = sound;
  notes(bytes)->p_filesz = uint64_t(4) << 30;
  EXPECT_EQ(read(bytes).code, refusal::kNoteTooLarge);
}

TEST_F(Notes, TwoManifestsAreRefused) {
  std::string bytes = sound;
  const Elf64_Phdr first = *notes(bytes);
  Elf64_Ehdr head;
  std::memcpy(&head, bytes.data(), sizeof head);
  auto *segments = reinterpret_cast<Elf64_Phdr *>(bytes.data() + head.e_phoff);
  for (int i = 0; i < head.e_phnum; ++i)
    if (segments[i].p_type == PT_GNU_STACK) segments[i] = first;
  EXPECT_EQ(read(bytes).code, refusal::kNoteTwice);
}

TEST_F(Notes, OffsetsOutsideOfTheFileAreErrors) {
  for (uint64_t offset : {UINT64_MAX, uint64_t(INT64_MAX), uint64_t(1) << 40}) {
    std::string bytes = sound;
    notes(bytes)->p_offset = offset;
    EXPECT_EQ(read(bytes).code, refusal::kNoteMalformed) << offset;
  }
}

TEST_F(Notes, AnObjectOfAnotherClassIsRefused) {
  std::string bytes = sound;
  bytes[EI_CLASS] = ELFCLASS32;
  EXPECT_EQ(read(bytes).code, refusal::kNotElf);
}

TEST_F(Notes, FlippedBitsAreHandled) {
  std::mt19937 random(7);
  Elf64_Phdr where = *notes(sound);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes = sound;
    size_t at = i % 2 ? where.p_offset + random() % where.p_filesz : random() % 1024;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    if (PluginError e = read(bytes)) EXPECT_FALSE(e.text.empty());
  }
}

TEST_F(Notes, APayloadWithAWrongSizeIsDamaged) {
  Manifest m;
  EXPECT_EQ(parseManifest("", m).code, refusal::kNoteMalformed);
  EXPECT_EQ(parseManifest(std::string(64, '\xff'), m).code, refusal::kNoteMalformed);
}

} // namespace
